"""What a simulation found: arrays with one entry per trial, and their summary."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from mfbandit import theory
from mfbandit._optional import optional
from mfbandit.algorithms import Policy
from mfbandit.core import Goal
from mfbandit.formatting import Mean
from mfbandit.instances import Instance
from mfbandit.model import BetterThan, wrong_answers
from mfbandit.simulation._virtual_workers import Durations

__all__ = ["Runs", "WidthRow"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Runs:
    """The trials of one simulation.

    Attributes
    ----------
    cost : array (trials,)
        Total cost of each run.
    best : array (trials,)
        The arm each run answered with (or would have).
    stopped : array of bool (trials,)
        Whether the run ended by itself rather than at `max_cost` or `max_pulls`.
    pulls : array (trials, K, M)
        Pulls per arm and fidelity.
    marks, mark_pulls, mark_best : arrays (marks,), (trials, marks, K, M), (trials, marks)
        Where each run stood when its cost reached each mark.
    trace : array (trials, rows, 3)
        The first rows (arm, fidelity, count) of each run, on request; with several workers also rows that were
        planned and not begun before the answer, which cost nothing.
    sides : array (trials, K)
        Where each arm stands at the end, for other goals than the best arm: 1 if it is chosen (or better), 2 if it is
        not, 0 if that is open; (trials, 0) where one best arm is looked for.
    out_of_room : array of bool (trials,)
        Which runs ended because there was no room for the rewards of more blocks; none without blocks.
    time, busy : arrays (trials,)
        When each run had its answer, and how long all workers together were busy until then, on a virtual clock.
        By default every pull takes 1.
    width : int
        How many workers there were.
    durations : Durations or None
        How long pulls took, where that was given.
    seconds : float
        Wall-clock time of the simulation.
    """

    instance: Instance
    policy: Policy
    goal: Goal
    seed: int
    device: str
    cost: Floats
    best: Ints
    stopped: npt.NDArray[np.bool_]
    pulls: Ints
    seconds: float
    marks: Floats = field(repr=False)
    mark_pulls: Ints = field(repr=False)
    mark_best: Ints = field(repr=False)
    trace: Ints = field(repr=False)
    sides: Ints = field(repr=False)
    out_of_room: npt.NDArray[np.bool_] = field(repr=False)
    time: Floats = field(repr=False)
    busy: Floats = field(repr=False)
    width: int = 1
    durations: Durations | None = None

    def __repr__(self) -> str:
        """Sum up the runs in one line; `summary` has more."""
        cost = Mean.of(self.cost).text()
        return (
            f"<Runs of {self.policy.label} on {self.instance.name or 'an instance'}: {self.trials:,} "
            f"trial{'' if self.trials == 1 else 's'}, mean cost {cost}, {int(self.stopped.sum()):,} stopped, "
            f"{int(self.wrong.sum()):,} wrong>"
        )

    @property
    def trials(self) -> int:
        """How many runs."""
        return len(self.cost)

    @property
    def utilisation(self) -> float:
        """The share of the time until the answers in which workers were busy; 1 if there was nothing to do."""
        until = float(self.time.sum())
        return float(self.busy.sum()) / (self.width * until) if until > 0.0 else 1.0

    @property
    def wrong(self) -> npt.NDArray[np.bool_]:
        """Which runs stopped with an answer that is not the best (or not within epsilon of it), or not what was asked.

        Whether an arm is better than a control is claimed as soon as it is shown, so that it counts for runs too that
        did not stop.
        """
        truth, question = self.instance.truth, self.goal.question
        if question is not None:
            wrong = wrong_answers(question, self.instance.problem.arms, truth, self.sides, self.goal.epsilon)
            return wrong if isinstance(question, BetterThan) else np.asarray(self.stopped & wrong)
        lost = truth.max() - truth[self.best]
        return np.asarray(self.stopped & (lost > self.goal.epsilon))

    @property
    def budget(self) -> float | None:
        """The budget, for policies that spend one."""
        return self.goal.budget if math.isfinite(self.goal.budget) else None

    @property
    def regret(self) -> Floats:
        """The paper's regret of each run, on its budget or, without one, on what it spent."""
        spent = self.cost if self.budget is None else self.budget
        return np.asarray(theory.regret(self.instance, self.pulls, spent))

    @property
    def cost_regret(self) -> Floats:
        """The regret of Kandasamy et al. of each run, weighted by cost."""
        spent = self.cost if self.budget is None else self.budget
        return np.asarray(theory.cost_regret(self.instance, self.pulls, spent))

    def summary(self) -> dict[str, Any]:
        """The figures that ``mfbandit simulate --json`` prints."""
        bounded = self.policy.spends
        # What no policy can do without is not known for arms that share blocks.
        known = not bounded and self.instance.problem.blocks is None
        limit = theory.limit(self.instance, self.goal.delta) if known else None
        mean_cost = float(self.cost.mean())
        pulls = self.pulls.sum(axis=(1, 2))
        per_fidelity = not self.instance.problem.costs_per_arm
        over = mean_cost / limit if limit and math.isfinite(limit) else None
        return {
            "instance": self.instance.name,
            "policy": self.policy.label,
            **({} if self.goal.question is None else {"goal": self.goal.question.label}),
            "delta": None if bounded else self.goal.delta,
            "epsilon": self.goal.epsilon,
            "budget": self.budget,
            "trials": self.trials,
            "seed": self.seed,
            "device": self.device,
            "mean_cost": mean_cost,
            "std_cost": float(self.cost.std(ddof=1)) if self.trials > 1 else 0.0,
            "mean_pulls": float(pulls.mean()),
            "error_rate": float(self.wrong.mean()),
            "stopped_rate": float(self.stopped.mean()),
            **({"out_of_room": int(self.out_of_room.sum())} if self.out_of_room.any() else {}),
            "limit": limit if limit is None or math.isfinite(limit) else None,
            "cost_over_limit": over,
            "mean_regret": float(self.regret.mean()) if per_fidelity else None,
            "mean_cost_regret": float(self.cost_regret.mean()) if per_fidelity else None,
            "width": self.width,
            "mean_time": float(self.time.mean()),
            "utilisation": self.utilisation,
            "seconds": self.seconds,
            "pulls_per_second": float(pulls.sum() / max(self.seconds, 1e-9)),
        }

    def to_frame(self) -> Any:
        """The runs as a pandas DataFrame, one row per trial (needs the ``pandas`` extra)."""
        pd = optional("pandas", "data frames need pandas", "pandas")
        columns: dict[str, Any] = {
            "trial": np.arange(self.trials),
            "cost": self.cost,
            "best": [self.instance.problem.arms[k] for k in self.best],
            "stopped": self.stopped,
            "wrong": self.wrong,
            "pulls": self.pulls.sum(axis=(1, 2)),
            "time": self.time,
            "busy": self.busy,
        }
        for m, fidelity in enumerate(self.instance.problem.fidelities):
            columns[f"pulls at {fidelity.name}"] = self.pulls[:, :, m].sum(axis=1)
        if not self.instance.problem.costs_per_arm:
            columns["regret"] = self.regret
            columns["cost_regret"] = self.cost_regret
        return pd.DataFrame(columns)


@dataclass(frozen=True)
class WidthRow:
    """What some workers make of it: cost, and time to the answer."""

    workers: int
    mean_cost: float
    standard_error: float
    """Of the mean cost."""
    mean_time: float
    """In the unit of the durations; by default every pull takes 1."""
    utilisation: float
    """The share of the time in which workers are busy."""

    @classmethod
    def of(cls, runs: Runs) -> WidthRow:
        """Sum up some runs."""
        error = float(runs.cost.std(ddof=1)) / math.sqrt(runs.trials) if runs.trials > 1 else math.nan
        return cls(runs.width, float(runs.cost.mean()), error, float(runs.time.mean()), runs.utilisation)
