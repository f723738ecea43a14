"""Fill the sections of docs/real.md from what the benchmarks on real data wrote; those not given stay as they are.

python benchmarks/real.py --json real.json
python benchmarks/budget.py --json budget.json
python benchmarks/search.py --json search.json
python benchmarks/real_page.py --real real.json --budget budget.json --search search.json
python docs/make_pictures.py                    # the pictures of its tables
"""

from __future__ import annotations

import argparse
import json
import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np

from blocks import CUT, FEW
from budget import CLEAR, PARTS, comparison
from real import short
from real_data import NOISE

DOCS = Path(__file__).resolve().parents[1] / "docs"
INDEPENDENT = """## {sets} recorded data sets

Learning curves, agents, summaries, judges, ads, simulators. A pull draws one row of its arm and fidelity. At delta
= {delta:g}, the default policy gave {wrong} wrong answers in {trials:,} runs.

Where cheap fidelities say much, the default costs a fraction of the truest fidelity alone: on `pandalm_judges`,
language models graded by two judges and by people, it costs {pandalm:.0f} times less. Where they say little, it costs
about the same, and on {more} it costs more.

- "Truest only" is the same policy with the same certificate, on the truest fidelity alone. In brackets, and for A, B
  and C: how many times the default's cost. Below 1 the default costs more.
- The cheapest rival is the cheapest of the paper's Explore-A, -B and -C, of LUCB's other variants, with the paper's
  confidence bounds and with tighter ones, and of IISE. Where those need to know the two best means they were told,
  nearly. Explore-A, -B and -C as the paper has them are in the next column (">": cut off at 20 times the cost, or after
  a million pulls).
- The last column shows how often successive halving was right: first in its standard form, then repeated until it costs
  as much as the default. It gives no guarantee.
- A dagger marks sets with one row per cell, to which the noise was added that `benchmarks/real_data.py` states.
- A star marks a near tie: the gap of the two best is under two standard errors of it. Any arm within a stated epsilon
  of the best is right there, {epsilons}.

| data set | arms, fidelities | default | wrong | truest only | cheapest rival | paper's A, B, C | halving right |
|---|---:|---:|---:|---:|---:|---:|---:|
{rows}
"""

SEARCH = """## Choosing hyperparameters

{tasks}: a grid of candidates each. The truth was measured exhaustively ({repeats} random splits of every candidate).

| task, candidates | method | searches | samples fitted | picked the best | within epsilon | claims |
|---|---|---:|---:|---:|---:|---:|
{searches}

A grid search is cheap and says nothing about its answer: where candidates nearly tie it picks the best one little
more often than chance would among them, and its user cannot know. `MultiFidelitySearchCV` goes on until it is sure
(of an answer within epsilon: 0.01, for diabetes and moons 0.02), or says how sure it is when the money ends. It
compares candidates on the same splits and takes their differences to be normal; "caution=0" trusts fully in that. More
is said [here](scikit_learn.md).
"""

BLOCKS = """## {sets} sets whose arms share questions, splits or random numbers

One question is answered by every prompt, one split is used by every model, one random seed by every design: arms are
compared on the same [blocks](blocks.md), which is what `mf-race` does. It gave {wrong} wrong answers in {runs:,} runs,
at delta = 0.05. The others take rewards for independent, so every pull draws a block of its own. "Default" is
`mf-toptwo`. The cheapest rival is the cheapest of `lucb-top` and `lucb-c` with the tightest bounds, and `iise`. A ">"
marks costs of runs that were cut off, at three times everything or at {cut:,} evaluations per candidate ({few} runs
each). In brackets: how many times the race's cost.

Test sets are finite. Costs are parts of all cells: 1 is every arm on every item. An answer within 0.01 is right.

| data set | arms | items | race | wrong | everything | default | cheapest rival |
|---|---:|---:|---:|---:|---:|---:|---:|
{finite}

{cheaper}Splits and replications have no end. Costs are evaluations per candidate; "everything" is all that were
recorded. The race takes differences to be normal, with unknown variance (`caution=1`); the others are told the range.

| data set | arms | epsilon | race | wrong | everything | default | cheapest rival |
|---|---:|---:|---:|---:|---:|---:|---:|
{endless}
"""

BUDGET = """## When the money ends before the certificate

If you cannot pay for a certificate, say what you can pay (`max_cost`). While the certificate is out of reach, `mf-race`
measures whoever matters for the answer, and `result.confidence` says how sure it is. The table shows how often the
answer is the best arm / within 0.01 of it ({runs} runs each, `benchmarks/budget.py`).

- *Limit told*: a race with `max_cost`. *Looked at*: the answer so far of a race that was told of no limit.
- UCB-E (Zhou et al., ICLR 2025): a compiled copy of the rule of the package banditeval, with its defaults. The package
  itself was run beside it (`benchmarks/ucb_e.py`), 100 times on prompts_antonyms and 12 times on the ten other
  sets of prompts: no share differs by more than 2 standard errors.
- Successive rejects (Audibert, Bubeck and Munos, COLT 2010): all arms on the same items. It must know its budget.

The last two claim nothing, and do not say when the budget is enough. The last column is what the certificate of the
race costs without a limit, as a part of all cells, and how many certified answers were wrong (5% are allowed).

![The share of right answers against the share of cells](pictures/budget.png)

| data set | rule | {parts} | certificate, wrong |
|---|---|{lines}---:|
{rows}

{verdict}
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


def priced_race(found: dict[str, Any], own: float) -> str:
    """A cost on a set with blocks, and how many times the race's it is."""
    mark = ">" if found["unfinished"] else ""
    return f"{mark}{number(found['cost'])} ({mark}{found['cost'] / own:.3g})"


def block_row(one: dict[str, Any]) -> str:
    """One set with blocks."""
    own, second = one["race"]["cost"], one["blocks"] if one["finite"] else f"{one['epsilon']:g}"
    return (
        f"| {one['set']} | {one['arms']} | {second} | **{number(own)}** | {one['race']['wrong']}/{one['runs']} "
        f"| {one['everything']:g} ({one['everything'] / own:.3g}) | {priced_race(one['default'], own)} "
        f"| {priced_race(one['rival_cost'], own)} `{one['rival']}` |"
    )


def budget_rows(one: dict[str, Any]) -> list[str]:
    """One set at all budgets, a line for each rule."""
    lines = []
    for i, row in enumerate(one["answers"]):
        shares = " | ".join(f"{p:.2f} / {q:.2f}" for p, q in zip(row["right"], row["within"], strict=True))
        name = f"{one['set']}, {one['arms']} x {one['items']}" if i == 0 else ""
        last = f"{one['cost']:.3f}, {one['wrong']}/{one['runs']}" if i == 0 else ""
        lines.append(f"| {name} | {row['rule']} | {shares} | {last} |")
    return lines


def cheaper_default(found: list[dict[str, Any]]) -> str:
    """Says where the default is cheaper than the race, if it is anywhere."""
    sets = [f"`{one['set']}`" for one in found if one["default"]["cost"] < one["race"]["cost"]]
    if not sets:
        return ""
    return f"On {', '.join(sets)} the default is cheaper: where the best is far ahead, few pulls do.\n\n"


def blocks_section(found: list[dict[str, Any]]) -> str:
    """The sets with blocks."""
    return BLOCKS.format(
        sets=len(found),
        wrong=sum(one["race"]["wrong"] for one in found),
        runs=sum(one["runs"] for one in found),
        few=FEW,
        cut=CUT,
        cheaper=cheaper_default([one for one in found if one["finite"]]),
        finite="\n".join(block_row(one) for one in found if one["finite"]),
        endless="\n".join(block_row(one) for one in found if not one["finite"]),
    )


def budget_section(found: list[dict[str, Any]]) -> str:
    """Answers before the certificate."""
    behind = [f"{one['set']}, {words}" for one in found for words in comparison(one).behind()]
    return BUDGET.format(
        runs=found[0]["runs"],
        parts=" | ".join(f"{part:.0%}" for part in PARTS),
        lines="---:|" * len(PARTS),
        rows="\n".join(line for one in found for line in budget_rows(one)),
        verdict=f"Where UCB-E or successive rejects is clearly better than the race with a limit, by {CLEAR:g} "
        f"standard errors: {'; '.join(behind) or 'nowhere'}.",
    )


def independent_section(real: list[dict[str, Any]]) -> str:
    """The sets whose rewards are drawn independently."""
    defaults = [one["rows"][0] for one in real]
    return INDEPENDENT.format(
        sets=len(real),
        delta=real[0]["delta"],
        wrong=sum(row["wrong"] for row in defaults),
        trials=sum(row["trials"] for row in defaults),
        rows="\n".join(real_row(one) for one in real),
        epsilons=", ".join(f"{one['epsilon']:g} for `{one['set']}`" for one in real if one["epsilon"]),
        more=", ".join(f"`{one['set']}`" for one in real if one["over_truest"] > 1.0),
        pandalm=next(1 / one["over_truest"] for one in real if one["set"] == "pandalm_judges"),
    )


def search_section(search: list[dict[str, Any]]) -> str:
    """Searches for hyperparameters."""
    return SEARCH.format(
        tasks=", ".join(one["task"] for one in search),
        repeats=search[0]["repeats"],
        searches="\n".join(line for one in search for line in search_rows(one)),
    )


def with_section(page: str, name: str, text: str) -> str:
    """The page with another text between the two comments that name a section."""
    pattern = re.compile(rf"(<!-- {name}: .*? -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    if not pattern.search(page):
        raise SystemExit(f"docs/real.md has no section called {name!r}")
    return pattern.sub(lambda match: match[1] + text + match[2], page)


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("real", "budget", "search"):
        parser.add_argument(f"--{name}", type=Path, help=f"what {name}.py wrote")
    given = {name: json.loads(path.read_text()) for name, path in vars(parser.parse_args()).items() if path}
    page = (DOCS / "real.md").read_text()
    real = given.get("real", {})
    if real.get("sets"):
        page = with_section(page, "independent", independent_section(real["sets"]))
    if real.get("blocks"):
        page = with_section(page, "blocks", blocks_section(real["blocks"]))
    if "budget" in given:
        page = with_section(page, "budget", budget_section(given["budget"]))
    if "search" in given:
        page = with_section(page, "search", search_section(given["search"]))
    wrapped = runpy.run_path(str(DOCS / "wrap_prose.py"))["wrapped"]
    (DOCS / "real.md").write_text(wrapped(page))


if __name__ == "__main__":
    main()
