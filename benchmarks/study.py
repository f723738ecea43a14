"""What a study adds to an evaluation, beside Optuna in the same run.

    python benchmarks/study.py [--pulls 100000] [--durable-pulls 2000] [--reopen 1000000] [--folder .]

Evaluations take no time here, so all that is measured is asking and telling. A durable tell waits once for
the disk; what that alone takes is printed too, and in a folder in memory (--folder /dev/shm) it takes none,
which leaves what the study layer adds. The policy is lucb-c, which is cheap, on the instance figure-1a.
Optuna (pip install optuna) samples at random among as many choices; it is left out where it is missing.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import mfbandit as mf
from mfbandit.storage import MemoryStorage, open_storage
from mfbandit.storage.records import ROUND
from mfbandit.study import Study, create_study, load_study

WINDOW = 500


def step_of(study: Study) -> Callable[[], None]:
    # All arms alike, so that the study does not end.
    def step() -> None:
        pull = study.ask()[0]
        study.tell(pull, pull.seed & 1)

    return step


def seconds_per_step(step: Callable[[], None], steps: int) -> float:
    """The median over windows, which other programs on the machine disturb least."""
    window = max(1, min(WINDOW, steps // 5))
    found = []
    for _ in range(max(1, steps // window)):
        started = time.perf_counter()
        for _ in range(window):
            step()
        found.append((time.perf_counter() - started) / window)
    return statistics.median(found)


def optuna_step(storage: str | None) -> Callable[[], None] | None:
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


def report(what: str, ours: float, theirs: float | None) -> None:
    line = f"{what:<36} {ours * 1e6:9.1f} us"
    if theirs is not None:
        line += f"   Optuna {theirs * 1e6:9.1f} us   {theirs / ours:7.1f} times ours"
    print(line, flush=True)


def in_memory(instance: mf.Instance, pulls: int) -> None:
    study = create_study(instance.problem, policy="lucb-c")
    step = step_of(study)
    for _ in range(1000 - WINDOW):
        step()
    early = seconds_per_step(step, 2 * WINDOW)
    while study.view().pulls < pulls - 4 * WINDOW:
        for _ in range(1000):
            step()
    late = seconds_per_step(step, 4 * WINDOW)
    theirs = optuna_step(None)
    report("memory, around pull 1,000", early, None)
    report(f"memory, around pull {pulls:,}", late, theirs and seconds_per_step(theirs, 1000))
    print(f"{'':<36} {late / early:9.2f} times the early ones")


def disk_wait(folder: Path) -> float:
    """What one commit of one row takes that waits for the disk."""
    connection = sqlite3.connect(folder / "raw.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE numbers (number INTEGER)")
    return seconds_per_step(lambda: connection.execute("INSERT INTO numbers VALUES (1)"), 400)


def durable(instance: mf.Instance, pulls: int, folder: Path) -> None:
    report("one SQLite commit on this disk", disk_wait(folder), None)
    theirs = optuna_step(f"sqlite:///{folder / 'optuna.db'}")
    rival = theirs and seconds_per_step(theirs, 40)
    for safe in (True, False):
        study = create_study(instance.problem, policy="lucb-c", storage=folder / f"{safe}.db", durable=safe)
        ours = seconds_per_step(step_of(study), pulls)
        report(f"SQLite, {'safe against power loss' if safe else 'durable=False'}", ours, rival)


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
    late = seconds_per_step(step_of(again), 2000)
    report(f"SQLite, around pull {pulls:,}", late, None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pulls", type=int, default=100_000)
    parser.add_argument("--durable-pulls", type=int, default=2000)
    parser.add_argument("--reopen", type=int, default=1_000_000)
    parser.add_argument("--folder", default=".")
    options = parser.parse_args()
    instance = mf.load_instance("figure-1a")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        in_memory(instance, options.pulls)
        durable(instance, options.durable_pulls, Path(folder))
        if options.reopen:
            reopen(instance, options.reopen, Path(folder))


if __name__ == "__main__":
    main()
