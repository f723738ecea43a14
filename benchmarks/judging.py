"""What `Judging` asks for: true labels on recorded prompt tables, labels where answers are known, and errors of gates.

    python benchmarks/judging.py [--runs 5] [--sets 20] [--gates 400]      # some minutes on one core

1. Prompt tables with true labels only, through the door: shares of all cells, beside those of a prototype.
2. Simulated sets of questions whose answers are recorded: what has to be labelled if every answer is graded, if equal
   answers share a grade and need none where all candidates left agree, and if a label serves all answers to a question.
3. Gates (`Judging.compare`) near the edge of the margin: how often a verdict is wrong, and what it costs.

Delta is 0.05 in 1 and 2, and 0.1 in 3.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

import mfbandit as mf
from blocks import FINITE, line, shown
from blocks_data import load, names
from mfbandit.judges import Grader, Judging

DELTA = 0.05
GATE_DELTA = 0.1
#: Candidates, questions, and how many wrong answers to a question are common.
SIZES = [(6, 200, 3), (10, 500, 3), (20, 500, 3), (20, 1000, 1), (40, 500, 2)]

Row = dict[str, Any]


def tables(runs: int) -> Iterable[Row]:
    """Prompt tables, graded by their true labels."""
    for name in (one for one in names() if one.startswith("prompts_") and one in FINITE):
        instance = load(name)
        law: Any = instance.law
        values = law.values[:, instance.problem.truest, :]
        arms, items = values.shape
        simulated = mf.simulate(instance, trials=200, delta=DELTA, seed=7, threads=1)
        pulls, wrong = [], 0
        for seed in range(runs):
            label = Grader("label", lambda arm, item, values=values: float(values[arm, item]), price=1.0)
            candidates = {f"prompt {k}": k for k in range(arms)}
            judging = Judging(candidates, range(items), [label], reward="bernoulli")
            result = judging.identify(delta=DELTA, seed=1000 + seed, progress=False)
            pulls.append(result.cost)
            means = values.mean(axis=1)
            wrong += means[candidates[result.best or ""]] < means.max()
        prototype = FINITE[name][0] or math.nan
        share = float(simulated.cost.mean()) / (arms * items)
        yield {
            "set": name,
            "K": arms,
            "N": items,
            "door": float(np.mean(pulls)) / (arms * items),
            "simulated": share,
            "prototype": prototype,
            "ratio": share / prototype,
            "wrong": wrong + int(simulated.wrong.sum()),
        }


class Exam:
    """Questions that candidates answer rightly or by one of few common mistakes; hard ones are hard for everybody."""

    def __init__(self, seed: int, candidates: int, items: int, mistakes: int) -> None:
        random = np.random.default_rng(seed)
        skill = np.sort(random.normal(0.8, 0.6, candidates))[::-1]
        skill[0] += 0.25
        hardness = random.normal(0.0, 1.5, items)
        noise = random.normal(0.0, 0.8, (candidates, items))
        right = skill[:, None] + noise > hardness
        self.answers = np.where(right, 0, 1 + random.integers(0, mistakes, right.shape))
        self.scores = right.astype(float)

    def judging(self, **settings: Any) -> Judging:
        """The exam as a judging, with people who know the answers."""
        people = Grader("people", lambda answer, item: float(answer == 0), price=1.0, **settings.pop("grader", {}))
        candidates = {f"candidate {k}": k for k in range(len(self.answers))}
        return Judging(
            candidates,
            range(self.answers.shape[1]),
            [people],
            respond=lambda candidate, item: int(self.answers[candidate, item]),
            reward="bernoulli",
            **settings,
        )


def exams(sets: int) -> Iterable[Row]:
    """Sets whose answers are recorded, so that equal ones are known."""
    ways: dict[str, dict[str, Any]] = {
        "every answer": {"same": None},
        "equal once": {},
        "per item": {"same": None, "grader": {"per_item": True}},
        "both": {"grader": {"per_item": True}},
    }
    for size in SIZES:
        labels: dict[str, list[float]] = {way: [] for way in ways}
        wrong = 0
        for seed in range(sets):
            exam = Exam(90_000 + seed, *size)
            means = exam.scores.mean(axis=1)
            for way, settings in ways.items():
                judging = exam.judging(**dict(settings))
                result = judging.identify(delta=DELTA, seed=seed, progress=False)
                labels[way].append(judging.bill().graders[0].paid)
                wrong += means[judging.candidates[result.best or ""]] < means.max()
        every = float(np.mean(labels["every answer"]))
        yield {
            "candidates, questions, mistakes": ", ".join(map(str, size)),
            **{way: float(np.mean(counts)) for way, counts in labels.items()},
            "share of cells": every / (size[0] * size[1]),
            "equal / every": float(np.mean(labels["equal once"])) / every,
            "both / every": float(np.mean(labels["both"])) / every,
            "wrong": wrong,
        }


def gates(count: int) -> Iterable[Row]:
    """Gates whose new candidate is as much worse as it may be, a little more, or a little less."""
    margin, items = 0.05, 200
    for edge in (0.02, 0.0, -0.05, -0.06, -0.1, -0.2):
        wrong, open_still, cost = 0, 0, []
        for seed in range(count):
            random = np.random.default_rng((seed, 1000 + int(1000 * edge)))
            common = random.random(items)
            own = random.random((2, items))
            luck = np.where(random.random(items) < 0.5, common, own)
            scores = (luck < np.array([[0.75], [0.75 + edge]])).astype(float)
            grader = Grader("label", lambda arm, item, scores=scores: float(scores[arm, item]), price=1.0)
            judging = Judging({"old": 0, "new": 1}, range(items), [grader], reward="bernoulli")
            gate = judging.compare("new", "old", margin, delta=GATE_DELTA, seed=seed, progress=False)
            true = "not worse" if scores[1].sum() - scores[0].sum() >= -margin * items - 1e-9 else "worse"
            wrong += gate.verdict != true
            open_still += gate.verdict == "undecided"
            cost.append(gate.cost)
        yield {
            "new - old": f"{edge:+.2f} (margin {margin:g})",
            "gates": count,
            "wrong": wrong,
            "share wrong": wrong / count,
            "undecided": open_still,
            "share of cells": float(np.mean(cost)) / (2 * items),
        }


def table(title: str, rows: Iterable[Row]) -> list[Row]:
    """Print rows under their names, each as soon as it is there."""
    kept: list[Row] = []
    print(f"\n{title}")
    for row in rows:
        if not kept:
            widths = [34] + [max(len(key), 8) for key in list(row)[1:]]
            print(line(list(row), widths))
        print(line([shown(value) for value in row.values()], widths), flush=True)
        kept.append(row)
    return kept


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="runs through the door on each recorded table (5)")
    parser.add_argument("--sets", type=int, default=20, help="simulated sets of each size (20)")
    parser.add_argument("--gates", type=int, default=400, help="gates of each kind (400)")
    arguments = parser.parse_args()
    started = time.perf_counter()
    if names():
        table("Prompt tables, true labels only, shares of all cells", tables(arguments.runs))
    table("Recorded answers: labels that people give", exams(arguments.sets))
    table(f"Gates at delta {GATE_DELTA:g}", gates(arguments.gates))
    print(f"\n{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
