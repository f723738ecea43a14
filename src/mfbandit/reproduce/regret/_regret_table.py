"""Table 1 of the paper, with numbers: the four bounds on regret at one budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from mfbandit import theory
from mfbandit.instances import Instance
from mfbandit.reproduce._section import Table, number

__all__ = ["Bounds", "bounds_table"]

#: Rows of the table: where the number is found, and what it is.
_ROWS = {
    "rate_lower": "worst case, any policy: K^(1/3) Λ^(2/3) (D.1)",
    "rate_upper": "worst case, Elimination: K^(1/3) Λ^(2/3) (log Λ)^(1/3) (D.4)",
    "worst_case": "the same with the constants of D.4's proof",
    "lower_coefficient": "this instance, any policy: coefficient of log Λ (D.2)",
    "upper_coefficient": "this instance, Elimination: coefficient of log Λ (D.3)",
    "upper_bound": "D.3 in full, proof's ε",
    "corrected": "D.3 corrected, proof's ε",
    "upper_bound_theorem": "D.3 in full, D.4's ε",
    "corrected_theorem": "D.3 corrected, D.4's ε",
    "everything": "all there is to lose: μ_1 Λ/λ_1",
}


class Bounds(NamedTuple):
    """The table, and what it says."""

    table: Table
    findings: list[str]


def bounds_table(instances: Sequence[Instance], budget: float) -> Bounds:
    """Compute Table 1 for some instances at a budget."""
    records = [_record(instance, budget) for instance in instances]
    table = Table(
        stem="regret-bounds",
        caption=f"Table 1 of the paper with numbers, at Λ = {budget:,.0f}; rates without constants, Λ in units of λ_1.",
        headings=("bound on regret", *(instance.name for instance in instances)),
        rows=tuple((words, *(number(record[key]) for record in records)) for key, words in _ROWS.items()),
        records=tuple(records),
    )
    first = records[0]
    only_truest = [record["instance"] for record in records if record["only_truest_tells"]]
    tight = f"on {', '.join(only_truest)}" if only_truest else "on none of these"
    return Bounds(
        table,
        [
            f"Table 1 at Λ = {budget:,.0f} on {first['instance']}: the rates are {number(first['rate_lower'])} (D.1) "
            f"and {number(first['rate_upper'])} (D.4; {number(first['worst_case'])} with the constants of its proof, "
            f"which is its last line and drops terms of lower order); the coefficients of log Λ are "
            f"{number(first['lower_coefficient'])} (D.2) and {number(first['upper_coefficient'])} (D.3), a factor of "
            f"{first['upper_coefficient'] / first['lower_coefficient']:,.0f}. The paper calls the latter two tight "
            f"where the truest fidelity alone has positive gaps: {tight}.",
        ],
    )


def _record(instance: Instance, budget: float) -> dict[str, Any]:
    costs = instance.problem.costs[0]
    cheapest, truest = float(costs.min()), float(costs[instance.problem.truest])
    best, n_arms = float(instance.truth[instance.best]), len(instance.means)
    positive = theory.gaps(instance) > 0.0
    positive[:, instance.problem.truest] = False
    return {
        "instance": instance.name,
        "n_arms": n_arms,
        "budget": budget,
        "rate_lower": theory.regret_lower_rate(n_arms, budget / cheapest),
        "rate_upper": theory.regret_upper_rate(n_arms, budget / cheapest),
        "worst_case": theory.regret_worst_case(n_arms, budget, cheapest=cheapest, truest=truest, top=best),
        "lower_coefficient": theory.regret_lower_bound(instance),
        "lower_times_log": theory.regret_lower_bound(instance) * math.log(budget),
        "upper_coefficient": theory.regret_upper_coefficient(instance),
        "upper_bound": theory.regret_upper_bound(instance, budget),
        "upper_bound_theorem": theory.regret_upper_bound(instance, budget, "theorem"),
        "corrected": theory.corrected_regret_upper_bound(instance, budget),
        "corrected_theorem": theory.corrected_regret_upper_bound(instance, budget, "theorem"),
        "everything": budget / cheapest * best,
        "only_truest_tells": not bool(positive.any()),
    }
