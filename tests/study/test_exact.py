"""A study decides as the simulator does, with any number of workers, interrupted or not."""

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.algorithms import REGISTRY, read_policy
from mfbandit.study import Study, create_study, load_study
from mfbandit.study.state.rounds._round_record import dump_state

POLICIES = [entry.example for entry in REGISTRY.values()]
INSTANCES = ["figure-1a", "poiani-5x2"]


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies of all policies are over before these are compiled."""
    monkeypatch.setattr("mfbandit.study.state._planner._LOOK_AFTER_SECONDS", math.inf)


def limits(policy: str, cost: float) -> dict[str, Any]:
    return {"budget" if read_policy(policy).objective == "regret" else "max_cost": cost}


def suits(policy: str, instance: mf.Instance) -> bool:
    """Whether a policy takes an instance at all."""
    try:
        create_study(instance.problem, policy=policy, **limits(policy, 10.0))
    except mf.errors.PolicyError:
        return False
    return True


def play(study: Study, evaluate: Callable[..., float]) -> list[tuple[int, int]]:
    """One worker, one pull at a time; returns what was pulled."""
    pulled = []
    while not study.done:
        (pull,) = study.ask()
        pulled.append((pull.arm_index, pull.fidelity_index))
        assert study.tell(pull, evaluate(pull))
    return pulled


def play_wildly(study: Study, evaluate: Callable[..., float], chance: random.Random) -> Study:
    """Ask for many, tell in any order, tell twice, let leases end, fail now and then, come back later."""
    out: list[Any] = []
    while not study.done:
        out += study.ask(chance.randint(1, 9), lease_seconds=chance.choice([1e-6, 60.0]))
        chance.shuffle(out)
        while out and chance.random() < 0.8:
            pull = out.pop()
            if chance.random() < 0.05:
                study.fail(pull, "by chance")
                study.retry()
            else:
                study.tell(pull, evaluate(pull))
                if chance.random() < 0.1:
                    assert not study.tell(pull, evaluate(pull))
        if chance.random() < 0.02 and study.storage.url:
            study = load_study(study.storage.url, durable=False)
    return study


def assert_same(study: Study, other: Study) -> None:
    assert study.to_frame().loc[:, :"reward"].equals(other.to_frame().loc[:, :"reward"])
    assert (study.best, study.status, study.cost) == (other.best, other.status, other.cost)
    assert dump_state(study.current().state) == dump_state(other.current().state)


@pytest.mark.parametrize("name", INSTANCES)
@pytest.mark.parametrize("policy", POLICIES)
def test_decisions_are_those_of_the_simulator(policy: str, name: str, simulated: Callable[..., Any]) -> None:
    instance = mf.load_instance(name)
    if not suits(policy, instance):
        pytest.skip(f"{policy} is not made for {name}")
    bounds = limits(policy, 333.3)
    study = create_study(instance.problem, policy=policy, delta=0.1, **bounds)
    pulled = play(study, simulated(instance, seed=3))
    runs = mf.simulate(instance, policy, delta=0.1, trials=1, seed=3, trace=len(pulled) + 1, **bounds)
    rows = [(arm, fidelity) for arm, fidelity, count in runs.trace[0].tolist() for _ in range(count)]
    assert pulled == rows
    assert study.cost == runs.cost[0]
    assert study.best == instance.problem.arms[runs.best[0]]
    assert (study.status in ("certified", "answered", "budget")) == runs.stopped[0]


@pytest.mark.parametrize("policy", POLICIES)
def test_order_and_interruptions_change_nothing(policy: str, simulated: Callable[..., Any], tmp_path: Path) -> None:
    instance = mf.load_instance("figure-1a")
    if not suits(policy, instance):
        pytest.skip(f"{policy} needs blocks: tests/study/test_blocks_race.py has it")
    evaluate, bounds = simulated(instance), limits(policy, 150.0)
    calm = create_study(instance.problem, policy=policy, retries=10**6, **bounds)
    play(calm, evaluate)
    wild = create_study(instance.problem, policy=policy, retries=10**6, **bounds)
    assert_same(play_wildly(wild, evaluate, random.Random(1)), calm)
    stored = create_study(
        instance.problem, policy=policy, retries=10**6, storage=tmp_path / "s.db", durable=False, **bounds
    )
    assert_same(play_wildly(stored, evaluate, random.Random(2)), calm)


def test_compiled_and_plain_planning_agree(simulated: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    instance = mf.load_instance("figure-1a")
    plain = create_study(instance.problem, max_cost=3000.0)
    play(plain, simulated(instance))
    monkeypatch.setattr("mfbandit.study.state._planner._LOOK_AFTER_SECONDS", 0.0)
    monkeypatch.setattr("mfbandit.study.state._planner._COMPILE_AFTER_SECONDS", 0.0)
    monkeypatch.setattr("mfbandit.study.state._planner._COMPILE_AFTER_ROUNDS", 20)
    at_once = lambda function, *arguments: function(*arguments)  # noqa: E731
    monkeypatch.setattr("mfbandit.study.state._planner.start_compiling", at_once)
    monkeypatch.setattr("mfbandit.study.state._planner._compiled_before", {})
    quick = create_study(instance.problem, max_cost=3000.0)
    play(quick, simulated(instance))
    monkeypatch.setattr("mfbandit.study.state._planner._COMPILE_AFTER_ROUNDS", 10**9)
    second = create_study(instance.problem, max_cost=3000.0)
    play(second, simulated(instance))
    plans = [study.current().planner.plan for study in (plain, quick, second)]
    assert plans[0] is plain.current().planner.algorithm.plan
    assert plans[1] is not plans[0]
    assert plans[2] is plans[1], "what one study has compiled serves the next one"
    assert all(study.current().planner.observe is not None for study in (quick, second)), "rewards enter so, too"
    assert_same(quick, plain)
    assert_same(second, plain)


def test_reopening_gives_the_same_bits(simulated: Callable[..., Any], tmp_path: Path) -> None:
    instance = mf.load_instance("poiani-5x2")
    evaluate = simulated(instance)
    study = create_study(instance.problem, policy="lucb-c:batch=3", storage=tmp_path / "s.db", durable=False)
    for _ in range(40):
        for pull in study.ask(7):
            study.tell(pull, evaluate(pull))
    again = load_study(str(tmp_path / "s.db"))
    assert_same(again, study)
    assert dump_state(again.view().state) == dump_state(study.view().state)
    asked = again.ask(3, lease_seconds=1e-9)
    assert asked == load_study(str(tmp_path / "s.db")).ask(3)


def last_to_first(study: Study, evaluate: Callable[..., float], workers: int) -> None:
    """Workers whose evaluations take the longer the better they are, in the order of a simulated clock."""
    now, running = 0.0, []
    while not study.done:
        for pull in study.ask(workers - len(running) or 1) if len(running) < workers else []:
            reward = evaluate(pull)
            running.append((now + 0.1 + 5.0 * reward + 1e-6 * pull.id, pull, reward))
        now, pull, reward = min(running, key=lambda entry: entry[0])
        running.remove((now, pull, reward))
        study.tell(pull, reward)


def test_slow_good_evaluations_do_not_bias_decisions(simulated: Callable[..., Any]) -> None:
    instance = mf.load_instance("judges")
    options: dict[str, Any] = {"policy": "lucb-c:batch=8", "max_cost": 3.0}
    calm = create_study(instance.problem, **options)
    play(calm, simulated(instance))
    busy = create_study(instance.problem, **options)
    last_to_first(busy, simulated(instance), workers=8)
    assert_same(busy, calm)


def test_slow_good_evaluations_keep_the_error_rate(times: int) -> None:
    problem = mf.Problem(3, [("exact", 1.0, 0.0)], reward="bernoulli")
    means = [0.3, 0.9, 0.25]
    wrong, trials, delta = 0, 60 * times, 0.25
    for trial in range(trials):
        chance = random.Random(trial)
        study = create_study(problem, policy="lucb-c:batch=8,bound=kl", delta=delta, seed=trial)
        last_to_first(study, lambda pull, chance=chance: float(chance.random() < means[pull.arm_index]), 8)
        assert study.status == "certified"
        wrong += study.best != "arm 1"
    assert binomtest(wrong, trials, delta, alternative="greater").pvalue > 0.01
    assert wrong <= delta * trials


@pytest.mark.parametrize("workers", [1, 16])
def test_max_cost_holds_with_everything_in_flight(workers: int, simulated: Callable[..., Any]) -> None:
    instance = mf.load_instance("judges")
    for limit in (0.0001, 0.3005, 1.7):
        study = create_study(instance.problem, policy="lucb-c:batch=5", max_cost=limit)
        total = 0.0
        while pulls := study.ask(workers):
            total += sum(pull.cost for pull in pulls)
            assert total <= limit * (1 + 1e-12)
            for pull in pulls:
                study.tell(pull, simulated(instance)(pull))
        assert study.status == "max_cost"
        assert study.cost == pytest.approx(total)


def test_seeds_are_a_function_of_the_place(pair: mf.Problem) -> None:
    seen = {}
    for seed in (0, 1):
        study = create_study(pair, seed=seed, max_cost=600.0)
        while pulls := study.ask(4):
            for pull in pulls:
                seen[seed, pull.arm, pull.fidelity, pull.index] = pull.seed
                assert 0 <= pull.seed < 2**31
                study.tell(pull, 0.5)
    assert len(set(seen.values())) == len(seen)
    other = create_study(pair, seed=1, policy="lucb-top")
    for pull in other.ask(2):
        same = seen.get((1, pull.arm, pull.fidelity, pull.index))
        assert same in (None, pull.seed)
    assert np.unique(list(seen.values())).size == len(seen)
