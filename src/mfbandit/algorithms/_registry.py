"""The policies, one file each, and the registry that knows them by name.

To add one, write its file and one line in `REGISTRY`; the command line, the simulators, the studies,
the tests and the benchmarks pick it up from there.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from mfbandit.algorithms._elimination import Elimination
from mfbandit.algorithms._hyperband import Hyperband
from mfbandit.algorithms._iise import IISE
from mfbandit.algorithms._mf_commit import MFCommit
from mfbandit.algorithms._mf_ucb import MFUCB
from mfbandit.algorithms._policy import Policy
from mfbandit.algorithms._successive_halving import SuccessiveHalving
from mfbandit.algorithms.lucb._lucb import LUCB
from mfbandit.algorithms.mf_grad._mf_grad import MFGrad
from mfbandit.algorithms.mf_race._mf_race import MFRace
from mfbandit.algorithms.mf_toptwo._mf_toptwo import MFTopTwo
from mfbandit.errors import PolicyError
from mfbandit.model import Problem

__all__ = [
    "IISE",
    "LUCB",
    "MFUCB",
    "REGISTRY",
    "Elimination",
    "Entry",
    "Hyperband",
    "MFCommit",
    "MFGrad",
    "MFRace",
    "MFTopTwo",
    "Policy",
    "SuccessiveHalving",
    "default_policy",
    "policy",
    "read_policy",
]


@dataclasses.dataclass(frozen=True)
class Entry:
    """One line of the registry: the class, what the name presets, one line for people, an example."""

    kind: type[Policy]
    preset: Mapping[str, Any]
    summary: str
    example: str


REGISTRY: dict[str, Entry] = {
    "mf-toptwo": Entry(
        MFTopTwo,
        {},
        "The default: errors proven, cost near the limit in benchmarks, no prior knowledge (ours)",
        "mf-toptwo",
    ),
    "mf-race": Entry(
        MFRace,
        {},
        "The default for problems with blocks: race on shared questions, splits or seeds, errors proven (ours)",
        "mf-race",
    ),
    "lucb-a": Entry(
        LUCB,
        {"explore": "a"},
        "LUCB with Explore-A: the fidelity with the best optimistic gap per root cost (paper)",
        "lucb-a:top=0.95,second=0.75",
    ),
    "lucb-b": Entry(
        LUCB,
        {"explore": "b"},
        "LUCB with Explore-B: all fidelities until one is good enough, then that one (paper)",
        "lucb-b:top=0.95,second=0.75",
    ),
    "lucb-c": Entry(
        LUCB,
        {"explore": "c"},
        "LUCB with Explore-C: from the cheapest fidelity to the truest as biases bite (paper)",
        "lucb-c",
    ),
    "lucb-top": Entry(LUCB, {"explore": "top"}, "LUCB on the truest fidelity only", "lucb-top"),
    "lucb-a-stop": Entry(
        LUCB,
        {"explore": "a-stop"},
        "LUCB with Explore-A, repaired where the paper's need not stop (ours)",
        "lucb-a-stop:top=0.95,second=0.75",
    ),
    "lucb-b-stop": Entry(
        LUCB,
        {"explore": "b-stop"},
        "LUCB with Explore-B, repaired where the paper's need not stop (ours)",
        "lucb-b-stop:top=0.95,second=0.75",
    ),
    "mf-grad": Entry(
        MFGrad,
        {},
        "MF-GRAD of Poiani et al. 2024 (practical threshold unproven, theory proven for Gaussian rewards only; slow)",
        "mf-grad",
    ),
    "iise": Entry(
        IISE,
        {},
        "IISE of Poiani et al. 2022: elimination from the cheapest fidelity on (radius=practical is unproven)",
        "iise",
    ),
    "successive-halving": Entry(
        SuccessiveHalving,
        {},
        "Successive halving, fidelities as rungs; no guarantee (Jamieson and Talwalkar 2016)",
        "successive-halving:repeats=2",
    ),
    "hyperband": Entry(
        Hyperband, {}, "Hyperband, fidelities as rungs; no guarantee (Li et al. 2017)", "hyperband:repeats=2"
    ),
    "elimination": Entry(
        Elimination,
        {},
        "Elimination at the truest fidelity, then the cheapest (regret, paper)",
        "elimination",
    ),
    "mf-commit": Entry(
        MFCommit,
        {},
        "Buy knowledge while it is worth its price, then exploit cheaply (regret, ours)",
        "mf-commit",
    ),
    "mf-ucb": Entry(MFUCB, {}, "MF-UCB of Kandasamy et al. 2016 (regret)", "mf-ucb"),
    "ucb-top": Entry(MFUCB, {"truest": True}, "UCB on the truest fidelity only (regret)", "ucb-top"),
}


def default_policy(problem: Problem) -> str:
    """The policy that a problem gets when its user names none.

    Examples
    --------
    >>> default_policy(Problem(2, [("exact", 1.0)])), default_policy(Problem(2, [("exact", 1.0)], blocks=500))
    ('mf-toptwo', 'mf-race')
    """
    return "mf-toptwo" if problem.blocks is None else "mf-race"


def _convert(text: str, kind: Any, field: str) -> Any:
    """Read an option's text as what its field holds."""
    kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    readers: list[tuple[type, Callable[[str], Any]]] = [(int, int), (float, float)]
    for wanted, reader in readers:
        if wanted in kinds:
            try:
                return reader(text)
            except ValueError:
                continue
    if bool in kinds and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if str in kinds:
        return text
    rule = "True or False" if kinds == (bool,) else "a number"
    raise PolicyError(f"{field} must be {rule}, got {text!r}")


def _checked(value: Any, kind: Any, field: str) -> Any:
    """Refuse the value of an option that is not what its field holds."""
    kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    allowed = (*kinds, int) if float in kinds else kinds
    if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in kinds):
        names = " or ".join("none" if one is types.NoneType else one.__name__ for one in kinds)
        raise PolicyError(f"{field} must be {names}, got {value!r}")
    return value


#: The types of a policy's options; to make them of their texts takes as long as all the rest.
_types: Callable[[Any], dict[str, Any]] = functools.cache(typing.get_type_hints)


def _from_options(name: str, options: Mapping[str, Any]) -> Policy:
    if name not in REGISTRY:
        close = difflib.get_close_matches(name, REGISTRY, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise PolicyError(f"no policy is called {name!r}; {hint}the policies are {', '.join(REGISTRY)}")
    entry = REGISTRY[name]
    fields = [f.name for f in dataclasses.fields(entry.kind) if f.name not in entry.preset]
    for key in options:
        if key not in fields:
            raise PolicyError(f"{name} has no option {key!r}; its options are {', '.join(fields)}")
    hints = _types(entry.kind)
    read = {
        key: _convert(value, hints[key], key) if isinstance(value, str) else _checked(value, hints[key], key)
        for key, value in options.items()
    }
    return entry.kind(**entry.preset, **read)


def read_policy(what: str | Policy | Mapping[str, Any]) -> Policy:
    """Read a policy from its string form or its JSON object; a policy object is returned as it is.

    `mfbandit.policy` is the same function.

    Parameters
    ----------
    what : str, dict or Policy
        ``"name"``, ``"name:key=value,..."``, or an object with a ``name`` and options.

    Examples
    --------
    >>> import mfbandit as mf
    >>> mf.policy("mf-toptwo:batch=4")
    MFTopTwo(fidelities='all', batch=4, independent=False, evidence='auto')
    >>> mf.policy(mf.policy("lucb-c:batch=4").to_json()).label
    'lucb-c:batch=4'
    """
    if isinstance(what, Policy):
        return what
    if isinstance(what, Mapping):
        if "name" not in what:
            raise PolicyError(f"a policy object needs a 'name', got {dict(what)!r}")
        return _from_options(str(what["name"]), {k: v for k, v in what.items() if k != "name"})
    if not isinstance(what, str):
        raise PolicyError(f"a policy is a name, an object or a Policy, got {what!r}")
    name, _, rest = what.partition(":")
    options: dict[str, str] = {}
    for part in filter(None, (piece.strip() for piece in rest.split(","))):
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise PolicyError(f"options are written key=value, got {part!r} in {what!r}")
        if key.strip() in options:
            raise PolicyError(f"option {key.strip()!r} is given twice in {what!r}")
        options[key.strip()] = value.strip()
    return _from_options(name.strip(), options)


# The public name. Inside the library `policy` is what parameters and variables are called.
policy = read_policy
