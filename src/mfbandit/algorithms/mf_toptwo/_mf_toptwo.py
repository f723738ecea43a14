"""`mf-toptwo`, the default policy: near the limit, with no prior knowledge.

**Stop.** An arm is beaten once the evidence that it is not the best one, at its least favourable v, reaches
log(1 / delta); the answer is the arm that is left. `mfbandit.confidence.pair._mixture` has it and the proof
that the best arm is ever beaten with probability at most delta. It rests on declared leaders, see
`mfbandit.algorithms.mf_toptwo._memory`. With two arms there is nobody else to lead. With epsilon > 0 (now, or
when a study began) arms are beaten by one other arm with evidence log((K - 1) / delta), and nothing is eliminated
("beaten within epsilon" is not transitive): the answer must itself beat every other arm.

**Sample.** Each round compares the leader (largest estimated truth) with every rival left:

1. v is where the evidence that the leader lies above v and the rival below is least.
2. The challenger is the rival with the least evidence there, plus twice the log of the cost spent on it.
3. `best_information_rate` is the most information per cost that an arm is expected to give against v, over its
   fidelities, counting what is not known yet as a chance: less so, the longer a run lasts, at cheap fidelities.
4. The leader is pulled if its rate over the rivals', summed over all of them, exceeds 1 (this
   equalises what the pulls gain), at the fidelity that is expected to tell most against all of them together; else the
   challenger, where it is expected to tell most. Where no fidelity can tell a pair apart, it is the truest one.
5. A stream of the pair that fell behind 0.07 sqrt(spent / cost) pulls comes first, the cheapest of these.

A pull at a fidelity that is good without counting chances, too, is *active* (see
`mfbandit.algorithms.mf_toptwo._memory`). A round costs 1% of what was spent so far, at most, and pulls at
most a sixth of what the stream has, so that the work per pull falls as a run grows.

**Among many arms** (from 65 on) the closest one in 32 of the rivals are pulled in the same round, so that
comparing all of them is paid for. The largest of many estimates is large by luck: the leader is then the
arm whose estimate is largest after some of its standard errors are taken off, rivals that look better than
it come first, and chances of the leader count for less, since each rival would count them.

**It stops with probability 1 if the truths differ.** Every stream of a pair that stays unresolved is pulled again
and again by rule 5, at the truest fidelity too, so the fallback level of the certificate grows without bound for
every pair with different truths. Should the best arm have been beaten by mistake and the others tie, it returns when
nothing has happened for long, and gets new pulls before it can be beaten again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from mfbandit.algorithms._policy import Policy, one_of
from mfbandit.algorithms.mf_toptwo._arms_in_race import (
    challengers,
    enter_all_arms,
    is_beaten,
    needs_fresh_pulls,
    pick_leader,
    readmit_beaten_arms,
    winner_correction,
)
from mfbandit.algorithms.mf_toptwo._memory import (
    AHEAD,
    TopTwoMemory,
    beat,
    chosen_rewards,
    rows_for,
    take_in,
)
from mfbandit.algorithms.mf_toptwo._next_rows import NONE, lagging, leader_choice, rival_choice, write_row
from mfbandit.algorithms.mf_toptwo._sampling import (
    best_information_rate,
    cheap_hope,
    refresh,
    split,
    start,
    truest_widening,
)
from mfbandit.algorithms.mf_toptwo._tuning import TopTwoParams, older_tuning
from mfbandit.confidence import chances, threshold, truth
from mfbandit.confidence.pair import BOTH, NEWEST, NORMAL, PROVEN, TILT, WEIGHTS, Guess, Hypothesis, prove
from mfbandit.core import (
    BOUNDED,
    GAUSSIAN,
    Algorithm,
    Arrays,
    Goal,
    Ints,
    State,
    join_threads,
    kernel,
    shared_range,
)
from mfbandit.errors import PolicyError

__all__ = ["MFTopTwo", "plan", "recommend"]


@kernel
def examine(problem: Arrays, params: TopTwoParams, state: State, leader: int, rival: int) -> None:
    """Compute the certificate of a pair if it may hold; if it does, the rival is beaten."""
    own = state.own
    value = own.value[rival]
    # Evidence grows in proportion to what is spent on either arm, however little that is beside the other's.
    spent = own.spent[leader] * own.spent[rival]
    if value < params.check * params.threshold or spent < own.due[rival] or needs_fresh_pulls(state, rival):
        return
    gap = abs(own.centre[leader] - own.centre[rival]) + params.epsilon
    hypothesis = Hypothesis(
        leader, rival, params.epsilon, params.evidence, params.pair_share, params.leader_share, params.weights
    )
    guess = Guess(own.split[rival], 0.1 * gap + 1e-3 * problem.sigma)
    verdict = prove(problem, hypothesis, state, params.threshold, guess, chosen_rewards(own), own.scratch)
    if verdict.status == PROVEN:
        beat(state, leader, rival)
    else:
        # Evidence f fluctuates by about sqrt(2 f r) while the cost of the pair grows by a fraction r. Check again once
        # two such fluctuations could close the shortfall.
        lacks = verdict.shortfall
        growth = min(params.delay * lacks * lacks, 0.5 * lacks, params.threshold)
        own.due[rival] = spent * (1.0 + growth / (value + 1.0))


@kernel
def compare(problem: Arrays, params: TopTwoParams, state: State, leader: int, rival: int) -> None:
    """Bring a rival's split, estimated evidence and gains up to date.

    What is merely possible of the leader counts once for every rival that it is compared with, so that
    among very many it must count for less.
    """
    split(problem, params, state, leader, rival)
    own = state.own
    v = own.split[rival]
    cheap, truest = cheap_hope(problem, params, state, rival), truest_widening(problem, params, state, leader, rival)
    for side in range(2):
        arm, sign, shift = (leader, 1.0, params.epsilon) if side == 0 else (rival, -1.0, 0.0)
        optimism = params.optimism / rows_for(state.own.racers[0] - 1) if side == 0 else params.optimism
        gain, _, _ = best_information_rate(problem, params, state, arm, sign, v - shift, optimism, cheap, truest)
        if side == 0:
            own.leader_gain[rival] = gain
        else:
            own.gain[rival] = gain


@kernel
def update(problem: Arrays, params: TopTwoParams, state: State) -> int:
    """Take in the rewards of the last round; return the leader.

    Only what the last round changed is computed anew: the arms it pulled, and if the leader is among them
    (or is another one now) every comparison with it.
    """
    own = state.own
    rows = own.rows[0]
    take_in(state)
    if rows == 0:
        enter_all_arms(problem, state)
    for place in shared_range(rows if rows > 0 else problem.cost.shape[0]):
        refresh(problem, params.bias_variance, state, own.row_arm[place] if rows > 0 else place)
    join_threads()
    every = readmit_beaten_arms(problem, params, state)
    leader = pick_leader(problem, params, state)
    changed = own.leader[0] != leader + 1
    own.leader[0] = leader + 1
    every = every or changed or rows == 0
    for row in range(rows):
        every = every or own.row_arm[row] == leader
    count = own.racers[0] if every else rows
    for place in shared_range(count):
        b = own.race[place] if every else own.row_arm[place]
        if changed:
            own.due[b] = 0.0
        if b != leader and not is_beaten(params, state, b, leader):
            compare(problem, params, state, leader, b)
    join_threads()
    for place in range(count):
        b = own.race[place] if every else own.row_arm[place]
        if b != leader and not is_beaten(params, state, b, leader):
            examine(problem, params, state, leader, b)
    return leader


@kernel
def plan(problem: Arrays, params: TopTwoParams, state: State, out: Ints) -> int:
    """Play one round: compare the leader with every rival left, then pull it or those closest to it."""
    if problem.cost.shape[0] < 2:
        return 0
    own = state.own
    if own.leader[0] == 0:
        rows = start(problem, state, out)
        if rows > 0:
            return rows
    leader = update(problem, params, state)
    rows, closest, balance = challengers(problem, params, state, leader)
    if closest < 0:
        return 0
    spent, rival_spent = own.spent[leader], own.spent[closest]
    # Where many rivals share what is spent on the leader, none needs to keep up with all of it.
    share = spent / rows_for(state.own.racers[0] - 1)
    late = lagging(problem, params, state, leader, max(spent, rival_spent))
    rival_late = lagging(problem, params, state, closest, max(share, rival_spent))
    leader_plays = balance > 1.0
    if late != NONE or rival_late != NONE:
        leader_plays = rival_late == NONE or (
            late != NONE and problem.cost[leader, late] <= problem.cost[closest, rival_late]
        )
    if leader_plays:
        choice = leader_choice(problem, params, state, leader, closest, late)
        write_row(problem, params, state, out, 0, 1, choice)
        own.rows[0] = 1
        return 1
    for row in range(rows):
        b = own.row_arm[row]
        late = lagging(problem, params, state, b, max(share, own.spent[b]))
        choice = rival_choice(problem, params, state, leader, b, late)
        write_row(problem, params, state, out, row, rows, choice)
    own.rows[0] = rows
    return rows


@kernel
def recommend(problem: Arrays, params: TopTwoParams, state: State) -> int:
    """The arm with the largest estimated truth, with caution, among those that are not beaten."""
    left = 0
    for k in range(problem.cost.shape[0]):
        if params.epsilon > 0.0 or state.arm_flags[k] == 0:
            left += 1
    errors = winner_correction(left - 1)
    chosen, best = 0, -math.inf
    for k in range(problem.cost.shape[0]):
        if params.epsilon > 0.0 or state.arm_flags[k] == 0:
            centre, weights, noise, _ = truth(problem, params.bias_variance, state, k)
            if weights > 0.0 and centre - errors * noise > best:
                chosen, best = k, centre - errors * noise
    return chosen


@dataclass(frozen=True)
class MFTopTwo(Policy):
    """The default policy: certified best-arm identification near the least possible cost.

    Parameters
    ----------
    batch : int
        Pulls per round. 0, the default, lets rounds grow with what was spent; a number fixes it, for
        example to what can be evaluated at once.
    evidence : {"auto", "tilt"}
        What rewards in [0, 1] are judged by: "auto" averages a process that is best for 0/1 rewards
        and one that adapts to their variance (for problems declared "bernoulli" the former alone);
        "tilt" is the former alone.

    Examples
    --------
    >>> MFTopTwo(fidelities="top").label
    'mf-toptwo:fidelities=top'
    """

    batch: int = 0
    evidence: str = "auto"

    guarantee: ClassVar[bool] = True
    follows_costs: ClassVar[bool] = True
    declares_leaders: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.batch, int) or isinstance(self.batch, bool) or self.batch < 0:
            raise PolicyError(f"batch must be a whole number >= 0 (0: rounds grow), got {self.batch!r}")
        one_of("evidence", self.evidence, ("auto", "tilt"))
        self._check_independent()
        self._columns_text()

    @property
    def name(self) -> str:
        """The registered name."""
        return "mf-toptwo"

    @property
    def weighs_pairs(self) -> bool:
        """It stops by the evidence of pairs and leaders."""
        return True

    def algorithm(self, problem: Arrays, goal: Goal, unit: Callable[[float], float]) -> Algorithm:
        """Make the kernels and parameters for one problem."""
        arms = problem.cost.shape[0]
        evidence = NORMAL if problem.reward_code == GAUSSIAN else TILT
        if problem.reward_code == BOUNDED and self.evidence == "auto":
            evidence = BOTH
        led = arms > 2 and goal.epsilon == 0.0 and not goal.pairs_only
        kind, weights = "leaders" if led else "pairs", goal.weights or NEWEST
        share = WEIGHTS[weights - 1].leaders
        params = TopTwoParams(
            threshold=threshold(chances(kind, arms), goal.delta),
            pair_share=(1.0 - share) / (arms - 1) if led else 1.0,
            leader_share=share if led else 0.0,
            epsilon=goal.epsilon,
            evidence=evidence,
            weights=weights,
            batch=self.batch,
            **older_tuning(weights),
        )
        return Algorithm(
            plan=plan,
            recommend=recommend,
            params=params,
            rows=arms,
            memory=TopTwoMemory,
            take_in=take_in,
            evidence=kind,
            ahead=AHEAD,
        )
