"""Evidence that one arm beats another, from each arm's own e-process.

"a is not better than b by more than epsilon" means that some v has mu_a <= v and mu_b >= v + epsilon. There
X = E_a(<= v) and Y = E_b(>= v + epsilon) of `mfbandit.confidence._arm` are e-processes, and so are X Y and the average
(X + Y + 2 X Y) / 4. The least of its logarithm over all v that are possible counts as evidence. The product adds
up what both arms say. The first two terms are for arms that were pulled little: beyond the other arm's bounds
they say nothing, and would take something away.

X falls in v and Y rises, both are log-convex, and so is the average. Convexity keeps the least inside the bracket
of a golden-section search. Monotony makes what is returned a lower bound: X is taken at the right end of
the last bracket, Y at its left end.

Rewards in [0, 1] have truths in [0, 1], so only v in [0, 1 - epsilon] is possible. Beyond it terms are infinite,
and a search among infinite values would not know where to go.
"""

from __future__ import annotations

import math

from mfbandit.confidence._arm import arm_log_e_above, arm_log_e_below
from mfbandit.confidence._golden_section import Bracket, bracket_of, left_part, right_part
from mfbandit.confidence._special import log_add
from mfbandit.core import GAUSSIAN, Arrays, State, kernel

__all__ = ["MOST", "least_evidence"]

_LOG_2 = math.log(2.0)
#: Enough to shrink any bracket to the last digits of a float.
_STEPS = 90
#: The search ends when the least value found and the lower bound on the bracket differ by less than `_CLOSE`;
#: it looks at the lower bound once two values differ by less than `_FLAT`.
_CLOSE, _FLAT = 1e-5, 1e-4
#: How far rounding may have raised the bound.
_ROUNDING = 1e-6
#: More than this is reported as this: beyond any use, and exp of it is a float.
MOST = 700.0


@kernel
def has_pulls(state: State, arm: int) -> bool:
    """Whether an arm was pulled at any fidelity."""
    pulls = 0
    for m in range(state.pulls.shape[1]):
        pulls += state.pulls[arm, m]
    return pulls > 0


@kernel
def lowest_truth(problem: Arrays, state: State, arm: int) -> float:
    """A value below which no fidelity's mean, less its bias, lies."""
    lowest = math.inf
    for m in range(problem.cost.shape[1]):
        if state.pulls[arm, m] > 0:
            lowest = min(lowest, state.sums[arm, m] / state.pulls[arm, m] - problem.bias[arm, m])
    return lowest


@kernel
def highest_truth(problem: Arrays, state: State, arm: int) -> float:
    """A value above which no fidelity's mean, plus its bias, lies."""
    highest = -math.inf
    for m in range(problem.cost.shape[1]):
        if state.pulls[arm, m] > 0:
            highest = max(highest, state.sums[arm, m] / state.pulls[arm, m] + problem.bias[arm, m])
    return highest


@kernel
def joined(x: float, y: float) -> float:
    """log((X + Y + 2 X Y) / 4), from the logarithms of X and Y."""
    return log_add(log_add(x, y), x + y + _LOG_2) - 2.0 * _LOG_2


@kernel
def evidence_at(problem: Arrays, state: State, better: int, worse: int, v: float, w: float) -> float:
    """The evidence against mu_better <= v and mu_worse >= w."""
    return joined(float(arm_log_e_above(problem, state, better, v)), float(arm_log_e_below(problem, state, worse, w)))


@kernel
def least_evidence(problem: Arrays, state: State, better: int, worse: int, epsilon: float) -> float:
    """A lower bound of the least evidence against "mu_worse - mu_better >= epsilon", over all v; 0 to `MOST`.

    It has the slots of `mfbandit.confidence._arm`: ``bind(least_evidence, **process_kernels("mixed"))``.
    """
    if not has_pulls(state, better) or not has_pulls(state, worse):
        return 0.0
    if problem.reward_code == GAUSSIAN:
        # Left of all means the second term is constant, right of them the first one is.
        low = min(lowest_truth(problem, state, better), lowest_truth(problem, state, worse) - epsilon)
        high = max(highest_truth(problem, state, better), highest_truth(problem, state, worse) - epsilon)
    else:
        low, high = 0.0, 1.0 - epsilon
        if high < low:
            # No two truths in [0, 1] are that far apart.
            return MOST
    bracket, bound = bracket_of(low, high), 0.0
    for step in range(_STEPS):
        left, right, at_left, at_right = bracket.left, bracket.right, bracket.at_left, bracket.at_right
        if math.isnan(at_left):
            at_left = evidence_at(problem, state, better, worse, left, left + epsilon)
        if math.isnan(at_right):
            at_right = evidence_at(problem, state, better, worse, right, right + epsilon)
        lowest, flat = min(at_left, at_right), abs(at_left - at_right) < _FLAT
        if lowest <= 0.0 or lowest == math.inf:
            # Between values that are all infinite nothing tells where the least is.
            return 0.0
        bracket = Bracket(bracket.low, left, right, bracket.high, at_left, at_right)
        bracket = left_part(bracket) if at_left <= at_right else right_part(bracket)
        if flat or step == _STEPS - 1:
            bound = evidence_at(problem, state, better, worse, bracket.high, bracket.low + epsilon)
            if lowest - bound < _CLOSE:
                break
    return min(max(bound - _ROUNDING, 0.0), MOST)
