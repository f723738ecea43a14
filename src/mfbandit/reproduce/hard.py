"""The growth of regret on the hard pair of Theorem D.1, beside the theorem's exponent 2/3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mfbandit import theory
from mfbandit.plots import Bound
from mfbandit.reproduce.section import Picture, Table, number
from mfbandit.reproduce.study import Order
from mfbandit.simulate import simulate

__all__ = ["Growth", "measure", "slope", "work"]

N_ARMS = 5
BUDGETS = tuple(float(f"{10**power:.2g}") for power in np.arange(3.0, 6.1, 0.5))
POLICIES = ("elimination", "mf-ucb", "ucb-top")


class Growth(NamedTuple):
    """What was found on the pair."""

    picture: Picture
    table: Table
    findings: list[str]


def slope(budgets: Sequence[float], regrets: Sequence[float]) -> float:
    """Growth exponent: the slope of a straight line through the logarithms.

    Examples
    --------
    >>> round(slope([1e3, 1e4, 1e5], [10.0, 100.0, 1000.0]), 6)
    1.0
    """
    return float(np.polyfit(np.log(budgets), np.log(regrets), 1)[0])


def work() -> float:
    """Pulls per trial, roughly."""
    return 2.0 * sum(BUDGETS) * len(POLICIES)


def measure(order: Order) -> Growth:
    """Simulate all policies on both instances of the pair, made anew for every budget."""
    from mfbandit import plots

    sums = {label: [_sum_of_regrets(label, budget, order) for budget in BUDGETS] for label in POLICIES}
    rates = [theory.regret_lower_rate(N_ARMS, budget) for budget in BUDGETS]
    bounds = [Bound("K^(1/3) Λ^(2/3) (D.1)", BUDGETS, rates)]
    figure = plots.growth_against_budget(
        BUDGETS,
        sums,
        bounds=bounds,
        ylabel="sum of the regrets on the two instances",
        title=f"Hard pair of Theorem D.1, K = {N_ARMS}, gap (K/Λ)^(1/3)",
    )
    plots.save(figure, str(order.out / "regret-hard-pair"))
    picture = Picture("regret-hard-pair", "Sum of the regrets on the hard pair against the budget")
    return Growth(picture, _table(sums, rates), _findings(sums, rates))


def _sum_of_regrets(label: str, budget: float, order: Order) -> float:
    order.steps.running(f"hard pair: {label} with budget {budget:,.0f}")
    total = 0.0
    for instance in theory.hard_pair(N_ARMS, budget):
        runs = simulate(instance, label, budget=budget, trials=order.trials, seed=order.seed)
        total += float(runs.regret.mean())
    order.steps.finished(2.0 * budget * order.trials)
    return total


def _without_learning() -> float:
    """Sum of the regrets, over K^(1/3) budget^(2/3), of playing all arms in turn at the cheapest fidelity.

    On the first instance a pull loses gap (1 - 1/K) on average, on the second gap (2 - 3/K).
    """
    return 3.0 - 4.0 / N_ARMS


def _findings(sums: dict[str, list[float]], rates: Sequence[float]) -> list[str]:
    mine, blind = slope(BUDGETS, sums["elimination"]), _without_learning()
    factor = float(np.mean(np.divide(sums["elimination"], rates)))
    worth = "no better than" if factor >= blind else "better than"
    others = ", ".join(f"{label} {slope(BUDGETS, sums[label]):.3f}" for label in POLICIES[1:])
    return [
        f"Hard pair: the sum of Elimination's regrets grows with exponent {mine:.3f}; the theorem says "
        f"2/3 = 0.667. The rivals' exponents are {others}.",
        f"Hard pair: Elimination regrets {factor:.2f} K^(1/3) Λ^(2/3) on the two together. Playing all "
        f"arms in turn at the cheapest fidelity without looking would regret {blind:.2f} of it, so at "
        f"these budgets it is {worth} not learning: the gap of the pair is made so small that telling the "
        "instances apart does not pay.",
    ]


def _table(sums: dict[str, list[float]], rates: Sequence[float]) -> Table:
    last = len(BUDGETS) - 3
    rows = [
        (
            label,
            *(number(values[place]) for place in range(0, len(BUDGETS), 2)),
            f"{slope(BUDGETS, values):.3f}",
            f"{slope(BUDGETS[last:], values[last:]):.3f}",
        )
        for label, values in sums.items()
    ]
    rate = (*(number(rates[place]) for place in range(0, len(BUDGETS), 2)), "0.667", "0.667")
    records = [
        {"policy": label, "n_arms": N_ARMS, "budget": budget, "sum_of_regrets": value, "rate": bound}
        for label, values in sums.items()
        for budget, value, bound in zip(BUDGETS, values, rates, strict=True)
    ]
    return Table(
        stem="regret-hard-pair",
        caption="Sum of the regrets on the hard pair, and the exponent of its growth (log-log slope).",
        headings=(
            "policy",
            *(f"Λ = {BUDGETS[place]:,.0f}" for place in range(0, len(BUDGETS), 2)),
            "exponent",
            "last decade",
        ),
        rows=(*rows, ("K^(1/3) Λ^(2/3)", *rate)),
        records=tuple(records),
    )
