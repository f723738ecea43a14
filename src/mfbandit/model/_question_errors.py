"""Which answers are wrong, where the truth is known."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mfbandit.model._questions import BetterThan, CheapestWithin, Question, TopM

__all__ = ["wrong_answers"]

#: Rounding of true means.
_ROUNDING = 1e-12


def wrong_answers(
    question: Question,
    arms: tuple[str, ...],
    truth: npt.NDArray[np.float64],
    sides: npt.NDArray[np.int64],
    epsilon: float,
) -> npt.NDArray[np.bool_]:
    """Which answers claim something that is not true.

    Parameters
    ----------
    question, arms
        What was asked, about which arms.
    truth : array (K,)
        The true means.
    sides : array (trials, K)
        Where each arm stands by an answer: 1 if it is chosen or better, 2 if it is not, 0 if nothing is claimed.
    epsilon : float
        By how much arms may be worse than is asked for.

    Examples
    --------
    >>> sides = np.array([[1, 1, 2], [1, 2, 1]])
    >>> wrong_answers(TopM(2), ("a", "b", "c"), np.array([0.9, 0.8, 0.1]), sides, 0.0).tolist()
    [False, True]
    """
    chosen, rejected = sides == 1, sides == 2
    if isinstance(question, BetterThan):
        ahead = truth - truth[arms.index(question.control)]
        wrong = (chosen & (ahead <= _ROUNDING)) | (rejected & (ahead > epsilon + _ROUNDING))
        return np.asarray(wrong.any(axis=1))
    if isinstance(question, TopM):
        least = np.where(chosen, truth, np.inf).min(axis=1)
        most = np.where(rejected, truth, -np.inf).max(axis=1)
        return np.asarray(most > least + epsilon + _ROUNDING)
    if isinstance(question, CheapestWithin):
        behind, price = truth.max() - truth, np.array(question.use_costs)
        paid = np.where(chosen, price, -np.inf).max(axis=1)
        too_far = (chosen & (behind > epsilon + _ROUNDING)).any(axis=1)
        missed = (price < paid[:, None]) & (behind <= epsilon - question.slack - _ROUNDING)
        return np.asarray(too_far | missed.any(axis=1))
    raise TypeError(f"nothing is known of {question!r}")
