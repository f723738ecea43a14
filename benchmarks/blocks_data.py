"""Recorded data sets whose arms were measured on the same blocks, as instances.

    from blocks_data import load, names
    load("prompts_antonyms"), load("lcdb_letter")

Test sets (prompts, coding agents, graded texts) are finite: a race goes through their items in a random order.
Splits and replications (learning curves, cross-validation, simulations) are samples of what could have been drawn, so
they are drawn from with replacement, and their differences are taken for normal.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import mfbandit as mf

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

#: Sets whose blocks are draws, not all there are.
RESAMPLED = ("cv_", "lcdb_", "simopt_")


def names() -> list[str]:
    """All sets that can be loaded; none where there are no data."""
    with_blocks = sorted(folder.parent.name for folder in DATA.glob("blocks/*/blocks.csv.gz"))
    return with_blocks + sorted(folder.parent.name for folder in DATA.glob("lcdb_*/samples.csv.gz"))


def load(name: str, truest_only: bool = True) -> mf.Instance:
    """Load a set, its arms in an order of chance; with all fidelities, pair biases are those that it shows."""
    rows, costs, wide = _curves(name, truest_only) if name.startswith("lcdb_") else _recorded(name)
    if truest_only:
        costs = {key: value for key, value in costs.items() if value == max(costs.values())}
    resampled = name.startswith(RESAMPLED)
    instance = mf.read_table(
        rows,
        costs=costs,
        biases="observed",
        pair_biases="observed",
        block="block",
        wide=wide,
        blocks="unlimited" if resampled else None,
        reward=mf.Gaussian() if resampled else None,
        order="own" if len(costs) == 1 else "shared",
        name=name,
    )
    return _shuffled(instance)


def _recorded(name: str) -> tuple[Path, dict[str, float], bool]:
    """The file of a set, the costs that its description names, and whether it has a column for each arm."""
    folder = DATA / "blocks" / name
    said = re.search(r"fidelities \((.*?)\), costs \[(.*?)\]", (folder / "README.md").read_text())
    if said is None:
        return folder / "blocks.csv.gz", {"right": 1.0}, True
    prices = [float(text) for text in said[2].split(",")]
    return folder / "blocks.csv.gz", dict(zip(said[1].split(", "), prices, strict=True)), False


def _curves(name: str, truest_only: bool) -> tuple[list[tuple[str, str, str, float]], dict[str, float], bool]:
    """The learning curves of a set, on the splits (outer, inner seed) on which all learners were run at every size."""
    folder = DATA / name
    meta = json.loads((folder / "meta.json").read_text())
    costs = {str(one): float(cost) for one, cost in zip(meta["fidelities"], meta["costs"], strict=True)}
    if truest_only:
        costs = {one: cost for one, cost in costs.items() if cost == max(costs.values())}
    rows = [row for row in _splits(folder / "samples.csv.gz") if row[2] in costs]
    cells = {(arm, fidelity) for _, arm, fidelity, _ in rows}
    there: dict[str, set[tuple[str, str]]] = {}
    for block, arm, fidelity, _ in rows:
        there.setdefault(block, set()).add((arm, fidelity))
    return [row for row in rows if there[row[0]] == cells], costs, False


def _splits(path: Path) -> Iterator[tuple[str, str, str, float]]:
    with gzip.open(path, "rt") as file:
        for line in csv.DictReader(file):
            yield f"{line['outer_seed']}/{line['inner_seed']}", line["arm"], line["fidelity"], float(line["reward"])


def _shuffled(instance: mf.Instance) -> mf.Instance:
    """The instance with its arms in an order of chance: tables often list the best first."""
    problem, law = instance.problem, instance.law
    assert isinstance(law, mf.BlockTableLaw)
    order = np.random.default_rng(zlib.crc32(instance.name.encode())).permutation(problem.n_arms)
    mixed = mf.Problem(
        [problem.arms[k] for k in order],
        problem.fidelities,
        problem.reward,
        blocks=problem.blocks,
        order=problem.order,
    )
    return mf.Instance(mixed, law=mf.BlockTableLaw(law.values[order]), name=instance.name)


if __name__ == "__main__":
    for each in names():
        print(load(each))
