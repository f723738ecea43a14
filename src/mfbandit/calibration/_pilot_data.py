"""Measured arms that bias bounds are calibrated on: means, spreads and counts per arm and fidelity."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mfbandit._checks import FloatArray, Names, Numbers, as_list, as_names, as_numbers, closest
from mfbandit.errors import InvalidInput
from mfbandit.instances import Instance, TableLaw
from mfbandit.instances.recorded import collect
from mfbandit.model import Bernoulli, Gaussian, RewardKind

__all__ = ["Pilot", "read_pilot"]

Rewards: TypeAlias = tuple[tuple[FloatArray, ...], ...]
#: Means, spreads, counts and rewards of the cells; what is unknown is None.
_Measured: TypeAlias = tuple[FloatArray, FloatArray | None, npt.NDArray[np.int64] | None, Rewards | None]


@dataclass(frozen=True, eq=False)
class Pilot:
    """Measured arms, one row each.

    Parameters
    ----------
    fidelities
        Their names.
    truest
        The column that measures the truth.
    means
        Measured means, arms by fidelities, in reward units.
    spreads
        Standard deviations of single rewards; None where unknown.
    counts
        Rewards per cell; None where unknown.
    cells
        The rewards themselves, where they are known.
    tasks
        The task that each arm belongs to, counted from 0; arms of a single pilot are a task each.
    past_tasks
        Whether tasks are groups of arms rather than single arms.
    reward
        The kind of reward.
    repeats
        The rewards as an array (arms, fidelities, repeats), NaN where there are fewer, if they came as one.
    """

    fidelities: tuple[str, ...]
    truest: int
    means: FloatArray
    spreads: FloatArray | None
    counts: npt.NDArray[np.int64] | None
    cells: Rewards | None
    tasks: npt.NDArray[np.int64]
    past_tasks: bool
    reward: RewardKind
    repeats: FloatArray | None = None

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return len(self.means)

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return int(self.tasks.max()) + 1

    @property
    def cheap(self) -> list[int]:
        """The columns of all fidelities but the truest."""
        return [m for m in range(len(self.fidelities)) if m != self.truest]

    @property
    def binary(self) -> bool:
        """Whether all rewards are 0 or 1 (the ends of their range), as far as can be seen."""
        kind = self.reward
        if isinstance(kind, Gaussian):
            return False
        if self.cells is not None:
            seen = self._seen
            return bool(((seen == kind.low) | (seen == kind.high)).all())
        if self.spreads is None or self.counts is None:
            return False
        unit = np.asarray(kind.to_unit(self.means))
        if isinstance(kind, Bernoulli):
            return bool(np.allclose(unit * self.counts, np.rint(unit * self.counts), rtol=0.0, atol=1e-3))
        if (self.counts < 2).any():
            return False
        # No rewards in a range vary more about their mean than those at its ends.
        most = unit * (1.0 - unit) * self.counts / (self.counts - 1)
        return bool(np.isclose((self.spreads / kind.span) ** 2, most, rtol=1e-6, atol=1e-12).all())

    def check_range(self) -> None:
        """Refuse means or rewards outside of the range of rewards."""
        kind = self.reward
        if kind.low is None or kind.high is None:
            raise InvalidInput(f"noise in a range needs rewards with a range, got {kind}")
        beyond = self._seen[(self._seen < kind.low) | (self._seen > kind.high)]
        if beyond.size:
            raise InvalidInput(f"the pilot holds {beyond[0]:g}, outside [{kind.low:g}, {kind.high:g}]")

    @property
    def _seen(self) -> FloatArray:
        """All rewards, or the means where they are not known."""
        return self.means.ravel() if self.cells is None else np.concatenate([c for row in self.cells for c in row])

    def differences(self, m: int) -> tuple[FloatArray, ...]:
        """For each arm, its rewards at fidelity m less those at the truest, on the items that both saw."""
        if self.repeats is None:
            raise InvalidInput("pairs are read from repeats: an array (arms, fidelities, items), NaN where one lacks")
        found = []
        for k, apart in enumerate(self.repeats[:, m] - self.repeats[:, self.truest]):
            found.append(apart[~np.isnan(apart)])
            if len(found[-1]) < 2:
                names = f"{self.fidelities[m]!r} and {self.fidelities[self.truest]!r}"
                raise InvalidInput(f"arm {k} has {len(found[-1])} items that both {names} saw; pairs need two or more")
        return tuple(found)


def read_pilot(
    data: Any,
    *,
    sds: Numbers | None,
    counts: Numbers | None,
    tasks: Sequence[Any] | None,
    fidelities: Names | None,
    truest: str | int | None,
    reward: RewardKind,
) -> Pilot:
    """Read measured arms from any of the forms that `mfbandit.calibration._calibrate` takes."""
    instances = _instances(data)
    if instances is not None:
        for word, value in (("sds", sds), ("counts", counts), ("tasks", tasks), ("fidelities", fidelities)):
            if value is not None:
                raise InvalidInput(f"{word} are known from the instances; leave {word} out")
        return _from_instances(instances)
    repeats: FloatArray | None = None
    if _is_table(data):
        if sds is not None or counts is not None:
            raise InvalidInput("sds and counts are computed from the rows; leave them out")
        table = collect(data, fidelities=fidelities, reward=reward)
        measured: _Measured
        names, measured = table.fidelities, (*_summarised(table.rewards), table.rewards)
    else:
        numbers = as_numbers(data, "the pilot", InvalidInput)
        repeats = numbers if numbers.ndim == 3 else None
        measured = _from_arrays(numbers, sds, counts, reward)
        names = _fidelity_names(fidelities, measured[0].shape[1])
    means, spreads, sizes, cells = measured
    return Pilot(
        fidelities=names,
        truest=_truest(truest, names),
        means=means,
        spreads=spreads,
        counts=sizes,
        cells=cells,
        tasks=_task_numbers(tasks, len(means)),
        past_tasks=tasks is not None,
        reward=reward,
        repeats=repeats,
    )


def _instances(data: Any) -> list[Instance] | None:
    if isinstance(data, Instance):
        return [data]
    if isinstance(data, list | tuple) and data and all(isinstance(part, Instance) for part in data):
        return list(data)
    return None


def _is_table(data: Any) -> bool:
    """Whether data are rows (arm, fidelity, reward) rather than arrays: rows have names in them."""
    if isinstance(data, str | os.PathLike) or hasattr(data, "itertuples"):
        return True
    if not isinstance(data, list | tuple) or not data:
        return False
    first = data[0]
    if isinstance(first, Mapping):
        return True
    return isinstance(first, list | tuple) and any(isinstance(value, str) for value in first[:2])


def _from_instances(instances: list[Instance]) -> Pilot:
    first = instances[0].problem
    rows: list[tuple[FloatArray, ...]] = []
    numbers: list[int] = []
    for task, instance in enumerate(instances):
        if instance.problem.blocks is not None:
            raise InvalidInput(
                f"calibration takes the rewards of a table for independent draws, but instance {instance.name!r} has "
                "blocks: pass an array (arms, fidelities, blocks) with paired=True and shared_items=True"
            )
        if not isinstance(instance.law, TableLaw):
            raise InvalidInput(
                f"calibration needs measured rewards, and instance {instance.name!r} has {instance.law!r}"
            )
        problem = instance.problem
        if problem.n_fidelities != first.n_fidelities or problem.truest != first.truest:
            raise InvalidInput(
                f"instance {instance.name!r} has {problem.n_fidelities} fidelities, the truest at position "
                f"{problem.truest}; all tasks must agree with the first, which has {first.n_fidelities} and "
                f"{first.truest}"
            )
        if problem.reward != first.reward and problem.reward.span != first.reward.span:
            raise InvalidInput(
                f"instance {instance.name!r} has rewards {problem.reward}, the first task {first.reward}; "
                "all tasks must have the same"
            )
        rows.extend(instance.law.cells)
        numbers.extend([task] * problem.n_arms)
    cells = tuple(rows)
    means, spreads, sizes = _summarised(cells)
    single = len(instances) == 1
    return Pilot(
        fidelities=tuple(fidelity.name for fidelity in first.fidelities),
        truest=first.truest,
        means=means,
        spreads=spreads,
        counts=sizes,
        cells=cells,
        tasks=np.arange(len(cells)) if single else np.array(numbers),
        past_tasks=not single,
        reward=first.reward,
    )


def _summarised(
    cells: Sequence[Sequence[FloatArray]],
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.int64]]:
    means = np.array([[cell.mean() for cell in row] for row in cells])
    spreads = np.array([[cell.std(ddof=1) if len(cell) > 1 else 0.0 for cell in row] for row in cells])
    return means, spreads, np.array([[len(cell) for cell in row] for row in cells], dtype=np.int64)


def _summarised_at_once(table: FloatArray) -> tuple[FloatArray, FloatArray, npt.NDArray[np.int64]]:
    """The same of an array (arms, fidelities, repeats) in which nothing is missing."""
    count = table.shape[2]
    spreads = table.std(axis=2, ddof=1) if count > 1 else np.zeros(table.shape[:2])
    return table.mean(axis=2), spreads, np.full(table.shape[:2], count, dtype=np.int64)


def _from_arrays(table: FloatArray, sds: Numbers | None, counts: Numbers | None, reward: RewardKind) -> _Measured:
    if table.ndim == 3 and table.size:
        if sds is not None or counts is not None:
            raise InvalidInput("sds and counts are computed from the repeats; leave them out")
        if np.isfinite(table).all():
            whole = np.ascontiguousarray(table)  # or sums would be rounded otherwise than those of cells
            return *_summarised_at_once(whole), tuple(map(tuple, whole))
        cells = tuple(tuple(cell[~np.isnan(cell)] for cell in row) for row in table)
        for k, row in enumerate(cells):
            for m, cell in enumerate(row):
                if not cell.size:
                    raise InvalidInput(f"the pilot has no reward of arm {k} at fidelity {m}")
        _check_finite(np.nan_to_num(table, nan=0.0, posinf=np.inf, neginf=-np.inf), "the pilot")
        return *_summarised(cells), cells
    if table.ndim != 2 or not table.size:
        raise InvalidInput(
            f"the pilot has shape {table.shape}; it must be means (arms, fidelities), repeats (arms, "
            "fidelities, repeats), rows of (arm, fidelity, reward), or instances with tables"
        )
    _check_finite(table, "the pilot")
    binary = isinstance(reward, Bernoulli)
    if (sds is None) != (counts is None) and not (binary and sds is None):
        raise InvalidInput("sds and counts belong together: give both or neither")
    if counts is None:
        return table, None, None, None
    sizes = _like(counts, "counts", table)
    if (sizes < 1.0).any() or (sizes != np.floor(sizes)).any():
        raise InvalidInput("counts must be whole numbers of at least 1")
    # The mean of zeros and ones says how they vary.
    spreads = np.sqrt(np.maximum(table * (1.0 - table), 0.0)) if sds is None else _like(sds, "sds", table)
    if (spreads < 0.0).any():
        raise InvalidInput(f"sds must be at least 0, got {spreads.min():g}")
    return table, spreads, sizes.astype(np.int64), None


def _like(values: Numbers, what: str, table: FloatArray) -> FloatArray:
    """Return an array, or one number for all cells, in the shape of the pilot."""
    array = as_numbers(values, what, InvalidInput)
    if array.shape not in ((), table.shape, table.shape[1:]):
        raise InvalidInput(f"{what} have shape {array.shape}; the pilot has shape {table.shape}")
    _check_finite(array, what)
    return np.broadcast_to(array, table.shape).copy()


def _check_finite(table: FloatArray, what: str) -> None:
    for index in np.argwhere(~np.isfinite(table)):
        where = f" at arm {index[0]}, fidelity {index[1]}" if len(index) > 1 else ""
        raise InvalidInput(f"{what} holds {table[tuple(index)]}{where}; numbers must be finite")


def _fidelity_names(names: Names | None, count: int) -> tuple[str, ...]:
    if names is None:
        return tuple(f"fidelity {m}" for m in range(count))
    given = as_names(names, "fidelities", InvalidInput)
    if len(given) != count:
        raise InvalidInput(f"there are {len(given)} fidelity names for {count} columns of the pilot")
    return given


def _truest(truest: str | int | None, names: tuple[str, ...]) -> int:
    if len(names) < 2:
        raise InvalidInput(f"a bias is a difference between two fidelities; the pilot has only {names[0]!r}")
    if truest is None:
        return len(names) - 1
    if isinstance(truest, str):
        if truest not in names:
            raise InvalidInput(f"the pilot has no fidelity {truest!r}{closest(truest, names)}")
        return names.index(truest)
    if isinstance(truest, bool) or not isinstance(truest, int) or not -len(names) <= truest < len(names):
        raise InvalidInput(f"truest must name one of the {len(names)} fidelities, got {truest!r}")
    return truest % len(names)


def _task_numbers(tasks: Iterable[Any] | None, n_arms: int) -> npt.NDArray[np.int64]:
    if tasks is None:
        return np.arange(n_arms)
    labels = as_list(tasks, "tasks must be a list with the task of each arm", InvalidInput)
    if len(labels) != n_arms:
        raise InvalidInput(f"tasks name {len(labels)} arms; the pilot has {n_arms}")
    numbers = {label: number for number, label in enumerate(dict.fromkeys(map(str, labels)))}
    return np.array([numbers[str(label)] for label in labels], dtype=np.int64)
