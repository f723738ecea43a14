"""What graders were paid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["Bill", "GraderBill"]


@dataclass(frozen=True)
class GraderBill:
    """What one grader was paid."""

    name: str
    price: float
    paid: int
    """Gradings that were paid for."""
    cached: int
    """Gradings that were there already."""

    @property
    def cost(self) -> float:
        """What it came to."""
        return self.price * self.paid


@dataclass(frozen=True)
class Bill:
    """What all graders were paid, in money.

    Examples
    --------
    >>> bill = Bill((GraderBill("judge", 0.01, 50, 7), GraderBill("human", 2.0, 3, 0)), 0, 0.0, "human", 500)
    >>> round(bill.total, 2), bill.money(bill.everything_cost)
    (6.5, '$1,000.00')
    """

    graders: tuple[GraderBill, ...]
    answers: int
    """Answers that were made."""
    answer_price: float
    truest: str
    everything: int
    """How many gradings it takes to grade every item for every candidate once."""
    currency: str = "$"

    @property
    def total(self) -> float:
        """All that was paid."""
        return sum(one.cost for one in self.graders) + self.answers * self.answer_price

    @property
    def at_full_price(self) -> float:
        """What the same gradings would have cost with nothing kept; what a study counts, but for failed calls."""
        return sum((one.price + self.answer_price) * (one.paid + one.cached) for one in self.graders)

    @property
    def everything_cost(self) -> float:
        """What it would cost to have everything graded by the truest grader."""
        price = next(one.price for one in self.graders if one.name == self.truest)
        return self.everything * (price + self.answer_price)

    def money(self, amount: float) -> str:
        """An amount for people."""
        return f"{self.currency}{amount:,.2f}" if amount >= 0.1 or amount == 0 else f"{self.currency}{amount:.2g}"

    @property
    def sentence(self) -> str:
        """The bill in words."""
        paid, cached = (sum(getattr(one, name) for one in self.graders) for name in ("paid", "cached"))
        more = f"; {cached:,} more came from the cache" if cached else ""
        everything = self.money(self.everything_cost)
        return (
            f"Paid {self.money(self.total)} for {paid:,} grading{'' if paid == 1 else 's'}{more}. To grade "
            f"every item for every candidate by {self.truest!r} would cost {everything}."
        )

    @property
    def lines(self) -> list[str]:
        """One line per grader."""
        found = [
            f"{one.name}: {self.money(one.cost)} for {one.paid:,} gradings at {self.money(one.price)}"
            f"{f' ({one.cached:,} from the cache)' if one.cached else ''}"
            for one in self.graders
        ]
        if self.answers and self.answer_price:
            amount = self.money(self.answers * self.answer_price)
            found.append(f"answers: {amount} for {self.answers:,} at {self.money(self.answer_price)}")
        return found

    def to_json(self) -> dict[str, Any]:
        """The bill as a plain JSON object."""
        return {
            "total": self.total,
            "at_full_price": self.at_full_price,
            "currency": self.currency,
            "everything_cost": self.everything_cost,
            "answers": self.answers,
            "graders": [{**vars(one), "cost": one.cost} for one in self.graders],
        }
