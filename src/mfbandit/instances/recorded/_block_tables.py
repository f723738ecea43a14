"""Tables with blocks: rewards sorted by arm, fidelity and block, every cell of which must be there once."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mfbandit._checks import FloatArray, Names, as_names
from mfbandit.errors import InstanceError
from mfbandit.instances.recorded._table_rows import (
    TableSource,
    block_name,
    column_names,
    header_of,
    kept,
    number,
    read_block_rows,
    records,
)

__all__ = ["BlockCells", "collect_blocks", "collect_wide"]

#: What the only fidelity of a wide table is called, if nobody says it.
_ONLY = "reward"


@dataclass(frozen=True)
class BlockCells:
    """The rewards of a table by arm, fidelity and block.

    Parameters
    ----------
    arms, fidelities, blocks
        Names, in order.
    values
        ``values[k, m, i]`` is that of arm k at fidelity m on block i.
    """

    arms: tuple[str, ...]
    fidelities: tuple[str, ...]
    blocks: tuple[str, ...]
    values: FloatArray


def collect_blocks(
    source: TableSource, block: str, arms: Names | None, fidelities: Names | None, columns: Sequence[str]
) -> BlockCells:
    """Sort the rows of a table, given as for `mfbandit.read_table`: every cell needs exactly one reward.

    Examples
    --------
    >>> rows = [(1, "a", "x", 0.5), (1, "b", "x", 0.4), (2, "a", "x", 0.3)]
    >>> collect_blocks(rows, "question", None, None, ("arm", "fidelity", "reward"))
    Traceback (most recent call last):
    mfbandit.errors.InstanceError: the table has no reward of arm 'b' at fidelity 'x' on block '2': ...
    """
    wanted_arms = None if arms is None else as_names(arms, "arms", InstanceError)
    wanted = None if fidelities is None else as_names(fidelities, "fidelities", InstanceError)
    found: dict[tuple[str, str, str], float] = {}
    seen_arms: dict[str, None] = {}
    seen: dict[str, None] = {}
    items: dict[str, None] = {}
    for item, row in read_block_rows(source, block, columns):
        seen_arms[row.arm] = None
        seen[row.fidelity] = None
        if (wanted_arms is not None and row.arm not in wanted_arms) or (
            wanted is not None and row.fidelity not in wanted
        ):
            continue
        items[item] = None
        cell = (row.arm, row.fidelity, item)
        if cell in found:
            raise InstanceError(f"{row.where}: {_named(cell)} has a reward already; it must have exactly one")
        found[cell] = row.reward
    if not seen_arms:
        raise InstanceError("the table has no rows")
    names = kept(wanted_arms, seen_arms, "arm"), kept(wanted, seen, "fidelity"), tuple(items)
    for cell in itertools.product(*names):
        if cell not in found:
            raise InstanceError(f"the table has no reward of {_named(cell)}: every arm needs every block exactly once")
    values = np.array([found[cell] for cell in itertools.product(*names)])
    return BlockCells(*names, values.reshape([len(part) for part in names]))


def collect_wide(
    source: TableSource, block: str, arms: Names | None, fidelities: Names | None, columns: Sequence[str]
) -> BlockCells:
    """Read a table, given as for `mfbandit.read_table`, with one row per block and one column per arm.

    Examples
    --------
    >>> rows = [{"item": 1, "a": 0.5, "b": 0.4}, {"item": 2, "a": 0.3, "b": 0.2}]
    >>> collect_wide(rows, "item", None, None, ("arm", "fidelity", "reward")).arms
    ('a', 'b')
    """
    column_names(columns)
    only = (_ONLY,) if fidelities is None else as_names(fidelities, "fidelities", InstanceError)
    if len(only) != 1:
        raise InstanceError(f"a wide table has one fidelity, got {len(only)} of them")
    header = header_of(source)
    names = tuple(name for name in header if name != block) if arms is None else as_names(arms, "arms", InstanceError)
    if not names:
        raise InstanceError(f"the table has no column of an arm beside the block's, {block!r}")
    items: dict[str, None] = {}
    rows = []
    for where, (item, *rewards) in records(source, (block, *names), ("block", *names)):
        name = block_name(item, where)
        if name in items:
            raise InstanceError(f"{where}: block {name!r} has a row already; it must have exactly one")
        items[name] = None
        rows.append(
            [number(reward, f"reward of arm {arm!r}", where) for arm, reward in zip(names, rewards, strict=True)]
        )
    if not rows:
        raise InstanceError("the table has no rows")
    return BlockCells(names, only, tuple(items), np.array(rows).T[:, np.newaxis, :].copy())


def _named(cell: tuple[str, ...]) -> str:
    return f"arm {cell[0]!r} at fidelity {cell[1]!r} on block {cell[2]!r}"
