"""The guarantee itself: how often the best arm of a race on blocks is ever beaten, looked at after every block."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

_FILE = Path(__file__).parents[2] / "benchmarks" / "blocks_errors.py"
_SPEC = importlib.util.spec_from_file_location("blocks_errors", _FILE)
blocks_errors = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(blocks_errors)

#: 1,000 runs of each kind, a quarter of them with each correlation.
RUNS = 250
#: So unlikely must an excess be before it is called one; there are 56 comparisons.
_LEVEL = 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.0, 0.05])
@pytest.mark.parametrize("kind", blocks_errors.KINDS)
def test_the_best_arm_is_rarely_beaten(kind, gap, times):
    each = RUNS * times
    parts = [blocks_errors.levels(kind, rho, gap, each, seed=3) for rho in blocks_errors.CORRELATIONS]
    for delta in blocks_errors.DELTAS:
        wrong = [int((found <= math.log(delta)).sum()) for found in parts]
        for runs, count in ((each, max(wrong)), (each * len(parts), sum(wrong))):
            assert binomtest(count, runs, delta, alternative="greater").pvalue > _LEVEL, (kind, delta, wrong)


def test_the_test_can_fail():
    """Evidence that is counted where it must not be, past cells that were left out, is found."""
    rewards = (blocks_errors.correlated(np.random.default_rng(1), 400, 240, 0.0) > 0).astype(float)
    # Whoever passes over the blocks on which the best arm did well.
    worst = np.argsort(rewards[:, 0], axis=1, kind="stable")[:, None]
    chosen = np.take_along_axis(rewards, worst, axis=2)[:, :, :100]
    found = blocks_errors.bounded_levels(chosen, np.zeros(400, dtype=np.int64), 0, 0.0)
    assert (found <= math.log(0.05)).mean() > 0.9
