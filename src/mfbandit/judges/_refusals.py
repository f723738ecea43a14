"""What is refused before anything is paid for: graders without a truth, wrong functions, studies begun otherwise."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from mfbandit._checks import is_number
from mfbandit.errors import InvalidInput, MfbanditError, ModelWarning, StudyError
from mfbandit.judges._graders import Grader, Preference
from mfbandit.judges._true_grades import with_words
from mfbandit.judges.kept import content_key
from mfbandit.model import Problem
from mfbandit.study import create_study, load_study
from mfbandit.study.api import DEFAULT_NAME

__all__ = ["check_begun", "check_function", "check_graders", "check_settings", "warn_of_no_cache", "with_texts"]

_RATER = "the number of the rater"

#: How a truth tells the content of candidates whose names are others.
_CONTENT = "; candidates of content "


def check_graders(graders: Mapping[str, Grader]) -> None:
    """Refuse graders of which not exactly one is the truth, or whose functions cannot take what they will be given."""
    if not graders:
        raise InvalidInput("graders are empty; give at least one, of bias 0, which is the truth")
    biases = {name: one.bias for name, one in graders.items()}
    if all(is_number(bias) and bias > 0.0 for bias in biases.values()):
        nearest = min(biases, key=lambda name: biases[name])
        raise InvalidInput(
            f"no grader has bias 0, so none is the truth; the nearest is {nearest!r} with bias {biases[nearest]:g}"
        )
    unbiased = [name for name, bias in biases.items() if is_number(bias) and bias == 0.0]
    if len(unbiased) > 1:
        # Whoever forgets a bias would have the cheapest of them taken for the truth.
        both = "both" if len(unbiased) == 2 else "all"
        raise InvalidInput(
            f"{' and '.join(map(repr, unbiased))} {both} have bias 0, so each would be the truth: say bias= for all "
            "but the one that is"
        )
    for name, one in graders.items():
        rater = [] if one.raters == 1 else [_RATER]
        shown = ["the first answer", "the second answer"] if isinstance(one, Preference) else ["an answer"]
        if one.grade is not None:
            taken = [*shown, "a label"] if one.label is not None else [*shown, "an item", *rater]
            check_function(one.grade, f"grade of {name!r}", taken)
        if one.label is not None:
            check_function(one.label, f"label of {name!r}", ["an item", *rater])


def check_function(function: Callable[..., Any], what: str, taken: list[str]) -> None:
    """Refuse a function that cannot take these arguments; `taken` says in words what each of them is.

    Examples
    --------
    >>> check_function(lambda answer: 1.0, "grade of 'exact'", ["an answer", "an item"])
    Traceback (most recent call last):
    mfbandit.errors.InvalidInput: grade of 'exact' must be a function of an answer and an item, in this order: too
    many positional arguments
    """
    words = " and ".join([", ".join(taken[:-1]), taken[-1]] if len(taken) > 1 else taken)
    if not callable(function):
        raise InvalidInput(f"{what} must be a function of {words}, got {function!r}")
    try:
        expected = inspect.signature(function)
    except (TypeError, ValueError):  # some functions that are written in C do not say
        return
    try:
        expected.bind(*taken)
    except TypeError as failure:
        order = ", in this order" if len(taken) > 1 else ""
        raise InvalidInput(f"{what} must be a function of {words}{order}: {failure}") from None


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse what neither a study nor a run can be told.

    Examples
    --------
    >>> check_settings({"confidence": 0.95})
    Traceback (most recent call last):
    mfbandit.errors.InvalidInput: a study has no setting 'confidence': say delta=0.05 for a confidence of 95%
    """
    known = inspect.signature(create_study).parameters
    for name in settings:
        if name not in known:
            hint = ": say delta=0.05 for a confidence of 95%" if name == "confidence" else ""
            raise InvalidInput(f"a study has no setting {name!r}{hint}")


def check_begun(storage: Any, name: str | None, plain: Problem, sparing: Problem, spares: bool) -> bool:
    """Whether there is such a study; refuses to go on otherwise than it was begun.

    Parameters
    ----------
    storage, name
        Where the study is, and what it is called.
    plain, sparing
        The problem in which every answer is graded, and the one in which those that are equal are not.
    spares
        Which of the two is meant now.
    """
    called = DEFAULT_NAME if name is None else name
    try:
        study = load_study(storage, called)
    except MfbanditError:
        return False  # there is none, or whoever goes on with it is told why not
    with study:
        truth = study.made_with.problem.truth
    if spares and truth == plain.truth:
        raise StudyError(
            f"study {called!r} was begun without a cache (or with same=None), so every answer is graded in it: leave "
            "cache= out, or begin a new study (name=)"
        )
    if not spares and truth == sparing.truth:
        raise StudyError(
            f"study {called!r} was begun with a cache, which keeps the answers that it has compared: give the same "
            "cache= and same= again, or begin a new study (name=)"
        )
    return True


def with_texts(problem: Problem, candidates: Mapping[str, Any], storage: Any, name: str | None) -> Problem:
    """The problem of a stored study, whose truth tells what its candidates' names stand for.

    Refuses to go on with others under the same names: what they have been graded for would count for these. A study of
    an older version, which does not tell, goes on as it is; so does one of candidates without content, such as models.
    """
    named = {arm: candidates[arm] for arm in problem.arms}
    texts = {arm: value for arm, value in named.items() if not (isinstance(value, str) and value == arm)}
    try:
        key = content_key("candidate", texts)[:8]
    except InvalidInput:
        return problem
    try:
        with load_study(storage, DEFAULT_NAME if name is None else name) as study:
            begun = study.made_with.problem
    except MfbanditError:
        begun = None
    told = "" if begun is None else begun.truth or ""
    if not texts or (begun is not None and _CONTENT not in told):
        return problem
    if begun is not None and begun.arms == problem.arms and f"{_CONTENT}{key}" not in told:
        raise StudyError(
            f"study {name or DEFAULT_NAME!r} was begun with other candidates under the same names: give a changed one "
            "a new name, or begin a new study (name=)"
        )
    return with_words(problem, f"{problem.truth}{_CONTENT}{key}")


def warn_of_no_cache() -> None:
    """Say what a stored study without a cache costs."""
    warnings.warn(
        "a stored study without cache= has every answer graded: give Judging a file, cache='answers.jsonl', to pay for "
        "equal answers once",
        ModelWarning,
        stacklevel=4,
    )
