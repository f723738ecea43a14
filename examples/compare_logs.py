"""Compare logs
============

Which of three prompts is best, by a log of their scores? Writes such a log, and adds items until it is settled.

The same from a shell: ``mfbandit compare scores.csv``.

In the picture, bars say by how much the best prompt is ahead of each other one, all bounds at once. A bar that reaches
below 0 may stand for a rival that is beaten: bounds of all pairs at once take more evidence than the answer does.
"""

import csv
import random
import tempfile
from pathlib import Path

from matplotlib.figure import Figure

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
        print(f"  ahead of {rival.system!r} by {rival.at_least:+.3f} to {rival.at_most:+.3f}")
    print(found.about_more)


def draw(looks):
    """Draw by how much the best prompt is ahead of the others, at every look."""
    figure = Figure(figsize=(5.6, 2.8), layout="constrained")
    axes = figure.subplots()
    rows = [(f"{found.items} items: {rival.system}", rival) for found in looks for rival in found.rivals][::-1]
    for height, (_, rival) in enumerate(rows):
        settled = rival.at_least > 0.0
        axes.plot([rival.at_least, rival.at_most], [height] * 2, linewidth=5, color="#0072B2" if settled else "#9aa5b1")
    axes.axvline(0.0, color="#333333", linewidth=0.8)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.set_xlabel(f"{looks[-1].best!r} is ahead by (in colour: more than 0)")
    return figure


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "scores.csv"
        write_log(log, 150)
        looks = [compare(log)]
        show(looks[-1])
        while not looks[-1].settled:
            # Looking again after adding items is allowed.
            write_log(log, looks[-1].needed.even or 2 * looks[-1].items)
            looks.append(compare(log))
            show(looks[-1])
    figure = draw(looks)
    figure.savefig("logs.png")
