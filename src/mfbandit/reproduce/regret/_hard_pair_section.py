"""The growth of regret on the hard pair of Theorem D.1, beside its exponents: 2/3 in Λ and 1/3 in K."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mfbandit import theory
from mfbandit.reproduce._default_policy import DEFAULT, identify_then_exploit
from mfbandit.reproduce._experiment import Request
from mfbandit.reproduce._section import Picture, Table, number
from mfbandit.simulation import Bound, growth_against_budget, save, simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Growth", "measure", "slope", "work"]

N_ARMS = 5
BUDGETS = tuple(float(f"{10**power:.2g}") for power in np.arange(3.0, 6.1, 0.5))
PROOF, THEOREM = "elimination", "elimination:epsilon=theorem"
SPENDERS = (PROOF, THEOREM, "mf-ucb", "ucb-top")
POLICIES = (*SPENDERS, DEFAULT)
#: For the growth with the number of arms: how many, and the budget.
ARMS, BUDGET = (8, 16, 32, 64, 128), 1e5


class Growth(NamedTuple):
    """What was found on the pair."""

    pictures: tuple[Picture, ...]
    tables: tuple[Table, ...]
    findings: list[str]


def slope(sizes: Sequence[float], regrets: Sequence[float]) -> float:
    """Growth exponent: the slope of a straight line through the logarithms.

    Examples
    --------
    >>> round(slope([1e3, 1e4, 1e5], [10.0, 100.0, 1000.0]), 6)
    1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(regrets), 1)[0])


def work() -> float:
    """Pulls per trial, roughly."""
    return 2.0 * len(SPENDERS) * (sum(BUDGETS) + BUDGET * len(ARMS))


def measure(order: Request) -> Growth:
    """Simulate all policies on both instances of the pair, made anew for every budget and number of arms."""
    by_budget = {label: [_sum_of_regrets(label, N_ARMS, budget, order) for budget in BUDGETS] for label in POLICIES}
    rates = [theory.regret_lower_rate(N_ARMS, budget) for budget in BUDGETS]
    figure = _figure(BUDGETS, by_budget, rates, f"K = {N_ARMS}")
    save(figure, str(order.out / "regret-hard-pair"))

    by_arms = {label: [_sum_of_regrets(label, arms, BUDGET, order) for arms in ARMS] for label in POLICIES}
    arm_rates = [theory.regret_lower_rate(arms, BUDGET) for arms in ARMS]
    figure = _figure(ARMS, by_arms, arm_rates, f"Λ = {BUDGET:,.0f}")
    axes = figure.axes[0]
    axes.set_xlabel("number of arms K")
    axes.set_xticks(ARMS, [str(arms) for arms in ARMS])
    save(figure, str(order.out / "regret-hard-arms"))
    return Growth(
        (
            Picture("regret-hard-pair", "Sum of the regrets on the hard pair against the budget"),
            Picture("regret-hard-arms", "Sum of the regrets on the hard pair against the number of arms"),
        ),
        (_budget_table(by_budget, rates), _arms_table(by_arms, arm_rates)),
        [*_findings(by_budget, rates), *_arms_findings(by_arms)],
    )


def _figure(
    sizes: Sequence[float], regrets: Mapping[str, Sequence[float]], rates: Sequence[float], fixed: str
) -> Figure:
    """Regrets against what grows, beside the rate of the theorem; `fixed` says what does not grow."""
    return growth_against_budget(
        sizes,
        regrets,
        bounds=[Bound("K^(1/3) Λ^(2/3) (D.1)", sizes, rates)],
        ylabel="sum of the regrets on the two instances",
        title=f"Hard pair of Theorem D.1, {fixed}, gap (K/Λ)^(1/3)",
    )


def _sum_of_regrets(label: str, n_arms: int, budget: float, order: Request) -> float:
    order.steps.running(f"hard pair: {label}, {n_arms} arms, budget {budget:,.0f}")
    total = 0.0
    for instance in theory.hard_pair(n_arms, budget):
        if label == DEFAULT:
            runs = identify_then_exploit(instance, budget, trials=order.trials, seed=order.seed)
        else:
            runs = simulate(instance, label, budget=budget, trials=order.trials, seed=order.seed)
        total += float(runs.regret.mean())
    if label != DEFAULT:
        order.steps.finished(2.0 * budget * order.trials)
    return total


def _without_learning(n_arms: int) -> float:
    """Sum of the regrets, over K^(1/3) budget^(2/3), of playing all arms in turn at the cheapest fidelity.

    On the first instance a pull loses gap (1 - 1/K) on average, on the second gap (2 - 3/K).
    """
    return 3.0 - 4.0 / n_arms


def _findings(sums: Mapping[str, Sequence[float]], rates: Sequence[float]) -> list[str]:
    blind = _without_learning(N_ARMS)
    factors = {label: float(np.mean(np.divide(sums[label], rates))) for label in (PROOF, THEOREM)}
    worth = "better" if min(factors.values()) < blind else "no better"
    others = ", ".join(f"{label} {slope(BUDGETS, sums[label]):.3f}" for label in POLICIES[2:])
    return [
        f"Hard pair: the sum of Elimination's regrets grows with exponent {slope(BUDGETS, sums[PROOF]):.3f} in Λ with "
        f"the proof's ε and {slope(BUDGETS, sums[THEOREM]):.3f} with D.4's; the theorem says 2/3 = 0.667. The others' "
        f"exponents are {others}.",
        f"Hard pair: Elimination regrets {factors[PROOF]:.2f} K^(1/3) Λ^(2/3) on the two together with the proof's ε "
        f"and {factors[THEOREM]:.2f} with D.4's. Playing all arms in turn at the cheapest fidelity without looking "
        f"would regret {blind:.2f} of it, so at these budgets it is {worth} than not learning: the gap "
        "of the pair is made so small that telling the instances apart does not pay.",
    ]


def _arms_findings(sums: Mapping[str, Sequence[float]]) -> list[str]:
    blind = [_without_learning(arms) * theory.regret_lower_rate(arms, BUDGET) for arms in ARMS]
    others = ", ".join(f"{label} {slope(ARMS, sums[label]):.3f}" for label in POLICIES[1:])
    return [
        f"Hard pair, Λ = {BUDGET:,.0f}, K from {ARMS[0]} to {ARMS[-1]}: the sum of Elimination's regrets grows with "
        f"exponent {slope(ARMS, sums[PROOF]):.3f} in K; the theorem says 1/3 = 0.333, and playing all arms in turn "
        f"without looking grows with {slope(ARMS, blind):.3f}. The others: {others}."
    ]


def _budget_table(sums: Mapping[str, Sequence[float]], rates: Sequence[float]) -> Table:
    last = len(BUDGETS) - 3
    rows = [
        (
            label,
            *(number(values[position]) for position in range(0, len(BUDGETS), 2)),
            f"{slope(BUDGETS, values):.3f}",
            f"{slope(BUDGETS[last:], values[last:]):.3f}",
        )
        for label, values in sums.items()
    ]
    rate = (*(number(rates[position]) for position in range(0, len(BUDGETS), 2)), "0.667", "0.667")
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
            *(f"Λ = {BUDGETS[position]:,.0f}" for position in range(0, len(BUDGETS), 2)),
            "exponent",
            "last decade",
        ),
        rows=(*rows, ("K^(1/3) Λ^(2/3)", *rate)),
        records=tuple(records),
    )


def _arms_table(sums: Mapping[str, Sequence[float]], rates: Sequence[float]) -> Table:
    rows = [(label, *map(number, values), f"{slope(ARMS, values):.3f}") for label, values in sums.items()]
    records = [
        {"policy": label, "n_arms": arms, "budget": BUDGET, "sum_of_regrets": value, "rate": bound}
        for label, values in sums.items()
        for arms, value, bound in zip(ARMS, values, rates, strict=True)
    ]
    return Table(
        stem="regret-hard-arms",
        caption=f"The same against the number of arms, at Λ = {BUDGET:,.0f}.",
        headings=("policy", *(f"K = {arms}" for arms in ARMS), "exponent"),
        rows=(*rows, ("K^(1/3) Λ^(2/3)", *map(number, rates), "0.333")),
        records=tuple(records),
    )
