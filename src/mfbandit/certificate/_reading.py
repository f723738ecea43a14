"""Reading what a certificate says was measured, strictly."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mfbandit.algorithms import Policy, read_policy
from mfbandit.certificate._document import FORMAT, STATISTICS, VERSION, WEIGHED, Certificate, EvidenceEntry
from mfbandit.certificate._statistics import ACTIVE, ALL, read_count, read_number, read_side
from mfbandit.confidence.pair import MOST_LEADERS, NEWEST
from mfbandit.core import Goal
from mfbandit.errors import InvalidInput
from mfbandit.model import Problem

__all__ = ["check_parts", "read_certificate", "read_digest", "read_mapping"]


def check_parts(found: Mapping[str, Any], version: int, keys: Iterable[str]) -> None:
    """Refuse another version, and what lacks a part."""
    stated = found.get("version")
    if stated != version or isinstance(stated, bool):
        raise InvalidInput(f"its version is {stated!r}; version {version} can be checked")
    for key in keys:
        if key not in found:
            raise InvalidInput(f"{key!r} is missing")


def read_certificate(found: Mapping[str, Any]) -> Certificate:
    """Read what was measured, strictly; what follows from it is left aside."""
    if not isinstance(found, Mapping) or found.get("format") != FORMAT:
        raise InvalidInput(f"it has no format {FORMAT!r}")
    check_parts(found, WEIGHED if "weights" in found else VERSION, _KEYS)
    problem = Problem.from_json(read_mapping(found["problem"], "problem"))
    policy = read_policy(read_mapping(found["policy"], "policy"))
    delta, epsilon = read_number(found["delta"], "delta"), read_number(found["epsilon"], "epsilon")
    policy.check(problem, Goal(delta, epsilon, 1.0 if policy.spends else math.inf))
    retired = read_mapping(found["retired"], "retired")
    if not all(isinstance(reason, str) and arm in problem.arms for arm, reason in retired.items()):
        raise InvalidInput("retired must name arms of the problem, each with a reason")
    arms = [arm for arm in problem.arms if arm not in retired]
    names = [fidelity.name for fidelity in problem.fidelities]
    widened = {
        name: read_number(more, "what a bias bound was widened by")
        for name, more in read_mapping(found["widened"], "widened").items()
    }
    if not set(widened) <= set(names) - {names[problem.truest]} or not all(more > 0 for more in widened.values()):
        raise InvalidInput("widened must hold numbers > 0, by the names of biased fidelities")
    used = len(policy.columns(problem))
    statistics = read_mapping(found["statistics"], "statistics")
    if set(statistics) != set(arms):
        raise InvalidInput("statistics must be those of the arms that are not retired, no more and no fewer")
    answer = found["answer"]
    if answer is not None and answer not in arms:
        raise InvalidInput(f"the answer {answer!r} is none of the arms")
    certificate = Certificate(
        problem=problem,
        policy=policy,
        delta=delta,
        epsilon=epsilon,
        answer=answer,
        statistics={
            arm: read_side(statistics[arm], STATISTICS, used, f"the statistics of arm {arm!r}") for arm in arms
        },
        evidence=tuple(_entries(found["evidence"], arms, answer, used)),
        retired=dict(retired),
        retired_pulls=read_count(found["retired_pulls"], "retired_pulls"),
        retired_cost=read_number(found["retired_cost"], "retired_cost"),
        widened=widened,
        log=read_digest(found["log"]),
        paid=read_paid(found),
        # Studies of older versions, and those that began with an epsilon, have declared no leaders.
        pairs_only=found.get("kind") == "pairs",
        weights=_read_weights(found, policy),
    )
    if certificate.retired_cost < 0 or (not retired and (certificate.retired_pulls or certificate.retired_cost)):
        raise InvalidInput("retired_pulls and retired_cost must be what arms that were retired had cost")
    return certificate


_KEYS = (
    "problem",
    "policy",
    "delta",
    "epsilon",
    "answer",
    "retired",
    "retired_pulls",
    "retired_cost",
    "widened",
    "statistics",
    "evidence",
    "log",
)


def _read_weights(found: Mapping[str, Any], policy: Policy) -> int:
    """The number of the weights of the evidence; older certificates, and those of other evidence, do not say it."""
    if "weights" not in found:
        return 1
    number = read_count(found["weights"], "weights")
    if number < 2 or not policy.weighs_pairs:
        raise InvalidInput(f"weights must be named by a number from 2 on, and only for evidence of pairs, not {number}")
    if number > NEWEST:
        raise InvalidInput(f"weights {number} are not known to this mfbandit, which is older than the certificate")
    return number


def read_paid(found: Mapping[str, Any]) -> float | None:
    """What results really cost, where the file says so."""
    paid = read_number(found["paid"], "paid") if "paid" in found else None
    if paid is not None and not 0.0 <= paid < math.inf:
        raise InvalidInput(f"paid must be a finite number >= 0, not {paid!r}")
    return paid


def read_digest(value: Any) -> str | None:
    if value is None or (isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value)):
        return value
    raise InvalidInput(f"log must be a SHA-256 in hexadecimal digits, not {value!r}")


def read_mapping(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{what} must be an object, not {value!r}")
    return value


def _leaders(found: Any, arms: list[str], beaten: str, fidelities: int) -> Iterator[tuple[str, dict[str, list[Any]]]]:
    """Read what leaders have shown: each arm once, and not the one that is beaten."""
    if not isinstance(found, list) or len(found) > MOST_LEADERS:
        raise InvalidInput(f"leaders in the entry of arm {beaten!r} must be a list of at most {MOST_LEADERS}")
    known: set[str] = set()
    for one in found:
        leader = read_mapping(one, "a leader").get("arm")
        if leader not in arms or leader == beaten or leader in known:
            raise InvalidInput(f"leaders in the entry of arm {beaten!r} must be other arms, each once, not {leader!r}")
        known.add(leader)
        rest = {part: values for part, values in one.items() if part != "arm"}
        yield leader, read_side(rest, ALL, fidelities, f"leader {leader!r} in the entry of arm {beaten!r}")


def _entries(found: Any, arms: list[str], answer: str | None, fidelities: int) -> Iterator[EvidenceEntry]:
    """Read the evidence: one entry per arm but the answer, in the order of the arms."""
    if not isinstance(found, list):
        raise InvalidInput("evidence must be a list")
    expected = [] if answer is None else [arm for arm in arms if arm != answer]
    if [read_mapping(one, "an entry of evidence").get("arm") for one in found] != expected:
        raise InvalidInput("evidence must have one entry for every arm but the answer, in their order")
    for one in found:
        arm, by = one["arm"], one.get("by")
        if by not in arms or by == arm:
            raise InvalidInput(f"arm {arm!r} must be beaten by another arm, not by {by!r}")
        sides: dict[str, Any] = {}
        if set(one) != {"arm", "by", "evidence"}:
            if set(one) - {"leaders"} != {"arm", "by", "evidence", "winner", "loser"}:
                raise InvalidInput(f"the entry of arm {arm!r} must hold arm, by, evidence, and winner and loser")
            if "leaders" in one:
                sides["leaders"] = tuple(_leaders(one["leaders"], arms, arm, fidelities))
            for side in ("winner", "loser"):
                what = f"the statistics of the {side} over arm {arm!r}"
                sides[side] = read_side(one[side], (*ALL, *ACTIVE), fidelities, what)
        value = read_number(one["evidence"], f"the evidence against arm {arm!r}")
        yield EvidenceEntry(arm, by, value, **sides)
