"""The answer of a race before its certificate, beside UCB-E at the same price.

    python benchmarks/blocks_anytime.py --runs 400

UCB-E, the usual choice for evaluating prompts on a fixed set of items with a fixed budget, measures the arm with the
highest mean + sqrt(1 / n) on 32 items that it has not seen, and answers with the highest mean. For each set: how often
the answer at 5%, 10%, 15% and 25% of all cells was the best arm, and how often one within 0.01 of it.
"""

from __future__ import annotations

import argparse

import numba
import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

import mfbandit as mf
from blocks_data import load, names

PARTS = (0.05, 0.1, 0.15, 0.25)
#: How many items UCB-E measures at a time.
BATCH = 32

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@numba.njit
def ucb_e(scores: Floats, budgets: Ints, runs: int, seed: int) -> Ints:
    """Answers of UCB-E, (runs, budgets)."""
    np.random.seed(seed)
    arms, items = scores.shape
    answers = np.zeros((runs, len(budgets)), dtype=np.int64)
    for run in range(runs):
        order = np.empty((arms, items), dtype=np.int64)
        for arm in range(arms):
            order[arm] = np.random.permutation(items)
        seen, sums, spent = np.zeros(arms, dtype=np.int64), np.zeros(arms), 0
        for mark in range(len(budgets)):
            while spent < budgets[mark]:
                index = np.where(seen > 0, sums / np.maximum(seen, 1) + np.sqrt(1.0 / np.maximum(seen, 1)), np.inf)
                index = np.where(seen == items, -np.inf, index)
                arm = np.argmax(index)
                for _ in range(min(BATCH, items - seen[arm], budgets[mark] - spent)):
                    sums[arm] += scores[arm, order[arm, seen[arm]]]
                    seen[arm] += 1
                    spent += 1
            answers[run, mark] = np.argmax(np.where(seen > 0, sums / np.maximum(seen, 1), -np.inf))
    return answers


def shares(truth: Floats, answers: Ints) -> str:
    """How often answers at a budget were right, and how often within 0.01."""
    regret = truth.max() - truth[answers]
    return f"{np.mean(regret <= 1e-12):.3f} / {np.mean(regret <= 0.01 + 1e-12):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("sets", nargs="*")
    given = parser.parse_args()
    table = Table("set", "who", *(f"{part:.0%}" for part in PARTS), title="right / within 0.01, at a part of all cells")
    for name in given.sets or names():
        instance = load(name)
        if not isinstance(instance.problem.blocks, int):
            continue
        scores = np.array(instance.law.values[:, -1])
        budgets = np.array([int(part * scores.size) for part in PARTS])
        price = instance.problem.fidelities[-1].cost
        runs = mf.simulate(
            instance, trials=given.runs, seed=given.seed, marks=[float(price * budget) for budget in budgets]
        )
        truth = scores.mean(axis=1)
        theirs = ucb_e(scores, budgets, given.runs, given.seed)
        table.add_row(name, "mf-race", *(shares(truth, runs.mark_best[:, i]) for i in range(len(PARTS))))
        table.add_row("", "UCB-E", *(shares(truth, theirs[:, i]) for i in range(len(PARTS))), end_section=True)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
