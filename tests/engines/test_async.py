"""Runs inside an event loop: it goes on, coroutines run in it, and whoever cancels a run ends it."""

import asyncio
import threading
import time

import pytest

import mfbandit as mf
from mfbandit.errors import StudyError

PROBLEM = mf.Problem(["a", "b"], [("quick", 1.0, 0.1), ("exact", 9.0, 0.0)])


def reward_of(pull):
    return {"a": 0.2, "b": 0.9}[pull.arm]


@pytest.mark.parametrize("make", ["identify_async", "optimize_async"])
def test_the_loop_goes_on_and_coroutines_run_in_it(make):
    async def main():
        loop, seen, lock = asyncio.get_running_loop(), set(), asyncio.Lock()

        async def evaluate(pull):
            async with lock:  # of this loop
                await asyncio.sleep(0.001)
            seen.add((asyncio.get_running_loop(), threading.current_thread()))
            return reward_of(pull)

        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        beside = asyncio.create_task(tick())
        if make == "identify_async":
            result = await mf.identify_async(PROBLEM, evaluate, workers=4, progress=False)
        else:
            result = await mf.create_study(PROBLEM).optimize_async(evaluate, workers=4, progress=False)
        beside.cancel()
        assert seen == {(loop, threading.main_thread())}
        assert ticks > 5
        return result

    result = asyncio.run(main())
    assert (result.best, result.status) == ("b", "certified")


def test_plain_functions_and_processes_run_elsewhere():
    async def main():
        return [
            await mf.identify_async(PROBLEM, reward_of, workers=2, engine=engine, progress=False)
            for engine in ("threads", "processes")
        ]

    assert [result.best for result in asyncio.run(main())] == ["b", "b"]


def test_whoever_cancels_a_run_ends_it_and_it_can_be_gone_on_with(tmp_path):
    study = mf.create_study(PROBLEM, storage=tmp_path / "study.db")
    began, ended = [], []

    async def slow(pull):
        began.append(pull)
        try:
            await asyncio.sleep(60.0)
        except asyncio.CancelledError:
            ended.append(pull)
            raise

    async def main():
        run = asyncio.create_task(study.optimize_async(slow, workers=2, progress=False))
        while not began:
            await asyncio.sleep(0.01)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        again = asyncio.create_task(study.optimize_async(slow, progress=False))
        again.cancel()  # before it has begun
        with pytest.raises(asyncio.CancelledError):
            await again

    start = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - start < 30.0
    assert ended == began
    assert study.status == "running"
    assert study.optimize(reward_of, progress=False).best == "b"


def test_errors_come_through():
    async def main(**options):
        return await mf.identify_async(PROBLEM, lambda pull: 7.0, progress=False, **options)

    with pytest.raises(mf.errors.RewardError, match="7"):
        asyncio.run(main())
    with pytest.raises(mf.errors.InvalidInput, match="use allocate"):
        asyncio.run(main(policy="mf-commit"))
    with pytest.raises(TypeError, match="wrokers"):
        asyncio.run(main(wrokers=3))


def test_a_call_that_would_block_the_loop_says_what_to_write():
    async def main(call):
        call()

    study = mf.create_study(PROBLEM)
    for call in (
        lambda: mf.identify(PROBLEM, reward_of, progress=False),
        lambda: study.optimize(reward_of, progress=False),
    ):
        with pytest.raises(StudyError, match=r"would stop it until the study is done: write 'await mf\.identify_async"):
            asyncio.run(main(call))
    assert study.cost == 0.0
