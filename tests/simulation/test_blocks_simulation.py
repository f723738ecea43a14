"""Simulations of problems with blocks: the same plain and compiled, with rewards that are what their law says."""

import dataclasses
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

import mfbandit as mf
from mfbandit.algorithms import Policy
from mfbandit.algorithms.mf_race._mf_race import MFRace
from mfbandit.core import Algorithm, arrays, block_order, open_block, trial_key
from mfbandit.errors import InvalidInput, PolicyError
from mfbandit.instances import block_draw, block_law
from mfbandit.kernel import compiled, kernel
from mfbandit.simulation import _block_trials as block_play
from mfbandit.study import create_study
from mfbandit.study.state._planner import Planner

QUICK, SLOW = mf.Fidelity("quick", 1.0, 1.0), mf.Fidelity("slow", 5.0)
TABLE = np.random.default_rng(5).random((4, 2, 60))
MEANS = np.array([[0.2, 0.5], [0.4, 0.6], [0.6, 0.3], [0.8, 0.4]])


class Params(NamedTuple):
    last: int


@kernel
def leader_of(problem, state):
    best = 0
    m = problem.truest
    for k in range(1, state.pulls.shape[0]):
        if state.sums[k, m] > state.sums[best, m]:
            best = k
    return best


@kernel
def plan(problem, params, state, out):
    lanes, arms = problem.cost.shape[1], problem.cost.shape[0]
    room = state.blocks.rewards.shape[2]
    if state.blocks.opened[0] >= min(params.last, room):
        return 0
    leader = leader_of(problem, state)
    rows = 0
    for m in range(lanes):
        open_block(state.blocks, m, leader, -1)
        for k in range(arms):
            out[rows, 0], out[rows, 1], out[rows, 2] = k, m, 1
            rows += 1
    return rows


@kernel
def recommend(problem, params, state):
    return leader_of(problem, state)


@dataclass(frozen=True)
class Lockstep(Policy):
    """All arms, block by block, the leader by its mean, an end after some blocks."""

    last: int = 100

    @property
    def name(self):
        return "lockstep"

    def check(self, problem, goal):
        """Take any problem."""

    def algorithm(self, problem, goal, unit):
        rows = problem.cost.size
        return Algorithm(plan, recommend, Params(self.last), rows, evidence="blocks")


@kernel
def greedy_plan(problem, params, state, out):
    """Ask for one more block of the first arm, whether there is one or not."""
    out[0, 0], out[0, 1], out[0, 2] = 0, 0, 7
    return 1


@kernel
def plan_in_turn(problem, params, state, out):
    """One pull of every arm at every fidelity, some times."""
    rows = 0
    for k in range(problem.cost.shape[0]):
        for m in range(problem.cost.shape[1]):
            if state.pulls[k, m] < params.last:
                out[rows, 0], out[rows, 1], out[rows, 2] = k, m, 1
                rows += 1
    return rows


@dataclass(frozen=True)
class InTurn(Lockstep):
    """A policy that takes rewards for independent, and so draws a block for every pull."""

    independent: bool = True

    def algorithm(self, problem, goal, unit):
        return Algorithm(plan_in_turn, recommend, Params(self.last), problem.cost.size)


def instance(name, order="own", fidelities=(QUICK, SLOW)):
    table = mf.BlockTableLaw(TABLE)
    reward, blocks, means, law = {
        "finite": ("bounded", 60, None, table),
        "resampled": ("bounded", "unlimited", None, table),
        "normal table": (mf.Gaussian(), "unlimited", None, table),
        "normal": (mf.Gaussian(), "unlimited", MEANS, mf.BlockEffectLaw(0.6, sigma=0.2)),
        "hits": ("bernoulli", "unlimited", MEANS, mf.BlockEffectLaw(-0.6)),
    }[name]
    return mf.Instance(mf.Problem(4, list(fidelities), reward, blocks=blocks, order=order), means, law)


NAMES = ("finite", "resampled", "normal table", "normal", "hits")


def same(first, second):
    for field in ("cost", "best", "stopped", "pulls", "trace", "mark_pulls", "mark_best", "out_of_room"):
        assert (getattr(first, field) == getattr(second, field)).all(), field


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("order", ["own", "shared"])
def test_plain_and_compiled_trials_are_the_same(name, order):
    given = {"trials": 3, "seed": 2, "trace": 50, "marks": (7.0, 60.0), "max_pulls": 120}
    plain = mf.simulate(instance(name, order), Lockstep(last=20), device="python", **given)
    same(plain, mf.simulate(instance(name, order), Lockstep(last=20), **given))
    assert plain.trace[:, 0, 2].all()


def test_plain_and_compiled_races_are_the_same():
    given = {"trials": 2, "seed": 2, "trace": 50, "max_pulls": 150}
    plain = mf.simulate(instance("finite"), MFRace(), device="python", **given)
    same(plain, mf.simulate(instance("finite"), MFRace(), **given))
    assert plain.pulls.sum() > 100


@pytest.mark.parametrize("name", ["finite", "normal"])
def test_a_study_decides_as_simulated_trial_0(name, monkeypatch):
    monkeypatch.setattr(Planner, "compile", lambda self, state: None)
    given = instance(name, fidelities=[QUICK, mf.Fidelity("slow", 5.0, block_cost=2.0)])
    study, evaluate, decided = create_study(given.problem, policy=MFRace(), seed=4, max_cost=200), given.evaluator(), []
    while pulls := study.ask(1000):
        for pull in pulls:
            study.tell(pull, evaluate(pull))
            decided.append((pull.arm_index, pull.fidelity_index))
    runs = mf.simulate(given, MFRace(), trials=1, seed=4, trace=200, max_cost=200, device="python")
    assert np.repeat(runs.trace[0, :, :2], runs.trace[0, :, 2], axis=0).tolist() == [list(pull) for pull in decided]
    assert runs.cost[0] == pytest.approx(study.result().cost)


def test_independent_policies_are_the_same_too():
    plain = mf.simulate(instance("finite"), InTurn(last=60), device="python", trials=30)
    same(plain, mf.simulate(instance("finite"), InTurn(last=60), trials=30))
    assert (plain.pulls == 60).all()
    # Every pull draws its own block, so that the set is not gone through, and luck differs.
    assert len(set(plain.best.tolist())) > 1
    assert len(set(mf.simulate(instance("hits"), InTurn(last=5), device="python", trials=30).best.tolist())) > 1


def test_trials_do_not_depend_on_threads_or_on_those_before():
    many = mf.simulate(instance("finite"), MFRace(), trials=60, threads=2)
    same(many, mf.simulate(instance("finite"), MFRace(), trials=60, threads=1))
    first = mf.simulate(instance("finite"), MFRace(), trials=1)
    assert first.cost[0] == many.cost[0]


def told(given, seed, last):
    """The sums of a lockstep run by hand, from the draws."""
    law, draw, key = block_law(given), block_draw(given), trial_key(seed, 0)
    order = block_order(seed, 2, 60, given.problem.order == "shared")
    finite = given.problem.blocks != "unlimited"
    sums = np.zeros(4)
    for position in range(last):
        block = int(order[1, position]) if finite else position
        sums += [draw(law, key, k * 2 + 1, k, 1, block) for k in range(4)]
    return sums


@pytest.mark.parametrize("order", ["own", "shared"])
@pytest.mark.parametrize("name", NAMES)
def test_a_policy_on_some_fidelities_sees_the_blocks_of_their_columns(name, order):
    given = instance(name, order)
    for seed in range(4):
        sums = told(given, seed, 6)
        for fidelities in ("all", "top"):
            runs = mf.simulate(given, Lockstep(last=6, fidelities=fidelities), trials=1, seed=seed)
            assert runs.best[0] == np.argmax(sums)


def test_a_finite_set_is_gone_through_once():
    runs = mf.simulate(instance("finite"), Lockstep(last=60), trials=50)
    assert (runs.best == np.argmax(TABLE[:, 1].mean(axis=1))).all()
    assert runs.stopped.all()
    assert (runs.pulls == 60).all()


def test_a_policy_that_wants_more_blocks_than_there_are_is_cut():
    @dataclass(frozen=True)
    class Greedy(Lockstep):
        def algorithm(self, problem, goal, unit):
            return dataclasses.replace(super().algorithm(problem, goal, unit), plan=greedy_plan)

    runs = mf.simulate(instance("finite"), Greedy(), trials=2, device="python")
    assert not runs.stopped.any()
    assert (runs.pulls[:, 0, :] == [60, 0]).all()


def test_opening_a_block_costs_once():
    costly = [QUICK, mf.Fidelity("slow", 5.0, block_cost=3.0)]
    given = instance("finite", fidelities=costly)
    assert (mf.simulate(given, Lockstep(last=10), trials=3).cost == 10 * (4 * 1 + 4 * 5 + 3)).all()
    # What a limit on the cost leaves of a row counts its full price.
    short = mf.simulate(given, Lockstep(last=10, fidelities="top"), trials=1, max_cost=23.0 + 7.9)
    assert (short.cost[0], short.pulls.sum()) == (23.0, 4)
    marked = mf.simulate(given, Lockstep(last=10, fidelities="top"), trials=1, marks=(7.9, 8.0, 12.9, 13.0))
    assert marked.mark_pulls[0].sum(axis=(1, 2)).tolist() == [0, 1, 1, 2]


def test_a_run_that_fills_its_room_has_not_stopped(monkeypatch):
    monkeypatch.setattr(block_play, "_BYTES", 0)
    monkeypatch.setattr(block_play, "_LEAST", 30)
    runs = mf.simulate(instance("normal"), Lockstep(last=10**6), trials=3)
    assert runs.out_of_room.all()
    assert not runs.stopped.any()
    assert runs.summary()["out_of_room"] == 3
    done = mf.simulate(instance("normal"), Lockstep(last=29), trials=3)
    assert done.stopped.all()
    assert not done.out_of_room.any()


def test_room_is_bounded():
    small = mf.Problem(2, [SLOW], mf.Gaussian(), blocks="unlimited")
    large = mf.Problem(20_000, [SLOW], mf.Gaussian(), blocks="unlimited")
    assert block_play.room_for_blocks(arrays(small)).rewards.shape == (1, 2, 1_000_000)
    assert block_play.room_for_blocks(arrays(large)).rewards.shape == (1, 20_000, 1_000)


def sample(given, count, arm, fidelity=1, trial=0):
    law, draw, key = block_law(given), compiled(block_draw(given)), trial_key(3, trial)
    key = key - 2**64 if key >= 2**63 else key
    return np.array([draw(law, key, arm * 2 + fidelity, arm, fidelity, n) for n in range(count)])


@pytest.mark.parametrize(("rho", "expected"), [(0.6, 0.6), (-0.6, -0.6), (0.0, 0.0)])
def test_normal_rewards_on_blocks_have_their_means_and_correlations(rho, expected):
    problem = mf.Problem(4, [QUICK, SLOW], mf.Gaussian(), blocks="unlimited", order="shared")
    given = mf.Instance(problem, MEANS, mf.BlockEffectLaw(rho, sigma=0.2))
    rewards = [sample(given, 4000, arm) for arm in range(3)]
    for arm, found in enumerate(rewards):
        assert stats.kstest(found, stats.norm(MEANS[arm, 1], 0.2).cdf).pvalue > 1e-3
    assert abs(np.corrcoef(rewards[0], rewards[1])[0, 1] - expected) < 0.06
    assert abs(np.corrcoef(rewards[0], rewards[2])[0, 1] - abs(expected)) < 0.06
    # The effect of a block is the same at all fidelities that share their blocks.
    assert abs(np.corrcoef(rewards[0], sample(given, 4000, 0, 0))[0, 1] - abs(expected)) < 0.06


def test_hits_on_blocks_have_their_means():
    given = instance("hits")
    for arm in range(4):
        hits = int(sample(given, 20_000, arm).sum())
        assert stats.binomtest(hits, 20_000, MEANS[arm, 1]).pvalue > 1e-3
    first, second = sample(given, 4000, 0), sample(given, 4000, 1)
    assert np.corrcoef(first, second)[0, 1] < -0.3
    sure = mf.Instance(mf.Problem(2, [SLOW], "bernoulli", blocks="unlimited"), [[0.0], [1.0]])
    law, draw = block_law(sure), block_draw(sure)
    assert {draw(law, 1, k, k, 0, n) - k for k in (0, 1) for n in range(300)} == {0.0}


def test_rows_of_a_resampled_table_are_whole_and_equally_likely():
    given = instance("resampled")
    rows = [np.searchsorted(np.sort(TABLE[k, 1]), sample(given, 6000, k)) for k in (0, 1)]
    places = [np.argsort(TABLE[k, 1])[found] for k, found in enumerate(rows)]
    assert (places[0] == places[1]).all()
    assert stats.chisquare(np.bincount(places[0], minlength=60)).pvalue > 1e-3
    assert (sample(given, 100, 0) != sample(given, 100, 0, trial=1)).any()


def test_what_cannot_be_simulated_is_refused():
    with pytest.raises(InvalidInput, match="cuda"):
        mf.simulate(instance("finite"), MFRace(), device="cuda")
    with pytest.raises(PolicyError, match="blocks"):
        mf.simulate(instance("finite"), "lucb-c", trials=1)
    with pytest.raises(PolicyError, match="blocks"):
        mf.simulate("figure-1a", Lockstep(), trials=1)


def test_races_are_rarely_wrong(times):
    runs = mf.simulate(instance("finite"), MFRace(), delta=0.1, trials=300 * times, seed=8)
    assert stats.binomtest(int(runs.wrong.sum()), 300 * times, 0.1, alternative="greater").pvalue > 1e-3
    assert runs.stopped.all()
