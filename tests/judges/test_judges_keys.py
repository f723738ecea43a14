"""Keys are made of content: different things have different keys, equal things equal ones."""

import dataclasses
import pathlib

import numpy as np
import pytest

from mfbandit.judges.kept import content_key


@dataclasses.dataclass
class Question:
    text: str
    choices: tuple[str, ...] = ()


LONG = np.zeros(5000)
OTHER = LONG.copy()
OTHER[2500] = 1.0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (LONG, OTHER),
        (LONG, LONG.reshape(50, 100)),
        (LONG, LONG.astype(np.float32)),
        (Question("a"), Question("b")),
        (["ab", "c"], ["a", "bc"]),
        ([["a"], "b"], ["a", ["b"]]),
        ({"a": 1}, {"a": "1"}),
        ({"a": LONG}, {"a": OTHER}),
        ("1", 1),
        (1, 1.0),
        (1, True),
        (b"a", "a"),
        ((1, 2), [1, 2]),
        ({1}, [1]),
        (pathlib.PurePosixPath("a"), "a"),
        (np.array(["a", None], dtype=object), np.array(["a", "None"], dtype=object)),
        (None, "None"),
    ],
)
def test_different_things_have_different_keys(one, other):
    assert content_key("it", one) != content_key("it", other)


def test_equal_things_have_equal_keys():
    pairs = [
        (LONG, LONG.copy()),
        ({"a": 1, "b": [2]}, {"b": [2], "a": 1}),
        ({1, 2, 3}, {3, 2, 1}),
        (Question("a", ("x",)), Question("a", ("x",))),
        (np.float64(0.5), 0.5),
        (LONG[::2], LONG[:2500]),
    ]
    for one, other in pairs:
        assert content_key("it", one) == content_key("other", other)
    # The same in every process and every version of Python: such keys are in people's files.
    assert content_key("it", {"a": [1, 2.5, None, True]}, "x") == "2288dc945d221977c5397909ceaa94ff"
