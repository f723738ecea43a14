"""Studies that are watched: one look for all, the latest for each."""

import asyncio
import json
import random
import subprocess
from pathlib import Path

import pytest

import mfbandit as mf
from mfbandit.errors import StorageError
from mfbandit.formatting import amount, duration, floored
from mfbandit.serve._open_studies import OpenStudies
from mfbandit.serve.live import _live_study, _watched
from mfbandit.serve.live._live_study import LiveStudies, LiveStudy
from mfbandit.serve.live._overview import Overview
from mfbandit.study.report import _log_totals, log_totals, snapshot
from mfbandit.study.report._result_words import BELOW_ZERO, OVERLAP

STATIC = Path(_watched.__file__).parents[1] / "static"


@pytest.fixture(autouse=True)
def _look_often(monkeypatch):
    monkeypatch.setattr(_watched, "_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr(_watched, "_REST", 0.0)


def read(event):
    """The name and the content of an event."""
    name, data = event.decode().strip().split("\n")
    return name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


async def until(events, name, wanted=lambda content: True):
    """The next event of a name whose content is wanted."""
    async with asyncio.timeout(90):
        async for event in events:
            found, content = read(event)
            if found == name and wanted(content):
                return content
    raise AssertionError("the events have ended")


def play(study, pulls):
    told = 0
    while told < pulls:
        assert not study.done, f"the study is over after {told} pulls"
        for pull in study.ask(4):
            study.tell(pull, float(random.Random(pull.seed).random() < (0.9 if pull.arm == "good" else 0.4)))
            told += 1


def test_pages_follow_a_study_and_share_one_look(storage, monkeypatch):
    looks = []
    monkeypatch.setattr(_live_study, "snapshot", lambda study: looks.append(study) or snapshot(study))
    study = mf.load_study(storage, "mine")

    async def main():
        live = LiveStudy(OpenStudies(storage), "mine")
        pages = [live.watch() for _ in range(20)]
        for page in pages:
            assert (await until(page, "first"))["study"] == "mine"
            assert (await until(page, "study"))["pulls"] == 0
        assert len(looks) == 1
        study.tell(study.ask()[0], 1.0)
        for page in pages:
            assert (await until(page, "study", lambda content: content["pulls"]))["pulls"] == 1
        assert len(looks) <= 3  # the pull, then its result
        for page in pages:
            await page.aclose()
        assert live.watchers == 0

    asyncio.run(main())


def test_who_is_slow_is_told_the_latest(storage):
    study = mf.load_study(storage, "mine")

    async def main():
        live = LiveStudy(OpenStudies(storage), "mine")
        quick, slow = live.watch(), live.watch()
        await until(slow, "study")
        for wanted in range(1, 6):
            study.tell(study.ask()[0], 1.0)
            await until(quick, "study", lambda content, wanted=wanted: content["pulls"] == wanted)
        assert (await until(slow, "study"))["pulls"] == 5

    asyncio.run(main())


@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_was_before_is_worked_out(tmp_path, problem, monkeypatch, elsewhere):
    path = str(tmp_path / "s.db")
    study = mf.create_study(problem, storage=path, name="mine", delta=1e-6, width=4)
    play(study, 60)
    if elsewhere:
        monkeypatch.setattr(_live_study, "_MANY_RESULTS", 0)

    async def main():
        page = LiveStudies(OpenStudies(study.storage)).watch("mine")
        moments = await until(page, "moments", lambda content: len(content) > 20)
        assert [moment["cost"] for moment in moments] == sorted(moment["cost"] for moment in moments)
        assert moments[-1]["cost"] == study.cost
        assert moments[-1]["confidence"] == study.confidence
        assert {len(moment["bounds"]) for moment in moments} == {2}

    asyncio.run(main())


def test_looks_that_take_long_are_rare_and_counts_are_not(storage, monkeypatch):
    monkeypatch.setattr(_live_study, "_LONG_SECONDS", 0.0)
    monkeypatch.setattr(_live_study, "_REST", 1e6)
    study = mf.load_study(storage, "mine")

    async def main():
        live = LiveStudies(OpenStudies(storage))
        await live.prepare()
        page = live.watch("mine")
        assert (await until(page, "study"))["pulls"] == 0
        study.tell(study.ask()[0], 1.0)
        found = await until(page, "first", lambda content: content.get("pulls"))
        assert (found["pulls"], found["cost"], found["status"]) == (1, study.cost, "running")

    asyncio.run(main())


def test_a_large_study_shows_what_its_log_says_before_it_is_open(tmp_path, problem, monkeypatch):
    monkeypatch.setattr(_log_totals, "_LONG", 100)
    study = mf.create_study(problem, storage=str(tmp_path / "s.db"), name="mine", width=4)
    play(study, 40)
    held = study.ask(2)
    expected = snapshot(study)

    async def main():
        page = LiveStudies(OpenStudies(study.storage)).watch("mine")
        found = await until(page, "first", lambda content: "arms" in content)
        assert "confidence" not in found
        assert (found["pulls"], found["cost"], found["n_arms"]) == (study.view().pulls, study.cost, 2)
        assert found["fidelities"] == [
            {key: value for key, value in one.items() if key in found["fidelities"][0]}
            for one in expected["fidelities"]
        ]
        arms = {arm["arm"]: arm for arm in expected["arms"]}
        for arm in found["arms"]:
            assert arm["pulls"] == arms[arm["arm"]]["pulls"]
            assert arm["means"] == pytest.approx(arms[arm["arm"]]["means"])
        assert (await until(page, "study"))["pulls"] == found["pulls"]

    asyncio.run(main())
    study.tell(held[0], 1.0, cost=7.0)
    assert log_totals(study.storage, "mine")["cost"] is None  # not simply what was declared
    assert log_totals(study.storage, "another") is None


def test_a_study_that_is_gone_is_said_to_be(storage):
    async def main():
        studies = OpenStudies(storage)
        page = LiveStudy(studies, "mine").watch()
        await until(page, "study")
        del storage._headers["mine"]
        studies.forget("mine")
        assert (await until(page, "trouble"))["error"] == "there is no study named 'mine'"

    asyncio.run(main())


def test_trouble_is_said_and_logged_once(storage, monkeypatch, caplog):
    async def main():
        studies = OpenStudies(storage)
        every, one = Overview(studies), LiveStudy(studies, "mine")
        pages = every.watch(), one.watch()
        await until(pages[0], "studies")
        await until(pages[1], "study")

        def refuse(*_):
            raise StorageError("the disk is full")

        with monkeypatch.context() as patched:
            patched.setattr(studies, "names", refuse)
            patched.setattr(studies, "get", refuse)
            for page in pages:
                assert (await until(page, "trouble"))["error"].startswith("the storage does not answer")
            for _ in range(3):
                await every.look()
                await one.look()
        assert [record.getMessage() for record in caplog.records] == [
            "watching all studies: the disk is full",
            "watching study 'mine': the disk is full",
        ]
        for page in pages:
            assert (await until(page, "trouble"))["error"] == ""

    asyncio.run(main())


def test_the_list_follows_all_studies(storage, problem):
    async def main():
        page = Overview(OpenStudies(storage)).watch()
        assert (await until(page, "studies"))["studies"] == [{"study": "mine"}]  # names at once
        (one,) = (await until(page, "studies"))["studies"]
        assert (one["study"], one["status"], one["best"], one["active"]) == ("mine", "running", None, None)
        other = mf.create_study(problem, storage=storage, name="other")
        play(other, 2)
        found = await until(page, "studies", lambda content: content["studies"][0].get("pulls", 0) == 2)
        assert found["studies"][0]["active"] > 1e9

    asyncio.run(main())


def test_a_page_says_what_the_result_says(problem):
    study = mf.create_study(problem, width=4, on_failure="stop")
    play(study, 40)
    held, failed = study.ask(2)
    study.fail(failed, "no answer")
    found, result = snapshot(study), study.result()
    assert (found["best"], found["confidence"], found["cost"]) == (result.best, result.confidence, result.cost)
    assert (found["regret_bound"], found["remaining_cost"]) == (result.regret_bound, result.remaining_cost)
    for arm in found["arms"]:
        (same,) = (one for one in result.arms if one.arm == arm["arm"])
        assert (arm["low"], arm["high"]) == (same.low, same.high)
        assert arm["pulls"] == list(same.pulls.values())
        assert arm["means"] == pytest.approx(list(same.means.values()))
        assert arm["left"] == (same.arm in result.left)
    assert [one["pull"] for one in found["out"]] == [held.id]
    assert [(one["pull"], one["reason"], one["times"]) for one in found["failures"]] == [(failed.id, "no answer", 1)]


def test_a_page_of_a_race_says_how_far_the_leader_is_ahead():
    study = mf.create_study(mf.Problem(["a", "b", "c"], [("judge", 1.0, 0.02), ("exact", 5.0)], blocks=60))
    for _ in range(40):
        for pull in study.ask(4):
            study.tell(pull, min(1.0, 0.3 * pull.arm_index + 0.2 * random.Random(pull.block).random()))
    found, result = snapshot(study), study.result()
    ahead = {arm["arm"]: arm["ahead"] for arm in found["arms"] if not arm["best"]}
    assert ahead == result.differences
    assert found["on_blocks"]
    script = (STATIC / "study.js").read_text(encoding="utf-8")
    assert all(f'"{said}"' in script for said in (BELOW_ZERO, OVERLAP))  # the words of the report


def test_many_arms_make_a_small_page():
    names = [f"{number} {'x' * 10_000}" for number in range(190)]
    study = mf.create_study(mf.Problem(names, [("exact", 1.0)]), policy="lucb-top")
    for pull in study.ask(50):
        study.tell(pull, 0.5)
    found = snapshot(study)
    assert (len(found["arms"]), found["n_arms"], found["n_out"]) == (40, 190, 0)
    assert len(json.dumps(found)) < 60_000


def test_numbers_read_as_everywhere():
    draw = random.Random(1)
    numbers = [0.0, 0.95, 0.99987, 1.0, 999.5, 1000.0, 57657.62, 8986407.3, 0.000123456, 1e-7, -0.25, 12.0]
    numbers += [draw.uniform(0, 1) * 10 ** draw.randint(-6, 7) for _ in range(500)]
    script = f"""
    import {{ amount, duration, floored }} from "{(STATIC / "format.js").as_uri()}";
    const say = (x) => [amount(x), amount(x, 2), floored(Math.min(1, Math.abs(x))), duration(Math.abs(x))];
    console.log(JSON.stringify({json.dumps(numbers)}.map(say)));
    """
    said = subprocess.run(["node", "--input-type=module", "-e", script], capture_output=True, text=True, check=True)
    for number, found in zip(numbers, json.loads(said.stdout), strict=True):
        size = abs(number)
        assert found == [amount(number), amount(number, 2), floored(min(1.0, size)), duration(size)], number
