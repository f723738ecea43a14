"""What a study of the reproduction hands over: sentences, pictures and tables of one section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Picture", "Section", "Table", "count", "number", "pm"]


@dataclass(frozen=True)
class Picture:
    """A picture: the stem of its files, and what it shows for those who cannot see it."""

    stem: str
    alt: str


@dataclass(frozen=True)
class Table:
    """A table: texts for people, and the records that go to a CSV file.

    Attributes
    ----------
    stem : str
        Name of the CSV file, without its ending.
    caption : str
        One sentence on what is in it.
    headings, rows : tuples of str
        What people read.
    records : tuple of dict
        The data, one dict per line of the file.
    """

    stem: str
    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    records: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True)
class Section:
    """A study, done.

    Attributes
    ----------
    name, title : str
        What it is called on the command line, and for people.
    claim : str
        What the paper claims, in a sentence or two.
    findings : tuple of str
        What was measured, a sentence each, and where a claim does not hold.
    setup : str
        Trials, seed and whatever it takes to repeat it.
    """

    name: str
    title: str
    claim: str
    findings: tuple[str, ...]
    setup: str
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = field(default=())

    def to_json(self) -> dict[str, Any]:
        """The section as plain JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Section:
        """Read back what :meth:`to_json` gave."""
        return cls(
            name=data["name"],
            title=data["title"],
            claim=data["claim"],
            findings=tuple(data["findings"]),
            setup=data["setup"],
            pictures=tuple(Picture(**picture) for picture in data["pictures"]),
            tables=tuple(_table(table) for table in data["tables"]),
        )


def _table(data: Mapping[str, Any]) -> Table:
    return Table(
        stem=data["stem"],
        caption=data["caption"],
        headings=tuple(data["headings"]),
        rows=tuple(tuple(row) for row in data["rows"]),
        records=tuple(data["records"]),
    )


def number(value: float | None) -> str:
    """Write a number for people.

    Examples
    --------
    >>> number(57657.62), number(136.388), number(0.126392), number(2059123.0), number(float("inf"))
    ('57,658', '136.4', '0.1264', '2,059,123', '∞')
    """
    if value is None:
        return "-"
    if value in (float("inf"), float("-inf")):
        return "∞" if value > 0 else "-∞"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def pm(mean: float, spread: float) -> str:
    """Write a mean and its spread.

    Examples
    --------
    >>> pm(57657.62, 3443.4), pm(215.1, 8.7e-14)
    ('57,658 ± 3,443', '215.1 ± 0')
    """
    # Equal values differ in their last bits.
    spread = spread if spread > 1e-9 * abs(mean) else 0.0
    return f"{number(mean)} ± {number(spread)}"


def count(flags: Sequence[bool]) -> str:
    """Say how many of how many.

    Examples
    --------
    >>> count([True, True, False])
    '2 of 3'
    """
    return f"{sum(map(bool, flags))} of {len(flags)}"
