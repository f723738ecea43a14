"""What commands print: JSON, tables, sentences, and one-line complaints."""

from __future__ import annotations

import contextlib
import io
import json
import math
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

from mfbandit.errors import ModelWarning

__all__ = [
    "clean",
    "complain",
    "one_line_warnings",
    "print_json",
    "print_sentences",
    "print_table",
]


def clean(value: Any) -> Any:
    """Make a value fit for strict JSON: NumPy to Python, what is not finite to null.

    Examples
    --------
    >>> import numpy as np
    >>> clean({"weights": np.array([0.5, np.inf]), "best": np.int64(3)})
    {'weights': [0.5, None], 'best': 3}
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): clean(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [clean(part) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_json(value: Any) -> None:
    """Print one JSON value on stdout."""
    print(json.dumps(clean(value), indent=2, ensure_ascii=False, allow_nan=False))


def complain(message: str) -> None:
    """Say in one line on stderr what is wrong."""
    print(f"mfbandit: {' '.join(message.split())}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def one_line_warnings() -> Iterator[None]:
    """Show every warning of this package as one line on stderr, each text once."""
    seen: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if str(message) not in seen:
            seen.add(str(message))
            complain(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("always", ModelWarning)
        warnings.showwarning = show
        yield


def print_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    title: str | None = None,
) -> None:
    """Print an aligned table: with rules and bold headings on a terminal, plain text elsewhere.

    Parameters
    ----------
    headings, rows
        Texts; a row has one per heading. Columns of words are aligned to the left, numbers to the right.
    title
        Printed above.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    terminal = sys.stdout.isatty()
    table = Table(
        box=box.SIMPLE_HEAD if terminal else None,
        pad_edge=False,
        padding=(0, 1, 0, 0) if terminal else (0, 2, 0, 0),
    )
    for position, heading in enumerate(headings):
        words = position == 0 or any(row[position][:1].isalpha() and row[position] != "infinite" for row in rows)
        justify: Any = "left" if words else "right"
        table.add_column(Text(heading), justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    if title:
        print(title)
    if terminal:
        Console().print(table)
        return
    # Off a terminal nothing may be folded or padded: the text is for another program, or a file.
    buffer = io.StringIO()
    Console(file=buffer, width=100_000).print(table)
    print("\n".join(line.rstrip() for line in buffer.getvalue().splitlines()))


def print_sentences(title: str, sentences: Sequence[str]) -> None:
    """Print a heading and one sentence per line."""
    print(title)
    for sentence in sentences:
        print(f"  - {sentence}")
