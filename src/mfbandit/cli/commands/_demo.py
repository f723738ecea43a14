"""``mfbandit demo``: the main job, from a study to a report."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from mfbandit.algorithms import Policy, default_policy, read_policy
from mfbandit.cli._options import Json, Seed
from mfbandit.cli._output import print_json, print_table
from mfbandit.cli._result_text import end_code, print_result
from mfbandit.errors import InvalidInput
from mfbandit.formatting import amount
from mfbandit.instances import Instance, load_instance
from mfbandit.simulation import simulate
from mfbandit.storage import open_storage
from mfbandit.study import Result, Study, create_study

__all__ = ["demo"]

_DELTA = 0.05
#: Simulated runs with the truest fidelity only, to compare with.
_TRIALS = 10


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the study and the report.")] = Path("mfbandit-demo"),
    seed: Seed = 0,
    workers: Annotated[int, typer.Option(help="Evaluations at once.")] = 4,
    json: Json = False,
) -> None:
    """Find the best of five language models with two automatic judges and a human.

    The first run compiles for up to a minute; later ones take seconds.

    The judges are those of the built-in instance [bold]judges[/bold]: their verdicts are drawn at random
    with the rates that were measured on the PandaLM test set. All else is real: a study in a SQLite file,
    several workers, a certified answer and an HTML report.

    Example: [bold]mfbandit demo --out demo[/bold]
    """
    instance = load_instance("judges")
    policy = read_policy(default_policy(instance.problem))
    study = _new_study(instance, policy, out, seed, workers)
    if not json:
        _introduce(instance)
    result = study.optimize(instance.evaluator(seed), workers=workers)
    if result.status != "certified":
        _tell(result, None, instance, [], json)
        raise typer.Exit(end_code(result))
    alone = _truest_only(instance, policy, seed)
    _tell(result, alone, instance, _files(study, result, out), json)


def _new_study(instance: Instance, policy: Policy, out: Path, seed: int, workers: int) -> Study:
    """Make a study with a name that is still free, so that a demo can be shown twice."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidInput(f"the folder {str(out)!r} cannot be made: {error.strerror}") from None
    storage = open_storage(f"sqlite:///{(out / 'judges.db').absolute()}")
    taken, name, number = storage.headers(), instance.name, 1
    while name in taken:
        number += 1
        name = f"{instance.name}-{number}"
    # What is drawn at random can be drawn again: no need to wait for the disk.
    return create_study(
        instance.problem,
        policy=policy,
        delta=_DELTA,
        storage=storage,
        name=name,
        seed=seed,
        width=workers,
        durable=False,
    )


def _introduce(instance: Instance) -> None:
    problem = instance.problem
    print(f"Which of {problem.n_arms} language models gives the best answers?\n")
    rows = [
        (
            fidelity.name,
            f"${cost:.4g}",
            f"off by up to {bias:g}" if bias else "the truth",
        )
        for fidelity, cost, bias in zip(
            problem.fidelities, problem.costs[0].tolist(), problem.biases[0].tolist(), strict=True
        )
    ]
    print_table(("judge", "per verdict", "how true"), rows)
    print(flush=True)


def _truest_only(instance: Instance, policy: Policy, seed: int) -> float:
    """What the same certainty costs on average with the truest fidelity only."""
    top = dataclasses.replace(policy, fidelities="top")
    # A few trials are over before a compiler would be done.
    runs = simulate(instance, top, delta=_DELTA, trials=_TRIALS, seed=seed, device="python")
    return float(runs.cost.mean())


def _files(study: Study, result: Result, out: Path) -> list[str]:
    """Write the report; returns the files of the demo."""
    files = [str(out / "judges.db")]
    report: Any = getattr(result, "report", None)
    if report is not None:
        path = out / f"{study.name}.html"
        report(path)
        files.append(str(path))
    return files


def _tell(result: Result, alone: float | None, instance: Instance, files: list[str], json: bool) -> None:
    """Print the answer, and what it would have cost without the cheap judges."""
    if json:
        print_json({**result.to_json(), "cost_with_the_truest_only": alone, "files": files})
        return
    print_result(result)
    if alone is None:
        return
    truest = instance.problem.fidelities[instance.problem.truest].name
    print(
        f"\nIt cost ${amount(result.cost)}. With {truest} only, the same certainty costs ${amount(alone)} "
        f"on average ({_TRIALS} simulated runs): {amount(alone / result.cost, 2)} times as much."
    )
    for file in files:
        print(f"wrote {file}")
