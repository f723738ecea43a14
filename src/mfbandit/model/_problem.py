"""The problem: arms to choose from, fidelities to measure them with, and the kind of reward."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mfbandit._checks import FloatArray, Names, Numbers, as_list, as_names, check_keys, frozen
from mfbandit.errors import ProblemError
from mfbandit.model._array_arguments import count_arms, fidelity_columns, fidelity_names
from mfbandit.model._block_declarations import alone, as_blocks, check_blocks
from mfbandit.model._fidelity import Fidelity, PerArm, as_fidelities
from mfbandit.model._reward_kinds import Bernoulli, Bounded, Gaussian, RewardKind, as_reward_kind

__all__ = ["Bernoulli", "Bounded", "Fidelity", "Gaussian", "Problem", "RewardKind"]

#: What may be left unsaid of a problem, and what it then is.
_UNSAID: dict[str, Any] = {"truth": None, "blocks": None, "order": "own"}


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Problem:
    """Arms, the fidelities to measure them with, and the kind of reward.

    Two problems are equal when their names, costs, biases, reward kind, truth and blocks are; equal problems
    have equal hashes.

    Parameters
    ----------
    arms
        Names of the alternatives, or how many there are ("arm 0", "arm 1", ...).
    fidelities
        :class:`Fidelity` objects, ``(name, cost, bias)`` tuples or dicts with these keys. At least
        one must have bias 0 for every arm: the truth. Their order is free.
    reward
        ``"bernoulli"``, ``"bounded"`` (values in [0, 1]), :class:`Bounded` or :class:`Gaussian`.
    truth
        What the true mean of an arm is, in words, where that could be misread; part of what a certificate
        claims.
    blocks
        Conditions that all arms share: a number N of items of a finite set (questions of a test set), or
        ``"unlimited"`` for conditions that are drawn anew (splits, seeds). Arms are then compared on the
        same blocks, and the true mean of an arm is that over all of them. None, the default: rewards of
        different arms are independent.
    order
        ``"own"``: every fidelity has its own order of blocks. ``"shared"``: one order for all, as soon as one
        fidelity goes on from another (training from 3 to 9 epochs) or all grade the same answers.

    Examples
    --------
    >>> problem = Problem(
    ...     arms=["prompt A", "prompt B"],
    ...     fidelities=[Fidelity("judge", cost=0.01, bias=0.1), Fidelity("human", cost=0.3)],
    ... )
    >>> problem
    <Problem: 2 arms, fidelities 'judge', 'human' (the truth), Bounded(low=0.0, high=1.0)>
    >>> problem.costs
    array([[0.01, 0.3 ],
           [0.01, 0.3 ]])
    >>> Problem.from_json(problem.to_json()) == problem
    True
    """

    arms: tuple[str, ...]
    fidelities: tuple[Fidelity, ...]
    reward: RewardKind
    truth: str | None
    blocks: int | str | None
    order: str

    def __init__(
        self,
        arms: int | Names,
        fidelities: Iterable[Fidelity | Sequence[Any] | Mapping[str, Any]],
        reward: str | RewardKind | Mapping[str, Any] = "bounded",
        *,
        truth: str | None = None,
        blocks: int | str | None = None,
        order: str = "own",
    ) -> None:
        names = _arm_names(arms)
        object.__setattr__(self, "arms", names)
        object.__setattr__(self, "fidelities", as_fidelities(fidelities, names))
        object.__setattr__(self, "reward", as_reward_kind(reward))
        object.__setattr__(self, "truth", _in_words(truth))
        object.__setattr__(self, "blocks", as_blocks(blocks))
        object.__setattr__(self, "order", order)
        self._check_truth()
        check_blocks(self)

    @classmethod
    def from_arrays(
        cls,
        costs: Numbers,
        biases: Numbers,
        *,
        arms: int | Names | None = None,
        fidelities: Names | None = None,
        reward: str | RewardKind | Mapping[str, Any] = "bounded",
        blocks: int | str | None = None,
        order: str = "own",
    ) -> Problem:
        """Build a problem from arrays of costs and biases.

        Parameters
        ----------
        costs, biases
            One number per fidelity (M), or one row per arm (K, M).
        arms
            Names or number of the arms; needed unless an array has one row per arm.
        fidelities
            Names of the fidelities; "fidelity 0", "fidelity 1", ... by default.
        reward, blocks, order
            As for :class:`Problem`; a pair bias or a cost of blocks is said by a :class:`Fidelity`.

        Returns
        -------
        Problem

        Examples
        --------
        >>> Problem.from_arrays([1, 20], [0.08, 0], arms=3, reward="bernoulli").arms
        ('arm 0', 'arm 1', 'arm 2')
        """
        names = None if arms is None else _arm_names(arms)
        cost_table = fidelity_columns(costs, "costs", names)
        bias_table = fidelity_columns(biases, "biases", names)
        if cost_table.shape[-1] != bias_table.shape[-1]:
            raise ProblemError(
                f"costs are given for {cost_table.shape[-1]} fidelities and biases for "
                f"{bias_table.shape[-1]}; both must be for the same number"
            )
        if names is None:
            names = _arm_names(count_arms(cost_table, bias_table))
        columns = fidelity_names(fidelities, cost_table.shape[-1])
        entries = [(name, cost_table[..., m], bias_table[..., m]) for m, name in enumerate(columns)]
        return cls(names, entries, reward, blocks=blocks, order=order)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Problem:
        """Read back what :meth:`to_json` wrote."""
        optional = ("truth", "blocks", "order")
        keys = check_keys(data, ("arms", "fidelities", "reward"), optional, "a problem", ProblemError)
        # A number of arms would be made into as many names, however large it is.
        as_list(keys["arms"], "the arms of a problem must be a list of names", ProblemError)
        more = {key: keys[key] for key in optional if key in keys}
        return cls(keys["arms"], keys["fidelities"], keys["reward"], **more)

    def to_json(self) -> dict[str, Any]:
        """Return the problem as plain lists, numbers and strings."""
        plain = {
            "arms": list(self.arms),
            "fidelities": [fidelity.to_json() for fidelity in self.fidelities],
            "reward": self.reward.to_json(),
        }
        return {**plain, **{key: value for key, value in self._said().items() if value != _UNSAID[key]}}

    def _said(self) -> dict[str, Any]:
        """What may be left unsaid."""
        return {key: getattr(self, key) for key in _UNSAID}

    def with_reward(self, reward: RewardKind) -> Problem:
        """Return the problem with another kind of reward."""
        return self if reward is self.reward else Problem(self.arms, self.fidelities, reward, **self._said())

    def without_blocks(self) -> Problem:
        """Return the problem as it is when every pull draws its own block, so that rewards are independent.

        Every pull then opens a block, and pays for it; a pair bias and a swing are about differences on shared
        blocks, and are left out.

        Examples
        --------
        >>> shared = Problem(2, [Fidelity("labelled", cost=1.0, block_cost=4.0)], blocks=500)
        >>> shared.without_blocks().fidelities
        (Fidelity('labelled', cost=5.0, bias=0.0),)
        """
        if self.blocks is None:
            return self
        return Problem(self.arms, *alone(self.fidelities, self.reward), truth=self.truth)

    @property
    def n_arms(self) -> int:
        """Number of arms, K."""
        return len(self.arms)

    @property
    def n_fidelities(self) -> int:
        """Number of fidelities, M."""
        return len(self.fidelities)

    @cached_property
    def costs(self) -> FloatArray:
        """Cost of one pull, arms by fidelities, read-only."""
        return self._table([fidelity.cost for fidelity in self.fidelities])

    @cached_property
    def biases(self) -> FloatArray:
        """Bias bounds in reward units, arms by fidelities, read-only."""
        return self._table([fidelity.bias for fidelity in self.fidelities])

    @cached_property
    def truest(self) -> int:
        """Column of the fidelity that counts as the truth.

        It has bias 0 for every arm; of several the one with the largest mean cost, and of equally
        expensive ones the last.
        """
        unbiased = np.flatnonzero(~self.biases.any(axis=0))
        # Columns of equal cost must tie exactly, so the mean is taken the same way in each.
        mean_costs = [float(np.mean(np.ascontiguousarray(self.costs[:, m]))) for m in unbiased]
        return int(max(zip(mean_costs, unbiased, strict=True))[1])

    def widened(self, added: Mapping[int, float]) -> Problem:
        """The problem with wider bias bounds, up to the width of the rewards' range.

        Parameters
        ----------
        added
            What is added to all bounds of a fidelity, by its column, as a share of the range (Gaussian
            rewards: as it is).

        Returns
        -------
        Problem

        Examples
        --------
        >>> problem = Problem(2, [("quick", 1.0, 0.5), ("slow", 9.0)], Bounded(0, 10))
        >>> problem.widened({0: 0.1}).fidelities[0].bias
        1.5
        """
        if not added:
            return self
        span = self.reward.span
        most = np.inf if isinstance(self.reward, Gaussian) else span
        fidelities = [
            one.with_bias(_wider(one.bias, added[m] * span, most), one.pair_bias) if m in added else one
            for m, one in enumerate(self.fidelities)
        ]
        return Problem(self.arms, fidelities, self.reward, **self._said())

    def with_arms(self, arms: Names) -> Problem:
        """Return the problem with other names of its arms."""
        return Problem(arms, self.fidelities, self.reward, **self._said())

    def with_biases(self, bounds: Mapping[str, Mapping[str, Any]]) -> Problem:
        """The problem with other bias bounds of some fidelities, ``{name: {"bias": ..., "pair_bias": ...}}``.

        Examples
        --------
        >>> problem = Problem(2, [("quick", 1.0, 0.5), ("slow", 9.0)])
        >>> problem.with_biases({"quick": {"bias": 0.6, "pair_bias": None}}).biases[:, 0]
        array([0.6, 0.6])
        """
        fidelities = [one.with_bias(**bounds[one.name]) if one.name in bounds else one for one in self.fidelities]
        return Problem(self.arms, fidelities, self.reward, **self._said())

    @property
    def costs_per_arm(self) -> bool:
        """Whether any fidelity costs more for one arm than for another."""
        return bool((self.costs != self.costs[0]).any())

    def _table(self, columns: list[PerArm]) -> FloatArray:
        table = np.empty((self.n_arms, self.n_fidelities))
        for m, column in enumerate(columns):
            table[:, m] = column
        return frozen(table)

    def _check_truth(self) -> None:
        if self.biases.any(axis=0).all():
            m = int(np.argmin(self.biases.max(axis=0)))
            k = int(np.argmax(self.biases[:, m]))
            raise ProblemError(
                f"no fidelity has bias 0 for every arm, so none measures the truth: the nearest is "
                f"fidelity {self.fidelities[m].name!r} with bias {self.biases[k, m]} for arm "
                f"{self.arms[k]!r}"
            )

    @property
    def _content(self) -> tuple[object, ...]:
        names = tuple(fidelity.name for fidelity in self.fidelities)
        said = tuple(self._said().values()), tuple(one.terms for one in self.fidelities)
        return self.arms, names, self.costs.tobytes(), self.biases.tobytes(), self.reward, said

    def __eq__(self, other: object) -> bool:
        """Compare by content."""
        if not isinstance(other, Problem):
            return NotImplemented
        return self._content == other._content

    def __hash__(self) -> int:
        """Hash the content."""
        return hash(self._content)

    def __repr__(self) -> str:
        """Show it as one line."""
        shown = [
            f"{fidelity.name!r}{' (the truth)' if m == self.truest else ''}"
            for m, fidelity in enumerate(self.fidelities)
        ]
        arms = f"{self.n_arms} arm{'' if self.n_arms == 1 else 's'}"
        blocks = "" if self.blocks is None else f", {self.blocks} blocks"
        return f"<Problem: {arms}, fidelities {', '.join(shown)}, {self.reward}{blocks}>"

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy is made from."""
        # The cached arrays stay behind: a copy of an array would be writable again.
        return {"arms": self.arms, "fidelities": self.fidelities, "reward": self.reward, **self._said()}


def _in_words(truth: object) -> str | None:
    if truth is None or (isinstance(truth, str) and truth.strip() and truth.isprintable()):
        return truth
    raise ProblemError(f"truth must say in one line of text what the true mean of an arm is, got {truth!r}")


def _wider(bias: PerArm, step: float, most: float) -> PerArm:
    if isinstance(bias, tuple):
        return tuple(min(one + step, max(one, most)) for one in bias)
    return min(bias + step, max(bias, most))


def _arm_names(arms: object) -> tuple[str, ...]:
    if isinstance(arms, int | np.integer) and not isinstance(arms, bool):
        names = tuple(f"arm {k}" for k in range(operator.index(arms)))
        found = f"arms={arms}"
    else:
        names = as_names(arms, "arms", ProblemError)
        found = "no names"
    if not names:
        raise ProblemError(f"a problem needs at least one arm, got {found}")
    return names
