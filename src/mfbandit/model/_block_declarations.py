"""What can be said of the blocks of a problem, and what cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mfbandit.errors import ProblemError
from mfbandit.model._fidelity import Fidelity
from mfbandit.model._reward_kinds import Bounded, Gaussian, RewardKind

if TYPE_CHECKING:
    from mfbandit.model._problem import Problem

__all__ = ["alone", "as_blocks", "check_blocks", "counting_alike", "counts_alike"]

#: A finite set is held in memory, with a place for every arm at every item.
_MOST = 100_000_000

_ALIKE = "; an item that all candidates left answer alike counts "


def counting_alike(truth: str | None, low: float) -> str:
    """The words for a truth of which some blocks are not measured, since all arms left are known to be equal there."""
    return f"{truth or ''}{_ALIKE}{low:g} for each"


def counts_alike(truth: str | None) -> bool:
    """Whether these are such words: then differences of arms are right, and means of single arms say nothing.

    Examples
    --------
    >>> counts_alike(counting_alike("the mean of all grades", 0.0)), counts_alike("the mean of all grades")
    (True, False)
    """
    return truth is not None and _ALIKE in truth


def as_blocks(blocks: object) -> int | str | None:
    """Return how many blocks there are, or refuse what says no such thing."""
    if blocks is None or (isinstance(blocks, str) and blocks == "unlimited"):
        return blocks
    if isinstance(blocks, int | np.integer) and not isinstance(blocks, bool) and blocks >= 1:
        if blocks > _MOST:
            raise ProblemError(f"blocks is {blocks}, more than {_MOST:,}: say 'unlimited' and draw them at random")
        return int(blocks)
    raise ProblemError(f"blocks must be a whole number of at least 1, or 'unlimited', got {blocks!r}")


def check_blocks(problem: Problem) -> None:
    """Refuse what cannot be said of a problem with these blocks, or without any."""
    reward, blocks = problem.reward, problem.blocks
    if not isinstance(problem.order, str) or problem.order not in ("own", "shared"):
        raise ProblemError(f"order must be 'own' or 'shared', got {problem.order!r}")
    _check_continuing(problem)
    unknown = isinstance(reward, Gaussian) and reward.sigma is None
    if blocks is None:
        for fidelity in problem.fidelities:
            if fidelity.pair_bias is not None or fidelity.block_cost:
                raise ProblemError(
                    f"fidelity {fidelity.name!r} has a pair_bias or a block_cost, but the problem has no blocks: "
                    "pass blocks="
                )
        if unknown:
            raise ProblemError(
                "the gaussian reward needs its noise: pass Gaussian(sigma=...), or blocks='unlimited' to compare arms "
                "on shared conditions, where it may stay unknown"
            )
        if problem.order != "own":
            raise ProblemError("order='shared' is about blocks, but the problem has none: pass blocks=")
    if isinstance(reward, Bounded) and reward.swing is not None and blocks != "unlimited":
        raise ProblemError("a swing is about differences on unlimited blocks: pass blocks='unlimited'")
    if unknown and isinstance(blocks, int):
        raise ProblemError(
            f"Gaussian() without sigma needs blocks='unlimited', got {blocks}: the items of a finite set are no "
            "normal sample; declare their range, as Bounded(low, high)"
        )
    if blocks is not None and isinstance(reward, Gaussian) and not unknown:
        raise ProblemError(
            f"a problem with blocks takes Gaussian() without sigma, got {reward}: what counts there is the variance "
            "of differences, another one for every pair of arms"
        )
    truest = problem.fidelities[problem.truest]
    if truest.pair_bias:
        raise ProblemError(f"fidelity {truest.name!r} is the truth, so its pair_bias is 0, not {truest.pair_bias}")


def _check_continuing(problem: Problem) -> None:
    """Refuse fidelities that go on from others where that is not possible, or would void a certificate."""
    going = [m for m, fidelity in enumerate(problem.fidelities) if fidelity.continues]
    if going and (problem.blocks is None or problem.order != "shared"):
        raise ProblemError(
            f"fidelity {problem.fidelities[going[0]].name!r} continues others, so that their rewards depend on each "
            "other, and only arms that are compared block by block can do with that: pass blocks= and order='shared'"
        )
    mean = problem.costs.mean(axis=0)
    for m in going:
        name = problem.fidelities[m].name
        if mean[m] <= mean.min() and problem.n_fidelities > 1:
            raise ProblemError(
                f"fidelity {name!r} continues others, but none is cheaper: declare what they cost, or a guess of it"
            )
        for other, fidelity in enumerate(problem.fidelities):
            more = problem.costs[:, m] > problem.costs[:, other]
            if mean[other] < mean[m] and not more.all():
                raise ProblemError(
                    f"fidelity {name!r} continues {fidelity.name!r}, so it must cost more for every arm, and does not "
                    f"for arm {problem.arms[int(np.argmin(more))]!r}"
                )


def alone(fidelities: tuple[Fidelity, ...], reward: RewardKind) -> tuple[list[Fidelity], RewardKind]:
    """Return fidelities and rewards as they are when every pull opens a block of its own."""
    plain = [
        Fidelity(
            one.name,
            np.add(one.cost, one.block_cost) if one.guessed else one.to_json()["cost"],
            one.bias,
            at_most=one.at_most,
            measured=one.measured,
        )
        for one in fidelities
    ]
    return plain, Bounded(reward.low, reward.high) if isinstance(reward, Bounded) else reward
