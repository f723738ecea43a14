"""Keys made of what things are, not of how they print: equal content, equal key, in every process."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import fractions
import hashlib
import pathlib
import reprlib
import uuid
from collections.abc import Iterator, Mapping, Set
from typing import Any

import numpy as np

from mfbandit.errors import InvalidInput

__all__ = ["content_key"]

#: Things whose text says all there is to them.
_BY_TEXT = (
    datetime.date,
    datetime.time,
    datetime.timedelta,
    decimal.Decimal,
    fractions.Fraction,
    pathlib.PurePath,
    uuid.UUID,
)
#: Kinds of arrays whose bytes say all there is to them: numbers, texts of fixed width and times.
_PLAIN_KINDS = "biufcSUmM"
_DEEPEST = 100


def content_key(what: str, *values: Any) -> str:
    """A key of the content of values, or a refusal if one has no content that stays the same.

    Parameters
    ----------
    what
        What the values are, for the sentence of a refusal.
    values
        Texts, numbers, None, bytes, dates, paths, enum members, arrays, dataclasses, and lists, tuples,
        sets and mappings of these.

    Returns
    -------
    str
        32 hexadecimal digits.

    Examples
    --------
    >>> content_key("item 0", {"a": 1, "b": 2}) == content_key("item 1", {"b": 2, "a": 1})
    True
    >>> content_key("item 0", len)
    Traceback (most recent call last):
    mfbandit.errors.InvalidInput: item 0 is <built-in function len>, whose content cannot be told...
    """
    digest = hashlib.sha256()
    for value in values:
        for part in _parts(value, what, 0):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
    return digest.hexdigest()[:32]


def _parts(value: Any, what: str, depth: int) -> Iterator[bytes]:
    """What a value is made of; no two different values have the same parts."""
    if depth > _DEEPEST:
        raise InvalidInput(f"{what} is nested more than {_DEEPEST} deep, or holds itself")
    if isinstance(value, enum.Enum):
        yield from (b"enum", _type_name(value), value.name.encode())
    elif value is None or isinstance(value, bool | int | float | complex | str):
        yield from _plain(value)
    elif isinstance(value, bytes | bytearray):
        yield from (b"bytes", bytes(value))
    elif isinstance(value, _BY_TEXT):
        yield from (b"text of", _type_name(value), str(value).encode("utf-8", "surrogatepass"))
    elif isinstance(value, np.ndarray | np.generic) and not isinstance(value, np.ma.MaskedArray):
        yield from _array(np.asarray(value), what, depth)
    else:
        yield from _compound(value, what, depth)


def _plain(value: Any) -> Iterator[bytes]:
    """The parts of a text, a number or None."""
    if isinstance(value, str):
        yield from (b"str", str.__str__(value).encode("utf-8", "surrogatepass"))
        return
    # A NumPy number is a number: 0.5 is one key, whoever computed it.
    kinds: tuple[Any, ...] = (bool, int, float, complex)
    number = next((kind(value) for kind in kinds if isinstance(value, kind)), None)
    text = hex(number) if type(number) is int else repr(number)
    yield from (type(number).__name__.encode(), text.encode())


def _array(array: np.ndarray[Any, Any], what: str, depth: int) -> Iterator[bytes]:
    if array.dtype.kind in _PLAIN_KINDS:
        if array.ndim == 0 and array.dtype.kind in "biufc":
            yield from _plain(array.item())
            return
        yield from (b"array", array.dtype.str.encode(), repr(array.shape).encode(), array.tobytes())
        return
    yield from (b"array of", str(array.dtype).encode(), repr(array.shape).encode())
    for element in array.ravel().tolist():
        yield from _parts(element, what, depth + 1)


def _compound(value: Any, what: str, depth: int) -> Iterator[bytes]:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        yield from (b"dataclass", _type_name(value))
        yield from _parts(fields, what, depth + 1)
    elif isinstance(value, list | tuple):
        yield from (b"tuple" if isinstance(value, tuple) else b"list", str(len(value)).encode())
        for element in value:
            yield from _parts(element, what, depth + 1)
    elif isinstance(value, Mapping | Set):
        # Their order is no part of what they are.
        entries = list(value.items()) if isinstance(value, Mapping) else list(value)
        yield from (b"mapping" if isinstance(value, Mapping) else b"set", str(len(entries)).encode())
        yield from sorted(b"".join(_framed(_parts(entry, what, depth + 1))) for entry in entries)
    else:
        raise InvalidInput(
            f"{what} is {reprlib.repr(value)}, whose content cannot be told: a cache file keeps grades of texts, "
            "numbers, dates, paths, arrays, dataclasses, and lists, sets and mappings of these"
        )


def _framed(parts: Iterator[bytes]) -> Iterator[bytes]:
    for part in parts:
        yield len(part).to_bytes(8, "big")
        yield part


def _type_name(value: Any) -> bytes:
    return f"{type(value).__module__}.{type(value).__qualname__}".encode()
