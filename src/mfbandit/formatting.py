"""Names and numbers for people, in lines of a terminal, on pages and in pictures; means with what they may be off."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = [
    "Mean",
    "amount",
    "duration",
    "floored",
    "in_these_runs",
    "percent",
    "shortened",
    "shown",
    "times",
    "told_apart",
    "too_few",
]

_WIDEST = 40
#: A ratio that is known this well is one number, otherwise a range.
_KNOWN = 0.15
#: What the paper makes, and what is recommended to those who make fewer.
_ENOUGH = 100


def shown(name: str, widest: int = _WIDEST) -> str:
    r"""A name as it can stand in one line of a terminal: no control characters, not too long.

    Examples
    --------
    >>> shown("two\nlines"), shown("it's <b>bold</b>"), shown("x" * 50, 8)
    ('two\\nlines', "it's <b>bold</b>", 'xxxxxxx…')
    """
    plain = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in name)
    return plain if len(plain) <= widest else plain[: widest - 1] + "…"


def told_apart(names: Iterable[str], widest: int = _WIDEST) -> dict[str, str]:
    """Names as they can stand in one line each, by name: those that begin alike without their common beginning.

    Examples
    --------
    >>> told_apart(["You are helpful. Say yes or no.", "You are helpful. Be brief.", "short"], 16)
    {'You are helpful. Say yes or no.': '…Say yes or no.', 'You are helpful. Be brief.': '…Be brief.', 'short': 'short'}
    """
    found = {name: shown(name, widest) for name in names}
    alike: dict[str, list[str]] = {}
    for name, label in found.items():
        alike.setdefault(label, []).append(name)
    for same in alike.values():
        common = sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*same, strict=False)))
        if len(same) > 1 and common:
            # From the beginning of a word on, if that is near.
            word = same[0][:common].rfind(" ") + 1
            start = word if 2 * word > common else common
            rests = told_apart([name[start:] for name in same], widest - 1)
            found |= {name: f"…{rests[name[start:]]}" for name in same}
    return found


def percent(value: float) -> str:
    """A confidence in percent, never rounded up.

    Examples
    --------
    >>> percent(0.95), percent(0.99987), percent(0.123), percent(1.0 - 1e-9)
    ('95%', '99.98%', '12.3%', 'over 99.99%')
    """
    if value > 0.9999:
        return "over 99.99%"
    digits = 2 if value > 0.99 else 1
    scale = 10**digits
    # What is a round number of percent up to rounding errors stays one.
    return f"{int(value * 100 * scale + 1e-9) / scale:g}%"


def amount(value: float | None, digits: int = 4) -> str:
    """Write a number for people: thousands separated, a few digits, words for what is no number.

    Examples
    --------
    >>> amount(57657.62), amount(0.1263920), amount(8986407.3), amount(None), amount(math.inf)
    ('57,658', '0.1264', '8,986,407', '-', 'infinite')
    """
    if value is None or math.isnan(value):
        return "-"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def duration(seconds: float) -> str:
    """A time in the unit that suits it.

    Examples
    --------
    >>> duration(0.2), duration(12.4), duration(200.0), duration(20_000.0), duration(400_000.0)
    ('0 s', '12 s', '3 min', '5.6 h', '4.6 days')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h" if seconds < 2 * 86400 else f"{seconds / 86400:.1f} days"


def floored(confidence: float) -> str:
    """A confidence in as many digits as it deserves, never rounded up.

    Examples
    --------
    >>> floored(0.95), floored(0.99987), floored(1.0), floored(0.9999999)
    ('0.95', '0.9998', '1', '0.9999')
    """
    if confidence >= 1.0:
        return "1"
    return f"{math.floor(confidence * 1e4 + 1e-9) / 1e4:g}"


def shortened(text: str, longest: int) -> str:
    r"""A text on one line, cut where it is too long.

    Examples
    --------
    >>> shortened("two\nlines", 20), shortened("a long story", 7)
    ('two lines', 'a long…')
    """
    plain = " ".join(text.split())
    return plain if len(plain) <= longest else f"{plain[: longest - 1]}…"


class Mean(NamedTuple):
    """A mean over some runs, and its standard error; NaN for one run."""

    value: float
    error: float
    runs: int

    @classmethod
    def of(cls, values: Sequence[float] | npt.NDArray[np.float64]) -> Mean:
        """The mean of some values.

        Examples
        --------
        >>> Mean.of([1.0, 3.0]), Mean.of([2.0])
        (Mean(value=2.0, error=1.0, runs=2), Mean(value=2.0, error=nan, runs=1))
        """
        array = np.asarray(values, dtype=np.float64)
        error = float(array.std(ddof=1)) / math.sqrt(len(array)) if len(array) > 1 else math.nan
        return cls(float(array.mean()), error, len(array))

    @property
    def doubt(self) -> float:
        """Half the width of an interval of 95%: two standard errors, more for few runs, infinite for one.

        Examples
        --------
        >>> Mean(5.0, 1.0, 100).doubt, round(Mean(5.0, 1.0, 3).doubt, 2), Mean(5.0, 0.0, 1).doubt
        (2.0, 4.3, inf)
        """
        if self.runs < 2 or math.isnan(self.error):
            return math.inf
        from scipy.special import stdtrit

        return max(2.0, float(stdtrit(self.runs - 1, 0.975))) * self.error

    def text(self, digits: int = 4) -> str:
        """The mean and its standard error, which one run does not show.

        Examples
        --------
        >>> Mean(870.123, 49.86, 100).text(), Mean(870.123, 49.86, 100).text(3), Mean.of([2.5]).text()
        ('870.1 ± 50', '870 ± 50', '2.5')
        """
        mean = amount(self.value, digits)
        return mean if math.isnan(self.error) else f"{mean} ± {amount(self.error, 2)}"

    @property
    def positive(self) -> bool:
        """Whether it is above 0 by more than luck."""
        return self.value > self.doubt

    def below(self, other: Mean) -> bool:
        """Whether it is below another mean by more than luck, if their runs share no luck."""
        return other.value - self.value > math.hypot(self.doubt, other.doubt)


def in_these_runs(runs: int) -> str:
    """Words before what so few runs do not show of others.

    Examples
    --------
    >>> in_these_runs(5), in_these_runs(1)
    ('in these 5 runs', 'in this one run')
    """
    return "in this one run" if runs == 1 else f"in these {runs:,} runs"


def times(expensive: Mean, cheap: Mean, what: str = "that") -> str:
    """How many times as large one mean is as another: one number if it is known, else a range.

    Examples
    --------
    >>> times(Mean(5e4, 300.0, 100), Mean(870.0, 40.0, 100))
    '57 times that'
    >>> times(Mean(5e4, 3e3, 5), Mean(388.0, 60.0, 5), "as much")
    'about 81 to 200 times as much (5 runs)'
    >>> times(Mean(5e4, float("nan"), 1), Mean(388.0, float("nan"), 1))
    '130 times that in this one run'
    """
    runs = min(expensive.runs, cheap.runs)
    ratio = expensive.value / cheap.value if cheap.value > 0.0 else math.inf
    if runs < 2 or not math.isfinite(ratio):
        return f"{_plain(ratio)} times {what} {in_these_runs(runs)}"
    doubt = math.hypot(expensive.doubt / expensive.value, cheap.doubt / cheap.value)
    if doubt <= _KNOWN:
        return f"{_plain(ratio)} times {what}"
    low, high = _plain(ratio * math.exp(-doubt)), _plain(ratio * math.exp(doubt))
    return f"about {low} to {high} times {what} ({runs:,} runs)"


def too_few(runs: int) -> str:
    """What is said where a mean lies below what is possible on average.

    Examples
    --------
    >>> too_few(3)
    '3 runs are too few: the mean came out below what is possible on average; use 100 trials'
    """
    if runs >= _ENOUGH:
        return "the mean came out below that: by luck, or because the policy errs more often than delta"
    are = "1 run is" if runs == 1 else f"{runs} runs are"
    return f"{are} too few: the mean came out below what is possible on average; use {_ENOUGH} trials"


def _plain(ratio: float) -> str:
    """Two digits, which is more than most ratios deserve."""
    return f"{float(f'{ratio:.2g}'):,.10g}"
