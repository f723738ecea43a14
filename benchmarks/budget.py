"""The answer of a race whose money ends before its certificate, beside rules for fixed budgets at the same price.

    python benchmarks/budget.py [--runs 100] [--json budget.json] [prompts_sentiment ...]    # minutes on one core
    python benchmarks/budget.py --random 14 --seed 5         # tables that nobody has seen, instead of recorded ones

How often the answer at 5%, 10%, 15% and 25% of all cells of a test set is the best arm, and how often one within 0.01:

- `mf-race` told how much may be spent (`max_cost`), and one that is looked at on its way to the certificate;
- UCB-E (Zhou et al., ICLR 2025), as the package banditeval has it: whoever has the highest mean + sqrt(1 / n) is
  measured on 32 items that it has not seen. `--banditeval` runs the package itself (pip install banditeval);
- successive rejects (Audibert, Bubeck and Munos, COLT 2010) on items that all arms share.

Of these only the race says when it is enough: the last columns are what its certificate costs without a limit, in parts
of all cells, and how many certified answers were wrong. Arms are in another order in every run of UCB-E and of
successive rejects, and in ten orders for races: ties go to the first.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

import mfbandit as mf
from blocks import line
from blocks_data import load, names

PARTS = (0.05, 0.1, 0.15, 0.25)
#: How many items UCB-E measures at a time.
BATCH = 32
#: In so many orders of arms races are run.
ORDERS = 10
DELTA, NEAR = 0.05, 0.01
#: Differences of so many standard errors are not chance.
CLEAR = 3.0
OURS, LOOKED_AT, UCB_E, REJECTS = "mf-race, limit told", "mf-race, looked at", "UCB-E", "successive rejects"

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Rule = Callable[[Floats, Ints, int, int], Ints]


@dataclass(frozen=True)
class Answers:
    """How good one rule's answers on one set were, for each part of the cells."""

    rule: str
    right: list[float]
    within: list[float]


@dataclass(frozen=True)
class Comparison:
    """All rules on one set, and what the certificate of the race costs."""

    set: str
    arms: int
    items: int
    runs: int
    answers: list[Answers]
    certified: list[float]
    """The share of races that had their certificate within each part of the cells."""
    cost: float
    """What the certificate costs without a limit, as a part of all cells."""
    wrong: int

    def behind(self) -> list[str]:
        """Where a rule for fixed budgets is clearly better than the race that was told its limit."""
        ours, *others = self.answers
        found = []
        for other in (one for one in others if one.rule != LOOKED_AT):
            for kind, mine, theirs in (("right", ours.right, other.right), ("within", ours.within, other.within)):
                for part, p, q in zip(PARTS, mine, theirs, strict=True):
                    middle = (p + q) / 2
                    if q - p > CLEAR * math.sqrt(2 * middle * (1 - middle) / self.runs):
                        found.append(f"{other.rule} {kind} at {part:.0%}: {p:.2f} against {q:.2f}")
        return found


def comparison(plain: dict[str, Any]) -> Comparison:
    """A comparison that was written to a file."""
    return Comparison(**{**plain, "answers": [Answers(**one) for one in plain["answers"]]})


@numba.njit
def ucb_e(scores: Floats, budgets: Ints, runs: int, seed: int) -> Ints:
    """Answers of UCB-E, (runs, budgets)."""
    np.random.seed(seed)
    arms, items = scores.shape
    answers = np.zeros((runs, len(budgets)), dtype=np.int64)
    for run in range(runs):
        names = np.random.permutation(arms)
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
                    sums[arm] += scores[names[arm], order[arm, seen[arm]]]
                    seen[arm] += 1
                    spent += 1
            answers[run, mark] = names[np.argmax(np.where(seen > 0, sums / np.maximum(seen, 1), -np.inf))]
    return answers


def package_ucb_e(scores: Floats, budgets: Ints, runs: int, seed: int) -> Ints:
    """The same by the package banditeval, whose last batch before a budget may reach beyond it."""
    import torch
    from banditeval.bandits import upper_confidence_bound_exploration as choose

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    answers = np.zeros((runs, len(budgets)), dtype=np.int64)
    for run in range(runs):
        order = torch.randperm(len(scores))
        table = torch.tensor(scores, dtype=torch.float32)[order]
        known, spent = torch.full(table.shape, torch.nan, dtype=table.dtype), 0
        for mark, budget in enumerate(budgets):
            while spent < budget:
                chosen = choose(known)
                known[chosen[0], chosen[1]] = table[chosen[0], chosen[1]]
                spent += chosen.shape[1]
            means = known.nanmean(dim=1).nan_to_num(-torch.inf, neginf=-torch.inf)
            answers[run, mark] = order[torch.argmax(means)]
    return answers


@numba.njit
def successive_rejects(scores: Floats, budgets: Ints, runs: int, seed: int) -> Ints:
    """Answers of successive rejects on shared items, (runs, budgets); an item is used once at most."""
    np.random.seed(seed)
    arms, items = scores.shape
    harmonic = 0.5
    for i in range(2, arms + 1):
        harmonic += 1.0 / i
    answers = np.zeros((runs, len(budgets)), dtype=np.int64)
    for run in range(runs):
        order = np.random.permutation(items)
        for mark in range(len(budgets)):
            left, sums, seen = np.random.permutation(arms), np.zeros(arms), 0
            while len(left) > 1:
                upto = min(items, max(seen, int(np.ceil((budgets[mark] - arms) / (harmonic * len(left))))))
                for arm in left:
                    for i in range(seen, upto):
                        sums[arm] += scores[arm, order[i]]
                seen = upto
                left = left[left != left[np.argmin(sums[left])]]
            answers[run, mark] = left[0]
    return answers


def reordered(instance: mf.Instance, order: Ints) -> mf.Instance:
    """The instance with its arms in another order."""
    problem, law = instance.problem, instance.law
    assert isinstance(law, mf.BlockTableLaw)
    mixed = mf.Problem([problem.arms[k] for k in order], problem.fidelities, problem.reward, blocks=problem.blocks)
    return mf.Instance(mixed, law=mf.BlockTableLaw(law.values[order]), name=instance.name)


def judged(rule: str, truth: Floats, answers: Ints) -> Answers:
    """How often answers, (runs, budgets), were right, and how often within 0.01."""
    regret = truth.max() - truth[answers] - 1e-12
    return Answers(rule, (regret <= 0.0).mean(axis=0).tolist(), (regret <= NEAR).mean(axis=0).tolist())


def random_table(seed: int) -> mf.Instance:
    """Rights and wrongs of 6 to 60 arms on items of any difficulty, of which each arm finds others hard."""
    rng = np.random.default_rng(seed)
    arms, items = int(rng.integers(6, 61)), int(rng.choice([150, 300, 600, 1000]))
    skill = rng.normal(0.0, rng.uniform(0.2, 1.2), arms)
    hard = rng.normal(0.0, rng.uniform(0.5, 3.0), items)
    own = rng.normal(0.0, rng.uniform(0.2, 1.5), (arms, items))
    right = rng.random((arms, items)) < 1.0 / (1.0 + np.exp(hard - skill[:, None] - own))
    problem = mf.Problem(arms, [("label", 1.0)], "bernoulli", blocks=items)
    return mf.Instance(problem, law=mf.BlockTableLaw(right[:, None].astype(float)), name=f"random {seed}")


def compare(
    instance: mf.Instance, runs: int, seed: int, theirs: Callable[[Floats, Ints, int, int], Ints]
) -> Comparison:
    """Run all rules on one set."""
    assert isinstance(instance.law, mf.BlockTableLaw)
    scores = np.ascontiguousarray(instance.law.values[:, -1])
    truth, price = scores.mean(axis=1), instance.problem.fidelities[-1].cost
    budgets = np.array([int(part * scores.size) for part in PARTS])
    limits = [float(price * budget) for budget in budgets]
    looked, told, certified, costs, wrong = [], [], [], [], 0
    each = math.ceil(runs / ORDERS)
    for number in range(ORDERS):
        order = np.random.default_rng(seed + number).permutation(len(scores))
        race = partial(
            mf.simulate, reordered(instance, order), "mf-race", delta=DELTA, trials=each, seed=seed + number, threads=1
        )
        whole, cut = race(marks=limits), [race(max_cost=limit) for limit in limits]
        looked.append(order[whole.mark_best])
        told.append(order[np.stack([one.best for one in cut], axis=1)])
        certified.append([one.stopped.mean() for one in cut])
        costs.append(whole.cost.mean() / (price * scores.size))
        wrong += int(whole.wrong.sum())
    answers = [
        judged(OURS, truth, np.concatenate(told)),
        judged(LOOKED_AT, truth, np.concatenate(looked)),
        judged(UCB_E, truth, theirs(scores, budgets, runs, seed)),
        judged(REJECTS, truth, successive_rejects(scores, budgets, runs, seed)),
    ]
    share = np.mean(certified, axis=0).tolist()
    return Comparison(instance.name, *scores.shape, each * ORDERS, answers, share, float(np.mean(costs)), wrong)


def print_comparison(found: Comparison, first: bool) -> None:
    """Print one set, a line for each rule; before the first one, what the columns are."""
    widths = [32, 20, *[11] * len(PARTS), 12, 8]
    if first:
        print("right / within 0.01, at a part of all cells; then what a certificate costs, and wrong ones")
        print(line(["set", "rule", *(f"{part:.0%}" for part in PARTS), "certificate", "wrong"], widths))
    for i, one in enumerate(found.answers):
        shares = [f"{p:.2f} / {q:.2f}" for p, q in zip(one.right, one.within, strict=True)]
        last = [f"{found.cost:.3f}", f"{found.wrong}/{found.runs}"] if i == 0 else ["", ""]
        print(line([found.set if i == 0 else "", one.rule, *shares, *last], widths))
    print(line(["", "certified", *(f"{share:.2f}" for share in found.certified), "", ""], widths), flush=True)


def random_tables(count: int, seed: int) -> Iterator[mf.Instance]:
    """So many random tables."""
    return (random_table(1000 * seed + number) for number in range(count))


def recorded(wanted: Sequence[str]) -> Iterator[mf.Instance]:
    """The test sets of these names, or all; those without an end are left out."""
    if not names():
        raise SystemExit("no data: shared/data is not beside the checkout")
    unknown = [name for name in wanted if name not in names()]
    if unknown:
        raise SystemExit(f"No data set is called {unknown[0]!r}; there are {', '.join(names())}.")
    found = map(load, wanted or names())
    return (instance for instance in found if instance.problem.blocks != "unlimited")


def print_means(found: Sequence[Comparison]) -> None:
    """Print how often each rule was right, on average over all sets."""
    print("\nRight on average over all sets:")
    for i, one in enumerate(found[0].answers):
        means = np.mean([each.answers[i].right for each in found], axis=0)
        print(line([one.rule, *(f"{mean:.3f}" for mean in means)], [32, *[11] * len(PARTS)]))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", help="names of test sets, instead of all")
    parser.add_argument("--runs", type=int, default=100, help="runs of every rule (100)")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--banditeval", action="store_true", help="UCB-E by its authors' package")
    parser.add_argument("--json", type=Path, help="write all figures to this file, too")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="N random tables instead of recorded ones")
    given = parser.parse_args()
    found: list[Comparison] = []
    for instance in random_tables(given.random, given.seed) if given.random else recorded(given.sets):
        found.append(compare(instance, given.runs, given.seed, package_ucb_e if given.banditeval else ucb_e))
        print_comparison(found[-1], first=len(found) == 1)
        if given.json:
            given.json.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n")
    print_means(found)
    worse = [f"{one.set}: {words}" for one in found for words in one.behind()]
    print(f"\nWhere a rule for fixed budgets is clearly better ({CLEAR:g} standard errors): {len(worse) or 'nowhere'}")
    for words in worse:
        print(f"  {words}")


if __name__ == "__main__":
    main()
