"""Many processes on one study, some of them killed: nothing is lost, nothing counts twice."""

import json
import random
import runpy
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import mfbandit as mf
from mfbandit.storage import RESULT, ROUND
from mfbandit.study import Study, create_study, import_study, load_study
from mfbandit.study.state.rounds._round_record import dump_state, read_round

Crew: TypeAlias = Callable[..., dict[int, float]]
CREW = Path(__file__).with_name("crew.py")
reward_of, cost_of = (runpy.run_path(str(CREW))[name] for name in ("reward_of", "cost_of"))

PROBLEM = mf.Problem(
    ["plain", 'it\'s "quoted"', "<b>bold</b>", "two\nlines"],
    [("quick", 1.0, 0.2), ("exact", 3.0, 0.0)],
)


@pytest.fixture(scope="module")
def office() -> Iterator[subprocess.Popen[str]]:
    """A process that has imported all that crews need, and starts them."""
    with subprocess.Popen([sys.executable, CREW], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        yield running
        assert running.stdin
        running.stdin.close()


@pytest.fixture
def crew(office: subprocess.Popen[str], tmp_path: Path) -> Crew:
    """Let a crew work on a study; returns what was confirmed to its workers."""

    def work(study: Study, workers: int, kills: int, grows: bool = False) -> dict[int, float]:
        confirmed = tmp_path / "confirmed"
        study.export(f"{confirmed}.jsonl")
        order = (study.storage.url, study.name, workers, kills, 1, confirmed, "", "1" if grows else "")
        assert office.stdin
        assert office.stdout
        print(json.dumps(list(map(str, order))), file=office.stdin, flush=True)
        code = office.stdout.readline()
        said = Path(f"{confirmed}.err").read_text()
        assert (code, said) == ("0\n", "")
        assert int(Path(f"{confirmed}.out").read_text()) >= kills
        lines = [line.split() for line in confirmed.read_text().splitlines()]
        assert len({number for number, _ in lines}) == len(lines), "two workers were told that theirs counts"
        return {int(number): float(reward) for number, reward in lines}

    return work


def play(study: Study, pulls: int) -> None:
    """Play a study in this process until so many pulls have counted."""
    while study.view().pulls < pulls:
        for pull in study.ask():
            study.tell(pull, reward_of(pull.seed), cost=cost_of(study, pull))


def assert_like_one_worker(study: Study, settings: dict[str, object]) -> None:
    """Compare a study with one that a single undisturbed worker played in memory."""
    alone = create_study(study.problem, **settings)  # type: ignore[arg-type]
    play(alone, study.view().pulls)
    assert study.to_frame().loc[:, :"reward"].equals(alone.to_frame().loc[:, :"reward"])
    assert (study.best, study.status, study.cost) == (alone.best, alone.status, alone.cost)
    assert dump_state(study.current().state) == dump_state(alone.current().state)


def assert_all_there(study: Study, confirmed: dict[int, float], asked: int) -> None:
    results = [r for r in study.storage.log(study.name).read(0) if r.kind == RESULT]
    rewards = {record.pull: record.value for record in results}
    assert len(rewards) == len(results), "a pull counts twice"
    assert confirmed.items() <= rewards.items(), "a confirmed result was lost"
    assert sorted(rewards) == list(range(asked))


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'study.db'}"
    return str(request.getfixturevalue("postgres_database"))


def test_killed_workers_leave_nothing_behind(url: str, crew: Crew) -> None:
    settings: dict[str, object] = {"policy": "lucb-c:batch=3", "seed": 5}
    study = create_study(PROBLEM, storage=url, lease_seconds=0.2, durable=False, **settings)  # type: ignore[arg-type]
    confirmed = crew(study, workers=4, kills=120)
    assert confirmed
    asked = study.current().asked
    play(study, asked)
    assert_all_there(study, confirmed, asked)
    assert_like_one_worker(study, settings)
    assert_like_one_worker(load_study(url), settings)


def test_killed_workers_leave_costs_as_they_are(url: str, crew: Crew) -> None:
    quick, exact = mf.Fidelity("quick", "measured", 0.2), mf.Fidelity("exact", 3.0, measured="told")
    problem = mf.Problem(PROBLEM.arms, [quick, exact])
    settings: dict[str, Any] = {"policy": "lucb-c:batch=3", "seed": 5, "max_cost": 1e6}
    study = create_study(problem, storage=url, lease_seconds=0.2, durable=False, **settings)
    confirmed = crew(study, workers=3, kills=6, grows=True)
    play(study, study.current().asked)
    assert confirmed
    assert study.cost > 0
    assert_like_one_worker(study, settings)
    assert_like_one_worker(load_study(url), settings)


def rounds_of(study: Study) -> list[Any]:
    """What the log says was asked for, and after how many results."""
    records = study.storage.log(study.name).read(0)
    bodies = [(record.pull, read_round(record.text)) for record in records if record.kind == ROUND]
    return [(pull, body["rows"], body.get("counted"), body.get("marked")) for pull, body in bodies]


def test_killed_workers_leave_wide_studies_as_they_are(tmp_path: Path, crew: Crew) -> None:
    settings: dict[str, Any] = {"seed": 5, "width": 8, "delta": 1e-6}
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = create_study(PROBLEM, storage=url, lease_seconds=0.2, durable=False, **settings)
    confirmed = crew(study, workers=4, kills=50, grows=True)
    assert len(confirmed) >= 50
    results = {r.pull: r.value for r in study.storage.log(study.name).read(0) if r.kind == RESULT}
    assert confirmed.items() <= results.items(), "a confirmed result was lost"
    # All that is out is told, and more is planned then, by one who never saw the study before.
    asked = study.current().asked
    again = load_study(url)
    while set(range(asked)) - {r.pull for r in again.storage.log(again.name).read(0) if r.kind == RESULT}:
        for pull in again.ask(8):
            again.tell(pull, reward_of(pull.seed))
    alone = create_study(PROBLEM, **settings)
    while alone.current().asked < again.current().asked:
        for pull in alone.ask():
            alone.tell(pull, reward_of(pull.seed))
    rounds = rounds_of(again)
    assert rounds == rounds_of(alone)[: len(rounds)]
    assert len(rounds) > 50


@pytest.mark.parametrize(
    "problem",
    [
        mf.Problem(["a", "b", "c", "d"], [mf.Fidelity("exact", 1.0, block_cost=0.5)], blocks=2000),
        mf.Problem(["a", "b", "c", "d"], [("exact", 1.0)], mf.Gaussian(), blocks="unlimited"),
    ],
    ids=["finite", "normal"],
)
def test_killed_workers_leave_races_on_blocks_as_they_are(problem: mf.Problem, url: str, crew: Crew) -> None:
    # Rewards are drawn anew for every pull: nobody is the best, so that the race goes on.
    settings: dict[str, object] = {"seed": 5, "delta": 1e-6}
    study = create_study(problem, storage=url, lease_seconds=0.2, durable=False, **settings)  # type: ignore[arg-type]
    confirmed = crew(study, workers=3, kills=25, grows=True)
    assert len(confirmed) >= 25
    asked = study.current().asked
    play(study, asked)
    assert_all_there(study, confirmed, asked)
    for one in (study, load_study(url)):
        assert_like_one_worker(one, settings)
        alone = create_study(problem, **settings)  # type: ignore[arg-type]
        play(alone, asked)
        assert one.view().rounds == alone.view().rounds
        assert one.view().rewards == alone.view().rewards
        assert one.view().confidence == alone.view().confidence


def test_sixteen_processes_share_a_study(url: str, crew: Crew) -> None:
    settings: dict[str, object] = {"policy": "lucb-c:batch=8", "max_cost": 800.0, "seed": 6}
    study = create_study(PROBLEM, storage=url, **settings)  # type: ignore[arg-type]
    confirmed = crew(study, workers=16, kills=0)
    assert study.status == "max_cost"
    assert_all_there(study, confirmed, study.current().asked)
    assert sorted(confirmed) == list(range(study.current().asked))
    assert_like_one_worker(study, settings)
    # Another process lets it cost more: this one goes on as if it had been alone all the time.
    load_study(url).extend(max_cost=850.0)
    alone = create_study(PROBLEM, **settings)  # type: ignore[arg-type]
    for one in (study, alone):
        while not one.done or one.settings.max_cost == 800.0:
            if one.done:
                one.extend(max_cost=850.0)
            for pull in one.ask(8):
                one.tell(pull, reward_of(pull.seed))
    assert study.status == "max_cost"
    for one in (study, load_study(url)):
        assert one.cost == alone.cost > 800.0
        assert dump_state(one.current().state) == dump_state(alone.current().state)


def test_many_open_a_new_storage_at_once(url: str) -> None:
    count = 10
    barrier, errors, names = threading.Barrier(count), [], []

    def begin() -> None:
        try:
            barrier.wait()
            study = create_study(PROBLEM, storage=url, load_if_exists=True, max_cost=50.0, policy="lucb-c")
            names.extend(pull.id for pull in study.ask())
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=begin) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(names) == [0, 1], "the two pulls of the first round, once each"


def test_a_process_that_is_killed_after_it_has_changed_a_study(url: str, tmp_path: Path) -> None:
    lanes = [("quick", 0.1, 0.02), ("only", 1.0)]
    # A race on rewards with a range in one database, on normal ones in the other.
    reward = mf.Bounded(0, 1, swing=0.5) if url.startswith("sqlite") else mf.Gaussian()
    problem = mf.Problem(["a", "b", "c"], lanes, reward, blocks="unlimited")

    def play(study: mf.Study) -> None:
        while pulls := study.ask(3):
            for pull in pulls:
                noise = random.Random(f"{pull.block} {pull.arm}").uniform(-0.1, 0.1)
                study.tell(pull, 0.3 + 0.2 * pull.arm_index + noise)

    study = create_study(problem, storage=url, delta=0.3, epsilon=0.1, max_cost=1e5, width=3, most_arms=4)
    play(study)
    assert study.status == "certified"
    code = (
        "import os, sys, mfbandit as mf; study = mf.load_study(sys.argv[1]); "
        "study.extend(delta=0.01, epsilon=0.05, max_cost=2e5); study.reprice('only', cost=0.5); "
        "study.widen('quick', bias=0.03); study.add_arm('d'); study.retire('a'); os.kill(os.getpid(), 9)"
    )
    killed = subprocess.run([sys.executable, "-c", code, url], check=False)
    assert killed.returncode == -9
    play(study)
    settings = study.settings
    assert (study.status, settings.delta, settings.epsilon, study.best) == ("certified", 0.01, 0.05, "d")
    assert (settings.max_cost, settings.problem.fidelities[0].bias) == (2e5, 0.03)
    assert (study.result().confidence >= 0.99, list(study.result().retired)) == (True, ["a"])
    assert study.cost < study.result().pulls
    study.export(tmp_path / "study.jsonl")
    for again in (load_study(url), import_study(tmp_path / "study.jsonl")):
        assert dump_state(again.current().state) == dump_state(study.current().state)
        assert again.log_digest() == study.log_digest()
