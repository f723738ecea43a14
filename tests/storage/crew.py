"""A crew of worker processes on one study, some of which are killed; run as a program by the tests.

    python crew.py URL NAME WORKERS KILLS SEED ACKNOWLEDGED [DURABLE [GROWS]]
    python crew.py

Without arguments it reads lines of such arguments, as JSON, and starts a crew for each, one after the other: what it
imports is imported once. A crew says what it has to say in the files ACKNOWLEDGED.out and ACKNOWLEDGED.err then, and
how it ended is printed.

Workers are forked, so that starting one takes milliseconds, and open the study by themselves. Each appends
to the file ACKNOWLEDGED what `tell` has confirmed to it. The crew ends when KILLS workers were killed at
random moments or, with KILLS = 0, when the study is done; it prints how many it killed. With DURABLE = 0 or 1
workers open the study so, and each evaluation of one pull in seven fails the first time. With GROWS = 1 results are
confirmed between any two kills.

The file ACKNOWLEDGED.jsonl, where there is one, is the study as it was exported before: what decides in it is read
once, and not by every worker.
"""

import contextlib
import gc
import importlib
import json
import os
import random
import signal
import sys
import time
import traceback


def reward_of(seed: int) -> float:
    """What an evaluation returns: a function of the seed alone."""
    return random.Random(seed).random() ** 2


def cost_of(study, pull) -> float | None:
    """What an evaluation costs, where that is measured; every fourth is taken from a cache."""
    measured = study.problem.fidelities[pull.fidelity_index].measured
    return (pull.seed % 4) * (1.0 + pull.arm_index) * 0.7 if measured else None


def work(url: str, name: str, acknowledged: str, durable: str = "") -> None:
    from mfbandit.study import load_study

    study = load_study(url, name, durable=durable != "0")
    file = os.open(acknowledged, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    while not study.done:
        pulls = study.ask(2)
        for pull in pulls:
            if durable and pull.seed % 7 == 0 and pull.id not in study.current().failures:
                study.fail(pull, "the first time")
            elif study.tell(pull, reward_of(pull.seed), cost=cost_of(study, pull)):
                os.write(file, f"{pull.id} {reward_of(pull.seed)!r}\n".encode())
        if not pulls:
            time.sleep(0.005)


def await_growth(acknowledged: str, size: int) -> int:
    """Wait until more is acknowledged than so many bytes; returns how many there are."""
    end = time.monotonic() + 60.0
    while not os.path.exists(acknowledged) or os.path.getsize(acknowledged) <= size:
        if time.monotonic() > end:
            raise SystemExit("nothing was acknowledged for a minute")
        time.sleep(0.001)
    return os.path.getsize(acknowledged)


def hire(url: str, name: str, acknowledged: str, *durable: str) -> int:
    """Start a worker; its exit code is 1 if anything at all went wrong."""
    number = os.fork()
    if number:
        return number
    try:
        work(url, name, acknowledged, *durable)
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def read_what_decides(exported: str) -> None:
    """Read and try the code of a policy, in a study that only lives in memory; no worker compiles it."""
    from mfbandit.study import import_study
    from mfbandit.study.state import _planner

    _planner._COMPILE_AFTER_SECONDS = float("inf")
    if os.path.exists(exported):
        study = import_study(exported)
        study.code.check()
        study.ask()


def run(
    url: str, name: str, workers: str, kills: str, seed: str, acknowledged: str, durable: str = "", grows: str = ""
) -> None:
    """Let a crew work; prints how many of it were killed."""
    read_what_decides(f"{acknowledged}.jsonl")
    gc.freeze()  # no worker looks through, and so copies, what it shares with the others
    chance = random.Random(int(seed))
    arguments = (url, name, acknowledged, *filter(None, [durable]))
    crew = [hire(*arguments) for _ in range(int(workers))]
    killed = 0
    size = 0
    while killed < int(kills):
        if grows:
            size = await_growth(acknowledged, size)
        time.sleep(chance.uniform(0.0, 0.06))
        victim = chance.randrange(len(crew))
        os.kill(crew[victim], signal.SIGKILL)
        _, status = os.waitpid(crew[victim], 0)
        if not os.WIFSIGNALED(status):
            raise SystemExit("the study ended before all workers were killed")
        killed += 1
        crew[victim] = hire(*arguments)
    if killed:
        for number in crew:
            os.kill(number, signal.SIGKILL)
            killed += 1
    codes = [os.waitpid(number, 0)[1] for number in crew]
    if not killed and any(codes):
        raise SystemExit(f"workers ended with {codes}")
    print(killed)


def run_apart(arguments: list[str]) -> int:
    """Let a crew work in a process of its own; returns how it ended."""
    number = os.fork()
    if number:
        return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    try:
        for stream, ending in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{arguments[5]}.{ending}", os.O_CREAT | os.O_WRONLY | os.O_APPEND), stream)
        run(*arguments)
        sys.stdout.flush()
        os._exit(0)
    except BaseException:
        traceback.print_exc()
        os._exit(1)


def main() -> None:
    # What workers need is loaded once, before they are forked; but nothing is opened.
    for module in ("mfbandit.study", "mfbandit.storage._sql", "sqlalchemy.dialects.sqlite", "psycopg"):
        with contextlib.suppress(ImportError):
            importlib.import_module(module)
    if sys.argv[1:]:
        run(*sys.argv[1:])
    for line in sys.stdin if not sys.argv[1:] else ():
        print(run_apart(json.loads(line)), flush=True)


if __name__ == "__main__":
    main()
