"""The guarantee of studies whose arms come and go, or whose delta changes, as somebody wants who sees the data."""

import importlib
import sys
from pathlib import Path

import pytest
from scipy.stats import binomtest

#: So unlikely must an excess be before it is called one.
LEVEL = 1e-4
#: Runs of each part; the benchmark makes thousands.
RUNS = {"arrivals": 40, "fitted": 100, "leader": 100, "chosen": 60, "joining": 8, "stricter": 8}
RUNS |= {"normal-arrivals": 20, "normal-fitted": 20, "normal-leader": 20, "normal-chosen": 20, "normal-joining": 2}


@pytest.fixture(scope="module")
def bench():
    folder = str(Path(__file__).parents[1] / "benchmarks")
    sys.path.insert(0, folder)
    try:
        yield importlib.import_module("changes")
    finally:
        sys.path.remove(folder)


@pytest.mark.slow
@pytest.mark.parametrize("part", RUNS)
def test_the_best_of_those_there_is_beaten_no_more_often_than_delta(bench, times, part):
    found = bench.count(part, RUNS[part] * times, seed=7)
    assert binomtest(found.wrong, found.runs, bench.DELTA, alternative="greater").pvalue > LEVEL
    if part in ("arrivals", "fitted", "leader", "normal-fitted", "normal-leader"):
        # The rule that looks simpler is wrong far too often.
        assert binomtest(found.simple, found.runs, bench.DELTA, alternative="greater").pvalue < LEVEL
