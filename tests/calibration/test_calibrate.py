"""Bias bounds from data: ranks are exact, promised coverage holds, and what cannot be promised is refused."""

import csv
import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.calibration import Calibration, calibrate
from mfbandit.calibration._pilot_data import read_pilot
from mfbandit.errors import InvalidInput
from mfbandit.tables import read_table

SHARED = Path(__file__).parents[3] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="the shared data sets are not beside this checkout")


def covered(hits: int, trials: int, confidence: float) -> bool:
    """Whether an exact binomial test finds nothing wrong with the promise."""
    return bool(binomtest(hits, trials, confidence, alternative="less").pvalue > 0.01)


def exact(biases):
    """A pilot whose arms have exactly these biases."""
    biases = np.asarray(biases, dtype=float)
    return np.stack([0.5 + biases, np.full(len(biases), 0.5)], axis=1)


@pytest.mark.parametrize(
    ("arms", "confidence", "rank"), [(9, 0.9, 9), (19, 0.9, 18), (10, 0.9, 10), (99, 0.95, 95), (4, 0.5, 3)]
)
def test_exact_means_give_the_order_statistic(arms, confidence, rank):
    biases = np.random.default_rng(1).permutation(np.arange(1, arms + 1)) / 1000
    found = calibrate(exact(biases), confidence=confidence, noise="none")
    assert found.biases[0] == pytest.approx(rank / 1000)
    assert found.biases[1] == 0.0


def test_tasks_weigh_alike():
    # Nine tasks of one arm with bias 0.1 and one of a hundred arms with bias 0.3.
    biases = [0.1] * 9 + [0.3] * 100
    tasks = [*range(9), *["large"] * 100]
    assert calibrate(exact(biases), tasks=tasks, confidence=0.8, noise="none").biases[0] == pytest.approx(0.1)
    assert calibrate(exact(biases), confidence=0.8, noise="none").biases[0] == pytest.approx(0.3)


def test_both_signs_count_and_an_offset_is_found():
    biases = np.linspace(-0.02, 0.10, 99)
    assert calibrate(exact(biases), confidence=0.96, noise="none").biases[0] == pytest.approx(biases[95], abs=1e-9)
    found = calibrate(exact(biases), confidence=0.96, noise="none", common_offset=True)
    assert found.offsets[0] == pytest.approx(0.04)
    assert found.biases[0] == pytest.approx((biases[97] - biases[1]) / 2)


def test_noise_is_paid_for():
    rng = np.random.default_rng(3)
    repeats = exact(rng.uniform(-0.02, 0.02, 40))[:, :, np.newaxis] + rng.normal(0.0, 0.1, (40, 2, 10))
    bounds = {noise: calibrate(repeats, noise=noise).biases[0] for noise in ("normal", "symmetric", "bounded")}
    assert 0.05 < bounds["normal"] < 0.2
    assert bounds["symmetric"] > 0.05
    assert bounds["bounded"] > bounds["normal"]
    assert calibrate(repeats).noise == "normal"
    means = repeats.mean(axis=2)
    assert calibrate(means).noise == "symmetric"
    summary = calibrate(means, sds=repeats.std(axis=2, ddof=1), counts=10)
    assert summary.biases[0] == pytest.approx(bounds["normal"])


def draw_biases(rng, size):
    """Most arms are measured well, a few badly."""
    return np.where(rng.random(size) < 0.8, rng.normal(0.02, 0.01, size), rng.uniform(-0.2, 0.2, size))


@pytest.mark.parametrize(
    ("noise", "repeats", "common_offset"),
    [("normal", 3, False), ("symmetric", 2, False), ("normal", 5, True), ("none", 200, False)],
)
def test_new_arms_are_covered(noise, repeats, common_offset, times):
    rng, trials, confidence = np.random.default_rng(5), 600 * times, 0.8
    hits = 0
    for _ in range(trials):
        biases = draw_biases(rng, 26)
        noisy = exact(biases[:-1])[:, :, np.newaxis] + rng.normal(0.0, 0.02, (25, 2, repeats))
        found = calibrate(
            noisy, confidence=confidence, noise=noise, common_offset=common_offset, reward=mf.Gaussian(0.02)
        )
        hits += abs(biases[-1] - found.offsets[0]) <= found.biases[0] + (1e-3 if noise == "none" else 0.0)
    assert covered(hits, trials, confidence)
    assert hits / trials < 0.97, "the bound is not empty"


def test_coins_are_covered_with_nothing_but_their_range_known(times):
    rng, trials = np.random.default_rng(6), 150 * times
    hits = 0
    for _ in range(trials):
        truth = rng.uniform(0.01, 0.9, 12)
        means = np.stack([np.clip(truth + draw_biases(rng, 12), 0.0, 1.0), truth], axis=1)
        counts = 30
        seen = rng.binomial(counts, means[:-1]) / counts
        sds = np.sqrt(seen * (1 - seen) * counts / (counts - 1))
        found = calibrate(seen, sds=sds, counts=counts, noise="bounded", confidence=0.8)
        hits += abs(means[-1, 0] - means[-1, 1]) <= found.biases[0]
    assert covered(hits, trials, 0.8)


def test_new_tasks_are_covered(times):
    # Arms of a task share their bias: counting arms instead of tasks would promise too much.
    rng, trials, confidence = np.random.default_rng(7), 500 * times, 0.75
    hits, careless = 0, 0
    for _ in range(trials):
        shared = np.abs(draw_biases(rng, 9))
        biases = (shared[:, np.newaxis] + rng.uniform(0.0, 0.005, (9, 12))).ravel()
        noisy = exact(biases[:96])[:, :, np.newaxis] + rng.normal(0.0, 0.01, (96, 2, 4))
        tasks = np.repeat(np.arange(8), 12)
        new = abs(biases[96 + rng.integers(12)])
        hits += new <= calibrate(noisy, tasks=tasks, confidence=confidence).biases[0]
        careless += new <= calibrate(exact(biases[:96]), confidence=confidence, noise="none").biases[0]
    assert covered(hits, trials, confidence)
    assert careless < hits


def lcdb_tasks(shares):
    """Means, spreads and counts of learners at shares of the full training set, one array per data set."""
    found = []
    for path in sorted(SHARED.glob("lcdb_*/curves.csv")):
        curves: dict[str, dict[int, tuple[float, float, float]]] = {}
        with path.open() as file:
            for row in csv.DictReader(file):
                curve = curves.setdefault(row["arm"], {})
                curve[int(row["size_train"])] = (float(row["mean"]), float(row["sd"]), float(row["n"]))
        full = max(size for curve in curves.values() for size in curve)
        complete = [curve for curve in curves.values() if full in curve]
        found.append(
            np.array(
                [
                    [curve[min(curve, key=lambda size: abs(math.log(size / (share * full))))] for share in shares]
                    for curve in complete
                ]
            )
        )
    return found


@needs_shared
def test_learning_curves_of_unseen_data_sets_are_covered():
    tasks = lcdb_tasks((1 / 64, 1 / 16, 1 / 4, 1))
    assert len(tasks) == 7
    confidence, hits, arms = 0.8, np.zeros(3, dtype=int), 0
    for held_out, unseen in enumerate(tasks):
        kept = [task for number, task in enumerate(tasks) if number != held_out]
        seen = np.concatenate(kept)
        labels = np.repeat(np.arange(6), [len(task) for task in kept])
        found = calibrate(seen[:, :, 0], sds=seen[:, :, 1], counts=seen[:, :, 2], tasks=labels, confidence=confidence)
        biases = np.abs(unseen[:, :3, 0] - unseen[:, 3:, 0])
        hits += (biases <= np.array(found.biases[:3])).sum(axis=0)
        arms += len(unseen)
        assert found.biases[0] > found.biases[1] > found.biases[2] > 0.0
    for count in hits:
        assert covered(int(count), arms, confidence)


@needs_shared
@pytest.mark.parametrize("common_offset", [False, True])
def test_learners_left_out_of_a_pilot_are_covered(common_offset):
    rng, confidence = np.random.default_rng(8), 0.75
    hits, trials = 0, 0
    for name in ("lcdb_cmc", "lcdb_letter", "lcdb_mfeat-morphological", "lcdb_vehicle"):
        instance = mf.load_instance(SHARED / name)
        cells, truth = instance.law.cells, instance.truth
        for _ in range(60):
            order = rng.permutation(len(cells))
            # A pilot of a few rows per cell; the whole cells are the truth.
            pilot = np.array([[rng.choice(cell, 8) for cell in cells[k]] for k in order[:-1]])
            found = calibrate(pilot, confidence=confidence, common_offset=common_offset)
            bias = instance.means[order[-1]] - truth[order[-1]]
            hits += bool((np.abs(bias - found.offsets) <= np.array(found.biases))[0])
            trials += 1
    assert covered(hits, trials, confidence)


@needs_shared
def test_biases_like_those_of_all_learning_curves_are_covered():
    with (SHARED / "lcdb_bias_quantiles.csv").open() as file:
        rows = {row["bin"]: row for row in csv.DictReader(file)}
    levels = ("0.5", "0.75", "0.9", "0.95", "0.99")
    rng, trials, confidence = np.random.default_rng(9), 400, 0.9
    for name in ("(0.0312, 0.0625]", "(0.25, 0.5]"):
        values = [0.0, *(float(rows[name][level]) for level in levels), 1.0]
        chances = [0.0, *map(float, levels), 1.0]
        hits, bounds = 0, []
        for _ in range(trials):
            biases = np.interp(rng.random(31), chances, values) * rng.choice((-1.0, 1.0), 31)
            noisy = exact(biases[:-1])[:, :, np.newaxis] + rng.normal(0.0, 0.01, (30, 2, 5))
            found = calibrate(noisy, confidence=confidence, reward=mf.Gaussian(0.01))
            bounds.append(found.biases[0])
            hits += abs(biases[-1]) <= found.biases[0]
        assert covered(hits, trials, confidence)
        # The bound a user gets from thirty arms is near the quantile over thousands of curves.
        assert values[3] < np.median(bounds) < values[5]


def test_forms_of_data_agree():
    rng = np.random.default_rng(10)
    repeats = np.clip(exact(rng.uniform(-0.1, 0.1, 15))[:, :, np.newaxis] + rng.normal(0, 0.05, (15, 2, 6)), 0, 1)
    found = calibrate(repeats, fidelities=["x", "y"])
    rows = [(f"arm {k}", "xy"[m], float(r)) for (k, m, _), r in np.ndenumerate(repeats)]
    assert calibrate(rows) == found
    instance = read_table(rows, costs=[1, 5], biases="observed")
    assert calibrate(instance) == found
    ragged = np.concatenate([repeats, np.full((15, 2, 3), np.nan)], axis=2)
    assert calibrate(ragged, fidelities=["x", "y"]) == found
    swapped = calibrate(repeats[:, ::-1], fidelities=["y", "x"], truest="y")
    assert swapped.biases[::-1] == pytest.approx(found.biases)
    tasks = calibrate([instance] * 7, confidence=0.8)
    assert tasks.tasks == 7
    assert tasks.arms == 105


@pytest.mark.parametrize("repeats", [1, 2, 9, 200])
def test_cells_are_summed_up_alike_all_at_once_and_one_by_one(repeats):
    scores = np.asfortranarray(np.random.default_rng(8).random((6, 3, repeats)))
    options = dict.fromkeys(("sds", "counts", "tasks", "fidelities", "truest"))
    at_once = read_pilot(scores, reward=mf.Gaussian(), **options)
    lacking = np.concatenate([scores, np.full((6, 3, 1), np.nan)], axis=2)
    one_by_one = read_pilot(lacking, reward=mf.Gaussian(), **options)
    for name in ("means", "spreads", "counts"):
        assert getattr(at_once, name).tobytes() == getattr(one_by_one, name).tobytes()
    for mine, theirs in zip(at_once.cells, one_by_one.cells, strict=True):
        assert [cell.tolist() for cell in mine] == [cell.tolist() for cell in theirs]


def test_too_few_arms():
    with pytest.raises(InvalidInput, match=r"5 arms cannot promise a confidence of 0.9: at least 9 are needed"):
        calibrate(exact([0.1] * 5), noise="none")
    with pytest.raises(InvalidInput, match=r"at least 19 are needed, or a confidence of at most 0.666"):
        calibrate(exact([0.1] * 5), noise="none", common_offset=True)
    with pytest.raises(InvalidInput, match="2 tasks cannot promise"):
        calibrate(exact([0.1] * 50), noise="none", tasks=["a"] * 25 + ["b"] * 25)
    found = calibrate(exact([0.1] * 5), too_few="span", reward=mf.Bounded(0, 4))
    assert found.biases == (4.0, 0.0)
    assert not found.informed
    assert "too few to promise anything" in found.statement
    with pytest.raises(InvalidInput, match="at least 19 are needed"):
        calibrate(exact([0.1] * 5), too_few="span", reward=mf.Gaussian(1.0))


def test_the_largest_confidence_named_is_reachable():
    for arms in (3, 5, 12):
        with pytest.raises(InvalidInput) as caught:
            calibrate(exact([0.1] * arms), confidence=0.99, common_offset=True, noise="none")
        level = float(str(caught.value).rsplit(" ", 1)[1])
        assert calibrate(exact([0.1] * arms), confidence=level, common_offset=True, noise="none").informed


def test_use():
    found = calibrate(exact(np.linspace(0.05, 0.15, 40)), common_offset=True, fidelities=["judge", "human"])
    assert "after subtracting 0.1" in found.statement
    assert str(found) == found.statement
    problem = found.problem(["a", "b"], costs={"human": 1.0, "judge": 0.01})
    assert problem.fidelities[0] == mf.Fidelity("judge", 0.01, found.biases[0])
    assert problem.truest == 1
    offset = found.offsets[0]
    assert problem.reward == mf.Bounded(-offset, 1.0)
    evaluate = found.corrected(lambda pull: 0.7)
    assert evaluate(SimpleNamespace(fidelity="judge")) == pytest.approx(0.7 - offset)
    assert evaluate(SimpleNamespace(fidelity="human")) == 0.7
    with pytest.raises(InvalidInput, match="fidelity 'x' was not calibrated"):
        evaluate(SimpleNamespace(fidelity="x"))
    assert Calibration.from_json(json.loads(json.dumps(found.to_json()))) == found
    plain = calibrate(exact(np.linspace(0.05, 0.15, 40)))
    assert plain.problem(3, [1, 2]).reward == mf.Bounded()


def test_noise_as_an_object_says_the_same_as_its_keywords():
    rewards = np.random.default_rng(5).random((60, 2, 12))
    for noise in ("normal", "bounded"):
        keywords = {"noise": noise, "noise_risk": 0.02, "paired": True, "shared_items": noise == "bounded"}
        known = mf.PilotNoise(noise, risk=0.02, paired=True, shared_items=noise == "bounded")
        assert calibrate(rewards, noise=known, confidence=0.8) == calibrate(rewards, confidence=0.8, **keywords)
    assert calibrate(rewards, noise=mf.PilotNoise()) == calibrate(rewards)
    with pytest.raises(InvalidInput, match=r"noise and paired are both given.*PilotNoise\(paired=True\) alone"):
        calibrate(rewards, noise=mf.PilotNoise("normal"), paired=True)
    with pytest.raises(InvalidInput, match=r"noise must be one of normal, .*, got 'small'"):
        mf.PilotNoise("small")


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (exact([0.1] * 20), {"confidence": 1.0}, "confidence must lie strictly between 0 and 1, got 1.0"),
        (exact([0.1] * 20), {"noise": "small"}, "noise must be one of normal, bounded, symmetric, none"),
        (exact([0.1] * 20), {"noise": "normal"}, "normal noise is judged by sds and counts"),
        (exact([0.1] * 20), {"sds": 0.1}, "sds and counts belong together"),
        (exact([0.1] * 20), {"sds": 0.1, "counts": 1, "noise": "normal"}, "a cell has only one reward"),
        (exact([0.1] * 20), {"sds": -0.1, "counts": 3}, "sds must be at least 0, got -0.1"),
        (exact([0.1] * 20), {"sds": 0.1, "counts": 2.5}, "counts must be whole numbers"),
        (exact([0.1] * 20), {"sds": [0.1] * 3, "counts": 5}, r"sds have shape \(3,\); the pilot has shape"),
        (exact([0.1] * 20), {"tasks": [1, 2]}, "tasks name 2 arms; the pilot has 20"),
        (exact([0.1] * 20), {"truest": "human"}, "no fidelity 'human'"),
        (exact([0.1] * 20), {"truest": 2}, "truest must name one of the 2 fidelities, got 2"),
        (exact([0.1] * 20), {"fidelities": ["a"]}, "1 fidelity names for 2 columns"),
        (exact([0.1] * 20), {"too_few": "guess"}, "too_few must be 'refuse' or 'span'"),
        (exact([0.1] * 20), {"noise_risk": 0.0, "noise": "none"}, "noise_risk must lie strictly between"),
        (exact([math.nan]), {}, "holds nan at arm 0, fidelity 0"),
        (np.full((3, 2, 4), np.nan), {}, "the pilot has no reward of arm 0 at fidelity 0"),
        ([[0.1], [0.2]], {}, "the pilot has only 'fidelity 0'"),
        ([0.1, 0.2], {}, r"the pilot has shape \(2,\)"),
        (mf.load_instance("figure-1a"), {}, "calibration needs measured rewards"),
        (mf.load_instance("figure-1a"), {"sds": 0.1}, "sds are known from the instances"),
        ([("a", "x", 3.0)], {}, r"row 0: the reward of arm 'a' at fidelity 'x' is 3, outside \[0, 1\]"),
    ],
)
def test_bad_input(data, options, message):
    with pytest.raises(InvalidInput, match=message):
        calibrate(data, **options)
