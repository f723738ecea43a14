"""What the processes without t share: the level they pay, and rounding to the safe side.

A bound may be wider than the exact one by a few last digits, never tighter: it is inverted at a level
that is higher by `SLACK`, more than all rounding errors up to ten million pulls of a stream, and what comes
out is moved `OUTWARD` by a few units of its last place. At a billion pulls rounding may cost 1e-6 nats, which
raises an error probability by one millionth of itself.
"""

from __future__ import annotations

import math

from mfbandit.core import Arrays, kernel

__all__ = ["CLOSE", "OUTWARD", "SLACK", "level"]

#: Added to log(1/alpha) before a bound is computed.
SLACK = 1e-8
#: Relative step that covers the rounding of the bound itself.
OUTWARD = 2.0**-51
#: A Newton step from this near (in log e-value) ends within about its square, so it is the last one.
CLOSE = 1e-5
_LOG_4 = math.log(4.0)


@kernel
def level(problem: Arrays, log_factor: float, time: float) -> float:
    """log(1/alpha) of one bound: log(K M / delta), where the paper has L = 4 K M in its radius.

    An error needs the best arm's upper bound or another arm's lower bound to fail at one of M
    fidelities: K M one-sided events, each over all times at once.
    """
    return log_factor - _LOG_4
