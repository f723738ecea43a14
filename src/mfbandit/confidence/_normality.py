"""Whether differences look normal: a warning, not a test that anything rests on."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

__all__ = ["unlike_normal"]

#: From so many differences on something can be said of them.
_FEW = 12
#: More zeros than this are unlike a continuous law.
_ZEROS = 0.5
#: Standard errors by which the skewness and the kurtosis of normal differences are hardly ever off.
_FAR = 4.0


def unlike_normal(differences: npt.NDArray[np.float64]) -> str | None:
    """What about some differences is unlike normal ones, in words; None if nothing is, or they are too few.

    NaN is a difference that is not known.

    Examples
    --------
    >>> unlike_normal(np.array([0.0] * 18 + [0.3, -0.2]))
    '90% of them are 0'
    >>> unlike_normal(-np.linspace(0.0, 3.0, 40) ** 6)
    'their skewness is -1.9'
    >>> unlike_normal(np.linspace(-1.0, 1.0, 40)) is None
    True
    """
    differences = differences[~np.isnan(differences)]
    n = differences.size
    if n < _FEW:
        return None
    zeros = float(np.mean(differences == 0.0))
    if zeros > _ZEROS:
        return f"{zeros:.0%} of them are 0"
    centred = differences - differences.mean()
    spread = float(np.sqrt(np.mean(centred**2)))
    if not spread > 0.0:
        return "all of them are equal"
    skewness, kurtosis = (float(np.mean((centred / spread) ** power)) for power in (3, 4))
    if abs(skewness) > _FAR * math.sqrt(6.0 / n):
        return f"their skewness is {skewness:.1f}"
    if kurtosis - 3.0 > 2.0 * _FAR * math.sqrt(24.0 / n):
        return f"their kurtosis is {kurtosis:.1f}, not 3"
    return None
