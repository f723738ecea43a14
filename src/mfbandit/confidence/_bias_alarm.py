"""An alarm that goes off when the data contradict a bias bound: a wrong model, not noise.

The bounds of arm k say that its true mean v lies within zeta_m of its mean at every fidelity m. For two
fidelities h and l this fails if the mean at h is above v + zeta_h or the mean at l is below v - zeta_l.
Under the bounds, whatever v is, both
e_h(mean <= v + zeta_h) and e_l(mean >= v - zeta_l) are e-processes of different streams, and so is their
product: a pull moves one factor. The smallest product over all v lies below that of the true v. So

    A(k, h, l) = min over v of [log e_h(<= v + zeta_h) + log e_l(>= v - zeta_l)]

reaches log(1/alpha) at any time with probability at most alpha, however the pulls are chosen and whenever
one looks. There are K M (M-1) triples (k, h, l), both orders of each pair of fidelities; with
alpha = level / (K M (M-1)) a false alarm, ever, has probability at most `level`. With l or h the truest
fidelity, whose zeta is 0, the alarm is about abs(mu_m - mu_M) <= zeta_m; between two cheap ones it is about
abs(mu_h - mu_l) <= zeta_h + zeta_l, and needs no expensive pull.

Both logarithms are convex in v, so a golden-section search finds the minimum; it lies between the points
mean_l + zeta_l and mean_h - zeta_h, and if those are in that order there is nothing to report.

How fast: a violation by x beyond zeta gives evidence of about n x^2 / (2 (s_h^2 + s_l^2)) after n pulls at
both fidelities, where s is the standard deviation of a reward, less about log n. Measured on two arms with
three fidelities each, at level 0.05, for violations of 0.05 beyond the bound: an alarm within 80 pulls per
arm and fidelity for Gaussian rewards of standard deviation 0.05, 300 for Beta rewards of the same, 8000 for
0/1 rewards.

It sees only what was pulled: an arm that was measured at one fidelity contradicts nothing, however wrong its
bound is, so that silence is no evidence that the bounds hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from mfbandit._checks import fraction
from mfbandit.confidence._golden_section import Bracket, bracket_of, left_part, right_part
from mfbandit.confidence.processes._by_name import process_kernels
from mfbandit.confidence.processes._stream_sums import log_e_above, log_e_below, sums_of
from mfbandit.core import BERNOULLI, GAUSSIAN, Arrays, State, bind, kernel
from mfbandit.model import Problem

__all__ = ["BrokenBound", "alarm", "alarm_kernel", "alarm_threshold", "arm_alarm", "pair_alarm"]

#: Rounding, and the search that stops near the minimum, may raise the evidence by less than this.
_SLACK = 1e-6
#: Each step but the first shortens the bracket by 0.618: these shorten it below a billionth.
_STEPS = 45


@kernel
def evidence_at(problem: Arrays, state: State, arm: int, high: int, low: int, v: float) -> float:
    """Log e-value against "the true mean is v" from one fidelity that seems too high and one too low."""
    above = log_e_above(problem, sums_of(state, arm, high), v + problem.bias[arm, high])
    return above + log_e_below(problem, sums_of(state, arm, low), v - problem.bias[arm, low])


@kernel
def pair_alarm(problem: Arrays, state: State, arm: int, high: int, low: int) -> float:
    """A(k, h, l): log evidence that the mean at `high` is too far above the mean at `low`; 0 if none."""
    n_high, n_low = state.pulls[arm, high], state.pulls[arm, low]
    if n_high == 0 or n_low == 0:
        return 0.0
    left = state.sums[arm, low] / n_low + problem.bias[arm, low]
    right = state.sums[arm, high] / n_high - problem.bias[arm, high]
    if not left < right:
        return 0.0
    # Past these ends one factor is at its smallest already and the other one grows.
    least = min(
        evidence_at(problem, state, arm, high, low, left),
        evidence_at(problem, state, arm, high, low, right),
    )
    bracket = bracket_of(left, right)
    for _ in range(_STEPS):
        at_left, at_right = bracket.at_left, bracket.at_right
        if math.isnan(at_left):
            at_left = evidence_at(problem, state, arm, high, low, bracket.left)
        if math.isnan(at_right):
            at_right = evidence_at(problem, state, arm, high, low, bracket.right)
        least = min(least, at_left, at_right)
        # What falls to nothing cannot come back: the minimum is below both.
        if least <= 0.0:
            return 0.0
        bracket = Bracket(bracket.low, bracket.left, bracket.right, bracket.high, at_left, at_right)
        bracket = left_part(bracket) if at_left < at_right else right_part(bracket)
    return max(0.0, least - _SLACK)


@kernel
def arm_alarm(problem: Arrays, state: State, arm: int) -> float:
    """The largest evidence against the bias bounds of an arm, over all ordered pairs of fidelities."""
    most = 0.0
    for high in range(problem.cost.shape[1]):
        for low in range(problem.cost.shape[1]):
            if high != low:
                most = max(most, pair_alarm(problem, state, arm, high, low))
    return most


def alarm_threshold(problem: Arrays, level: float) -> float:
    """The evidence at which the alarm goes off: log(K M (M-1) / level).

    Examples
    --------
    >>> import mfbandit as mf
    >>> from mfbandit.core import arrays
    >>> seen = arrays(mf.Problem(5, [("judge", 0.01, 0.1), ("human", 1.0)]))
    >>> round(alarm_threshold(seen, 0.05), 2)
    5.3
    """
    arms, fidelities = problem.cost.shape
    return math.log(max(1, arms * fidelities * (fidelities - 1)) / fraction("the level of an alarm", level))


@dataclass(frozen=True)
class BrokenBound:
    """A bias bound that the data contradict.

    Attributes
    ----------
    arm
        Index of the arm.
    fidelities
        Columns, of the user's problem, of the fidelity that is too high and of the one that is too low.
    difference
        How far apart their measured means are, in unit scale.
    allowed
        How far apart the bounds let them be: the sum of the two.
    evidence
        Log e-value: a difference like this, under the bounds, has a probability of at most exp of minus this.
    false_alarm
        The probability that an alarm this strong ever occurs, for any arm and any two fidelities, if all
        bounds hold.
    """

    arm: int
    fidelities: tuple[int, int]
    difference: float
    allowed: float
    evidence: float
    false_alarm: float

    def sentence(self, problem: Problem) -> str:
        """The alarm in words, with names and reward units.

        Examples
        --------
        >>> import mfbandit as mf
        >>> problem = mf.Problem(["a"], [("judge", 0.01, 0.1), ("human", 1.0)])
        >>> print(BrokenBound(0, (0, 1), 0.2, 0.1, 9.2, 0.0002).sentence(problem))
        the data contradict the bias bounds of arm 'a': its mean at fidelity 'judge' is 0.2 above that at
        'human', the bounds allow 0.1; if they held, an alarm like this would have a probability of 0.0002
        """
        high, low = (problem.fidelities[m].name for m in self.fidelities)
        span = problem.reward.span
        return (
            f"the data contradict the bias bounds of arm {problem.arms[self.arm]!r}: its mean at fidelity "
            f"{high!r} is {self.difference * span:.4g} above that at {low!r}, the bounds allow "
            f"{self.allowed * span:.4g}; if they held, an alarm like this would have a probability of "
            f"{self.false_alarm:.2g}"
        )


def alarm(
    problem: Arrays,
    state: State,
    level: float = 0.05,
    *,
    bound: str | None = None,
    among: Iterable[int] | None = None,
) -> list[BrokenBound]:
    """Return the bias bounds that the data contradict, the strongest evidence first.

    Parameters
    ----------
    problem
        The problem as kernels see it: see `mfbandit.core.arrays`.
    state
        The statistics of all pulls so far; they may be looked at any number of times.
    level
        The probability of a false alarm, ever, while all bounds hold.
    bound
        The e-process: "kl" for 0/1 rewards, "mixed" for other bounded and "gaussian" for Gaussian rewards
        by default.
    among
        Arms to look at, if only theirs have new data; the level is shared by all arms all the same.

    Returns
    -------
    list of BrokenBound
        Empty as long as nothing is wrong.

    Examples
    --------
    >>> import mfbandit as mf
    >>> from mfbandit.core import arrays, new_state, observe
    >>> seen = arrays(mf.Problem(["a"], [("judge", 0.01, 0.1), ("human", 1.0)]))
    >>> state = new_state(seen)
    >>> for _ in range(60):
    ...     observe(state, 0, 0, 0.9)
    ...     observe(state, 0, 1, 0.6)
    >>> [found] = alarm(seen, state)
    >>> found.fidelities, round(found.difference, 2), found.false_alarm < 0.01
    ((0, 1), 0.3, True)
    """
    threshold = alarm_threshold(problem, level)
    measure = alarm_kernel(problem) if bound is None else _measure(bound)
    arms, fidelities = problem.cost.shape
    found = []
    for k in range(arms) if among is None else among:
        for high in range(fidelities):
            for low in range(fidelities):
                if high == low:
                    continue
                evidence = float(measure(problem, state, k, high, low))
                if evidence >= threshold:
                    found.append(_broken(problem, state, k, high, low, evidence, threshold, level))
    return sorted(found, key=lambda broken: -broken.evidence)


def alarm_kernel(problem: Arrays) -> Callable[..., Any]:
    """The kernel that measures the evidence against a bound, by the e-process of the problem's rewards."""
    if problem.reward_code == GAUSSIAN:
        return _measure("gaussian")
    return _measure("kl" if problem.reward_code == BERNOULLI else "mixed")


@cache
def _measure(bound: str) -> Callable[..., Any]:
    return bind(pair_alarm, **{name: process_kernels(bound)[name] for name in ("log_e_above", "log_e_below")})


def _broken(
    problem: Arrays,
    state: State,
    arm: int,
    high: int,
    low: int,
    evidence: float,
    threshold: float,
    level: float,
) -> BrokenBound:
    means = [float(state.sums[arm, m] / state.pulls[arm, m]) for m in (high, low)]
    return BrokenBound(
        arm=arm,
        fidelities=(int(problem.columns[high]), int(problem.columns[low])),
        difference=means[0] - means[1],
        allowed=float(problem.bias[arm, high] + problem.bias[arm, low]),
        evidence=evidence,
        false_alarm=min(1.0, level * math.exp(threshold - evidence)),
    )
