"""Races on normal rewards whose sums are made again from the log, while arms have come to different blocks."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from wide import Player, decisions

import mfbandit as mf
from mfbandit.model import Pull
from mfbandit.study import create_study


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch):
    """Short studies are over before their policies are compiled."""
    monkeypatch.setattr("mfbandit.study.state._planner._LOOK_AFTER_SECONDS", math.inf)


class Evaluation:
    """Normal rewards with a large part that all arms share on a block; some cells cannot be had."""

    def __init__(self, seed: int, arms: int, noise: float, failing: float) -> None:
        chance = random.Random(seed)
        self.seed, self.noise, self.failing = seed, noise, failing
        self.means = [chance.uniform(0.0, 1.0) for _ in range(arms)]

    def _chance(self, *which: object) -> random.Random:
        return random.Random(" ".join(map(str, (self.seed, *which))))

    def reward(self, pull: Pull) -> float:
        shared = self._chance(pull.fidelity, pull.block).gauss(0.0, 1.0)
        own = self._chance(pull.fidelity, pull.block, pull.arm).gauss(0.0, self.noise)
        return shared + own + self.means[pull.arm_index]

    def fails(self, pull: Pull) -> bool:
        return self._chance("fails", pull.arm, pull.fidelity, pull.block).random() < self.failing


@pytest.mark.parametrize(
    ("seed", "arms", "noise", "failing", "epsilon", "width"),
    [
        (18, 4, 0.3, 0.0, 0.2, 1),
        (30, 6, 0.05, 0.0, 0.0, 3),
        (53, 6, 0.3, 0.01, 0.2, 3),
        (134, 5, 0.05, 0.01, 0.0, 3),
    ],
)
def test_sums_that_are_made_again_are_the_same(seed, arms, noise, failing, epsilon, width):
    """What an arm brings after it was beaten, and who was within epsilon, does not depend on when a study is opened."""
    problem = mf.Problem([f"arm {i}" for i in range(arms)], [("exact", 1.0)], mf.Gaussian(), blocks="unlimited")
    evaluation = Evaluation(seed, arms, noise, failing)
    options = {"delta": 0.2, "epsilon": epsilon, "width": width, "seed": seed, "max_cost": 120.0}

    def played(workers: int, reopened: float) -> list[Any]:
        study = create_study(problem, retries=0, on_failure="worst", **options)
        player = Player(workers, reward=evaluation.reward, fails=evaluation.fails, reopened=reopened)
        return decisions(player.play(study))

    assert played(1, 0.0) == played(3, 0.3)


@pytest.mark.parametrize(("seed", "arms"), [(220, 3), (344, 3)])
def test_a_race_stops_by_what_its_certificate_counts(seed, arms):
    """Results of an arm that was beaten while they were out are part of what guards the others."""
    problem = mf.Problem([f"arm {i}" for i in range(arms)], [("exact", 1.0)], mf.Gaussian(), blocks="unlimited")
    evaluation = Evaluation(seed, arms, 0.3, 0.0)
    study = create_study(problem, delta=0.1, width=4, seed=seed, max_cost=400.0)
    result = Player(1, reward=evaluation.reward, fails=evaluation.fails).play(study).result()
    assert result.status == "certified"
    assert result.confidence >= 0.9
