"""Regret of every policy that spends a budget, beside the paper's lower bound.

    python benchmarks/regret.py [--trials 200]

The paper's regret: what the best arm at the cheapest fidelity would have earned, less what was earned. The
bound is asymptotic (Theorem D.2, coefficient times log of the budget), so small budgets may lie below it.
"""

from __future__ import annotations

import argparse
import math
import warnings

import mfbandit as mf
from mfbandit.algorithms import REGISTRY

BUDGETS = (1e3, 1e4, 1e5, 1e6)
INSTANCES = ("figure-1a", "loose-prior", "judges", "poiani-mu3")


def main() -> None:
    """Print a table per instance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=200)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", mf.errors.ModelWarning)
    names = [name for name, entry in REGISTRY.items() if entry.kind.objective == "regret"]
    for name in INSTANCES:
        instance = mf.load_instance(name)
        cheapest = float(instance.problem.costs.min())
        coefficient = mf.theory.regret_lower_bound(instance)
        print(f"\n{name}: mean regret +- standard error, {arguments.trials} trials; budgets in pulls at the cheapest")
        print(f"{'policy':<14}" + "".join(f"{budget:>22,.0f}" for budget in BUDGETS))
        print(f"{'lower bound':<14}" + "".join(f"{coefficient * math.log(budget):>22,.4g}" for budget in BUDGETS))
        for policy in names:
            cells = []
            for budget in BUDGETS:
                trials = max(10, arguments.trials // (10 if budget >= 1e6 else 1))
                regret = mf.simulate(instance, policy, budget=budget * cheapest, trials=trials, seed=5).regret
                cells.append(f"{regret.mean():>12,.4g} +- {regret.std() / trials**0.5:<6.2g}")
            print(f"{policy:<14}" + "".join(f"{cell:>22}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
