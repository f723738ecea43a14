"""Evaluations that never return, or want to end more than themselves."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import mfbandit as mf
from mfbandit.engines import Command
from mfbandit.errors import InvalidInput, StudyError


@pytest.fixture
def blocked():
    """Something to wait for, until the test is over."""
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.parametrize("engine", ["threads", "executor", "async", "blocked loop", "processes", "command"])
def test_an_evaluation_that_never_returns_fails_and_is_tried_again(
    make, alone, evaluators, tmp_path, blocked, caplog, engine
):
    hangs = evaluators.Once(tmp_path, [7, 30], lambda pull: blocked.wait())

    async def evaluate_later(pull):
        reward = evaluators.Once(tmp_path, [7, 30], lambda pull: stopped.append(pull))(pull)
        if stopped:
            stopped.clear()
            await asyncio.sleep(3600)
        return reward

    async def block(pull):
        return hangs(pull)

    stopped = []
    options = {"timeout": 0.2, "progress": False, "workers": 2}
    study = make()
    if engine == "executor":
        with ThreadPoolExecutor(4) as pool:
            result = study.optimize(hangs, engine=pool, **options)
            blocked.set()
    elif engine == "processes":
        (tmp_path / "children").mkdir()
        sleepy = evaluators.Once(tmp_path, [7, 30], evaluators.Hang(tmp_path / "children"))
        result = study.optimize(sleepy, engine="processes", **{**options, "timeout": 1.0})
        _until(lambda: not evaluators.running(tmp_path / "children"))
        assert len(list((tmp_path / "children").iterdir())) == 2
    elif engine == "command":
        script = f"[ $1 = 7 ] && mkdir {tmp_path}/7 2>/dev/null && sleep 3600; echo 0.5"
        study = make(30.0)
        result = study.optimize(Command(["sh", "-c", script, "sh", "{id}"]), **options)
        assert result.status == "max_cost"
        assert "sh took longer than 0.2 s and was ended" in caplog.text
        return
    else:
        result = study.optimize({"threads": hangs, "async": evaluate_later, "blocked loop": block}[engine], **options)
    assert {"7", "30"} <= {path.name for path in tmp_path.iterdir()}
    assert result == alone()
    # One that blocks the loop takes its neighbour with it.
    late = sum("failed: the evaluation took longer than" in line for line in caplog.messages)
    assert late == (4 if engine == "blocked loop" else 2)


def test_what_always_takes_too_long_is_named_as_such(make, blocked):
    result = make(retries=0).optimize(lambda pull: blocked.wait(), timeout=0.05, progress=False)
    assert result.status == "failed"
    assert "with: the evaluation took longer than 0.05 s" in result.reasons[0]


def test_time_in_the_queue_of_an_executor_does_not_count(make, evaluators, caplog):
    def evaluate(pull):
        time.sleep(0.02)
        return evaluators.noisy(pull)

    with ThreadPoolExecutor(1) as pool:
        make(60.0).optimize(evaluate, workers=20, engine=pool, timeout=0.2, progress=False)
    assert "took longer" not in caplog.text


def test_an_executor_full_of_what_never_returns_ends_the_run(make, alone, evaluators, blocked):
    study = make()
    with ThreadPoolExecutor(2) as pool:
        with pytest.raises(StudyError, match="no place left: 2 evaluations that took too long still run"):
            study.optimize(lambda pull: blocked.wait(), workers=4, engine=pool, timeout=0.1, progress=False)
        blocked.set()
    assert study.optimize(evaluators.noisy, progress=False).status == "max_cost"


def test_an_executor_that_does_not_say_when_it_begins(make, blocked):
    class Mute(Executor):
        def submit(self, function, /, *arguments, **options):
            return Future()

    result = make(retries=0).optimize(lambda pull: 0.5, engine=Mute(), timeout=0.05, progress=False)
    assert result.status == "failed"


def test_late_rewards_do_not_count(make, evaluators, blocked):
    """A second attempt of a pull is under way when the first one returns."""
    began, study = [], make(20.0)

    def evaluate(pull):
        if pull.id != 3:
            return evaluators.noisy(pull)
        began.append(pull)
        if len(began) == 1:
            blocked.wait(5)
            return 1.0
        blocked.set()
        time.sleep(0.05)
        return 0.0

    study.optimize(evaluate, timeout=0.3, progress=False)
    assert len(began) == 2
    assert study.to_frame()["reward"][3] == 0.0


@pytest.mark.parametrize("error", [SystemExit("the judge left"), KeyboardInterrupt("the judge left")])
@pytest.mark.parametrize("depth", ["coroutine", "task", "function", "awaitable"])
def test_an_evaluation_that_wants_to_end_the_program_only_fails(
    make, alone, evaluators, tmp_path, caplog, error, depth
):
    def leave(pull):
        raise error

    leaves = evaluators.Once(tmp_path, [5, 40], leave)

    async def evaluate(pull):
        return leaves(pull)

    async def with_task(pull):
        return await asyncio.create_task(evaluate(pull))

    chosen = {"coroutine": evaluate, "task": with_task, "function": leaves, "awaitable": lambda pull: evaluate(pull)}
    found = []
    # A thread of its own: should it hang, the tests do not.
    thread = threading.Thread(
        target=lambda: found.append(make().optimize(chosen[depth], workers=4, progress=False)), daemon=True
    )
    thread.start()
    thread.join(20)
    assert found == [alone()]
    assert f"failed: {type(error).__name__}: the judge left" in caplog.text


@pytest.mark.parametrize("engine", ["processes", "executor"])
def test_errors_that_cannot_be_sent_are_described_where_they_are_raised(make, evaluators, engine):
    with ProcessPoolExecutor(1) as pool:
        chosen = pool if engine == "executor" else "processes"
        result = make(retries=0).optimize(evaluators.busy, engine=chosen, progress=False)
        assert "with: Unsendable: busy" in result.reasons[0]
        result = make(retries=0).optimize(evaluators.leave, engine=chosen, progress=False)
        assert "with: SystemExit: the judge left" in result.reasons[0]


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at /proc")
def test_processes_do_not_outlive_the_study(evaluators, tmp_path):
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import mfbandit as mf, pull_evaluators\n"
        "if __name__ == '__main__':\n"
        "    problem = mf.Problem(['a', 'b'], [('exact', 1.0, 0.0)])\n"
        "    mf.identify(problem, pull_evaluators.Hang(sys.argv[2]), engine='processes', progress=False)\n"
    )
    (tmp_path / "program.py").write_text(program)
    process = subprocess.Popen(
        [sys.executable, tmp_path / "program.py", os.path.dirname(evaluators.__file__), tmp_path]
    )
    _until(lambda: evaluators.running(tmp_path))
    process.kill()
    process.wait()
    _until(lambda: not evaluators.running(tmp_path))


def _until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("timeout", [0, -1.0, "1s", True, float("nan"), float("inf")])
def test_bad_timeouts_are_refused(timeout):
    problem = mf.Problem(["a", "b"], [("exact", 1.0, 0.0)])
    with pytest.raises(InvalidInput, match="timeout must be a number > 0, got"):
        mf.identify(problem, lambda pull: 0.5, timeout=timeout, progress=False)
    with pytest.raises(InvalidInput, match="timeout must be a number > 0, got"):
        mf.allocate(problem, lambda pull: 0.5, 10.0, timeout=timeout, progress=False)
