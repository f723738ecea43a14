"""Draw the pictures of the documentation: `python docs/make_pictures.py`.

Every picture is meant to be read at 400 pixels: narrow, panels below each other, no letter smaller than 10 points. The
colours are those of Okabe and Ito, which the colour-blind tell apart. An open marker with an arrow is a run that was
cut off. Pictures of measurements are drawn from the tables of the pages, so that the two agree.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import itertools
import re
from statistics import NormalDist

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.ticker import PercentFormatter

import mfbandit as mf
from mfbandit.plots import cost_against_delta

DOCS = Path(__file__).parent
PICTURES = DOCS / "pictures"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#333333")
WIDTH = 5.6
plt.rcParams.update({"font.size": 11, "axes.spines.top": False, "axes.spines.right": False, "savefig.dpi": 150})


def course() -> None:
    """Bounds that close in, and the confidence, which may fall on its way up, in one study of the judges."""
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
    figure, (above, below) = plt.subplots(2, 1, figsize=(WIDTH, 6.4), sharex=True, layout="constrained")
    ends = {arm: sum(bounds[-1][arm]) / 2 for arm in instance.problem.arms}
    height = -1.0
    for arm in sorted(ends, key=ends.__getitem__):
        colour = COLOURS[instance.problem.arms.index(arm)]
        low = [bound[arm][0] for bound in bounds]
        high = [bound[arm][1] for bound in bounds]
        if arm == study.best:
            above.fill_between(costs, low, high, color=colour, alpha=0.15, linewidth=0)
        for edge, line in ((low, "-"), (high, "--")):
            above.plot(costs, edge, line, color=colour, linewidth=2.2 if arm == study.best else 1.3)
        height = max(height + 0.08, ends[arm])
        above.annotate(arm, (costs[-1], height), (6, 0), textcoords="offset points", color=colour, fontsize=10)
    above.set_ylabel("true mean: at least (—), at most (- -)")
    below.step(costs, confidences, where="post", color=COLOURS[0], linewidth=2)
    below.axhline(0.95, color="black", linewidth=1, linestyle=":")
    below.text(costs[0], 0.94, "wanted: 0.95", va="top")
    below.set_ylim(0, 1.05)
    below.set_ylabel("confidence in the leader")
    below.set_xlabel("spent, US$")
    figure.savefig(PICTURES / "course.png")


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
    best, figure = study.best, plt.figure(figsize=(WIDTH, 3.6), layout="constrained")
    axes, heights = figure.add_subplot(), []
    for colour, prompt in zip((*COLOURS, "#56B4E9"), PROMPTS, strict=True):
        asked = len(seen[prompt])
        shares = np.cumsum(seen[prompt]) / np.arange(1, asked + 1)
        axes.plot(np.arange(8, asked + 1), shares[7:], color=colour, linewidth=3 if prompt == best else 1.6)
        ending = "at most 0.02 better" if asked == len(seen[best]) else f"out after {asked}"
        label = f"{prompt}: {'the answer' if prompt == best else ending}"
        axes.plot([asked], [shares[-1]], "o", color=colour, markersize=5)
        heights.append((shares[-1], asked, label, colour))
    previous = 0.0
    for height, asked, label, colour in sorted(heights):
        previous = max(height, previous + 0.035)
        # What ends far to the right has its words above or below its line.
        far = asked > 300
        start, place = (600, (0, 12 if label.endswith("answer") else -15)) if far else (asked, (8, 0))
        words = {"color": colour, "va": "center", "ha": "right" if far else "left", "fontsize": 10}
        axes.annotate(label, (start, previous), place, textcoords="offset points", **words)
    axes.set_xlim(0, 600)
    axes.set_ylim(min(height for height, *_ in heights) - 0.08, 1.0)
    axes.set_xlabel("questions graded, of 600 (the same for all)")
    axes.set_ylabel("share of right answers so far")
    print(study.result())
    figure.savefig(PICTURES / "race.png")


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
    """The way of a reward through the rooms, down on the left and up on the right; not sure, it begins anew."""
    figure, axes = plt.subplots(figsize=(WIDTH, 6.0), layout="constrained")
    spots = [(0.0, 3.0 - i) for i in range(4)] + [(1.0, float(i)) for i in range(4)]
    for (what, where, handed_on), (x, y) in zip(WAY, spots, strict=True):
        axes.add_patch(plt.Rectangle((x - 0.42, y - 0.33), 0.84, 0.66, facecolor="#E8F1F8", edgecolor=COLOURS[0]))
        axes.text(x, y + 0.19, what, ha="center", va="center", fontsize=13, weight="bold")
        axes.text(x, y - 0.01, f"{where}/", ha="center", va="center", family="monospace", color=COLOURS[0])
        axes.text(x, y - 0.21, handed_on, ha="center", va="center", fontsize=10)
    line = {"arrowstyle": "-|>", "color": "black", "linewidth": 1.3}
    for (x, y), (to_x, to_y) in itertools.pairwise(spots):
        across, down = 0.42 * (to_x - x), 0.33 * (to_y - y)
        axes.annotate("", (to_x - across, to_y - down), (x + across, y + down), arrowprops=line)
    back = {**line, "linestyle": "--", "color": COLOURS[1]}
    axes.annotate("", (0.42, 2.0), (0.58, 2.0), arrowprops=back)
    axes.text(0.5, 2.5, "not sure yet:\nnext round", ha="center", va="center", fontsize=10, color=COLOURS[1])
    axes.set_xlim(-0.45, 1.45)
    axes.set_ylim(-0.38, 3.38)
    axes.axis("off")
    figure.savefig(PICTURES / "way_of_a_reward.png")


#: What is shown of the table of costs: its column, a name, a marker, a colour.
COSTS = (
    (2, "the paper's best of A, B, C", "s", COLOURS[1]),
    (3, "MF-GRAD (unproven)", "^", COLOURS[2]),
    (4, "mf-toptwo, truest only", "D", COLOURS[4]),
    (5, "mf-toptwo, the default", "o", COLOURS[0]),
)


def table(page: str, after: str) -> list[list[str]]:
    """The cells of the first table of a page after some words, without its head."""
    lines = (DOCS / page).read_text(encoding="utf-8").partition(after)[2].splitlines()
    rows = itertools.takewhile(
        lambda line: line.startswith("|"), itertools.dropwhile(lambda line: not line.startswith("|"), lines)
    )
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in rows][2:]


def cost() -> None:
    """Cost over the limit, a line for each instance of the table in certificates.md."""
    rows = table("certificates.md", "<!-- cost table -->")[::-1]
    figure, axes = plt.subplots(figsize=(WIDTH, 0.42 * len(rows) + 1.9), layout="constrained")
    for height, cells in enumerate(rows):
        axes.axhline(height, color="#eeeeee", linewidth=1, zorder=0)
        for column, _, marker, colour in COSTS:
            times = float(re.search(r"\(\**([\d.,]+)\D*\)", cells[column])[1].replace(",", ""))  # type: ignore[index]
            cut_off = cells[column].startswith(">")
            axes.plot(times, height, marker, color=colour, markerfacecolor="white" if cut_off else colour, markersize=8)
            if cut_off:
                arrow = {"arrowstyle": "->", "color": colour}
                axes.annotate("", (1.5 * times, height), (1.1 * times, height), arrowprops=arrow)
    for _, name, marker, colour in COSTS:
        axes.plot([], [], marker, color=colour, markersize=8, label=name)
    axes.plot([], [], "o", color="black", markerfacecolor="white", markersize=8, label="cut off: costs more")
    axes.axvline(1.0, color="black", linewidth=1.2)
    axes.text(1.05, len(rows) - 0.5, "limit", va="bottom")
    axes.set_xscale("log")
    axes.set_xticks([1, 3, 10, 30, 100, 300], ["1", "3", "10", "30", "100", "300"])
    axes.minorticks_off()
    axes.set_xlim(0.9, 700)
    axes.set_yticks(range(len(rows)), [cells[0].partition(",")[0] for cells in rows])
    axes.set_ylim(-0.6, len(rows) - 0.1)
    axes.set_xlabel("mean cost, as a multiple of the limit")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=10, columnspacing=1.0, handletextpad=0.3)
    figure.savefig(PICTURES / "cost.png")


#: Sets of the picture of budgets, and what is compared there.
BUDGETS = {"prompts_sentiment": "prompts", "prompts_translation_en-fr": "prompts", "swebench_pro": "agents"}
RULES = {
    "mf-race, limit told": (COLOURS[0], "o", "-"),
    "mf-race, looked at": (COLOURS[0], "o", ":"),
    "UCB-E": (COLOURS[1], "s", "-"),
    "successive rejects": (COLOURS[2], "^", "-"),
}


def budget() -> None:
    """The share of right answers against the share of cells, for a few sets of the table in real.md."""
    rows = table("real.md", "pictures/budget.png")
    parts = (0.05, 0.10, 0.15, 0.25)
    figure, panels = plt.subplots(3, 1, figsize=(WIDTH, 8.0), sharex=True, layout="constrained")
    for axes, (name, kind) in zip(panels, BUDGETS.items(), strict=True):
        first = next(place for place, cells in enumerate(rows) if cells[0].startswith(f"{name}, "))
        for cells in rows[first : first + len(RULES)]:
            colour, marker, line = RULES[cells[1]]
            right = [float(cell.partition(" ")[0]) for cell in cells[2:6]]
            axes.plot(parts, right, line, color=colour, marker=marker, markersize=6, label=cells[1])
        certificate = float(rows[first][6].partition(",")[0])
        axes.axvline(certificate, color="#333333", linewidth=1.2, linestyle="--", label="certificate (mean cost)")
        arms = re.search(r", (\d+) x", rows[first][0])[1]  # type: ignore[index]
        axes.set_title(f"{name}: {arms} {kind}", loc="left", fontsize=11)
        axes.set_ylim(0.0, 1.05)
        axes.set_ylabel("share right")
    panels[-1].set_xlim(0.0, 0.4)
    panels[-1].xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    panels[-1].set_xlabel("part of all cells that is measured")
    figure.legend(
        *panels[0].get_legend_handles_labels(), fontsize=10, frameon=False, loc="outside lower center", ncols=2
    )
    figure.savefig(PICTURES / "budget.png")


def figure_1a() -> None:
    """Figure 1a of the paper, as `mfbandit reproduce figure-1a` draws it."""
    policies = ("lucb-a:top=0.95,second=0.75", "lucb-b:top=0.95,second=0.75", "lucb-c", "lucb-top", "mf-toptwo")
    runs = [mf.simulate("figure-1a", one, delta=delta) for delta in (0.05, 0.10, 0.15, 0.20, 0.25) for one in policies]
    figure = cost_against_delta(runs, title="figure-1a: mean cost of 100 trials")
    figure.savefig(PICTURES / "figure-1a.png", dpi=110)


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    figure_1a()
    course()
    race()
    way_of_a_reward()
    cost()
    budget()
