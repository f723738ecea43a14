"""MF-GRAD (Poiani, Degenne, Kaufmann, Metelli and Restelli 2024): gradient ascent on the lower bound.

The limit of every identification is a game: cost proportions w over the pairs (arm, fidelity) against
the nearest model in which another arm wins. MF-GRAD plays it on the current means. Each step it takes the
pair of arms (i, j) that attains max_i min_j f_(i,j) at its weights (`alternative`), adds the sub-gradient

    (mean cost per pull) * d(mean, mean in the nearest model) / lambda_m

of those two arms to what it has summed, takes w = softmax(rate * sums), mixes pulls proportional to
w / lambda with uniform ones at 1 / (4 sqrt t), and pulls the pair (arm, fidelity) that lags most behind
the sum of these proportions. Every pair is pulled once first.

It stops when max_i min_j f_(i,j), with pulls for weights, reaches a threshold, and answers i:

- ``threshold="practical"``: log(K / delta) + M log(log t + 1), used in all published experiments.
  **Unproven**: nobody has shown that its error rate is at most delta.
- ``threshold="theory"``: log(K / delta) + 2M log(log(K / delta) + 1) + 12 M log(log t + 3) + 2M, of the
  form that the authors prove (for Gaussian rewards); several times more expensive.
- ``threshold="ours"``: by the pair certificates of `mf-toptwo`, with their proof, for all kinds of rewards.
  A rival is beaten once W of the pair has reached (K - 1) / delta for every v; the answer is the arm left.
  All rewards count as active, which is a decision made before any pull.

As in the published code, a stream counts in the sub-gradient if the rival's win is what moves its mean
(leader down, rival up), or if it is at the truest fidelity. Counting also means that only have to move
because the data break the bias bounds would be the sub-gradient to the letter; measured, it makes
``rate="constant"`` a quarter more expensive on poiani-5x2, with rare very long runs, and changes nothing else.

The published code also skips rivals with a higher projected truth when it takes min_j, so that an arm
that is beaten may be its answer; here the minimum is over all rivals.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from mfbandit.algorithms._parts import put
from mfbandit.algorithms._policy import Policy, one_of
from mfbandit.algorithms.mf_grad._grad_memory import Ascent, CertifiedAscent, MfGradParams
from mfbandit.algorithms.mf_grad._nearest_model import Pair, contest, moved_to, nearest, stream_divergence
from mfbandit.confidence import threshold as evidence_needed
from mfbandit.confidence.pair import (
    BOTH,
    NEWEST,
    NORMAL,
    PROVEN,
    TILT,
    Active,
    Chosen,
    Guess,
    Hypothesis,
    prove,
    record,
)
from mfbandit.core import (
    BOUNDED,
    GAUSSIAN,
    PULLS,
    ROUNDS,
    Algorithm,
    Arrays,
    Goal,
    Ints,
    State,
    bind,
    kernel,
    slot,
)
from mfbandit.model import Gaussian, Problem

__all__ = ["MFGrad", "plan", "recommend"]

#: Exponents below this leave a share that is too small to matter, but not 0.
_LEAST_EXPONENT = -500.0
#: A certificate is computed only if f of the pair is at least this part of what it has to prove.
_CHECK = 0.8


@slot
def settled(problem: Arrays, params: MfGradParams, state: State, pair: Pair) -> bool:
    """Whether the leader of the pair that is hardest to tell apart may be answered."""


@kernel
def threshold(problem: Arrays, params: MfGradParams, state: State) -> float:
    """What the evidence has to reach."""
    fidelities = problem.cost.shape[1]
    time = math.log(state.clock[PULLS])
    if params.proven:
        start = 2.0 * math.log1p(params.log_factor) + 12.0 * math.log(time + 3.0) + 2.0
        return float(params.log_factor + fidelities * start)
    return float(params.log_factor + fidelities * math.log1p(time))


@kernel
def by_threshold(problem: Arrays, params: MfGradParams, state: State, pair: Pair) -> bool:
    """Whether max_i min_j f_(i,j) has reached the threshold."""
    return pair.value >= threshold(problem, params, state)


@kernel
def by_certificate(problem: Arrays, params: MfGradParams, state: State, pair: Pair) -> bool:
    """Whether every rival is proven to be worse than the leader (or, if epsilon is 0, than some arm)."""
    own, leader = state.own, pair.leader
    if state.arm_flags[leader] > 0 and params.epsilon == 0.0:
        return False
    chosen = Chosen(Active(state.pulls, state.sums, state.squares), own.leaders)
    done = True
    for b in range(problem.cost.shape[0]):
        beaten = state.arm_flags[b] == leader + 1 or (params.epsilon == 0.0 and state.arm_flags[b] > 0)
        if b == leader or beaten:
            continue
        value, guess, _ = nearest(problem, params.epsilon, own.model, leader, b)
        if value < _CHECK * params.log_factor or state.spent[0] < own.due[b]:
            done = False
            continue
        step = 0.1 * abs(own.model.truths[leader] - own.model.truths[b]) + 1e-3 * problem.sigma
        hypothesis = Hypothesis(leader, b, params.epsilon, params.evidence, 1.0, 0.0, params.weights)
        start = Guess(guess + params.epsilon, step)
        verdict = prove(problem, hypothesis, state, params.log_factor, start, chosen, own.scratch)
        if verdict.status == PROVEN:
            record(state, chosen, leader, b)
        else:
            # Evidence that lacks something comes with a few percent more pulls at the earliest.
            lacks = verdict.shortfall
            own.due[b] = state.spent[0] * (1.0 + 0.05 * lacks * lacks / (value + 1.0))
            done = False
    return done


@kernel
def evidence(problem: Arrays, params: MfGradParams, state: State) -> Pair:
    """max_i min_j f_(i,j) at the pulls made so far, and the pair that attains it."""
    model = state.own.model
    for k in range(problem.cost.shape[0]):
        for m in range(problem.cost.shape[1]):
            n = state.pulls[k, m]
            model.means[k, m] = state.sums[k, m] / n if n > 0 else 0.5
            model.weights[k, m] = n if n > 0 else 1e-9
    return contest(problem, params.epsilon, model)


@kernel
def ascend(problem: Arrays, params: MfGradParams, state: State) -> None:
    """Add the sub-gradient at the current cost proportions to the sums of sub-gradients."""
    own = state.own
    means, weights = own.model.means, own.model.weights
    pulls_per_cost = 0.0
    for k in range(problem.cost.shape[0]):
        for m in range(problem.cost.shape[1]):
            weights[k, m] = own.shares[k, m] / problem.cost[k, m]
            pulls_per_cost += weights[k, m]
    pair = contest(problem, params.epsilon, own.model)
    for side in range(2):
        arm, truth, sign = (pair.leader, pair.below, -1.0) if side == 0 else (pair.rival, pair.above, 1.0)
        for m in range(problem.cost.shape[1]):
            mean, bias = means[arm, m], problem.bias[arm, m]
            gain = stream_divergence(problem, mean, moved_to(mean, truth, bias))
            if (m == problem.truest or sign * (truth - mean) > bias) and gain < math.inf:
                own.ascent[arm, m] += gain / (pulls_per_cost * problem.cost[arm, m])


@kernel
def reweigh(params: MfGradParams, state: State) -> None:
    """Write the cost proportions w~, the softmax of the sums of sub-gradients."""
    ascent, shares = state.own.ascent, state.own.shares
    arms, fidelities = state.pulls.shape
    rate = params.rate if params.rate > 0.0 else 1.0 / math.sqrt(state.clock[ROUNDS] + 1.0)
    top, total = 0.0, 0.0
    for k in range(arms):
        for m in range(fidelities):
            top = max(top, ascent[k, m])
    for k in range(arms):
        for m in range(fidelities):
            share = math.exp(max(rate * (ascent[k, m] - top), _LEAST_EXPONENT))
            shares[k, m] = share
            total += share
    for k in range(arms):
        for m in range(fidelities):
            shares[k, m] /= total


@kernel
def track(problem: Arrays, params: MfGradParams, state: State, out: Ints) -> int:
    """Add pi', the proportions of pulls, to their sums; pull what lags most behind."""
    arms, fidelities = problem.cost.shape
    shares, tracked = state.own.shares, state.own.tracked
    forced = 0.25 / math.sqrt(state.clock[PULLS] + 1.0)
    total = 0.0
    for k in range(arms):
        for m in range(fidelities):
            total += shares[k, m] / problem.cost[k, m]
    arm, fidelity, most = 0, 0, -math.inf
    for k in range(arms):
        for m in range(fidelities):
            chosen = shares[k, m] / (total * problem.cost[k, m])
            tracked[k, m] += params.batch * ((1.0 - forced) * chosen + forced / (arms * fidelities))
            lag = tracked[k, m] - state.pulls[k, m]
            if lag > most:
                arm, fidelity, most = k, m, lag
    return put(out, 0, arm, fidelity, params.batch)


@kernel
def start_anew(problem: Arrays, state: State) -> None:
    """Begin with pulls that were made before the memory was emptied: equal shares, and nothing lags behind."""
    arms, fidelities = problem.cost.shape
    for k in range(arms):
        for m in range(fidelities):
            state.own.shares[k, m] = 1.0 / (arms * fidelities)
            state.own.tracked[k, m] = float(state.pulls[k, m])


@kernel
def plan(problem: Arrays, params: MfGradParams, state: State, out: Ints) -> int:
    """Play one step: test, ascend, track."""
    arms, fidelities = problem.cost.shape
    if arms < 2:
        return 0
    if state.clock[PULLS] == 0:
        rows = 0
        for k in range(arms):
            for m in range(fidelities):
                state.own.shares[k, m] = 1.0 / (arms * fidelities)
                rows = put(out, rows, k, m, 1)
        return rows
    if state.own.shares[0, 0] == 0.0:
        start_anew(problem, state)
    pair = evidence(problem, params, state)
    state.own.answer[0] = pair.leader
    if settled(problem, params, state, pair):
        return 0
    ascend(problem, params, state)
    reweigh(params, state)
    return track(problem, params, state, out)


@kernel
def recommend(problem: Arrays, params: MfGradParams, state: State) -> int:
    """The arm i that attained max_i min_j f_(i,j) at the last test."""
    return int(state.own.answer[0])


@dataclass(frozen=True)
class MFGrad(Policy):
    """MF-GRAD of Poiani et al. 2024, with the practical threshold of its authors (unproven) by default.

    Parameters
    ----------
    rate : {"sqrt", "constant"}
        The learning rate: 1 / sqrt(step + 1), or 0.25.
    threshold : {"practical", "theory", "ours"}
        When to stop: "practical" is what the published experiments use and has **no proof** that errors
        are as rare as delta; "theory" has one, and so has "ours", the certificate of `mf-toptwo`.

    Examples
    --------
    >>> MFGrad(rate="constant").label
    'mf-grad:rate=constant'
    """

    rate: str = "sqrt"
    threshold: str = "practical"

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("rate", self.rate, ("sqrt", "constant"))
        one_of("threshold", self.threshold, ("practical", "theory", "ours"))

    @property
    def name(self) -> str:
        """The registered name."""
        return "mf-grad"

    @property
    def weighs_pairs(self) -> bool:
        """Whether it stops by our certificates."""
        return self.threshold == "ours"

    @property
    def proven(self) -> bool:
        """Whether the threshold has a proof, that of "theory" for Gaussian rewards only."""
        return self.threshold != "practical"

    def proven_for(self, problem: Problem) -> bool:
        """Whether the threshold has a proof for the rewards of a problem."""
        return self.threshold == "ours" or (self.threshold == "theory" and isinstance(problem.reward, Gaussian))

    def algorithm(self, problem: Arrays, goal: Goal, unit: Callable[[float], float]) -> Algorithm:
        """Make the kernels and parameters for one problem."""
        arms, fidelities = problem.cost.shape
        ours = self.threshold == "ours"
        kinds = {GAUSSIAN: NORMAL, BOUNDED: BOTH}
        return Algorithm(
            plan=bind(plan, settled=by_certificate if ours else by_threshold),
            recommend=recommend,
            params=MfGradParams(
                log_factor=evidence_needed(arms - 1, goal.delta) if ours else math.log(arms) - math.log(goal.delta),
                epsilon=goal.epsilon,
                rate=0.25 if self.rate == "constant" else 0.0,
                proven=self.threshold == "theory",
                evidence=kinds.get(problem.reward_code, TILT),
                weights=goal.weights or NEWEST,
                batch=self.batch,
            ),
            rows=arms * fidelities,
            memory=CertifiedAscent if ours else Ascent,
            sums_only=not ours,
            evidence="pairs" if ours else "arms",
        )
