"""How long a study takes to decide: seconds per ask and per pull over a whole run of the default policy.

    python benchmarks/ask.py [instance ...]

The policy runs as plain Python at first and compiled once the study has grown; the machine code is on disk after
the first run, so run it twice.
"""

from __future__ import annotations

import sys
import time
import warnings

import mfbandit as mf


def main() -> None:
    """Print one line per instance."""
    warnings.simplefilter("ignore", mf.errors.ModelWarning)
    for name in sys.argv[1:] or ["figure-1a", "figure-1b", "poiani-4x5"]:
        instance = mf.load_instance(name)
        evaluate = instance.evaluator(seed=1)
        study = mf.create_study(instance.problem, delta=0.05)
        asked, seconds, told, pulls = 0, 0.0, 0.0, 0
        while True:
            started = time.perf_counter()
            batch = study.ask(1)
            seconds += time.perf_counter() - started
            asked += 1
            if not batch:
                break
            for pull in batch:
                reward = evaluate(pull)
                started = time.perf_counter()
                study.tell(pull, reward)
                told += time.perf_counter() - started
                pulls += 1
        print(
            f"{name:<12} {pulls:>7} pulls, {asked:>7} asks, {1e3 * seconds / asked:.3f} ms per ask, "
            f"{1e3 * told / pulls:.3f} ms per tell, answer {study.best!r}"
        )


if __name__ == "__main__":
    main()
