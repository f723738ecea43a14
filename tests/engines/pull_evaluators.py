"""Evaluators that other processes can import."""

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

MEANS = {"good": 0.8, "fair": 0.6, "poor": 0.3}


def noisy(pull):
    """A reward of 0 or 1 that depends on the pull alone."""
    chance = random.Random(f"{pull.arm}|{pull.fidelity}|{pull.seed}")
    return float(chance.random() < MEANS[pull.arm])


def noisy_batch(pulls):
    return [noisy(pull) for pull in pulls]


async def noisy_later(pull):
    return noisy(pull)


def slow(pull):
    time.sleep(0.01)
    return noisy(pull)


class Once:
    """Does something the first time that certain pulls are evaluated, in whatever process."""

    def __init__(self, folder, pulls, act):
        self.folder, self.pulls, self.act = Path(folder), set(pulls), act

    def __call__(self, pull):
        if pull.id in self.pulls:
            try:
                (self.folder / str(pull.id)).touch(exist_ok=False)
            except FileExistsError:
                return noisy(pull)
            self.act(pull)
        return noisy(pull)


def die(pull):
    os._exit(7)


def stumble(pull):
    raise RuntimeError(f"stumbled over pull {pull.id}")


def never(pull):
    raise LookupError("no\nsuch judge")


def fail_on_poor(pull):
    if pull.arm == "poor":
        never(pull)
    return noisy(pull)


def hour(pull):
    time.sleep(3600)


def poor_sleeps_then_fails(pull):
    if pull.arm == "poor":
        if pull.index == 0:
            hour(pull)
        never(pull)


class Hang:
    """Waits for a program that never ends, and notes which it is."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def __call__(self, pull):
        child = subprocess.Popen(["sleep", "3600"])
        (self.folder / f"child {child.pid}").touch()
        child.wait()


def running(folder):
    """The programs that were noted in a folder, and still run."""
    return [path for path in Path(folder).glob("child *") if _runs(int(path.name.split()[1]))]


def _runs(process):
    try:
        with open(f"/proc/{process}/stat") as status:
            return status.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Unsendable(Exception):
    """Cannot be made anew from its arguments, as many errors of clients."""

    def __init__(self, *, response):
        super().__init__("busy")
        self.response = response


def busy(pull):
    raise Unsendable(response=threading.Lock())


def leave(pull):
    sys.exit("the judge left")


def train(pull):
    """Add a line for each fidelity that was reached; what an attempt finds must be what the one before left."""
    state = Path(pull.folder) / "state"
    known = state.read_text().split() if state.exists() else []
    if (known[-1] if known else None) != pull.done:
        raise ValueError(f"{known} was found, and {pull.done!r} was expected")
    state.write_text(" ".join([*known, pull.fidelity]))
    return 0.1 * pull.arm_index + 0.01 * random.Random(f"{pull.block_seed} {pull.arm}").random()


class TrainTogether:
    """Trainings of which none goes on before two processes have one."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def __call__(self, pull):
        (self.folder / f"process {os.getpid()}").touch()
        deadline = time.monotonic() + 120.0
        while len(list(self.folder.glob("process *"))) < 2:
            if time.monotonic() > deadline:
                raise TimeoutError("no other process had a training for two minutes")
            time.sleep(0.01)
        return train(pull)
