"""A reference for races on blocks: what one costs that knows the best arm and only has to show it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from mfbandit._checks import FloatArray
from mfbandit.errors import InvalidInput
from mfbandit.instances import BlockEffectLaw, BlockTableLaw, Instance
from mfbandit.model import Bounded, Gaussian
from mfbandit.theory._scale import by_name, check_delta

__all__ = ["OracleRace", "oracle_race"]

#: Halvings of the interval in which the best stake lies: so few that a stake never is rounded to one that ruins.
_STEPS = 45
#: Where the effect of a block is integrated over, in standard deviations, and in how many steps.
_REACH, _NODES = 9.0, 4001


@dataclass(frozen=True)
class OracleRace:
    """The cost of a race that knows the best arm.

    Attributes
    ----------
    blocks : array (K,)
        On how many blocks each arm is measured at the truest fidelity; the best arm on as many as the rival that
        takes the most. Infinite where no number of blocks suffices.
    cost : float
        What all of that costs.
    """

    blocks: FloatArray
    cost: float


@by_name
def oracle_race(instance: Instance, delta: float, *, epsilon: float = 0.0) -> OracleRace:
    """Compute what a race at the truest fidelity costs that knows the best arm, and the law of every difference.

    It compares each rival with the best arm only, on the same blocks, and measures it until the evidence expected is
    log(1/delta); the best arm is measured once on each block. A block brings

    - for rewards with a range, the growth rate of the best fixed stake l, the largest mean of log(1 + l D) for the
      difference D; for 0/1 rewards this depends on discordant pairs alone, and is p log(2p/(p+q)) + q log(2q/(p+q))
      if the best arm alone is right with probability p and the rival alone with q < p;
    - for normal ones, log(1 + d^2/s^2)/2, d and s the mean and standard deviation of the difference.

    In a finite set of N blocks, n0 blocks with replacement are n0 / (1 + n0/N) without: never more than N.

    This is a reference, not a lower limit: it is for the evidence of `mf-race` with nothing paid for not knowing
    the best arm, the law, or the day on which to stop. A run can be luckier, other evidence can be better, and cheaper
    fidelities can be of use.

    Parameters
    ----------
    instance : Instance
        An instance with blocks.
    delta : float
        Probability of a wrong answer that is allowed.
    epsilon : float
        How far from the best an answer may be, in reward units: it is enough to show that no rival is better by more.

    Returns
    -------
    OracleRace

    Examples
    --------
    >>> import mfbandit as mf
    >>> law = mf.BlockTableLaw([[[1, 1, 1, 1, 1, 0]], [[1, 1, 0, 0, 0, 0]], [[0, 0, 0, 0, 0, 0]]])
    >>> problem = mf.Problem(3, [("right", 1.0)], reward="bernoulli", blocks="unlimited")
    >>> race = oracle_race(mf.Instance(problem, law=law), 0.05)
    >>> race.blocks.round(2), round(race.cost, 2)
    (array([8.64, 8.64, 5.19]), 22.47)
    """
    delta = check_delta(delta)
    problem, best = instance.problem, instance.best
    if problem.blocks is None:
        raise InvalidInput("an oracle race is about blocks, but the arms of this instance share none: see theory.limit")
    if not 0.0 <= epsilon < math.inf:
        raise InvalidInput(f"epsilon is {epsilon}; it must be a number of at least 0")
    rates = np.array([0.0 if k == best else _rate(instance, k, epsilon) for k in range(problem.n_arms)])
    with np.errstate(divide="ignore"):
        blocks = np.maximum(-math.log(delta) / rates, 1.0)
        if problem.blocks != "unlimited":
            blocks = 1.0 / (1.0 / blocks + 1.0 / float(problem.blocks))
    blocks[best] = np.delete(blocks, best).max(initial=0.0)
    prices = problem.costs[:, problem.truest].copy()
    # The best arm is measured on every block, so what opening one costs is added to its price.
    prices[best] += problem.fidelities[problem.truest].block_cost
    return OracleRace(blocks, float(blocks @ prices))


def _rate(instance: Instance, rival: int, epsilon: float) -> float:
    """The evidence that a block brings against an arm, in nats."""
    reward = instance.problem.reward
    gap = float(instance.truth[instance.best] - instance.truth[rival]) + epsilon
    if gap <= 0.0:
        return 0.0
    if isinstance(reward, Gaussian):
        variance = _variance(instance, rival)
        return 0.5 * math.log1p(gap * gap / variance) if variance > 0.0 else math.inf
    values, weights = _differences(instance, rival)
    values, edge = (values + epsilon) / reward.span, epsilon / reward.span
    if isinstance(reward, Bounded) and reward.swing is not None:
        values, edge = np.clip(values * reward.span / reward.swing, -1.0, 1.0), 0.0
    # The stake may be so large that the worst difference, -1, ruins.
    return growth(values, weights, math.inf if edge >= 1.0 else 1.0 / (1.0 - edge))


def growth(values: FloatArray, weights: FloatArray, most: float) -> float:
    """Return the largest mean of log(1 + l x) over stakes l from 0 to `most`, for values with weights."""
    low, high = 0.0, most
    values, weights = values[weights > 0.0], weights[weights > 0.0]
    if not math.isfinite(most):
        if values.min() >= 0.0:
            return math.inf
        high = -1.0 / float(values.min())
    for _ in range(_STEPS):
        stake = 0.5 * (low + high)
        if float(weights @ (values / (1.0 + stake * values))) > 0.0:
            low = stake
        else:
            high = stake
    return float(weights @ np.log1p(low * values))


def _variance(instance: Instance, rival: int) -> float:
    """The variance of the difference of normal rewards of the best arm and a rival on a block."""
    law, best, truest = instance.law, instance.best, instance.problem.truest
    if isinstance(law, BlockTableLaw):
        return float((law.values[best, truest] - law.values[rival, truest]).var())
    if not isinstance(law, BlockEffectLaw) or law.sigma is None:
        raise InvalidInput(f"no variance of differences is known of {law!r}")
    loads = law.loads(instance.problem.n_arms)
    return float(law.sigma**2 * ((loads[best] - loads[rival]) ** 2 + 2.0 * (1.0 - abs(law.rho))))


def _differences(instance: Instance, rival: int) -> tuple[FloatArray, FloatArray]:
    """What the best arm is ahead of a rival on a block, and with which probabilities."""
    law, best, truest = instance.law, instance.best, instance.problem.truest
    if isinstance(law, BlockTableLaw):
        values = law.values[best, truest] - law.values[rival, truest]
        return values, np.full(len(values), 1.0 / len(values))
    if not isinstance(law, BlockEffectLaw):
        raise InvalidInput(f"no differences within blocks are known of {law!r}")
    reward = instance.problem.reward
    high, low = (float(reward.to_unit(instance.truth[k])) for k in (best, rival))
    both = _both(law, law.loads(instance.problem.n_arms)[[best, rival]], (high, low))
    return reward.span * np.array([1.0, -1.0, 0.0]), np.array([high - both, low - both, 1.0 + 2.0 * both - high - low])


def _both(law: BlockEffectLaw, loads: FloatArray, means: tuple[float, float]) -> float:
    """The probability that two arms are at the upper end on the same block."""
    if min(means) <= 0.0 or max(means) >= 1.0:
        return means[0] * means[1]
    if abs(law.rho) == 1.0:
        return min(means) if loads[0] * loads[1] > 0.0 else max(0.0, sum(means) - 1.0)
    normal, own = NormalDist(), math.sqrt(1.0 - abs(law.rho))
    effects = np.linspace(-_REACH, _REACH, _NODES)
    density = np.exp(-0.5 * effects**2)
    for load, mean in zip(loads, means, strict=True):
        level = normal.inv_cdf(1.0 - mean)
        density = density * np.array([normal.cdf((load * effect - level) / own) for effect in effects])
    return float(density.sum() * (effects[1] - effects[0]) / math.sqrt(2.0 * math.pi))
