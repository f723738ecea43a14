"""A digest of what decides in a study: another version of the code that may decide differently has another one.

It covers the text of every kernel that the policy reaches, in whichever file, the constants that they read, and
the policy's parameters. Comments, docstrings, annotations and layout are left out, and so is all that differs
between versions of Python, NumPy or the mathematics library.
"""

from __future__ import annotations

import ast
import hashlib
import linecache
import sys
import types
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mfbandit.confidence import alarm_kernel
from mfbandit.core import Algorithm, Arrays, NoBlocks, afford, arrays, lag_kernel, observe, parts
from mfbandit.errors import StudyError
from mfbandit.study._settings import Header, Settings
from mfbandit.study.state._bias_violations import widened
from mfbandit.study.state._planner import make_planner_for

__all__ = ["PolicyCode", "policy_digest", "text_digest"]

#: Shorter tables are not worth a note of their text.
_LONG_TABLE = 16

#: Parts of a syntax tree that decide nothing, or that only some versions of Python have.
_SILENT = frozenset({"annotation", "returns", "decorator_list", "type_comment", "type_params", "ctx", "kind"})


class _Text(NamedTuple):
    """What a function says, and the names that it mentions."""

    plain: bytes
    names: tuple[str, ...]


def policy_digest(settings: Settings) -> str:
    """The digest of everything that decides in a study with these settings.

    Examples
    --------
    >>> import mfbandit as mf
    >>> problem = mf.Problem(["a", "b"], [("exact", 1.0, 0.0)])
    >>> first, second = (policy_digest(Settings(problem, mf.policy(name))) for name in ("lucb-c", "iise"))
    >>> len(first), first == second
    (16, False)
    """
    full = arrays(settings.problem, settings.policy.columns(settings.problem))
    # Policies may have other kernels for few arms, and arms may be retired.
    arms = settings.problem.n_arms
    counts = sorted({min(2, arms), arms})
    planners = [make_planner_for(settings, full, list(range(count)), settings.problem) for count in counts]
    kernels: list[Callable[..., Any]] = [observe, afford]
    for planner in planners:
        algorithm = planner.algorithm
        kernels += [planner.text, algorithm.recommend]
        if planner.ahead and algorithm.ahead is not None:
            kernels += [lag_kernel(algorithm.ahead), algorithm.ahead.take_marked]
        if algorithm.take_in is not None:
            kernels.append(algorithm.take_in)
    if settings.on_violation != "ignore":
        # What goes off, and what is done about it.
        kernels += [alarm_kernel(full), widened]
    return text_digest(kernels, [_numbers(full, planner.algorithm) for planner in planners])


class PolicyCode:
    """Tells whether the code of a study's policy is the one that the study was made with."""

    def __init__(self, study: str, header: Header, allow_changed: bool) -> None:
        self._study, self._header = study, header
        self.allow_changed = allow_changed

    @property
    def digest(self) -> str | None:
        """The digest of the code that the study was made with; None if that is not known."""
        return self._header.digest

    @cached_property
    def changed(self) -> bool:
        """Whether it is another; False where it is not known what it was."""
        return self._header.digest is not None and self._header.digest != policy_digest(self._header.settings)

    def take_as_unchanged(self) -> None:
        """Spare reading the code again, by which the study has just been made."""
        self.changed = False

    @property
    def may_decide(self) -> bool:
        """Whether it may plan rounds of the study."""
        return self.allow_changed or not self.changed

    def check(self) -> None:
        """Refuse to go on with other code, unless that is allowed."""
        if not self.may_decide:
            raise StudyError(
                f"the code of policy {self._header.settings.policy.name!r} has changed since study {self._study!r} "
                "was made, and may decide differently: go on with the version of mfbandit that made it, "
                "or allow the change (allow_changed_policy=True, --allow-changed-policy)"
            )


def _numbers(problem: Arrays, algorithm: Algorithm) -> str:
    """What an algorithm is told beside the costs and biases, which the settings of a study say."""
    # A problem without blocks says nothing of them, as it did before there were any.
    silent = (np.ndarray, NoBlocks)
    scalars = {name: value for name, value in problem._asdict().items() if not isinstance(value, silent)}
    return f"{_constant(tuple(scalars.items()))} {_constant(algorithm.params)}"


def text_digest(kernels: Iterable[Callable[..., Any]], numbers: Iterable[str] = ()) -> str:
    """The digest of the text of kernels, of all that they call, and of some numbers.

    `mfbandit.core.digest` names machine code instead, and changes with all that may change that.
    """
    sha = hashlib.sha256()
    seen: set[int] = set()
    trees: dict[str, dict[tuple[str, int], ast.FunctionDef]] = {}

    def add(function: Any) -> None:
        if id(function) in seen:
            return
        seen.add(id(function))
        text = _text(function.__code__, trees)
        sha.update(text.plain)
        known, called = function.__globals__, None
        for name in text.names:
            value = known.get(name)
            if value is None:  # most are names of the function's own
                continue
            if isinstance(value, types.FunctionType):
                called = parts(function) if called is None else called
                if name in called:
                    sha.update(name.encode())
                    add(value)
            elif isinstance(value, (bool, int, float, str, tuple, np.ndarray)):
                sha.update(f"{name}={_constant_of_module(value)}".encode())

    for function in kernels:
        add(function)
    for number in numbers:
        sha.update(number.encode())
    return sha.hexdigest()[:16]


#: Texts by the code that was made of them.
_texts: dict[types.CodeType, _Text] = {}


def _text(code: types.CodeType, trees: dict[str, dict[tuple[str, int], ast.FunctionDef]]) -> _Text:
    """The text of a function; `trees` keeps the functions of every file that was read."""
    if code not in _texts:
        if code.co_filename not in trees:
            trees[code.co_filename] = _functions(code.co_filename)
        tree = trees[code.co_filename].get((code.co_name, code.co_firstlineno))
        if tree is None:
            # There is no file, or no longer the one that was imported.
            _texts[code] = _Text(
                f"{sys.version_info[:2]} {code.co_code.hex()} {code.co_consts!r}".encode(), code.co_names
            )
        else:
            mentioned = (node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
            _texts[code] = _Text(_plain(tree).encode(), tuple(dict.fromkeys(mentioned)))
    return _texts[code]


def _functions(path: str) -> dict[tuple[str, int], ast.FunctionDef]:
    """The functions of a file, by name and first line, decorators included."""
    linecache.checkcache(path)
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except SyntaxError:
        return {}
    found: dict[tuple[str, int], ast.FunctionDef] = {}
    statements: list[ast.stmt] = list(tree.body)
    for node in statements:
        # Those of functions and classes come behind; expressions hold no definitions.
        statements += getattr(node, "body", [])
        if isinstance(node, ast.FunctionDef):
            first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            found[node.name, first] = node
    return found


def _plain(node: Any) -> str:
    """A syntax tree as text, without what decides nothing."""
    if isinstance(node, ast.AST):
        fields = ((name, getattr(node, name, None)) for name in node._fields if name not in _SILENT)
        inner = ",".join(f"{name}={_plain(value)}" for name, value in fields if value is not None and value != [])
        return f"{type(node).__name__}({inner})"
    if isinstance(node, list):
        return f"[{','.join(_plain(one) for one in node if not _is_remark(one))}]"
    return repr(node)


def _is_remark(node: Any) -> bool:
    """Whether a statement is a text alone, such as a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


#: Tables of modules, which are tuples of numbers, and their texts.
_tables: dict[int, tuple[tuple[Any, ...], str]] = {}


def _constant_of_module(value: Any) -> str:
    """The text of a constant; that of a long table, which nothing can change, is made once."""
    if type(value) is not tuple or len(value) < _LONG_TABLE:
        return _constant(value)
    table, text = _tables.get(id(value), (None, ""))
    if table is not value:
        text = _constant(value)
        if all(isinstance(one, (bool, int, float, str)) for one in value):
            _tables[id(value)] = value, text
    return text


def _constant(value: Any) -> str:
    """A number, or a tuple of them, as text; what machines may compute differently in the last place is equal."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (tuple, list)):
        names = getattr(value, "_fields", None) or range(len(value))
        return f"({','.join(f'{name}:{_constant(one)}' for name, one in zip(names, value, strict=True))})"
    if isinstance(value, float):
        return f"{value:.12g}"
    return repr(value) if isinstance(value, (bool, int, str, type(None))) else type(value).__name__
