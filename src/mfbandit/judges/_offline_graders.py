"""Stand-in graders that need no network: for examples, tests and dry runs before money is spent."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from mfbandit.errors import InvalidInput
from mfbandit.judges._graders import Grader

__all__ = ["stand_in_graders"]


def stand_in_graders(
    quality: Mapping[str, float], *, agreement: tuple[float, float] = (0.9, 0.96), seed: int = 0
) -> list[Grader]:
    """A small judge, a large judge and people, who like answers with given probabilities.

    Whether people like an answer is a function of the answer, the item and the seed. Each judge says the
    same with the probability of its agreement, and the opposite otherwise, so its bias is at most one minus
    that.

    Parameters
    ----------
    quality
        The share of items on which people like the answer of each candidate, by its text.
    agreement
        How often the small and the large judge agree with people.
    seed
        Another seed, other people.

    Returns
    -------
    list of Grader
        For candidates whose answers are the keys of `quality`.

    Examples
    --------
    >>> small, large, people = stand_in_graders({"be brief": 0.8, "be kind": 0.4})
    >>> small.bias, people.bias, people.grade("be brief", "an item") in (0.0, 1.0)
    (0.1, 0.0, True)
    """
    for name, share in quality.items():
        if not 0.0 <= share <= 1.0:
            raise InvalidInput(f"the quality of {name!r} is {share}; it must lie between 0 and 1")

    def liked(answer: str, item: str) -> float:
        return float(_uniform("people", seed, answer, item) < quality[answer])

    def judge(name: str, agrees: float) -> Grader:
        def grade(answer: str, item: str) -> float:
            says = liked(answer, item)
            return says if _uniform(name, seed, answer, item) < agrees else 1.0 - says

        price = 0.0002 if name == "small judge" else 0.01
        return Grader(name, grade, price=price, bias=round(1.0 - agrees, 9))

    return [
        judge("small judge", agreement[0]),
        judge("large judge", agreement[1]),
        Grader("people", liked, price=0.3),
    ]


def _uniform(*parts: object) -> float:
    """A number in [0, 1) that depends on all parts."""
    text = "\0".join(map(str, parts)).encode("utf-8", "replace")
    return int.from_bytes(hashlib.sha256(text).digest()[:7], "big") / 2**56
