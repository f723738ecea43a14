import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'mfbandit[sklearn]'")

from mfbandit.search import subset
from mfbandit.search._candidates import candidate_names, list_candidates
from mfbandit.search._rungs import Rung, list_rungs, with_costs
from mfbandit.search._search_pilot import forecast_saving, pilot_size


def test_names_differ_even_where_settings_print_alike():
    class Odd:
        def __repr__(self):
            return "odd" * 40

    names = candidate_names([{"a": Odd()}, {"a": Odd()}, {"a": np.float64(0.5)}])
    assert len(set(names)) == 3
    assert names[1].endswith("(2)")
    assert names[2] == "a=0.5"


def test_equal_candidates_are_one():
    found = list_candidates({"a": [1, 1, 2]}, None, None, np.random.RandomState(0))
    assert found == [{"a": 1}, {"a": 2}]


def test_a_schedule_leaves_out_what_is_too_little():
    assert [rung.size for rung in list_rungs("n_samples", 4, 3, 60, 6)] == [7, 20, 60]
    assert [rung.size for rung in list_rungs("n_samples", 3, 3, 5, 6)] == [5]


def test_amounts_that_come_to_the_same_are_one_rung():
    assert len(list_rungs("n_samples", [0.50, 0.501, 1.0], 3, 100, 2)) == 2


def test_shares_follow_the_split():
    half, whole, fixed = Rung(0.5, 50, ""), Rung(1.0, 100, ""), Rung(40, 40, "")
    assert [rung.samples(80) for rung in (half, whole, fixed)] == [40, 80, 40]


def test_costs_are_in_fits_at_the_truest_fidelity():
    rungs = list_rungs("n_samples", [25, 100], 3, 100, 2)
    assert with_costs(rungs, None) == [0.25, 1.0]
    assert with_costs(rungs, [1, 3]) == [1.0, 3.0]


def test_every_class_is_in_every_subset():
    y = np.array(["rare"] * 2 + ["common"] * 98)
    for seed in range(20):
        picked = subset(np.arange(100), y, 5, seed, True)
        assert len(set(picked)) == 5
        assert set(y[picked]) == {"rare", "common"}
    assert (subset(np.arange(100), y, 100, 0, True) == np.arange(100)).all()


def test_the_pilot_is_as_small_as_the_promise_allows():
    from mfbandit.calibration import calibrate

    repeats = np.random.default_rng(0).uniform(size=(pilot_size(0.9), 2, 3))
    assert calibrate(repeats, noise="normal").informed
    with pytest.raises(ValueError, match="at least 11"):
        calibrate(repeats[1:], noise="normal")


def test_a_pilot_of_pairs_is_as_small_as_the_promise_allows():
    from mfbandit.calibration import calibrate

    repeats = np.random.default_rng(0).uniform(size=(pilot_size(0.9, pairs=True), 2, 3))
    found = calibrate(repeats, noise="normal", paired=True, common_offset=True)
    assert found.pair_biases == tuple(2 * bias for bias in found.biases)
    with pytest.raises(ValueError, match="at least 22"):
        calibrate(repeats[1:], noise="normal", paired=True, common_offset=True)


def test_a_cheap_rung_is_forecast_to_pay_only_where_gaps_are_large():
    rng = np.random.default_rng(0)
    gaps = np.linspace(0.0, 0.5, 20)
    scores = (0.9 - gaps)[:, None, None] + rng.normal(0, 0.02, (20, 2, 4))
    small, large, useless = (forecast_saving(scores, bound, 0, 0.05, 9.0) for bound in (0.02, 0.2, 0.6))
    assert 0.7 < small < 1.0
    assert 0.3 < large < 0.6
    assert useless < 0.0
    assert forecast_saving(scores, 0.02, 0, 0.5, 9.0) < 0.1


def test_a_twentieth_is_cheap_enough_for_any_number_of_candidates():
    import mfbandit as mf

    for arms in (3, 199, 200, 201):
        lanes = [mf.Fidelity("few samples", 0.05, 0.1, pair_bias=0.05), mf.Fidelity("all samples", 1.0)]
        study = mf.create_study(mf.Problem(arms, lanes, mf.Gaussian(), blocks="unlimited"))
        assert study.ask()[0].fidelity == "few samples"
