"""``mfbandit bounds``: what theory says about an instance."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any

import typer

from mfbandit import theory
from mfbandit.cli._options import Delta, InstanceName, Json, check_finite
from mfbandit.cli._output import print_json, print_sentences, print_table
from mfbandit.errors import InvalidInput
from mfbandit.formatting import amount
from mfbandit.instances import GaussianLaw, Instance, load_instance
from mfbandit.theory import Assumptions

__all__ = ["bounds", "describe"]

_ERRATUM = (
    "Theorem 3.4 is printed with the gaps that top and second make; its proof uses the true gaps where "
    "they lead. Corrected: with the true gaps. Both are the same for exact top and second."
)
_EXACT = "Explore-A and -B: with exact top and second; for yours give --top and --second{papers}."
_REGRET_ERRATUM = (
    "Theorem D.3 is printed as if Elimination dropped every arm with a gap above epsilon; its rule is certain to do so "
    "only above 4 epsilon, and needs a phase more. Corrected: with the phases that the rule needs."
)
_NO_LIMIT = (
    "This instance breaks its own bias bounds: the limit and the lower bounds are formulas evaluated "
    "outside their model, and bind no algorithm here."
)
_GAUSSIAN = (
    "Gaussian rewards: the paper's analysis is for rewards in [0, 1]. Upper bounds measure gaps in units of "
    "sqrt(2) sigma, in which the paper's radius is the same; H, H~ and G~ are in reward units, so the upper "
    "bounds take 2 sigma^2 times them. So is epsilon of Elimination in units of sqrt(2) sigma."
)


def bounds(
    instance: InstanceName,
    delta: Delta = 0.05,
    top: Annotated[
        float | None,
        typer.Option(help="What Explore-A and -B are told of the best mean.", show_default="the mean itself"),
    ] = None,
    second: Annotated[
        float | None,
        typer.Option(help="What Explore-A and -B are told of the second-best mean.", show_default="the mean itself"),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(help="Budget to evaluate the regret bounds at.", show_default="none: coefficients of its log"),
    ] = None,
    json: Json = False,
) -> None:
    """Show the paper's bounds for an instance, the tight limit, and whether the assumptions hold.

    Upper bounds are the expressions inside the O of the theorems; with their constants they stand beside.

    Example: [bold]mfbandit bounds figure-1a --top 0.95 --second 0.75 --delta 0.1[/bold]

    Example: [bold]mfbandit bounds figure-1a --budget 1e6[/bold]
    """
    for name, value in (("top", top), ("second", second), ("budget", budget)):
        check_finite(name, value)
    loaded = load_instance(instance)
    found = describe(loaded, delta, top, second, budget)
    if json:
        print_json(found)
    else:
        _show(loaded, found)


def describe(
    instance: Instance,
    delta: float,
    top: float | None = None,
    second: float | None = None,
    budget: float | None = None,
) -> dict[str, Any]:
    """Everything that ``mfbandit bounds --json`` prints.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> round(describe(load_instance("figure-1a"), 0.05)["limit"], 1)
    361.4
    """
    hardness = theory.hardness(instance, top, second)
    corrected = theory.corrected_hardness(instance, top, second)
    characteristic = theory.characteristic_cost(instance)
    regret, refusal = _regret_bounds(instance, budget)
    prior = theory.assumptions(instance, top, second)
    conservative = theory.assumptions(instance, explore="c")
    contradicted = [theory.contradiction(instance, delta, "a", top, second)]
    contradicted.append(theory.contradiction(instance, delta, "b", top, second))
    return {
        "instance": instance.name,
        "delta": delta,
        "top": top,
        "second": second,
        "budget": budget,
        "H": hardness.H,
        "H_tilde": hardness.H_tilde,
        "G_tilde": hardness.G_tilde,
        "H_corrected": corrected.H,
        "G_corrected": corrected.G,
        "gaps": theory.gaps(instance),
        "optimal_fidelity": theory.optimal_fidelity(instance),
        "ancillary_optimal_fidelity": theory.optimal_fidelity(instance, top, second),
        "lower_bound": theory.lower_bound(instance, delta),
        "lower_bound_coefficient": theory.lower_bound_coefficient(instance),
        **_upper_bounds(instance, delta, top, second),
        "contradictions": [sentence for sentence in contradicted if sentence],
        "characteristic_cost": characteristic.cost,
        "characteristic_cost_top": theory.characteristic_cost(instance, fidelities="top").cost,
        "limit": theory.limit(instance, delta),
        "limit_top": theory.limit(instance, delta, fidelities="top"),
        "limit_holds": not instance.violations,
        "weights": characteristic.weights,
        **regret,
        "theorem_3_4": {
            **_assumed(prior),
            "commitments": theory.assumptions(instance, top, second, explore="b").commitments,
        },
        "theorem_b_1": _assumed(conservative),
        "notes": refusal,
        "violations": [{**vars(violation), "sentence": violation.sentence} for violation in instance.violations],
    }


def _assumed(found: Assumptions) -> dict[str, Any]:
    return {
        "holds": found.holds,
        "sentences": found.sentences,
        "assumption_3_3_as_printed": found.assumption_3_3,
        "as_printed": found.printed,
    }


def _upper_bounds(instance: Instance, delta: float, top: float | None, second: float | None) -> dict[str, float]:
    found = {}
    for constant in (False, True):
        ending = "_with_constant" if constant else ""
        for letter in ("a", "b"):
            printed = theory.upper_bound(instance, delta, letter, top, second, constant=constant)
            corrected = theory.corrected_upper_bound(instance, delta, letter, top, second, constant=constant)
            found[f"upper_bound_{letter}{ending}"] = printed
            found[f"upper_bound_{letter}_corrected{ending}"] = corrected
        found[f"upper_bound_c{ending}"] = theory.upper_bound(instance, delta, "c", constant=constant)
    return found


def _regret_bounds(instance: Instance, budget: float | None) -> tuple[dict[str, float | None], list[str]]:
    """The coefficients of log(budget) and, with a budget, the bounds there; or why there are none."""
    found: dict[str, Callable[[], float]] = {
        "regret_lower_coefficient": lambda: theory.regret_lower_bound(instance),
        "regret_upper_coefficient": lambda: theory.regret_upper_coefficient(instance),
    }
    if budget is not None:
        theory.regret_lower_rate(1, budget)  # refuses a budget that is none
        found |= _at_budget(instance, budget)
    try:
        return {name: function() for name, function in found.items()}, []
    except InvalidInput as error:
        return dict.fromkeys(found), [str(error)]


def _at_budget(instance: Instance, budget: float) -> dict[str, Callable[[], float]]:
    n_arms = len(instance.means)
    costs = instance.problem.costs[0]
    cheapest, truest = float(costs.min()), float(costs[instance.problem.truest])
    best = float(instance.truth[instance.best])
    return {
        "regret_lower_rate": lambda: theory.regret_lower_rate(n_arms, budget / cheapest),
        "regret_upper_rate": lambda: theory.regret_upper_rate(n_arms, budget / cheapest),
        "regret_worst_case": lambda: theory.regret_worst_case(
            n_arms, budget, cheapest=cheapest, truest=truest, top=best
        ),
        "regret_upper_bound": lambda: theory.regret_upper_bound(instance, budget),
        "regret_upper_bound_theorem_epsilon": lambda: theory.regret_upper_bound(instance, budget, "theorem"),
        "regret_upper_bound_corrected": lambda: theory.corrected_regret_upper_bound(instance, budget),
        "regret_upper_bound_theorem_epsilon_corrected": lambda: theory.corrected_regret_upper_bound(
            instance, budget, "theorem"
        ),
        "regret_of_everything": lambda: budget / cheapest * best,
    }


def _show(instance: Instance, found: dict[str, Any]) -> None:
    problem = instance.problem
    truth, best = instance.truth, instance.best
    print(
        f"{instance.name}: {problem.n_arms} arms, {problem.n_fidelities} fidelities; "
        f"the best arm is {problem.arms[best]!r} with mean {truth[best]:.6g}; delta {found['delta']:g}\n"
    )
    print_table(*_arm_table(instance, found))
    print()
    print_table(("", "bound", "with the proof's constant"), _bound_rows(found))
    print("\nShares: how the cost must be divided to reach the limit with all fidelities.\n")
    for sentence in found["contradictions"]:
        print(f"Contradicted: {sentence}.")
    _print_assumptions("Theorem 3.4 (Explore-A and -B)", found["theorem_3_4"])
    for sentence in found["theorem_3_4"]["commitments"]:
        print(f"Not in the theorem: {sentence}.")
    _print_assumptions("Theorem B.1 (Explore-C)", found["theorem_b_1"])
    for note in _notes(instance, found):
        print(note)


def _notes(instance: Instance, found: dict[str, Any]) -> list[str]:
    notes = []
    if found["top"] is not None or found["second"] is not None:
        notes.append(_ERRATUM)
    else:
        papers = ", for the paper's --top 0.95 --second 0.75" if instance.name in ("figure-1a", "figure-1b") else ""
        notes.append(_EXACT.format(papers=papers))
    if found["budget"] is not None and not found["notes"]:
        notes.append(_REGRET_ERRATUM)
    if not found["limit_holds"]:
        notes.append(_NO_LIMIT)
    if isinstance(instance.law, GaussianLaw):
        notes.append(_GAUSSIAN)
    if not math.isfinite(found["lower_bound_coefficient"]):
        notes.append("No fidelity of some arm has a positive gap: the sum of Theorem 3.1 is infinite.")
    return [*notes, *(f"No regret bounds: {note}." for note in found["notes"])]


def _arm_table(instance: Instance, found: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    problem = instance.problem
    names = [fidelity.name for fidelity in problem.fidelities]
    headings = ["arm", "true mean", "optimal fidelity", "gap there", *(f"share at {name}" for name in names)]
    rows = []
    for arm, m in enumerate(found["optimal_fidelity"]):
        gap = float(found["gaps"][arm, m])
        shares = [f"{share:.1%}" if share > 0.0 else "-" for share in found["weights"][arm]]
        rows.append([problem.arms[arm], f"{instance.truth[arm]:.4g}", names[m], f"{gap:.4g}", *shares])
    return headings, rows


def _bound_rows(found: dict[str, Any]) -> list[tuple[str, str, str]]:
    no_one = "no one can pay less" if found["limit_holds"] else "does not bind here, see below"
    lines: list[tuple[str, str, str | None]] = [
        ("hardness H", "H", None),
        ("hardness H~ (with top and second)", "H_tilde", None),
        ("G~, cost of finding the fidelities", "G_tilde", None),
        (f"limit C* kl(delta, 1-delta): {no_one}", "limit", None),
        ("  the same with the truest fidelity only", "limit_top", None),
        ("characteristic cost C*", "characteristic_cost", None),
        ("lower bound (Theorem 3.1)", "lower_bound", None),
        ("upper bound, Explore-A (Theorem 3.4 as printed)", "upper_bound_a", "upper_bound_a_with_constant"),
        ("  corrected: true gaps", "upper_bound_a_corrected", "upper_bound_a_corrected_with_constant"),
        ("upper bound, Explore-B (Theorem 3.4 as printed)", "upper_bound_b", "upper_bound_b_with_constant"),
        ("  corrected: true gaps", "upper_bound_b_corrected", "upper_bound_b_corrected_with_constant"),
        ("upper bound, Explore-C (Theorem B.1)", "upper_bound_c", "upper_bound_c_with_constant"),
        ("regret lower bound / log budget (Theorem D.2)", "regret_lower_coefficient", None),
        ("regret of Elimination / log budget (Theorem D.3)", "regret_upper_coefficient", None),
    ]
    if found["budget"] is not None:
        lines += _budget_lines(found["budget"])
    wrong = _contradicted(found)
    return [
        (name, amount(found[key]), _with_mark(found[full], full in wrong) if full else "") for name, key, full in lines
    ]


def _contradicted(found: dict[str, Any]) -> set[str]:
    """Keys of the printed bounds that a lower bound contradicts."""
    return {
        f"upper_bound_{letter}_with_constant"
        for letter in ("a", "b")
        if any(f"Explore-{letter.upper()}" in sentence for sentence in found["contradictions"])
    }


def _with_mark(value: float | None, wrong: bool) -> str:
    return f"{amount(value)} (contradicted)" if wrong else amount(value)


def _budget_lines(budget: float) -> list[tuple[str, str, str | None]]:
    return [
        (f"all that can be lost with a budget of {budget:,.0f}", "regret_of_everything", None),
        ("  regret of any policy, rate (Theorem D.1)", "regret_lower_rate", None),
        ("  regret of Elimination, rate (Theorem D.4)", "regret_upper_rate", "regret_worst_case"),
        ("  regret of Elimination here (D.3 as printed), proof's epsilon", "regret_upper_bound", None),
        ("    corrected: the phases that it needs", "regret_upper_bound_corrected", None),
        ("  regret of Elimination here (D.3 as printed), D.4's epsilon", "regret_upper_bound_theorem_epsilon", None),
        ("    corrected: the phases that it needs", "regret_upper_bound_theorem_epsilon_corrected", None),
    ]


def _print_assumptions(theorem: str, found: dict[str, Any]) -> None:
    # Where the procedure ends, Assumption 3.3 may hold although it does not as printed.
    elsewhere = [sentence for sentence in found["as_printed"] if sentence not in found["sentences"]]
    if not found["sentences"]:
        print(f"{theorem}: all that {'its proof uses' if elsewhere else 'it assumes'} holds.")
    elif found["holds"]:
        print_sentences(f"{theorem}: all that it states holds, but its proof also uses:", found["sentences"])
    else:
        print_sentences(f"{theorem}: not all that it assumes holds.", found["sentences"])
    if elsewhere:
        print_sentences(
            "  As printed, at the optimal fidelities m*, Assumption 3.3 does not hold. It was checked where the "
            "procedure ends, which is what the proof needs:",
            elsewhere,
        )
