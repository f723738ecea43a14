"""Theorem 3.4 with the gaps of its proof: the published numbers, the counterexample, and no contradiction left."""

import math

import numpy as np
import pytest
from theory_instances import bernoulli

from mfbandit.errors import InvalidInput
from mfbandit.instances import Instance, load_instance
from mfbandit.model import Gaussian, Problem
from mfbandit.simulation import simulate
from mfbandit.theory import (
    assumptions,
    contradiction,
    corrected_hardness,
    corrected_upper_bound,
    hardness,
    limit,
    lower_bound,
    upper_bound,
)

pytestmark = pytest.mark.filterwarnings("ignore::mfbandit.errors.ModelWarning")


NEAR = bernoulli([[0.501], [0.5]], [0], [1])


@pytest.mark.parametrize(
    ("name", "printed", "corrected", "by_index"),
    [
        ("figure-1a", (6_396, 6_185), (8_184, 13_395), 8_602),
        ("figure-1b", (478_778, 57_574), (1_265_036, 861_573), 620_675),
    ],
)
def test_the_papers_instances(name, printed, corrected, by_index):
    instance = load_instance(name)
    prior = {"top": 0.95, "second": 0.75}
    assert [round(upper_bound(instance, 0.05, one, **prior)) for one in "ab"] == list(printed)
    assert [round(corrected_upper_bound(instance, 0.05, one, **prior)) for one in "ab"] == list(corrected)
    assert round(corrected_upper_bound(instance, 0.05, "a", **prior, by_index=True)) == by_index


def test_a_loose_prior_contradicts_the_printed_bound_but_not_the_corrected_one():
    assert assumptions(NEAR, top=1, second=0).holds
    assert round(upper_bound(NEAR, 0.05, "a", top=1, second=0, constant=True)) == 68_528
    assert round(lower_bound(NEAR, 0.05)) == 2_120_261
    assert "68,528 for Explore-A, but every algorithm pays 2,120,261 (Theorem 3.1)" in contradiction(
        NEAR, 0.05, "a", top=1, second=0
    )
    assert "for Explore-B" in contradiction(NEAR, 0.05, "b", top=1, second=0)
    for explore in "ab":
        assert corrected_upper_bound(NEAR, 0.05, explore, top=1, second=0) > limit(NEAR, 0.05)


def test_an_exact_prior_needs_no_correction():
    for name in ("figure-1a", "figure-1b", "poiani-5x2"):
        instance = load_instance(name)
        for explore in "abc":
            for constant in (False, True):
                printed = upper_bound(instance, 0.1, explore, constant=constant)
                assert corrected_upper_bound(instance, 0.1, explore, constant=constant) == pytest.approx(printed)
        unit = 2 * instance.law.sigma**2 if name == "poiani-5x2" else 1.0
        assert corrected_hardness(instance)[:2] == pytest.approx(
            (hardness(instance).H * unit, hardness(instance).G_tilde * unit)
        )


def test_no_corrected_bound_lies_below_a_lower_bound():
    # Random instances whose bias bounds hold, with random valid priors: the guarantee of the correction.
    rng = np.random.default_rng(11)
    applied = contradicted = 0
    for _ in range(300):
        arms, fidelities = int(rng.integers(2, 5)), int(rng.integers(1, 4))
        biases = np.append(np.sort(rng.uniform(0.0, 0.1, fidelities - 1))[::-1], 0.0)
        truth = rng.uniform(0.3, 0.7, arms)
        truth[0] = truth[1:].max() + 10.0 ** rng.uniform(-4, -1)
        means = truth[:, None] + rng.uniform(-1, 1, (arms, fidelities)) * biases
        instance = bernoulli(means, biases, np.sort(rng.uniform(1, 5, fidelities)))
        prior = {"top": rng.uniform(truth[0], 1.0), "second": rng.uniform(0.0, truth[1:].max())}
        least = lower_bound(instance, 0.05)
        for explore in "ab":
            bound = corrected_upper_bound(instance, 0.05, explore, **prior)
            if math.isfinite(bound):
                applied += 1
                assert bound >= least
                contradicted += upper_bound(instance, 0.05, explore, **prior, constant=True) < least
    assert applied > 100
    assert contradicted > 10


def test_where_the_prior_leads_to_a_useless_fidelity_nothing_is_bounded():
    loose = load_instance("loose-prior")
    assert math.isinf(corrected_hardness(loose, 1.0, 0.5).H)
    assert corrected_upper_bound(loose, 0.05, "a", 1.0, 0.5) == math.inf
    assert contradiction(loose, 0.05, "a", 1.0, 0.5) is None


def test_a_fidelity_that_is_truly_better_takes_the_cell_that_f_ucb_sees():
    # Costs 1 and 4, gaps (arm 1) 0.1 and 0.3 true, 0.4 and 0.6 with top 1.1: per root cost .1, .15 and .4, .3.
    instance = bernoulli([[0.8, 0.8], [0.6, 0.5]], [0.1, 0], [1, 4])
    found = corrected_hardness(instance, top=1.1)
    # Arm 0 (second is exact): .2 - .15 both ways; arm 1: .4 - .3 seen, for .1 - .15 true.
    h, g = 1 / 0.2**2 + 1 / 0.1**2, 1 / 0.05**2 + 1 / 0.1**2
    assert found == pytest.approx((h, g, g, 5 * h))


def test_gaussian_gaps_are_in_units_of_sqrt2_sigma():
    means = [[0.85, 0.8], [0.4, 0.5]]
    plain = corrected_hardness(bernoulli(means, [0.1, 0], [1, 4]), 0.9, 0.45)
    problem = Problem.from_arrays([1, 4], [0.1, 0], arms=2, reward=Gaussian(0.3))
    found = corrected_hardness(Instance(problem, means), 0.9, 0.45)
    assert found == pytest.approx([2 * 0.09 * part for part in plain])


def test_broken_bias_bounds_contradict_nothing():
    assert contradiction(load_instance("figure-1b"), 0.05, "a", top=0.95, second=0.75) is None


def test_one_arm_and_nonsense():
    alone = bernoulli([[0.6, 0.6]], [0.1, 0], [1, 2])
    assert corrected_upper_bound(alone, 0.05) == 0.0
    assert corrected_hardness(alone) == (0.0, 0.0, 0.0, 0.0)
    with pytest.raises(InvalidInput, match="explore is 'd'"):
        corrected_upper_bound(NEAR, 0.05, "d")
    with pytest.raises(InvalidInput, match="delta must lie strictly between 0 and 1, got 0"):
        corrected_upper_bound(NEAR, 0.0)


def test_assumption_33_as_printed_is_told_apart_from_where_it_is_used():
    # Theorem B.1 is printed with m*, where arm 1 of loose-prior may be 0.83; Explore-C ends elsewhere.
    found = assumptions(load_instance("loose-prior"), explore="c")
    assert found.second_arm_is_good
    assert found.holds
    assert not found.assumption_3_3
    assert "0.83" in found.printed[0]
    assert assumptions(load_instance("figure-1a"), explore="c").assumption_3_3


def test_explore_b_may_commit_to_a_fidelity_that_tells_nothing():
    # The prior makes the cheap fidelity of arm 0 (lower end 0.5) nearly as efficient as the truest one.
    instance = bernoulli([[0.6, 0.6], [0.5, 0.5]], [0.1, 0], [1, 1.2])
    found = assumptions(instance, top=1, second=0, explore="b")
    assert found.holds
    assert not found.commitments_are_safe
    assert "Explore-B may commit arm 'arm 0' to fidelity 'fidelity 0'" in found.commitments[0]
    runs = simulate(instance, "lucb-b:top=1,second=0", trials=60, max_pulls=500_000)
    assert 0.5 < runs.stopped.mean() < 1.0
    assert assumptions(instance, top=1, second=0, explore="a").commitments_are_safe
    assert simulate(instance, "lucb-a:top=1,second=0", trials=10, max_pulls=500_000).stopped.all()
    # With exact means Lemma C.3 keeps the gap positive.
    for name in ("figure-1a", "forever", "poiani-5x2"):
        assert assumptions(load_instance(name), explore="b").commitments_are_safe
    assert assumptions(load_instance("figure-1a"), top=0.95, second=0.75, explore="b").commitments_are_safe
