"""Gaps, hardness, lower and upper bounds: a 2 x 2 example by hand, the anchors, the edges."""

import math

import numpy as np
import pytest
from theory_instances import bernoulli, gaussian

from mfbandit.errors import InvalidInput
from mfbandit.instances import BernoulliLaw, Instance, load_instance
from mfbandit.model import Bounded, Problem
from mfbandit.theory import (
    assumptions,
    conservative_fidelity,
    gaps,
    hardness,
    lower_bound,
    lower_bound_coefficient,
    lower_bound_costs,
    optimal_fidelity,
    upper_bound,
)

pytestmark = pytest.mark.filterwarnings("ignore::mfbandit.errors.ModelWarning")


# The example by hand: sigma = 1, costs 1 and 4, biases 0.1 and 0; arm 0 is the best.
#   gaps: arm 0: 0.85-0.1-0.5 = 0.25, 0.8-0.5 = 0.3; arm 1: 0.8-(0.45+0.1) = 0.25, 0.8-0.5 = 0.3
#   gap/sqrt(cost): 0.25, 0.15 for both arms, so fidelity 0 is the optimal one of both
#   H = 1/0.25^2 + 1/0.25^2 = 32; G = 2 (0.25-0.15)^-2 = 200
#   KL: gap^2/2 = 0.03125 and 0.045; cost/KL: 32 and 88.9; coefficient 64
example = gaussian([[0.85, 0.8], [0.45, 0.5]], [0.1, 0], [1, 4], sigma=1.0)


def test_example_by_hand():
    assert gaps(example) == pytest.approx(np.array([[0.25, 0.3], [0.25, 0.3]]))
    assert optimal_fidelity(example).tolist() == [0, 0]
    found = hardness(example)
    assert found == pytest.approx((32, 32, 200))
    assert lower_bound_costs(example) == pytest.approx([32, 32])
    assert lower_bound_coefficient(example) == pytest.approx(64)
    assert lower_bound(example, 0.1) == pytest.approx(64 * math.log(1 / 0.24))


def test_example_with_prior_knowledge_by_hand():
    # top 0.9, second 0.4: gaps 0.35, 0.4; per sqrt(cost) 0.35, 0.2; H~ = 2/0.1225, G~ = 2/0.0225
    found = hardness(example, top=0.9, second=0.4)
    assert gaps(example, 0.9, 0.4) == pytest.approx(np.array([[0.35, 0.4], [0.35, 0.4]]))
    assert found == pytest.approx((32, 2 / 0.1225, 2 / 0.0225))


@pytest.mark.parametrize(
    ("name", "coefficient"),
    [
        ("figure-1a", 73.7),
        ("figure-1b", 1577.3),
        ("poiani-5x2", 14.0),
        ("poiani-4x5", 0.966),
        ("poiani-mu2", 1.515),
        ("poiani-mu3", 0.906),
        ("forever", 250),
        ("loose-prior", 618.5),
        ("judges", 0.044),
    ],
)
def test_lower_bound_anchors(name, coefficient):
    digits = len(str(coefficient).partition(".")[2])
    assert round(lower_bound_coefficient(load_instance(name)), digits) == coefficient


def test_optimal_fidelity_of_figure_1b_is_by_gap_not_by_divergence():
    assert optimal_fidelity(load_instance("figure-1b")).tolist() == [4, 4, 3, 3, 0]


def test_a_tie_at_the_top_makes_everything_infinite():
    tied = bernoulli([[0.6], [0.6], [0.2]], [0], [1])
    assert hardness(tied)[:2] == (math.inf, math.inf)
    assert lower_bound(tied, 0.05) == math.inf
    assert upper_bound(tied, 0.05, "c") == math.inf
    assert not assumptions(tied).gaps_are_positive


def test_one_arm_costs_nothing():
    alone = bernoulli([[0.6, 0.6]], [0.1, 0], [1, 2])
    assert hardness(alone) == (0.0, 0.0, 0.0)
    assert lower_bound(alone, 0.05) == 0.0
    assert [upper_bound(alone, 0.05, explore) for explore in "abc"] == [0.0, 0.0, 0.0]


def test_costs_and_biases_per_arm_are_those_of_the_arm():
    # Arm 1 pays double at fidelity 0 and has bias 0.2 there: gap 0.15, 0.15^2/2 per 2.
    problem = Problem.from_arrays([[1, 4], [2, 4]], [[0.1, 0], [0.2, 0]], arms=2, reward=example.problem.reward)
    instance = Instance(problem, example.means, example.law)
    assert lower_bound_costs(instance) == pytest.approx([32, 4 / 0.045])
    assert optimal_fidelity(instance).tolist() == [0, 1]


def test_unit_scale():
    means = np.array([[0.8, 0.9], [0.5, 0.5]])
    scores = Problem.from_arrays([1, 2], [10, 0], arms=2, reward=Bounded(-50, 50))
    stretched = Instance(scores, 100 * means - 50, BernoulliLaw())
    plain = bernoulli(means, [0.1, 0], [1, 2])
    assert gaps(stretched) == pytest.approx(100 * gaps(plain))
    assert hardness(stretched) == pytest.approx(hardness(plain))
    assert lower_bound(stretched, 0.1) == pytest.approx(lower_bound(plain, 0.1))
    for explore in "abc":
        expected = upper_bound(plain, 0.1, explore, top=0.95, second=0.45)
        found = upper_bound(stretched, 0.1, explore, top=45, second=-5)
        assert found == pytest.approx(expected)


def test_lower_bound_is_zero_for_large_delta_and_refuses_nonsense():
    assert lower_bound(example, 0.5) == 0.0
    for delta in (0.0, 1.0, -0.1, math.nan):
        with pytest.raises(InvalidInput, match="delta must lie strictly"):
            lower_bound(example, delta)


# Upper bounds. UPPER is the example with Bernoulli rewards and arm 1 at 0.4 for fidelity 0:
#   gaps: arm 0: 0.25, 0.3; arm 1: 0.8-0.5 = 0.3, 0.3; per sqrt(cost): 0.25, 0.15; 0.3, 0.15
#   Assumption 3.3: 0.4 + 0.1 <= 0.5. H = 1/0.25^2 + 1/0.3^2; G = 0.1^-2 + 0.15^-2; L = 16
UPPER = bernoulli([[0.85, 0.8], [0.4, 0.5]], [0.1, 0], [1, 4])
H = 16 + 1 / 0.09
G = 1 / 0.1**2 + 1 / 0.15**2


def test_upper_bound_a_by_hand():
    assert hardness(UPPER) == pytest.approx((H, H, G))
    inner = math.log(16 * (H + G) / 0.05)
    expected = H * inner + G * math.log(inner)
    assert upper_bound(UPPER, 0.05) == pytest.approx(expected)
    assert upper_bound(UPPER, 0.05, constant=True) == pytest.approx(1200 * expected)
    assert upper_bound(UPPER, 0.05, L=32) > expected


def test_upper_bound_b_by_hand():
    # One sweep costs 1 + 4 = 5 times the cheapest pull.
    expected = 5 * H * math.log(5 * H * 16 / 0.05)
    assert upper_bound(UPPER, 0.05, "b") == pytest.approx(expected)
    with_constant = 1024 * 5 * H * math.log(256 * 5 * H * 16 / 0.05)
    assert upper_bound(UPPER, 0.05, "b", constant=True) == pytest.approx(with_constant)


def test_upper_bound_c_by_hand():
    # gap > 2 bias: 0.25 > 0.2 and 0.3 > 0.2, both at once: Q = 0.
    assert conservative_fidelity(UPPER).tolist() == [0, 0]
    assert upper_bound(UPPER, 0.05, "c") == pytest.approx(H * math.log(16 * H / 0.05))
    solution = upper_bound(UPPER, 0.05, "c", constant=True)
    assert solution == pytest.approx(128 * H * math.log(16 * solution / 0.05))


def test_upper_bound_c_pays_for_the_fidelities_it_passes():
    # biases 0.2: gaps 0.15 (not over 0.4) and 0.3: H = 4/0.09 + 4/0.09, Q = 1/0.04 + 1/0.04
    instance = bernoulli([[0.85, 0.8], [0.4, 0.5]], [0.2, 0], [1, 4])
    assert conservative_fidelity(instance).tolist() == [1, 1]
    h, q = 8 / 0.09, 50
    expected = (h + q) * math.log(16 * (h + q) / 0.05)
    assert upper_bound(instance, 0.05, "c") == pytest.approx(expected)
    solution = upper_bound(instance, 0.05, "c", constant=True)
    assert solution == pytest.approx(8 * (16 * h + q) * math.log(16 * solution / 0.05))


def test_gaussian_upper_bounds_are_those_of_rewards_in_units_of_sqrt2_sigma():
    sigma = 0.1
    instance = gaussian(UPPER.means, [0.1, 0], [1, 4], sigma)
    h, g = 2 * sigma**2 * H, 2 * sigma**2 * G
    inner = math.log(16 * (h + g) / 0.05)
    assert upper_bound(instance, 0.05) == pytest.approx(h * inner + g * math.log(inner))


def test_equally_good_fidelities_make_a_but_not_b_infinite():
    instance = bernoulli([[0.9, 0.8, 0.8], [0.3, 0.4, 0.4]], [0.1, 0, 0], [1, 1, 2])
    assert hardness(instance).G_tilde == math.inf
    assert upper_bound(instance, 0.05, "a") == math.inf
    assert math.isfinite(upper_bound(instance, 0.05, "b"))


@pytest.mark.parametrize("name", ["figure-1a", "figure-1b"])
@pytest.mark.parametrize("explore", ["a", "b", "c"])
def test_bounds_of_the_papers_instances_are_finite_and_ordered(name, explore):
    instance = load_instance(name)
    bound = upper_bound(instance, 0.05, explore, top=0.95, second=0.75)
    assert lower_bound(instance, 0.05) < bound < math.inf
    assert bound < upper_bound(instance, 0.05, explore, top=0.95, second=0.75, constant=True)


def test_figure_1b_breaks_its_bias_bounds_and_nothing_else():
    found = assumptions(load_instance("figure-1b"), top=0.95, second=0.75)
    assert found.applies
    assert not found.holds
    assert not found.biases_hold
    assert len(found.sentences) == 2


def test_figure_1a_holds():
    found = assumptions(load_instance("figure-1a"), top=0.95, second=0.75)
    assert found.holds
    assert found.best_arm_is_clear
    assert found.sentences == ()


def test_forever_breaks_assumption_33_for_a_but_not_for_c():
    # arm 0 at the cheap fidelity may be 0.56, the second-best (itself) is 0.5
    instance = load_instance("forever")
    found = assumptions(instance)
    assert not found.second_arm_is_good
    assert not found.best_arm_is_clear
    assert "0.56" in found.sentences[0]
    assert upper_bound(instance, 0.05, "a") == math.inf
    assert math.isfinite(upper_bound(instance, 0.05, "c"))


def test_a_prior_that_leads_to_a_useless_fidelity_is_reported():
    found = assumptions(load_instance("loose-prior"), top=1.0, second=0.5)
    assert not found.gaps_are_positive
    assert any("true gap is -0.03" in sentence for sentence in found.sentences)


def test_wrong_priors_and_small_L_are_reported():
    found = assumptions(UPPER, top=0.7, second=0.6, L=10)
    assert not found.prior_is_valid
    assert not found.L_is_large
    assert any("top is 0.7" in sentence for sentence in found.sentences)
    assert any("second is 0.6" in sentence for sentence in found.sentences)
    assert any("4KM = 16" in sentence for sentence in found.sentences)
    assert upper_bound(UPPER, 0.05, L=10) == math.inf


def test_tiny_delta():
    for explore in "abc":
        for constant in (False, True):
            bound = upper_bound(UPPER, 1e-300, explore, constant=constant)
            assert upper_bound(UPPER, 1e-200, explore, constant=constant) < bound < math.inf


def test_unknown_procedures_are_refused():
    with pytest.raises(InvalidInput, match="explore is 'd'"):
        upper_bound(UPPER, 0.05, "d")
    with pytest.raises(InvalidInput, match="explore is 'd'"):
        assumptions(UPPER, explore="d")


def test_an_instance_may_be_given_by_its_name():
    assert lower_bound("figure-1a", 0.05) == lower_bound(load_instance("figure-1a"), 0.05)
    assert np.array_equal(gaps("judges"), gaps(load_instance("judges")))
    with pytest.raises(InvalidInput, match="instance must be an Instance, a name or a file, got 3"):
        lower_bound(3, 0.05)
