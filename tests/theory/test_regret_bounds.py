"""Both regrets of a run and the bounds of Theorems D.1 to D.4, by hand."""

import math

import numpy as np
import pytest
from theory_instances import bernoulli

from mfbandit.errors import InvalidInput
from mfbandit.instances import Instance
from mfbandit.model import Gaussian, Problem
from mfbandit.simulation import simulate
from mfbandit.theory import (
    bernoulli_divergence,
    corrected_regret_upper_bound,
    cost_regret,
    hard_pair,
    lower_bound_coefficient,
    regret,
    regret_lower_bound,
    regret_lower_rate,
    regret_upper_bound,
    regret_upper_coefficient,
    regret_upper_rate,
    regret_worst_case,
)

# Costs 2 and 6, so one true pull is worth three cheap ones; the best arm is 1.
EXAMPLE = bernoulli([[0.5, 0.4], [0.7, 0.8]], [0.1, 0], [2, 6])


def test_regrets_of_a_run_by_hand():
    # budget 60: 30 cheap pulls of 0.8 = 24. Earned: arm 0 (3+1) 0.4 + arm 1 (2+5) 0.8 = 7.2
    pulls = [[3, 1], [2, 5]]
    assert regret(EXAMPLE, pulls, 60) == pytest.approx(24 - 7.2)
    # weighed by cost: 60 0.8 - ((6+6) 0.4 + (4+30) 0.8) = 48 - 32
    assert cost_regret(EXAMPLE, pulls, 60) == pytest.approx(16)


def test_regrets_are_vectorised_over_runs_and_budgets():
    pulls = np.random.default_rng(0).integers(0, 9, (3, 4, 2, 2))
    budgets = np.array([50.0, 60.0, 70.0, 80.0])
    for measure in (regret, cost_regret):
        whole = measure(EXAMPLE, pulls, budgets)
        assert whole.shape == (3, 4)
        assert whole[2, 1] == pytest.approx(measure(EXAMPLE, pulls[2, 1], 60.0))


def test_best_arm_at_the_cheapest_fidelity_has_no_regret():
    assert regret(EXAMPLE, [[0, 0], [30, 0]], 60) == pytest.approx(0)
    assert cost_regret(EXAMPLE, [[0, 0], [30, 0]], 60) == pytest.approx(0)


def test_kandasamys_regret_is_at_most_lambda_1_times_the_papers():
    pulls = [[3, 1], [2, 5]]
    assert cost_regret(EXAMPLE, pulls, 60) <= 2 * regret(EXAMPLE, pulls, 60)


def test_wrong_shapes_and_costs_per_arm_are_refused():
    with pytest.raises(InvalidInput, match=r"pulls have shape \(2, 3\)"):
        regret(EXAMPLE, np.zeros((2, 3)), 10)
    problem = Problem.from_arrays([[1, 2], [1, 3]], [0.1, 0], arms=2, reward="bernoulli")
    instance = Instance(problem, EXAMPLE.means)
    for call in (
        lambda: regret(instance, np.zeros((2, 2)), 10),
        lambda: cost_regret(instance, np.zeros((2, 2)), 10),
        lambda: regret_lower_bound(instance),
        lambda: regret_upper_bound(instance, 1e4),
        lambda: regret_upper_coefficient(instance),
    ):
        with pytest.raises(InvalidInput, match="differ between arms"):
            call()


def test_lower_coefficient_by_hand():
    # arm 0: cheap (gap 0.8-0.6): (0.8-0.4)/kl(.5,.7); true: (2.4-0.4)/kl(.4,.8). The first is less.
    # arm 1: cheap (gap 0.6-0.4): (0.8-0.8)/kl = 0.
    cheap, true = 0.4 / bernoulli_divergence(0.5, 0.7), 2 / bernoulli_divergence(0.4, 0.8)
    assert regret_lower_bound(EXAMPLE) == pytest.approx(min(cheap, true))


def test_lower_coefficient_when_only_the_true_fidelity_tells():
    instance = bernoulli([[0.5, 0.4], [0.7, 0.8]], [0.4, 0], [2, 6])
    expected = 2 / bernoulli_divergence(0.4, 0.8) + 1.6 / bernoulli_divergence(0.8, 0.4)
    assert regret_lower_bound(instance) == pytest.approx(expected)


def test_lower_coefficient_of_a_tie_is_infinite_even_if_a_pull_of_it_costs_nothing():
    tied = bernoulli([[0.5, 0.5], [0.5, 0.5]], [0.1, 0], [1, 2])
    assert regret_lower_bound(tied) == math.inf
    assert regret_upper_coefficient(tied) == math.inf


def test_upper_bound_by_hand():
    # gap 0.4 for both; prices 3 0.8 - 0.4 = 2 and 3 0.8 - 0.8 = 1.6; epsilon 0.1 < 0.4
    budget = 1e5
    pulls = 16 / 0.16 * math.log(budget * 0.16 / 96) + 48 / 0.16 + 1
    expected = 3.6 * pulls + 2 * 64 / 0.4
    assert regret_upper_bound(EXAMPLE, budget, epsilon=0.1) == pytest.approx(expected)
    assert regret_upper_coefficient(EXAMPLE) == pytest.approx(3.6 * 16 / 0.16)


def test_upper_bound_below_epsilon_by_hand():
    budget = 1e5
    pulls = 16 / 0.25 * math.log(budget * 0.25 / 96) + 32 / 3 / 0.25 + 1
    expected = 3.6 * pulls + 2 * 64 / 0.5 + budget / 2 * 0.4
    assert regret_upper_bound(EXAMPLE, budget, epsilon=0.5) == pytest.approx(expected)


def test_default_epsilon_is_the_proofs():
    budget = 1e6
    epsilon = (16 * 2 * 6 * math.log(budget / 96) / budget) ** (1 / 3)
    assert regret_upper_bound(EXAMPLE, budget) == regret_upper_bound(EXAMPLE, budget, epsilon)
    assert regret_upper_bound(EXAMPLE, 50.0) == regret_upper_bound(EXAMPLE, 50.0, 1.0)


def test_theorem_d4s_own_epsilon():
    budget = 1e6
    epsilon = (2 * math.log(budget) / budget) ** (1 / 3)
    assert regret_upper_bound(EXAMPLE, budget, "theorem") == regret_upper_bound(EXAMPLE, budget, epsilon)
    assert regret_upper_bound(EXAMPLE, budget, "proof") == regret_upper_bound(EXAMPLE, budget)
    with pytest.raises(InvalidInput, match="'proof' or 'theorem'"):
        regret_upper_bound(EXAMPLE, budget, "guess")


def near_epsilon(gap):
    """Two arms that differ by a gap; costs 1 and 1.2."""
    return bernoulli([[0.9, 0.9], [0.9 - gap, 0.9 - gap]], [0.5, 0], [1, 1.2])


def test_theorem_d3_as_printed_fails_for_gaps_a_little_above_epsilon():
    instance = near_epsilon(0.51)
    runs = simulate(instance, "elimination:epsilon=0.5", budget=1e5, trials=5)
    assert runs.regret.mean() > 20 * regret_upper_bound(instance, 1e5, 0.5)
    assert runs.regret.mean() < corrected_regret_upper_bound(instance, 1e5, 0.5)


def test_corrected_theorem_d3_by_hand():
    # epsilon 0.1: phases 0 to 4 (2^-4 > 0.05). gap 0.4: 2^-p <= 0.1 from p = 4 on, so both arms stop there.
    instance, budget = near_epsilon(0.4), 1e5
    pulls = math.ceil(256 * math.log(budget / 1.2 / 256))
    expected = (1.08 - 0.5 + 1.08 - 0.9) * (pulls + (2 + 2 / 3) * 256) + 2 * 2**8
    assert corrected_regret_upper_bound(instance, budget, 0.1) == pytest.approx(expected)
    # epsilon 0.5: phases 0 and 1 tell nothing, and the worse arm may be played for good.
    pulls = math.ceil(4 * math.log(budget / 1.2 / 4))
    expected = 0.76 * (pulls + 2 / 3 * 4) + 2 * 2**5 + budget * 0.4
    assert corrected_regret_upper_bound(instance, budget, 0.5) == pytest.approx(expected)
    for extreme in (1e-300, 1e-12, 0.01):
        assert corrected_regret_upper_bound(instance, 10.0, extreme) == pytest.approx(9.0)
    assert corrected_regret_upper_bound(instance, budget, 5.0) == corrected_regret_upper_bound(instance, budget, 1.0)
    tied = bernoulli([[0.5, 0.5], [0.5, 0.5]], [0.1, 0], [1, 1])
    assert 0.0 < corrected_regret_upper_bound(tied, budget, 0.1) < math.inf
    assert corrected_regret_upper_bound(bernoulli([[0.5, 0.5]], [0.1, 0], [1, 2]), 1e4) == 0.0


def test_corrected_theorem_d3_holds_on_random_instances():
    rng = np.random.default_rng(3)
    for epsilon in (0.5, 0.25, 0.1, "proof", "theorem") * 6:
        truth = rng.uniform(0.05, 0.95, rng.integers(2, 6))
        instance = bernoulli(np.stack([truth, truth], axis=1), [0.5, 0], [1, rng.uniform(1, 20)])
        budget = 10.0 ** rng.uniform(3, 5)
        runs = simulate(instance, f"elimination:epsilon={epsilon}", budget=budget, trials=20, seed=2)
        error = runs.regret.std() / math.sqrt(20)
        assert runs.regret.mean() - 4 * error < corrected_regret_upper_bound(instance, budget, epsilon)


def test_upper_bound_grows_like_its_coefficient():
    small, large = (regret_upper_bound(EXAMPLE, budget, 0.01) for budget in (1e20, 1e40))
    slope = (large - small) / (20 * math.log(10))
    assert slope == pytest.approx(regret_upper_coefficient(EXAMPLE))
    assert regret_lower_bound(EXAMPLE) < regret_upper_coefficient(EXAMPLE)


def test_gaussian_gaps_are_in_units_of_sqrt2_sigma():
    problem = Problem.from_arrays([2, 6], [0.1, 0], arms=2, reward=Gaussian(0.5))
    instance = Instance(problem, EXAMPLE.means)
    assert regret_upper_coefficient(instance) == pytest.approx(3.6 * 16 / 0.16 * 2 * 0.25)


def test_worst_case_by_hand():
    # 2 (16 5 0.9 3/2 log(1e6/48))^(1/3) (1e6/2)^(2/3)
    inner = 16 * 5 * 0.9 * 1.5 * math.log(1e6 / 48)
    expected = 2 * inner ** (1 / 3) * 5e5 ** (2 / 3)
    found = regret_worst_case(5, 1e6, cheapest=2.0, truest=3.0, top=0.9)
    assert found == pytest.approx(expected)


def test_worst_case_is_never_more_than_everything():
    assert regret_worst_case(5, 10.0, top=0.9) == pytest.approx(9.0)
    assert regret_worst_case(5, 100.0) == 100.0


def test_rate():
    assert regret_lower_rate(27, 1e3) == pytest.approx(300)
    assert regret_lower_rate(5, 1e6) < regret_worst_case(5, 1e6)
    assert regret_upper_rate(27, 1e3) == pytest.approx(300 * math.log(1e3) ** (1 / 3))
    assert regret_upper_rate(5, 0.5) == 0.0


def test_nonsense_is_refused():
    with pytest.raises(InvalidInput, match="budget is 0"):
        regret_lower_rate(3, 0)
    with pytest.raises(InvalidInput, match="n_arms is 0"):
        regret_lower_rate(0, 10)
    with pytest.raises(InvalidInput, match="epsilon is 0"):
        regret_upper_bound(EXAMPLE, 100, epsilon=0.0)
    with pytest.raises(InvalidInput, match="cheapest is -1"):
        regret_worst_case(3, 100, cheapest=-1.0)
    problem = Problem.from_arrays([1, 2], [0.1, 0], arms=2, reward=Gaussian(1))
    with pytest.raises(InvalidInput, match=r"best true mean is -0\.5"):
        regret_lower_bound(Instance(problem, [[-0.5, -0.5], [-1, -1]]))


def test_one_arm_has_no_regret_to_bound():
    alone = bernoulli([[0.5, 0.5]], [0.1, 0], [1, 2])
    assert regret_lower_bound(alone) == 0.0
    assert regret_upper_bound(alone, 1e4) == 0.0
    assert regret_upper_coefficient(alone) == 0.0


@pytest.mark.parametrize("n_arms", [2, 5])
def test_hard_pair(n_arms):
    budget = 1e6
    first, second = hard_pair(n_arms, budget)
    gap = (n_arms / budget) ** (1 / 3)
    assert first.problem == second.problem
    assert not first.violations
    assert not second.violations
    assert (first.best, second.best) == (0, n_arms - 1)
    differ = np.argwhere(first.means != second.means)
    assert differ.tolist() == [[n_arms - 1, 1]]
    assert second.truth[n_arms - 1] - second.truth[0] == pytest.approx(gap)
    assert first.truth[0] - first.truth[1] == pytest.approx(gap)
    # At the cheap fidelity no arm can be told: all of the coefficient is at the true one.
    assert lower_bound_coefficient(first) > 1.5 / bernoulli_divergence(0.5, 0.5 + gap)


def test_hard_pair_refuses_what_the_proof_excludes():
    with pytest.raises(InvalidInput, match="at least 64 K"):
        hard_pair(5, 100)
    with pytest.raises(InvalidInput, match="costs are 1 and 3"):
        hard_pair(5, 1e6, costs=(1, 3))
    with pytest.raises(InvalidInput, match="changed is 0"):
        hard_pair(5, 1e6, changed=0)
    with pytest.raises(InvalidInput, match="n_arms is 1"):
        hard_pair(1, 1e6)
