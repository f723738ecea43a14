"""KL_inf: how cheaply nature can move a bounded reward law to another mean.

For a law P on [0, 1] and a level q above its mean, KL_inf(P, q) is the smallest KL(P, Q) over all
laws Q on [0, 1] with mean at least q. By duality (Honda and Takemura 2010) it is the maximum over
0 <= l <= 1/(1-q) of E log(1 - l (X - q)), a concave problem in one number. A law enters as
*atoms*: values with weights; a Beta law is turned into atoms by a quadrature rule.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Atoms", "atoms_of_values", "beta_atoms", "kl_inf"]

FloatArray = NDArray[np.float64]

#: Newton and bisection steps; bisection alone reaches the last bit in about 60.
_STEPS = 100
#: |u| under which the series is more accurate than log1p(u) - u.
_SMALL = 0.05
#: Log-density drop after which the tails of a Beta law are left out of the quadrature.
_DROP = 45.0
#: Logits beyond which x (or 1 - x) is below the resolution of a float beside 1.
_FAR = 40.0


class Atoms(NamedTuple):
    """A law on [0, 1] as weighted values; all arrays end in the axis of the atoms."""

    above: FloatArray
    """Distance of each value to 0."""
    below: FloatArray
    """Distance of each value to 1, kept apart from ``above`` so that values near 1 stay exact."""
    weights: FloatArray
    """Probabilities; 0 for padding."""


def log1p_minus(u: FloatArray) -> FloatArray:
    """Return log(1 + u) - u without losing digits near 0.

    Examples
    --------
    >>> float(log1p_minus(np.array(1e-8)))
    -4.999999966666667e-17
    """
    series = np.zeros_like(u)
    for power in range(12, 1, -1):
        series = series * u + (-1.0) ** (power + 1) / power
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(np.abs(u) < _SMALL, series * u * u, np.log1p(u) - u)


def kl_inf(
    distances: FloatArray, weights: FloatArray, excess: FloatArray, room: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Maximise E log(1 - l (X - q)) over 0 <= l <= 1/(1-q), upwards; mirror the law for downwards.

    Parameters
    ----------
    distances : array (..., R)
        1 - X for each atom.
    weights : array (..., R)
        Probabilities of the atoms.
    excess : array (...)
        q minus the mean; where it is not positive the answer is 0.
    room : array (...)
        1 - q.

    Returns
    -------
    value, slope : arrays (...)
        KL_inf, and its derivative with respect to q, which is the maximising l.

    Examples
    --------
    A fair coin to mean 0.8 gives the Bernoulli divergence:

    >>> coin = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    >>> value, slope = kl_inf(*coin, np.array(0.3), np.array(0.2))
    >>> round(float(value), 6), round(float(slope), 6)
    (0.223144, 1.875)
    """
    active = excess > 0.0
    space = np.where(active & (room > 0.0), room, 1.0)
    pull = np.where(active, excess, 0.0) / space
    # With t = l (1-q), the integrand is log(1 + t shift); E shift is exact, from the mean.
    shift = distances / space[..., None] - 1.0
    squares = weights * shift * shift
    share = _maximiser(shift, squares, pull)
    value = (weights * log1p_minus(share[..., None] * shift)).sum(-1) + share * pull
    value = np.where(active, np.maximum(value, 0.0), 0.0)
    slope = np.where(active, share / space, 0.0)
    full = active & (room <= 0.0)
    return np.where(full, np.inf, value), np.where(full, np.inf, slope)


def _maximiser(shift: FloatArray, squares: FloatArray, pull: FloatArray) -> FloatArray:
    """Root t in [0, 1] of the decreasing derivative ``pull - t E[shift^2 / (1 + t shift)]``."""
    low, high = np.zeros_like(pull), np.ones_like(pull)
    with np.errstate(divide="ignore", invalid="ignore"):
        at_end = pull - np.where(squares > 0.0, squares / (1.0 + shift), 0.0).sum(-1)
        t = np.minimum(pull / squares.sum(-1), 0.5)
    open_ = (at_end < 0.0) & (pull > 0.0)
    t = np.where(open_, t, np.where(pull > 0.0, 1.0, 0.0))
    for _ in range(_STEPS):
        if not open_.any():
            break
        grown = 1.0 + t[..., None] * shift
        # At t = 1 an atom at the far end makes grown 0; those entries are settled already.
        ratio = squares / np.where(grown > 0.0, grown, 1.0)
        derivative = pull - t * ratio.sum(-1)
        curvature = -(ratio / np.where(grown > 0.0, grown, 1.0)).sum(-1)
        low = np.where(open_ & (derivative > 0.0), t, low)
        high = np.where(open_ & (derivative <= 0.0), t, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = t - derivative / curvature
        inside = (newton >= low) & (newton <= high) & (newton < 1.0)
        step = np.where(inside, newton, 0.5 * (low + high))
        # An error in t costs at most derivative * (high - low) in the value, relative to pull * t.
        settled = np.abs(derivative) * (high - low) <= 1e-15 * pull * t
        settled |= (np.abs(step - t) <= 1e-15 * t) | (high - low <= 1e-16 * high)
        open_ = open_ & ~settled
        t = np.where(open_, step, t)
    return t


def atoms_of_values(values: ArrayLike) -> Atoms:
    """Return the law that draws one of the values, each with the same probability.

    Examples
    --------
    >>> atoms_of_values([0.25, 1.0, 1.0, 0.25]).weights
    array([0.5, 0.5])
    """
    found, counts = np.unique(np.asarray(values, dtype=np.float64), return_counts=True)
    return Atoms(found, 1.0 - found, counts / counts.sum())


def beta_atoms(mean: float, concentration: float) -> Atoms:
    """Return a quadrature rule for the Beta law of a mean and a concentration a + b.

    In the logit s of x the density is x^a (1-x)^b, and log(1 - l (x - q)) is analytic for |Im s| <
    pi whatever l and q are, so the trapezoidal rule in s converges geometrically, also where the
    integrand has a logarithm's pole at an end of [0, 1]. The tails, where x is 0 or 1 to the last
    bit, are geometric series.

    Examples
    --------
    >>> rule = beta_atoms(0.7, 50.0)
    >>> bool(abs((rule.weights * rule.above).sum() - 0.7) < 1e-14)
    True
    """
    a, b = mean * concentration, (1.0 - mean) * concentration
    if min(mean, 1.0 - mean) < np.exp(-_FAR) or min(a, b) < 1e-12:
        return Atoms(*(np.array([part]) for part in (mean, 1.0 - mean, 1.0)))
    centre = np.log(a / b)
    step = min(0.25, 0.6 * np.sqrt(1.0 / a + 1.0 / b))
    left, right = (_reach(a, b, centre, sign) for sign in (-1.0, 1.0))
    logits = centre + step * np.arange(-np.ceil(left / step), np.ceil(right / step) + 1.0)
    log_density = _log_density(a, b, logits)
    density = np.exp(log_density - log_density.max())
    # The rest of the trapezoidal sum, where the density falls by exp(-a step) per node.
    with np.errstate(over="ignore"):
        ends = density[0] / np.expm1(a * step), density[-1] / np.expm1(b * step)
    weights = np.concatenate([density, ends])
    above = np.concatenate([np.exp(-np.logaddexp(0.0, -logits)), [0.0, 1.0]])
    below = np.concatenate([np.exp(-np.logaddexp(0.0, logits)), [1.0, 0.0]])
    # Ends of no weight would only keep the maximiser of KL_inf from its boundary.
    kept = weights > 0.0
    kept[-2:] &= weights[-2:] > 1e-17 * weights.sum()
    return Atoms(above[kept], below[kept], weights[kept] / weights[kept].sum())


def _log_density(a: float, b: float, logits: FloatArray) -> FloatArray:
    return np.asarray(-a * np.logaddexp(0.0, -logits) - b * np.logaddexp(0.0, logits))


def _reach(a: float, b: float, centre: float, sign: float) -> float:
    """Distance from the mode in logits at which the density is negligible, at most to +-40."""
    near, far = 0.0, max(_FAR - sign * centre, 1.0)
    floor = float(_log_density(a, b, np.asarray(centre))) - _DROP
    for _ in range(30):
        middle = 0.5 * (near + far)
        if _log_density(a, b, np.asarray(centre + sign * middle)) > floor:
            near = middle
        else:
            far = middle
    return far
