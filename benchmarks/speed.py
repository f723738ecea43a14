"""How fast simulations are, as ratios measured in one run.

    python benchmarks/speed.py            # a few minutes on two cores
    python benchmarks/speed.py --quick    # without the whole of Figure 1

Rivals in the same run: the plain-Python ask/tell loop of the very same text, and a NumPy loop of
single-fidelity LUCB as one would write it by hand.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import time
import warnings

import numpy as np

import mfbandit as mf

POLICY = "lucb-a:top=0.95,second=0.75"
FOUR = (POLICY, "lucb-b:top=0.95,second=0.75", "lucb-c", "lucb-top")
DELTAS = (0.05, 0.10, 0.15, 0.20, 0.25)


def show(what: str, value: str, goal: str = "") -> None:
    print(f"{what:<58} {value:>14}  {goal}", flush=True)


def rate(threads: int) -> float:
    """Pulls per second of a simulation, compiled code loaded."""
    runs = mf.simulate("figure-1a", POLICY, trials=1000, threads=threads, seed=1)
    return float(runs.pulls.sum() / runs.seconds)


def ask_tell(pulls: int) -> float:
    """Pulls per second of the same text as plain Python, in a bare loop without any study around it."""
    runs = mf.simulate("figure-1a", POLICY, trials=1, max_pulls=pulls, device="python")
    return float(runs.pulls.sum() / runs.seconds)


def numpy_loop(pulls: int) -> float:
    """Pulls per second of LUCB on one fidelity, written by hand with NumPy."""
    rng = np.random.default_rng(0)
    means = mf.load_instance("figure-1a").truth
    n, s = np.ones(5), (rng.random(5) < means).astype(float)
    started = time.perf_counter()
    for t in range(6, 6 + pulls, 2):
        upper = s / n + np.sqrt(math.log(20 * t**4 / 0.05) / n)
        order = np.argsort(-upper)
        for k in order[:2]:
            s[k] += rng.random() < means[k]
            n[k] += 1
    return pulls / (time.perf_counter() - started)


def second_start() -> float:
    """Seconds of a whole `mfbandit simulate` whose machine code is on disk."""
    command = [
        sys.executable,
        "-m",
        "mfbandit",
        "simulate",
        "figure-1a",
        "--policy",
        POLICY,
        "--trials",
        "10",
        "--json",
    ]
    subprocess.run(command, check=True, capture_output=True)
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def peak_memory() -> float:
    """Peak megabytes of 100,000 trials at K = M = 5."""
    code = (
        "import warnings; warnings.simplefilter('ignore'); import mfbandit as mf;"
        "mf.simulate('figure-1b', 'lucb-c', trials=100_000, max_pulls=200);"
        "line = next(line for line in open('/proc/self/status') if line.startswith('VmHWM'));"
        "print(int(line.split()[1]) / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout)


def figure_one() -> tuple[float, float]:
    """Pulls and seconds of all of Figure 1: two instances, five deltas, four policies, 100 trials."""
    pulls, started = 0.0, time.perf_counter()
    for name in ("figure-1a", "figure-1b"):
        for policy in FOUR:
            for delta in DELTAS:
                runs = mf.simulate(name, policy, delta=delta, trials=100)
                pulls += float(runs.pulls.sum())
    return pulls, time.perf_counter() - started


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="leave out the whole of Figure 1")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", mf.errors.ModelWarning)
    plain, hand = ask_tell(20_000), numpy_loop(20_000)
    one, two = rate(threads=1), rate(threads=2)
    show("plain-Python ask/tell, lucb-a, figure-1a", f"{plain:,.0f}/s")
    show("NumPy loop by hand, LUCB, one fidelity", f"{hand:,.0f}/s")
    show("compiled, one thread", f"{one:,.0f}/s")
    show("compiled, two threads", f"{two:,.0f}/s")
    show("compiled / plain Python", f"{one / plain:.0f}x", "goal: at least 200")
    show("compiled / NumPy loop", f"{one / hand:.0f}x")
    show("two threads / one", f"{two / one:.2f}x", "goal: at least 1.7")
    show("second start of `mfbandit simulate`", f"{second_start():.2f} s", "goal: under 2 s")
    show("peak memory, 100,000 trials at K = M = 5", f"{peak_memory():.0f} MB", "goal: under 1,000 MB")
    if not arguments.quick:
        pulls, seconds = figure_one()
        show(f"all of Figure 1 ({pulls:.2e} pulls)", f"{seconds:.0f} s", "goal: under 240 s on two cores")


if __name__ == "__main__":
    main()
