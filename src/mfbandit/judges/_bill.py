"""What graders were paid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mfbandit.judges._graders import Grader

__all__ = ["Account", "Bill", "GraderBill"]


#: Why a cheap grader was passed over.
_NOT_ASKED = "was not asked: by its price and its bias bound it would not have saved anything"
#: Rounding that sums of prices may differ by.
_SLACK = 1e-9


@dataclass
class Account:
    """What was paid and what was spared, by grader."""

    paid: dict[str, int]
    cached: dict[str, int]
    equal: dict[str, int]
    answers: int = 0
    at_full_price: float = 0.0
    labelled: set[tuple[str, int]] = field(default_factory=set)

    @classmethod
    def of(cls, graders: Mapping[str, Grader]) -> Account:
        """An account on which nothing was paid."""
        return cls(dict.fromkeys(graders, 0), dict.fromkeys(graders, 0), dict.fromkeys(graders, 0))

    def count(self, grader: Grader, item: int, answer_price: float) -> None:
        """Count a pull at its full price: labels of an item once."""
        opened = not grader.per_item or (grader.name, item) not in self.labelled
        if grader.per_item:
            self.labelled.add((grader.name, item))
        self.at_full_price += answer_price + (grader.full_price if opened else 0.0)


@dataclass(frozen=True)
class GraderBill:
    """What one grader was paid."""

    name: str
    price: float
    paid: int
    """Gradings that were paid for: of each rater, and with `per_item` items."""
    cached: int
    """Gradings that were there already."""
    equal: int = 0
    """Gradings that nobody was asked for: the answer was the same as others'."""
    raters: int = 1
    per_item: bool = False

    @property
    def cost(self) -> float:
        """What it came to."""
        return self.price * self.paid

    @property
    def asked(self) -> bool:
        """Whether it was needed at all, paid for or not."""
        return bool(self.paid or self.cached or self.equal)

    @property
    def unit(self) -> str:
        """What is paid for."""
        return "labelled item" if self.per_item else "grading"


@dataclass(frozen=True)
class Bill:
    """What all graders were paid, in money.

    Examples
    --------
    >>> bill = Bill((GraderBill("judge", 0.01, 50, 7), GraderBill("human", 2.0, 3, 0)), 0, 0.0, "human", 500)
    >>> round(bill.total, 2), bill.money(bill.everything_cost)
    (6.5, '$1,000.00')
    >>> labels = (GraderBill("judge", 0.01, 0, 0), GraderBill("human", 2.0, 3, 0))
    >>> Bill(labels, 0, 0.0, "human", 500).sentence.partition(" 'judge' ")[2]
    'was not asked: by its price and its bias bound it would not have saved anything.'
    """

    graders: tuple[GraderBill, ...]
    answers: int
    """Answers that were made."""
    answer_price: float
    truest: str
    everything: int
    """How many gradings it takes to grade every item for every candidate once."""
    currency: str = "$"
    items: int = 0
    """How many items there are."""
    all_answers: int = 0
    """How many answers there are in all, of every candidate to every item."""
    at_full_price: float = 0.0
    """What the same pulls would have cost with nothing kept; what a study counts."""

    in_all_runs: float | None = None
    """What the last study has cost in all its runs, those before this one among them; None before the first."""

    @property
    def total(self) -> float:
        """All that was paid in this run: since the `Judging` was made."""
        return sum(one.cost for one in self.graders) + self.answers * self.answer_price

    @property
    def everything_cost(self) -> float:
        """What it would cost to have everything graded by the truest grader."""
        truest = next(one for one in self.graders if one.name == self.truest)
        graded = self.items if truest.per_item else self.everything
        return graded * truest.price * truest.raters + self.all_answers * self.answer_price

    def money(self, amount: float) -> str:
        """An amount for people."""
        return f"{self.currency}{amount:,.2f}" if amount >= 0.1 or amount == 0 else f"{self.currency}{amount:.2g}"

    @property
    def sentence(self) -> str:
        """The bill in words."""
        paid, cached, equal = (sum(getattr(one, name) for one in self.graders) for name in ("paid", "cached", "equal"))
        more = f"; {cached:,} more were there already" if cached else ""
        more += f"; {equal:,} were not needed, since answers were the same" if equal else ""
        everything = self.money(self.everything_cost)
        runs = ""
        if self.in_all_runs is not None and self.in_all_runs > self.total * (1.0 + _SLACK):
            runs = f" in this run ({self.money(self.in_all_runs)} in all runs of the study)"
        return (
            f"Paid {self.money(self.total)}{runs} for {paid:,} grading{'' if paid == 1 else 's'}{more}. To grade "
            f"every item for every candidate by {self.truest!r} would cost {everything}.{self._not_asked}"
        )

    @property
    def _not_asked(self) -> str:
        """Which graders were not asked although others were."""
        if not any(one.asked for one in self.graders):
            return ""
        return "".join(
            f" {one.name!r} {_NOT_ASKED}." for one in self.graders if not one.asked and one.name != self.truest
        )

    @property
    def lines(self) -> list[str]:
        """One line per grader."""
        found = []
        for one in self.graders:
            others = [f"{one.cached:,} there already"] if one.cached else []
            others += [f"{one.equal:,} not needed, since answers were the same"] if one.equal else []
            more = f" ({', '.join(others)})" if others else ""
            units = f"{one.paid:,} {one.unit}{'' if one.paid == 1 else 's'}"
            found.append(f"{one.name}: {self.money(one.cost)} for {units} at {self.money(one.price)}{more}")
        if self.answers and self.answer_price:
            amount = self.money(self.answers * self.answer_price)
            found.append(f"answers: {amount} for {self.answers:,} at {self.money(self.answer_price)}")
        return found

    def to_json(self) -> dict[str, Any]:
        """The bill as a plain JSON object."""
        return {
            "total": self.total,
            "in_all_runs": self.in_all_runs,
            "at_full_price": self.at_full_price,
            "currency": self.currency,
            "everything_cost": self.everything_cost,
            "answers": self.answers,
            "graders": [{**vars(one), "cost": one.cost} for one in self.graders],
        }
