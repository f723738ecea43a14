"""What every constant of the default policy is worth: cost on random instances when it is halved and doubled.

    python benchmarks/constants.py                      # all of them, about an hour on one core
    python benchmarks/constants.py near stream_part     # these alone

The instances are those of benchmarks/random_instances.py. All settings see the same rewards, pull by pull of each
stream, and are compared instance by instance: the change of the geometric mean, and its standard error. The constants
and what each does: `mfbandit.algorithms.mf_toptwo._tuning` (how pulls are chosen) and
`mfbandit.confidence.pair._weights` (how evidence is averaged).
"""

from __future__ import annotations

import argparse
import dataclasses
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import mfbandit as mf
from mfbandit.algorithms.mf_toptwo import MFTopTwo
from mfbandit.algorithms.mf_toptwo._tuning import TopTwoParams
from mfbandit.confidence.pair import NEWEST, WEIGHTS, _mixture
from mfbandit.confidence.pair._weights import Weights, tables
from mfbandit.core import Algorithm, Arrays, Goal
from random_instances import ARMS, MOST, random_instance

DELTA = 0.05
SAMPLING = {name: float(value) for name, value in TopTwoParams._field_defaults.items()}
NOW = WEIGHTS[NEWEST - 1]
WEIGHED = {name: float(value) for name, value in NOW._asdict().items() if name != "levels"}
#: Twice 0.9 is no share: of these, what is missing to 1 is halved and doubled.
SHARES = {"leaders", "near", "led"}


@dataclass(frozen=True)
class Changed(MFTopTwo):
    """The default policy with some of its parameters replaced."""

    changes: tuple[tuple[str, float], ...] = ()

    def algorithm(self, problem: Arrays, goal: Goal, unit: Callable[[float], float]) -> Algorithm:
        """Make the kernels, and the other parameters, for one problem."""
        algorithm = super().algorithm(problem, goal, unit)
        changes: dict[str, Any] = dict(self.changes)
        if "weights" in changes and algorithm.evidence == "leaders":
            share = _rows[int(changes["weights"]) - 1].leaders
            changes |= {"leader_share": share, "pair_share": (1.0 - share) / (problem.cost.shape[0] - 1)}
        return dataclasses.replace(algorithm, params=algorithm.params._replace(**changes))


_rows: list[Weights] = list(WEIGHTS)


def other_weights(**changes: float) -> int:
    """The number of new weights, which differ from those in use."""
    _rows.append(NOW._replace(**changes))
    return len(_rows)


def settings(wanted: list[str]) -> dict[str, dict[str, Any]]:
    """What is measured: for every constant its two changes; first of all nothing."""
    found: dict[str, dict[str, Any]] = {"": {}}
    for name, value in SAMPLING.items():
        for factor in (0.5, 2.0):
            found[f"{name} x{factor:g}"] = {name: value * factor}
    for name, value in WEIGHED.items():
        for factor in (0.5, 2.0):
            # Twice what is missing may be more than 1.
            other = max(0.05, 1.0 - (1.0 - value) * factor) if name in SHARES else value * factor
            found[f"{name} x{factor:g}"] = {"weights": other_weights(**{name: other})}
    return {name: one for name, one in found.items() if not wanted or not name or name.split()[0] in wanted}


def cost(instances: list[mf.Instance], changes: Mapping[str, Any], trials: int, seed: int) -> tuple[list[float], int]:
    """The logarithm of the mean cost on every instance, and the number of wrong answers."""
    found, wrong = [], 0
    for instance in instances:
        most = MOST * mf.theory.limit(instance, DELTA)
        policy = Changed(changes=tuple(changes.items()))
        runs = mf.simulate(instance, policy, delta=DELTA, trials=trials, seed=seed, max_cost=most)
        found.append(float(np.log(np.mean(runs.cost))))
        wrong += int(np.sum(runs.wrong))
    return found, wrong


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="constants; all by default")
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--each", type=int, default=6, help="instances for each number of arms")
    parser.add_argument("--arms", type=int, nargs="+", default=ARMS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    unknown = sorted(set(given.names) - SAMPLING.keys() - WEIGHED.keys())
    if unknown:
        parser.error(f"no constant is called {unknown[0]!r}: {', '.join([*SAMPLING, *WEIGHED])}")
    measured = settings(given.names)
    # Kernels read these when they are compiled, which comes later.
    for name, table in tables(tuple(_rows)).items():
        setattr(_mixture, name, table)
    instances = [random_instance(arms, number, given.seed) for arms in given.arms for number in range(given.each)]
    print("| constant | now | halved | doubled | wrong |\n|---|---|---|---|---|", flush=True)
    basis, errors = cost(instances, {}, given.trials, given.seed)
    for name, value in (SAMPLING | WEIGHED).items():
        if given.names and name not in given.names:
            continue
        shown, wrong = [], []
        for factor in (0.5, 2.0):
            other, bad = cost(instances, measured[f"{name} x{factor:g}"], given.trials, given.seed)
            more = np.subtract(other, basis)
            error = more.std(ddof=1) / len(more) ** 0.5
            shown.append(f"{100 * np.expm1(more.mean()):+.1f}% ± {100 * error:.1f}")
            wrong.append(str(bad))
        said = f"{value:g}" + (" (1 - it)" if name in SHARES else "")
        print(f"| `{name}` | {said} | {' | '.join(shown)} | {', '.join(wrong)} |", flush=True)
    print(f"\n{len(instances)} instances, {given.trials} trials each; {errors} wrong with the constants as they are.")


if __name__ == "__main__":
    main()
