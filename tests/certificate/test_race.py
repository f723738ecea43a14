"""Certificates of races on blocks: what they say, what is refused, and that no forged one names another arm."""

import json
import math
import pickle
import random

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.certificate import RaceCertificate, load_certificate, read_race_certificate, verify
from mfbandit.certificate._race_document import BlockRound
from mfbandit.cli import main
from mfbandit.core import block_order
from mfbandit.errors import InvalidInput, MfbanditError

MUTATIONS = 2_000


def race_on(problem, cell, blocks, delta=0.05, epsilon=0.0, seed=7):
    """A race in lockstep, a block at a time in every lane in use; `cell(arm, column, index)` may be None."""
    finite = problem.blocks != "unlimited"
    size = problem.blocks if finite else blocks
    order = block_order(seed, problem.n_fidelities, size, problem.order == "shared") if finite else None
    totals = np.zeros(problem.n_arms)
    rounds, rewards = [], []
    for position in range(blocks):
        ranks = np.argsort(-totals, kind="stable")
        leaders = (int(ranks[0]), int(ranks[1])) if position >= 4 else (-1, -1)
        columns = range(problem.n_fidelities)
        items = [position if order is None else int(order[m, position]) for m in columns]
        rows = []
        for m in columns:
            for arm in range(problem.n_arms):
                reward = cell(arm, m, items[m])
                rewards.append(reward)
                rows.append((arm, m, 1))
                totals[arm] += reward or 0.0
        rounds.append(BlockRound(tuple((m, items[m], *leaders) for m in columns), tuple(rows)))
    return RaceCertificate(
        problem=problem,
        policy=mf.policy("mf-race"),
        delta=delta,
        epsilon=epsilon,
        seed=seed,
        answer=problem.arms[int(totals.argmax())],
        rounds=tuple(rounds),
        rewards=tuple(rewards),
    )


def finite():
    """Questions, answered right by some arms more often than by others; one answer could not be had."""
    problem = mf.Problem(["a", "b", "c"], [("exact", 2.0)], reward="bernoulli", blocks=60)
    right = np.random.default_rng(1).random((3, 60)) < np.array([[0.1], [0.9], [0.3]])
    lost = int(block_order(7, 1, 60, False)[0, 9])
    return race_on(problem, lambda k, m, i: None if (k, i) == (2, lost) else float(right[k, i]), 35)


def normal():
    problem = mf.Problem(["a", "b", "c"], [("split", 1.0)], reward=mf.Gaussian(), blocks="unlimited")
    table = np.random.default_rng(2).normal([[0.0], [0.0], [3.0]], 1.0, (3, 40))
    return race_on(problem, lambda k, m, i: float(table[k, i]), 25, epsilon=0.1)


def lanes():
    """A judge whose differences are nearly right, and one order for judge and truth."""
    fidelities = [mf.Fidelity("judge", 1.0, 0.5, pair_bias=0.05, block_cost=3.0), mf.Fidelity("truth", 5.0)]
    problem = mf.Problem(3, fidelities, reward=mf.Bounded(0, 10), blocks="unlimited", order="shared")
    table = np.random.default_rng(3).uniform(0, 2, (2, 3, 60)) + np.array([[0.0], [7.5], [1.0]])
    return race_on(problem, lambda k, m, i: float(table[m, k, i]), 40)


def swinging():
    reward = mf.Bounded(0, 1, swing=0.2)
    problem = mf.Problem(2, [("split", 1.0)], reward=reward, blocks="unlimited")
    table = np.random.default_rng(4).uniform(0, 0.1, (2, 60)) + np.array([[0.5], [0.4]])
    return race_on(problem, lambda k, m, i: float(table[k, i]), 40, delta=0.1)


KINDS = {"finite": finite, "normal": normal, "lanes": lanes, "swing": swinging}


@pytest.fixture(scope="module", params=KINDS)
def made(request):
    return KINDS[request.param]()


@pytest.fixture
def proof(made):
    return json.loads(json.dumps(made.to_json()))


def test_an_honest_certificate_is_proven(made, proof):
    verdict = verify(proof)
    assert verdict.reasons == ()
    assert verdict.valid
    assert made.certified
    assert verdict.claim == proof["claim"]
    assert repr(made.answer) in verdict.claim
    assert made.confidence >= 1 - made.delta


def test_claims_name_what_they_assume():
    claims = {name: make().claim for name, make in KINDS.items()}
    assert "over the 60 blocks of the set" in claims["finite"]
    assert "random order that seed 7 gives" in claims["finite"]
    assert "1 result that could not be had counted as the worst" in claims["finite"]
    assert "normal differences" in claims["normal"]
    assert "within 0.1 of the highest" in claims["normal"]
    assert "biased by at most 0.05 at 'judge'" in claims["lanes"]
    assert "one order for all" in claims["lanes"]
    assert "within 0.2 of their means" in claims["swing"]
    assert all("cannot show whether other seeds were tried first" in claim for claim in claims.values())


def test_a_claim_names_cheap_fidelities_without_bias():
    problem = mf.Problem(2, [("judge", 1.0), ("human", 5.0)], reward="bernoulli", blocks=60)
    claim = race_on(problem, lambda k, m, i: float(k), 40).claim
    assert "no bias at 'judge'. This" in claim
    assert "no bias" not in lanes().claim


def test_files_of_older_versions_verify(proof, made):
    now = "This certificate cannot show whether other seeds were tried first"
    before = "That the seed was not tried again until it pleased no certificate can show"
    older = {**proof, "claim": proof["claim"].replace(now, before)}
    assert older["claim"] != proof["claim"]
    verdict = verify(older)
    assert (verdict.valid, verdict.claim) == (True, made.claim)


def test_cost_counts_opened_blocks():
    made = lanes()
    assert made.pulls == 240
    assert made.cost == 40 * (3 * 1.0 + 3.0) + 40 * 3 * 5.0


def forged(proof, change):
    """A certificate by a forger who makes all that follows anew."""
    copied = pickle.loads(pickle.dumps(proof))  # much faster than copy.deepcopy
    change(copied)
    try:
        with np.errstate(all="ignore"):
            return json.loads(json.dumps(read_race_certificate(copied).to_json()))
    except (MfbanditError, IndexError, KeyError, ValueError):
        return copied


def swap_blocks(proof):
    first, second = proof["rounds"][0]["opened"][0], proof["rounds"][1]["opened"][0]
    first[1], second[1] = second[1], first[1]


def declare_late(proof):
    """Cells of a block before the round that opens it."""
    proof["rounds"][5]["rows"], proof["rounds"][6]["rows"] = (
        proof["rounds"][5]["rows"] + proof["rounds"][6]["rows"],
        proof["rounds"][6]["rows"][:1],
    )


def twice_declared(proof):
    proof["rounds"][5]["opened"][0][2:] = [1, 1]


def drop_reward(proof):
    proof["rewards"] = proof["rewards"][: len(proof["rewards"]) // 2]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (swap_blocks, "where the seed gives"),
        (declare_late, "not opened before"),
        (twice_declared, "both as leader and as runner-up"),
        (drop_reward, "rewards for"),
        (lambda proof: proof.update(seed=8), "where the seed gives"),
        (lambda proof: proof["rounds"].pop(3), "where the seed gives"),
        (lambda proof: proof["rewards"].__setitem__(3, 1.5), "outside the range"),
    ],
)
def test_logs_that_cannot_be_are_refused(change, said):
    verdict = verify(forged(json.loads(json.dumps(finite().to_json())), change))
    assert not verdict.valid
    assert said in verdict.reasons[0]


def test_one_declaration_serves_all_lanes_of_a_shared_order():
    proof = json.loads(json.dumps(lanes().to_json()))
    proof["rounds"][20]["opened"][1][2:] = [0, 2]
    verdict = verify(forged(proof, lambda _: None))
    assert not verdict.valid
    assert "other leaders" in verdict.reasons[0]


def test_a_claim_that_is_not_proven_is_refused(proof, made):
    for change in (
        {"answer": next(arm for arm in proof["arms"] if arm != made.answer)},
        {"delta": 1e-300},
    ):
        for verdict in (verify({**proof, **change}), verify(forged({**proof, **change}, lambda _: None))):
            assert not verdict.valid


def test_no_field_can_be_changed(proof):
    true = verify(proof)
    for key in proof:
        for new in (None, True, -1, 0.3, "x", [], {}, math.nan):
            if proof[key] == new and type(proof[key]) is type(new):
                continue
            verdict = verify({**proof, key: new})
            assert not verdict.valid or verdict.fingerprint == true.fingerprint, (key, new)
        assert not verify({name: value for name, value in proof.items() if name != key}).valid
    assert not verify({**proof, "more": 1}).valid


def mutate(rng, proof):
    """One change of a log, of a number or of the claim."""
    rewards, rounds = proof["rewards"], proof["rounds"]
    one = rng.choice(rounds)
    kind = rng.randrange(10)
    if kind == 0:
        rewards[rng.randrange(len(rewards))] = rng.choice([None, 0.0, 1.0, 0.5, -1, 2.0, "x", True, math.nan])
    elif kind == 1:
        one["opened"][0][rng.randrange(4)] = rng.choice([-2, -1, 0, 1, 2, 50, 1.5, None])
    elif kind == 2:
        rounds.remove(one)
    elif kind == 3:
        i, j = rng.randrange(len(rounds)), rng.randrange(len(rounds))
        rounds[i], rounds[j] = rounds[j], rounds[i]
    elif kind == 4:
        rng.choice(one["rows"])[rng.randrange(3)] = rng.choice([-1, 0, 1, 2, 3, 10**9, True, "1"])
    elif kind == 5:
        one["rows"].pop(rng.randrange(len(one["rows"])))
    elif kind == 6:
        proof["answer"] = rng.choice([*proof["arms"], "nobody", None, 3])
    elif kind == 7:
        proof["delta"] *= rng.choice([1e-12, 1e-3, 0.5, 1.5, 30.0, -1.0])
    elif kind == 8:
        proof["epsilon"] = rng.choice([0.0, 0.01, 0.2, -1.0, math.inf])
    else:
        i, j = rng.randrange(len(rewards)), rng.randrange(len(rewards))
        rewards[i], rewards[j] = rewards[j], rewards[i]


@pytest.mark.slow
def test_random_mutations(proof, made):
    true, rng, accepted, text = verify(proof), random.Random(11), 0, json.dumps(proof)
    for _ in range(MUTATIONS // len(KINDS)):
        changed = json.loads(text)
        for _ in range(rng.choice((1, 1, 2))):
            try:
                mutate(rng, changed)
            except (IndexError, TypeError, ValueError):
                continue
        verdict = verify(changed if rng.random() < 0.3 else forged(changed, lambda _: None))
        if verdict.valid:
            accepted += 1
            assert changed["answer"] == proof["answer"]
            if verdict.fingerprint != true.fingerprint:
                # Consistent with itself: then what it claims follows from what it holds.
                again = read_race_certificate(forged(changed, lambda _: None))
                others = [b for b, arm in enumerate(again.problem.arms) if arm != again.answer]
                wrong = again.race.log_wrong(again.problem.arms.index(again.answer))
                assert max(wrong[others]) <= math.log(changed["delta"])
    # A few rewards may be other ones, and a larger delta is claiming less: the test is none if nothing ever passes.
    assert 0 < accepted < MUTATIONS / len(KINDS) / 2


def test_files_and_the_command(tmp_path, proof, capsys):
    file = tmp_path / "result.json"
    file.write_text(json.dumps({"best": proof["answer"], "status": "certified", "certificate": proof}))
    assert load_certificate(file) == proof
    assert main(["verify", str(file)]) == 0
    assert "Verified: the rewards in the certificate prove it." in capsys.readouterr().out
    file.write_text(json.dumps({"best": "another", "certificate": proof}))
    with pytest.raises(InvalidInput):
        load_certificate(file)
    file.write_text(json.dumps({**proof, "delta": proof["delta"] / 1e9}))
    assert main(["verify", str(file)]) == 1
