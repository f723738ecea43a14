"""Progress: live on a terminal, plain lines elsewhere, silence when nobody wants it."""

import io
import math
import sys
import time

import pytest
from rich.console import Console

from mfbandit.study.run import _study_display as display
from mfbandit.study.state._remaining_cost import RemainingCost


@pytest.fixture
def played(make, evaluators):
    """A study in the middle."""
    study = make(900.0, name="two\nlines [bold]")

    def stop(view):
        if view.pulls >= 500:
            raise StopIteration

    study.optimize(evaluators.noisy, progress=False, callback=stop)
    return study


def test_short_runs_say_nothing_off_a_terminal(make, evaluators, capfd):
    make(30.0).optimize(evaluators.noisy, workers=2)
    assert capfd.readouterr() == ("", "")


def test_lines_tell_pulls_money_the_best_its_confidence_and_what_is_to_come(played, capsys):
    lines = display.Lines(played)
    view = played.view()
    lines.running = 3
    lines.show(view)
    said = capsys.readouterr().err
    assert said.startswith("two\\nlines [bold]: ")
    assert said.count("\n") == 1
    assert f"{view.pulls} pulls (3 running), spent {view.cost:g} of 900, {900 - view.cost:g} left" in said
    assert f"best {view.best}, " in said
    assert "confidence " in said
    assert "% (95% asked for)" in said
    assert lines.due > display._FIRST_LINE


def test_a_line_says_how_many_workers_are_busy_and_why_others_are_not(make, evaluators, capsys):
    study = make(policy="mf-toptwo", width=3)

    def said(running, age=None):
        lines = display.Lines(study)
        lines.workers, lines.running = 8, running
        lines.age = {}.get if age is None else {0: age}.get
        lines.show(study.view())
        return capsys.readouterr().err

    assert "(2 running)" in said(2)
    out = study.ask(8)
    assert "(3 of 8 workers busy; 5 wait: the study is 3 wide)" in said(3)
    slowest = out[0]
    while fast := [pull for pull in out if pull.id != slowest.id]:
        for pull in fast:
            study.tell(pull, evaluators.noisy(pull))
        out = [slowest, *study.ask(8)]
    assert "(1 of 8 workers busy; 7 wait: the slowest pull holds up the next plan (pull 0))" in said(1)
    assert "holds up the next plan (pull 0, 12 s))" in said(1, 12.3)
    assert "(8 running)" in said(8)
    lines = display.Lines(study)
    lines.workers, lines.running, lines.next_attempt = 2, 1, time.monotonic() + 5.1
    assert lines.busy(study.view()) == "1 of 2 workers busy; 1 waits: failed pulls are tried again in 5 s"


def test_the_time_to_go_is_measured_with_the_workers_there_are(played, monkeypatch, capsys):
    now = 100.0
    monkeypatch.setattr(display.time, "monotonic", lambda: now)
    lines, view = display.Lines(played), played.view()
    monkeypatch.setattr(lines.remaining_cost, "update", lambda cost, confidence: 250.0)
    now = 700.0
    lines.show(view)
    assert "about 250 to go, confidence" in capsys.readouterr().err, "nothing was spent in this run"
    # Half of the money was spent before, and half of it in these ten minutes.
    lines.pace._cost = view.cost / 2
    lines.show(view)
    assert f"about 250 to go, {250.0 / (view.cost / 2) * 10.0:.0f} min" in capsys.readouterr().err


def test_a_run_tells_its_display_who_is_busy(make, evaluators, monkeypatch):
    seen = []

    class Watch(display.Silent):
        def __exit__(self, *exception):
            seen.append((self.workers, self.age(0), self.next_attempt))

    monkeypatch.setattr("mfbandit.study.run._run_loop.make_display", lambda study, wanted: Watch())
    make(30.0).optimize(evaluators.noisy, workers=4)
    assert seen == [(4, None, float("inf"))]


def test_lines_come_less_and_less_often(played, monkeypatch):
    now = 0.0
    monkeypatch.setattr(display.time, "monotonic", lambda: now)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    lines = display.Lines(played)
    times = []
    for _ in range(6):
        now = lines.due
        times.append(now)
        lines.show(played.view())
    assert times == [5.0, 15.0, 35.0, 75.0, 135.0, 195.0]


def test_the_live_picture(played, monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(display, "_console", lambda: Console(file=screen, force_terminal=True, width=120))
    with display.Live(played) as live:
        live.running = 2
        live.show(played.view())
        live.say("ending")
    said = screen.getvalue()
    assert "two\\nlines [bold]" in said
    assert "confidence" in said
    assert "2 running" in said
    assert "ending" in said


def test_a_terminal_gets_the_live_picture(make, evaluators, monkeypatch):
    monkeypatch.setattr(display, "_PATIENCE", 0.0)
    screen = io.StringIO()
    monkeypatch.setattr(display, "_console", lambda: Console(file=screen, force_terminal=True, width=120))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)

    def wait(view):
        while "pulls" not in screen.getvalue():
            time.sleep(0.001)

    make(30.0).optimize(evaluators.noisy, callback=wait)
    assert "pulls" in screen.getvalue()


def test_a_budget_has_no_confidence_to_reach(make, evaluators, capsys):
    study = make(None, policy="elimination", budget=200.0)
    study.optimize(evaluators.noisy, progress=False)
    display.Lines(study).show(study.view())
    said = capsys.readouterr().err
    assert "100% of the budget" in said
    assert "confidence" not in said


def test_the_outlook_finds_where_evidence_that_grows_steadily_gets_there():
    remaining_cost = RemainingCost(ways=4, delta=0.05)
    needed = math.log(4 / 0.05)
    found = []
    for cost in range(1, 100):
        evidence = 0.06 * cost - 0.5
        confidence = max(0.0, 1.0 - 4 * math.exp(-evidence))
        found.append(remaining_cost.update(float(cost), confidence))
    end = (needed + 0.5) / 0.06
    known = [place for place, ahead in enumerate(found) if ahead is not None]
    assert known[0] > 20  # nothing is said while nothing is known
    last = known[-1]
    assert found[last] + last + 1 == pytest.approx(end, rel=0.05)
    assert all(found[place] > 0 for place in known)


def test_the_outlook_says_nothing_of_evidence_that_shrinks():
    remaining_cost = RemainingCost(ways=1, delta=0.05)
    assert remaining_cost.update(10.0, 0.5) is not None
    assert remaining_cost.update(30.0, 0.1) is None
    assert remaining_cost.share(0.95) == pytest.approx(1.0)
    assert remaining_cost.share(1.0) == 1.0
    assert remaining_cost.share(0.0) == 0.0
