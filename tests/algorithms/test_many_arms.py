"""Very many arms: rounds that hold many of them, with the guarantees of few."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.algorithms.mf_toptwo import TopTwoMemory
from mfbandit.algorithms.mf_toptwo._arms_in_race import keep_closest
from mfbandit.algorithms.mf_toptwo._memory import rows_for
from mfbandit.core import arrays, new_state
from mfbandit.instances import BernoulliLaw, Instance


def crowd(arms: int, seed: int, *, gap: float = 0.25, against: bool = False) -> Instance:
    """One best arm, and a crowd below it; `against`: all biases at their bounds, against the best arm."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.1, 0.9 - gap, arms)
    best = int(rng.integers(arms))
    truth[best] = 0.9
    bias = np.array([0.1, 0.03, 0.0])
    sign = np.where(np.arange(arms) == best, -1.0, 1.0)[:, None] if against else rng.uniform(-1, 1, (arms, 3))
    problem = mf.Problem(arms, [("cheap", 1.0, 0.1), ("fair", 4.0, 0.03), ("true", 16.0, 0.0)], reward="bernoulli")
    return Instance(problem, np.clip(truth[:, None] + bias * sign, 0.0, 1.0), BernoulliLaw())


@settings(max_examples=200, deadline=None)
@given(indices=st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.5, 7.25]) | st.floats(-9, 9), min_size=1, max_size=300))
def test_the_closest_rivals_are_kept(indices: list[float]) -> None:
    problem = arrays(mf.Problem(len(indices) + 1, [("true", 1.0, 0.0)]))
    state = new_state(problem, TopTwoMemory)
    most, kept = rows_for(len(indices)), 0
    for arm, index in enumerate(indices):
        kept = keep_closest(state, kept, most, arm, index)
    assert kept == min(most, len(indices))
    found = [(state.own.row_distance[row], int(state.own.row_arm[row])) for row in range(kept)]
    assert sorted(index for index, _ in found) == sorted(indices)[:kept]
    assert all(indices[arm] == index for index, arm in found)
    assert len({arm for _, arm in found}) == kept


@pytest.mark.parametrize("against", [False, True])
def test_the_error_rate_is_kept_among_many(against: bool, times: int) -> None:
    wrong = unfinished = 0
    # Together they find a rate of 0.6 with a probability of 0.998: answers that have lost their way among the arms.
    trials, instances = 10 * times, 5
    for seed in range(instances):
        instance = crowd(200, seed, gap=0.45, against=against)
        runs = mf.simulate(instance, "mf-toptwo", delta=0.2, trials=trials, seed=seed, max_cost=3e6)
        wrong += int((runs.best[runs.stopped] != instance.best).sum())
        unfinished += int((~runs.stopped).sum())
    assert unfinished == 0
    assert binomtest(wrong, trials * instances, 0.2, alternative="greater").pvalue > 1e-3


def test_most_arms_are_left_after_a_few_cheap_pulls() -> None:
    instance = crowd(2_000, 1, gap=0.4)
    runs = mf.simulate(instance, "mf-toptwo", trials=3, seed=2)
    assert runs.stopped.all()
    assert (runs.best == instance.best).all()
    others = np.delete(runs.pulls, instance.best, axis=1)
    assert (others[:, :, 2] == 0).mean() > 0.9, "the truest fidelity is bought for few of them"
    assert np.median(others.sum(axis=2)) < 60


@pytest.mark.parametrize("epsilon", [0.0, 0.05])
def test_plain_python_and_compiled_code_agree_among_many(epsilon: float) -> None:
    instance = crowd(150, 3)
    ways = [
        mf.simulate(
            instance, "mf-toptwo", epsilon=epsilon, trials=1, seed=4, max_pulls=1_500, trace=1_500, device=device
        )
        for device in ("cpu", "python")
    ]
    assert np.array_equal(ways[0].trace, ways[1].trace)
    assert (ways[0].trace[0, :, 2] > 0).sum() > 300


@pytest.mark.parametrize("policy", ["mf-toptwo", "lucb-b:top=0.9,second=0.6", "lucb-c"])
def test_processes_that_take_turns_decide_as_one_does(policy: str, tmp_path: object) -> None:
    """Each reads what the other noted, which for many arms is only what has changed."""
    instance = crowd(150, 5)
    where = f"sqlite:///{tmp_path}/turns.db"
    evaluate = instance.evaluator(6)
    alone = mf.create_study(instance.problem, policy=policy, seed=7)
    mf.create_study(instance.problem, policy=policy, seed=7, storage=where, name="turns")
    # Two that stay open and one that is opened anew now and then, in turn.
    both = [mf.load_study(where, "turns") for _ in range(2)]
    for step in range(60):
        taken = [study.ask(10) for study in (alone, both[step % 2])]
        assert [(pull.arm, pull.fidelity) for pull in taken[0]] == [(pull.arm, pull.fidelity) for pull in taken[1]]
        for mine, shared in zip(*taken, strict=True):
            reward = evaluate(mine)
            alone.tell(mine, reward)
            both[step % 2].tell(shared, reward)
        if step % 10 == 9:
            both[step % 2] = mf.load_study(where, "turns")
