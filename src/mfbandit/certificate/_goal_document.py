"""The certificate of a race on blocks with another goal than the best arm."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mfbandit.certificate._claim_words import GOAL_UNSHOWN, claim_of, listed
from mfbandit.certificate._document import fingerprint_of
from mfbandit.certificate._measured import Measured
from mfbandit.certificate._race_document import BLOCKS, RaceCertificate
from mfbandit.confidence.goals import Verdicts, settled_by
from mfbandit.model import BetterThan, CheapestWithin, Question, TopM

__all__ = ["GoalCertificate"]


@dataclass(frozen=True)
class GoalCertificate(RaceCertificate):
    """What such a race measured, what was asked, and the arms that are the answer."""

    question: Question | None = None
    chosen: tuple[str, ...] = ()
    """The arms that are chosen, or better than the control."""

    @classmethod
    def of(cls, view: Measured, log: str | None = None) -> GoalCertificate:
        """The certificate of a study as it stands, and the digest of its log."""
        made = super().of(view, log)
        assert isinstance(made, GoalCertificate)
        return dataclasses.replace(made, question=view.settings.question, chosen=view.chosen)

    # What follows

    @property
    def asked(self) -> Question:
        """What was asked."""
        assert self.question is not None
        return self.question

    @cached_property
    def verdicts(self) -> Verdicts:
        """What is shown of each arm."""
        return settled_by(self.asked, self.race, [self.problem.arms.index(arm) for arm in self.chosen])

    @cached_property
    def certified(self) -> bool:
        """Whether all is shown that was asked for."""
        return bool(self.rewards) and self.verdicts.certified

    @cached_property
    def confidence(self) -> float:
        """How sure it is that all that is said of the arms is right."""
        return self.verdicts.confidence if self.rewards else 0.0

    @cached_property
    def words(self) -> dict[str, str]:
        """What is shown of each arm, by name."""
        return {self.problem.arms[arm]: word for arm, word in self.verdicts.words.items()} if self.rewards else {}

    @cached_property
    def evidence(self) -> list[dict[str, Any]]:
        """The level at which what is said of each arm is shown; 0 if for certain."""
        if not self.rewards:
            return []
        levels = self.verdicts.log_levels
        return [
            {"arm": self.problem.arms[arm], "verdict": word, "level": math.exp(min(0.0, float(levels[arm])))}
            for arm, word in self.verdicts.words.items()
        ]

    @property
    def claim(self) -> str:
        """What is claimed, and what it assumes, in words."""
        if not self.rewards:
            return "Nothing is claimed: there is no result yet."
        return claim_of(self, self._statement(), f"Assumed: {', '.join(self._assumptions())}. {GOAL_UNSHOWN}")

    def _statement(self) -> str:
        blocks = self.problem.blocks
        over = "" if blocks == "unlimited" else f" over the {blocks} blocks of the set"
        names, near = listed([repr(arm) for arm in self.chosen]) if self.chosen else "none", self.epsilon
        asked = self.asked
        if isinstance(asked, BetterThan):
            by = f" by more than {near!r}" if near else ""
            said = {word: [repr(arm) for arm, one in self.words.items() if one == word] for word in _CONTROL}
            parts = [f"better than {asked.control!r}: {_names(said['better'])}", f"not better{by}: "]
            parts[1] += _names(said["not better"])
            if said["open"]:
                parts.append(f"nothing is shown about {listed(said['open'])}")
            return f"by their true means{over}, {'; '.join(parts)}"
        if isinstance(asked, TopM):
            if near:
                return f"no other arm has a true mean{over} that is higher than that of {names} by more than {near!r}"
            highest = "has the highest true mean" if asked.m == 1 else f"have the {asked.m} highest true means"
            return f"{names} {highest} of the {len(self.arms)} arms{over}"
        assert isinstance(asked, CheapestWithin)
        far = f"{near!r}" if not asked.slack else f"{near!r} less the slack of {asked.slack!r}"
        return (
            f"the true mean of {names}{over} is within {near!r} of the highest of the {len(self.arms)} arms, and each "
            f"arm that is cheaper to use is worse than the best by more than {far}"
        )

    def _assumptions(self) -> list[str]:
        # No process follows leaders.
        return [said for said in super()._assumptions() if not said.startswith("leaders declared")]

    @cached_property
    def fingerprint(self) -> str:
        """Digest of everything that the claim is about: two certificates that share it claim the same."""
        content = {
            "kind": BLOCKS,
            "goal": self.asked.to_json(),
            "problem": self.problem.to_json(),
            "delta": self.delta,
            "epsilon": self.epsilon,
            "seed": self.seed,
            "answer": list(self.chosen),
            "verdicts": self.words,
            "certified": self.certified,
            "fidelities": self.columns,
        }
        return fingerprint_of(content)

    def to_json(self) -> dict[str, Any]:
        """The certificate as a plain JSON object: what was measured, and what follows from it."""
        plain = super().to_json()
        del plain["tied"], plain["exact"]
        return {**plain, "goal": self.asked.to_json(), "answer": list(self.chosen), "verdicts": self.words}


#: What is said of arms beside a control.
_CONTROL = ("better", "not better", "open")


def _names(names: list[str]) -> str:
    return listed(names) if names else "none"
