"""Studies that are played by many workers in any order: what tests of width share."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import mfbandit as mf
from mfbandit.model import Pull
from mfbandit.storage import ROUND
from mfbandit.study import Study, load_study
from mfbandit.study.state.rounds._round_record import read_round

FIDELITIES = [("quick", 1.0, 0.1), ("exact", 4.0, 0.0)]
PROBLEM = mf.Problem(["a", "b", "c", "d"], FIDELITIES, reward="bernoulli")
MEANS = (0.75, 0.5, 0.4, 0.2)
#: What a round decides, in its record.
DECIDED = ("rows", "counted", "marked", "leading", "cut", "arms", "broken", "added", "opened", "blocks")

Reward = Callable[[Pull], float]


def reward_of(pull: Pull) -> float:
    """A reward of 0 or 1 that depends on which pull it is, and on nothing else."""
    chance = random.Random(f"{pull.arm} {pull.fidelity} {pull.index if pull.block is None else pull.block}")
    return float(chance.random() < MEANS[pull.arm_index])


class Endless:
    """An evaluation that takes a minute from some pull on; other processes can have it, too."""

    def __init__(self, first: int) -> None:
        self.first = first

    def __call__(self, pull: Pull) -> float:
        if pull.id >= self.first:
            time.sleep(60.0)
        if pull.id == self.first - 1:  # others begin meanwhile
            time.sleep(1.0)
        return reward_of(pull)


def rounds_of(study: Study) -> list[Any]:
    """What the log says was asked for: where each round begins, and all that it decides."""
    records = study.storage.log(study.name).read(0)
    bodies = [(record.pull, read_round(record.text)) for record in records if record.kind == ROUND]
    return [(pull, {key: body[key] for key in DECIDED if key in body}) for pull, body in bodies]


def decisions(study: Study) -> list[Any]:
    """All that must not depend on workers, on time, or on luck."""
    result = study.result()
    known = {key: value for key, value in result.certificate.items() if key not in ("log", "fingerprint", "made_by")}
    return [rounds_of(study), result.status, result.best, result.confidence, result.retired, known]


class Player:
    """Workers that ask, and bring results in an order of their own; some evaluations fail.

    Parameters
    ----------
    workers, seed
        How many there are, and what the order of results depends on.
    reward
        What an evaluation returns.
    fails
        Whether each attempt at a pull fails.
    reopened
        How often the study is opened anew.
    replicas
        How many processes have it open, as it were: each step is taken by any of them.
    """

    def __init__(
        self,
        workers: int,
        seed: int = 0,
        *,
        reward: Reward = reward_of,
        fails: Callable[[Pull], bool] = lambda pull: False,
        reopened: float = 0.0,
        replicas: int = 1,
    ) -> None:
        self.workers, self.luck = workers, random.Random(seed)
        self.reward, self.fails, self.reopened, self.replicas = reward, fails, reopened, replicas
        self.out: list[Pull] = []
        #: What each pull costs that was begun.
        self.begun: dict[int, float] = {}

    def play(self, study: Study, steps: int = 10**9) -> Study:
        """Play to the end, or so many steps; returns the study, which may have been opened anew."""
        opened = [study, *(load_study(study.storage, study.name) for _ in range(self.replicas - 1))]
        for _ in range(steps):
            if self.luck.random() < self.reopened:
                opened[self.luck.randrange(self.replicas)] = load_study(study.storage, study.name)
            study = self.luck.choice(opened)
            free = self.workers - len(self.out)
            asked = study.ask(free) if free else []
            self.out += asked
            self.begun |= {pull.id: pull.cost for pull in asked}
            if study.done:
                break
            study = self.luck.choice(opened)
            pull = self.out.pop(self.luck.randrange(len(self.out)))
            if self.fails(pull):
                study.fail(pull, "no answer")
            else:
                study.tell(pull, self.reward(pull))
        return study
