"""Simulations with several workers: they decide as a study of the same width, and their clock is right."""

import dataclasses
import random
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.algorithms import Policy
from mfbandit.core import ROW_LIMIT, Ahead, Algorithm, Goal, trial_key
from mfbandit.errors import InvalidInput
from mfbandit.instances import draw_of, law_arrays
from mfbandit.kernel import kernel
from mfbandit.simulation._trials import Simulation
from mfbandit.simulation._wide_simulator import WideSimulator
from mfbandit.study.state._planner import Planner

SEED = 11
TABLE = np.random.default_rng(5).random((4, 2, 60))
QUICK, SLOW = mf.Fidelity("quick", 1.0, 0.2), mf.Fidelity("slow", 5.0)


def hits(means, biases=(0.1, 0.0), costs=(0.1, 1.0)):
    problem = mf.Problem.from_arrays(list(costs), list(biases), arms=len(means), reward="bernoulli")
    return mf.Instance(problem, means, mf.BernoulliLaw())


def items():
    return mf.Instance(mf.Problem(4, [QUICK, SLOW], "bounded", blocks=60), None, mf.BlockTableLaw(TABLE))


def same(first, second):
    for field in ("cost", "best", "stopped", "pulls", "trace", "mark_pulls", "mark_best", "time", "busy"):
        assert (getattr(first, field) == getattr(second, field)).all(), field


# ---------------------------------------------------------------- the same decisions as a study


def rewards_of(instance):
    """What the simulator would draw for the pulls of its trial 0, in the order of asking."""
    if instance.problem.blocks is not None:
        return instance.evaluator()
    law, draw, key, seen = law_arrays(instance), draw_of(instance), trial_key(SEED, 0), {}

    def reward(pull):
        k, m = pull.arm_index, pull.fidelity_index
        stream = k * instance.problem.n_fidelities + m
        seen[stream] = n = seen.get(stream, -1) + 1
        return float(instance.problem.reward.from_unit(draw(law, key, stream, k, m, n)))

    return reward


def asked_by_study(instance, policy, width, most, settings):
    """The first pulls that a study asks for whose workers are of any number, and answer in any order."""
    study = mf.create_study(instance.problem, policy=policy, seed=SEED, width=width, **settings)
    evaluate, luck, out, asked = rewards_of(instance), random.Random(width), [], []
    while len(asked) < most:
        pulls = study.ask(luck.randint(1, width))
        asked += [(pull.arm_index, pull.fidelity_index) for pull in pulls]
        out += [(pull, evaluate(pull)) for pull in pulls]
        if not out:
            break
        for _ in range(luck.randint(0 if pulls else 1, len(out))):
            study.tell(*out.pop(luck.randrange(len(out))))
    return asked[:most]


@pytest.mark.parametrize("width", [2, 8, 64])
@pytest.mark.parametrize(
    ("policy", "settings", "most"),
    [
        ("mf-toptwo", {"delta": 0.1}, 120),
        ("lucb-a:top=0.95,second=0.75", {"delta": 0.1}, 400),
        ("lucb-c", {"delta": 0.1}, 400),
        ("mf-commit", {"budget": 300.0}, 400),
        ("mf-race", {"max_cost": 600.0}, 400),
    ],
)
def test_a_wide_study_decides_as_simulated_trial_0(policy, settings, most, width, monkeypatch):
    monkeypatch.setattr(Planner, "compile", lambda self, state: None)
    instance = items() if policy == "mf-race" else mf.load_instance("figure-1a")
    asked = asked_by_study(instance, policy, width, most, settings)
    given = {"trials": 1, "seed": SEED, "trace": most, "width": width, "device": "python", **settings}
    rows = mf.simulate(instance, policy, max_pulls=most, **given).trace[0]
    assert np.repeat(rows[:, :2], rows[:, 2], axis=0).tolist() == [list(pull) for pull in asked]
    assert len(asked) > 100


NEAR_ONE = hits([[0.98, 0.99], [0.96, 0.95]], (0.01, 0.0), (0.2, 1.0))
AGAINST_THE_BEST = hits([[0.5, 0.6], [0.6, 0.5]])


@pytest.mark.parametrize("width", [8, 64])
def test_plain_and_compiled_trials_are_the_same(width):
    given = {"trials": 2, "seed": 2, "trace": 50, "marks": (7.0, 20.0), "max_pulls": 120, "width": width}
    given["durations"] = mf.Durations([1.0, 4.0], spread=1.0)
    same(mf.simulate(NEAR_ONE, device="python", **given), mf.simulate(NEAR_ONE, **given))


def test_plain_and_compiled_races_are_the_same():
    given = {"trials": 2, "seed": 2, "trace": 50, "max_pulls": 150, "width": 8, "durations": 2.0}
    same(mf.simulate(items(), device="python", **given), mf.simulate(items(), **given))


def test_trials_do_not_depend_on_threads_or_on_those_before():
    given = {"width": 8, "durations": mf.Durations(spread=0.5), "trace": 20}
    one, many = (mf.simulate(AGAINST_THE_BEST, trials=40, threads=threads, **given) for threads in (1, 3))
    same(one, many)
    assert mf.simulate(AGAINST_THE_BEST, trials=1, **given).time[0] == one.time[0]


def test_one_worker_with_durations_decides_as_ever():
    plain = mf.simulate("figure-1a", "lucb-c", trials=2, max_pulls=300, trace=300, marks=(50.0,), device="python")
    given = {"trials": 2, "max_pulls": 300, "trace": 300, "marks": (50.0,), "device": "python"}
    timed = mf.simulate("figure-1a", "lucb-c", durations=[1.0, 2.0, 4.0], **given)
    for field in ("cost", "best", "stopped", "pulls", "trace", "mark_pulls", "mark_best"):
        assert (getattr(plain, field) == getattr(timed, field)).all(), field
    assert timed.time.tolist() == (timed.pulls.sum(axis=1) @ [1.0, 2.0, 4.0]).tolist()
    assert (timed.busy == timed.time).all()
    assert (plain.time == plain.pulls.sum(axis=(1, 2))).all()
    assert (plain.utilisation, timed.utilisation) == (1.0, 1.0)


# ---------------------------------------------------------------- the guarantee


@pytest.mark.parametrize("instance", [NEAR_ONE, AGAINST_THE_BEST], ids=["near 1", "biases against the best"])
def test_error_rate(instance, times):
    # As many as find a rate of twice delta with a probability of 0.9998.
    trials, delta = 250 * times, 0.2
    runs = mf.simulate(instance, delta=delta, trials=trials, seed=4, width=64, durations=mf.Durations(spread=1.0))
    assert runs.stopped.all()
    assert binomtest(int(runs.wrong.sum()), trials, delta, alternative="greater").pvalue > 1e-3


# ---------------------------------------------------------------- the clock


class Last(NamedTuple):
    pulls: int


@kernel
def plan_in_turn(problem, params, state, out):
    """Pull all fidelities of the first arm in turn."""
    made = int(state.pulls.sum())
    out[0, 0], out[0, 1], out[0, 2] = 0, made % problem.cost.shape[1], 1
    return 1 if made < params.pulls else 0


@kernel
def plan_rounds(problem, params, state, out):
    """Pull every arm at every fidelity many times at once."""
    if state.pulls.sum() >= params.pulls:
        return 0
    rows = 0
    for k in range(problem.cost.shape[0]):
        for m in range(problem.cost.shape[1]):
            out[rows, 0], out[rows, 1], out[rows, 2] = k, m, 100
            rows += 1
    return rows


@kernel
def first_arm(problem, params, state):
    return 0


@dataclass(frozen=True)
class InTurn(Policy):
    """Pull so often, whatever comes out of it."""

    pulls: int = 40
    rounds: bool = False
    ahead: Ahead | None = dataclasses.field(default_factory=Ahead)

    @property
    def name(self):
        return "in-turn"

    def check(self, problem, goal):
        """Take any problem."""

    def algorithm(self, problem, goal, unit):
        plan = plan_rounds if self.rounds else plan_in_turn
        return Algorithm(plan, first_arm, Last(self.pulls), problem.cost.size, ahead=self.ahead)


def clocked(policy, durations=1.0, at_most=None, width=4):
    fidelities = [mf.Fidelity("quick", 1.0, 0.1), mf.Fidelity("slow", 2.0, at_most=at_most)]
    instance = mf.Instance(mf.Problem(2, fidelities, "bernoulli"), [[0.5, 0.5], [0.4, 0.4]], mf.BernoulliLaw())
    runs = mf.simulate(instance, policy, trials=1, width=width, durations=durations, trace=40, device="python")
    assert runs.stopped.all()
    return runs


def test_time_and_busy_workers_by_hand():
    # 40 pulls of 4 workers: in the first two steps one waits, since plans may be 2 pulls ahead, and in the last two do.
    runs = clocked(InTurn())
    assert (runs.time[0], runs.busy[0], runs.utilisation) == (11.0, 40.0, pytest.approx(40 / 44))
    runs = clocked(InTurn(pulls=42), durations={"slow": 2.0, "quick": 2.0})
    assert (runs.time[0], runs.busy[0]) == (22.0, 84.0)
    assert runs.utilisation == pytest.approx(84 / 88)


def test_without_plans_ahead_rounds_wait_for_their_slowest_pull():
    runs = clocked(InTurn(ahead=None))
    assert (runs.time[0], runs.busy[0]) == (40.0, 40.0)
    # 400 pulls are one round: 200 of 1 and 200 of 3 by 4 workers.
    runs = clocked(InTurn(pulls=400, rounds=True, ahead=None), durations=(1.0, 3.0))
    assert runs.pulls.sum() == 400
    assert runs.time[0] >= runs.busy[0] / 4 == 200.0
    assert runs.time[0] < 203.0


def test_a_fidelity_with_one_place_keeps_no_other_waiting():
    free, held = clocked(InTurn()), clocked(InTurn(), at_most=1)
    assert (held.trace == free.trace).all()
    assert held.pulls.sum(axis=1).tolist() == [[20, 20]]
    # One after the other, without a pause between them.
    assert (held.time[0], held.busy[0]) == (20.0, 40.0)
    slow = clocked(InTurn(), durations={"quick": 1.0, "slow": 10.0}, at_most=1)
    assert (slow.time[0], slow.busy[0]) == (200.0, 220.0)


def test_durations_have_their_mean_and_spread():
    runs = clocked(InTurn(pulls=3000), durations=mf.Durations((2.0, 6.0), spread=0.5), width=1)
    error = np.sqrt((np.exp(0.25) - 1) * 1500 * (2**2 + 6**2))
    assert abs(runs.time[0] - 1500 * 8) < 4 * error
    assert len({clocked(InTurn(pulls=4), mf.Durations(spread=s), width=1).time[0] for s in (0.0, 0.5, 1.0)}) == 3


def test_a_budget_is_spent_whole_and_never_more():
    runs = mf.simulate("figure-1a", "mf-commit", budget=200.0, trials=3, width=8, device="python")
    assert (runs.cost <= 200.0).all()
    assert (runs.cost > 199.0).all()
    assert runs.stopped.all()
    capped = mf.simulate("figure-1a", "lucb-c", max_cost=50.0, trials=2, width=8, device="python")
    assert (capped.cost <= 50.0).all()
    assert not capped.stopped.any()


# ---------------------------------------------------------------- room


def simulator(policy, width):
    instance = hits([[0.5, 0.5], [0.4, 0.4]])
    return WideSimulator(Simulation(instance, policy, Goal(), SEED, trace=60, width=width), "python")


@pytest.mark.parametrize("width", [2, 64])
def test_there_is_room_for_the_longest_rounds(width):
    ready = simulator(InTurn(pulls=20_000, rounds=True), width)
    results = ready.results(1)
    ready.play(0, results)
    assert results.stopped[0] == 1
    assert set(results.trace[0, :, 2].tolist()) == {ROW_LIMIT}
    assert results.pulls.sum() >= 20_000


def test_a_run_that_needs_more_room_is_cut():
    ready, whole = simulator(InTurn(pulls=200), 8), simulator(InTurn(pulls=200), 8)
    ready.workers = ready.workers._replace(held=11)
    results, full = ready.results(1), whole.results(1)
    ready.play(0, results)
    whole.play(0, full)
    assert (results.stopped[0], full.stopped[0]) == (2, 1)
    assert 11 <= results.pulls.sum() < 200
    made = int(results.trace[0, :, 2].sum())
    assert (results.trace[0, :made] == full.trace[0, :made]).all()


# ---------------------------------------------------------------- what is said, and refused


def test_what_is_said_of_time():
    pytest.importorskip("pandas")
    runs = clocked(InTurn(), durations=2.0)
    assert {"width": 4, "mean_time": 22.0, "utilisation": 80 / 88}.items() <= runs.summary().items()
    assert runs.to_frame()[["time", "busy"]].values.tolist() == [[22.0, 80.0]]


def test_a_forecast_tells_cost_and_time_by_workers():
    given = {"policies": ["mf-toptwo"], "trials": 20}
    found = mf.forecast(NEAR_ONE, workers=[8, 64], durations=2.0, **given)
    some, many = found.widths
    assert (some.workers, many.workers) == (8, 64)
    assert some.mean_time > 3 * many.mean_time
    assert found.to_json()["widths"][1]["utilisation"] == many.utilisation
    # By default every pull takes 1.
    assert found.keep == ("fidelity 1",)
    pulls = mf.simulate(NEAR_ONE, "mf-toptwo:fidelities=1", trials=20).pulls.sum() / 20
    (one,) = mf.forecast(NEAR_ONE, workers=[1], **given).widths
    assert (one.mean_time, one.utilisation) == (pulls, 1.0)
    assert mf.forecast(NEAR_ONE, **given).widths == ()
    with pytest.raises(InvalidInput, match="workers must be a whole number >= 1, got 0"):
        mf.forecast(NEAR_ONE, workers=[0], **given)
    with pytest.raises(InvalidInput, match="durations are 3 numbers for 2 fidelities"):
        mf.forecast(NEAR_ONE, durations=[1, 2, 3], **given)


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"width": 0}, "width must be a whole number >= 1, got 0"),
        ({"width": 10**6}, "width must be at most 65,536 in a simulation, got 1000000"),
        ({"width": 8, "device": "cuda"}, "device='cuda' has no virtual clock"),
        ({"durations": 1.0, "device": "cuda"}, "device='cuda' has no virtual clock"),
        ({"durations": 0.0}, "a duration must be a finite number > 0, got 0.0"),
        ({"durations": [1.0, -2.0, 1.0]}, "got -2.0 at position 1"),
        ({"durations": [1.0, 2.0]}, "durations are 2 numbers for 3 fidelities"),
        ({"durations": {"fidelity 0": 1.0}}, "durations lacks the key"),
        ({"durations": "long"}, "durations must be a number, or one for each fidelity, got 'long'"),
    ],
)
def test_bad_input_is_refused(settings, rule):
    with pytest.raises(InvalidInput, match=rule.replace("[", r"\[")):
        mf.simulate("figure-1a", trials=1, **settings)


@pytest.mark.parametrize("bad", [-1.0, float("nan"), "much", True])
def test_a_bad_spread_is_refused(bad):
    with pytest.raises(InvalidInput, match="the spread of durations must be a number >= 0"):
        mf.Durations(spread=bad)
