"""Table replay: recorded rewards become an instance to simulate and an evaluator to study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfbandit._checks import FloatArray, Names, Numbers, as_names, as_numbers, closest
from mfbandit.errors import InstanceError
from mfbandit.instances._block_laws import BlockTableLaw
from mfbandit.instances._evaluator import Evaluator, PullLike
from mfbandit.instances._instance import Instance, evaluator
from mfbandit.instances._laws import TableLaw
from mfbandit.instances.recorded._block_tables import BlockCells, collect_blocks, collect_wide
from mfbandit.instances.recorded._table_rows import TableSource, check_range, kept, read_rows
from mfbandit.model import Bernoulli, Bounded, Fidelity, Gaussian, Problem, RewardKind, as_reward_kind

__all__ = ["Cells", "Evaluator", "PullLike", "collect", "evaluator", "read_table"]

_COLUMNS = ("arm", "fidelity", "reward")


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
    block: str | None = None,
    wide: bool = False,
    blocks: str | None = None,
    order: str = "own",
    pair_biases: Numbers | Mapping[str, Any] | str | None = None,
) -> Instance:
    """Make an instance from a table of recorded rewards; a pull draws one row of its cell.

    Parameters
    ----------
    source
        Path of a CSV file (also ``.gz``) or of a Parquet file (with the pandas extra and pyarrow), a
        pandas DataFrame, or an iterable of (arm, fidelity, reward) rows.
    costs, biases
        One number per fidelity, in the order of the fidelities, or a mapping from their names.
        ``biases="observed"`` takes the smallest bounds that the cell means keep, the most expensive fidelity
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
    block
        Name of the column that names the block (the question, the split) on which a reward was had: arms are
        then compared on the same blocks, and every arm needs every block at every fidelity exactly once. Rows
        without names are (block, arm, fidelity, reward).
    wide
        With `block`: the table has one row per block and one column per arm, at one fidelity.
    blocks
        With `block`: ``"unlimited"`` makes a block one of those of the table, drawn with replacement, instead
        of going through them in a random order.
    order
        With `block`: as for :class:`Problem`.
    pair_biases
        With `block`: how far a fidelity may be off about the difference of two arms, given as `biases` are.

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
    if block is not None:
        held = (collect_wide if wide else collect_blocks)(source, block, arms, fidelities, columns)
        on_blocks = _block_problem(held, costs, biases, pair_biases, kind, blocks, order)
        return Instance(on_blocks, law=BlockTableLaw(held.values), name=name, strict=strict)
    for what, said in (("wide", wide), ("blocks", blocks), ("pair_biases", pair_biases), ("order", order != "own")):
        if said is not None and said is not False:
            raise InstanceError(f"{what} is about tables with blocks: pass block=, the column that names the block")
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
            check_range(row, reward)
            found.setdefault((row.arm, row.fidelity), []).append(row.reward)
    if not seen_arms:
        raise InstanceError("the table has no rows")
    kept_arms = kept(wanted_arms, seen_arms, "arm")
    columns_kept = kept(wanted, seen, "fidelity")
    for arm in kept_arms:
        for fidelity in columns_kept:
            if (arm, fidelity) not in found:
                raise InstanceError(f"the table has no reward of arm {arm!r} at fidelity {fidelity!r}")
    rewards = tuple(tuple(np.array(found[arm, fidelity]) for fidelity in columns_kept) for arm in kept_arms)
    return Cells(kept_arms, columns_kept, rewards)


def _kind(cells: Cells) -> RewardKind:
    binary = all(bool(np.isin(cell, (0.0, 1.0)).all()) for row in cells.rewards for cell in row)
    return Bernoulli() if binary else Bounded()


def _block_problem(
    held: BlockCells, costs: Any, biases: Any, pair_biases: Any, kind: RewardKind | None, blocks: Any, order: str
) -> Problem:
    """The problem of a table with blocks."""
    if blocks not in (None, "unlimited"):
        raise InstanceError(
            f"blocks must be 'unlimited' or left out, got {blocks!r}: the table says how many there are"
        )
    means = BlockTableLaw(held.values).means
    prices = _columns(_per_fidelity(costs, "costs", held.fidelities), "costs", len(held.fidelities))
    bounds = _observed(means, prices) if isinstance(biases, str) and biases == "observed" else biases
    bounds = _columns(_per_fidelity(bounds, "biases", held.fidelities), "biases", len(held.fidelities))
    pairs: Any = [None] * len(held.fidelities)
    if isinstance(pair_biases, str) and pair_biases == "observed":
        pairs = _observed_pairs(means, prices)
    elif pair_biases is not None:
        given = _per_fidelity(pair_biases, "pair_biases", held.fidelities)
        pairs = _columns(given, "pair_biases", len(held.fidelities))
    binary = bool(np.isin(held.values, (0.0, 1.0)).all())
    return Problem(
        held.arms,
        [Fidelity(name, prices[..., m], bounds[..., m], pair_bias=pairs[m]) for m, name in enumerate(held.fidelities)],
        kind or (Bernoulli() if binary else Bounded()),
        blocks=blocks or held.values.shape[2],
        order=order,
    )


def _columns(values: Any, what: str, fidelities: int) -> FloatArray:
    """Numbers with one entry, or one column, for each fidelity."""
    table = as_numbers(values, what, InstanceError)
    if not table.ndim or table.shape[-1] != fidelities:
        raise InstanceError(f"{what} have shape {table.shape}; the table has {fidelities} fidelities")
    return table


def _observed_pairs(means: FloatArray, costs: FloatArray) -> FloatArray:
    """The smallest pair biases that the means keep, the fidelity of the largest cost being true."""
    offsets = means - means[:, [_truest(costs)]]
    return np.asarray(offsets.max(axis=0) - offsets.min(axis=0))


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
    """The smallest bias bounds that the means keep, the most expensive fidelity (the last of them) being true."""
    prices = np.asarray(costs, dtype=np.float64)
    if prices.shape[-1] != means.shape[1]:
        raise InstanceError(f"costs are given for {prices.shape[-1]} fidelities; the table has {means.shape[1]}")
    return np.asarray(np.abs(means - means[:, [_truest(prices)]]).max(axis=0))


def _truest(costs: FloatArray) -> int:
    """The fidelity of the largest cost, of several the last."""
    mean_costs = costs if costs.ndim == 1 else costs.mean(axis=0)
    return len(mean_costs) - 1 - int(np.argmax(mean_costs[::-1]))
