"""Turning what a user passed into names, numbers and arrays, or refusing it in one sentence."""

from __future__ import annotations

import difflib
import math
import numbers
import reprlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mfbandit.errors import InvalidInput, MfbanditError

__all__ = [
    "FloatArray",
    "Names",
    "Numbers",
    "as_list",
    "as_name",
    "as_names",
    "as_numbers",
    "as_positive",
    "check_distinct",
    "check_keys",
    "closest",
    "fraction",
    "frozen",
    "given_once",
    "is_number",
    "is_whole",
    "one_of",
    "positive_number",
    "whole_number",
]

FloatArray: TypeAlias = NDArray[np.float64]
Numbers: TypeAlias = ArrayLike | Iterable[Any]
"""Anything array-like: a number, lists, tuples, generators, arrays, data frames."""
Names: TypeAlias = Iterable[str | float]
"""Names in a fixed order; numbers are taken by their decimal form."""

# costs[k][m][i] of a table is the deepest thing anybody passes.
_DEEPEST = 4


def as_numbers(value: object, what: str, error: type[InvalidInput], rows: Sequence[str] | None = None) -> FloatArray:
    """Return an array-like as a new float array of any shape.

    Parameters
    ----------
    value
        A number, nested sequences or iterators of numbers, or anything that NumPy converts.
    what
        The name of the value in messages.
    error
        The class to raise.
    rows
        Names of the arms that the rows stand for, for messages.

    Returns
    -------
    numpy.ndarray
        Values may still be NaN or infinite: only the caller can name the cell.

    Examples
    --------
    >>> as_numbers((n / 2 for n in range(3)), "costs", InvalidInput)
    array([0. , 0.5, 1. ])
    >>> as_numbers([1, "two"], "costs", InvalidInput)
    Traceback (most recent call last):
    mfbandit.errors.InvalidInput: costs must hold numbers only, got 'two'
    """
    nested = _unrolled(value, what, error, _DEEPEST)
    try:
        array = np.asarray(nested)
    except (ValueError, TypeError, RuntimeError) as failure:
        if isinstance(nested, list) and isinstance(failure, ValueError):
            raise error(_ragged(nested, what, rows)) from None
        raise error(f"{what} cannot be read as numbers: {failure}") from failure
    if array.dtype.kind == "O":
        return _from_objects(array, what, error)
    if array.dtype.kind not in "iuf":
        raise error(_not_numbers(array.ravel()[:1].tolist(), what))
    return np.array(array, dtype=np.float64) + 0.0  # turns -0.0 into 0.0


def _unrolled(value: Any, what: str, error: type[InvalidInput], depth: int) -> Any:
    """Turn iterators into lists, and refuse the leaves NumPy would silently convert."""
    if isinstance(value, np.ma.MaskedArray):
        return np.where(np.ma.getmaskarray(value), np.nan, np.ma.getdata(value))
    if value is None or isinstance(value, str | bytes | bool | Mapping | set | frozenset):
        raise error(_not_numbers([value], what))
    if hasattr(value, "__array__") or not isinstance(value, Iterable):
        return value
    if depth == 0:
        raise error(f"{what} must hold numbers, got sequences nested {_DEEPEST} levels deep")
    return [_unrolled(part, what, error, depth - 1) for part in value]


def _from_objects(array: NDArray[Any], what: str, error: type[InvalidInput]) -> FloatArray:
    """Convert element by element (fractions, decimals, columns of mixed type)."""
    result = np.empty(array.shape, dtype=np.float64)
    for index, element in np.ndenumerate(array):
        try:
            if isinstance(element, str | bytes | bool | np.bool_):
                raise TypeError
            result[index] = float(element)
        except (TypeError, ValueError, OverflowError):
            raise error(_not_numbers([element], what)) from None
    return result + 0.0


def _not_numbers(found: list[Any], what: str) -> str:
    shown = reprlib.repr(found[0]) if found else "an array of another type"
    return f"{what} must hold numbers only, got {shown}"


def _ragged(nested: Any, what: str, rows: Sequence[str] | None) -> str:
    """Say which row has another length than the first."""
    sizes = [np.shape(row)[0] if np.ndim(row) == 1 else None for row in map(_flat_row, nested)]
    for index, size in enumerate(sizes):
        if size != sizes[0]:
            name = f" (arm {rows[index]!r})" if rows and index < len(rows) else ""
            first = _count(sizes[0])
            return f"{what} is ragged: row {index}{name} holds {_count(size)}, row 0 {first}"
    return f"{what} is ragged: its parts have different lengths"


def _flat_row(row: Any) -> Any:
    """Keep only the length of a row, whose own parts may be ragged too."""
    return [0.0] * len(row) if isinstance(row, list) else row


def _count(size: int | None) -> str:
    return "a single value" if size is None else f"{size} value{'' if size == 1 else 's'}"


def as_positive(value: object, what: str, error: type[InvalidInput]) -> float:
    """Return a positive finite number as a float.

    Examples
    --------
    >>> as_positive(2, "sigma", InvalidInput)
    2.0
    """
    array = as_numbers(value, what, error)
    if array.ndim:
        raise error(f"{what} must be one number, got {array.size} of them")
    number = float(array)
    if not (math.isfinite(number) and number > 0):
        raise error(f"{what} is {number}; it must be a positive finite number")
    return number


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is one real number; True and False are none."""
    return isinstance(value, (int, float, numbers.Real)) and not isinstance(value, bool)


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number; True and False are none."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def whole_number(name: str, value: object, least: int, error: type[MfbanditError] = InvalidInput) -> int:
    """Return a whole number that is not too small.

    Examples
    --------
    >>> whole_number("retries", 2.5, 0)
    Traceback (most recent call last):
    mfbandit.errors.InvalidInput: retries must be a whole number >= 0, got 2.5
    """
    if not is_whole(value) or not value >= least:
        raise error(f"{name} must be a whole number >= {least}, got {value!r}")
    if value >= 2**63:
        raise error(f"{name} must be below 2^63, got {value!r}")
    return int(value)


def positive_number(name: str, value: object, error: type[MfbanditError] = InvalidInput) -> float:
    """Return a number above 0, which may be infinite."""
    if not is_number(value) or not value > 0:
        raise error(f"{name} must be a number > 0, got {value!r}")
    return float(value)


def fraction(name: str, value: object, error: type[MfbanditError] = InvalidInput) -> float:
    """Return a number strictly between 0 and 1.

    Examples
    --------
    >>> fraction("delta", 0.05)
    0.05
    """
    if not is_number(value) or not 0 < value < 1:
        raise error(f"{name} must lie strictly between 0 and 1, got {value!r}")
    return float(value)


def one_of(name: str, value: object, allowed: Iterable[str], error: type[MfbanditError] = InvalidInput) -> None:
    """Refuse a value that is not among the allowed ones."""
    known = list(allowed)
    if value not in known:
        raise error(f"{name} must be one of {', '.join(known)}, got {value!r}")


def as_list(values: object, rule: str, error: type[InvalidInput]) -> list[Any]:
    """Return the elements of anything that holds them in a fixed order.

    Examples
    --------
    >>> as_list("abc", "arms must be a list of names", InvalidInput)
    Traceback (most recent call last):
    mfbandit.errors.InvalidInput: arms must be a list of names, got 'abc'
    """
    ordered = not isinstance(values, str | bytes | Mapping | set | frozenset)
    if ordered and isinstance(values, Iterable) and getattr(values, "ndim", 1) > 0:
        return list(values)
    raise error(f"{rule}, got {reprlib.repr(values)}")


def as_name(value: object, what: str, error: type[InvalidInput]) -> str:
    """Return a name as a plain string; a number is taken by its decimal form.

    Examples
    --------
    >>> as_name(7, "the name of an arm", InvalidInput)
    '7'
    """
    if isinstance(value, str):
        name = str.__str__(value)
    elif isinstance(value, numbers.Number) and not isinstance(value, bool | complex):
        name = str(value)
        if not math.isfinite(float(name)):
            raise error(f"{what} is {name}; a name must be a text or a finite number")
    else:
        raise error(f"{what} is {reprlib.repr(value)}; a name must be a text or a number")
    if not name.strip():
        raise error(f"{what} is {name!r}; a name must not be empty")
    return name


def as_names(values: object, what: str, error: type[InvalidInput]) -> tuple[str, ...]:
    """Return distinct names as a tuple; `what` is their plural, such as "arms".

    Examples
    --------
    >>> as_names(["a", 2], "arms", InvalidInput)
    ('a', '2')
    >>> as_names(["a", "a"], "arms", InvalidInput)
    Traceback (most recent call last):
    mfbandit.errors.InvalidInput: the name 'a' occurs twice among the arms; names must differ
    """
    keys = list(values) if isinstance(values, Mapping) else values
    names = tuple(
        as_name(value, f"the name at position {position} of the {what}", error)
        for position, value in enumerate(as_list(keys, f"{what} must be a list of names", error))
    )
    check_distinct(names, what, error)
    return names


def check_distinct(names: Sequence[str], what: str, error: type[InvalidInput]) -> None:
    """Refuse names of which two are equal."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise error(f"the name {name!r} occurs twice among the {what}; names must differ")
        seen.add(name)


def check_keys(
    data: object,
    required: Collection[str],
    optional: Collection[str],
    what: str,
    error: type[InvalidInput],
) -> dict[str, Any]:
    """Return a mapping as a dict after checking that it has the keys it must have and no others.

    Examples
    --------
    >>> check_keys({"cots": 1}, ["name"], ["cost"], "a fidelity", InvalidInput)
    Traceback (most recent call last):
    mfbandit.errors.InvalidInput: a fidelity has the unknown key 'cots'; did you mean 'cost'?
    """
    if not isinstance(data, Mapping):
        raise error(f"{what} must be a mapping of keys to values, got {reprlib.repr(data)}")
    allowed = [*required, *optional]
    for key in data:
        if key not in allowed:
            hint = closest(str(key), allowed) or f"; its keys are {', '.join(allowed)}"
            raise error(f"{what} has the unknown key {key!r}{hint}")
    missing = [repr(key) for key in required if key not in data]
    if missing:
        raise error(f"{what} lacks the key{'s'[: len(missing) > 1]} {', '.join(missing)}")
    return dict(data)


def closest(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the known word nearest to this one, or nothing.

    Examples
    --------
    >>> closest("figure-1", ["figure-1a", "judges"])
    "; did you mean 'figure-1a'?"
    """
    near = difflib.get_close_matches(word, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def frozen(array: FloatArray) -> FloatArray:
    """Return the array itself, made read-only."""
    array.flags.writeable = False
    return array


def given_once(option: str, found: Any, kind: type, keywords: dict[str, Any]) -> dict[str, Any]:
    """What an option object or the keywords for the same say; both at once are refused.

    Parameters
    ----------
    option : str
        The name under which the object is passed.
    found : object or None
        The object.
    kind : type
        Its class.
    keywords : dict
        By field of the class: the name of the keyword, and its value, whose default is that of the field.
    """
    values = {field: value for field, (_, value) in keywords.items()}
    if found is None:
        return values
    if not isinstance(found, kind):
        raise InvalidInput(f"{option} must be a {kind.__name__}, got {found!r}")
    for field, (keyword, value) in keywords.items():
        if value != getattr(kind, field):
            raise InvalidInput(
                f"{option} and {keyword} are both given, {keyword}={value!r}: "
                f"pass {option}={kind.__name__}({field}={value!r}) alone"
            )
    return {field: getattr(found, field) for field in keywords}
