"""Bias bounds from data: how far a new arm's cheap means may be from the truth, with a chosen probability.

**The promise.** Let b_k be the bias of arm k at a fidelity: its mean there less its mean at the truest
one. Given T tasks with measured arms, `calibrate` returns a number zeta such that, for an arm picked at
random from a new task, P(abs(b_new) <= zeta) >= 1 - alpha, for any number of tasks and whatever the
biases are distributed like. A pilot without tasks is the case of one arm per task. It is assumed that the
new task is exchangeable with the old ones, that the rewards of different arms are independent given the
true means (unless items are shared, see below), and what the choice of `noise` says about single measurements.

**How.** From the measurements of arm k come bounds L_k and U_k with P(b_k > U_k) <= beta and P(b_k < L_k)
<= beta, hence P(abs(b_k) > s_k) <= beta for s_k = max(U_k, -L_k). Task t with K_t arms puts the weight
1/((T+1) K_t) on each of its s_k; zeta is the smallest s_k up to which the weights sum to 1 - alpha (1 -
beta) or more. With one arm per task that is the order statistic of rank ceil((n+1)(1 - alpha (1 -
beta))).

**Proof.** Given all true means the events s_k < abs(b_k) are independent, of probability at most beta
each. So there are coins G_k, independent of one another and of the true means, with P(G_k = 1) = beta,
such that s_k >= abs(b_k) wherever G_k = 0. Put c_k = abs(b_k) if G_k = 0 and c_k = -infinity if G_k = 1;
then c_k <= s_k for every k, and tasks with the c_k of their arms are exchangeable, a new task with coins
of its own included. Let Q be the (1 - a)-quantile, a = alpha (1 - beta), of all T+1 tasks' c_k, weighted
1/((T+1) K_t). Averaged over the tasks, the share of a task's arms with c_k <= Q is at least 1 - a; by
exchangeability the expected share in the new task is, too: P(c_new > Q) <= a. Moving the weight of the
new task to +infinity and the c_k up to the s_k only raises the quantile, and gives zeta >= Q. So P(c_new
> zeta) <= a. The coin of the new arm is independent of its bias and of zeta, so P(abs(b_new) > zeta) (1 -
beta) = P(abs(b_new) > zeta, G_new = 0) <= P(c_new > zeta) <= alpha (1 - beta). QED.

So the noise of n estimates costs a factor 1 - beta of alpha, not a union bound over n. With
``noise="symmetric"``, beta is 1/2 and U_k = L_k is the measured difference itself.

**Shared items.** Where all arms saw the same items, the events s_k < abs(b_k) are not independent. Let W be
the weight of the arms for which they happen; its mean is at most beta. Let R be the weight, among all T+1
tasks, of the arms with a smaller abs(b) than the new one; by exchangeability P(R >= x) <= 1 - x. If the
new arm lies beyond zeta, then R >= 1 - a - W. Given all true means, W reaches w with probability at most
beta/w, by Markov. So P(abs(b_new) > zeta) is at most a plus the integral of min(1, beta/w) over 0 < w < 1,
which is beta (1 + log(1/beta)). With ``shared_items=True`` each of the two parts gets half of alpha.

**A common offset.** Many cheap measurements are shifted alike for all arms. With ``common_offset=True``
the same argument is made for each side with alpha/2: b_new <= high, the quantile of the U_k, and b_new >=
low, that of the L_k from below. The offset is the middle of [low, high] and zeta half its length.
Subtract the offset from the rewards of that fidelity (`Calibration.corrected`), and zeta bounds what is
left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from mfbandit._checks import FloatArray, Names, Numbers, fraction
from mfbandit.calibration._bias_bounds import difference_bounds
from mfbandit.calibration._calibration import Calibration
from mfbandit.calibration._pilot_data import Pilot, read_pilot
from mfbandit.calibration._pilot_noise import PilotNoise, as_pilot_noise
from mfbandit.errors import InvalidInput
from mfbandit.model import Bernoulli, Gaussian, RewardKind, as_reward_kind

__all__ = ["Calibration", "calibrate"]

#: The share of single bounds that may fail, unless somebody says otherwise.
_RISK = 0.1


def calibrate(
    data: Any,
    *,
    confidence: float = 0.9,
    sds: Numbers | None = None,
    counts: Numbers | None = None,
    tasks: Sequence[Any] | None = None,
    fidelities: Names | None = None,
    truest: str | int | None = None,
    reward: str | RewardKind = "bounded",
    noise: str | PilotNoise | None = None,
    noise_risk: float | None = None,
    paired: bool = False,
    shared_items: bool = False,
    common_offset: bool = False,
    too_few: str = "refuse",
) -> Calibration:
    """Find, for each fidelity, a bias bound that covers a new arm with a chosen probability.

    Parameters
    ----------
    data
        Measured arms: an array of cell means (arms, fidelities), an array of repeats (arms, fidelities,
        repeats; NaN where there are fewer), a file, data frame or list of (arm, fidelity, reward) rows, an
        instance with a table, or a list of such instances, one per past task, with equally many fidelities.
    confidence
        The probability 1 - alpha of the promise, for each fidelity and each new arm.
    sds, counts
        With cell means: standard deviations of single rewards (n - 1 in the denominator) and numbers of
        rewards, per cell, per fidelity or one for all.
    tasks
        The past task that each arm (row) belongs to, where there are several.
    fidelities, truest
        Names of the columns, and which of them is the truth: the last by default.
    reward
        The reward kind; instances bring their own.
    noise
        What is known of a measured difference of two means. ``"binary"``: rewards are 0 or 1, with exact
        binomial bounds; the default where they are. ``"normal"``: normal noise, its size estimated by
        Student's t; the default where every cell has two rewards or more that differ. ``"bounded"``:
        rewards in their range, nothing else; the default where rewards with a range are all alike in
        some cell; needs hundreds of rewards per cell to be of use. ``"symmetric"``: as often too high as too low;
        the default elsewhere; needs twice as many arms. ``"none"``: the means are exact. Or a `PilotNoise`, which
        says the next three, too.
    noise_risk
        The share beta of single differences whose bound may fail under "normal", "binary" or "bounded"
        noise; 0.1 by default, and less with shared items.
    paired
        Whether the r-th repeats of an arm, at all its fidelities, are of the same item. Then differences are
        taken item by item; the bounds are the narrower the more the fidelities agree. Needs repeats.
    shared_items
        Whether all arms saw the same items, so that what is unlucky for one may be unlucky for all.
        Then a part of alpha is kept for that, and bounds are wider.
    common_offset
        Estimate a shift per fidelity that all arms share, and bound only what is left.
    too_few
        With too few arms (or tasks) for the confidence: ``"refuse"``, or ``"span"`` to return the width of
        the reward range, which is always true and never of use.

    Returns
    -------
    Calibration

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> truth = rng.uniform(0.3, 0.7, size=30)
    >>> judged = truth + 0.05 + rng.uniform(-0.02, 0.02, size=30)
    >>> repeats = np.stack([judged, truth], axis=1)[:, :, None] + rng.normal(0, 0.02, (30, 2, 20))
    >>> found = calibrate(repeats, fidelities=["judge", "human"])
    >>> [round(bias, 3) for bias in found.biases]
    [0.076, 0.0]
    >>> shifted = calibrate(repeats, fidelities=["judge", "human"], common_offset=True)
    >>> round(shifted.offsets[0], 3), round(shifted.biases[0], 3)
    (0.052, 0.032)
    >>> calibrate(repeats[:5])
    Traceback (most recent call last):
    mfbandit.errors.InvalidInput: 5 arms cannot promise a confidence of 0.9: at least 11 are needed...
    """
    level = _probability("confidence", confidence)
    if too_few not in ("refuse", "span"):
        raise InvalidInput(f"too_few must be 'refuse' or 'span', got {too_few!r}")
    known = as_pilot_noise(noise, noise_risk, paired, shared_items)
    pilot = read_pilot(
        data,
        sds=sds,
        counts=counts,
        tasks=tasks,
        fidelities=fidelities,
        truest=truest,
        reward=as_reward_kind(reward),
    )
    chosen = _noise(pilot, known)
    tail, beta = _risks((1 - level) / (2 if common_offset else 1), chosen, known)
    enough = pilot.n_tasks + 1 >= 1 / tail
    span = _span(pilot)
    if not enough and (too_few == "refuse" or span is None):
        raise InvalidInput(_too_few(pilot, level, tail))
    biases, offsets = [0.0] * len(pilot.fidelities), [0.0] * len(pilot.fidelities)
    for m in range(len(pilot.fidelities)):
        if m == pilot.truest:
            continue
        if not enough:
            biases[m] = float(span or 0.0)
            continue
        lower, upper = difference_bounds(pilot, m, chosen, float(beta), paired=known.paired)
        if common_offset:
            low, high = -_quantile(-lower, pilot.tasks, tail), _quantile(upper, pilot.tasks, tail)
        else:
            high = _quantile(np.maximum(upper, -lower), pilot.tasks, tail)
            low = -high
        if span is not None:
            low, high = max(low, -span), min(high, span)
        biases[m], offsets[m] = 0.5 * (high - low), 0.5 * (high + low)
    return Calibration(
        fidelities=pilot.fidelities,
        truest=pilot.truest,
        biases=tuple(biases),
        offsets=tuple(offsets),
        confidence=float(level),
        arms=pilot.n_arms,
        tasks=pilot.n_tasks if pilot.past_tasks else None,
        noise=chosen,
        noise_risk=float(beta),
        common_offset=bool(common_offset),
        informed=bool(enough),
        reward=pilot.reward,
        paired=known.paired,
        shared_items=known.shared_items,
    )


def _probability(name: str, value: object) -> Fraction:
    """Return a probability as the decimal fraction that was meant, so that ranks are exact."""
    return Fraction(repr(fraction(name, value)))


def _noise(pilot: Pilot, known: PilotNoise) -> str:
    """The noise model; one that the data contradict is refused."""
    noise = _default_noise(pilot, known.paired) if known.kind is None else known.kind
    if noise in ("normal", "bounded", "binary") and pilot.counts is None:
        raise InvalidInput(f"{noise} noise is judged by sds and counts: give both, or repeats, or noise='symmetric'")
    if noise == "normal" and pilot.counts is not None and pilot.counts.min() < 2:
        raise InvalidInput(
            "normal noise is estimated from repeats, and a cell has only one reward: pass noise='symmetric', "
            "or noise='none' if the means are exact"
        )
    if noise in ("normal", "symmetric") and pilot.counts is not None and pilot.binary:
        raise InvalidInput(f"rewards that are 0 or 1 have no {noise} noise: leave noise out, or pass noise='binary'")
    if noise == "binary" and not pilot.binary:
        raise InvalidInput("binary noise needs rewards that are 0 or 1; these are not: pass noise='bounded'")
    if noise in ("bounded", "binary"):
        pilot.check_range()
    return noise


def _default_noise(pilot: Pilot, paired: bool) -> str:
    if pilot.counts is None or pilot.spreads is None:
        if isinstance(pilot.reward, Bernoulli):
            raise InvalidInput("means of rewards that are 0 or 1 say nothing of their noise: give counts, too")
        return "symmetric"
    if pilot.binary:
        return "binary"
    if (pilot.counts < 2).any():
        return "symmetric"
    # Rewards that are all alike are no proof that the next one is.
    spreads = [d.std() for m in pilot.cheap for d in pilot.differences(m)] if paired else pilot.spreads.ravel()
    alike = not isinstance(pilot.reward, Gaussian) and min(spreads) <= 0.0
    return "bounded" if alike else "normal"


def _risks(alpha: Fraction, noise: str, known: PilotNoise) -> tuple[Fraction, Fraction]:
    """The tail of the quantile, and beta, the risk of each single bound; together they keep alpha."""
    given = None if known.risk is None else _probability("noise_risk", known.risk)
    if noise == "none":
        return alpha, Fraction(0)
    if noise == "symmetric":
        if known.shared_items:
            raise InvalidInput("symmetric noise needs arms with items of their own: pass another noise")
        return alpha / 2, Fraction(1, 2)
    if not known.shared_items:
        beta = Fraction(repr(_RISK)) if given is None else given
        return alpha * (1 - beta), beta
    beta = _shared_risk(alpha / 2) if given is None else given
    tail = alpha - Fraction(float(beta) * (1.0 + math.log(1.0 / float(beta))))
    if tail <= 0:
        raise InvalidInput(f"noise_risk={float(beta):g} is too much for items that arms share: leave it out")
    return (alpha / 2 if given is None else tail), beta


def _shared_risk(most: Fraction) -> Fraction:
    """The beta for which beta (1 + log(1/beta)) is `most`, or a hair less."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        within = middle * (1.0 - math.log(middle)) <= most
        low, high = (middle, high) if within else (low, middle)
    return Fraction(low)


def _too_few(pilot: Pilot, level: Fraction, tail: Fraction) -> str:
    what = "tasks" if pilot.past_tasks else "arms"
    # The noise and the offset enter both numbers alike.
    reachable = 1 - (1 - level) / tail / (pilot.n_tasks + 1)
    advice = f", or a confidence of at most {_floored(reachable)}" if reachable > 0.01 else ""
    return (
        f"{pilot.n_tasks} {what} cannot promise a confidence of {float(level):g}: at least "
        f"{math.ceil(1 / tail) - 1} are needed{advice}"
    )


def _floored(value: Fraction) -> str:
    return f"{math.floor(float(value) * 1000) / 1000:g}"


def _span(pilot: Pilot) -> float | None:
    return None if isinstance(pilot.reward, Gaussian) else pilot.reward.span


def _quantile(scores: FloatArray, tasks: npt.NDArray[np.int64], tail: Fraction) -> float:
    """The smallest score up to which tasks, each of weight 1/(T+1), hold 1 - tail or more."""
    sizes = np.bincount(tasks)
    total = Fraction(0)
    for k in np.argsort(scores, kind="stable"):
        total += Fraction(1, (len(sizes) + 1) * int(sizes[tasks[k]]))
        if total >= 1 - tail:
            return float(scores[k])
    return math.inf
