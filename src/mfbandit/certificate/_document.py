"""A certificate: what was measured, and what follows from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mfbandit.algorithms import Policy
from mfbandit.certificate._claim_words import claim_of, listed, older_claim, without_bias
from mfbandit.certificate._measured import Measured
from mfbandit.confidence import chances, confidence, is_proven, threshold
from mfbandit.core import Algorithm, Arrays, Goal, State, arrays, keep_arms, new_state
from mfbandit.model import Bernoulli, Gaussian, Problem

__all__ = [
    "FORMAT",
    "STATISTICS",
    "VERSION",
    "WEIGHED",
    "Certificate",
    "EvidenceEntry",
    "fingerprint_of",
]

FORMAT, VERSION = "mfbandit certificate", 2
#: The version of certificates that name the weights of their evidence.
WEIGHED = 3
STATISTICS = ("pulls", "sums", "squares", "deviations")


@dataclass(frozen=True)
class EvidenceEntry:
    """What speaks against one arm."""

    arm: str
    by: str
    evidence: float
    winner: Mapping[str, list[Any]] | None = None
    """Statistics of the arm that beat it at that moment, for evidence of pairs."""
    loser: Mapping[str, list[Any]] | None = None
    leaders: tuple[tuple[str, Mapping[str, list[Any]]], ...] | None = None
    """Arms that were declared leaders, in the order of their first such pulls, with what they gave as leaders."""

    def to_json(self) -> dict[str, Any]:
        """The entry as a plain JSON object."""
        plain: dict[str, Any] = {"arm": self.arm, "by": self.by, "evidence": self.evidence}
        if self.winner is not None and self.loser is not None:
            plain |= {"winner": dict(self.winner), "loser": dict(self.loser)}
        if self.leaders is not None:
            plain["leaders"] = [{"arm": arm, **side} for arm, side in self.leaders]
        return plain


@dataclass(frozen=True)
class Certificate:
    """What a study measured; everything that is claimed follows from these fields.

    Statistics are in unit scale: rewards of a range are mapped to [0, 1], Gaussian rewards are
    distances from the origin that the problem names (0 if it names none).
    """

    problem: Problem
    """As it was declared."""
    policy: Policy
    delta: float
    epsilon: float
    answer: str | None
    statistics: Mapping[str, Mapping[str, list[Any]]]
    """By arm in play: pulls, sums, sums of squares and deviations, one number per fidelity in use."""
    evidence: tuple[EvidenceEntry, ...]
    """One entry per arm in play but the answer."""
    retired: Mapping[str, str]
    """Arms that were given up, and why."""
    retired_pulls: int = 0
    retired_cost: float = 0.0
    widened: Mapping[str, float] | None = None
    """What was added to the bias bounds of fidelities, since the data contradicted them; unit scale."""
    log: str | None = None
    """SHA-256 of the study's log at that moment: of the lines of its export after the first."""
    paid: float | None = None
    """What the results really cost, where that was told; else it follows from their number."""
    pairs_only: bool = False
    """Whether arms are beaten by one other arm each, in a study that might have declared leaders and did not."""
    weights: int = 1
    """The number of the weights that the evidence of pairs has."""

    @classmethod
    def of(cls, view: Measured, log: str | None = None) -> Certificate:
        """The certificate of a study as it stands, and the digest of its log."""
        settings, state = view.settings, view.state
        # Its kind of reward has the origin that the statistics are relative to.
        problem, names = settings.problem, settings.problem.arms
        if not settings.policy.independent:  # which sees no swing of its rewards
            problem = problem.with_reward(view.problem.reward)
        statistics = {
            names[arm]: {part: getattr(state, part)[k].tolist() for part in STATISTICS}
            for k, arm in enumerate(view.arms)
        }
        evidence: tuple[EvidenceEntry, ...] = ()
        if view.best is not None:
            shown = [names[arm] for arm in view.arms]
            evidence = tuple(
                EvidenceEntry(shown[one.arm], shown[one.by], one.evidence, **_sides(one.record, shown))
                for one in view.victories
            )
        return cls(
            problem=problem,
            policy=settings.policy,
            delta=settings.delta,
            epsilon=settings.epsilon,
            answer=view.best,
            statistics=statistics,
            evidence=evidence,
            retired={names[arm]: reason for arm, reason in view.retired.items() if arm not in view.arms},
            retired_pulls=view.retired_pulls,
            retired_cost=view.retired_cost,
            widened={problem.fidelities[m].name: more for m, more in view.added.items()},
            log=log,
            paid=None if view.beyond is None else view.counted_cost,
            pairs_only=settings.goal.pairs_only,
            weights=settings.weights,
        )

    # What follows

    @cached_property
    def arms(self) -> list[str]:
        """The arms in play, in the order of the problem."""
        return [arm for arm in self.problem.arms if arm not in self.retired]

    @cached_property
    def indices(self) -> dict[str, int]:
        """The index of each arm in play."""
        return {arm: position for position, arm in enumerate(self.arms)}

    @cached_property
    def columns(self) -> list[int]:
        """The fidelities that the policy uses."""
        return self.policy.columns(self.problem)

    @cached_property
    def believed(self) -> Problem:
        """The problem as the policy sees it, with the bias bounds that are believed by now."""
        names = [fidelity.name for fidelity in self.problem.fidelities]
        return self.policy.seen(self.problem).widened(
            {names.index(name): more for name, more in (self.widened or {}).items()}
        )

    @cached_property
    def seen(self) -> Arrays:
        """What kernels see: the arms in play at the fidelities in use."""
        kept = [position for position, arm in enumerate(self.problem.arms) if arm in self.indices]
        return keep_arms(arrays(self.believed, self.columns), kept)

    @cached_property
    def algorithm(self) -> Algorithm:
        """The policy made ready for the arms in play."""
        goal = Goal(self.delta, self.epsilon, pairs_only=self.pairs_only, weights=self.weights)
        return self.policy.ready(self.believed, self.seen, goal)

    @cached_property
    def state(self) -> State:
        """The final statistics as kernels see them."""
        state = new_state(self.seen)
        for k, arm in enumerate(self.arms):
            for part in STATISTICS:
                getattr(state, part)[k] = self.statistics[arm][part]
        return state

    @property
    def kind(self) -> str:
        """By which evidence the policy stops."""
        return self.algorithm.evidence if self.arms else "arms"

    @property
    def ways(self) -> int:
        """In how many ways the best arm can be beaten wrongly."""
        return chances(self.kind, len(self.arms))

    @property
    def threshold(self) -> float:
        """The evidence that beats an arm."""
        return threshold(self.ways, self.delta)

    @property
    def least(self) -> float:
        """The least evidence of all entries."""
        return min((entry.evidence for entry in self.evidence), default=0.0)

    @property
    def certified(self) -> bool:
        """Whether every other arm is beaten."""
        return self.answer is not None and is_proven(self.ways, self.delta, self.least)

    @property
    def confidence(self) -> float:
        """How sure the answer is."""
        return 0.0 if self.answer is None else confidence(self.ways, self.delta, self.least)

    @property
    def pulls(self) -> int:
        """The number of results that the statistics hold, and those of retired arms."""
        return self.retired_pulls + sum(sum(side["pulls"]) for side in self.statistics.values())

    @property
    def cost(self) -> float:
        """What they cost."""
        if self.paid is not None:
            return self.paid
        counts = [self.statistics[arm]["pulls"] for arm in self.arms]
        costs = self.seen.cost.tolist()
        spent = [n * cost for row in zip(counts, costs, strict=True) for n, cost in zip(*row, strict=True)]
        return float(self.retired_cost + sum(spent))

    @property
    def claim(self) -> str:
        """What is claimed, and what it assumes, in words."""
        if self.answer is None:
            return "Nothing is claimed: there is no result yet."
        return claim_of(self, self._statement(), self._assumptions())

    @property
    def older_claim(self) -> str:
        """The claim as older versions said it."""
        return older_claim(self.claim, without_bias(self.believed, self.columns))

    def _statement(self) -> str:
        count = len(self.arms)
        others = f"the {count} arms" if not self.retired else f"the {count} arms that were not retired"
        if self.epsilon > 0:
            return f"the true mean of {self.answer!r} is within {self.epsilon!r} of the highest of {others}"
        return f"{self.answer!r} has the highest true mean of {others}"

    def _assumptions(self) -> str:
        reward = self.problem.reward
        if isinstance(reward, Gaussian):
            said = f"independent rewards with normal noise of standard deviation {reward.sigma!r}"
        elif isinstance(reward, Bernoulli):
            said = "independent rewards in [0, 1]"
        else:
            said = f"independent rewards in [{reward.low!r}, {reward.high!r}]"
        if self.policy.independent:
            said += ", every pull on a block of its own drawn at random"
        biased = [m for m in self.columns if self.believed.biases[:, m].any()]
        if biased:
            bounds = [f"{self._bias(m)} at {self.problem.fidelities[m].name!r}" for m in biased]
            said += f", biases of at most {listed(bounds)}"
        said += "".join(f", {phrase}" for phrase in without_bias(self.believed, self.columns))
        if self.widened:
            said += f" (widened at {listed([repr(name) for name in self.widened])}, as the data demanded)"
        if self.retired:
            said += f", failures of {listed([repr(name) for name in self.retired])} that tell nothing of rewards"
        if self.kind in ("pairs", "leaders"):
            leaders = " and leaders" if self.kind == "leaders" else ""
            said += f", active rewards{leaders} chosen before their pulls"
        return f"Assumed: {said}."

    def _bias(self, m: int) -> str:
        """The bound of a fidelity; the least and the largest where arms have their own."""
        bounds = self.believed.biases[:, m]
        least, most = float(bounds.min()), float(bounds.max())
        return repr(most) if least == most else f"{least!r} to {most!r} (by arm)"

    @cached_property
    def fingerprint(self) -> str:
        """Digest of everything that the claim is about: two certificates that share it claim the same."""
        content = {
            "problem": self.problem.to_json(),
            "delta": self.delta,
            "epsilon": self.epsilon,
            "answer": self.answer,
            "certified": self.certified,
            "retired": sorted(self.retired),
            "widened": dict(self.widened or {}),
            "fidelities": self.columns,
        }
        return fingerprint_of(content)

    def to_json(self) -> dict[str, Any]:
        """The certificate as a plain JSON object: what was measured, and what follows from it."""
        return {
            "format": FORMAT,
            "version": VERSION if self.weights == 1 else WEIGHED,
            "claim": self.claim,
            "answer": self.answer,
            "status": "certified" if self.certified else "not certified",
            "confidence": self.confidence,
            "delta": self.delta,
            "epsilon": self.epsilon,
            "threshold": self.threshold,
            "cost": self.cost,
            **({} if self.paid is None else {"paid": self.paid}),
            "pulls": self.pulls,
            "policy": self.policy.to_json(),
            "problem": self.problem.to_json(),
            "arms": self.arms,
            "fidelities": [self.problem.fidelities[m].name for m in self.columns],
            "retired": dict(self.retired),
            "retired_pulls": self.retired_pulls,
            "retired_cost": self.retired_cost,
            "widened": dict(self.widened or {}),
            "biases": {one["name"]: one["bias"] for one in self.believed.to_json()["fidelities"]},
            "statistics": {arm: dict(side) for arm, side in self.statistics.items()},
            "log": self.log,
            "kind": self.kind,
            **({} if self.weights == 1 else {"weights": self.weights}),
            "evidence": [entry.to_json() for entry in self.evidence],
            "fingerprint": self.fingerprint,
        }


def _sides(record: Mapping[str, Any] | None, names: list[str]) -> dict[str, Any]:
    """The statistics that a victory rests on, if it has a record."""
    if record is None:
        return {}
    sides = {side: record[side] for side in ("winner", "loser")}
    if "leaders" not in record:
        return sides
    parts = ("pulls", "sums", "squares")
    leaders = tuple((names[one["arm"]], {part: one[part] for part in parts}) for one in record["leaders"])
    return {**sides, "leaders": leaders}


def fingerprint_of(content: dict[str, Any]) -> str:
    """Digest of what a claim is about, whatever the order of its parts."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
