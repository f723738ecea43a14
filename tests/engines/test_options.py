"""Options as objects say the same as the keywords that they stand for, and not both at once."""

from __future__ import annotations

import inspect

import pytest

import mfbandit as mf
from mfbandit.errors import InvalidInput

PROBLEM = mf.Problem(["a", "b"], [("quick", 1.0, 0.1), ("exact", 2.0, 0.0)])


def evaluate(pull: mf.Pull) -> float:
    return 0.9 if pull.arm == "b" else 0.2


def test_objects_set_what_the_keywords_set() -> None:
    failures, alarm = mf.Failures(retries=4, then="retire"), mf.BiasAlarm(level=0.01, then="widen")
    old = mf.create_study(PROBLEM, retries=4, on_failure="retire", alarm_level=0.01, on_violation="widen")
    assert mf.create_study(PROBLEM, failures=failures, bias_alarm=alarm).settings == old.settings
    plain = mf.create_study(PROBLEM).settings
    assert mf.create_study(PROBLEM, failures=mf.Failures(), bias_alarm=mf.BiasAlarm()).settings == plain
    assert (plain.retries, plain.on_failure, plain.on_violation, plain.alarm_level) == (2, "stop", "ignore", 0.05)


@pytest.mark.parametrize(("call", "more"), [(mf.identify, {}), (mf.allocate, {"budget": 50.0})])
def test_runs_take_them_too(call, more) -> None:
    failures = mf.Failures(retries=0, then="retire", patience=0.0, timeout=5.0)
    result = call(PROBLEM, evaluate, failures=failures, bias_alarm=mf.BiasAlarm(), progress=False, **more)
    old = call(PROBLEM, evaluate, retries=0, on_failure="retire", failure_patience=0, timeout=5, progress=False, **more)
    assert result == old
    for function in (mf.create_study, call):
        assert {"failures", "bias_alarm", "retries", "on_failure", "alarm_level"} <= set(
            inspect.signature(function).parameters
        )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"failures": mf.Failures(), "retries": 3}, r"failures and retries are both given, retries=3: pass failures="),
        ({"failures": mf.Failures(), "on_failure": "retire"}, r"pass failures=Failures\(then='retire'\) alone"),
        ({"bias_alarm": mf.BiasAlarm(), "alarm_level": 0.1}, r"pass bias_alarm=BiasAlarm\(level=0.1\) alone"),
        ({"failures": 3}, "failures must be a Failures, got 3"),
        ({"retries": -1}, "retries must be a whole number >= 0, got -1"),
        ({"on_failure": "hope"}, "on_failure must be one of stop, retire, worst, got 'hope'"),
    ],
)
def test_both_at_once_and_bad_values_are_refused(options, says) -> None:
    with pytest.raises(InvalidInput, match=says):
        mf.create_study(PROBLEM, **options)
    with pytest.raises(InvalidInput, match=says):
        mf.identify(PROBLEM, evaluate, progress=False, **options)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: mf.Failures(retries=-1), "retries of Failures must be a whole number >= 0, got -1"),
        (lambda: mf.Failures(then="hope"), "then of Failures must be one of stop, retire, worst, got 'hope'"),
        (lambda: mf.Failures(patience=-1.0), "patience of Failures must be a number >= 0, got -1.0"),
        (lambda: mf.Failures(timeout=0), "timeout of Failures must be a number of seconds > 0, or None, got 0"),
        (lambda: mf.BiasAlarm(level=1.0), "level of BiasAlarm must lie strictly between 0 and 1, got 1.0"),
        (lambda: mf.BiasAlarm(then="hope"), "then of BiasAlarm must be one of ignore, stop, drop, widen"),
    ],
)
def test_objects_refuse_bad_values(make, says) -> None:
    with pytest.raises(InvalidInput, match=says):
        make()


def test_a_study_refuses_what_only_a_run_can_do() -> None:
    with pytest.raises(InvalidInput, match="timeout and patience of failures are for identify, allocate"):
        mf.create_study(PROBLEM, failures=mf.Failures(timeout=3.0))


def test_resources_are_said_once() -> None:
    with pytest.raises(InvalidInput, match="engine and resources say the same"):
        mf.identify(PROBLEM, evaluate, engine=mf.Ray(), resources={"quick": {"num_cpus": 0}}, progress=False)
    with pytest.raises(InvalidInput, match="resources name the unknown fidelity 'human'"):
        mf.identify(PROBLEM, evaluate, engine=mf.Ray(resources={"human": {}}), progress=False)
