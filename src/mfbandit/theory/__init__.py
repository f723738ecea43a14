"""Every bound of the paper, the regrets of a run, and the tight limit, as functions of an instance.

An instance is given as an :class:`~mfbandit.Instance`, or by the name of a built-in or the path of a TOML file.

- :mod:`~mfbandit.theory._identification`: gaps, optimal fidelities, hardness, Theorem 3.1
- :mod:`~mfbandit.theory._upper` and :mod:`~mfbandit.theory._conditions`: Theorems 3.4 and B.1 as printed,
  and whether they apply
- :mod:`~mfbandit.theory._corrected`: Theorem 3.4 with the gaps of its proof, and where the printed one fails
- :mod:`~mfbandit.theory._corrected_regret`: Theorem D.3 with the phases that Elimination's rule needs
- :mod:`~mfbandit.theory._lemmas`: pulls per arm and fidelity, Lemmas C.2 and C.3
- :mod:`~mfbandit.theory._regret_bounds` and :mod:`~mfbandit.theory._hard_pair`: both regrets, Theorems
  D.1 to D.4
- :mod:`~mfbandit.theory.characteristic`: C*, the cost that every delta-correct algorithm must pay
- :mod:`~mfbandit.theory._oracle_race`: what a race on blocks costs that knows the best arm, a reference
- :mod:`~mfbandit.theory.divergence`: KL and KL_inf of the reward laws

What stands here is for other rooms; modules with an underscore are private to this one, which imports only from
the rooms above it in CONTRIBUTING.md.
"""

from mfbandit.theory._conditions import Assumptions, assumptions, wrong_prior
from mfbandit.theory._corrected import CorrectedHardness, contradiction, corrected_hardness, corrected_upper_bound
from mfbandit.theory._corrected_regret import corrected_regret_upper_bound
from mfbandit.theory._hard_pair import hard_pair
from mfbandit.theory._identification import (
    Hardness,
    conservative_fidelity,
    gaps,
    hardness,
    lower_bound,
    lower_bound_coefficient,
    lower_bound_costs,
    optimal_fidelity,
)
from mfbandit.theory._lemmas import commitment_ratio, pulls_at_optimum, pulls_elsewhere, pulls_of_sweeps
from mfbandit.theory._oracle_race import OracleRace, oracle_race
from mfbandit.theory._regret_bounds import (
    cost_regret,
    regret,
    regret_lower_bound,
    regret_lower_rate,
    regret_upper_bound,
    regret_upper_coefficient,
    regret_upper_rate,
    regret_worst_case,
)
from mfbandit.theory._upper import upper_bound
from mfbandit.theory.characteristic._characteristic import CharacteristicCost, characteristic_cost, limit
from mfbandit.theory.divergence._divergence import (
    bernoulli_divergence,
    divergence_down,
    divergence_up,
    gaussian_divergence,
)

__all__ = [
    "Assumptions",
    "CharacteristicCost",
    "CorrectedHardness",
    "Hardness",
    "OracleRace",
    "assumptions",
    "bernoulli_divergence",
    "characteristic_cost",
    "commitment_ratio",
    "conservative_fidelity",
    "contradiction",
    "corrected_hardness",
    "corrected_regret_upper_bound",
    "corrected_upper_bound",
    "cost_regret",
    "divergence_down",
    "divergence_up",
    "gaps",
    "gaussian_divergence",
    "hard_pair",
    "hardness",
    "limit",
    "lower_bound",
    "lower_bound_coefficient",
    "lower_bound_costs",
    "optimal_fidelity",
    "oracle_race",
    "pulls_at_optimum",
    "pulls_elsewhere",
    "pulls_of_sweeps",
    "regret",
    "regret_lower_bound",
    "regret_lower_rate",
    "regret_upper_bound",
    "regret_upper_coefficient",
    "regret_upper_rate",
    "regret_worst_case",
    "upper_bound",
    "wrong_prior",
]
