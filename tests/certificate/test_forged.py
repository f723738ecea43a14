"""No forged certificate passes that claims anything else than the true one."""

import copy
import json
import math
import random

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.certificate import Certificate, load_certificate, read_certificate, verify
from mfbandit.certificate._document import EvidenceEntry
from mfbandit.certificate._statistics import part_fault
from mfbandit.errors import InvalidInput, MfbanditError

MUTATIONS = 2_500


@pytest.fixture(autouse=True)
def _many_proofs(monkeypatch):
    """Thousands of proofs are worth a compiler."""
    monkeypatch.setattr("mfbandit.certificate._verify._FEW", 0)


def places(value, path=()):
    """All paths into a JSON value."""
    yield path
    if isinstance(value, dict):
        for key in value:
            yield from places(value[key], (*path, key))
    elif isinstance(value, list):
        for i in range(len(value)):
            yield from places(value[i], (*path, i))


def at(value, path):
    for key in path:
        value = value[key]
    return value


def put(value, path, new):
    at(value, path[:-1])[path[-1]] = new


def mutated(rng, value, names):
    """Something else than a value, by chance of the same type."""
    strange = [None, True, "", "x\x1b[2J", -1, 0, 1, 2**63, 10.7, math.nan, math.inf, -math.inf, 1e308, [], {}, [[]]]
    if isinstance(value, bool) or value is None:
        return rng.choice(strange)
    if isinstance(value, (int, float)):
        near = [value + 1, value - 1, -value, 2 * value, value // 2, value * 1.01, value * 0.9, value + 0.7, str(value)]
        return rng.choice([*near, *strange])
    if isinstance(value, str):
        return rng.choice([*names, value + " ", value.upper(), *strange])
    if isinstance(value, list):
        new = list(value)
        changes = [
            new[::-1],
            new[:-1],
            [*new, *new[-1:]],
            rng.sample(new, len(new)),
            [0.0] * len(new),
            [1.0] * len(new),
        ]
        return rng.choice([*changes, *strange])
    new = dict(value)
    if new:
        key, other = rng.choice(list(new)), rng.choice(list(new))
        new[key], new[other] = new[other], new[key]
        dropped = {name: part for name, part in value.items() if name != key}
        return rng.choice([new, dropped, {**value, "more": 1}, *strange])
    return rng.choice([{"more": 1}, *strange])


def test_no_field_can_be_changed(proof):
    """Every value of a certificate, one at a time, against everything that could stand there instead."""
    true, rng, text = verify(proof), random.Random(7), json.dumps(proof)
    names = [*proof["arms"], *proof["fidelities"], *proof["retired"]]
    for path in list(places(proof))[1:]:
        if path[0] in ("statistics", "evidence") and len(path) > 3 and rng.random() < 0.7:
            continue
        forged = json.loads(text)  # much faster than a copy
        new = mutated(rng, at(forged, path), names)
        if new == at(forged, path):
            continue
        put(forged, path, new)
        verdict = verify(forged)
        assert not verdict.valid or (verdict.claim, verdict.fingerprint) == (true.claim, true.fingerprint), path


@pytest.mark.slow
def test_random_mutations(proof):
    """Mutations of one to three values, as they are and by a forger who makes all that follows anew."""
    true, rng, accepted, text = verify(proof), random.Random(11), 0, json.dumps(proof)
    names = [*proof["arms"], *proof["fidelities"], *proof["retired"]]
    paths = list(places(proof))[1:]
    ways = 1 if proof["kind"] == "leaders" else len(proof["arms"]) - 1
    least_delta = ways * math.exp(-min(entry["evidence"] for entry in proof["evidence"]))
    for _ in range(MUTATIONS):
        forged = json.loads(text)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            path = rng.choice(paths)
            try:
                put(forged, path, mutated(rng, at(forged, path), names))
            except (KeyError, IndexError, TypeError):
                continue
        if rng.random() < 0.5:
            try:
                with np.errstate(all="ignore"):
                    forged = json.loads(json.dumps(read_certificate(forged).to_json()))
            except (MfbanditError, OverflowError):
                continue
        verdict = verify(forged)
        if not verdict.valid:
            continue
        accepted += 1
        if verdict.fingerprint != true.fingerprint:
            # Consistent with itself: then it is about another problem, or claims less. It never names another arm.
            assert forged["answer"] == proof["answer"]
            assert forged["delta"] >= least_delta * (1 - 1e-3)
            assert str(forged["answer"]) in verdict.claim
    # Many numbers may be a little different: the test is none if nothing ever passes.
    assert 0 < accepted < MUTATIONS / 2


def worst_arm_wins(proof):
    """Statistics of victories that never happened, beside final statistics that did."""
    arms = proof["arms"]
    known = proof["statistics"]
    worst = min(arms, key=lambda arm: known[arm]["sums"][0] / known[arm]["pulls"][0])
    proof["answer"] = worst
    proof["evidence"] = []
    for arm in arms:
        if arm == worst:
            continue
        sides = {}
        for side, who, share in (("winner", worst, 1.0), ("loser", arm, 0.0)):
            pulls = proof["statistics"][who]["pulls"]
            sums = [share * n for n in pulls]
            sides[side] = {"pulls": pulls, "sums": sums, "squares": sums}
            sides[side] |= {f"active_{part}": numbers for part, numbers in sides[side].items()}
        proof["evidence"].append({"arm": arm, "by": worst, "evidence": proof["threshold"], **sides})


def test_victories_must_fit_the_final_statistics():
    instance = mf.load_instance("judges")
    study = mf.create_study(instance.problem, delta=0.05)
    evaluate = instance.evaluator(seed=1)
    while not study.done:
        for pull in study.ask(100):
            study.tell(pull, evaluate(pull))
    proof = json.loads(json.dumps(study.result().certificate))
    worst_arm_wins(proof)
    forged = json.loads(json.dumps(read_certificate(proof).to_json()))
    verdict = verify(forged)
    assert not verdict.valid
    assert any("contradict" in reason for reason in verdict.reasons)


def test_the_sentence_of_a_file_is_never_repeated(proof):
    forged = copy.deepcopy(proof)
    forged["claim"] = f"With probability 0.999999, {proof['arms'][0]!r} has the highest true mean."
    verdict = verify(forged)
    assert not verdict.valid
    assert "0.999999" not in verdict.claim
    assert any(reason.startswith("claim must be") for reason in verdict.reasons)


@pytest.mark.parametrize("value", [-50.0, -math.inf, math.nan, 1e-9, 1e9])
def test_deviations_must_be_possible(value):
    problem = mf.Problem(["a", "b"], [("only", 1.0)])
    certificate = certificate_of(problem, {"a": (40, 20.0, 14.0, value), "b": (40, 4.0, 0.6, 0.5)})
    verdict = verify(certificate)
    assert not verdict.valid
    assert "deviations" in verdict.reasons[0]


def certificate_of(problem, numbers, **more):
    """A certificate of the kind "arms" with given statistics."""
    statistics = {
        arm: dict(zip(("pulls", "sums", "squares", "deviations"), ([x] for x in each), strict=True))
        for arm, each in numbers.items()
    }
    first, *others = problem.arms
    made = Certificate(
        problem=problem,
        policy=mf.policy("lucb-top"),
        delta=0.05,
        epsilon=0.0,
        answer=first,
        statistics=statistics,
        evidence=tuple(EvidenceEntry(arm, first, 5.0) for arm in others),
        retired={},
    )
    return made.to_json() | more


def test_arms_that_are_left_out_are_missed():
    """The certificate of a problem with three arms that knows of one."""
    problem = mf.Problem(["a", "b", "c"], [("only", 1.0)])
    proof = certificate_of(problem, {"a": (40, 20.0, 14.0, 4.1), "b": (40, 4.0, 0.6, 0.5), "c": (1, 0.5, 0.25, 0.0)})
    proof["arms"], proof["evidence"] = ["a"], []
    proof["statistics"] = {"a": proof["statistics"]["a"]}
    verdict = verify(proof)
    assert not verdict.valid
    assert "statistics must be those of the arms that are not retired" in verdict.reasons[0]


def side(pulls, ones):
    """Statistics of 0/1 rewards at one fidelity, all of them active."""
    counts = {"pulls": [pulls], "sums": [float(ones)], "squares": [float(ones)]}
    return counts | {f"active_{part}": numbers for part, numbers in counts.items()}


def pairs_of(finals, victories, answer="a", **more):
    """A certificate of the kind "pairs" at one fidelity, with the statistics of given victories."""
    problem = mf.Problem(list(finals), [("only", 1.0)], reward="bernoulli")
    statistics = {}
    for arm, (pulls, ones) in finals.items():
        least = ones + 0.25 - (ones + 0.5) ** 2 / (pulls + 1)
        statistics[arm] = {"pulls": [pulls], "sums": [ones], "squares": [ones], "deviations": [1.2 * least]}
    at = math.log((len(finals) - 1) / 0.05)
    evidence = tuple(
        EvidenceEntry(loser, winner, at, side(*won), side(*lost))
        for loser, (winner, won, lost) in sorted(victories.items())
    )
    made = Certificate(problem, mf.policy("mf-toptwo"), 0.05, 0.0, answer, statistics, evidence, {}, **more)
    return json.loads(json.dumps(made.to_json()))


def test_arms_cannot_beat_one_another_in_a_circle():
    """Each record alone is possible and proven; together they leave an arm that nobody measured."""
    finals = {"a": (0, 0), "b": (200, 100), "c": (200, 100)}
    forged = pairs_of(finals, {"b": ("c", (100, 90), (200, 100)), "c": ("b", (100, 90), (200, 100))})
    verdict = verify(forged)
    assert not verdict.valid
    assert any("beaten by one another" in reason for reason in verdict.reasons)
    assert any("one after the other" in reason for reason in verdict.reasons)


def test_nothing_is_rounded_where_nothing_was_added():
    finals = {"a": (10**9, 0), "b": (10**9, 90)}
    verdict = verify(pairs_of(finals, {"b": ("a", (10**9, 90), (10**9, 0))}))
    assert not verdict.valid
    assert any("contradict" in reason for reason in verdict.reasons)


def test_a_claim_names_the_least_and_the_largest_bound():
    problem = mf.Problem(["a", "b"], [("cheap", 1.0, [0.9, 0.0]), ("exact", 2.0)], reward="bernoulli")
    study = mf.create_study(problem, policy="lucb-c:bound=kl")
    while not study.done:
        for pull in study.ask(20):
            study.tell(pull, float(pull.arm == "a"))
    assert "biases of at most 0.0 to 0.9 (by arm) at 'cheap'" in study.result().certificate["claim"]


def test_one_arm_is_the_answer_at_no_cost():
    result = mf.identify(mf.Problem(["alone"], [("only", 1.0)]), lambda pull: 0.5, progress=False)
    assert (result.status, result.best, result.confidence, result.cost) == ("certified", "alone", 1.0, 0.0)
    assert verify(result.certificate).valid


def test_a_result_cannot_say_more_than_its_certificate(tmp_path, proof):
    file = tmp_path / "result.json"
    honest = {"best": proof["answer"], "status": "certified", "certificate": proof}
    file.write_text(json.dumps(honest))
    assert load_certificate(file) == proof
    for lie in ({"best": "another"}, {"confidence": 0.999999}, {"delta": 1e-9}, {"format": proof["format"]}):
        file.write_text(json.dumps({**honest, **lie}))
        with pytest.raises(InvalidInput):
            load_certificate(file)


def test_a_storage_is_told_from_a_certificate(tmp_path):
    mf.create_study(mf.Problem(2, [("only", 1.0)]), storage=tmp_path / "study.db").close()
    with pytest.raises(InvalidInput, match=r"is no text, so no certificate; if it is a storage, `mfbandit best"):
        load_certificate(tmp_path / "study.db")


def test_active_sums_may_be_rounded_otherwise_than_all_sums():
    """All rewards are active; their sum was added up in another order."""
    total = 0.1 + 0.2 + 0.3
    numbers = {"pulls": [3], "sums": [total], "squares": [0.14]}
    active = {"active_pulls": [3], "active_sums": [0.1 + (0.2 + 0.3)], "active_squares": [0.14]}
    assert active["active_sums"] != numbers["sums"]
    assert part_fault(True, numbers | active) == ""
    assert part_fault(True, numbers | active | {"active_sums": [0.59]}) != ""
