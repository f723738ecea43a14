"""``mfbandit forecast``: what a study will cost, before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mfbandit.cli._options import Delta, InstanceName, Json, PullDurations, Seed, Spread, check_finite, read_durations
from mfbandit.cli._output import complain, print_json, print_table
from mfbandit.errors import InvalidInput
from mfbandit.files import complete_file
from mfbandit.formatting import amount
from mfbandit.simulation import Forecast
from mfbandit.simulation import forecast as run

__all__ = ["forecast"]


def forecast(
    instance: InstanceName,
    delta: Delta = 0.05,
    epsilon: Annotated[float, typer.Option(help="An answer this close to the best is good enough.")] = 0.0,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            help="name or name:key=value,...; repeat to compare.",
            show_default="mf-toptwo and lucb-c",
        ),
    ] = None,
    trials: Annotated[int, typer.Option(help="Simulated runs of each.")] = 100,
    seed: Seed = 0,
    max_cost: Annotated[
        float | None,
        typer.Option(help="Cost at which a run is given up.", show_default="very high"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the cost against the confidence as a picture (.png, .svg or .pdf)."),
    ] = None,
    workers: Annotated[
        str | None,
        typer.Option(help="Numbers of workers, 1,8,64 say: how long it takes with each.", show_default=False),
    ] = None,
    durations: PullDurations = None,
    spread: Spread = 0.0,
    json: Json = False,
) -> None:
    """Foretell what identifying the best arm will cost, and which fidelities to use.

    The instance holds your guesses: means, costs and biases. Every set of fidelities is simulated.

    Example: [bold]mfbandit forecast judges --delta 0.01 --out judges.png[/bold]

    Example: [bold]mfbandit forecast judges --workers 1,8,64 --durations 1 --spread 1[/bold]
    """
    check_finite("max_cost", max_cost)
    # A wrong ending must not cost the time of the simulations.
    if out is not None and out.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InvalidInput(f"a picture must end in .png, .svg or .pdf, got {str(out)!r}")
    if out is not None and not out.parent.is_dir():
        raise InvalidInput(f"the folder {str(out.parent)!r} for the picture does not exist")
    settings: dict[str, Any] = {} if policy is None else {"policies": policy}
    settings |= {"workers": _read_workers(workers), "durations": read_durations(durations, spread)}
    found = run(instance, delta=delta, epsilon=epsilon, trials=trials, seed=seed, max_cost=max_cost, **settings)
    if out is not None:
        with complete_file(out, binary=True) as file:
            found.figure().savefig(file, format=out.suffix[1:].lower(), dpi=160)
        complain(f"the cost against the confidence is drawn in {out}")
    if json:
        print_json(found.to_json())
    else:
        _show(found)


def _read_workers(text: str | None) -> list[int]:
    try:
        return [] if text is None else [int(part) for part in text.split(",")]
    except ValueError:
        raise InvalidInput(f"workers must be whole numbers, such as 1,8,64, got {text!r}") from None


def _show(found: Forecast) -> None:
    print(f"{found.advice}\n")
    rows = []
    for row in found.rows:
        ended = row.stopped_rate == 1.0
        rows.append(
            (
                row.policy,
                " + ".join(row.fidelities),
                f"{'' if ended else 'more than '}{amount(row.mean_cost)} ± {amount(row.standard_error, 2)}",
                amount(row.limit),
                f"{row.error_rate:.1%}",
            )
        )
    print_table(("policy", "fidelities", "expected cost", "limit", "wrong"), rows)
    print(
        f"\nDelta {found.delta:g}, {found.trials} simulated runs of each, seed {found.seed}; ± is one standard error. "
        "The limit\nis what no policy can undercut with these fidelities. All this holds if the guesses are right."
    )
    if found.widths:
        print(f"\nWith {found.best.policy} and {' + '.join(found.keep)}:\n")
        print_table(
            ("workers", "expected cost", "time to the answer", "workers busy"),
            [
                (
                    str(row.workers),
                    f"{amount(row.mean_cost)} ± {amount(row.standard_error, 2)}",
                    amount(row.mean_time),
                    f"{row.utilisation:.0%}",
                )
                for row in found.widths
            ],
        )
