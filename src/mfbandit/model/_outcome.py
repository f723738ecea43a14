"""What an evaluation brings: a reward, and what it cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Outcome"]


@dataclass(frozen=True)
class Outcome:
    """The reward of a pull, with what it cost and what else there is to say of it.

    An evaluator may return it in place of a reward, and `Study.tell` takes it, too.

    Parameters
    ----------
    reward
        A number in the range of the problem's rewards.
    cost
        What it really cost: a number of at least 0, and 0 for what was taken from a cache. Without it a pull costs
        what its fidelity says.
    note
        A text that is kept in the log.
    seconds, worker, failed
        How long it took, who did it, and how many attempts failed before that `Study.fail` was not told of; for whoever
        looks later (`Study.to_frame`). A run fills in what is not said.
    lost
        What these attempts have cost, beside `cost`.
    usual
        Whether such a pull usually costs that. If part of it was there already, or was paid for others, too, it is not:
        then the cost counts, and what is planned goes by others.

    Examples
    --------
    >>> import mfbandit as mf
    >>> study = mf.create_study(mf.Problem(["a", "b"], [("judge", 0.01, 0.0)]))
    >>> study.tell(study.ask()[0], mf.Outcome(0.5, cost=0.0125, note="812 tokens"))
    True
    >>> study.cost
    0.0125
    """

    reward: Any
    cost: Any = None
    note: str | None = None
    seconds: Any = None
    worker: str | None = None
    failed: int | None = None
    lost: Any = None
    usual: bool = True
