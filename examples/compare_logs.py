"""Compare logs
============

Which of three prompts is best, by a log of their scores? Writes such a log, and adds items until it is settled.

The same from a shell: ``mfbandit compare scores.csv``.
"""

import csv
import random
import tempfile
from pathlib import Path

from mfbandit.logs import compare

SKILLS = {"short": 0.60, "careful": 0.66, "step by step": 0.72}


def write_log(path, items):
    """Let all prompts answer the same questions, and write down who was right."""
    luck = random.Random(1)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "system", "score"])
        for item in range(items):
            hard = luck.random()
            for name, skill in SKILLS.items():
                writer.writerow([item, name, "C" if skill + luck.uniform(-0.2, 0.2) > hard else "I"])


def show(found):
    """Print what a comparison says."""
    print(found.about_these)
    print(found.about_all)
    for rival in found.rivals:
        print(f"  better than {rival.system!r} by {rival.at_least:+.3f} to {rival.at_most:+.3f}")
    print(found.about_more)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "scores.csv"
        write_log(log, 150)
        found = compare(log)
        show(found)
        while not found.settled:
            # Looking again after adding items is allowed.
            write_log(log, found.needed.even or 2 * found.items)
            found = compare(log)
            show(found)
