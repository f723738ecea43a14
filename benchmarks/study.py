"""What a study adds to an evaluation, beside Optuna in the same run.

    python benchmarks/study.py [--pulls 100000] [--reopen 1000000] [--folder .]

Evaluations take no time here, so all that is measured is asking and telling. A durable tell waits once for
the disk; what that alone takes is printed too, and in a folder in memory (--folder /dev/shm) it takes none,
which leaves what the study layer adds. The policy is lucb-c, which is cheap, on the instance figure-1a.
Optuna (pip install optuna) samples at random among as many choices; it is left out where it is missing.

A process that waits for the disk has to get its processor back afterwards: on a machine that has other work
for all its processors, that takes longer than the disk does, and this measures little else.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import mfbandit as mf
from mfbandit.storage import ROUND, MemoryStorage, open_storage
from mfbandit.study import Study, create_study, load_study

Step = Callable[[], None]


def step_of(study: Study) -> Step:
    # All arms alike, so that the study does not end.
    def step() -> None:
        pull = study.ask()[0]
        study.tell(pull, pull.seed & 1)

    return step


def in_turn(rivals: dict[str, tuple[Step, int]], turns: int) -> dict[str, list[tuple[float, float]]]:
    """Seconds per step, by the wall and of the processor, of all rivals in turn.

    Other programs disturb a machine for a while at a time: rivals that take short turns share that.
    """
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in rivals}
    for _ in range(turns):
        for name, (step, steps) in rivals.items():
            wall, busy = time.perf_counter(), time.process_time()
            for _ in range(steps):
                step()
            ended = time.perf_counter() - wall, time.process_time() - busy
            found[name].append((ended[0] / steps, ended[1] / steps))
    return found


def show(found: dict[str, list[tuple[float, float]]], beside: str) -> None:
    """Medians over turns, and the median of the ratios within a turn to the one that is named."""
    print(f"{'':<36}{'wall us':>10}{'cpu us':>10}   {beside} over this: wall, cpu", flush=True)
    for name, turns in found.items():
        wall, busy = (statistics.median(turn[part] for turn in turns) * 1e6 for part in (0, 1))
        line = f"{name:<36}{wall:>10.1f}{busy:>10.1f}"
        if beside in found and name != beside:
            pairs = list(zip(found[beside], turns, strict=True))
            ratios = [statistics.median(other[p] / own[p] for other, own in pairs) for p in (0, 1)]
            line += f"   {ratios[0]:>8.1f} {ratios[1]:>8.1f}"
        print(line, flush=True)


def optuna_step(storage: str | None) -> Step | None:
    try:
        import optuna
    except ImportError:
        return None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(storage=storage, sampler=sampler, direction="maximize")

    def step() -> None:
        trial = study.ask()
        trial.suggest_categorical("arm", ["a", "b", "c", "d", "e"])
        trial.suggest_categorical("fidelity", [0, 1, 2])
        study.tell(trial, 0.5)

    return step


def in_memory(instance: mf.Instance, pulls: int) -> None:
    late = create_study(instance.problem, policy="lucb-c")
    step = step_of(late)
    for _ in range(pulls):
        step()
    early = create_study(instance.problem, policy="lucb-c")
    for _ in range(900):
        step_of(early)()
    rivals = {
        f"memory, from pull {pulls:,} on": (step, 200),
        "memory, from pull 900 on": (step_of(early), 200),
    }
    other = optuna_step(None)
    if other is not None:
        rivals["Optuna"] = other, 50
    found = in_turn(rivals, 25)
    show(found, "Optuna")
    first, second = list(found.values())[:2]
    growth = statistics.median(a[1] / b[1] for a, b in zip(first, second, strict=True))
    print(f"late over early (cpu): {growth:.2f}")


def raw_write(folder: Path) -> Step:
    """One page that waits for the disk, written over an older one: no durable tell can be faster."""
    file = os.open(folder / "raw", os.O_RDWR | os.O_CREAT)
    wait = getattr(os, "fdatasync", os.fsync)
    os.write(file, bytes(2**20))
    os.fsync(file)

    def step() -> None:
        os.pwrite(file, bytes(4096), 0)
        wait(file)

    return step


def raw_commit(folder: Path) -> Step:
    """One commit of one row by hand that waits for the disk, with SQLite's usual settings."""
    connection = sqlite3.connect(folder / "raw.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE numbers (number INTEGER)")

    def step() -> None:
        connection.execute("INSERT INTO numbers VALUES (1)")

    return step


def durable(instance: mf.Instance, folder: Path) -> None:
    rivals: dict[str, tuple[Step, int]] = {
        "one page written over, nothing else": (raw_write(folder), 40),
        "one bare SQLite commit": (raw_commit(folder), 40),
    }
    for safe, name in ((True, "SQLite, safe against power loss"), (False, "SQLite, durable=False")):
        study = create_study(instance.problem, policy="lucb-c", storage=folder / f"{safe}.db", durable=safe)
        rivals[name] = step_of(study), 40
    other = optuna_step(f"sqlite:///{folder / 'optuna.db'}")
    if other is not None:
        rivals["Optuna"] = other, 4
    show(in_turn(rivals, 25), "Optuna")


def reopen(instance: mf.Instance, pulls: int, folder: Path) -> None:
    memory = create_study(instance.problem, policy="lucb-c", storage=MemoryStorage())
    step = step_of(memory)
    while memory.current().asked < pulls:
        step()
    records = memory.storage.log(memory.name).read(0)
    path = folder / "large.db"
    storage = open_storage(path)
    large = create_study(instance.problem, policy="lucb-c", storage=storage)
    storage.log(large.name).exchange(0, lambda news, clock: records, safe=True)
    storage.close()
    started = time.perf_counter()
    again = load_study(str(path))
    seconds = time.perf_counter() - started
    same = again.view().state.sums.tolist() == memory.view().state.sums.tolist()
    rounds = sum(record.kind == ROUND for record in records)
    size = path.stat().st_size / 2**20
    print(f"reopening {pulls:,} pulls in {rounds:,} rounds ({size:.0f} MiB): {seconds:.2f} s, same: {same}")
    show(in_turn({f"SQLite, from pull {pulls:,} on": (step_of(again), 40)}, 10), "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pulls", type=int, default=100_000)
    parser.add_argument("--reopen", type=int, default=1_000_000)
    parser.add_argument("--folder", default=".")
    options = parser.parse_args()
    instance = mf.load_instance("figure-1a")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        in_memory(instance, options.pulls)
        durable(instance, Path(folder))
        if options.reopen:
            reopen(instance, options.reopen, Path(folder))


if __name__ == "__main__":
    main()
