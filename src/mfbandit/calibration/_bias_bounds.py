"""Bounds of a measured bias: the difference of two means, one arm at a time.

Every bound here is for a number of rewards that was fixed before. It fails with probability at most beta,
on either side, for any number of rewards, as long as its noise model is true.

- *normal*: Student's t. Unpaired, the degrees of freedom are those of the smaller sample, which is
  conservative; paired, t of the differences, which is exact.
- *binary*: rewards are 0 or 1. Each of two probabilities has its exact binomial bound (Clopper and Pearson)
  at beta/2. That ten answers were all wrong does not make an arm exact: its probability may be 0.26.
- *bounded*: rewards in their range. The same with Chernoff's bound n kl(mean, q) <= log(1/risk), or
  empirical Bernstein, whichever is tighter; they share the risk.

Unpaired, the two means are those of the two fidelities. Paired, both fidelities measured the same items, and
the bias is the mean of D, the difference on one item. D is the excess max(D, 0) less the shortfall max(-D,
0), and the two means are theirs: where fidelities mostly agree both are small, and so are their bounds.
"""

from __future__ import annotations

import math

import numpy as np

from mfbandit._checks import FloatArray
from mfbandit.calibration._pilot_data import Pilot
from mfbandit.confidence.processes import bernstein_reach

__all__ = ["difference_bounds"]

Sample = tuple[FloatArray, ...]
"""The rewards of each arm."""
Bounds = tuple[FloatArray, FloatArray]
"""Lower and upper bounds, one each per arm."""

#: The share of a risk that goes to Bernstein's bound; the rest goes to Chernoff's.
_BERNSTEIN_SHARE = 0.25
_HALVINGS = 60


def difference_bounds(pilot: Pilot, m: int, noise: str, beta: float, *, paired: bool) -> Bounds:
    """Bounds of the bias of each arm at fidelity m: each fails with probability at most beta."""
    if paired:
        return _paired(pilot, m, noise, beta)
    difference = pilot.means[:, m] - pilot.means[:, pilot.truest]
    if noise in ("symmetric", "none"):
        return difference, difference
    if noise == "normal":
        return _student(pilot, m, beta)
    first, second = (_mean_bounds(pilot, column, noise, 0.5 * beta) for column in (m, pilot.truest))
    span = pilot.reward.span
    return (first[0] - second[1]) * span, (first[1] - second[0]) * span


def _student(pilot: Pilot, m: int, beta: float) -> Bounds:
    assert pilot.counts is not None
    assert pilot.spreads is not None
    columns = [m, pilot.truest]
    counts = pilot.counts[:, columns]
    error = np.sqrt((pilot.spreads[:, columns] ** 2 / counts).sum(axis=1))
    return _within(pilot.means[:, m] - pilot.means[:, pilot.truest], error, counts.min(axis=1), beta)


def _within(difference: FloatArray, error: FloatArray, counts: FloatArray, beta: float) -> Bounds:
    from scipy.special import stdtrit

    # For beta > 1/2 the bounds would cross; the difference itself is then a bound, too.
    reach = np.maximum(stdtrit(counts - 1.0, 1.0 - beta) * error, 0.0)
    return difference - reach, difference + reach


def _paired(pilot: Pilot, m: int, noise: str, beta: float) -> Bounds:
    differences = pilot.differences(m)
    means = np.array([d.mean() for d in differences])
    counts = np.array([len(d) for d in differences], dtype=float)
    if noise in ("symmetric", "none"):
        return means, means
    if noise == "normal":
        spreads = np.array([d.std(ddof=1) for d in differences])
        return _within(means, spreads / np.sqrt(counts), counts, beta)
    span = pilot.reward.span
    unit = [d / span for d in differences]
    share = 1.0 if noise == "binary" else 1.0 - _BERNSTEIN_SHARE
    excess, shortfall = (
        _binomial(np.array([np.maximum(sign * d, 0.0).mean() for d in unit]), counts, noise, 0.5 * share * beta)
        for sign in (1.0, -1.0)
    )
    low, high = excess[0] - shortfall[1], excess[1] - shortfall[0]
    if noise == "bounded":
        # Differences lie within [-1, 1], twice as wide as rewards do.
        reach = np.array([2.0 * _bernstein(0.5 * (d + 1.0), _BERNSTEIN_SHARE * beta) for d in unit])
        low, high = np.maximum(low, means / span - reach), np.minimum(high, means / span + reach)
    return low * span, high * span


def _mean_bounds(pilot: Pilot, column: int, noise: str, risk: float) -> Bounds:
    """Bounds of the means at one fidelity, in unit scale; each fails with probability at most `risk`."""
    assert pilot.counts is not None
    means = np.asarray(pilot.reward.to_unit(pilot.means[:, column]))
    counts = pilot.counts[:, column].astype(float)
    if noise == "binary" or pilot.cells is None:
        return _binomial(means, counts, noise, risk)
    low, high = _binomial(means, counts, noise, (1.0 - _BERNSTEIN_SHARE) * risk)
    cells = (np.asarray(pilot.reward.to_unit(row[column])) for row in pilot.cells)
    reach = np.array([_bernstein(cell, _BERNSTEIN_SHARE * risk) for cell in cells])
    return np.maximum(low, means - reach), np.minimum(high, means + reach)


def _binomial(means: FloatArray, counts: FloatArray, noise: str, risk: float) -> Bounds:
    above = _exact_above if noise == "binary" else _chernoff_above
    means = np.clip(means, 0.0, 1.0)
    return 1.0 - above(1.0 - means, counts, risk), above(means, counts, risk)


def _exact_above(means: FloatArray, counts: FloatArray, risk: float) -> FloatArray:
    """Clopper and Pearson's upper bounds of probabilities."""
    from scipy.special import betaincinv

    hits = np.rint(means * counts)
    high = betaincinv(hits + 1.0, np.maximum(counts - hits, 1.0), 1.0 - risk)
    return np.asarray(np.where(hits >= counts, 1.0, high))


def _chernoff_above(means: FloatArray, counts: FloatArray, risk: float) -> FloatArray:
    """The largest q with n kl(mean, q) <= log(1/risk), a hair too large."""
    low, high = means.copy(), np.ones_like(means)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        beyond = counts * _kl(means, middle) > math.log(1.0 / risk)
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return high


def _kl(p: FloatArray, q: FloatArray) -> FloatArray:
    from scipy.special import rel_entr

    return np.asarray(rel_entr(p, q) + rel_entr(1.0 - p, 1.0 - q))


def _bernstein(cell: FloatArray, risk: float) -> float:
    """How far the mean of rewards in [0, 1] may be from that of their law, on either side."""
    n = len(cell)
    if math.log(1.0 / risk) >= n:
        return 1.0  # no variance is small enough for so few
    before = np.concatenate([[0.0], np.cumsum(cell)[:-1]])
    # The forecasts of `mfbandit.core.observe`: the mean of those before and of one half.
    surprise = cell - (before + 0.5) / np.arange(1, n + 1)
    return float(bernstein_reach(float(surprise @ surprise), math.log(1.0 / risk))) / n
