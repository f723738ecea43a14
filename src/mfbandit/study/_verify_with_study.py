"""Checking a certificate against the raw results of its study.

The policy plays again from the first pull on. At every round it must plan what the log says was planned;
results are taken from the log. At the moment that the certificate is of, the statistics and the evidence made
anew must be the certificate's. So invented statistics are found, and rewards that were left out, and a
sampling rule that was not the stated one. What cannot be found is a log that was invented as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from mfbandit.certificate import (
    BLOCKS,
    Certificate,
    RaceCertificate,
    Verdict,
    differences,
    read_certificate,
    read_race_certificate,
    verify,
)
from mfbandit.errors import MfbanditError
from mfbandit.storage import RESULT, ROUND, Log, LogDigest, Record
from mfbandit.study._reward_check import RewardCheck
from mfbandit.study._view import View
from mfbandit.study.state._study_state import StudyState
from mfbandit.study.state._wide_state import WideStudyState, study_state_of
from mfbandit.study.state.rounds._round_record import read_round

if TYPE_CHECKING:
    from mfbandit.study._study import Study
    from mfbandit.study.state._study_state import StudyState

__all__ = ["verify_with_study"]

#: If planning by the plain text has taken so long, it goes on by the compiled one: that takes some seconds to make.
_LONG_SECONDS = 2.0

#: What a round decides, in its record; the rest is what the policy noted for itself.
_DECIDED = ("rows", "counted", "marked", "leading", "cut", "arms", "broken", "added", "opened", "blocks")


def verify_with_study(found: Mapping[str, Any], study: Study) -> Verdict:
    """Check a certificate from its own numbers, and then against the results that a study holds.

    Parameters
    ----------
    found : mapping
        `Result.certificate`, or what `load_certificate` read.
    study : Study
        Where the certificate is said to come from: `load_study`, or `import_study` of an export.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> import mfbandit as mf
    >>> study = mf.create_study(mf.Problem(["a", "b"], [("exact", 1.0, 0.0)], reward="bernoulli"), delta=0.1)
    >>> while not study.done:
    ...     for pull in study.ask():
    ...         _ = study.tell(pull, 1.0 if pull.arm == "b" else 0.0)
    >>> invented = study.result().certificate
    >>> verify_with_study(invented, study).valid
    True
    >>> for part in ("pulls", "sums", "squares"):
    ...     invented["statistics"]["b"][part][0] += 2
    >>> verify_with_study(invented, study).valid
    False
    """
    verdict = verify(found)
    if not verdict.claim:
        return verdict
    settings, certificate = study.settings, _read(found)
    reasons = [
        f"the study has another {name}"
        for name in ("problem", "policy", "delta", "epsilon", "seed", "question")
        if getattr(settings, name) != getattr(certificate, name, getattr(settings, name) if name == "seed" else None)
    ]
    if not reasons:
        try:
            reasons = list(_contradictions(certificate, found, study))
        except (MfbanditError, LookupError, TypeError, ValueError) as error:
            reasons = [f"the log of the study cannot be played again: {error}"]
        if reasons and study.code.changed:
            reasons.append("the code of the policy has changed since the study was made, which may be the reason")
    reasons = [*verdict.reasons, *reasons]
    return Verdict(not reasons, verdict.claim, tuple(reasons), verdict.fingerprint)


def _read(found: Mapping[str, Any]) -> Certificate | RaceCertificate:
    return read_race_certificate(found) if found.get("kind") == BLOCKS else read_certificate(found)


def _contradictions(
    certificate: Certificate | RaceCertificate, found: Mapping[str, Any], study: Study
) -> Iterator[str]:
    """Where the raw results contradict a certificate."""
    wrong: list[str] | None = None
    total = certificate.pulls
    for study_state, digest in _moments(study):
        if study_state.folded_pulls > total:
            break
        if study_state.folded_pulls == total:
            log = None if certificate.log is None else digest.hex()
            wrong = list(differences(found, type(certificate).of(View(study_state), log)))
            if not wrong:
                return
    if wrong is None:
        yield f"the study never had exactly {total} results"
    else:
        yield from (f"by the results of the study, {reason}" for reason in wrong)


def _pay_for_what_was_out(study_state: StudyState, spent: float) -> None:
    """Take from the log what was paid for pulls that were out when their arm was retired.

    Leases of old rounds are not kept, so that it cannot be counted again; it is at most what the round had of them.
    """
    most = sum(row.size * row.price for row in study_state.round.rows if row.arm in study_state.retired)
    known = float(study_state.state.spent[0])
    if not known * (1 - 1e-9) <= spent <= (known + most) * (1 + 1e-9):
        raise ValueError(f"{spent:g} cannot have been spent before pull {study_state.asked}, but {known:g}")
    study_state.state.spent[0] = spent


def _moments(study: Study) -> Iterator[tuple[StudyState, LogDigest]]:
    """Play a study again: what it amounts to after every record of its log, and the digest of the log so far."""
    study_state, check, digest = (
        study_state_of(study.made_with),
        RewardCheck(study.settings.problem.reward),
        LogDigest(),
    )
    log = study.storage.log(study.name)
    if isinstance(study_state, WideStudyState):
        yield from _wide_moments(study_state, log, check, digest)
        return
    _, finished, current = log.past()
    for fields in (*finished, *current):
        record = Record(*fields)
        if record.kind == ROUND:
            theirs = read_round(record.text)
            if "state" in theirs:
                _pay_for_what_was_out(study_state, float(theirs["state"]["spent"][0]))
            _compile_for_long(study_state)
            _check_planned(study_state.plan(), record)
        else:
            if record.kind == RESULT:
                check(record.value)
            study_state.apply([record])
        digest.add([record])
        yield study_state, digest


def _compile_for_long(study_state: StudyState) -> None:
    """Plan by what was compiled before, and compile the policy of a study that takes long to play again."""
    study_state.planner.look(study_state.state, study_state.planning_seconds)
    if study_state.planning_seconds > _LONG_SECONDS:
        study_state.planner.compile_once(study_state.state)


def _check_planned(planned: Record | None, record: Record) -> None:
    """Refuse a round that the policy does not plan."""
    theirs = read_round(record.text)
    ours = None if planned is None or planned.pull != record.pull else read_round(planned.text)
    if ours is None or any(ours.get(key) != theirs.get(key) for key in _DECIDED):
        raise ValueError(f"its policy does not plan the round that begins with pull {record.pull}")


def _wide_moments(
    study_state: WideStudyState, log: Log, check: RewardCheck, digest: LogDigest
) -> Iterator[tuple[StudyState, LogDigest]]:
    """The same where rounds are planned while others are out: each as soon as it can be."""
    planned = study_state.next_record()
    for record in log.read(0):
        if record.kind == ROUND:
            _compile_for_long(study_state)
            _check_planned(planned, record)
            planned = study_state.next_record()
        else:
            if record.kind == RESULT:
                check(record.value)
            study_state.apply([record])
            planned = planned or study_state.next_record()
        digest.add([record])
        yield study_state, digest
