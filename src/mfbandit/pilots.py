"""Measured arms that bias bounds are calibrated on: means, spreads and counts per arm and fidelity."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from mfbandit.core import arrays, new_state, observe
from mfbandit.errors import InvalidInput
from mfbandit.instances import Instance, TableLaw
from mfbandit.problem import Problem, RewardKind
from mfbandit.tables import collect
from mfbandit.validation import FloatArray, Names, Numbers, as_list, as_names, as_numbers, closest

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

    @property
    def n_arms(self) -> int:
        """Number of arms."""
        return len(self.means)

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return int(self.tasks.max()) + 1

    def deviations(self) -> FloatArray | None:
        """Squared distances of rewards from the mean forecast before each, summed per cell, in unit scale."""
        if self.cells is None:
            return None
        kind = self.reward
        seen = arrays(Problem.from_arrays([1.0] * len(self.fidelities), [0.0] * len(self.fidelities), arms=1))
        result = np.empty(self.means.shape)
        for k, row in enumerate(self.cells):
            state = new_state(seen)
            for m, cell in enumerate(row):
                for reward in kind.to_unit(cell).tolist():
                    observe(state, 0, m, reward)
            result[k] = state.deviations[0]
        return result


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
    """Read measured arms from any of the forms that `mfbandit.calibrate` takes."""
    instances = _instances(data)
    if instances is not None:
        for word, value in (("sds", sds), ("counts", counts), ("tasks", tasks), ("fidelities", fidelities)):
            if value is not None:
                raise InvalidInput(f"{word} are known from the instances; leave {word} out")
        return _from_instances(instances)
    if _is_table(data):
        if sds is not None or counts is not None:
            raise InvalidInput("sds and counts are computed from the rows; leave them out")
        table = collect(data, fidelities=fidelities, reward=reward)
        measured: _Measured
        names, measured = table.fidelities, (*_summarised(table.rewards), table.rewards)
    else:
        measured = _from_arrays(data, sds, counts)
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


def _from_arrays(data: Any, sds: Numbers | None, counts: Numbers | None) -> _Measured:
    table = as_numbers(data, "the pilot", InvalidInput)
    if table.ndim == 3 and table.size:
        if sds is not None or counts is not None:
            raise InvalidInput("sds and counts are computed from the repeats; leave them out")
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
    if (sds is None) != (counts is None):
        raise InvalidInput("sds and counts belong together: give both or neither")
    if sds is None or counts is None:
        return table, None, None, None
    spreads = _like(sds, "sds", table)
    sizes = _like(counts, "counts", table)
    if (spreads < 0.0).any():
        raise InvalidInput(f"sds must be at least 0, got {spreads.min():g}")
    if (sizes < 1.0).any() or (sizes != np.floor(sizes)).any():
        raise InvalidInput("counts must be whole numbers of at least 1")
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
