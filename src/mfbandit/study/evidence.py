"""What the data say at any moment: how sure the best arm is, and between which bounds each mean lies.

Both hold at all times at once, however the pulls were chosen and whenever one looks (see
`mfbandit.confidence.arm`). Looking changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from mfbandit.confidence import process_kernels
from mfbandit.confidence.arm import arm_interval, arm_log_e_above, arm_log_e_below
from mfbandit.confidence.pair_records import beaten_records
from mfbandit.confidence.pair_records import evidence as pair_evidence
from mfbandit.core import BERNOULLI, GAUSSIAN, Arrays, State
from mfbandit.kernel import bind

__all__ = ["beats", "confidence", "interval", "pair_confidence"]

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
_STEPS = 60
_PRECISION = 1e-7
_SLACK = 1e-5


@cache
def _bound(kernel: Callable[..., Any], kind: int) -> Callable[..., Any]:
    """A kernel with the confidence process that suits a kind of reward."""
    process = "gaussian" if kind == GAUSSIAN else "kl" if kind == BERNOULLI else "mixed"
    return bind(kernel, **process_kernels(process))


def interval(problem: Arrays, state: State, arm: int, alpha: float) -> tuple[float, float]:
    """Bounds of an arm's true mean, in unit scale, that ever fail with probability at most `alpha`."""
    low, high = _bound(arm_interval, problem.kind)(problem, state, arm, -math.log(alpha))
    return float(low), float(high)


def confidence(problem: Arrays, state: State, answer: int, epsilon: float) -> float:
    """How sure it is that no arm is better than `answer` by more than `epsilon`.

    One minus (K - 1) exp(-L), where L is the least evidence that the answer beats another arm; a lower
    bound of the share of cases in which the answer is right.
    """
    arms = problem.cost.shape[0]
    if arms < 2:
        return 1.0
    least = min(beats(problem, state, answer, b, epsilon) for b in range(arms) if b != answer)
    return float(max(0.0, 1.0 - (arms - 1) * math.exp(-min(700.0, least))))


def pair_confidence(problem: Arrays, params: Any, state: State, answer: int) -> float:
    """The same from the joint evidence of pairs, for policies that stop by it.

    A beaten arm counts with what was proven when it was beaten; with epsilon > 0 only victories of the
    answer itself count.
    """
    arms = problem.cost.shape[0]
    if arms < 2:
        return 1.0
    proven = {
        entry["arm"]: entry["evidence"]
        for entry in beaten_records(problem, params, state)
        if params.epsilon == 0.0 or entry["by"] == answer
    }
    least = math.inf
    for b in range(arms):
        if b == answer:
            continue
        value = proven.get(b)
        if value is None:
            pulled = state.pulls[answer].any() and state.pulls[b].any()
            value = pair_evidence(problem, params, state, answer, b) if pulled else 0.0
        least = min(least, value)
    return float(max(0.0, 1.0 - (arms - 1) * math.exp(-min(700.0, max(0.0, least)))))


def beats(problem: Arrays, state: State, better: int, worse: int, epsilon: float) -> float:
    """The least, over v, of log E_better(<= v) + log E_worse(>= v + epsilon), which is convex in v."""
    if not state.pulls[better].any() or not state.pulls[worse].any():
        return 0.0
    above = _bound(arm_log_e_above, problem.kind)
    below = _bound(arm_log_e_below, problem.kind)

    def evidence(v: float) -> float:
        return float(above(problem, state, better, v) + below(problem, state, worse, v + epsilon))

    low, high = _span(problem, state, better, worse, epsilon)
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = evidence(left), evidence(right)
    for _ in range(_STEPS):
        if high - low < _PRECISION * problem.sigma:
            break
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = evidence(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = evidence(right)
    # The search ends next to the minimum, where the evidence is flat: the slack covers what is missing.
    return max(0.0, min(at_left, at_right) - _SLACK)


def _span(problem: Arrays, state: State, better: int, worse: int, epsilon: float) -> tuple[float, float]:
    """Where the minimum over v lies: between the two arms' means, biases included."""
    ends = []
    for arm, shift in ((better, 0.0), (worse, -epsilon)):
        for m in range(problem.cost.shape[1]):
            if state.pulls[arm, m] > 0:
                mean = float(state.sums[arm, m]) / int(state.pulls[arm, m]) + shift
                ends += [mean - float(problem.bias[arm, m]), mean + float(problem.bias[arm, m])]
    return min(ends), max(ends)
