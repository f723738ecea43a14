"""Checking a certificate from its own numbers alone.

Nothing in the file is believed. What was measured is read strictly; statistics must be possible, also from one
moment to the next; every victory is proven again. Everything else in the file follows from that: it is
made anew and must be the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import partial
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from mfbandit.certificate._document import STATISTICS, Certificate, EvidenceEntry
from mfbandit.certificate._race_verify import verify_race
from mfbandit.certificate._reading import read_certificate
from mfbandit.certificate._statistics import ACTIVE, ALL, Numbers, later_fault, part_fault, stream_fault
from mfbandit.certificate._verdict import Verdict, differences
from mfbandit.confidence import arm_evidence, is_proven
from mfbandit.confidence.pair import evidence_of_record, proves
from mfbandit.core import GAUSSIAN
from mfbandit.errors import MfbanditError, MissingExtra

__all__ = ["verify"]

#: By how much evidence that is computed anew may differ.
_CLOSE = 1e-6
#: Up to so many victories are proven without compiling anything.
_FEW = 100
#: Evidence that did not reach the threshold is found by a search that is tight to about this.
_SEARCHED = 0.05


def verify(found: Mapping[str, Any]) -> Verdict:
    """Check a certificate from its own numbers alone.

    A valid one promises to somebody who does not trust its maker: *if* the rewards that were observed have
    these statistics, and the stated assumptions hold, the claim is wrong with probability at most delta. That
    the rewards are not invented only the study can show: see `verify_with_study`.

    Parameters
    ----------
    found : mapping
        `Result.certificate`, or what `load_certificate` read.

    Returns
    -------
    Verdict
        Its `claim` is made anew from the numbers; no sentence of the file is repeated.

    Examples
    --------
    >>> import mfbandit as mf
    >>> from mfbandit.study import create_study
    >>> study = create_study(mf.Problem(["a", "b"], [("exact", 1.0, 0.0)], reward="bernoulli"), delta=0.1)
    >>> while not study.done:
    ...     for pull in study.ask():
    ...         _ = study.tell(pull, 1.0 if pull.arm == "b" else 0.0)
    >>> verify(study.result().certificate).valid
    True
    """
    try:
        # Numbers that are far out overflow; what comes of that passes no comparison.
        with np.errstate(all="ignore"):
            if isinstance(found, Mapping) and found.get("kind") == "blocks":
                return verify_race(found)
            certificate = read_certificate(found)
            # From cheap to expensive: proofs come last.
            checks = (_impossible, _out_of_order, partial(differences, found), _unproven, _unbeaten)
            reasons = next(filter(None, (tuple(check(certificate)) for check in checks)), ())
            return Verdict(not reasons, certificate.claim, reasons, certificate.fingerprint)
    except MissingExtra:
        raise
    except (MfbanditError, OverflowError) as error:
        return Verdict(False, "", (f"the certificate is malformed: {error}",))


def _impossible(certificate: Certificate) -> Iterator[str]:
    """Statistics that no rewards can have."""
    bounded = certificate.seen.reward_code != GAUSSIAN
    for arm in certificate.arms:
        side = certificate.statistics[arm]
        for m, column in enumerate(certificate.columns):
            fault = stream_fault(bounded, *(side[part][m] for part in STATISTICS))
            if fault:
                name = certificate.problem.fidelities[column].name
                yield f"no rewards can have these statistics, arm {arm!r} at fidelity {name!r}: {fault}"
    for entry in certificate.evidence:
        for part, numbers in (("winner", entry.winner), ("loser", entry.loser)):
            if numbers is None:
                continue
            what = f"the statistics of the {part} over arm {entry.arm!r}"
            for m in range(len(numbers["pulls"])):
                if fault := stream_fault(bounded, *(numbers[name][m] for name in ALL)):
                    yield f"{what} are impossible: {fault}"
            if fault := part_fault(bounded, numbers):
                yield f"{what} hold active rewards that are no part of all rewards: {fault}"
        yield from _impossible_leaders(certificate, entry, bounded)


def _impossible_leaders(certificate: Certificate, entry: EvidenceEntry, bounded: bool) -> Iterator[str]:
    """Rewards of leaders that no rewards can be, or that are no part of what their arms gave."""
    for leader, numbers in entry.leaders or ():
        what = f"the rewards of {leader!r} as a leader, in the evidence against arm {entry.arm!r},"
        for m in range(len(numbers["pulls"])):
            if fault := stream_fault(bounded, *(numbers[name][m] for name in ALL)):
                yield f"{what} are impossible: {fault}"
        # Of a pair all is known at that moment; with several fidelities, rewards of leaders are active ones.
        all_of_it: Numbers = certificate.statistics[leader]
        if leader == entry.by and entry.winner is not None:
            parts = ACTIVE if len(numbers["pulls"]) > 1 else ALL
            all_of_it = dict(zip(ALL, (entry.winner[part] for part in parts), strict=True))
        if fault := later_fault(bounded, numbers, all_of_it, one_sum=False):
            yield f"{what} are no part of what it gave: {fault}"


def _out_of_order(certificate: Certificate) -> Iterator[str]:
    """Statistics of one arm at several moments that cannot follow one another."""
    bounded = certificate.seen.reward_code != GAUSSIAN
    moments: dict[str, list[Numbers]] = {arm: [] for arm in certificate.arms}
    for entry in certificate.evidence:
        if entry.winner is not None and entry.loser is not None:
            moments[entry.by].append(entry.winner)
            moments[entry.arm].append(entry.loser)
    for arm, sides in moments.items():
        sides.sort(key=lambda side: (sum(side["pulls"]), sum(side["active_pulls"])))
        for earlier, later in itertools.pairwise(sides):
            for parts in (ALL, ACTIVE):
                if fault := later_fault(bounded, earlier, later, parts):
                    yield f"the statistics of arm {arm!r} in the evidence contradict one another: {fault}"
        if sides and (fault := later_fault(bounded, sides[-1], certificate.statistics[arm])):
            yield f"the final statistics of arm {arm!r} contradict those in the evidence: {fault}"
    led: dict[str, list[Numbers]] = {}
    for entry in certificate.evidence:
        for leader, numbers in entry.leaders or ():
            led.setdefault(leader, []).append(numbers)
    for arm, moments_of in led.items():
        moments_of.sort(key=lambda numbers: sum(numbers["pulls"]))
        for earlier, later in itertools.pairwise(moments_of):
            if fault := later_fault(bounded, earlier, later):
                yield f"the rewards of {arm!r} as a leader contradict one another: {fault}"
    yield from _no_one_order(certificate)


def _no_one_order(certificate: Certificate) -> Iterator[str]:
    """Victories that go round in a circle, or that cannot have happened one after the other."""
    winners = {entry.arm: {entry.by} for entry in certificate.evidence}
    moments: dict[str, list[tuple[int, int]]] = {}
    for position, entry in enumerate(certificate.evidence):
        for arm, side in ((entry.by, entry.winner), (entry.arm, entry.loser)):
            if side is not None:
                moments.setdefault(arm, []).append((sum(side["pulls"]), position))
    before: dict[Any, set[Any]] = {}
    for arm, known in moments.items():
        # All victories at one count of an arm's pulls come before all at the next one.
        counts = [list(group) for _, group in itertools.groupby(sorted(known), key=lambda moment: moment[0])]
        for earlier, later in itertools.pairwise(counts):
            between = (arm, earlier[0][0])
            before[between] = {position for _, position in earlier}
            for _, position in later:
                before.setdefault(position, set()).add(between)
    for graph, said in (
        (winners, "arms cannot all be beaten by one another"),
        (before, "the victories in the evidence cannot have happened one after the other"),
    ):
        try:
            TopologicalSorter(graph).prepare()
        except CycleError:
            yield said


def _unproven(certificate: Certificate) -> Iterator[str]:
    """Victories that are none."""
    return filter(None, (_evidence_fault(certificate, entry) for entry in certificate.evidence))


def _evidence_fault(certificate: Certificate, entry: EvidenceEntry) -> str:
    """Why the evidence against an arm is not what the entry says; nothing if it is."""
    loser, winner = certificate.indices[entry.arm], certificate.indices[entry.by]
    said = f"that {entry.by!r} beats {entry.arm!r}"
    if certificate.epsilon > 0 and entry.by != certificate.answer:
        return f"with epsilon > 0 the answer itself must beat arm {entry.arm!r}, not {entry.by!r}"
    if certificate.kind == "arms":
        if entry.winner is not None or entry.by != certificate.answer:
            return f"the evidence {said} must come from the final statistics of the answer"
        value = arm_evidence(certificate.seen, certificate.state, winner, loser, _unit_epsilon(certificate))
        reached = [is_proven(certificate.ways, certificate.delta, one) for one in (value, entry.evidence)]
        if not abs(value - entry.evidence) <= _CLOSE * (1.0 + value) or reached[0] != reached[1]:
            return f"the evidence {said} is {value:.9g}, not {entry.evidence:.9g}"
        return ""
    if entry.winner is None or entry.loser is None:
        return f"the evidence {said} lacks the statistics of both arms"
    if (entry.leaders is not None) != (certificate.kind == "leaders"):
        return f"the evidence {said} must tell of leaders if and only if its kind is 'leaders'"
    record: dict[str, Any] = {"arm": loser, "by": winner, "winner": entry.winner, "loser": entry.loser}
    if entry.leaders is not None:
        record["leaders"] = [{"arm": certificate.indices[arm], **side} for arm, side in entry.leaders]
    params = certificate.algorithm.params
    if entry.evidence >= certificate.threshold - _CLOSE:
        # A few proofs are done before a compiler has started; the result is the same.
        fast = None if len(certificate.evidence) > _FEW else False
        if proves(certificate.seen, params, record, entry.evidence, fast=fast):
            return ""
        return f"the statistics do not prove {said} with evidence {entry.evidence:.6g}"
    value = evidence_of_record(certificate.seen, params, record)
    if not abs(max(0.0, value) - entry.evidence) <= _SEARCHED:
        return f"the evidence {said} is {value:.4g}, not {entry.evidence:.4g}"
    return ""


def _unit_epsilon(certificate: Certificate) -> float:
    return certificate.epsilon / certificate.problem.reward.span


def _unbeaten(certificate: Certificate) -> Iterator[str]:
    """The arms that may still be better than the answer."""
    if certificate.answer is None:
        yield "there is no answer"
    elif not certificate.certified:
        for entry in certificate.evidence:
            if entry.evidence < certificate.threshold:
                yield (
                    f"nothing shows that arm {entry.arm!r} is beaten: the evidence is {entry.evidence:.4g} "
                    f"of {certificate.threshold:.4g}"
                )
