"""Speed and agreement of simulations on a GPU, beside two CPU threads in the same run.

    python benchmarks/gpu.py [--trials 131072] [--quick]

Needs an NVIDIA GPU and the ``cuda`` extra. Prints, per policy and instance, pulls per second on the GPU, the
ratio to two CPU threads, and the share of trials whose answer and pull counts are the CPU's.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

# numba-cuda may be older than NumPy, which dropped these names; a measuring script may give them back.
for _old, _new in (("row_stack", "vstack"), ("in1d", "isin"), ("trapz", "trapezoid")):
    if not hasattr(np, _old):
        setattr(np, _old, getattr(np, _new))

import mfbandit as mf  # noqa: E402  (after the names above)
from mfbandit import gpu  # noqa: E402
from mfbandit.algorithms import REGISTRY  # noqa: E402

LUCB_A = "lucb-a:top=0.95,second=0.75"


def run(name: str, policy: str, trials: int, device: str, **kwargs: Any) -> mf.Runs:
    """A simulation whose machine code is ready."""
    mf.simulate(name, policy, trials=2, device=device, threads=2, **kwargs)
    return mf.simulate(name, policy, trials=trials, device=device, threads=2, seed=1, **kwargs)


def rate(runs: mf.Runs) -> float:
    return float(runs.pulls.sum() / runs.seconds)


def headline(trials: int) -> None:
    """The figures asked for: lucb-a on figure-1a and figure-1b."""
    print(f"{'instance':<12} {'trials':>8} {'GPU pulls/s':>12} {'two CPU threads':>16} {'ratio':>8} {'identical':>10}")
    for name, few in (("figure-1a", 512), ("figure-1b", 16)):
        there = run(name, LUCB_A, trials, "cuda")
        here = run(name, LUCB_A, few, "cpu")
        same = (there.pulls[:few] == here.pulls).all(axis=(1, 2)) & (there.best[:few] == here.best)
        print(
            f"{name:<12} {trials:>8} {rate(there):>12.3e} {rate(here):>16.3e} "
            f"{rate(there) / rate(here):>8.0f} {same.mean():>10.4f}",
            flush=True,
        )


def agreement(trials: int) -> None:
    """Share of identical trials on figure-1a."""
    there, here = run("figure-1a", LUCB_A, trials, "cuda"), run("figure-1a", LUCB_A, trials, "cpu")
    same = (there.pulls == here.pulls).all(axis=(1, 2)) & (there.best == here.best)
    print(f"figure-1a, {trials} trials: {same.sum()} identical to the CPU ({same.mean():.5f})", flush=True)


def compiler_figures() -> None:
    """Registers, local memory and occupancy of the kernels that were just run."""
    for entry in gpu.entries():
        for kernel in entry.overloads.values():
            print(
                f"registers {kernel.regs_per_thread}, local bytes {kernel.local_mem_per_thread}, "
                f"constant bytes {kernel.const_mem_size}, max threads per block {kernel.max_threads_per_block}"
            )


def everything(trials: int) -> None:
    """Every registered policy on every built-in instance: means on the GPU and on the CPU."""
    print(
        f"{'policy':<22} {'instance':<12} {'GPU mean':>12} {'CPU mean':>12} {'z':>6}"
        f" {'identical':>9} {'GPU pulls/s':>12}"
    )
    for name, entry in REGISTRY.items():
        policy = mf.policy(entry.example)
        for instance in mf.builtin_instances():
            limits: dict[str, Any] = {"max_pulls": 20_000}
            if policy.objective == "regret":
                limits = {"budget": 2000.0 * float(mf.load_instance(instance).problem.costs.min())}
            there = run(instance, entry.example, trials, "cuda", **limits)
            here = run(instance, entry.example, trials, "cpu", **limits)
            difference = there.cost - here.cost
            spread = max(float(difference.std()) / len(difference) ** 0.5, 1e-12)
            same = (there.pulls == here.pulls).all(axis=(1, 2)) & (there.best == here.best)
            print(
                f"{name:<22} {instance:<12} {there.cost.mean():>12.4g} {here.cost.mean():>12.4g} "
                f"{difference.mean() / spread:>6.2f} {same.mean():>9.4f} {rate(there):>12.3e}",
                flush=True,
            )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=131_072)
    parser.add_argument("--quick", action="store_true", help="only the headline figures")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    started = time.perf_counter()
    headline(arguments.trials)
    compiler_figures()
    if not arguments.quick:
        agreement(4096)
        everything(256)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
