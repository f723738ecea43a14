"""People who grade: blind, nothing twice, with leases that end when they leave."""

import json
import threading
import time

import pytest

import mfbandit as mf
from mfbandit.cli import main
from mfbandit.errors import InvalidInput, ProblemError, StudyError
from mfbandit.judges import Grader, Judging
from mfbandit.serve._keys import Keys
from mfbandit.serve.people import _grading_session
from mfbandit.serve.people._agreement import agreement
from mfbandit.serve.people._grading_session import GradingSession
from mfbandit.serve.people._showing import CaseFile, shown_for
from mfbandit.storage import MemoryStorage
from mfbandit.study.report import results_with_notes, snapshot

from .conftest import HERE, TOKEN


def show(pull):
    return {"item": f"question {pull.block}", "answer": f"answer {pull.arm_index} to {pull.block}"}


@pytest.fixture
def storage():
    return MemoryStorage()


@pytest.fixture
def study(storage):
    fidelities = [mf.Fidelity("judge", 0.1, 0.2), mf.Fidelity("human", 1.0, by="people")]
    problem = mf.Problem(["secret good", "secret poor"], fidelities, blocks=40)
    return mf.create_study(problem, storage=storage, name="graded", width=12)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def play_judge(study):
    """Do what workers do until only people are left to ask."""
    while pulls := study.ask(20):
        for pull in pulls:
            assert pull.fidelity == "judge"
            study.tell(pull, 0.6 if pull.arm == "secret good" else 0.4)


def test_pulls_of_people_go_to_people_only(study):
    play_judge(study)
    assert study.view().hold_up.kind == "people"
    assert "wait for people" in snapshot(study)["waits"]
    assert not study.ask(5)
    found = study.ask(2, people=True)
    assert {pull.fidelity for pull in found} == {"human"}
    assert mf.Problem.from_json(study.problem.to_json()).fidelities[1].by == "people"
    with pytest.raises(ProblemError, match="by of fidelity 'x' must be 'people'"):
        mf.Fidelity("x", 1.0, by="robots")
    assert not mf.create_study(mf.Problem(["a", "b"], [("exact", 1.0)])).ask(people=True)


def test_pulls_of_people_are_asked_for_from_the_command_line(tmp_path, capsys):
    path = str(tmp_path / "s.db")
    problem = mf.Problem(["a", "b"], [mf.Fidelity("human", 1.0, by="people")])
    mf.create_study(problem, storage=path).close()
    assert main(["ask", path, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["pulls"] == []
    assert main(["ask", path, "--people", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pulls"][0]["fidelity"] == "human"


def test_a_session_is_blind_and_asks_nobody_twice(study):
    play_judge(study)
    session, graded = GradingSession(study, show), {"Ann": [], "Bo": []}
    people = {name: session.join(name) for name in graded}
    for _ in range(8):
        for name, person in people.items():
            play_judge(study)
            state = session.state(person)
            if state["task"] is None:
                continue
            assert "secret" not in json.dumps(state)
            assert "human" not in json.dumps(state)
            graded[name].append((state["task"]["item"], *state["task"]["answers"]))
            good = state["task"]["answers"][0].startswith("answer 0")
            session.grade(person, state["task"]["name"], 9 if good else 1)
    for person in people.values():
        session.leave(person)
    assert all(len(found) > 2 and len(set(found)) == len(found) for found in graded.values())
    assert not set(graded["Ann"]) & set(graded["Bo"])
    assert not study.current().round.leases
    notes = results_with_notes(study)
    assert {(json.loads(noted.note)["by"], noted.reward) for noted in notes} <= {
        (name, reward) for name in graded for reward in (1.0, 1.0 / 9.0)
    }
    assert len(notes) == sum(map(len, graded.values()))
    assert study.best == "secret good"


def test_who_has_graded_something_is_known_from_the_log(storage):
    problem = mf.Problem(["a", "b"], [mf.Fidelity("human", 1.0, by="people")], reward="bernoulli")
    study = mf.create_study(problem, storage=storage, name="cases", width=8)
    same = lambda pull: {"item": "the only question", "answer": pull.arm}  # noqa: E731
    session = GradingSession(study, same)
    ann = session.join("Ann")
    for _ in range(2):
        session.grade(ann, session.state(ann)["task"]["name"], 1)
    assert session.state(ann)["task"] is None
    assert "somebody else has to" in session.state(ann)["waits"]
    session.leave(ann)
    again = GradingSession(mf.load_study(storage, "cases"), same)
    back, other = again.join("Ann"), again.join("Bo")
    assert again.state(back)["task"] is None
    again.grade(other, again.state(other)["task"]["name"], 0)
    again.leave(other)
    found = agreement(results_with_notes(study))
    assert [one["person"] for one in found["people"]] == ["Ann", "Bo"]
    assert found["pairs"] == [{"people": ["Ann", "Bo"], "both": 1, "same": 0, "mean_difference": 1.0}]


def test_the_last_grade_can_be_undone_until_it_is_told(study):
    play_judge(study)
    clock = Clock()
    session = GradingSession(study, show, clock)
    person = session.join("Ann")
    first = session.state(person)["task"]
    session.grade(person, first["name"], 3)
    assert session.state(person)["undo"]
    assert not results_with_notes(study)
    session.undo(person)
    assert session.state(person)["task"] == first
    session.grade(person, first["name"], 7)
    clock.now = _grading_session.UNDO_SECONDS
    assert not session.state(person)["undo"]
    with pytest.raises(StudyError, match="it is too late"):
        session.undo(person)
    assert [noted.reward for noted in results_with_notes(study)] == [pytest.approx(7 / 9)]
    with pytest.raises(StudyError, match="no longer asked"):
        session.grade(person, first["name"], 1)
    with pytest.raises(InvalidInput, match="one of the 10"):
        session.grade(person, session.state(person)["task"]["name"], 10)


def test_leases_are_renewed_while_somebody_is_there_and_given_back_after(study):
    play_judge(study)
    clock = Clock()
    session = GradingSession(study, show, clock)
    ann, bo = session.join("Ann"), session.join("Bo")
    task = session.state(ann)["task"]
    before = dict(study.current().round.leases)
    clock.now = _grading_session.LEASE_SECONDS / 2
    session.state(bo)
    after = study.current().round.leases
    assert all(after[place][0] > before[place][0] for place in before)
    session.leave(ann)  # in the middle: what was open goes to others
    for _ in range(20):
        shown = session.state(bo)["task"]
        if shown is None or shown["item"] == task["item"]:
            break
        session.grade(bo, shown["name"], 5)
    assert shown is None or shown["item"] == task["item"]
    session.leave(bo)
    assert not study.current().round.leases
    with pytest.raises(StudyError, match="load the page again"):
        session.person(ann.key)


def test_when_the_answer_is_there_nobody_is_asked_any_more(storage):
    problem = mf.Problem(["a", "b"], [mf.Fidelity("human", 1.0, by="people")], blocks=4)
    study = mf.create_study(problem, storage=storage, name="short", width=8)
    clock = Clock()
    session = GradingSession(mf.load_study(storage, "short"), show, clock)
    person = session.join("Ann")
    assert session.state(person)["task"]
    for number in range(8):
        study.tell(number, float(number % 2))
        if study.done:
            break
        study.ask(8, people=True)
    assert study.done
    clock.now = 2.0
    state = session.state(person)
    assert (state["task"], state["status"]) == (None, "certified")


def test_two_answers_are_shown_in_any_order():
    problem = mf.Problem(["a", "b"], [mf.Fidelity("human", 1.0, by="people")], reward="bernoulli")
    study = mf.create_study(problem, width=64, storage=MemoryStorage())
    while study.view().pulls < 100:  # so many may be out then that nobody waits for a grade that can be undone
        study.tell_all([(pull, 1.0) for pull in study.ask(64, people=True)])
    session = GradingSession(study, lambda pull: {"item": str(pull.id), "answers": [f"{pull.arm} own", "the other"]})
    person, orders = session.join("Ann"), set()
    for _ in range(30):
        task = session.state(person)["task"]
        own = 0 if task["answers"][0].endswith("own") else 1
        orders.add(own)
        assert task["grades"] == ["the first is better", "the second is better"]
        session.grade(person, task["name"], own)
    session.leave(person)
    assert orders == {0, 1}
    assert {noted.reward for noted in results_with_notes(study)} == {1.0}


def test_what_is_shown_comes_from_a_file(tmp_path, study):
    path = tmp_path / "show.jsonl"
    lines = [{"block": n, "item": f"question {n}", "format": "markdown"} for n in range(40)]
    lines += [{"block": n, "arm": "secret good", "answer": "42"} for n in range(40)]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    play_judge(study)
    pulls = study.ask(4, people=True)
    good = next(pull for pull in pulls if pull.arm == "secret good")
    shown = shown_for(CaseFile(path), good, study.problem.reward)
    assert (shown.item, shown.answers, shown.markdown) == (f"question {good.block}", ("42",), True)
    path.write_text('{"item": "no block"}\n{"what": 1}\n')
    with pytest.raises(InvalidInput, match="line 2 of what to show"):
        CaseFile(path)
    with pytest.raises(InvalidInput, match="cannot be read"):
        CaseFile(tmp_path / "nothing")
    cases = tmp_path / "cases.jsonl"
    cases.write_text("".join(json.dumps({"arm": "secret good", "item": n, "answer": n}) + "\n" for n in range(9)))
    found = CaseFile(cases)
    assert found(good) == found(good)
    poor = next(pull for pull in pulls if pull.arm != "secret good")
    with pytest.raises(InvalidInput, match="nothing to show for arm 'secret poor'"):
        found(poor)


@pytest.mark.parametrize(
    ("kind", "labels"),
    [(mf.Bernoulli(), "bad good"), (mf.Bounded(1, 5), "1 2 3 4 5"), (mf.Bounded(0, 1), "0 1 2 3 4 5 6 7 8 9")],
)
def test_grades_suit_the_rewards(kind, labels):
    found = shown_for(lambda pull: {"item": "x"}, None, kind)
    assert [label for label, _ in found.grades] == labels.split()
    assert (min(found.grades, key=lambda x: x[1])[1], max(x for _, x in found.grades)) == (kind.low, kind.high)
    for wrong in ({"only": 1}, 3, [1, 2], {"a": "b", "c": "d"}):
        with pytest.raises(InvalidInput, match="2 to 10 labels"):
            shown_for(lambda pull, wrong=wrong: {"item": "x", "grades": wrong}, None, kind)
    with pytest.raises(InvalidInput, match="grades must stand for rewards from"):
        shown_for(lambda pull: {"item": "x", "grades": {"a": 1, "b": 7}}, None, kind)


def test_what_cannot_be_shown_is_no_fault_of_a_pull(study):
    play_judge(study)
    session = GradingSession(study, lambda pull: 1 / 0)
    state = session.state(session.join("Ann"))
    assert state["task"] is None
    assert "cannot be shown" in state["waits"]
    assert not study.current().failures


def test_a_link_for_people_opens_nothing_else(make_client, study):
    play_judge(study)
    keys = Keys(TOKEN, "open")
    token = keys.grade_token("graded")
    people = make_client(show=show, reading="token", base_url="http://192.0.2.1")
    here = {"Origin": "http://192.0.2.1"}
    assert people.get("/api/grade/graded/events?person=Ann").status_code == 401
    for wrong in (keys.grade_token("other"), "x", None):
        assert people.post("/api/grade/graded/login", json={"token": wrong}, headers=here).status_code == 401
    answer = people.post("/api/grade/graded/login", json={"token": token}, headers=here)
    assert {"HttpOnly", "SameSite=strict"} <= set(answer.headers["set-cookie"].split("; "))
    assert people.get("/api/studies/graded").status_code == 401
    assert people.get("/api/studies/graded", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    assert people.post("/api/studies/graded/ask", headers=here).status_code == 401
    assert people.get("/api/grade/graded/owner").status_code == 401
    assert people.post("/api/grade/graded/give", json={}, headers={"Origin": "http://evil.example"}).status_code == 403
    lost = people.post("/api/grade/graded/give", json={"person": "x"}, headers=here)
    assert (lost.status_code, lost.json()["error"]) == (409, "the connection was lost: load the page again")
    assert people.get("/api/grade/graded/events?person=%20").status_code == 400
    owner = make_client({"Authorization": f"Bearer {TOKEN}"}, show=show)
    found = owner.get("/api/grade/graded/owner").json()
    assert found == {"link": f"/grade/graded#token={token}", "there": [], "people": [], "pairs": []}
    assert make_client(show=show).get("/api/grade/graded/owner").status_code == 401
    nothing = make_client({"Authorization": f"Bearer {TOKEN}"}).post("/api/grade/graded/undo", json={})
    assert "nobody has said what to show" in nothing.json()["error"]
    assert make_client(token=None).post("/api/grade/graded/login", json={}, headers={"Origin": HERE}).status_code == 403


def test_judging_says_itself_what_people_are_shown(storage):
    asked = []
    judge = Grader("judge", lambda answer, item: 0.9 if "long" in answer else 0.2, price=0.01, bias=0.4)
    people = Grader("people", None, price=0.5, by="people")
    judging = Judging({"a": "short", "b": "long"}, range(12), [judge, people], respond=lambda c, item: f"{c} to {item}")
    found = []
    options = {"storage": storage, "name": "judged", "width": 8, "progress": False}
    running = threading.Thread(target=lambda: found.append(judging.identify(**options)))
    running.start()
    while "judged" not in storage.headers():
        time.sleep(0.01)
    session = GradingSession(mf.load_study(storage, "judged"), judging.show)
    person = session.join("Ann")
    while running.is_alive():
        task = session.state(person)["task"]
        if task is None:
            time.sleep(0.01)
            continue
        asked.append((task["item"], *task["answers"]))
        session.grade(person, task["name"], 8 if task["answers"][0].startswith("long") else 2)
        if session.state(person)["task"] is None:
            session._tell(person)
    running.join()
    assert (found[0].best, found[0].status) == ("b", "certified")
    counted = sum(arm.pulls["people"] for arm in found[0].arms)
    judged = 0.01 * sum(arm.pulls["judge"] for arm in found[0].arms)
    # What people graded while the study ended is paid for, too.
    assert 0.5 * counted + judged <= found[0].cost + 1e-9 <= 0.5 * len(asked) + judged + 2e-9
    assert counted
    assert all(answer in (f"short to {item}", f"long to {item}") for item, answer in asked)


def test_people_who_judge_are_refused_where_they_cannot_be_asked():
    people = Grader("people", None, price=0.5, by="people")
    judging = Judging(["a", "b"], range(5), [people])
    with pytest.raises(InvalidInput, match="compare adds a margin"):
        judging.compare("a", "b", progress=False)
    with pytest.raises(InvalidInput, match="people grade each answer once in a race"):
        judging.identify(policy="lucb-top:independent=true", progress=False)
    with pytest.raises(InvalidInput, match="need no function"):
        Grader("people", lambda answer, item: 1.0, price=0.5, by="people")
    with pytest.raises(InvalidInput, match="must be 'people'"):
        Grader("people", None, price=0.5, by="robots")
