"""Our copy of UCB-E beside the package of its authors, on the recorded prompts.

    pip install banditeval
    python benchmarks/ucb_e.py [--runs 100] [prompts_sentiment ...]     # half an hour on one core

`budget.py` runs UCB-E thousands of times, by a copy of the rule that is compiled. This shows that the copy is the rule:
how often the answers of both at 5%, 10%, 15% and 25% of all cells are the best prompt, and how often one within 0.01,
with the largest difference in standard errors. Among 88 comparisons of equal rules one of 3 is seldom seen. The
package finishes a batch that reaches beyond a budget, which is in its favour.
"""

from __future__ import annotations

import argparse
import math

import numpy as np

import mfbandit as mf
from blocks import line
from blocks_data import names
from budget import PARTS, Answers, judged, package_ucb_e, recorded, ucb_e

#: Our copy takes next to no time, so that only the package's answers are uncertain.
TIMES = 20


def apart(package: list[float], copy: list[float], runs: int) -> float:
    """The largest difference of two lists of shares, in standard errors; positive if the package is better."""
    found = 0.0
    for p, q in zip(package, copy, strict=True):
        middle = (p + TIMES * q) / (1 + TIMES)
        error = math.sqrt(middle * (1 - middle) * (1 + 1 / TIMES) / runs)
        if error > 0.0 and abs(p - q) / error > abs(found):
            found = (p - q) / error
    return found


def both(instance: mf.Instance, runs: int, seed: int) -> tuple[Answers, Answers]:
    """Answers of the package and of our copy."""
    assert isinstance(instance.law, mf.BlockTableLaw)
    scores = np.ascontiguousarray(instance.law.values[:, -1])
    truth, budgets = scores.mean(axis=1), np.array([int(part * scores.size) for part in PARTS])
    return (
        judged("package", truth, package_ucb_e(scores, budgets, runs, seed)),
        judged("copy", truth, ucb_e(scores, budgets, TIMES * runs, seed)),
    )


def main() -> None:
    """Print both, and the largest difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", help="names of test sets, instead of all prompts")
    parser.add_argument("--runs", type=int, default=100, help=f"runs of the package (100); of our copy {TIMES} times")
    parser.add_argument("--seed", type=int, default=21)
    given = parser.parse_args()
    widths = [32, 8, *[11] * len(PARTS), 16]
    print(line(["set", "by", *(f"{part:.0%}" for part in PARTS), "standard errors"], widths))
    largest = 0.0
    for instance in recorded(given.sets or [name for name in names() if name.startswith("prompts_")]):
        package, copy = both(instance, given.runs, given.seed)
        off = max(apart(package.right, copy.right, given.runs), apart(package.within, copy.within, given.runs), key=abs)
        largest = max(largest, off, key=abs)
        for one, name, last in ((package, instance.name, f"{off:+.1f}"), (copy, "", "")):
            shares = [f"{p:.2f} / {q:.2f}" for p, q in zip(one.right, one.within, strict=True)]
            print(line([name, one.rule, *shares, last], widths), flush=True)
    print(f"The largest difference of the package and the copy: {largest:+.1f} standard errors.")


if __name__ == "__main__":
    main()
