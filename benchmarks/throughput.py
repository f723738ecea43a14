"""The throughput problem of PyPRS, 57,624 simulated systems, raced through Ray, beside the figures that it publishes.

    python benchmarks/throughput.py                                 # ten minutes on two cores
    python benchmarks/throughput.py --units 20 --engine threads     # 3,249 systems, a minute
    python benchmarks/throughput.py --parts bias guard              # is the pair bias right, is the caution enough

- race: `mf-race` within 0.1 at delta 0.05, with a warm-up of 50 jobs as a cheaper fidelity. Costs are in replications
  of 2,050 jobs. The certificate is checked again, from its file.
- truth: the mean throughput of the best systems and of the answer, from many more replications. What counts as the
  truth is the mean throughput of 50 jobs after a warm-up of 2,000, not that of a line that runs without end.
- bias: how far the difference of a system and the best one is off after shorter warm-ups, by replications that both
  share; found on half of the blocks and measured on the others.
- guard: how often the best of the 60 best systems is beaten within 300 blocks, where at most 5% may be. Each is shifted
  to the same mean, and blocks are drawn from recorded ones.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import mfbandit as mf
from blocks_guarantee import centred_count
from mfbandit.certificate import load_certificate
from throughput_line import (
    JOBS,
    SHORTER,
    WARM_UP,
    Floats,
    Ints,
    evaluator,
    name_of,
    problem,
    replicate,
    services,
    systems,
)

DELTA, EPSILON = 0.05, 0.1
#: What PyPRS publishes of its own procedures: replications, and the share of runs that were within 0.1.
PUBLISHED = {
    "GSP": (12_318_493, 1.0),
    "KT": (6_170_721, 1.0),
    "FBKT": (4_704_528, 1.0),
    "equal allocation": (5_070_912, 0.76),
}
#: Blocks on which all systems are looked at to find good ones, and how many of these are looked at closely.
PILOT, CLOSE = 60, 200
#: Seeds of blocks that no race uses: those are below 2^31.
_OTHER_SEEDS = 2**32

Row = dict[str, Any]


def means(lines: Ints, blocks: int, first: int, warm_ups: tuple[int, ...] = (WARM_UP,)) -> Floats:
    """Throughputs by block, system and warm-up, on fresh blocks."""
    longest = JOBS + max(warm_ups)
    return np.stack(
        [replicate(services(_OTHER_SEEDS + first + i, longest), lines, np.array(warm_ups)) for i in range(blocks)]
    )


def good_systems(lines: Ints, count: int) -> Ints:
    """The places of the systems with the highest means on some blocks."""
    total = sum(means(lines, 1, i)[0, :, 0] for i in range(PILOT))
    return np.argsort(-np.asarray(total), kind="stable")[:count]


def race(lines: Ints, options: argparse.Namespace) -> Row:
    """One race as a study, and its certificate."""
    given = problem(lines, caution=options.caution)
    began = time.perf_counter()
    result = mf.identify(
        given,
        evaluator(lines),
        delta=DELTA,
        epsilon=EPSILON,
        seed=options.seed,
        workers=options.workers,
        engine=options.engine,
        storage=options.storage,
        progress=options.progress,
    )
    raced = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "certificate.json"
        path.write_text(json.dumps(result.certificate), encoding="utf-8")
        verdict = mf.verify(load_certificate(path))
        size = path.stat().st_size
    return {
        "systems": len(lines),
        "seed": options.seed,
        "answer": result.best,
        "status": result.status,
        "replications": result.cost,
        "pulls": result.pulls,
        "regret bound": result.regret_bound,
        "verified": verdict.valid,
        "certificate, MB": size / 1e6,
        "seconds": raced - began,
        "seconds to verify": time.perf_counter() - raced,
        "memory, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def truth(lines: Ints, answer: str | None, blocks: int) -> Row:
    """The best mean throughput, and by how much an answer is below it; the errors are standard errors."""
    chosen = good_systems(lines, CLOSE)
    names = [name_of(line) for line in lines.tolist()]
    if answer is not None and names.index(answer) not in chosen:
        chosen = np.append(chosen, names.index(answer))
    found = means(lines[chosen], blocks, PILOT)[:, :, 0]
    best = int(found.mean(axis=0).argmax())
    row: Row = {"best": names[chosen[best]], "mean": found[:, best].mean(), "error": error(found[:, best])}
    if answer is not None:
        behind = found[:, best] - found[:, [names[k] for k in chosen].index(answer)]
        row |= {"answer": answer, "behind": behind.mean(), "error of that": error(behind)}
    return row


def error(values: npt.NDArray[np.float64]) -> float:
    """The standard error of a mean."""
    return float(values.std(ddof=1) / np.sqrt(values.size))


def bias(lines: Ints, blocks: int, seed: int) -> list[Row]:
    """How far shorter warm-ups are off about the difference of a system and the best one, at most."""
    good = good_systems(lines, CLOSE)
    others = np.random.default_rng(seed).choice(len(lines), min(len(lines), 1_000), replace=False)
    chosen = np.unique(np.concatenate([good, others]))
    warm_ups = (*(warm_up for warm_up, _ in SHORTER), WARM_UP)
    halves = np.zeros((2, chosen.size, len(warm_ups)))
    for i in range(blocks):
        halves[i % 2] += means(lines[chosen], 1, 10**6 + i, warm_ups)[0] / (blocks / 2)
    best = int(halves.mean(axis=0)[:, -1].argmax())
    rows = []
    for place, (warm_up, declared) in enumerate(SHORTER):
        off = halves[:, :, place] - halves[:, :, -1]
        off -= off[:, [best]]
        # The largest of many estimates is too large: it is found on one half and measured on the other.
        measured = [float(off[1 - half, off[half].argmax()]) for half in (0, 1)]
        rows.append({"warm-up": warm_up, "off by": float(np.mean(measured)), "declared": declared})
    return rows


def guard(lines: Ints, blocks: int, runs: int) -> list[Row]:
    """How often the best of equal systems is beaten, by caution."""
    chosen = good_systems(lines, 60)
    recorded = means(lines[chosen], blocks, 2 * 10**6)[:, :, 0]
    # The best one first, as it is by these blocks.
    table = recorded[:, np.argsort(-recorded.mean(axis=0))].T[:, None, :]
    given = mf.Problem(len(chosen), [("only", 1.0)], mf.Gaussian(), blocks="unlimited")
    instance = mf.Instance(given, law=mf.BlockTableLaw(table), name="throughput")
    rows = []
    for caution in (0.0, 1.0, 5.0):
        count = centred_count(instance, caution=caution, delta=DELTA, runs=runs)
        rows.append({"caution": caution, "beaten": count.wrong / count.runs, "runs": count.runs})
    return rows


def main() -> None:
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--parts", nargs="+", default=["race", "truth"], choices=["race", "truth", "bias", "guard"])
    parser.add_argument("--units", type=int, default=50, help="units of rate, and of buffer")
    parser.add_argument("--caution", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", default="ray", choices=["ray", "threads", "processes"])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--storage", default=None)
    parser.add_argument("--blocks", type=int, default=4_000, help="blocks for truth, bias and guard")
    parser.add_argument("--runs", type=int, default=1_000, help="runs for guard")
    parser.add_argument("--progress", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    lines, found = systems(options.units, options.units), {}
    answer = None
    for part in options.parts:
        if part == "race":
            found[part] = race(lines, options)
            answer = found[part]["answer"]
        elif part == "truth":
            found[part] = truth(lines, answer, options.blocks)
        elif part == "bias":
            found[part] = bias(lines, options.blocks, options.seed)
        else:
            found[part] = guard(lines, options.blocks, options.runs)
        print(part, json.dumps(found[part], indent=1), flush=True)
    if "race" in found and options.units == 50:
        for name, (replications, right) in PUBLISHED.items():
            print(f"PyPRS, {name}: {replications:,} replications, within {EPSILON} in {right:.0%} of runs")
    if options.json:
        options.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
