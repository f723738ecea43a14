"""The paper's figures and tables, computed again: pictures, data, and a page that shows them.

Each study is a module with a :class:`~mfbandit.reproduce._experiment.Experiment`; adding one is one line in
`EXPERIMENTS`. A study returns a :class:`~mfbandit.reproduce.Section`, which is kept as JSON in the
folder, so that studies may be done one by one and the page shows all that are there.
"""

from __future__ import annotations

import csv
import json
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path

from mfbandit._checks import closest, whole_number
from mfbandit.errors import InvalidInput
from mfbandit.files import complete_file
from mfbandit.reproduce._bounds_section import BOUNDS
from mfbandit.reproduce._experiment import Experiment, Request
from mfbandit.reproduce._figures_section import FIGURE_1A, FIGURE_1B
from mfbandit.reproduce._paper_page import page
from mfbandit.reproduce._pulls_section import PULLS
from mfbandit.reproduce._section import Section, Table
from mfbandit.reproduce._steps import Steps
from mfbandit.reproduce._termination_section import TERMINATION
from mfbandit.reproduce.regret._regret_section import REGRET

__all__ = ["EXPERIMENTS", "Section", "reproduce"]

EXPERIMENTS: dict[str, Experiment] = {
    study.name: study for study in (FIGURE_1A, FIGURE_1B, PULLS, REGRET, TERMINATION, BOUNDS)
}


def reproduce(
    what: str = "all",
    out: str | os.PathLike[str] = "reproduction",
    *,
    trials: int | None = None,
    seed: int = 0,
    quiet: bool = True,
) -> list[Section]:
    """Do one study of the paper, or all, and write pictures, CSV files and ``index.html``.

    Parameters
    ----------
    what : str
        One of `EXPERIMENTS`, or "all".
    out : path
        Folder to write to; it is made if need be.
    trials : int, optional
        Runs of each policy; each study has its own default (100 for the figures).
    seed : int
        Seed of the rewards.
    quiet : bool
        Whether to keep silent rather than show progress on stderr.

    Returns
    -------
    list of Section
        What was found.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [section] = reproduce("bounds", folder)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['bounds-hardness.csv', 'bounds.csv', 'bounds.json', 'index.html']
    >>> section.title
    'Bounds of all built-in instances'
    """
    chosen = _choose(what)
    if trials is not None:
        whole_number("trials", trials, 1)
    folder = _folder(out)
    sections = []
    work = sum(study.work(trials or study.trials) for study in chosen)
    with Steps(work, quiet=quiet) as steps:
        for study in chosen:
            started = time.monotonic()
            section = study.run(Request(trials or study.trials, seed, folder, steps))
            _write(section, folder)
            sections.append(section)
            steps.study(f"{study.name} done in {time.monotonic() - started:.1f} s")
    with complete_file(folder / "index.html") as file:
        file.write(page(_all_sections(folder)))
    return sections


def _choose(what: str) -> list[Experiment]:
    if what == "all":
        return list(EXPERIMENTS.values())
    if what not in EXPERIMENTS:
        known = [*EXPERIMENTS, "all"]
        raise InvalidInput(f"there is no study {what!r}; the studies are {', '.join(known)}{closest(what, known)}")
    return [EXPERIMENTS[what]]


def _folder(out: str | os.PathLike[str]) -> Path:
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "index.html").touch()
    except OSError as error:
        reason = error.strerror or error
        raise InvalidInput(f"the folder {str(folder)!r} cannot be written to: {reason}") from None
    return folder


def _write(section: Section, folder: Path) -> None:
    for table in section.tables:
        _write_csv(table, folder / f"{table.stem}.csv")
    text = json.dumps(_finite(section.to_json()), indent=1, ensure_ascii=False)
    with complete_file(folder / f"{section.name}.json") as file:
        file.write(text)


def _write_csv(table: Table, path: Path) -> None:
    with complete_file(path) as file:
        writer = csv.DictWriter(file, fieldnames=list(table.records[0]))
        writer.writeheader()
        writer.writerows(table.records)


def _finite(value: object) -> object:
    """Replace what JSON cannot say, infinities, by null."""
    if isinstance(value, dict):
        return {key: _finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _all_sections(folder: Path) -> Sequence[Section]:
    """All sections that lie in the folder, in the order of the studies."""
    files = [folder / f"{name}.json" for name in EXPERIMENTS]
    found = [json.loads(file.read_text(encoding="utf-8")) for file in files if file.is_file()]
    return [Section.from_json(data) for data in found]
