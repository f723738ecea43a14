"""An instance: a problem, the hidden means and the law of the rewards."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mfbandit._checks import FloatArray, Numbers, check_keys, frozen, is_whole
from mfbandit.errors import InstanceError, InvalidInput, ModelWarning
from mfbandit.instances._block_draws import block_law, seeded_draw
from mfbandit.instances._evaluator import Evaluator
from mfbandit.instances._fitting import checked_means, fitting_law
from mfbandit.instances._laws import RewardLaw, law_from_json
from mfbandit.instances._reward_draws import draw_of, law_arrays
from mfbandit.model import Gaussian, Problem

__all__ = ["Instance", "Violation", "evaluator"]

# Differences of decimal fractions are off by rounding: 0.6 - 0.5 > 0.1 in floats.
_ROUNDING = 1e-9
_MOST_NAMED = 10


@dataclass(frozen=True)
class Violation:
    """A mean that is farther from the truth than its bias bound allows, or the difference of two means.

    Parameters
    ----------
    arm, fidelity
        Names of the cell.
    difference
        Distance of its mean from the mean at the truest fidelity.
    bias
        The bound that this distance breaks.
    other
        Name of a second arm: then the difference of the two is so far from that of their truths, and the bound is
        the pair bias of the fidelity.

    Examples
    --------
    >>> Violation("a", "survey", difference=0.05, bias=0.04).sentence
    "arm 'a', fidelity 'survey' is 0.05 from the truth, beyond its bias bound 0.04"
    """

    arm: str
    fidelity: str
    difference: float
    bias: float
    other: str | None = None

    @property
    def sentence(self) -> str:
        """The violation in words."""
        if self.other is not None:
            return (
                f"the difference of the arms {self.arm!r} and {self.other!r} at fidelity {self.fidelity!r} is "
                f"{self.difference:.6g} from that of their truths, beyond the pair bias {self.bias:.6g}"
            )
        return (
            f"arm {self.arm!r}, fidelity {self.fidelity!r} is {self.difference:.6g} from the "
            f"truth, beyond its bias bound {self.bias:.6g}"
        )


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Instance:
    """A problem together with its hidden means and reward law: what a simulation needs.

    Parameters
    ----------
    problem
        What an algorithm is told.
    means
        Mean reward of every arm (row) at every fidelity (column), in reward units. With a
        :class:`TableLaw` or a :class:`BlockTableLaw` they may be left out.
    law
        :class:`BernoulliLaw` for Bernoulli rewards, :class:`GaussianLaw` for Gaussian ones (these
        two are the defaults), :class:`BetaLaw` or :class:`BernoulliLaw` for bounded ones, and
        :class:`TableLaw` for all with a range. With blocks: :class:`BlockTableLaw`, or
        :class:`BlockEffectLaw` for unlimited ones.
    name
        What people call it.
    strict
        Whether a mean beyond its bias bound is an error; if not, it is one
        :class:`~mfbandit.errors.ModelWarning`.

    Examples
    --------
    >>> problem = Problem.from_arrays([1, 20], [0.08, 0], arms=["a", "b"], reward="bernoulli")
    >>> instance = Instance(problem, [[0.85, 0.9], [0.75, 0.8]], name="tiny")
    >>> instance
    <Instance 'tiny': 2 arms, 2 fidelities, BernoulliLaw(), best arm 'a' with mean 0.9>
    >>> instance.truth
    array([0.9, 0.8])
    >>> Instance.from_json(instance.to_json()) == instance
    True
    """

    problem: Problem
    means: FloatArray
    law: RewardLaw
    name: str
    strict: bool

    def __init__(
        self,
        problem: Problem,
        means: Numbers | None = None,
        law: RewardLaw | None = None,
        name: str = "",
        strict: bool = True,
    ) -> None:
        if not isinstance(problem, Problem):
            raise InstanceError(f"an instance needs a Problem, got {problem!r}")
        if not isinstance(name, str):
            raise InstanceError(f"the name of an instance must be a text, got {name!r}")
        if not isinstance(strict, bool | np.bool_):
            raise InstanceError(f"strict is {strict!r}; it must be True or False")
        fitting = fitting_law(problem, law)
        object.__setattr__(self, "means", checked_means(problem, means, fitting))
        object.__setattr__(self, "problem", _centred(problem, self.means))
        object.__setattr__(self, "law", fitting)
        object.__setattr__(self, "name", str(name))
        object.__setattr__(self, "strict", bool(strict))
        self._report_violations()

    @classmethod
    def from_json(cls, data: Mapping[str, Any], *, strict: bool | None = None) -> Instance:
        """Read back what :meth:`to_json` wrote; `strict` overrides what it says."""
        required = ("problem", "means", "law")
        keys = check_keys(data, required, ("name", "strict"), "an instance", InstanceError)
        return cls(
            Problem.from_json(keys["problem"]),
            keys["means"],
            law_from_json(keys["law"]),
            name=keys.get("name", ""),
            strict=keys.get("strict", True) if strict is None else strict,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the whole instance as plain lists, numbers and strings."""
        return {
            "name": self.name,
            "problem": self.problem.to_json(),
            "means": self.means.tolist(),
            "law": self.law.to_json(),
            "strict": self.strict,
        }

    @cached_property
    def truth(self) -> FloatArray:
        """Mean of every arm at the truest fidelity, read-only."""
        return frozen(self.means[:, self.problem.truest].copy())

    @property
    def best(self) -> int:
        """Index of the arm with the largest truth; of tied arms the first."""
        return int(np.argmax(self.truth))

    @property
    def violations(self) -> list[Violation]:
        """The broken bias bounds; none in a model that keeps its word."""
        biases = self.problem.biases
        distances = np.abs(self.means - self.truth[:, np.newaxis])
        size = np.maximum(np.abs(self.means), np.abs(self.truth[:, np.newaxis]))
        broken = distances > biases + _ROUNDING * np.maximum(size, biases)
        return [
            Violation(
                self.problem.arms[k],
                self.problem.fidelities[m].name,
                float(distances[k, m]),
                float(biases[k, m]),
            )
            for k, m in np.argwhere(broken)
        ] + self._pair_violations()

    def _pair_violations(self) -> list[Violation]:
        """The broken pair biases, with the two arms of each fidelity that differ most."""
        found = []
        offsets = self.means - self.truth[:, np.newaxis]
        for m, fidelity in enumerate(self.problem.fidelities):
            bound, name = fidelity.pair_bias, fidelity.name
            high, low = int(np.argmax(offsets[:, m])), int(np.argmin(offsets[:, m]))
            size = float(np.abs(self.means[[high, low], m]).max() + np.abs(self.truth[[high, low]]).max())
            distance = float(offsets[high, m] - offsets[low, m])
            if bound is not None and distance > bound + _ROUNDING * max(size, bound):
                arms = self.problem.arms
                found.append(Violation(arms[high], name, distance, bound, other=arms[low]))
        return found

    def evaluator(self, seed: int = 0) -> Callable[[Any], float]:
        """Return a function that draws the reward of a pull: see :func:`mfbandit.evaluator`."""
        return evaluator(self, seed)

    def _report_violations(self) -> None:
        violations = self.violations
        if not violations:
            return
        label = f"instance {self.name!r}" if self.name else "the instance"
        cells = "; ".join(violation.sentence for violation in violations[:_MOST_NAMED])
        more = len(violations) - _MOST_NAMED
        sentence = (
            f"{label} breaks its own bias bound in {len(violations)} "
            f"cell{'' if len(violations) == 1 else 's'}: {cells}"
            f"{f'; and {more} more' if more > 0 else ''}"
        )
        if self.strict:
            how = "for a warning instead, write strict = false in its file, or strict=False in Python"
            raise InstanceError(f"{sentence} ({how})")
        warnings.warn(sentence, ModelWarning, stacklevel=_levels_to_the_caller())

    @property
    def _content(self) -> tuple[object, ...]:
        return self.problem, self.means.tobytes(), self.law, self.name

    def __eq__(self, other: object) -> bool:
        """Compare by content."""
        if not isinstance(other, Instance):
            return NotImplemented
        return self._content == other._content

    def __hash__(self) -> int:
        """Hash the content."""
        return hash(self._content)

    def __repr__(self) -> str:
        """Show size, law and answer in one line."""
        problem = self.problem
        label = f" {self.name!r}" if self.name else ""
        arms = f"{problem.n_arms} arm{'' if problem.n_arms == 1 else 's'}"
        columns = problem.n_fidelities
        fidelities = f"{columns} {'fidelity' if columns == 1 else 'fidelities'}"
        return (
            f"<Instance{label}: {arms}, {fidelities}, {self.law}, best arm "
            f"{problem.arms[self.best]!r} with mean {self.truth[self.best]:.6g}>"
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy is made from."""
        names = ("problem", "means", "law", "name", "strict")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a copy without warning again, its means read-only again."""
        self.__dict__.update(state)
        frozen(self.means)


def _centred(problem: Problem, means: FloatArray) -> Problem:
    """Return the problem with the origin of Gaussian rewards near the best arm, where gaps matter most."""
    if not isinstance(problem.reward, Gaussian):
        return problem
    return problem.with_reward(problem.reward.near(float(means[:, problem.truest].max())))


def _levels_to_the_caller() -> int:
    """Count the frames up to the first outside this package: a warning belongs to user code."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _inside(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    return level


def _inside(module: str) -> bool:
    return module == "mfbandit" or module.startswith("mfbandit.")


def evaluator(instance: Instance, seed: int = 0) -> Evaluator:
    """Make the evaluator of an instance, whatever its reward law.

    Parameters
    ----------
    instance
        Where rewards come from; of a table, one row of the cell is drawn, and of a finite set of blocks the
        reward on the pull's own is taken.
    seed
        Other seeds give other luck for the same pulls, where luck is left.

    Returns
    -------
    Evaluator
        Called with a pull, it returns a reward; it can be pickled.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from mfbandit import read_table
    >>> rows = [("a", "judge", 0.8), ("a", "human", 1.0), ("a", "human", 0.5)]
    >>> instance = read_table(rows, costs=[0.01, 0.3], biases=[0.1, 0.0])
    >>> evaluate = evaluator(instance)
    >>> [evaluate(SimpleNamespace(arm="a", fidelity="human", seed=seed)) for seed in range(6)]
    [...]
    """
    if not isinstance(instance, Instance):
        raise InvalidInput(f"an evaluator is made from an Instance, got {instance!r}")
    if not is_whole(seed) or not 0 <= seed < 2**63 - 1:
        raise InvalidInput(f"seed must be a whole number >= 0, got {seed!r}")
    problem = instance.problem
    plain = problem.blocks is None
    return Evaluator(
        instance,
        int(seed),
        law_arrays(instance) if plain else block_law(instance),
        draw_of(instance) if plain else seeded_draw(instance),
        {arm: k for k, arm in enumerate(problem.arms)},
        {fidelity.name: m for m, fidelity in enumerate(problem.fidelities)},
    )
