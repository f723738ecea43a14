"""A line of three stations with finite buffers: the throughput problem of the literature on ranking and selection.

Jobs wait without end before station 1 and go through stations 1, 2 and 3. Services are exponential, with whole rates
r1 + r2 + r3. Station 2 has room for b2 jobs and station 3 for b3: who finds no room stays where it is and blocks that
station. A replication is the throughput of `JOBS` jobs after a warm-up, beginning with an empty line. On one block all
systems are given the same random numbers: service i of a station takes the same exponential over the station's rate.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

import numba
import numpy as np
import numpy.typing as npt

import mfbandit as mf
from mfbandit.engines import Batches

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Jobs whose throughput is measured, and those before them, by which costs and the truth are counted.
JOBS, WARM_UP = 50, 2_000
#: Room for the times of jobs before the first: no buffer is larger.
_BEFORE = 64
#: Shorter warm-ups, and by how much the difference of a system and the best one may be off after them.
SHORTER = ((50, 1.0),)


def systems(rates: int = 50, buffers: int = 50) -> Ints:
    """All lines with so many units of rate and of buffer, as rows (r1, r2, r3, b2, b3), each at least 1.

    Examples
    --------
    >>> systems(4, 3).tolist()
    [[1, 1, 2, 1, 2], [1, 1, 2, 2, 1], [1, 2, 1, 1, 2], [1, 2, 1, 2, 1], [2, 1, 1, 1, 2], [2, 1, 1, 2, 1]]
    >>> len(systems())
    57624
    """
    return np.array(
        [
            (first, second, rates - first - second, buffer, buffers - buffer)
            for first in range(1, rates - 1)
            for second in range(1, rates - first)
            for buffer in range(1, buffers)
        ],
        dtype=np.int64,
    )


@lru_cache(maxsize=256)
def services(seed: int, jobs: int) -> Floats:
    """The exponential numbers that all systems share on a block, one per job and station."""
    drawn = np.random.default_rng(seed).standard_exponential((jobs, 3))
    drawn.flags.writeable = False
    return drawn


@numba.njit(cache=True, nogil=True)
def departures(shared: Floats, line: Ints, second: Floats, third: Floats) -> None:
    """Fill in when each job leaves stations 2 and 3; both arrays are 0 before the first job."""
    mean_1, mean_2, mean_3 = 1.0 / line[0], 1.0 / line[1], 1.0 / line[2]
    behind_2, behind_3 = _BEFORE - line[3], _BEFORE - line[4]
    leaves_1 = leaves_2 = leaves_3 = 0.0
    for job in range(shared.shape[0]):
        # A job leaves a station when it is served and the one that takes up the last room ahead has left.
        leaves_1 = max(leaves_1 + mean_1 * shared[job, 0], second[job + behind_2])
        leaves_2 = max(max(leaves_1, leaves_2) + mean_2 * shared[job, 1], third[job + behind_3])
        leaves_3 = max(leaves_2, leaves_3) + mean_3 * shared[job, 2]
        second[job + _BEFORE] = leaves_2
        third[job + _BEFORE] = leaves_3


@numba.njit(cache=True, nogil=True)
def replicate(shared: Floats, lines: Ints, warm_ups: Ints) -> Floats:
    """The throughput of each line after each warm-up, (lines, warm-ups), on one block."""
    found = np.empty((lines.shape[0], warm_ups.shape[0]))
    second, third = np.zeros(shared.shape[0] + _BEFORE), np.zeros(shared.shape[0] + _BEFORE)
    for number in range(lines.shape[0]):
        departures(shared, lines[number], second, third)
        for place in range(warm_ups.shape[0]):
            end = _BEFORE - 1 + warm_ups[place]
            found[number, place] = JOBS / (third[end + JOBS] - third[end])
    return found


def name_of(line: Sequence[int]) -> str:
    """The name of a system.

    Examples
    --------
    >>> name_of((17, 17, 16, 20, 30))
    '17 17 16 | 20 30'
    """
    return " ".join(map(str, line[:3])) + " | " + " ".join(map(str, line[3:]))


def problem(lines: Ints, *, shorter: Sequence[tuple[int, float]] = SHORTER, caution: float = 5.0) -> mf.Problem:
    """The race among some lines, with replications of shorter warm-ups; costs are in replications of the longest."""
    whole = JOBS + WARM_UP
    fidelities = [
        mf.Fidelity(f"warm-up {warm_up}", cost=(warm_up + JOBS) / whole, bias=bias, pair_bias=bias)
        for warm_up, bias in shorter
    ]
    fidelities.append(mf.Fidelity(f"warm-up {WARM_UP}", cost=1.0))
    names = [name_of(line) for line in lines.tolist()]
    return mf.Problem(names, fidelities, mf.Gaussian(caution=caution), blocks="unlimited")


class Simulator:
    """Evaluates many pulls at once: what they share is drawn once per block."""

    def __init__(self, lines: Ints) -> None:
        self.lines = lines

    def __call__(self, pulls: Sequence[mf.Pull]) -> list[float]:
        """The throughputs of some pulls."""
        together = defaultdict(list)
        for place, pull in enumerate(pulls):
            together[pull.fidelity, pull.block_seed].append(place)
        rewards = np.empty(len(pulls))
        for (fidelity, seed), places in together.items():
            warm_up = int(fidelity.rpartition(" ")[2])
            chosen = self.lines[[pulls[place].arm_index for place in places]]
            found = replicate(services(seed, warm_up + JOBS), chosen, np.array([warm_up]))
            rewards[places] = found[:, 0]
        return rewards.tolist()


def evaluator(lines: Ints, size: int = 4_000) -> Batches:
    """The simulator as an evaluator of batches."""
    return Batches(Simulator(lines), size)
