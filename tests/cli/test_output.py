import math
import warnings

import numpy as np
import pytest

from mfbandit.cli._output import clean, one_line_warnings, print_table
from mfbandit.errors import ModelWarning
from mfbandit.formatting import amount


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1234.5, "1,234"),
        (0.0123449, "0.01234"),
        (math.nan, "-"),
        (-math.inf, "-infinite"),
        (999.96, "1000"),
    ],
)
def test_amounts(value, text):
    assert amount(value) == text


def test_what_json_cannot_say_is_null():
    assert clean({"a": (np.float64("nan"), np.bool_(True)), "b": [math.inf]}) == {
        "a": [None, True],
        "b": [None],
    }


def test_a_piped_table_is_plain_and_never_folded(capsys):
    print_table(("policy", "cost"), [("x" * 300, "1"), ("y", "1,000")])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1].endswith("      1")
    assert all(line.isascii() and line == line.rstrip() for line in lines)


def test_markup_in_names_is_text(capsys):
    print_table(("name",), [("[bold]x[/bold]",)])
    assert "[bold]x[/bold]" in capsys.readouterr().out


def test_a_warning_is_shown_once(capsys):
    with one_line_warnings():
        for _ in range(2):
            warnings.warn("two\nlines", ModelWarning, stacklevel=1)
    assert capsys.readouterr().err == "mfbandit: warning: two lines\n"
