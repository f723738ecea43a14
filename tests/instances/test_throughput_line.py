"""The line of three stations in benchmarks, against the same line simulated event by event."""

import importlib.util
import sys
from collections import deque
from pathlib import Path

import numpy as np
import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "throughput_line.py"


@pytest.fixture(scope="module")
def line():
    spec = importlib.util.spec_from_file_location("throughput_line", FILE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["throughput_line"] = module
    spec.loader.exec_module(module)
    return module


def leaves(times, rooms):
    """When jobs leave the last of three stations, time going from one event to the next."""
    jobs = len(times)
    # At each station: who is served, until when, and who waits before it; room counts the one that is served, too.
    waiting = [deque(range(jobs)), deque(), deque()]
    served, until, done = [None] * 3, [np.inf] * 3, [False] * 3
    now, left = 0.0, []
    while len(left) < jobs:
        moved = True
        while moved:
            moved = False
            for s in (2, 1, 0):
                full = s < 2 and len(waiting[s + 1]) + (served[s + 1] is not None) >= rooms[s]
                if done[s] and not full:
                    if s < 2:
                        waiting[s + 1].append(served[s])
                    else:
                        left.append(now)
                    served[s], done[s], until[s], moved = None, False, np.inf, True
                if served[s] is None and waiting[s]:
                    served[s], moved = waiting[s].popleft(), True
                    until[s] = now + times[served[s], s]
        s = int(np.argmin(until))
        if until[s] < np.inf:
            now, done[s], until[s] = until[s], True, np.inf
    return left


@pytest.mark.parametrize("system", [(3, 2, 4, 1, 1), (2, 5, 1, 2, 3), (4, 2, 2, 3, 1), (1, 1, 1, 5, 4)])
def test_times_are_those_of_a_line_of_events(line, system):
    shared = np.random.default_rng(3).standard_exponential((line.JOBS + 20, 3))
    found = line.replicate(shared, np.array([system]), np.array([10, 20]))[0]
    times = leaves(shared / np.array(system[:3], dtype=float), system[3:])
    expected = [line.JOBS / (times[w + line.JOBS - 1] - times[w - 1]) for w in (10, 20)]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_batches_share_the_numbers_of_a_block(line):
    lines = line.systems(6, 4)
    problem = line.problem(lines, shorter=((10, 1.0),))
    assert problem.n_arms == len(lines) == 30
    assert problem.costs[0].tolist() == [60 / 2050, 1.0]
    pulls = [
        line.mf.Pull(i, problem.arms[k], "warm-up 10", 0.1, 0, 0, k, 0, "", 0, seed)
        for i, (k, seed) in enumerate([(0, 5), (7, 5), (0, 6), (7, 6), (0, 5)])
    ]
    found = line.Simulator(lines)(pulls)
    assert found[0] == found[4] != found[2]
    alone = [line.Simulator(lines)([pull])[0] for pull in pulls]
    assert found == alone
