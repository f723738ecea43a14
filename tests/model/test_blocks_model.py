"""Problems with blocks: what can be said of them, what is refused, and that nothing said is lost."""

import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mfbandit as mf
from mfbandit import theory
from mfbandit.errors import InvalidInput, ProblemError

JUDGE = mf.Fidelity("judge", 1.0, 0.1, pair_bias=0.05, block_cost=2.0)
HUMAN = mf.Fidelity("human", 9.0)

small = st.floats(0.0, 0.5, allow_subnormal=False)
some_cost = st.floats(0.01, 100.0)


@st.composite
def problems(draw):
    """Any problem with blocks."""
    blocks = draw(st.one_of(st.just("unlimited"), st.integers(1, 10**8)))
    kinds = [st.just(mf.Bernoulli()), st.builds(mf.Bounded, st.just(-1.0), st.floats(0.0, 5.0))]
    if blocks == "unlimited":
        resolution = st.none() | st.floats(1e-6, 1.0)
        kinds.append(st.builds(mf.Gaussian, caution=st.floats(0.0, 9.0), resolution=resolution))
        kinds.append(st.builds(lambda swing: mf.Bounded(0, 2, swing=swing), st.floats(0.01, 4.0)))
    arms = draw(st.integers(1, 4))
    per_arm = st.lists(some_cost, min_size=arms, max_size=arms)
    cheap = [
        mf.Fidelity(
            f"cheap {m}",
            draw(some_cost | per_arm),
            draw(small),
            pair_bias=draw(st.none() | small),
            block_cost=draw(st.just(0.0) | some_cost),
        )
        for m in range(draw(st.integers(0, 2)))
    ]
    truth = mf.Fidelity("truth", 200.0, block_cost=draw(st.just(0.0) | some_cost))
    order = draw(st.sampled_from(["own", "shared"]))
    return mf.Problem(arms, [*cheap, truth], draw(st.one_of(kinds)), blocks=blocks, order=order)


@settings(max_examples=60, deadline=None)
@given(problems())
def test_nothing_that_is_said_is_lost(problem):
    for copy in (
        mf.Problem.from_json(json.loads(json.dumps(problem.to_json()))),
        pickle.loads(pickle.dumps(problem)),
        problem.widened({}),
        problem.with_reward(problem.reward),
    ):
        assert copy == problem
        assert hash(copy) == hash(problem)
        assert repr(copy) == repr(problem)
        assert copy.fidelities == problem.fidelities
        assert copy.reward == problem.reward


@settings(max_examples=40, deadline=None)
@given(problems())
def test_without_blocks_every_pull_pays_for_its_own(problem):
    if isinstance(problem.reward, mf.Gaussian):
        with pytest.raises(ProblemError, match="needs its noise"):
            problem.without_blocks()
        return
    plain = problem.without_blocks()
    assert (plain.blocks, plain.order, plain.arms) == (None, "own", problem.arms)
    np.testing.assert_array_equal(plain.costs, problem.costs + [one.block_cost for one in problem.fidelities])
    np.testing.assert_array_equal(plain.biases, problem.biases)
    assert plain.without_blocks() is plain
    assert getattr(plain.reward, "swing", None) is None


SAID = {"arms": 2, "fidelities": [JUDGE, HUMAN], "blocks": "unlimited"}
OTHERS = [
    {"blocks": 10},
    {"order": "shared"},
    {"reward": mf.Bounded(0, 1, swing=0.5)},
    {"reward": mf.Gaussian()},
    {"reward": mf.Gaussian(caution=2)},
    {"reward": mf.Gaussian(resolution=0.01)},
    {"fidelities": [mf.Fidelity("judge", 1.0, 0.1, block_cost=2.0), HUMAN]},
    {"fidelities": [mf.Fidelity("judge", 1.0, 0.1, pair_bias=0.05), HUMAN]},
]


@pytest.mark.parametrize("other", OTHERS, ids=str)
def test_problems_that_differ_in_blocks_are_not_equal(other):
    problem, changed = mf.Problem(**SAID), mf.Problem(**{**SAID, **other})
    assert problem == mf.Problem(**SAID)
    assert problem != changed
    assert problem.to_json() != changed.to_json()


def test_a_line_says_what_there_is():
    assert repr(mf.Problem(2, [HUMAN], blocks=500)).endswith("Bounded(low=0.0, high=1.0), 500 blocks>")
    assert repr(mf.Problem(2, [HUMAN], "gaussian", blocks="unlimited")).endswith("Gaussian(), unlimited blocks>")
    assert "blocks" not in repr(mf.Problem(2, [HUMAN]))
    assert repr(JUDGE) == "Fidelity('judge', cost=1.0, bias=0.1, pair_bias=0.05, block_cost=2.0)"
    assert repr(mf.Bounded(0, 2, swing=0.5)) == "Bounded(low=0.0, high=2.0, swing=0.5)"
    assert repr(mf.Gaussian(caution=0, resolution=0.5)) == "Gaussian(resolution=0.5, caution=0.0)"


def test_a_problem_without_blocks_is_stored_as_ever():
    stored = mf.Problem(2, [("judge", 1.0, 0.1), ("human", 9.0)]).to_json()
    assert set(stored) == {"arms", "fidelities", "reward"}
    assert set(stored["fidelities"][0]) == {"name", "cost", "bias"}


def test_numbers_of_numpy_are_numbers():
    assert mf.Problem(2, [HUMAN], blocks=np.int64(7)) == mf.Problem(2, [HUMAN], blocks=7)
    assert type(mf.Problem(2, [HUMAN], blocks=np.int64(7)).blocks) is int


def test_arrays_know_blocks():
    problem = mf.Problem.from_arrays([1, 20], [0.08, 0], arms=3, blocks=40, order="shared")
    assert (problem.blocks, problem.order) == (40, "shared")


def test_wider_bounds_keep_what_is_said_of_blocks():
    wider = mf.Problem(**{**SAID, "order": "shared"}).widened({0: 0.2})
    assert (wider.blocks, wider.order) == ("unlimited", "shared")
    assert wider.fidelities[0].bias == pytest.approx(0.3)
    assert (wider.fidelities[0].pair_bias, wider.fidelities[0].block_cost) == (0.05, 2.0)


def test_another_kind_of_reward_keeps_what_is_said_of_blocks():
    changed = mf.Problem(**{**SAID, "order": "shared"}).with_reward(mf.Gaussian())
    assert changed == mf.Problem(**{**SAID, "order": "shared", "reward": mf.Gaussian()})


@pytest.mark.parametrize("blocks", [0, -3, True, False, 2.5, 3.0, "many", "", "7", [5], (3,), np.array([1, 2]), b"5"])
def test_blocks_are_a_number_or_unlimited(blocks):
    with pytest.raises(ProblemError, match="blocks must be a whole number of at least 1, or 'unlimited', got"):
        mf.Problem(2, [HUMAN], blocks=blocks)


BAD = [
    ({"blocks": 10**9}, "blocks is 1000000000, more than 100,000,000: say 'unlimited'"),
    ({"blocks": 5, "order": "random"}, "order must be 'own' or 'shared', got 'random'"),
    ({"blocks": 5, "order": None}, "order must be 'own' or 'shared', got None"),
    ({"order": "shared"}, "order='shared' is about blocks, but the problem has none"),
    ({"reward": mf.Gaussian()}, "the gaussian reward needs its noise: pass Gaussian(sigma=...), or blocks="),
    ({"reward": "gaussian"}, "the gaussian reward needs its noise"),
    ({"reward": mf.Gaussian(), "blocks": 40}, "Gaussian() without sigma needs blocks='unlimited', got 40"),
    ({"reward": mf.Gaussian(0.1), "blocks": 40}, "takes Gaussian() without sigma, got Gaussian(sigma=0.1)"),
    ({"reward": mf.Gaussian(0.1), "blocks": "unlimited"}, "takes Gaussian() without sigma, got Gaussian(sigma=0.1)"),
    ({"reward": mf.Bounded(0, 1, swing=0.2)}, "a swing is about differences on unlimited blocks"),
    ({"reward": mf.Bounded(0, 1, swing=0.2), "blocks": 9}, "a swing is about differences on unlimited blocks"),
    ({"fidelities": [JUDGE, HUMAN]}, "fidelity 'judge' has a pair_bias or a block_cost, but the problem has no blocks"),
    (
        {"fidelities": [mf.Fidelity("human", 9.0, pair_bias=0.1)], "blocks": 9},
        "fidelity 'human' is the truth, so its pair_bias is 0, not 0.1",
    ),
]


@pytest.mark.parametrize(("said", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_what_cannot_be_said_of_blocks(said, message):
    with pytest.raises(ProblemError) as caught:
        mf.Problem(**{"arms": 2, "fidelities": [HUMAN], **said})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


BAD_FIDELITIES = [
    ({"pair_bias": -0.1}, "a pair bias must be a finite number of at least 0"),
    ({"pair_bias": float("nan")}, "a pair bias must be a finite number of at least 0"),
    ({"pair_bias": [0.1, 0.2]}, "the pair_bias of fidelity 'judge' must be one number, got 2 of them"),
    ({"pair_bias": "small"}, "the pair_bias of fidelity 'judge'"),
    ({"block_cost": -1.0}, "the cost of opening a block must be a finite number of at least 0"),
    ({"block_cost": float("inf")}, "the cost of opening a block must be a finite number of at least 0"),
    ({"block_cost": None}, "the block_cost of fidelity 'judge'"),
]


@pytest.mark.parametrize(("said", "message"), BAD_FIDELITIES)
def test_what_cannot_be_said_of_a_fidelity(said, message):
    with pytest.raises(ProblemError) as caught:
        mf.Fidelity("judge", 1.0, 0.1, **said)
    assert message in str(caught.value)


def test_a_truth_may_have_a_pair_bias_of_nothing():
    exact = mf.Fidelity("human", 9.0, pair_bias=0.0)
    assert mf.Problem(2, [exact], blocks=9).fidelities == (exact,)


def blocked(**said):
    """An instance with blocks, with a law that can be made without any."""
    plain = mf.Instance(mf.Problem(2, [HUMAN], "bernoulli"), [[0.9], [0.5]], name="shared")
    problem = mf.Problem(2, [HUMAN], "bernoulli", **{"blocks": "unlimited", **said})
    object.__setattr__(plain, "problem", problem)
    return plain


REFUSALS = [
    lambda one: theory.limit(one, 0.05),
    lambda one: theory.characteristic_cost(one),
    lambda one: theory.hardness(one),
    lambda one: theory.corrected_hardness(one),
    lambda one: theory.gaps(one),
    lambda one: theory.optimal_fidelity(one),
    lambda one: theory.conservative_fidelity(one),
    lambda one: theory.lower_bound(one, 0.05),
    lambda one: theory.lower_bound_coefficient(one),
    lambda one: theory.lower_bound_costs(one),
    lambda one: theory.upper_bound(one, 0.05, "a"),
    lambda one: theory.upper_bound(one, 0.05, "c"),
    lambda one: theory.corrected_upper_bound(one, 0.05, "a"),
    lambda one: theory.contradiction(one, 0.05, "a"),
    lambda one: theory.assumptions(one),
    lambda one: theory.divergence_up(one, 0.5),
    lambda one: theory.divergence_down(one, 0.5),
    lambda one: theory.pulls_at_optimum(one, 0.05, 100),
    lambda one: theory.pulls_elsewhere(one, 0.05),
    lambda one: theory.pulls_of_sweeps(one, 0.05),
    lambda one: theory.regret_lower_bound(one),
    lambda one: theory.regret_upper_bound(one, 1e4),
    lambda one: theory.regret_upper_coefficient(one),
    lambda one: theory.corrected_regret_upper_bound(one, 1e4),
]


@pytest.mark.parametrize("bound", REFUSALS)
def test_bounds_are_about_independent_rewards(bound):
    with pytest.raises(InvalidInput, match="are about independent rewards, but the arms of this instance share"):
        bound(blocked())


def test_a_forecast_is_about_independent_rewards():
    with pytest.raises(InvalidInput, match="a forecast is about independent rewards, but the arms of this instance"):
        mf.forecast(blocked(blocks=20))


def test_blocks_are_not_simulated_on_a_gpu():
    with pytest.raises(InvalidInput, match="device='cuda' has no room for the rewards of all blocks"):
        mf.simulate(blocked(), device="cuda", trials=1)


def test_calibration_takes_rewards_for_independent():
    with pytest.raises(InvalidInput, match="but instance 'shared' has blocks: pass an array"):
        mf.calibrate(blocked())
