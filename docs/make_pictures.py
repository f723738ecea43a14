"""Draw the pictures of the documentation: `python docs/make_pictures.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import itertools
from statistics import NormalDist

import numpy as np
from matplotlib import pyplot as plt

import mfbandit as mf

PICTURES = Path(__file__).parent / "pictures"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#999999")


def course() -> None:
    """Intervals shrinking and confidence climbing in one study of the judges."""
    instance = mf.load_instance("judges")
    evaluate = instance.evaluator(seed=3)
    study = mf.create_study(instance.problem, delta=0.05)
    costs, confidences, bounds = [], [], []
    mark = 0.0
    while not study.done:
        for pull in study.ask(20):
            study.tell(pull, evaluate(pull))
        if study.cost >= mark or study.done:
            costs.append(study.cost)
            confidences.append(study.confidence)
            bounds.append(study.intervals())
            mark = study.cost + 0.015
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    ends = {arm: sum(bounds[-1][arm]) / 2 for arm in instance.problem.arms}
    height = -1.0
    for arm in sorted(ends, key=ends.__getitem__):
        colour = COLOURS[instance.problem.arms.index(arm)]
        low = [bound[arm][0] for bound in bounds]
        high = [bound[arm][1] for bound in bounds]
        left.fill_between(costs, low, high, color=colour, alpha=0.10, linewidth=0)
        for edge in (low, high):
            left.plot(costs, edge, color=colour, linewidth=0.8)
        height = max(height + 0.05, ends[arm])
        left.annotate(arm, (costs[-1], height), (6, 0), textcoords="offset points", color=colour, fontsize=8)
    left.set_ylabel("bounds of the true mean")
    right.step(costs, confidences, where="post", color=COLOURS[0], linewidth=1.6)
    right.axhline(0.95, color="black", linewidth=1, linestyle=":")
    right.text(costs[0], 0.96, "wanted: 0.95", fontsize=8, va="bottom")
    right.set_ylim(0, 1.05)
    right.set_ylabel(f"confidence that {study.best} is the best")
    for axes in (left, right):
        axes.set_xlabel("spent, US$")
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    figure.savefig(PICTURES / "course.png", dpi=130)


#: Six prompts, and how often each is right.
PROMPTS = {"step by step": 0.86, "with examples": 0.83, "short": 0.76, "polite": 0.72, "in a table": 0.66, "bare": 0.52}


def race() -> None:
    """Six prompts answer the same questions; each line ends where its prompt is shown not to be the best."""
    rng = np.random.default_rng(4)
    hard = rng.normal(size=600)
    answers = {
        prompt: np.float64(0.85 * hard + 0.53 * rng.normal(size=600) < NormalDist().inv_cdf(chance))
        for prompt, chance in PROMPTS.items()
    }
    problem = mf.Problem(list(PROMPTS), [mf.Fidelity("label", cost=1.0)], blocks=600)
    study = mf.create_study(problem, delta=0.05, epsilon=0.02)
    study.optimize(lambda pull: float(answers[pull.arm][pull.block]), progress=False)
    seen: dict[str, list[float]] = {prompt: [] for prompt in PROMPTS}
    for row in study.to_frame().itertuples():
        seen[row.arm].append(row.reward)
    best, figure = study.best, plt.figure(figsize=(5.6, 3.6), layout="constrained")
    axes, heights = figure.add_subplot(), []
    for colour, prompt in zip((*COLOURS, "#56B4E9"), PROMPTS, strict=True):
        asked = len(seen[prompt])
        shares = np.cumsum(seen[prompt]) / np.arange(1, asked + 1)
        axes.plot(np.arange(8, asked + 1), shares[7:], color=colour, linewidth=3 if prompt == best else 1.6)
        ending = "not 0.02 better" if asked == len(seen[best]) else f"out after {asked}"
        label = f"{prompt}: {'the best' if prompt == best else ending}"
        axes.plot([asked], [shares[-1]], "o", color=colour, markersize=5)
        heights.append((shares[-1], asked, label, colour))
    previous = 0.0
    for height, asked, label, colour in sorted(heights):
        previous = max(height, previous + 0.035)
        axes.annotate(
            label, (asked, previous), (8, 0), textcoords="offset points", color=colour, va="center", fontsize=10
        )
    axes.set_xlim(0, 1.55 * max(len(rewards) for rewards in seen.values()))
    axes.set_ylim(min(height for height, *_ in heights) - 0.08, 1.0)
    axes.set_xlabel("questions graded (the same for all)", fontsize=11)
    axes.set_ylabel("right so far", fontsize=11)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    print(study.result())
    figure.savefig(PICTURES / "race.png", dpi=150)


#: The steps of a reward's way: what is done, where, and what is handed on.
WAY = (
    ("Problem", "model", "arms, fidelities, bounds"),
    ("plan", "algorithms", "rows: arm, fidelity, how many"),
    ("pull", "study", "one evaluation, with its seed"),
    ("reward", "workers", "one number"),
    ("log", "storage", "a record, in order"),
    ("statistics", "core", "counts and sums, by stream"),
    ("evidence", "confidence", "who is shown not to be the best"),
    ("answer", "certificate", "best arm, confidence, proof"),
)


def way_of_a_reward() -> None:
    """The way of a reward through the rooms, in two rows; from the evidence it goes back to the plan."""
    figure, axes = plt.subplots(figsize=(10, 3.9), layout="constrained")
    spots = [(i, 1.0) for i in range(4)] + [(3 - i, 0.0) for i in range(4)]
    for (what, where, handed_on), (x, y) in zip(WAY, spots, strict=True):
        axes.add_patch(plt.Rectangle((x - 0.36, y - 0.26), 0.72, 0.52, facecolor="#E8F1F8", edgecolor=COLOURS[0]))
        axes.text(x, y + 0.12, what, ha="center", va="center", fontsize=13, weight="bold")
        axes.text(x, y - 0.03, f"{where}/", ha="center", va="center", fontsize=10, family="monospace", color=COLOURS[0])
        axes.text(x, y - 0.17, handed_on, ha="center", va="center", fontsize=7.5)
    line = {"arrowstyle": "-|>", "color": "black", "linewidth": 1.3}
    for (x, y), (to_x, to_y) in itertools.pairwise(spots):
        across = 0.37 * (to_x - x)
        down = 0.27 * (to_y - y)
        axes.annotate("", (to_x - across, to_y - down), (x + across, y + down), arrowprops=line)
    back = {**line, "linestyle": "--", "color": COLOURS[1]}
    axes.annotate("", (1.0, 0.73), (1.0, 0.27), arrowprops=back)
    axes.text(1.05, 0.5, "not sure yet: next round", va="center", fontsize=9, color=COLOURS[1])
    axes.set_xlim(-0.45, 3.45)
    axes.set_ylim(-0.35, 1.35)
    axes.axis("off")
    figure.savefig(PICTURES / "way_of_a_reward.png", dpi=130)


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    course()
    race()
    way_of_a_reward()
