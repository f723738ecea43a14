"""The guarantee of whole races on blocks: equal arms, permuted test sets, centred scores, and a sampler that chases."""

import importlib
import math
import sys
from pathlib import Path

import pytest

import mfbandit as mf

#: So unlikely must an excess be before it is called one; there are about a hundred comparisons.
LEVEL = 1e-4
#: As many races as find a rate of errors of twice delta with a probability of 0.99, by delta.
RUNS = {0.2: 250, 0.05: 1_000}


@pytest.fixture(scope="module")
def bench():
    folder = str(Path(__file__).parents[1] / "benchmarks")
    sys.path.insert(0, folder)
    try:
        yield importlib.import_module("blocks_guarantee")
    finally:
        sys.path.remove(folder)


@pytest.fixture(scope="module")
def runs(times):
    """How many races are run, by delta."""
    return {delta: count * times for delta, count in RUNS.items()}


@pytest.fixture(scope="module")
def data(bench):
    module = importlib.import_module("blocks_data")
    if not module.names():
        pytest.skip("the recorded data sets are not beside the checkout")
    return module


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.2, 0.05])
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.95, -0.5])
@pytest.mark.parametrize("kind", ["0/1", "normal"])
def test_the_best_of_nearly_equal_arms_is_rarely_beaten(bench, kind, rho, delta, runs):
    for arms, last in ((2, 300), (5, 100)):
        count = bench.null_count(kind, arms, rho, gap=1e-6, delta=delta, runs=runs[delta], last=last)
        assert count.chance > LEVEL, count


@pytest.mark.slow
@pytest.mark.parametrize("rho", [0.5, -0.5])
@pytest.mark.parametrize("kind", ["0/1", "normal"])
def test_the_best_of_many_arms_is_rarely_beaten(bench, kind, rho, runs):
    for delta in (0.2, 0.05):
        count = bench.null_count(kind, 50, rho, gap=1e-6, delta=delta, runs=runs[delta], last=30)
        assert count.chance > LEVEL, count


def test_many_arms_with_an_epsilon_are_rarely_wrong(bench, times):
    """The leader has a process of its own from 51 arms on."""
    for delta in (0.2, 0.05):
        count = bench.near_count("normal", 0.5, "a third", delta=delta, runs=100 * times)
        assert count.chance > LEVEL, count


def test_what_is_beaten_is_seen(bench):
    """The count of beaten arms is not 0 by construction: an arm that is far behind is always in it."""
    problem = mf.Problem(5, [("only", 1.0)], "bernoulli", blocks="unlimited")
    race = mf.Instance(problem, [[0.9], [0.89], [0.1], [0.2], [0.3]], mf.BlockEffectLaw(0.5))
    runs = mf.simulate(race, trials=100, seed=1, max_pulls=600, policy=bench.TOGETHER)
    assert bench.beaten(runs, 2).all()
    assert not bench.beaten(runs, 0).any()


@pytest.mark.parametrize("name", ["prompts_antonyms", "prompts_taxonomy_animal", "swebench_pro", "wmt21_ted_ende"])
def test_races_on_permuted_sets_are_rarely_wrong(bench, data, name, runs):
    instance = data.load(name)
    for epsilon, delta in ((0.0, 0.2), (0.0, 0.05), (0.01, 0.2)):
        count = bench.permuted_count(instance, epsilon=epsilon, delta=delta, runs=runs[delta])
        assert count.chance > LEVEL, count


def test_permuted_sets_are_what_they_say(bench, data):
    instance = data.load("realsumm_abs")
    mixed, other = (bench.permuted(instance, seed) for seed in (1, 2))
    assert mixed.law.values.shape == (8, 1, 100)
    assert mixed != other
    assert abs(mixed.truth - mixed.truth.mean()).max() < 0.5 * abs(instance.truth - instance.truth.mean()).max()


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.2, 0.05])
def test_centred_scores_on_most_sets(bench, data, delta, runs):
    """Normality is an assumption: four of five sets must keep to delta with the default caution."""
    instances = [data.load(name) for name in (*bench.CENTRED, "realsumm_abs")]
    count = min(runs[delta], runs[0.05] // 2)
    counts = [bench.centred_count(one, caution=1.0, delta=delta, runs=count) for one in instances]
    kept = sum(count.chance > LEVEL for count in counts)
    assert kept >= 0.8 * len(counts), counts


@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("rho", [0.0, 0.5, 0.95, -0.5])
def test_whoever_chases_the_evidence_cell_by_cell_does_not_get_it(bench, rho, finite, runs):
    found = bench.chase(rho, runs[0.05], finite=finite)
    for delta in (0.2, 0.05):
        count = bench.Count("chased", f"rho {rho}", delta, int((found <= math.log(delta)).sum()), len(found))
        assert count.chance > LEVEL, count


@pytest.mark.parametrize(("finite", "deltas"), [(False, (0.05, 0.2)), (True, (0.05,))])
def test_whoever_declares_leaders_by_the_block_itself_is_found(bench, finite, deltas, runs):
    # Far more than delta where blocks never end, on 1 in 11 of finite sets.
    found = bench.chase(0.0, runs[0.05 if finite else 0.2], finite=finite, cheats=True)
    for delta in deltas:
        count = bench.Count("cheats", "", delta, int((found <= math.log(delta)).sum()), len(found))
        assert count.chance < LEVEL, count
