"""``mfbandit status``, ``ask``, ``tell`` and so on: studies in a storage, for workers of any kind."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from mfbandit.cli._options import AllowChangedPolicy, Json
from mfbandit.cli._output import complain, print_json, print_table
from mfbandit.cli._result_text import print_result
from mfbandit.errors import InvalidInput
from mfbandit.formatting import amount, shown, told_apart
from mfbandit.model import Pull
from mfbandit.storage import PATIENCE_SECONDS, open_storage
from mfbandit.study import Study, import_study, load_study

__all__ = [
    "Patience",
    "StorageUrl",
    "StudyName",
    "ask",
    "best",
    "export",
    "fail",
    "import_",
    "open_stored",
    "retry",
    "status",
    "tell",
]

StorageUrl: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="STORAGE",
        help="A SQLite file, sqlite:///file.db or postgresql://...",
        show_default=False,
    ),
]
StudyName: TypeAlias = Annotated[
    str | None,
    typer.Option("--study", help="Its name, where a storage holds several.", show_default=False),
]
Patience: TypeAlias = Annotated[
    float, typer.Option(help="Seconds for which a storage that does not answer is tried again.")
]
PullId: TypeAlias = Annotated[int, typer.Argument(metavar="PULL", help="Its id.", show_default=False)]


def status(
    storage: StorageUrl, study: StudyName = None, json: Json = False, patience: Patience = PATIENCE_SECONDS
) -> None:
    """Show how far a study is, or which studies a storage holds.

    Example: [bold]mfbandit status judges.db[/bold]
    """
    store = open_storage(storage, existing=True, patience=patience)
    names = list(store.headers())
    if study is None and len(names) != 1:
        results = [load_study(store, name).result() for name in names]
        if json:
            print_json([result.to_json() for result in results])
        elif results:
            print_table(("study", "where it stands"), [(shown(r.study), r.sentence) for r in results])
        else:
            print("The storage holds no study.")
        return
    opened = load_study(store, study)
    result, out = opened.result(), _out(opened)
    if json:
        settings = opened.settings
        print_json({**result.to_json(), "out": out, "width": settings.width, "blocks": settings.problem.blocks})
        return
    print_result(result)
    problem = opened.settings.problem
    if problem.blocks is not None:
        drawn = "every pull on a block of its own" if opened.settings.policy.independent else "arms share them"
        print(f"The problem has {problem.blocks} blocks: {drawn}.")
    if opened.settings.width > 1:
        print(f"The study is {opened.settings.width} wide: as many pulls may be out at once.")
    if out:
        print(f"{out} pull{'s are' if out > 1 else ' is'} being evaluated.")


def ask(
    storage: StorageUrl,
    n: Annotated[int, typer.Option("-n", help="How many at most.")] = 1,
    lease: Annotated[
        float | None,
        typer.Option(help="Seconds after which they are handed out to others.", show_default="what the study says"),
    ] = None,
    people: Annotated[
        bool, typer.Option("--people", help="Get pulls of fidelities that people measure; others get none of them.")
    ] = False,
    study: StudyName = None,
    allow_changed_policy: AllowChangedPolicy = False,
    json: Json = False,
    patience: Patience = PATIENCE_SECONDS,
) -> None:
    """Get pulls to evaluate; report each with [bold]mfbandit tell[/bold] or [bold]mfbandit fail[/bold].

    Exit code 1 if none can be handed out now: the study is done, or waits for pulls that are out.

    Example: [bold]mfbandit ask judges.db -n 4 --json[/bold]
    """
    opened = open_stored(storage, study, patience, allow_changed_policy)
    pulls = opened.ask(n, lease_seconds=lease, people=people)
    where = opened.status
    if json:
        print_json({"status": where, "pulls": [_plain(pull) for pull in pulls]})
    elif pulls:
        on_blocks, labels = pulls[0].block is not None, told_apart(opened.problem.arms)
        headings = ("pull", "arm", "fidelity", *(("block", "its seed") if on_blocks else ("seed", "index")), "cost")
        rows = [
            (
                str(p.id),
                labels[p.arm],
                shown(p.fidelity),
                *((str(p.block), str(p.block_seed)) if on_blocks else (str(p.seed), str(p.index))),
                amount(p.cost),
            )
            for p in pulls
        ]
        print_table(headings, rows)
    if not pulls:
        waits = f"{_out(opened)} pulls are out, and their results are needed first"
        complain(f"nothing to evaluate now: {waits if where == 'running' else f'the study is {where}'}")
        raise typer.Exit(1)


def tell(
    storage: StorageUrl,
    pull: PullId,
    reward: Annotated[str, typer.Argument(metavar="REWARD", help="A number.", show_default=False)],
    cost: Annotated[
        float | None, typer.Option(help="What it really cost; 0 if it was known already.", show_default="as declared")
    ] = None,
    note: Annotated[str | None, typer.Option(help="A text to keep with it.", show_default=False)] = None,
    study: StudyName = None,
    json: Json = False,
    patience: Patience = PATIENCE_SECONDS,
) -> None:
    """Report the reward of a pull.

    A pull counts once: what comes after its first reward is not recorded.

    Example: [bold]mfbandit tell judges.db 17 0.75 --cost 0.012[/bold]
    """
    try:
        value = float(reward)
    except ValueError:
        raise InvalidInput(f"a reward must be a number, got {reward!r}") from None
    opened = open_stored(storage, study, patience)
    _confirm(opened, pull, opened.tell(pull, value, cost=cost, note=note), json)


def fail(
    storage: StorageUrl,
    pull: PullId,
    reason: Annotated[str, typer.Argument(help="What went wrong.", show_default=False)] = "",
    cost: Annotated[float, typer.Option(help="What the attempt has cost all the same.")] = 0.0,
    study: StudyName = None,
    json: Json = False,
    patience: Patience = PATIENCE_SECONDS,
) -> None:
    """Report that the evaluation of a pull failed, so that it is tried again.

    Example: [bold]mfbandit fail judges.db 17 "the judge did not answer"[/bold]
    """
    opened = open_stored(storage, study, patience)
    _confirm(opened, pull, opened.fail(pull, reason, cost=cost), json)


def retry(
    storage: StorageUrl, study: StudyName = None, json: Json = False, patience: Patience = PATIENCE_SECONDS
) -> None:
    """Go on with a study that stopped because an evaluation failed too often.

    Example: [bold]mfbandit retry judges.db[/bold]
    """
    opened = open_stored(storage, study, patience)
    forgiven = opened.retry()
    if json:
        print_json({"status": opened.status, "counted": forgiven})
    elif not forgiven:
        complain(f"there is nothing to try again: the study is {opened.status}")


def best(
    storage: StorageUrl, study: StudyName = None, json: Json = False, patience: Patience = PATIENCE_SECONDS
) -> None:
    """Print the best arm so far, or what was asked, and how sure it is.

    Exit code 1 only if there is no result at all: an answer that is not sure yet has 0. Scripts read status and
    confidence of [bold]--json[/bold], or use [bold]mfbandit verify[/bold].

    Example: [bold]mfbandit best judges.db[/bold]
    """
    result = open_stored(storage, study, patience).result()
    if json:
        print_json(result.to_json())
    else:
        print(result.sentence)
    if result.best is None and not result.verdicts:
        raise typer.Exit(1)


def export(
    storage: StorageUrl,
    file: Annotated[Path | None, typer.Argument(help="Where to write.", show_default="the standard output")] = None,
    study: StudyName = None,
    patience: Patience = PATIENCE_SECONDS,
) -> None:
    """Write a study as JSON lines: all its pulls, results and failures, in order.

    Example: [bold]mfbandit export judges.db judges.jsonl[/bold]
    """
    opened = open_stored(storage, study, patience)
    if file is not None and str(file) != "-":
        if not file.absolute().parent.is_dir():
            raise InvalidInput(f"there is no folder {str(file.parent)!r} to write {file.name!r} in")
        opened.export(file)
        return
    with tempfile.TemporaryDirectory() as folder:
        opened.export(Path(folder) / "study.jsonl")
        with open(Path(folder) / "study.jsonl", encoding="utf-8") as lines:
            shutil.copyfileobj(lines, sys.stdout)


def import_(
    file: Annotated[Path, typer.Argument(help="What 'mfbandit export' wrote.", show_default=False)],
    storage: StorageUrl,
    study: Annotated[str | None, typer.Option("--study", help="A new name.", show_default="the one it had")] = None,
    json: Json = False,
) -> None:
    """Read an exported study into a storage, where it can go on.

    Example: [bold]mfbandit import judges.jsonl other.db[/bold]
    """
    result = import_study(file, storage, study).result()
    if json:
        print_json(result.to_json())
    else:
        print(result.sentence)


def open_stored(storage: str, name: str | None, patience: float, allow_changed_policy: bool = False) -> Study:
    """Open a study that is stored."""
    return load_study(storage, name, patience=patience, allow_changed_policy=allow_changed_policy)


def _out(study: Study) -> int:
    """How many pulls are handed out and have no result yet."""
    return len(study.current().round.leases)


def _plain(pull: Pull) -> dict[str, Any]:
    """A pull for programs."""
    plain = {key: getattr(pull, key) for key in ("id", "arm", "fidelity", "cost", "seed", "index")}
    if pull.block is None:
        return plain
    done = {} if pull.done is None else {"done": pull.done}
    return {**plain, "block": pull.block, "block_seed": pull.block_seed, **done}


def _confirm(study: Study, pull: int, counts: bool, json: bool) -> None:
    """Say whether a report counts, and where the study stands."""
    if json:
        print_json({"pull": pull, "counted": counts, "status": study.status})
    elif not counts:
        complain(f"pull {pull} had its result already, or is no longer wanted: this one does not count")
