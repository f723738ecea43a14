"""Error rates of every policy that promises one, on instances made to hurt, with exact intervals.

    python benchmarks/errors.py [--device cuda --jobs 12] [--trials 1000000] > docs/errors.md
    python benchmarks/errors.py --policies mf-toptwo              # it alone

Prints the page docs/errors.md; what it measures is said there.
"""

from __future__ import annotations

import argparse
import functools
import inspect
import multiprocessing
import sys
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

# numba-cuda may be older than NumPy, which dropped these names; a measuring script may give them back.
for _old, _new in (("row_stack", "vstack"), ("in1d", "isin"), ("trapz", "trapezoid")):
    if not hasattr(np, _old):
        setattr(np, _old, getattr(np, _new))

import mfbandit as mf  # noqa: E402  (after the names above)
from mfbandit.algorithms import REGISTRY  # noqa: E402

DELTA = 0.01
MAX_COST = 100_000.0
#: Options under which a policy has a proof, where its defaults have none; and a sharper bound for LUCB.
PROVEN = {"mf-grad": ["mf-grad:threshold=theory"], "lucb-c": ["lucb-c", "lucb-c:bound=kl"]}
PAGE = """# How often is a certified answer wrong?

Far less often than promised. Every policy that is proven to answer wrongly with probability at most delta was played
{trials:,} times at delta = {delta}, on three instances made to hurt. Bounds are exact (Clopper and Pearson, 95%).
A policy that needs prior knowledge about the two best means has it exactly. A run that costs more than {most:,.0f} ends
without an answer, and is not wrong. Made by `python benchmarks/errors.py --device cuda`.

{instances}
"""


def against_the_best() -> mf.Instance:
    """Two arms whose cheap measurements are off as far as they may be, the wrong way round."""
    problem = mf.Problem(2, [("cheap", 1.0, 0.2), ("true", 5.0, 0.0)], reward="bernoulli")
    return mf.Instance(problem, [[0.45, 0.65], [0.55, 0.35]], name="against the best")


def rare_successes() -> mf.Instance:
    """Three arms with rare successes, two of them tied: far from normal, and two chances to err."""
    problem = mf.Problem(3, [("true", 1.0, 0.0)], reward="bernoulli")
    return mf.Instance(problem, [[0.05], [0.05], [0.25]], name="rare successes")


def tied_rivals() -> mf.Instance:
    """Four Gaussian arms, three of them tied, that are all alike at the cheap fidelity."""
    problem = mf.Problem(4, [("cheap", 1.0, 0.5), ("true", 4.0, 0.0)], reward=mf.Gaussian(1.0))
    return mf.Instance(problem, [[0.5, 0.0], [0.5, 0.0], [0.5, 0.0], [0.5, 1.0]], name="tied rivals")


INSTANCES = (against_the_best, rare_successes, tied_rivals)


def policies(instance: mf.Instance) -> Iterator[str]:
    """The policies that are proven on an instance, with exact prior knowledge where they need some."""
    second, top = np.sort(instance.truth)[-2:]
    for name, entry in REGISTRY.items():
        for text in PROVEN.get(name, [name]):
            if "top=" in entry.example:
                text = f"{name}:top={top},second={second}"
            if isinstance(instance.problem.reward, mf.Gaussian):
                text = text.replace("bound=kl", "bound=gaussian")
            policy = mf.policy(text)
            if policy.objective == "identify" and policy.proven:
                yield text


@dataclass(frozen=True)
class Errors:
    """What the runs of a policy on an instance came to."""

    place: int
    policy: str
    wrong: int
    unfinished: int
    cost: float


def play(trials: int, device: str, place: int, policy: str) -> Errors:
    """Play a policy."""
    warnings.simplefilter("ignore")
    instance = INSTANCES[place]()
    runs = mf.simulate(instance, policy, delta=DELTA, trials=trials, seed=6, max_cost=MAX_COST, device=device)
    wrong, unfinished, pulls = int(runs.wrong.sum()), int((~runs.stopped).sum()), int(runs.pulls.sum())
    print(f"{instance.name}, {policy}: {pulls:.2e} pulls in {runs.seconds:.1f} s", file=sys.stderr, flush=True)
    return Errors(place, policy, wrong, unfinished, float(runs.cost.mean()))


def row(name: str, trials: int, found: list[Errors]) -> str:
    """One row of the table: the policies on an instance."""
    most = max(found, key=lambda one: one.wrong)
    others = [one.cost for one in found if one.policy != "mf-toptwo"]
    ours = [one for one in found if one.policy == "mf-toptwo"]
    high = binomtest(most.wrong, trials).proportion_ci(0.95, "exact").high
    cells = [
        name,
        f"{len(found)}",
        f"{most.wrong:,} (`{most.policy}`)" if most.wrong else "0",
        f"{high:.1e}",
        f"{sum(one.unfinished for one in found):,}",
        f"{ours[0].cost:,.0f}" if ours else "-",
        f"{min(others):,.0f} to {max(others):,.0f}" if others else "-",
    ]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="processes; several compile while one plays on the GPU")
    parser.add_argument("--policies", nargs="*", help="names, instead of all that are proven")
    arguments = parser.parse_args()
    started = time.perf_counter()
    made = [make() for make in INSTANCES]
    told = [f"- **{one.name}**: {inspect.getdoc(make)}" for make, one in zip(INSTANCES, made, strict=True)]
    print(PAGE.format(delta=DELTA, trials=arguments.trials, most=MAX_COST, instances="\n".join(told)))
    print("| instance | policies | most wrong | error rate below | unfinished | cost of mf-toptwo | of others |")
    print("| --- | ---: | --- | ---: | ---: | ---: | ---: |", flush=True)
    cases = [
        (place, policy)
        for place, instance in enumerate(made)
        for policy in policies(instance)
        if arguments.policies is None or policy.partition(":")[0] in arguments.policies
    ]
    one = functools.partial(play, arguments.trials, arguments.device)
    with ProcessPoolExecutor(arguments.jobs, multiprocessing.get_context("spawn")) as pool:
        found = list(pool.map(one, *zip(*cases, strict=True)))
    for place, instance in enumerate(made):
        print(row(instance.name, arguments.trials, [each for each in found if each.place == place]))
    print(f"{time.perf_counter() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
