"""Student's evidence: that normal differences of unknown variance have a positive mean.

With n differences, S their sum and Q the sum of their squares, T = S / sqrt(Q) does not depend on their scale. The
evidence is the likelihood ratio of T between effects d (mean over standard deviation) and no effect,
averaged over d::

    E_n = sum over d of w_d exp(-n d^2 / 2) I_n(d T) / I_n(0),
    I_n(c) = integral over y > 0 of y^(n-1) exp(-y^2 / 2 + c y).

See docs/certificates.md for why it is valid at any time, and why such evidence must not be averaged.
"""

from __future__ import annotations

import math

from mfbandit.confidence.race._rules import EFFECT_WEIGHTS, EFFECTS
from mfbandit.core import Floats, kernel

__all__ = ["ascending", "at_most", "log_student", "lower_median"]

_EFFECTS = EFFECTS.shape[0]
_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_ROOT_HALF = math.sqrt(0.5)
_LARGE = 1e200
_NOTHING = -1e300


@kernel
def log_moment(n: int, c: float) -> float:
    """Compute log I_n(c) for c >= 0, by I_(k+2) = c I_(k+1) + k I_k."""
    log_first = _HALF_LOG_TWO_PI + 0.5 * c * c + math.log(0.5 * math.erfc(-c * _ROOT_HALF))
    ratio = c + math.exp(-log_first)
    total, product = log_first, 1.0
    for k in range(1, n):
        product *= ratio
        if product > _LARGE:
            total += math.log(product)
            product = 1.0
        ratio = c + k / ratio
    return total + math.log(product)


@kernel
def at_most(n: int, t: float) -> float:
    """What the logarithm of the evidence cannot exceed: that of the likeliest effect, variance and all."""
    left = 1.0 - t * t / n
    return -0.5 * n * math.log(left) if left > 0.0 else math.inf


@kernel
def log_student(n: int, t: float) -> float:
    """The logarithm of the evidence of n differences whose statistic is t > 0.

    Examples
    --------
    >>> round(log_student(5, 2.2), 6)
    5.949721
    """
    start = log_moment(n, 0.0)
    top, total = _NOTHING, 0.0
    for i in range(_EFFECTS):
        effect = EFFECTS[i]
        one = log_moment(n, effect * t) - start - 0.5 * n * effect * effect
        if one > top:
            total = total * math.exp(top - one) + EFFECT_WEIGHTS[i]
            top = one
        else:
            total += EFFECT_WEIGHTS[i] * math.exp(one - top)
    return float(top + math.log(total))


@kernel
def ascending(values: Floats, size: int) -> None:
    """Put the first numbers of an array in order (Shell's sort, with steps that shrink by 2.2)."""
    step = size
    while step > 1:
        step = max(1, int(step / 2.2))
        for i in range(step, size):
            moved, j = values[i], i
            while j >= step and values[j - step] > moved:
                values[j] = values[j - step]
                j -= step
            values[j] = moved


@kernel
def lower_median(values: Floats, size: int) -> float:
    """The median of the first numbers of an array, the lower one of two; their order changes."""
    wanted, low, high = (size - 1) // 2, 0, size - 1
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                kept = values[i]
                values[i] = values[j]
                values[j] = kept
                i += 1
                j -= 1
        if wanted <= j:
            high = j
        elif wanted >= i:
            low = i
        else:
            break
    return float(values[wanted])
