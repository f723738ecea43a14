"""Failures: how long they wait, and when they are nobody's own."""

import random
import threading
import time
from types import SimpleNamespace

import pytest

import mfbandit as mf
from mfbandit.errors import InvalidInput, StudyError
from mfbandit.study.run import _backoff as backoff
from mfbandit.study.run._backoff import Backoff
from mfbandit.workers import Failure

UNKNOWN = Failure("RuntimeError: 503", "unknown", None)
TEMPORARY = Failure("HTTPError: 503", "temporary", None)
LASTING = Failure("NameError: judge", "lasting", None)
BUG = Failure("KeyError: 'C'", "bug", None)


def pull(number, arm="a", fidelity="quick"):
    return SimpleNamespace(id=number, arm=arm, fidelity=fidelity, block=None)


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def waits(clock, monkeypatch):
    """A backoff with waits of up to 1, 2, 4, ... seconds."""
    monkeypatch.setattr(backoff, "FIRST_WAIT", 1.0)

    def make(patience=60.0, chance=lambda: 1.0):
        return Backoff(patience, clock, chance)

    return make


def test_waits_double_and_differ_from_worker_to_worker(waits, clock):
    found = []
    chance = random.Random(7)
    for _ in range(200):
        one = waits(chance=chance.random)
        found.append([])
        for _ in range(3):
            assert one.failed(pull(1), UNKNOWN, 9) == (0, None, False)
            found[-1].append(one.wait(pull(1)))
    for place, most in enumerate((1.0, 2.0, 4.0)):
        column = [row[place] for row in found]
        assert most / 2 <= min(column) < 0.55 * most
        assert 0.95 * most < max(column) <= most
    assert waits().wait(pull(2)) == 0.0


def test_waits_end_and_heed_what_an_error_asks_for(waits):
    one = waits(patience=100.0)
    for _ in range(50):
        one.failed(pull(1), UNKNOWN, 99)
    assert one.wait(pull(1)) == 60.0
    one.failed(pull(2), Failure("429", "temporary", 7.5), 9)
    assert one.wait(pull(2)) == 7.5
    one.failed(pull(2), Failure("429", "temporary", 1e9), 9)
    assert one.wait(pull(2)) == 100.0


def test_no_patience_means_no_waits_and_no_pauses(waits):
    one = waits(patience=0.0)
    for number in range(9):
        assert one.failed(pull(number, arm=str(number)), TEMPORARY, 0) == (1, None, False)
        assert one.wait(pull(number)) == 0.0
    assert one.until_probe() is None


def test_a_burst_over_several_arms_pauses_and_uses_no_more_retries(waits, clock):
    one = waits()
    assert one.failed(pull(1), UNKNOWN, 2) == (0, None, False)
    assert one.failed(pull(2), UNKNOWN, 2) == (0, None, False)
    verdict = one.failed(pull(3, "b"), UNKNOWN, 2)
    assert verdict.counted == 0
    assert verdict.said == (
        "evaluations fail one after another, the last with RuntimeError: 503: the study pauses, "
        "tries again in 1.0 s, and gives up after 60 s"
    )
    # What was out already tells nothing new.
    assert one.failed(pull(4, "b"), UNKNOWN, 0) == (0, None, False)
    assert one.until_probe() == 1.0
    for wait in (2.0, 4.0, 8.0):
        clock.now += one.until_probe()
        one.probe(pull(3, "b"))
        assert one.until_probe() == float("inf")
        assert one.failed(pull(3, "b"), UNKNOWN, 0) == (0, None, False)
        assert one.until_probe() == wait
    clock.now += 8.0
    assert one.succeeded(pull(3, "b")) == "evaluations succeed again: the study goes on after a pause of 15.0 s"
    assert one.until_probe() is None
    assert one.wait(pull(1)) == one.wait(pull(2)) == one.wait(pull(4)) == 0.0


def test_patience_ends_and_then_all_failures_count(waits, clock):
    one = waits(patience=10.0)
    for number, arm in enumerate("abc"):
        one.failed(pull(number, arm), UNKNOWN, 2)
    counted, steps = 0, []
    while not counted:
        steps.append(one.until_probe())
        clock.now += one.until_probe()
        one.probe(pull(2, "c"))
        counted, said, blameless = one.failed(pull(2, "c"), UNKNOWN, 2)
    assert (steps, clock.now) == ([1.0, 2.0, 4.0, 3.0], 10.0)
    assert counted == 5
    assert blameless
    assert said == "evaluations failed for 10.0 s: the study waits no longer"
    assert one.failed(pull(0, "a"), UNKNOWN, 1) == (2, None, False)
    assert one.wait(pull(0, "a")) == one.wait(pull(2, "c")) == 0.0


def test_an_arm_that_answers_only_that_it_is_busy_is_to_blame_in_the_end(waits, clock):
    one = waits(patience=10.0)
    one.succeeded(pull(0, "b"))
    for number in (1, 2, 3):
        one.failed(pull(number), TEMPORARY, 0)
    clock.now = 10.0
    assert one.failed(pull(1), TEMPORARY, 0) == (2, "evaluations failed for 10.0 s: the study waits no longer", False)
    # The next arm has its own patience.
    assert one.failed(pull(4, "c"), TEMPORARY, 0).counted == 0
    assert one.until_probe() == 1.0


def test_an_arm_that_never_worked_is_to_blame_alone(waits):
    one = waits()
    one.succeeded(pull(0, "b"))
    for number in range(1, 9):
        assert one.failed(pull(number), UNKNOWN, 0).counted == 1
    assert one.until_probe() is None


def test_nobody_is_to_blame_before_anything_worked(waits):
    one = waits()
    for number in (1, 2, 3):
        assert one.failed(pull(number), UNKNOWN, 1) == (0, None, False)
    assert one.until_probe() is None
    assert one.failed(pull(1), UNKNOWN, 1).counted == 0
    assert one.until_probe() == 1.0


def test_where_several_failed_no_others_are_tried_before_them(waits, clock):
    one = waits()
    for number in (1, 2, 3):
        assert one.wait(pull(9)) == 0.0
        one.failed(pull(number), UNKNOWN, 2)
    assert one.wait(pull(9)) == 2.0 > one.wait(pull(3))
    assert one.wait(pull(9, fidelity="exact")) == one.wait(pull(9, "b")) == 0.0
    clock.now = 1.0
    one.failed(pull(1), UNKNOWN, 1)
    assert one.wait(pull(9)) == 3.0
    one.succeeded(pull(2))
    assert one.wait(pull(9)) == 0.0


def test_a_broken_arm_is_not_evaluated_over_and_over(make, evaluators, monkeypatch):
    monkeypatch.setattr(backoff, "FIRST_WAIT", 0.3)
    tried = []

    def evaluate(pull):
        if pull.arm == "poor":
            tried.append(pull.id)
        return evaluators.fail_on_poor(pull)

    assert make(policy="lucb-c:batch=500", max_cost=None).optimize(evaluate, progress=False).status == "failed"
    assert len(set(tried)) == 3
    assert len(tried) <= 9


def test_a_pull_is_to_blame_if_others_succeed_meanwhile(waits, clock):
    one = waits()
    one.succeeded(pull(0))
    clock.now = 1.0
    one.failed(pull(1), UNKNOWN, 1)
    clock.now = 2.0
    one.succeeded(pull(2))
    clock.now = 3.0
    assert one.failed(pull(1), UNKNOWN, 1).counted == 2
    # The only one there is, of what worked before: the last retry is not used up.
    clock.now = 4.0
    one.failed(pull(3), UNKNOWN, 1)
    assert one.until_probe() is None
    assert one.failed(pull(3), UNKNOWN, 1).counted == 0
    assert one.until_probe() == 1.0


def test_an_error_that_will_pass_does_not_use_up_the_last_retry_before_patience_ends(waits, clock):
    one = waits()
    one.failed(pull(1), TEMPORARY, 1)
    clock.now = 1.0
    one.succeeded(pull(2, "b"))
    clock.now = 59.0
    assert one.failed(pull(1), TEMPORARY, 1).counted == 0
    assert one.until_probe() is None
    clock.now = 61.0
    assert one.failed(pull(1), TEMPORARY, 1).counted == 3


def test_errors_that_last_are_never_an_outage(waits):
    one = waits()
    for number, arm in enumerate("abcd"):
        assert one.failed(pull(number, arm), LASTING, 0).counted == 1
        assert one.wait(pull(number, arm)) == 0.0
    assert one.until_probe() is None


def test_a_mistake_in_code_is_no_outage_until_something_has_worked(waits):
    fresh, later, resumed = waits(), waits(), waits()
    later.succeeded(pull(9))
    resumed._bugs_last = False
    assert [fresh.failed(pull(number), BUG, 2 - number) for number in range(3)] == [(0, None, False)] * 2 + [
        (1, None, False)
    ]
    assert fresh.wait(pull(0)) == 0.0
    for one in (later, resumed):
        said = [one.failed(pull(number, arm), BUG, 2).said for number, arm in enumerate("abc")]
        assert said[2].startswith("evaluations fail one after another, the last with KeyError: 'C'")


def test_a_study_ends_without_a_pause_when_its_function_cannot_work(caplog):
    def evaluate(pull):
        return {}["C"]

    result = mf.identify(mf.Problem(["a", "b"], [("exact", 1.0, 0.0)]), evaluate, progress=False)
    assert result.status == "failed"
    assert "KeyError: 'C'" in result.sentence
    assert "the study pauses" not in caplog.text


class Outage:
    """A service that answers nothing but 503 for some calls."""

    def __init__(self, evaluate, first, length, error=RuntimeError):
        self.evaluate, self.outage, self.calls, self.error = evaluate, range(first, first + length), 0, error
        self.lock = threading.Lock()

    def __call__(self, pull):
        with self.lock:
            self.calls += 1
            call = self.calls
        if call in self.outage:
            raise self.error("503 Service Unavailable")
        if self.outage and call == self.outage[-1] + 1:
            time.sleep(0.2)  # the first success comes after all failures, also where threads wait for a core
        return self.evaluate(pull)


@pytest.mark.parametrize("workers", [1, 4])
@pytest.mark.parametrize("first", [1, 60])
@pytest.mark.parametrize("policy", ["lucb-c:batch=8", "mf-toptwo"])
def test_an_outage_pauses_the_study_and_changes_nothing(
    make, alone, evaluators, caplog, monkeypatch, workers, first, policy
):
    monkeypatch.setattr(backoff, "FIRST_WAIT", 0.05)
    study = make(policy=policy)
    service = Outage(evaluators.noisy, first, 7)
    result = study.optimize(service, workers=workers, progress=False)
    assert result == alone(policy=policy)
    assert sum("the study pauses" in line for line in caplog.messages) == 1


def test_an_outage_that_lasts_ends_the_study_as_failures_do(make, evaluators, caplog):
    study = make()
    service = Outage(evaluators.noisy, 60, 10**9)
    result = study.optimize(service, workers=4, progress=False, failure_patience=0.3)
    assert result.status == "failed"
    assert "RuntimeError: 503 Service Unavailable" in result.reasons[0]
    assert "the study waits no longer" in caplog.text
    service.outage = ()
    assert study.optimize(service, progress=False).status == "max_cost"


def test_an_outage_retires_no_arm(make, alone, evaluators):
    study = make(on_failure="retire")
    service = Outage(evaluators.noisy, 60, 10**9)
    with pytest.raises(StudyError, match=r"no arm is retired for it, run again to go on; .*503 Service Unavailable"):
        study.optimize(service, workers=4, progress=False, failure_patience=0.3)
    service.outage = ()
    assert study.optimize(service, progress=False) == alone(on_failure="retire")


def test_who_wants_no_retries_waits_for_none(make, evaluators, caplog):
    service = Outage(evaluators.noisy, 60, 10**9)
    assert make(retries=0).optimize(service, workers=4, progress=False).status == "failed"
    assert "pauses" not in caplog.text


@pytest.mark.parametrize("patience", [-1, "long", True, float("nan")])
def test_bad_patience_is_refused(make, patience):
    with pytest.raises(InvalidInput, match="failure_patience must be a number >= 0, got"):
        make().optimize(lambda pull: 0.5, failure_patience=patience)
