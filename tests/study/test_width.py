"""Wide studies: pulls are planned while others are out, and decisions do not depend on who is fast."""

import asyncio
import json
import random
import threading
import time
from functools import partial

import pytest
from wide import PROBLEM, Endless, Player, decisions, reward_of, rounds_of

import mfbandit as mf
from mfbandit.errors import StudyError
from mfbandit.model import Pull
from mfbandit.storage import MemoryStorage, Record
from mfbandit.study import create_study, import_study, load_study, verify_with_study
from mfbandit.study.state import StudyState
from mfbandit.study.state._wide_state import WideStudyState

pytestmark = pytest.mark.usefixtures("compiled_plans")

WIDTH = 8
make = partial(create_study, PROBLEM, width=WIDTH, delta=0.1)

PAIR = mf.Problem(["a", "b"], [("quick", 1.0, 0.1), ("exact", 2.0, 0.0)], reward="bernoulli")
GAUSSIAN = mf.Problem(["a", "b", "c"], [("quick", 1.0, 0.1), ("exact", 4.0, 0.0)], reward=mf.Gaussian(0.3))
RACE = mf.Problem(["a", "b", "c"], [("quick", 1.0, 0.1), ("exact", 4.0)], "bernoulli", blocks="unlimited")
FINITE = mf.Problem(["a", "b", "c"], [mf.Fidelity("exact", 1.0, block_cost=0.5)], "bernoulli", blocks=300)


def same_decisions(makes, plays):
    """Play a study by many workers in many orders; returns the last one, after they all decided the same."""
    first = None
    for player in plays:
        study = player.play(makes())
        found = decisions(study)
        first = found if first is None else first
        assert found == first
        result = study.result()
        assert result.cost + result.unfinished_cost <= study.settings.limit
        assert result.cost + result.unfinished_cost == pytest.approx(sum(player.begun.values()))
        for pull in player.out:
            assert not study.tell(pull, reward_of(pull)), "what comes after the end does not count"
        result = study.result()
        assert result.cost + result.unfinished_cost <= study.settings.limit
        assert decisions(study)[0] == first[0]
    return study


@pytest.mark.parametrize(
    ("problem", "options"),
    [
        (PROBLEM, {}),
        (GAUSSIAN, {}),
        (PAIR, {"policy": "lucb-c", "max_cost": 300.0}),
        (PAIR, {"policy": "lucb-top", "max_cost": 300.0}),
        (PROBLEM, {"policy": "mf-commit", "budget": 400.0}),
        (PROBLEM, {"max_cost": 150.0}),
        (RACE, {}),
        (FINITE, {"delta": 0.01}),
    ],
    ids=["mf-toptwo", "gaussian", "lucb-c", "lucb-top", "mf-commit", "max_cost", "race", "finite race"],
)
def test_decisions_depend_on_the_width_alone(problem, options):
    makes = partial(create_study, problem, width=WIDTH, **{"delta": 0.1, **options})
    study = same_decisions(
        makes, [Player(1), Player(3, 1), Player(WIDTH, 2, replicas=3), Player(WIDTH, 3, reopened=0.05)]
    )
    result = study.result()
    assert result.status == ("budget" if "budget" in options else "max_cost" if "max_cost" in options else "certified")
    if "budget" in options:
        assert study.cost > 0.98 * options["budget"]
    if result.status == "certified":
        assert verify_with_study(result.certificate, study).valid


def lasting_failures(share, seed):
    """Some pulls fail whenever they are tried."""
    return lambda pull: random.Random(f"{seed} {pull.id}").random() < share


@pytest.mark.parametrize("action", ["ignore", "widen", "drop"])
def test_when_an_arm_fails_or_a_bound_breaks_does_not_matter(action, tmp_path):
    # The quick fidelity is off by much more than it says.
    def reward(pull):
        chance = random.Random(f"{pull.arm} {pull.fidelity} {pull.index}")
        return float(chance.random() < (0.4, 0.35, 0.3, 0.2)[pull.arm_index] + 0.6 * (pull.fidelity_index == 0))

    def fails(pull):
        return (pull.arm == "c" and pull.index >= 4) or random.random() < 0.02

    makes = partial(make, retries=3, on_failure="retire", on_violation=action, max_cost=600.0, delta=0.01)
    plays = [Player(1, reward=reward, fails=fails)]
    plays += [Player(w, w, reward=reward, fails=fails, reopened=0.03, replicas=w // 2) for w in (3, WIDTH)]
    study = same_decisions(makes, plays)
    result = study.result()
    assert result.retired
    assert result.violations or action == "ignore"
    study.export(tmp_path / "study.jsonl")
    again = import_study(tmp_path / "study.jsonl")
    assert decisions(again) == decisions(study)
    reasons = verify_with_study(result.certificate, again).reasons
    assert not any("of the study" in reason for reason in reasons), reasons


def test_a_study_ends_when_all_arms_fail():
    study = same_decisions(
        partial(make, retries=0, on_failure="retire"),
        [Player(w, w, fails=lambda pull: True) for w in (1, 3, WIDTH)],
    )
    assert study.status == "failed"


@pytest.mark.parametrize("problem", [RACE, FINITE], ids=["race", "finite race"])
def test_cells_of_a_race_that_cannot_be_had(problem):
    makes = partial(create_study, problem, width=WIDTH, delta=0.1, retries=0, on_failure="worst")
    fails = lasting_failures(0.1, 1)
    plays = [Player(1, fails=fails), *(Player(w, w, fails=fails, reopened=0.05) for w in (3, WIDTH))]
    result = same_decisions(makes, plays).result()
    assert any(reward is None for reward in result.certificate["rewards"])


def test_max_cost_is_never_exceeded():
    for limit in (1.0, 3.0, 10.0, 33.0, 80.0):
        study = same_decisions(partial(make, max_cost=limit), [Player(1), Player(5, 1), Player(WIDTH, 2)])
        assert study.status == "max_cost"
        assert limit - 4.0 < study.cost <= limit


# Real workers


@pytest.fixture(scope="module")
def alone():
    """What one worker finds, and how many pulls count."""
    study = Player(1).play(make())
    playing = study.current().round
    return decisions(study), playing.first + playing.folded


def sleepy(pull: Pull) -> float:
    time.sleep(random.random() * 0.004)
    return reward_of(pull)


@pytest.mark.parametrize(("workers", "engine"), [(3, "threads"), (WIDTH, "threads"), (2, "processes")])
def test_real_workers_decide_as_one(alone, workers, engine, monkeypatch):
    if engine == "processes":
        monkeypatch.syspath_prepend(__file__.rpartition("/")[0])
    study = make()
    result = study.optimize(
        sleepy if engine == "threads" else reward_of, workers=workers, engine=engine, progress=False
    )
    assert decisions(study) == alone[0]
    assert verify_with_study(result.certificate, study).valid


def test_a_thousand_coroutines_at_once():
    twins = mf.Problem(["a", "b"], [("exact", 1.0)], reward="bernoulli")
    most, running = 0, 0

    def coin(pull):
        return float(random.Random(f"{pull.arm} {pull.index}").random() < 0.5)

    async def evaluate(pull):
        nonlocal most, running
        running += 1
        most = max(most, running)
        # So many were asked for before that plans may be a thousand pulls ahead of what has counted.
        while pull.id >= 2500 and most < 1000 and time.monotonic() < began + 20.0:
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.01 * random.random())
        running -= 1
        return coin(pull)

    def makes():
        return create_study(twins, policy="lucb-top", width=1000, max_cost=3700.0)

    study, began = makes(), time.monotonic()
    study.optimize(evaluate, workers=1000, progress=False)
    assert most == 1000
    assert time.monotonic() - began < 20.0
    assert decisions(study) == decisions(Player(1, reward=coin).play(makes()))


def until(happened):
    """Wait for something, but not for ever."""
    end = time.monotonic() + 20.0
    while not happened() and time.monotonic() < end:
        time.sleep(0.001)


@pytest.mark.parametrize("kind", ["threads", "coroutines"])
def test_nobody_waits_for_what_runs_when_the_answer_is_there(alone, kind):
    decided, counted = alone
    never, began, ended = threading.Event(), [], []

    def evaluate(pull):
        if pull.id >= counted:
            began.append(pull)
            never.wait(60.0)
        if pull.id == counted - 1:  # without this one there is no answer
            until(lambda: len(began) == WIDTH - 1)
        return reward_of(pull)

    async def evaluate_later(pull):
        if pull.id >= counted:
            began.append(pull)
            try:
                await asyncio.sleep(60.0)
            except asyncio.CancelledError:
                ended.append(pull)
                raise
        if pull.id == counted - 1:
            await asyncio.to_thread(until, lambda: len(began) == WIDTH - 1)
        return reward_of(pull)

    study, start = make(), time.monotonic()
    result = study.optimize(evaluate if kind == "threads" else evaluate_later, workers=WIDTH, progress=False)
    assert time.monotonic() - start < 20.0
    assert decisions(study) == decided
    assert result.unfinished == len(began) > 0
    assert result.unfinished_cost == sum(pull.cost for pull in began)
    never.set()
    if kind == "coroutines":
        assert ended == began
    # What comes all the same is on the bill, and does not count.
    assert not study.tell(began[0], 1.0)
    assert study.cost == result.cost + began[0].cost
    assert study.result().unfinished == len(began) - 1
    assert decisions(study) == decided


def test_processes_end_when_the_answer_is_there(alone, monkeypatch):
    monkeypatch.syspath_prepend(__file__.rpartition("/")[0])
    study, start = make(), time.monotonic()
    result = study.optimize(Endless(alone[1]), workers=4, engine="processes", progress=False)
    assert time.monotonic() - start < 30.0
    assert decisions(study) == alone[0]
    assert result.unfinished > 0


# The study in its storage


def test_a_study_keeps_its_width(tmp_path, alone):
    url = f"sqlite:///{tmp_path / 'study.db'}"

    def stop(view):
        if view.pulls >= 30:
            raise StopIteration

    run = {"delta": 0.1, "storage": url, "progress": False}
    mf.identify(PROBLEM, reward_of, workers=WIDTH, callback=stop, **run)
    assert load_study(url).settings.width == WIDTH
    with pytest.raises(StudyError, match=r"^study 'study' exists with width=8, not 2$"):
        mf.identify(PROBLEM, reward_of, workers=2, width=2, **run)
    mf.identify(PROBLEM, reward_of, workers=2, **run)
    with load_study(url) as study:
        assert study.settings.width == WIDTH
        assert decisions(study) == alone[0]


def test_half_of_a_study_can_be_taken_elsewhere(tmp_path, alone):
    for steps in (1, 40, 90):
        player = Player(5, steps)
        study = player.play(make(), steps)
        study.export(tmp_path / f"{steps}.jsonl")
        again = import_study(tmp_path / f"{steps}.jsonl")
        assert again.settings.width == WIDTH
        assert rounds_of(again) == rounds_of(study)
        assert decisions(Player(3).play(again)) == alone[0]


def test_a_study_of_width_one_is_as_ever():
    study = create_study(PROBLEM, delta=0.1)
    header = study.storage.headers()["study"]
    assert "width" not in json.loads(header)["settings"]
    assert type(study.current()) is StudyState
    assert type(make().current()) is WideStudyState
    wide = create_study(PROBLEM, delta=0.1, width=1)
    assert decisions(Player(1).play(wide)) == decisions(Player(4).play(study))
    assert all("counted" not in body for _, body in rounds_of(study))
    assert study.result().unfinished == 0


def changed(study, change):
    """The study with another log."""
    storage = MemoryStorage()
    records = change([Record(*record) for record in study.storage.log(study.name).read(0)])
    storage.create(study.name, study.storage.headers()[study.name], records)
    return storage


def of_round(record):
    return record.kind == 0


def earlier(records):
    """Move a round to before the result that it waited for."""
    places = [place for place in range(60, len(records)) if of_round(records[place]) and records[place - 1].kind == 2]
    place = places[0]
    return [*records[: place - 1], records[place], records[place - 1], *records[place + 1 :]]


def counted_less(records):
    """Let a round say that it knew one result less."""
    place = next(place for place in range(60, len(records)) if of_round(records[place]))
    body = json.loads(records[place].text)
    text = json.dumps({**body, "counted": body["counted"] - 1})
    return [*records[:place], records[place]._replace(text=text), *records[place + 1 :]]


@pytest.mark.parametrize("change", [earlier, counted_less])
def test_a_log_with_a_round_out_of_place_is_refused(change):
    study = Player(1).play(make())
    certificate = study.result().certificate
    assert verify_with_study(certificate, load_study(changed(study, list))).valid
    try:
        other = load_study(changed(study, change))
    except mf.errors.StorageError:
        return  # it cannot even be read
    assert not verify_with_study(certificate, other).valid
