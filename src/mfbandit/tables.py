"""Table replay: recorded rewards become an instance to simulate and an evaluator to study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mfbandit.errors import InstanceError, InvalidInput
from mfbandit.instances import Instance, TableLaw
from mfbandit.problem import Bernoulli, Bounded, Gaussian, Problem, RewardKind
from mfbandit.reward_kinds import as_reward_kind
from mfbandit.table_rows import Row, TableSource, read_rows
from mfbandit.validation import FloatArray, Names, Numbers, as_names, closest

__all__ = ["Cells", "Evaluator", "PullLike", "collect", "evaluator", "read_table"]

_COLUMNS = ("arm", "fidelity", "reward")


class PullLike(Protocol):
    """What an evaluator looks at: names of the arm and the fidelity, and a seed."""

    @property
    def arm(self) -> str:
        """Name of the arm."""

    @property
    def fidelity(self) -> str:
        """Name of the fidelity."""

    @property
    def seed(self) -> int:
        """What the reward is drawn by."""


@dataclass(frozen=True)
class Cells:
    """The rewards of a table by arm and fidelity.

    Parameters
    ----------
    arms, fidelities
        Names, in order.
    rewards
        ``rewards[k][m]`` are those of arm k at fidelity m.
    """

    arms: tuple[str, ...]
    fidelities: tuple[str, ...]
    rewards: tuple[tuple[FloatArray, ...], ...]

    @property
    def means(self) -> FloatArray:
        """Average of every cell."""
        return np.array([[cell.mean() for cell in row] for row in self.rewards])


def read_table(
    source: TableSource,
    *,
    costs: Numbers | Mapping[str, Any],
    biases: Numbers | Mapping[str, Any] | str,
    arms: Names | None = None,
    fidelities: Names | None = None,
    reward: str | RewardKind | None = None,
    columns: Sequence[str] = _COLUMNS,
    name: str = "",
    strict: bool = True,
) -> Instance:
    """Make an instance from a table of recorded rewards; a pull draws one row of its cell.

    Parameters
    ----------
    source
        Path of a CSV file (also ``.gz``) or of a Parquet file (with the pandas extra and pyarrow), a
        pandas DataFrame, or an iterable of (arm, fidelity, reward) rows.
    costs, biases
        One number per fidelity, in the order of the fidelities, or a mapping from their names.
        ``biases="observed"`` takes the smallest bounds that the cell means keep, the dearest fidelity
        being the truth: right for a replay, but nothing one could know before.
    arms
        The arms to keep, in this order; by default all, as they appear.
    fidelities
        The fidelities to keep, in this order; by default those of a mapping `costs`, else as they appear.
    reward
        The reward kind; by default Bernoulli if all rewards are 0 or 1, else bounded in [0, 1].
    columns
        Names of the columns of the arm, the fidelity and the reward.
    name
        What people call the instance.
    strict
        Whether a cell mean beyond its bias bound is an error rather than a warning.

    Returns
    -------
    Instance

    Examples
    --------
    >>> rows = [("a", "judge", 0.8), ("a", "human", 1.0), ("a", "human", 0.5), ("b", "judge", 0.4),
    ...         ("b", "human", 0.5)]
    >>> instance = read_table(rows, costs={"judge": 0.01, "human": 0.3}, biases=[0.1, 0.0])
    >>> instance
    <Instance: 2 arms, 2 fidelities, <TableLaw: 2 arms, 2 fidelities, 5 rewards>, best arm 'a' with mean 0.75>
    >>> read_table([("a", "human", "good")], costs=[1], biases=[0])
    Traceback (most recent call last):
    mfbandit.errors.InstanceError: row 0: the reward is 'good', which is not a number
    """
    if fidelities is None and isinstance(costs, Mapping):
        fidelities = list(costs)
    kind = None if reward is None else as_reward_kind(reward)
    if isinstance(kind, Gaussian):
        raise InstanceError(
            f"rows of a table have a range, so their reward kind cannot be {kind}: pass "
            "Bounded(low, high), or leave it out"
        )
    cells = collect(source, arms=arms, fidelities=fidelities, columns=columns, reward=kind or Bounded())
    prices = _per_fidelity(costs, "costs", cells.fidelities)
    bounds = _observed(cells.means, prices) if isinstance(biases, str) and biases == "observed" else biases
    problem = Problem.from_arrays(
        prices,
        _per_fidelity(bounds, "biases", cells.fidelities),
        arms=cells.arms,
        fidelities=cells.fidelities,
        reward=kind or _kind(cells),
    )
    return Instance(problem, law=TableLaw(cells.rewards), name=name, strict=strict)


def collect(
    source: TableSource,
    *,
    arms: Names | None = None,
    fidelities: Names | None = None,
    columns: Sequence[str] = _COLUMNS,
    reward: RewardKind | None = None,
) -> Cells:
    """Sort the rows of a table into cells, every one of which must hold a reward.

    Parameters
    ----------
    source, arms, fidelities, columns
        As for :func:`read_table`.
    reward
        A kind whose range the rewards must keep; none by default.

    Returns
    -------
    Cells

    Examples
    --------
    >>> collect([("a", "x", 1), ("a", "y", 0), ("b", "x", 1)])
    Traceback (most recent call last):
    mfbandit.errors.InstanceError: the table has no reward of arm 'b' at fidelity 'y'
    """
    wanted_arms = None if arms is None else as_names(arms, "arms", InstanceError)
    wanted = None if fidelities is None else as_names(fidelities, "fidelities", InstanceError)
    found: dict[tuple[str, str], list[float]] = {}
    seen_arms: dict[str, None] = {}
    seen: dict[str, None] = {}
    for row in read_rows(source, columns):
        seen_arms[row.arm] = None
        seen[row.fidelity] = None
        if (wanted_arms is None or row.arm in wanted_arms) and (wanted is None or row.fidelity in wanted):
            _check_range(row, reward)
            found.setdefault((row.arm, row.fidelity), []).append(row.reward)
    if not seen_arms:
        raise InstanceError("the table has no rows")
    kept_arms = _kept(wanted_arms, seen_arms, "arm")
    kept = _kept(wanted, seen, "fidelity")
    for arm in kept_arms:
        for fidelity in kept:
            if (arm, fidelity) not in found:
                raise InstanceError(f"the table has no reward of arm {arm!r} at fidelity {fidelity!r}")
    rewards = tuple(tuple(np.array(found[arm, fidelity]) for fidelity in kept) for arm in kept_arms)
    return Cells(kept_arms, kept, rewards)


def _kept(wanted: tuple[str, ...] | None, seen: Iterable[str], what: str) -> tuple[str, ...]:
    present = tuple(seen)
    for name in wanted or ():
        if name not in present:
            raise InstanceError(f"the table has no rows of {what} {name!r}{closest(name, present)}")
    return present if wanted is None else wanted


def _check_range(row: Row, kind: RewardKind | None) -> None:
    if kind is None or kind.low is None or kind.high is None or kind.low <= row.reward <= kind.high:
        return
    hint = "; pass reward=Bounded(low, high) if that is its range" if kind == Bounded() else ""
    raise InstanceError(
        f"{row.place}: the reward of arm {row.arm!r} at fidelity {row.fidelity!r} is {row.reward:g}, outside "
        f"[{kind.low:g}, {kind.high:g}]{hint}"
    )


def _kind(cells: Cells) -> RewardKind:
    binary = all(bool(np.isin(cell, (0.0, 1.0)).all()) for row in cells.rewards for cell in row)
    return Bernoulli() if binary else Bounded()


def _per_fidelity(values: Any, what: str, fidelities: tuple[str, ...]) -> Any:
    """Put the values of a mapping into the order of the fidelities; leave arrays as they are."""
    if isinstance(values, str):
        raise InstanceError(f"{what} must be numbers or a mapping from fidelities to numbers, got {values!r}")
    if not isinstance(values, Mapping):
        return values
    named = {str(key): value for key, value in values.items()}
    for fidelity in fidelities:
        if fidelity not in named:
            raise InstanceError(f"{what} say nothing about fidelity {fidelity!r}{closest(fidelity, named)}")
    return [named[fidelity] for fidelity in fidelities]


def _observed(means: FloatArray, costs: Any) -> FloatArray:
    """The smallest bias bounds that the means keep, the dearest fidelity (the last of them) being true."""
    prices = np.asarray(costs, dtype=np.float64)
    dearness = prices if prices.ndim == 1 else prices.mean(axis=0)
    truest = len(dearness) - 1 - int(np.argmax(dearness[::-1]))
    if len(dearness) != means.shape[1]:
        raise InstanceError(f"costs are given for {len(dearness)} fidelities; the table has {means.shape[1]}")
    return np.asarray(np.abs(means - means[:, [truest]]).max(axis=0))


@dataclass(frozen=True, eq=False)
class Evaluator:
    """A stand-in for a real evaluation: the reward of a pull, drawn from an instance's law.

    It is a pure function of the pull's arm, fidelity and seed, so a pull that is repeated gives the same
    reward in any thread or process. Made by :func:`evaluator`.
    """

    instance: Instance
    seed: int
    law: Any
    draw: Callable[..., float]
    arms: dict[str, int]
    fidelities: dict[str, int]

    def __call__(self, pull: PullLike) -> float:
        """Return the reward of a pull, in reward units."""
        from mfbandit.rewards import trial_key

        arm = self._index(self.arms, pull.arm, "arm")
        fidelity = self._index(self.fidelities, pull.fidelity, "fidelity")
        key = trial_key(int(pull.seed), self.seed)
        unit = self.draw(self.law, key, arm * len(self.fidelities) + fidelity, arm, fidelity, 0)
        kind = self.instance.problem.reward
        reward = float(kind.from_unit(float(unit)))
        if kind.low is None or kind.high is None:
            return reward
        return min(max(reward, kind.low), kind.high)

    @staticmethod
    def _index(places: dict[str, int], name: str, what: str) -> int:
        if name not in places:
            raise InvalidInput(f"the instance has no {what} {name!r}{closest(str(name), places)}")
        return places[name]


def evaluator(instance: Instance, seed: int = 0) -> Evaluator:
    """Make the evaluator of an instance, whatever its reward law.

    Parameters
    ----------
    instance
        Where rewards come from; of a table, one row of the cell is drawn.
    seed
        Other seeds give other luck for the same pulls.

    Returns
    -------
    Evaluator
        Called with a pull, it returns a reward; it can be pickled.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> rows = [("a", "judge", 0.8), ("a", "human", 1.0), ("a", "human", 0.5)]
    >>> instance = read_table(rows, costs=[0.01, 0.3], biases=[0.1, 0.0])
    >>> evaluate = evaluator(instance)
    >>> [evaluate(SimpleNamespace(arm="a", fidelity="human", seed=seed)) for seed in range(6)]
    [...]
    """
    from mfbandit.rewards import draw_of, law_arrays

    if not isinstance(instance, Instance):
        raise InvalidInput(f"an evaluator is made from an Instance, got {instance!r}")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**63 - 1:
        raise InvalidInput(f"seed must be a whole number >= 0, got {seed!r}")
    problem = instance.problem
    return Evaluator(
        instance,
        int(seed),
        law_arrays(instance),
        draw_of(instance),
        {arm: k for k, arm in enumerate(problem.arms)},
        {fidelity.name: m for m, fidelity in enumerate(problem.fidelities)},
    )
