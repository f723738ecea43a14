"""Random numbers as a function of where they stand: seed, trial, stream, number and part.

Plain Python, compiled threads and a GPU see the same luck, and trials can be computed in any order on any
number of machines. Numbers come from the SplitMix64 finaliser, applied once to name the stream and once to
name the pull.
"""

from __future__ import annotations

import math

from mfbandit.core.kernels._kernels import kernel, wrapped_product, wrapped_sum

__all__ = ["bits", "mix", "normal", "quantile_centre", "quantile_side", "quantile_tail", "trial_key", "uniform"]


# Odd constants of the SplitMix64 generator, as signed 64-bit integers so that compiled code, which
# wraps, and Python, which masks, agree bit by bit.
_GOLDEN = -0x61C8864680B583EB


_MIX_A = -0x40A7B892E31B1A47


_MIX_B = -0x6B2FB644ECCEEE15


_TO_UNIT = 2.0**-53


@kernel
def mix(z: int) -> int:
    """Scramble 64 bits (the SplitMix64 finaliser)."""
    z = wrapped_product(z ^ ((z >> 30) & 0x3FFFFFFFF), _MIX_A)
    z = wrapped_product(z ^ ((z >> 27) & 0x1FFFFFFFFF), _MIX_B)
    return z ^ ((z >> 31) & 0x1FFFFFFFF)


@kernel
def trial_key(seed: int, trial: int) -> int:
    """The key of one trial."""
    return mix(wrapped_sum(mix(wrapped_product(seed, _GOLDEN)), wrapped_product(trial + 1, _GOLDEN)))


@kernel
def bits(key: int, stream: int, n: int, part: int) -> int:
    """64 random bits for the n-th pull of a stream; `part` tells apart several draws for one pull."""
    named = mix(wrapped_sum(key, wrapped_product(stream + 1, _GOLDEN)))
    numbered = wrapped_sum(named, wrapped_product(n + 1, _GOLDEN))
    return mix(wrapped_sum(numbered, wrapped_product(part, _MIX_A)))


@kernel
def uniform(key: int, stream: int, n: int, part: int) -> float:
    """A number strictly between 0 and 1."""
    word = (bits(key, stream, n, part) >> 11) & 0x1FFFFFFFFFFFFF
    return (word + 0.5) * _TO_UNIT


@kernel
def quantile_centre(x: float) -> float:
    """The quotient for |u - 1/2| <= 0.425."""
    above = 2509.0809287301227
    above = above * x + 33430.57558358813
    above = above * x + 67265.7709270087
    above = above * x + 45921.95393154987
    above = above * x + 13731.69376550946
    above = above * x + 1971.5909503065513
    above = above * x + 133.14166789178438
    above = above * x + 3.3871328727963665
    below = 5226.495278852854
    below = below * x + 28729.085735721943
    below = below * x + 39307.89580009271
    below = below * x + 21213.794301586597
    below = below * x + 5394.196021424751
    below = below * x + 687.1870074920579
    below = below * x + 42.31333070160091
    below = below * x + 1.0
    return above / below


@kernel
def quantile_side(x: float) -> float:
    """The quotient for the sides."""
    above = 0.0007745450142783414
    above = above * x + 0.022723844989269184
    above = above * x + 0.2417807251774506
    above = above * x + 1.2704582524523684
    above = above * x + 3.6478483247632045
    above = above * x + 5.769497221460691
    above = above * x + 4.630337846156546
    above = above * x + 1.4234371107496835
    below = 1.0507500716444169e-09
    below = below * x + 0.0005475938084995345
    below = below * x + 0.015198666563616457
    below = below * x + 0.14810397642748008
    below = below * x + 0.6897673349851
    below = below * x + 1.6763848301838038
    below = below * x + 2.053191626637759
    below = below * x + 1.0
    return above / below


@kernel
def quantile_tail(x: float) -> float:
    """The quotient for the far tails."""
    above = 2.0103343992922881e-07
    above = above * x + 2.7115555687434876e-05
    above = above * x + 0.0012426609473880784
    above = above * x + 0.026532189526576124
    above = above * x + 0.29656057182850487
    above = above * x + 1.7848265399172913
    above = above * x + 5.463784911164114
    above = above * x + 6.657904643501103
    below = 2.0442631033899397e-15
    below = below * x + 1.421511758316446e-07
    below = below * x + 1.8463183175100548e-05
    below = below * x + 0.0007868691311456133
    below = below * x + 0.014875361290850615
    below = below * x + 0.1369298809227358
    below = below * x + 0.599832206555888
    below = below * x + 1.0
    return above / below


@kernel
def normal(u: float) -> float:
    """The standard normal quantile of u, good to 16 digits."""
    q = u - 0.5
    if -0.425 <= q <= 0.425:
        return q * quantile_centre(0.180625 - q * q)
    tail = u if q < 0.0 else 1.0 - u
    r = math.sqrt(-math.log(tail))
    size = quantile_side(r - 1.6) if r <= 5.0 else quantile_tail(r - 5.0)
    return -size if q < 0.0 else size
