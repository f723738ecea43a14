"""Every engine takes the decisions of one worker, and survives what happens to evaluations."""

import asyncio
import os
import signal
import threading
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor

import pytest

import mfbandit as mf
from mfbandit.engines import allocate, identify
from mfbandit.errors import InvalidInput, RewardError, StudyError
from mfbandit.storage import MemoryStorage
from mfbandit.study import create_study, load_study
from mfbandit.study.run import _run_loop as loop


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_threads_decide_as_one_worker(make, alone, evaluators, workers):
    result = make().optimize(evaluators.noisy, workers=workers, progress=False)
    assert result == alone()
    assert result.status == "max_cost"


def test_processes_decide_as_one_worker(make, alone, evaluators):
    result = make().optimize(evaluators.noisy, workers=2, engine="processes", progress=False)
    assert result == alone()


def test_coroutines_run_at_once_in_one_thread(make, alone, evaluators):
    threads, running, most = set(), 0, 0

    async def evaluate(pull):
        nonlocal running, most
        running += 1
        most = max(most, running)
        threads.add(threading.current_thread().name)
        await asyncio.sleep(0.001)
        running -= 1
        return evaluators.noisy(pull)

    result = make().optimize(evaluate, workers=4, progress=False)
    assert result == alone()
    assert (len(threads), most) == (1, 4)


def test_coroutines_run_in_processes_too(make, alone, evaluators):
    result = make(20.0).optimize(evaluators.noisy_later, engine="processes", progress=False)
    assert result == alone(max_cost=20.0)


def test_a_function_may_return_a_coroutine(make, alone, evaluators):
    result = make(20.0).optimize(lambda pull: evaluators.noisy_later(pull), progress=False)
    assert result == alone(max_cost=20.0)


def test_any_executor_will_do_and_stays_open(make, alone, evaluators):
    with ThreadPoolExecutor(3) as pool:
        result = make().optimize(evaluators.noisy, workers=3, engine=pool, progress=False)
        assert result == alone()
        assert pool.submit(lambda: 5).result() == 5


def test_an_executor_that_breaks_ends_the_run_and_blames_no_pull(make, alone, evaluators, tmp_path):
    study = make()
    deadly = evaluators.Once(tmp_path, [30], evaluators.die)
    with ProcessPoolExecutor(2) as pool, pytest.raises(StudyError, match="executor is broken"):
        study.optimize(deadly, workers=2, engine=pool, progress=False)
    assert study.status == "running"
    assert study.optimize(deadly, progress=False) == alone()


def test_processes_that_die_take_nothing_with_them(make, alone, evaluators, tmp_path):
    deadly = evaluators.Once(tmp_path, [3, 40, 41], evaluators.die)
    result = make().optimize(deadly, workers=2, engine="processes", progress=False)
    assert len(list(tmp_path.iterdir())) == 3
    assert result == alone()


@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_failures_are_tried_again(make, alone, evaluators, tmp_path, engine):
    clumsy = evaluators.Once(tmp_path, range(0, 300, 40), evaluators.stumble)
    result = make().optimize(clumsy, workers=2, engine=engine, progress=False)
    assert len(list(tmp_path.iterdir())) == 8
    assert result == alone()


def test_a_failure_is_named_and_a_second_run_tries_again(make, alone, evaluators, caplog):
    study = make(retries=1)
    result = study.optimize(evaluators.fail_on_poor, workers=4, progress=False)
    assert result.status == "failed"
    assert "'poor' failed at fidelity 'quick' 2 times" in result.reasons[0]
    assert "LookupError: no\nsuch judge" in result.reasons[0]
    assert "arm 'poor' at fidelity 'quick' failed: LookupError: no such judge" in caplog.messages
    again = study.optimize(evaluators.noisy, workers=4, progress=False)
    assert again.arms == alone().arms
    assert again.status == "max_cost"


def test_an_arm_is_retired_and_its_evaluations_are_not_waited_for(make, evaluators):
    block = threading.Event()

    def evaluate(pull):
        if pull.arm == "poor" and pull.index == 1:
            block.wait()
        return evaluators.fail_on_poor(pull)

    study = make(retries=0, on_failure="retire")
    result = study.optimize(evaluate, workers=8, progress=False)
    block.set()
    assert result.status == "max_cost"
    assert set(result.retired) == {"poor"}


@pytest.mark.parametrize("on_failure", ["stop", "retire"])
@pytest.mark.parametrize("reward", [float("nan"), float("inf"), 2.0, "good", None])
def test_a_reward_that_is_none_ends_the_run_at_once(make, evaluators, reward, on_failure):
    paid = []

    def evaluate(pull):
        paid.append(pull)
        return reward

    study = make(retries=2, on_failure=on_failure)
    with pytest.raises(RewardError, match=r"arm '.*' at fidelity '.*': a reward must"):
        study.optimize(evaluate, progress=False)
    assert len(paid) == 1, "what is no reward would be none the next time"
    assert (study.status, study.cost, study.result().reasons, study.result().retired) == ("running", 0.0, (), {})
    assert study.ask(1) == paid, "the pull is open, and free at once"
    study.release(paid)
    assert study.optimize(evaluators.noisy, progress=False).status == "max_cost"


def test_results_of_the_others_count_when_a_reward_is_refused(make, evaluators):
    refused = threading.Event()

    def evaluate(pull):
        if pull.id == 2:
            refused.set()
            return "no number"
        refused.wait()
        time.sleep(0.05)
        return evaluators.noisy(pull)

    study = make()
    with pytest.raises(RewardError, match="a reward must be a number, got 'no number'"):
        study.optimize(evaluate, workers=4, progress=False)
    assert study.result().pulls == 3
    assert [pull.id for pull in study.ask(1)] == [2]


def test_max_cost_is_never_overspent(make, evaluators):
    paid = []

    def evaluate(pull):
        paid.append(pull.cost)
        return evaluators.noisy(pull)

    result = make(77.5).optimize(evaluate, workers=16, progress=False)
    assert sum(paid) == result.cost <= 77.5


def test_leases_are_renewed_while_an_evaluation_runs(make, evaluators, monkeypatch):
    monkeypatch.setattr(loop, "_LEASE_SECONDS", 0.05)
    study = make(20.0)
    late = []

    def evaluate(pull):
        if pull.id == 3:
            time.sleep(0.2)
            late.extend(load_study(study.storage).ask(100, lease_seconds=0.01))
        return evaluators.noisy(pull)

    study.optimize(evaluate, progress=False)
    assert 3 not in [pull.id for pull in late]


def test_another_worker_that_dies_is_waited_for_no_longer_than_its_lease(make, alone, evaluators):
    study = make()
    study.ask(3, lease_seconds=0.05)
    assert study.optimize(evaluators.noisy, workers=2, progress=False) == alone()


def interrupt(times):
    for place in range(times):
        if place:
            time.sleep(0.03)  # two signals at the same moment are one
        os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_ends_with_the_answer_so_far_and_a_second_run_goes_on(make, alone, evaluators):
    def evaluate(pull):
        if pull.id == 50:
            interrupt(1)
        return evaluators.noisy(pull)

    before = signal.getsignal(signal.SIGINT)
    study = make()
    result = study.optimize(evaluate, workers=4, progress=False)
    assert result.status == "cancelled"
    assert 40 < result.pulls < 80
    assert result.best in ("good", "fair")
    assert signal.getsignal(signal.SIGINT) is before
    assert study.optimize(evaluators.noisy, workers=2, progress=False) == alone()


@pytest.mark.parametrize("engine", ["threads", "processes", "async"])
def test_a_second_ctrl_c_leaves_what_runs(make, alone, evaluators, tmp_path, engine):
    study = make()
    block = threading.Event()

    def evaluate(pull):
        if pull.id == 50:
            interrupt(2)
            block.wait()
        return evaluators.noisy(pull)

    async def evaluate_later(pull):
        if pull.id == 50:
            interrupt(2)
            await asyncio.sleep(3600)
        return evaluators.noisy(pull)

    def look(view):
        if view.pulls >= 50:
            interrupt(2)

    began = time.monotonic()
    if engine == "processes":
        sleepy = evaluators.Once(tmp_path, [60], evaluators.hour)
        result = study.optimize(sleepy, workers=2, engine="processes", progress=False, callback=look)
    else:
        chosen = evaluate if engine == "threads" else evaluate_later
        result = study.optimize(chosen, workers=2, progress=False)
    assert result.status == "cancelled"
    # What was left running is handed out again at once.
    assert study.optimize(evaluators.noisy, progress=False) == alone()
    assert time.monotonic() - began < 10
    block.set()


def test_a_callback_sees_the_study_and_can_end_it(make, evaluators):
    seen = []

    def look(view):
        seen.append((view.pulls, view.cost))
        if view.pulls >= 24:
            raise StopIteration

    result = make().optimize(evaluators.noisy, progress=False, callback=look)
    assert result.status == "cancelled"
    assert seen == sorted(seen)
    assert seen[-1] == (24, 24.0)


def test_what_a_callback_raises_comes_through_and_nothing_stays_leased(make, alone, evaluators):
    def look(view):
        raise ZeroDivisionError

    study = make()
    with pytest.raises(ZeroDivisionError):
        study.optimize(evaluators.noisy, workers=4, progress=False, callback=look)
    assert study.optimize(evaluators.noisy, progress=False) == alone()


def test_it_runs_in_any_thread(make, alone, evaluators):
    found = []
    thread = threading.Thread(target=lambda: found.append(make().optimize(evaluators.noisy, workers=2, progress=False)))
    thread.start()
    thread.join()
    assert found == [alone()]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers must be a whole number >= 1, got 0"),
        ({"workers": 1.5}, "workers must be"),
        ({"engine": "thread"}, "did you mean 'threads'"),
        ({"engine": Executor}, "engine must be one of"),
        ({"callback": 3}, "callback must be a function"),
        ({"resources": {"quick": {"num_cpus": 1}}}, "resources are for engine='ray'"),
        ({"engine": "processes"}, "cannot be sent to other processes"),
    ],
)
def test_bad_options_are_refused_before_anything_is_asked(make, options, message):
    study = make()
    with pytest.raises(InvalidInput, match=message):
        study.optimize(lambda pull: 0.5, **options)
    assert study.current().asked == 0


def test_an_evaluate_that_is_no_function_is_refused(make):
    with pytest.raises(InvalidInput, match="evaluate must be a function"):
        make().optimize(0.5)


PAIR = mf.Problem(["a", "b"], [("quick", 1.0, 0.1), ("exact", 4.0, 0.0)])
REWARDS = {"a": 0.2, "b": 0.9}


def test_identify_resumes_and_refuses_another_problem_or_other_settings():
    options = {"storage": MemoryStorage(), "progress": False, "policy": "lucb-c"}
    calls = []

    def evaluate(pull):
        calls.append(pull.id)
        return REWARDS[pull.arm]

    def stop(view):
        if view.pulls >= 20:
            raise StopIteration

    first = identify(PAIR, evaluate, callback=stop, **options)
    assert (first.status, first.pulls) == ("cancelled", 20)
    result = identify(PAIR, evaluate, **options)
    assert (result.status, result.best) == ("certified", "b")
    assert calls == list(range(result.pulls))
    with pytest.raises(StudyError, match=r"delta=0\.05, not 0\.1"):
        identify(PAIR, evaluate, delta=0.1, **options)
    with pytest.raises(StudyError, match="another problem"):
        identify(mf.Problem(["a", "c"], [("quick", 1.0, 0.0)]), evaluate, **options)
    with pytest.raises(InvalidInput, match="use allocate"):
        identify(PAIR, evaluate, **{**options, "policy": "elimination"})


def test_allocate_spends_a_budget():
    options = {"storage": MemoryStorage(), "progress": False}
    result = allocate(PAIR, lambda pull: REWARDS[pull.arm], 700.0, workers=4, **options)
    assert (result.status, result.cost, result.best) == ("budget", 700.0, "b")
    assert allocate(PAIR, lambda pull: 1 / 0, 700.0, **options) == result
    with pytest.raises(InvalidInput, match="use identify"):
        allocate(PAIR, lambda pull: 0.5, 700.0, policy="lucb-c")


def test_a_study_that_is_done_asks_for_nothing():
    study = create_study(PAIR, policy="lucb-c", max_cost=4.0)
    study.optimize(lambda pull: 0.5, progress=False)
    assert study.optimize(lambda pull: 1 / 0, progress=False).status == "max_cost"


def test_a_process_that_is_no_longer_wanted_is_ended(make, evaluators, tmp_path):
    study = make(retries=0, on_failure="retire", max_cost=60.0)
    sleepy = evaluators.Once(tmp_path, range(300), evaluators.poor_sleeps_then_fails)
    began = time.monotonic()
    result = study.optimize(sleepy, workers=3, engine="processes", progress=False)
    assert set(result.retired) == {"poor"}
    assert time.monotonic() - began < 30
