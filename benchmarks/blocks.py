"""What races on blocks cost, beside a prototype, today's default without blocks, and everything on everything.

    python benchmarks/blocks.py [--runs 200] [--json FILE]     # one to three minutes on one core, most of it compiling

Costs of a finite set are shares of all its cells (1: every arm on every item); those of splits and replications, which
have no end, are evaluations per candidate. "today" is mf-toptwo, whose pulls draw blocks of their own, told the range,
cut off at three times everything; "oracle" is `mf.theory.oracle_race`, which knows the best arm. Delta is 0.05.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mfbandit as mf
from blocks_data import load, names

DELTA = 0.05
TODAY = "mf-toptwo:independent=True"
#: Runs of today's default, which is measured to see how far off it is, not to the last digit.
FEW = 5
#: Most evaluations per candidate where blocks have no end.
CUT = 3_000

#: What the prototype took, exact and within 0.01, as shares of all cells: means of 20 to 60 runs, rounded.
FINITE: dict[str, tuple[float | None, float | None]] = {
    "prompts_antonyms": (0.160, 0.166),
    "prompts_larger_animal": (0.098, 0.098),
    "prompts_letters_list": (0.064, 0.063),
    "prompts_orthography_starts_with": (0.065, 0.064),
    "prompts_rhymes": (0.007, 0.008),
    "prompts_second_word_letter": (0.015, 0.017),
    "prompts_sentence_similarity": (0.066, 0.071),
    "prompts_sentiment": (0.385, 0.401),
    "prompts_taxonomy_animal": (0.103, 0.102),
    "prompts_translation_en-fr": (0.281, 0.288),
    "prompts_word_in_context": (0.039, 0.043),
    "realsumm_abs": (0.524, None),
    "swebench_pro": (0.26, None),
    "wmt21_ted_ende": (0.627, None),
}
#: Epsilon, and what the prototype took with caution 1 and 0, in evaluations per candidate.
NORMAL: dict[str, tuple[float, float | None, float]] = {
    "cv_breast_cancer": (0.01, 19.4, 16.2),
    "lcdb_cmc": (0.02, 17.8, 14.1),
    "lcdb_guillermo": (0.0, 6.8, 5.4),
    "lcdb_higgs": (0.0, 5.8, 5.1),
    "lcdb_kropt": (0.0, 5.5, 5.1),
    "lcdb_letter": (0.0, 6.6, 5.4),
    "lcdb_mfeat-morphological": (0.0, 9.0, 7.3),
    "lcdb_vehicle": (0.0, 9.4, 7.3),
    "simopt_inventory_crn": (0.0, 7.1, 5.5),
}
#: The same for tasks of search_tasks.py, each exact and within epsilon.
SEARCH: dict[str, list[tuple[float, float | None, float]]] = {
    "digits": [(0.0, 10.6, 8.1), (0.01, None, 7.1)],
    "diabetes": [(0.0, 8.1, 6.1), (0.03, None, 5.4)],
}
SPLITS = 300
LANES = {"realsumm_abs": 0.0, "wmt21_ted_ende": 0.0, "cv_breast_cancer": 0.01, "simopt_inventory_crn": 0.0}

Row = dict[str, Any]


@dataclass(frozen=True)
class Race:
    """The runs of a race, in shares of all cells or in evaluations per candidate."""

    cost: float
    most: float
    wrong: int
    unfinished: int


def race(instance: mf.Instance, runs: int, epsilon: float, policy: str = "mf-race", seed: int = 1) -> Race:
    """Run races on one core."""
    whole = everything(instance)
    endless = instance.problem.blocks == "unlimited"
    limit = CUT * whole if endless else None if policy == "mf-race" else 3.0 * whole
    done = mf.simulate(
        instance, policy, delta=DELTA, epsilon=epsilon, trials=runs, seed=seed, max_cost=limit, threads=1
    )
    shares = done.cost / whole
    return Race(float(shares.mean()), float(shares.max()), int(done.wrong.sum()), int((~done.stopped).sum()))


def everything(instance: mf.Instance) -> float:
    """The cost of everything on everything at the truest fidelity; where blocks have no end, of one block."""
    problem = instance.problem
    blocks = 1 if problem.blocks == "unlimited" else int(problem.blocks or 0)
    return float(blocks * problem.costs[:, problem.truest].sum())


def ratio(cost: float, prototype: float | None) -> float | None:
    """How much of the prototype's cost."""
    return None if prototype is None else cost / prototype


def finite(runs: int) -> Iterable[Row]:
    """Test sets: exact and within 0.01."""
    for name in (one for one in names() if one in FINITE):
        instance, figures = load(name), FINITE[name]
        exact, near = (race(instance, runs, epsilon) for epsilon in (0.0, 0.01))
        today = race(instance, FEW, 0.01, TODAY)
        oracles = [
            mf.theory.oracle_race(instance, DELTA, epsilon=epsilon).cost / everything(instance)
            for epsilon in (0.0, 0.01)
        ]
        yield {
            "set": name,
            "K": instance.problem.n_arms,
            "N": instance.problem.blocks,
            "exact": exact.cost,
            "proto": figures[0],
            "ratio": ratio(exact.cost, figures[0]),
            "most": exact.most,
            "oracle": oracles[0],
            "within .01": near.cost,
            "proto ": figures[1],
            "ratio ": ratio(near.cost, figures[1]),
            "oracle ": oracles[1],
            "today": today.cost,
            "wrong": exact.wrong + near.wrong,
        }


def normal(runs: int) -> Iterable[Row]:
    """Splits and replications whose differences are taken for normal: with caution 1, the default, and 0."""
    for name in (one for one in names() if one in NORMAL):
        yield normal_row(load(name), runs, NORMAL[name])
    for instance, figures in searches():
        for one in figures:
            yield normal_row(instance, runs, one)


def normal_row(instance: mf.Instance, runs: int, figures: tuple[float, float | None, float]) -> Row:
    """One set, with the prototype's epsilon and figures."""
    epsilon, cautious, bold = figures
    found = [race(with_reward(instance, mf.Gaussian(caution=caution)), runs, epsilon) for caution in (1.0, 0.0)]
    assert isinstance(instance.law, mf.BlockTableLaw)
    low, high = min(0.0, float(instance.law.values.min())), 1.0
    today = race(with_reward(instance, mf.Bounded(low, high)), FEW, epsilon, TODAY)
    return {
        "set": instance.name,
        "K": instance.problem.n_arms,
        "blocks": instance.law.blocks,
        "epsilon": epsilon,
        "caution 1": found[0].cost,
        "proto": cautious,
        "ratio": ratio(found[0].cost, cautious),
        "caution 0": found[1].cost,
        "proto ": bold,
        "ratio ": ratio(found[1].cost, bold),
        "oracle": mf.theory.oracle_race(instance, DELTA, epsilon=epsilon).cost / everything(instance),
        "today": today.cost,
        "cut off": sum(one.unfinished for one in found),
        "wrong": sum(one.wrong for one in found),
    }


def with_reward(instance: mf.Instance, reward: mf.Gaussian | mf.Bounded) -> mf.Instance:
    """The same recorded rewards, with something else said of them."""
    return mf.Instance(instance.problem.with_reward(reward), law=instance.law, name=instance.name)


def searches() -> Iterable[tuple[mf.Instance, list[tuple[float, float | None, float]]]]:
    """Two tasks of search_tasks.py on splits that all candidates share, at full size."""
    from search_tasks import tasks

    for task in tasks():
        if task.name not in SEARCH:
            continue
        splits = task.splits(SPLITS, seed=987_654)
        scores = [[[task.fit_and_score(one, *split) for split in splits]] for one in task.candidates]
        problem = mf.Problem(len(scores), [("full", 1.0)], mf.Gaussian(), blocks="unlimited")
        yield mf.Instance(problem, law=mf.BlockTableLaw(scores), name=task.name), SEARCH[task.name]


def lanes(runs: int) -> Iterable[Row]:
    """Several fidelities with honest pair biases: those that the set shows, rounded up."""
    for name in (one for one in names() if one in LANES):
        epsilon, instance = LANES[name], rounded_up(load(name, truest_only=False))
        alone, all_lanes = race(load(name), runs, epsilon), race(instance, runs, epsilon)
        finite_set = instance.problem.blocks != "unlimited"
        yield {
            "set": name,
            "lanes": instance.problem.n_fidelities,
            "pair biases": " ".join(f"{one.pair_bias:g}" for one in instance.problem.fidelities),
            "epsilon": epsilon,
            "truest only": alone.cost,
            "all lanes": all_lanes.cost,
            "ratio": all_lanes.cost / alone.cost,
            "most": all_lanes.most if finite_set else None,
            "unit": "of all cells" if finite_set else "per candidate",
            "wrong": alone.wrong + all_lanes.wrong,
        }


def rounded_up(instance: mf.Instance) -> mf.Instance:
    """The instance with pair biases of two digits, none below what the set shows."""
    problem = instance.problem
    fidelities = [
        mf.Fidelity(one.name, one.cost, one.bias, pair_bias=two_digits(one.pair_bias or 0.0))
        for one in problem.fidelities
    ]
    told = mf.Problem(problem.arms, fidelities, problem.reward, blocks=problem.blocks, order=problem.order)
    return mf.Instance(told, law=instance.law, name=instance.name)


def two_digits(value: float) -> float:
    """The least number of two significant digits that is not below a value."""
    if value <= 0.0:
        return 0.0
    digits = 1 - math.floor(math.log10(value))
    return round(math.ceil(value * 10.0**digits) / 10.0**digits, digits)


def speed() -> Row:
    """Races per second on one core, at 10 arms and 500 blocks that arms share half of their luck on."""
    random = np.random.default_rng(1)
    noise = math.sqrt(0.5) * (random.normal(size=500) + random.normal(size=(10, 500)))
    values = (noise + np.linspace(0.6, 0.0, 10)[:, None] > 0.0).astype(float)
    instance = mf.Instance(
        mf.Problem(10, [("right", 1.0)], "bernoulli", blocks=500), law=mf.BlockTableLaw(values[:, None])
    )
    mf.simulate(instance, trials=1, threads=1)
    # Processor time: others may be at work on this machine.
    started = time.process_time()
    runs = mf.simulate(instance, trials=5_000, seed=1, threads=1)
    return {
        "share of cells": float(runs.cost.mean() / everything(instance)),
        "races per second": runs.trials / (time.process_time() - started),
        "wrong": int(runs.wrong.sum()),
    }


def table(title: str, rows: Iterable[Row]) -> list[Row]:
    """Print rows under their names, each as soon as it is there."""
    kept: list[Row] = []
    print(f"\n{title}")
    for row in rows:
        if not kept:
            widths = [32] + [max(len(str(key).strip()), 8) for key in list(row)[1:]]
            widths = [max(width, 22) if key == "pair biases" else width for key, width in zip(row, widths, strict=True)]
            print(line(list(row), widths))
        print(line([shown(value) for value in row.values()], widths), flush=True)
        kept.append(row)
    return kept


def line(words: Sequence[str], widths: Sequence[int]) -> str:
    """Words in columns, the first to the left."""
    first, *others = (f"{word.strip():>{width}}" for word, width in zip(words, widths, strict=True))
    return "  ".join([first.strip().ljust(widths[0]), *others]).rstrip()


def shown(value: Any) -> str:
    """A number with as many digits as say something."""
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) < 3.0 else f"{value:,.1f}"
    return "-" if value is None else str(value)


def median(rows: list[Row], column: str) -> float:
    """The middle of a column."""
    return float(np.median([row[column] for row in rows]))


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="runs of every race (200)")
    parser.add_argument("--json", type=Path, help="write all figures to this file, too")
    arguments = parser.parse_args()
    if not names():
        raise SystemExit("no data: shared/data is not beside the checkout")
    started = time.perf_counter()
    runs = arguments.runs
    found: dict[str, Any] = {
        "runs": runs,
        "finite": table("Finite sets, shares of all K x N cells (everything on everything: 1)", finite(runs)),
        "normal": table("Normal differences, evaluations per candidate", normal(runs)),
        "lanes": table("Lanes: all fidelities with honest pair biases, and the truest alone", lanes(runs)),
        "speed": speed(),
    }
    recorded = [row for row in found["normal"] if row["set"] in NORMAL]
    ratios = [row[key] for row in [*found["finite"], *found["normal"]] for key in ("ratio", "ratio ") if row[key]]
    found["summary"] = {
        "median evaluations, caution 1 (at most 8)": median(recorded, "caution 1"),
        "median evaluations, caution 0 (at most 6)": median(recorded, "caution 0"),
        "mean ratio to the prototype (aim: 0.92)": float(np.mean(ratios)),
        "largest ratio to the prototype (at most 1)": max(ratios),
        "largest share of one race (at most 1)": max(row["most"] for row in found["finite"]),
        "largest share of one race with lanes (at most 1.05)": max(row["most"] or 0.0 for row in found["lanes"]),
        "races per second, K = 10, N = 500 (thousands)": found["speed"]["races per second"],
        "wrong answers": sum(row["wrong"] for part in ("finite", "normal", "lanes") for row in found[part]),
        "seconds": time.perf_counter() - started,
    }
    print()
    for words, value in found["summary"].items():
        print(f"{words:<56} {shown(value):>10}")
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
