"""``mfbandit bounds``: what theory says about an instance."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mfbandit.cli.options import Delta, InstanceName, Json, check_finite
from mfbandit.cli.output import amount, print_json, print_sentences, print_table
from mfbandit.errors import InvalidInput

if TYPE_CHECKING:
    from mfbandit.instances import Instance

__all__ = ["bounds", "describe"]


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
    json: Json = False,
) -> None:
    """Show the paper's bounds for an instance, the tight limit, and whether the assumptions hold.

    Upper bounds are the expressions inside the O of the theorems; with their constants they stand beside.

    Example: [bold]mfbandit bounds figure-1a --top 0.95 --second 0.75 --delta 0.1[/bold]
    """
    import mfbandit as mf

    check_finite("top", top)
    check_finite("second", second)
    loaded = mf.load_instance(instance)
    found = describe(loaded, delta, top, second)
    if json:
        print_json(found)
    else:
        _show(loaded, found)


def describe(instance: Instance, delta: float, top: float | None = None, second: float | None = None) -> dict[str, Any]:
    """Everything that ``mfbandit bounds --json`` prints.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> round(describe(load_instance("figure-1a"), 0.05)["limit"], 1)
    361.4
    """
    from mfbandit import theory

    hardness = theory.hardness(instance, top, second)
    characteristic = theory.characteristic_cost(instance)
    regret, refusal = _regret_coefficients(instance)
    prior = theory.assumptions(instance, top, second)
    conservative = theory.assumptions(instance, explore="c")
    return {
        "instance": instance.name,
        "delta": delta,
        "top": top,
        "second": second,
        "H": hardness.H,
        "H_tilde": hardness.H_tilde,
        "G_tilde": hardness.G_tilde,
        "gaps": theory.gaps(instance),
        "optimal_fidelity": theory.optimal_fidelity(instance),
        "lower_bound": theory.lower_bound(instance, delta),
        "lower_bound_coefficient": theory.lower_bound_coefficient(instance),
        **_upper_bounds(instance, delta, top, second),
        "characteristic_cost": characteristic.cost,
        "characteristic_cost_top": theory.characteristic_cost(instance, fidelities="top").cost,
        "limit": theory.limit(instance, delta),
        "limit_top": theory.limit(instance, delta, fidelities="top"),
        "weights": characteristic.weights,
        **regret,
        "theorem_3_4": {"holds": prior.holds, "sentences": prior.sentences},
        "theorem_b_1": {"holds": conservative.holds, "sentences": conservative.sentences},
        "notes": refusal,
        "violations": [{**vars(violation), "sentence": violation.sentence} for violation in instance.violations],
    }


def _upper_bounds(instance: Instance, delta: float, top: float | None, second: float | None) -> dict[str, float]:
    from mfbandit import theory

    found = {}
    for constant in (False, True):
        ending = "_with_constant" if constant else ""
        found[f"upper_bound_a{ending}"] = theory.upper_bound(instance, delta, "a", top, second, constant=constant)
        found[f"upper_bound_b{ending}"] = theory.upper_bound(instance, delta, "b", top, second, constant=constant)
        found[f"upper_bound_c{ending}"] = theory.upper_bound(instance, delta, "c", constant=constant)
    return found


def _regret_coefficients(instance: Instance) -> tuple[dict[str, float | None], list[str]]:
    """The coefficients of log(budget), or why there are none."""
    from mfbandit import theory

    coefficients: dict[str, Callable[[Instance], float]] = {
        "regret_lower_coefficient": theory.regret_lower_bound,
        "regret_upper_coefficient": theory.regret_upper_coefficient,
    }
    try:
        return {name: function(instance) for name, function in coefficients.items()}, []
    except InvalidInput as error:
        return dict.fromkeys(coefficients), [str(error)]


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
    _print_assumptions("Theorem 3.4 (Explore-A and -B)", found["theorem_3_4"])
    _print_assumptions("Theorem B.1 (Explore-C)", found["theorem_b_1"])
    if not math.isfinite(found["lower_bound_coefficient"]):
        print("No fidelity of some arm has a positive gap: the sum of Theorem 3.1 is infinite.")
    for note in found["notes"]:
        print(f"No regret bounds: {note}.")


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
    lines = [
        ("hardness H", "H", None),
        ("hardness H~ (with top and second)", "H_tilde", None),
        ("G~, cost of finding the fidelities", "G_tilde", None),
        ("limit C* kl(delta, 1-delta): no one can pay less", "limit", None),
        ("  the same with the truest fidelity only", "limit_top", None),
        ("characteristic cost C*", "characteristic_cost", None),
        ("lower bound (Theorem 3.1)", "lower_bound", None),
        ("upper bound, Explore-A (Theorem 3.4)", "upper_bound_a", "upper_bound_a_with_constant"),
        ("upper bound, Explore-B (Theorem 3.4)", "upper_bound_b", "upper_bound_b_with_constant"),
        ("upper bound, Explore-C (Theorem B.1)", "upper_bound_c", "upper_bound_c_with_constant"),
        ("regret lower bound / log budget (Theorem D.2)", "regret_lower_coefficient", None),
        ("regret of Elimination / log budget (Theorem D.3)", "regret_upper_coefficient", None),
    ]
    return [(name, amount(found[key]), amount(found[full]) if full else "") for name, key, full in lines]


def _print_assumptions(theorem: str, found: dict[str, Any]) -> None:
    if not found["sentences"]:
        print(f"{theorem}: all that it assumes holds.")
    elif found["holds"]:
        print_sentences(f"{theorem}: all that it states holds, but its proof also uses:", found["sentences"])
    else:
        print_sentences(f"{theorem}: not all that it assumes holds.", found["sentences"])
