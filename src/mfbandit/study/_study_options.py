"""Options that belong together, as objects: what becomes of failed pulls, and of bias bounds that data contradict.

Each has keywords of its own in `create_study`, `identify` and `allocate` too, one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

from mfbandit._checks import fraction, is_number, one_of, whole_number
from mfbandit.errors import InvalidInput

__all__ = ["ON_FAILURE", "ON_VIOLATION", "BiasAlarm", "Failures"]

ON_FAILURE = ("stop", "retire", "worst")
ON_VIOLATION = ("ignore", "stop", "drop", "widen")


@dataclass(frozen=True)
class Failures:
    """What happens when evaluations fail.

    Parameters
    ----------
    retries : int
        How often a failed pull is tried again.
    then : {"stop", "retire", "worst"}
        What happens when it has failed too often: see `on_failure` of `create_study`.
    patience : float
        For how many seconds failures of several pulls in a row may pause a run before they count.
    timeout : float, optional
        Seconds after which an evaluation has failed: see `Study.optimize`.

    Examples
    --------
    >>> import mfbandit as mf
    >>> problem = mf.Problem(["a", "b"], [("exact", 1.0, 0.0)])
    >>> mf.create_study(problem, failures=mf.Failures(retries=5, then="retire")).settings.retries
    5
    """

    retries: int = 2
    then: str = "stop"
    patience: float = 60.0
    timeout: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "retries", whole_number("retries of Failures", self.retries, 0))
        one_of("then of Failures", self.then, ON_FAILURE)
        if not is_number(self.patience) or not self.patience >= 0:
            raise InvalidInput(f"patience of Failures must be a number >= 0, got {self.patience!r}")
        if self.timeout is not None and not (is_number(self.timeout) and self.timeout > 0):
            raise InvalidInput(f"timeout of Failures must be a number of seconds > 0, or None, got {self.timeout!r}")


@dataclass(frozen=True)
class BiasAlarm:
    """What happens when the data contradict a bias bound.

    Parameters
    ----------
    level : float
        The probability that the data of bounds that hold are ever taken to contradict them.
    then : {"ignore", "stop", "drop", "widen"}
        What is done: see `on_violation` of `create_study`.

    Examples
    --------
    >>> import mfbandit as mf
    >>> problem = mf.Problem(["a", "b"], [("quick", 1.0, 0.1), ("exact", 9.0, 0.0)])
    >>> mf.create_study(problem, bias_alarm=mf.BiasAlarm(level=0.01, then="widen")).settings.on_violation
    'widen'
    """

    level: float = 0.05
    then: str = "ignore"

    def __post_init__(self) -> None:
        object.__setattr__(self, "level", fraction("level of BiasAlarm", self.level))
        one_of("then of BiasAlarm", self.then, ON_VIOLATION)
