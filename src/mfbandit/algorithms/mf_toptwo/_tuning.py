"""What `mf-toptwo` knows beside the problem: its goal, and every number that its sampling rule was tuned with.

None of the latter bears on correctness, which rests on `mfbandit.confidence.pair` alone; they decide what an answer
costs. `benchmarks/constants.py` halves and doubles each of them on random instances, and the weights of the evidence
(`mfbandit.confidence.pair._weights`) with them; docs/certificates.md has the table.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["RIVALS_PER_ROW", "TopTwoParams", "older_tuning"]

#: Among many arms one rival in so many that are left is pulled in a round, at least one.
RIVALS_PER_ROW = 32


class TopTwoParams(NamedTuple):
    """What `mf-toptwo` knows beside the problem."""

    threshold: float
    """log(1 / delta); with epsilon > 0 log((K - 1) / delta)."""
    pair_share: float
    """The weight of one pair in the evidence against an arm."""
    leader_share: float
    """The weight of what declared leaders have shown."""
    epsilon: float
    evidence: int
    """Which likelihood ratios: see `mfbandit.confidence.pair._likelihood_levels`."""
    weights: int
    """Which weights: see `mfbandit.confidence.pair._weights`."""
    batch: int
    """Pulls per round; 0 if rounds grow."""

    # How streams look
    bias_variance: float = 0.8
    """Variance that is ascribed to a bias, as a part of its squared bound."""
    linear: float = 0.8
    """The evidence of bounded rewards, however small their variance, grows with the excess e over q as e / q only: this
    many times q (from the other end for the worse arm) is added to the variance for each unit of excess."""
    optimism: float = 1.4
    """How many standard errors of a stream's mean count as possible."""
    fading: float = 0.2
    """By which part this falls, at cheap fidelities, with the logarithm of the cost spent on a rival,"""
    fading_onset: float = 30.0
    """from so many pulls' worth at the truest fidelity on,"""
    least_hope: float = 0.2
    """and the part that is left, at least."""
    truest_optimism: float = 4.0
    """How much this grows, for the truest fidelity, with the logarithm of the cost spent on a pair,"""
    onset: float = 4000.0
    """from so many pulls' worth at the truest fidelity on,"""
    openest: float = 3.0
    """and to this at most."""

    # Which arm, which fidelity
    log_cost_weight: float = 2.0
    """Weight of log(spent) in the choice of the challenger."""
    most_value: float = 4.0
    """Estimated evidence counts there for this many times the threshold at most: who is not beaten yet has less."""
    nearby: float = 3.0
    """A pair whose distance is further than this from the least does not count in full when the leader's turn comes."""
    forced: float = 0.07
    """Every stream of the pair gets this times sqrt(spent / cost) pulls."""

    # Which rewards are chosen
    good: float = 0.3
    """A fidelity is good enough for its rewards to be active if it gives this part of what the best one gives."""
    tested: float = 0.2
    """Rewards are a leader's once it has had this part of all that was spent, or 1 / sqrt(K) if that is less."""

    # How much at once, and when to look
    round_part: float = 0.01
    """A round costs at most this part of all that was spent,"""
    stream_part: float = 0.16
    """and pulls at most this part of the stream."""
    check: float = 1.15
    """Part of the threshold that the estimated evidence reaches before the certificate is computed."""
    delay: float = 0.3
    """How long a certificate that failed is left alone, as a multiple of what it lacked."""

    # Beaten arms that return
    patience: float = 4.0
    """They do when the cost has grown by this factor since the race last changed,"""
    respite: float = 1.0 / 16.0
    """and are pulled until this part of an equal share of the cost was spent on them."""


#: What differs in studies that were made with the first weights: they go on as they began.
_FIRST: dict[str, Any] = {
    "bias_variance": 1.2,
    "optimism": 1.2,
    "fading": 0.0,
    "most_value": 2.0,
    "stream_part": 0.25,
    "check": 0.5,
    "delay": 0.05,
}


def older_tuning(weights: int) -> dict[str, Any]:
    """What the sampling rule of a study with these weights was tuned to, where that differs from now."""
    return _FIRST if weights == 1 else {}
