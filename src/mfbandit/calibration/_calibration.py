"""What a calibration found: bias bounds, offsets, what they promise, and how to use them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mfbandit._checks import Names, Numbers, as_list, check_keys, closest
from mfbandit.errors import InvalidInput
from mfbandit.model import Bernoulli, Bounded, Fidelity, Gaussian, Problem, RewardKind, as_reward_kind

__all__ = ["Calibration"]

_NOISE_WORDS = {
    "normal": "measured means have normal noise of unknown size",
    "bounded": "rewards stay in their range",
    "symmetric": "measured differences are as often too high as too low",
    "none": "the measured means are exact",
    "binary": "rewards are independent and 0 or 1",
}


@dataclass(frozen=True)
class Calibration:
    """Bias bounds per fidelity that cover a new arm with a stated probability.

    Made by :func:`mfbandit.calibrate`.

    Attributes
    ----------
    fidelities, truest
        Names of the fidelities, and the position of the one that is the truth.
    biases
        The bound of each fidelity, in reward units; 0 for the truest.
    offsets
        What to subtract from the rewards of each fidelity; 0 unless a common offset was asked for.
    confidence
        The probability that a new arm keeps the bound, for each fidelity.
    arms, tasks
        What it was calibrated on; `tasks` is None for a pilot of single arms.
    noise, noise_risk, common_offset
        How.
    informed
        False if there were too few arms and the bounds are merely the width of the reward range.
    reward
        The kind of reward.
    paired, shared_items
        Whether differences were taken item by item, and whether arms may share their items.

    Examples
    --------
    >>> from mfbandit.calibration import calibrate
    >>> found = calibrate([[0.6, 0.5]] * 4 + [[0.3, 0.5]], noise="none", confidence=0.8)
    >>> print(found.statement)
    An arm that is exchangeable with these 5 arms has, with probability at least 0.8 for each fidelity, a
    mean at 'fidelity 0' within 0.2 of its mean at 'fidelity 1', provided that the measured means are exact.
    >>> found.problem(["a", "b"], costs=[1, 10])
    <Problem: 2 arms, fidelities 'fidelity 0', 'fidelity 1' (the truth), Bounded(low=0.0, high=1.0)>
    """

    fidelities: tuple[str, ...]
    truest: int
    biases: tuple[float, ...]
    offsets: tuple[float, ...]
    confidence: float
    arms: int
    tasks: int | None
    noise: str
    noise_risk: float
    common_offset: bool
    informed: bool
    reward: RewardKind
    paired: bool = False
    shared_items: bool = False

    @property
    def pair_biases(self) -> tuple[float, ...]:
        """By how much one new arm may gain on another at each fidelity, beyond what is true: a `pair_bias`.

        With a common offset, which cancels, that holds for each pair of arms, and in the direction that counts (who
        gains on whom), with probability `confidence`: each end of the bounds has half of the risk. Without an offset
        the risk is twice as large.
        """
        return tuple(2.0 * bias for bias in self.biases)

    @property
    def statement(self) -> str:
        """What is promised, in words."""
        truth = self.fidelities[self.truest]
        cheap = [m for m in range(len(self.fidelities)) if m != self.truest]
        if not self.informed:
            return (
                f"The {self._basis()} are too few to promise anything with probability {self.confidence:g}: "
                f"the bounds are the width of the reward range, {self.reward.span:g}."
            )
        parts = [f"at {self.fidelities[m]!r} within {self.biases[m]:.4g}{self._shift(m)}" for m in cheap]
        who = "An arm" if self.tasks is None else "An arm picked at random from a task"
        together = 1.0 - len(cheap) * (1.0 - self.confidence)
        joint = f" ({together:.4g} for all {len(cheap)} together)" if len(cheap) > 1 and together > 0 else ""
        return (
            f"{who} that is exchangeable with these {self._basis()} has, with probability at least "
            f"{self.confidence:g} for each fidelity{joint}, a mean {', '.join(parts)} of its mean at "
            f"{truth!r}, provided that {_NOISE_WORDS[self.noise]}{self._items()}."
        )

    def _items(self) -> str:
        if not self.paired or self.noise == "none":
            return ""
        return ", in pairs, on items that arms may share" if self.shared_items else ", in pairs, on items of each arm"

    def _basis(self) -> str:
        if self.tasks is None:
            return f"{self.arms} arms"
        return f"{self.tasks} tasks ({self.arms} arms)"

    def _shift(self, m: int) -> str:
        offset = self.offsets[m]
        if not self.common_offset:
            return ""
        return f" (after {'subtracting' if offset >= 0 else 'adding'} {abs(offset):.4g})"

    def as_fidelities(self, costs: Numbers | Mapping[str, Any]) -> list[Fidelity]:
        """Return the fidelities with these costs, in order or by name, and the calibrated biases."""
        if isinstance(costs, Mapping):
            for name in self.fidelities:
                if name not in costs:
                    raise InvalidInput(f"costs say nothing about fidelity {name!r}{closest(name, costs)}")
            listed = [costs[name] for name in self.fidelities]
        else:
            listed = as_list(costs, "costs must be one per fidelity", InvalidInput)
        if len(listed) != len(self.fidelities):
            raise InvalidInput(f"there are {len(listed)} costs for {len(self.fidelities)} fidelities")
        return [
            Fidelity(name, cost, bias) for name, cost, bias in zip(self.fidelities, listed, self.biases, strict=True)
        ]

    def problem(self, arms: int | Names, costs: Numbers | Mapping[str, Any]) -> Problem:
        """Return the problem of choosing among new arms with the calibrated biases.

        With a common offset its rewards are the corrected ones: see :meth:`corrected`.
        """
        return Problem(arms, self.as_fidelities(costs), self.corrected_reward)

    @property
    def corrected_reward(self) -> RewardKind:
        """The reward kind after the offsets were subtracted; its range is wide enough for all fidelities."""
        kind = self.reward
        if isinstance(kind, Gaussian) or not any(self.offsets):
            return kind
        low, high = (0.0, 1.0) if isinstance(kind, Bernoulli) else (kind.low, kind.high)
        return Bounded(low - max(0.0, *self.offsets), high - min(0.0, *self.offsets))

    def corrected(self, evaluate: Callable[[Any], float]) -> Callable[[Any], float]:
        """Return an evaluator that subtracts the offset of the pull's fidelity from its reward."""
        offsets = dict(zip(self.fidelities, self.offsets, strict=True))

        def evaluate_corrected(pull: Any) -> float:
            if pull.fidelity not in offsets:
                raise InvalidInput(f"fidelity {pull.fidelity!r} was not calibrated")
            return float(evaluate(pull)) - offsets[pull.fidelity]

        return evaluate_corrected

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain lists, numbers and strings, the statement included."""
        return {
            "fidelities": list(self.fidelities),
            "truest": self.truest,
            "biases": list(self.biases),
            "offsets": list(self.offsets),
            "confidence": self.confidence,
            "arms": self.arms,
            "tasks": self.tasks,
            "noise": self.noise,
            "noise_risk": self.noise_risk,
            "common_offset": self.common_offset,
            "informed": self.informed,
            "reward": self.reward.to_json(),
            "paired": self.paired,
            "shared_items": self.shared_items,
            "statement": self.statement,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Calibration:
        """Read back what :meth:`to_json` wrote."""
        later = ("paired", "shared_items")
        names = [name for name in cls.__dataclass_fields__ if name not in later]
        keys = check_keys(data, names, ("statement", *later), "a calibration", InvalidInput)
        keys.pop("statement", None)
        keys["reward"] = as_reward_kind(keys["reward"])
        for name in ("fidelities", "biases", "offsets"):
            keys[name] = tuple(keys[name])
        return cls(**keys)

    def __str__(self) -> str:
        """Return the statement."""
        return self.statement
