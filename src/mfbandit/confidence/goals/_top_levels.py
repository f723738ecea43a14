"""The m best arms: who is in and who is out at a level. The proof is in docs/goals.md."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mfbandit.confidence.goals._pair_levels import Flags, Floats

__all__ = ["best_guess", "settled_arms", "sides_at"]

Ints = npt.NDArray[np.int64]


def _closure(better: Flags, m: int, may_be_in: Flags, may_be_out: Flags) -> tuple[Flags, Flags]:
    """Who is in and who is out by what is shown, of those who may be."""
    arms = better.shape[0]
    inside, outside = np.zeros(arms, dtype=bool), np.zeros(arms, dtype=bool)
    while True:
        worse = (better | outside[None, :]) & ~np.eye(arms, dtype=bool)
        more_in = may_be_in & ~outside & (worse.sum(axis=1) >= arms - m)
        ahead = (better | more_in[:, None]) & ~np.eye(arms, dtype=bool)
        more_out = may_be_out & ~more_in & (ahead.sum(axis=0) >= m)
        if (more_in == inside).all() and (more_out == outside).all():
            return inside, outside
        inside, outside = more_in | inside, more_out | outside


def settled_arms(better: Flags, no_worse: Flags, chosen: Flags) -> Flags:
    """Which arms are shown to be on the side that an answer has them on; those left by themselves only together.

    Parameters
    ----------
    better : array (K, K)
        Whether the first arm is shown to be better than the second.
    no_worse : array (K, K)
        Whether it is shown to be no worse by more than epsilon.
    chosen : array (K,)
        The answer.
    """
    inside, outside = _closure(better, int(chosen.sum()), chosen, ~chosen)
    left = ~inside & ~outside
    # Of those left, each chosen one must be no worse than each of the others: all of that together is the proof.
    enough = bool(no_worse[np.ix_(left & chosen, left & ~chosen)].all())
    return np.asarray(~left | enough)


def sides_at(better: Flags, m: int) -> tuple[Flags, Flags]:
    """Who is in and who is out by what is shown, whatever the answer."""
    everybody = np.ones(better.shape[0], dtype=bool)
    return _closure(better, m, everybody, everybody)


def best_guess(better: Flags, m: int, scores: Floats) -> Flags:
    """The m arms that are in or, of those who are neither in nor out, have the highest scores."""
    arms = better.shape[0]
    inside, outside = sides_at(better, m)
    # In is never more than m but where evidence contradicts itself.
    order: Ints = np.lexsort((np.arange(arms), -scores, outside, ~inside))
    chosen = np.zeros(arms, dtype=bool)
    chosen[order[:m]] = True
    return chosen
