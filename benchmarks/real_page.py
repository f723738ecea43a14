"""Make the page docs/real.md from what the benchmarks on real data wrote.

python benchmarks/real.py --json real.json
python benchmarks/search.py --json search.json
python benchmarks/real_page.py real.json search.json > docs/real.md
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from real import short
from real_data import NOISE

PAGE = """# On real data

What it costs to find the best arm on recorded data, and to choose hyperparameters. Both tables are made by
benchmarks that anybody can run again (`benchmarks/real.py`, `benchmarks/search.py`); the data of the first are not
part of this project.

## {sets} recorded data sets

Learning curves, agents, summaries, judges, ads, simulators. A pull draws one row of its arm and fidelity. At delta
= {delta:g}, the default policy gave {wrong} wrong answers in {trials:,} runs. "Truest only" is the same policy with
the same certificate, on the truest fidelity alone. The cheapest rival is the cheapest of the paper's Explore-A, -B
and -C and of LUCB's other variants, with the paper's confidence bounds and with tighter ones, and of IISE; where
those need to know the two best means they were told, nearly. Explore-A, -B and -C as the paper has them are in the
next column (">": cut off at 20 times the cost, or after a million pulls). Successive halving promises
nothing: the share of its answers that were right, as it is, and repeated until it costs what the default does.

| data set | arms, fidelities | default | wrong | truest only | cheapest rival | paper's A, B, C | halving right |
|---|---:|---:|---:|---:|---:|---:|---:|
{rows}

In brackets, and for A, B and C: how many times the default's cost. A dagger marks sets with one row per cell, to
which the noise was added that `benchmarks/real_data.py` states. A star marks a near tie (the gap of the two best is
under two standard errors of it): any arm within a stated epsilon of the best is right there, {epsilons}.

Where the cheap fidelities say little, as in {useless}, the default costs about what the truest fidelity alone does.
Where they say much, it costs a fraction: on `pandalm_judges`, language models graded by two judges and by people,
{pandalm:.0f} times less.

## Choosing hyperparameters

Three data sets that come with scikit-learn, a grid of candidates each. The truth was measured exhaustively
({repeats} random splits of every candidate).

| task, candidates | method | searches | samples fitted | picked the best | within epsilon | claims |
|---|---|---:|---:|---:|---:|---:|
{searches}

A grid search is cheap and says nothing about its answer: where candidates nearly tie it picks the best one little
more often than chance would among them, and its user cannot know. `MultiFidelitySearchCV` goes on until it is sure
(of an answer within epsilon: 0.01, for diabetes 0.03), or says how sure it is when the money ends. It
compares candidates on the same splits and takes their differences to be normal; "caution=0" trusts fully in that, and
"range alone" (`score_range=(0, 1)`) assumes nothing but the range of scores.
"""


def number(x: float) -> str:
    """Four digits, with commas for thousands."""
    return f"{x:,.0f}" if x >= 1000 else f"{x:.4g}"


def priced(row: dict[str, Any], default: float) -> str:
    """A cost, and how many times the default's it is."""
    mark = "" if row["stopped"] == 1.0 else ">"
    return f"{mark}{number(row['mean_cost'])} ({times(row, default)})"


def times(row: dict[str, Any], default: float) -> str:
    """How many times the default's cost, marked where runs were cut short."""
    return ("" if row["stopped"] == 1.0 else ">") + f"{row['mean_cost'] / default:.3g}"


def real_row(one: dict[str, Any]) -> str:
    """One data set."""
    default, truest, *others = one["rows"]
    cost = default["mean_cost"]
    name = one["rival"].lstrip(">")
    rival = next(row for row in others if short(row["policy"]) == short(name))
    paper = " / ".join(times(row, cost) for row in others[:3])
    halving = [row for row in others if row["policy"].startswith("successive")]
    right = " / ".join(f"{1 - row['wrong'] / row['trials']:.2f}" for row in halving)
    marks = ("*" if one["epsilon"] else "") + ("†" if one["set"] in NOISE else "")
    return (
        f"| {one['set']}{marks} | {one['arms']}, {one['fidelities']} | {number(cost)} "
        f"| {default['wrong']}/{default['trials']:,} | {priced(truest, cost)} | {priced(rival, cost)} `{short(name)}` "
        f"| {paper} | {right} |"
    )


def search_rows(one: dict[str, Any]) -> list[str]:
    """One task."""
    lines = []
    for row in one["rows"]:
        found = row["found"]
        claims = [each["confidence"] for each in found if each["confidence"] is not None]
        name = row["method"]
        method = f"`MultiFidelitySearchCV`, {name.strip()}" if name.startswith(" ") else name
        lines.append(
            f"| {one['task']}, {len(one['truth']['scores'])} | {f'`{method}`' if method.endswith('CV') else method} "
            f"| {len(found)} | {np.mean([each['samples'] for each in found]):,.0f} | {row['best'] / len(found):.0%} "
            f"| {row['within'] / len(found):.0%} | {f'{np.mean(claims):.3f}' if claims else 'nothing'} |"
        )
    return lines


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("real", type=Path)
    parser.add_argument("search", type=Path)
    arguments = parser.parse_args()
    real, search = (json.loads(path.read_text()) for path in (arguments.real, arguments.search))
    defaults = [one["rows"][0] for one in real]
    print(
        PAGE.format(
            sets=len(real),
            delta=real[0]["delta"],
            wrong=sum(row["wrong"] for row in defaults),
            trials=sum(row["trials"] for row in defaults),
            rows="\n".join(real_row(one) for one in real),
            epsilons=", ".join(f"{one['epsilon']:g} for `{one['set']}`" for one in real if one["epsilon"]),
            useless=", ".join(f"`{one['set']}`" for one in real if one["over_truest"] > 0.95),
            pandalm=next(1 / one["over_truest"] for one in real if one["set"] == "pandalm_judges"),
            repeats=search[0]["repeats"],
            searches="\n".join(line for one in search for line in search_rows(one)),
        ),
        end="",
    )


if __name__ == "__main__":
    main()
