"""Whether a reward law and means fit a problem: what an instance checks when it is made."""

from __future__ import annotations

import numpy as np

from mfbandit._checks import FloatArray, as_numbers, frozen
from mfbandit.errors import InstanceError
from mfbandit.instances._block_laws import BlockEffectLaw, BlockTableLaw
from mfbandit.instances._laws import BernoulliLaw, BetaLaw, GaussianLaw, RewardLaw, TableLaw
from mfbandit.model import Bernoulli, Bounded, Gaussian, Problem

__all__ = ["checked_means", "fitting_law"]

# Published averages of a table are rounded; what is farther away belongs to other data.
_SAME_AVERAGE = 1e-6


def fitting_law(problem: Problem, law: object) -> RewardLaw:
    """Return the law, or the default one, if rewards drawn from it are of the problem's kind."""
    kind = problem.reward
    if problem.blocks is not None:
        return _fitting_block_law(problem, law)
    if law is None:
        return _default_law(kind)
    if isinstance(law, BlockTableLaw | BlockEffectLaw):
        raise InstanceError(f"{law!r} is a law of rewards on blocks, but the problem has none: pass blocks= to it")
    if isinstance(law, GaussianLaw) and isinstance(kind, Gaussian):
        if law.sigma > kind.scale:
            raise InstanceError(f"{law} is noisier than the problem promises: its sigma must be at most {kind.scale}")
        return law
    if isinstance(law, BernoulliLaw) and isinstance(kind, Bernoulli | Bounded):
        return law
    if isinstance(law, BetaLaw) and isinstance(kind, Bounded):
        return law
    if isinstance(law, TableLaw) and isinstance(kind, Bernoulli | Bounded):
        _check_table(problem, law, kind)
        return law
    raise InstanceError(
        f"the reward law {law!r} does not fit the reward kind {kind}: Bernoulli goes with "
        "BernoulliLaw or TableLaw, Gaussian with GaussianLaw, Bounded with BetaLaw, TableLaw or "
        "BernoulliLaw"
    )


def _fitting_block_law(problem: Problem, law: object) -> RewardLaw:
    """Return the law of a problem with blocks; without one, arms are independent within a block if that says it all."""
    kind, blocks = problem.reward, problem.blocks
    if law is None and blocks == "unlimited" and isinstance(kind, Bernoulli):
        return BlockEffectLaw(0.0)
    if isinstance(law, BlockTableLaw):
        _check_block_table(problem, law)
        return law
    if not isinstance(law, BlockEffectLaw):
        given = "leaves the reward law open" if law is None else f"does not go with {law!r}"
        raise InstanceError(
            f"a problem with {blocks} blocks {given}: pass law=BlockTableLaw(values)"
            + (", or BlockEffectLaw(rho)" if blocks == "unlimited" else "")
        )
    if blocks != "unlimited":
        raise InstanceError(f"{law} is for blocks='unlimited', got {blocks} blocks: pass law=BlockTableLaw(values)")
    if (law.sigma is None) == isinstance(kind, Gaussian):
        needed = "needs its sigma" if law.sigma is None else "takes no sigma"
        raise InstanceError(f"{law} with the reward kind {kind} {needed}")
    return law


def _check_block_table(problem: Problem, law: BlockTableLaw) -> None:
    kind, values = problem.reward, law.values
    _check_shape(problem, law)
    if problem.blocks not in ("unlimited", law.blocks):
        raise InstanceError(f"the table has {law.blocks} blocks; the problem has {problem.blocks}")
    if isinstance(kind, Gaussian):
        if bool(((values == 0.0) | (values == 1.0)).all()):
            raise InstanceError(f"all rewards of the table are 0 or 1, so they cannot be {kind}: pass Bernoulli()")
        return
    for k, m, i in np.argwhere((values < kind.low) | (values > kind.high)):
        raise InstanceError(
            f"the table holds the reward {values[k, m, i]} on block {i} of {_cell_name(problem, k, m)}, outside the "
            f"reward range [{kind.low}, {kind.high}]: state the range by reward=Bounded(low, high)"
        )
    if isinstance(kind, Bounded) and kind.swing is not None:
        _check_swing(problem, law, kind.swing)


def _check_swing(problem: Problem, law: BlockTableLaw, swing: float) -> None:
    """Refuse a table in which the difference of two arms strays farther from its mean than was declared."""
    around = law.values - law.means[:, :, np.newaxis]
    for k in range(problem.n_arms):
        strayed = np.abs(around - around[k]).max(axis=2)
        for other, m in np.argwhere(strayed > swing * (1.0 + 1e-9)):
            raise InstanceError(
                f"the difference of {_cell_name(problem, k, m)} and arm {problem.arms[other]!r} strays by "
                f"{strayed[other, m]:.6g} from its mean, beyond the declared swing {swing:.6g}"
            )


def _default_law(kind: Bernoulli | Bounded | Gaussian) -> RewardLaw:
    if isinstance(kind, Bernoulli):
        return BernoulliLaw()
    if isinstance(kind, Gaussian):
        return GaussianLaw(kind.scale)
    raise InstanceError(
        f"the reward kind {kind} leaves the reward law open: pass law=BetaLaw(concentration), "
        "BernoulliLaw() or TableLaw(cells)"
    )


def _check_table(problem: Problem, law: TableLaw, kind: Bernoulli | Bounded) -> None:
    _check_shape(problem, law)
    for k, cells in enumerate(law.cells):
        for m, rewards in enumerate(cells):
            for row in np.flatnonzero((rewards < kind.low) | (rewards > kind.high)):
                raise InstanceError(
                    f"the table holds the reward {rewards[row]} in row {row} of "
                    f"{_cell_name(problem, k, m)}, outside the reward range "
                    f"[{kind.low}, {kind.high}]: state the range by reward=Bounded(low, high)"
                )


def _check_shape(problem: Problem, law: TableLaw | BlockTableLaw) -> None:
    expected = problem.n_arms, problem.n_fidelities
    if law.shape != expected:
        raise InstanceError(
            f"the table has {law.shape[0]} rows of {law.shape[1]} cells; the problem has "
            f"{expected[0]} arms and {expected[1]} fidelities"
        )


def checked_means(problem: Problem, means: object, law: RewardLaw) -> FloatArray:
    """Return the means as a read-only array after checking its shape and range."""
    if means is None:
        if not isinstance(law, TableLaw | BlockTableLaw):
            raise InstanceError(f"means are missing: {law} needs one row of means per arm")
        return law.means
    table = as_numbers(means, "means", InstanceError, problem.arms)
    expected = problem.n_arms, problem.n_fidelities
    if table.shape != expected:
        raise InstanceError(
            f"means have shape {table.shape}; {expected[0]} arms and {expected[1]} fidelities need shape {expected}"
        )
    for k, m in np.argwhere(~np.isfinite(table)):
        raise InstanceError(f"the mean of {_cell_name(problem, k, m)} is {table[k, m]}; means must be finite")
    _check_range(problem, table)
    if isinstance(law, TableLaw | BlockTableLaw):
        _check_averages(problem, table, law)
        return law.means
    return frozen(table)


def _check_range(problem: Problem, means: FloatArray) -> None:
    low, high = problem.reward.low, problem.reward.high
    if low is None or high is None:
        return
    for k, m in np.argwhere((means < low) | (means > high)):
        raise InstanceError(
            f"the mean of {_cell_name(problem, k, m)} is {means[k, m]}, outside the reward range [{low}, {high}]"
        )


def _check_averages(problem: Problem, means: FloatArray, law: TableLaw | BlockTableLaw) -> None:
    for k, m in np.argwhere(np.abs(means - law.means) > _SAME_AVERAGE * problem.reward.span):
        raise InstanceError(
            f"the mean of {_cell_name(problem, k, m)} is {means[k, m]}, but its table cell "
            f"averages {law.means[k, m]:.9g}; leave means out to take the averages"
        )


def _cell_name(problem: Problem, k: int, m: int) -> str:
    return f"arm {problem.arms[k]!r}, fidelity {problem.fidelities[m].name!r}"
