"""What no planner can do better: the least cost of keeping W workers busy while results count in the order of asking.

    python benchmarks/width_limit.py                  # 8 and 64 workers, lognormal durations (sigma 1)
    python benchmarks/width_limit.py --workers 16 --sigma 0.5

A planner that knows all rewards beforehand asks for exactly the pulls that one worker would make, n of them. The answer
is there when all n have come back, since a result counts only after all that were asked for before it: else slow
answers that are bad answers would be left out. Until then workers go on with pulls that turn out not to be needed.
"window" is by how many pulls per worker the fastest may run ahead of the slowest. For each window and length of a run
the table has the share of busy worker time, and the cost beside one worker's: both are bounds for every real planner.
"""

from __future__ import annotations

import argparse
import heapq

import numpy as np

#: Pulls per worker that the fastest may be ahead, and that one worker needs for the answer.
WINDOWS = (1, 2, 3, 4, 6, 8, 12)
LENGTHS = (20, 30, 45, 70, 150, 400)
#: A table of a run has so many pulls in all its repetitions at least.
PULLS = 1_000_000


def run(needed: int, workers: int, window: int, sigma: float, rng: np.random.Generator) -> tuple[float, float]:
    """One run: the share of busy worker time until the answer, and the pulls begun beside those needed."""
    free = [0.0] * workers
    # When the first i pulls have all come back.
    back = [0.0]
    begun: list[tuple[float, float]] = []
    while True:
        number = len(begun)
        start = max(heapq.heappop(free), back[max(0, number + 1 - window)])
        if number >= needed and start >= back[needed]:
            break
        end = start + rng.lognormal(-0.5 * sigma * sigma, sigma)
        begun.append((start, end))
        back.append(max(back[-1], end))
        heapq.heappush(free, end)
    answer = back[needed]
    busy = sum(min(end, answer) - start for start, end in begun)
    return busy / (workers * answer), (len(begun) - needed) / needed


def main() -> None:
    """Print a table for each number of workers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[8, 64])
    parser.add_argument("--sigma", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    for workers in given.workers:
        print(f"{workers} workers, lognormal durations with sigma {given.sigma:g}: busy / cost\n")
        print("| pulls per worker |" + "".join(f" window {window} |" for window in WINDOWS))
        print("| ---: |" + " --- |" * len(WINDOWS))
        for length in LENGTHS:
            needed, row = length * workers, f"| {length} |"
            for window in WINDOWS:
                rng = np.random.default_rng([given.seed, workers, length, window])
                times = max(5, PULLS // (needed * len(WINDOWS)))
                runs = [run(needed, workers, window * workers, given.sigma, rng) for _ in range(times)]
                busy, more = np.mean(runs, axis=0)
                row += f" {busy:.2f} / {1.0 + more:.3f} |"
            print(row, flush=True)
        print()


if __name__ == "__main__":
    main()
