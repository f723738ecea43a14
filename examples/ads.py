"""Which ad to show
================

Which ad to show: spend a budget of impressions with little regret, on logged clicks of a shop.

An ad is measured by logs of the running system (cheap, and biased by whom it showed the ad to) and by random
traffic (expensive, the truth). Elimination, of the paper, against mf-commit, MF-UCB and UCB on random traffic
alone: rewards are rows drawn from the log. Then one such budget is spent through a real study, impression
by impression.

The logged data (Open Bandit Dataset, campaign "men") lie beside the repository, in ../shared/data, or in the
folder given as the only argument.
"""

import sys
from pathlib import Path

import mfbandit as mf
from mfbandit.datasets import load_dataset
from mfbandit.engines import allocate

SETS = ("obd_men_groups", "obd_men_items")
POLICIES = ("elimination", "mf-commit", "mf-ucb", "ucb-top")
BUDGETS = (20_000.0, 200_000.0)


def compare(instance: mf.Instance, trials: int = 20) -> None:
    problem = instance.problem
    print(f"{instance.name}: {problem.n_arms} ads; the best is {problem.arms[instance.best]!r}")
    print(f"  {'budget':>9}  {'policy':12} {'regret (paper)':>15} {'regret by cost':>15}  best ad found")
    for budget in BUDGETS:
        for policy in POLICIES:
            runs = mf.simulate(instance, policy, budget=budget, trials=trials)
            regret, by_cost = runs.regret.mean(), runs.cost_regret.mean()
            found = (runs.best == instance.best).mean()
            print(f"  {budget:9,.0f}  {policy:12} {regret:15,.1f} {by_cost:15,.1f}  {found:.0%}")


def spend(instance: mf.Instance, budget: float = 2_000.0) -> None:
    result = allocate(instance.problem, instance.evaluator(), budget, policy="elimination", progress=False)
    shown = f"{result.pulls:,} impressions and would show {result.best!r}"
    print(f"  A study spent {result.cost:,.0f} on {shown}.\n")


def main(folder: Path) -> int:
    missing = [name for name in SETS if not (folder / name).is_dir()]
    if missing:
        print(f"skipped: {folder} does not hold {', '.join(missing)}")
        return 0
    for name in SETS:
        instance = load_dataset(folder / name)
        compare(instance)
        spend(instance)
    return 0


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(main(Path(given[0]) if given else Path(__file__).parents[2] / "shared" / "data"))
