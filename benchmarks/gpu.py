"""Speed and agreement of simulations on a GPU, beside two CPU threads in the same run.

    python benchmarks/gpu.py [--trials 131072] [--quick] [--jobs 12]

Needs an NVIDIA GPU and the ``cuda`` extra. Prints pulls per second of lucb-a and mf-toptwo on the GPU and their ratio
to two CPU threads, what the compiler says of the kernels, the share of trials whose answer and pull counts are the
CPU's, and, unless ``--quick``, the mean cost of every policy on every built-in instance, on the GPU and on the CPU.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

# numba-cuda may be older than NumPy, which dropped these names; a measuring script may give them back.
for _old, _new in (("row_stack", "vstack"), ("in1d", "isin"), ("trapz", "trapezoid")):
    if not hasattr(np, _old):
        setattr(np, _old, getattr(np, _new))

import mfbandit as mf  # noqa: E402  (after the names above)
from mfbandit.algorithms import REGISTRY  # noqa: E402
from mfbandit.simulation.gpu import _gpu_kernels as gpu_entry  # noqa: E402

LUCB_A = "lucb-a:top=0.95,second=0.75"
#: Runs are cut after so many pulls where all policies are compared; those of slow policies earlier.
MOST_PULLS = {"mf-toptwo": 20_000, "mf-grad": 5_000}
MOST_PULLS_OF_OTHERS = 200_000
FEW = 256


def run(name: str, policy: str, trials: int, device: str, threads: int = 2, **kwargs: Any) -> mf.Runs:
    """A simulation whose machine code is ready."""
    mf.simulate(name, policy, trials=2, device=device, threads=threads, **kwargs)
    return mf.simulate(name, policy, trials=trials, device=device, threads=threads, seed=1, **kwargs)


def rate(runs: mf.Runs) -> float:
    return float(runs.pulls.sum() / runs.seconds)


def identical(there: mf.Runs, here: mf.Runs) -> float:
    """Share of the trials of both whose answer and pull counts are the same."""
    count = min(there.trials, here.trials)
    same = (there.pulls[:count] == here.pulls[:count]).all(axis=(1, 2)) & (there.best[:count] == here.best[:count])
    return float(same.mean())


def headline(trials: int) -> None:
    """The figures asked for: lucb-a, and the default policy, of which a warp plays a trial."""
    print(
        f"{'policy':<12} {'instance':<12} {'trials':>8} {'GPU pulls/s':>12} {'two CPU threads':>16} {'ratio':>8} "
        f"{'identical':>10}"
    )
    cases = ((LUCB_A, "figure-1a", 4096), (LUCB_A, "figure-1b", 64))
    cases += tuple(("mf-toptwo", name, 4096) for name in ("figure-1a", "judges", "poiani-5x2"))
    for policy, name, few in cases:
        there = run(name, policy, trials, "cuda")
        here = run(name, policy, few, "cpu")
        print(
            f"{policy.partition(':')[0]:<12} {name:<12} {trials:>8} {rate(there):>12.3e} {rate(here):>16.3e} "
            f"{rate(there) / rate(here):>8.0f} {identical(there, here):>10.5f}",
            flush=True,
        )


def compiler_figures() -> None:
    """What the compiler says of the kernels that were just run."""
    for entry in gpu_entry.compiled_kernels():
        for kernel in entry.overloads.values():
            print(
                f"registers {kernel.regs_per_thread}, local bytes {kernel.local_mem_per_thread}, shared bytes per "
                f"block {kernel.shared_mem_per_block}, {kernel.max_cooperative_grid_blocks(32)} warps or "
                f"{kernel.max_cooperative_grid_blocks(64)} blocks of two at a time"
            )


def compare(name: str, instance: str) -> str:
    """A policy on an instance: means on the GPU and on the CPU."""
    warnings.simplefilter("ignore")
    policy = mf.policy(REGISTRY[name].example)
    limits: dict[str, Any] = {"max_pulls": MOST_PULLS.get(name, MOST_PULLS_OF_OTHERS)}
    if policy.objective == "regret":
        limits = {"budget": 2000.0 * float(mf.load_instance(instance).problem.costs.min())}
    there = run(instance, policy.label, FEW, "cuda", **limits)
    here = run(instance, policy.label, FEW, "cpu", threads=1, **limits)
    difference = there.cost - here.cost
    spread = max(float(difference.std()) / len(difference) ** 0.5, 1e-12)
    return (
        f"{name:<22} {instance:<12} {there.cost.mean():>12.4g} {here.cost.mean():>12.4g} "
        f"{difference.mean() / spread:>6.2f} {identical(there, here):>9.4f} {there.stopped.mean():>8.2f}"
    )


def everything(jobs: int) -> None:
    """Every registered policy on every built-in instance."""
    print(f"{'policy':<22} {'instance':<12} {'GPU mean':>12} {'CPU mean':>12} {'z':>6} {'identical':>9} {'stopped':>8}")
    cases = [(name, instance) for name in REGISTRY for instance in mf.builtin_instances()]
    # Several processes, since most of the time goes into compiling.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        for line in pool.map(compare, *zip(*cases, strict=True)):
            print(line, flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=131_072)
    parser.add_argument("--quick", action="store_true", help="only the headline figures")
    parser.add_argument("--jobs", type=int, default=8, help="processes that compare policies")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    started = time.perf_counter()
    headline(arguments.trials)
    compiler_figures()
    if not arguments.quick:
        everything(arguments.jobs)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
