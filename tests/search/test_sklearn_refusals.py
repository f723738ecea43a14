"""What a search refuses, in a sentence: settings, scores and fits."""

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'mfbandit[sklearn]'")

from sklearn.datasets import make_regression
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier

import mfbandit as mf
from mfbandit.calibration import calibrate
from mfbandit.errors import InvalidInput, RewardError
from mfbandit.sklearn import MultiFidelitySearchCV

#: Tests end early, and say so on every line.
pytestmark = pytest.mark.filterwarnings("ignore:the answer is not certified")

GRID = {"max_depth": [1, 3]}


def fitted(data, **settings):
    settings = {"param_grid": GRID, "biases": 0.3, "random_state": 0, "max_cost": 30, **settings}
    return MultiFidelitySearchCV(DecisionTreeClassifier(random_state=0), **settings).fit(*data)


def nan_scorer(estimator, X, y):
    return float("nan")


class Broken(DecisionTreeClassifier):
    def fit(self, X, y, check_input=True, **rest):
        raise RuntimeError("no fit today")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"param_grid": {"max_depth": []}}, "param_grid cannot be used: .*'max_depth'"),
        ({"param_grid": []}, "there are no candidates: the grid is empty"),
        ({"param_grid": None}, "give either param_grid or param_distributions, got neither"),
        ({"param_distributions": GRID}, "got both"),
        ({"n_candidates": 3}, "n_candidates=3 goes with param_distributions"),
        ({"param_grid": None, "param_distributions": GRID}, "need n_candidates, a whole number >= 1"),
        ({"fidelities": [50, 500]}, "ask for 500 training samples, but a split leaves only 112"),
        ({"fidelities": [0.001, 1.0]}, "a share of 0.001 of 112 samples: that is none"),
        ({"fidelities": []}, "fidelities are empty"),
        ({"fidelities": [-1]}, "amounts > 0 of the resource, got -1"),
        ({"fidelities": [1.5]}, "a share is at most 1.0"),
        ({"fidelities": 0}, "a number >= 1 of them, got 0"),
        ({"factor": 1}, "factor must be a number > 1, got 1"),
        (
            {"resource": "n_trees"},
            "resource must be 'n_samples' or a parameter of the estimator, got 'n_trees'",
        ),
        ({"resource": "max_depth"}, "'max_depth' is among the parameters to search"),
        ({"resource": "min_samples_leaf", "fidelities": [1, 2], "biases": [0.1, 0.1]}, "must be 0"),
        ({"resource": "max_leaf_nodes"}, "own max_leaf_nodes is None"),
        ({"biases": [0.1, 0.1, 0.1, 0.0]}, "biases are 4 numbers for 3 fidelities"),
        ({"biases": lambda samples: -1.0}, "it must be one number of at least 0"),
        ({"biases": "guess"}, "a Calibration or 'calibrate', got 'guess'"),
        ({"biases": "calibrate", "pilot": 2}, "pilot must be a whole number >= 22"),
        ({"biases": "calibrate", "bias_confidence": 2}, "bias_confidence must lie strictly between 0 and 1"),
        ({"costs": [1.0]}, "costs are 1 numbers for 3 fidelities"),
        ({"score_range": (1, 0)}, "low must be below high"),
        ({"score_range": "wide"}, "score_range must be .*, got 'wide'"),
        ({"scoring": ["accuracy", "f1"]}, "scoring must be one metric"),
        ({"error_score": "ignore"}, "error_score must be 'raise' or a finite number"),
        ({"score_range": mf.Gaussian(0.1)}, r"score_range is Gaussian\(sigma=0.1\), .*: leave sigma out"),
        ({"biases": "calibrate", "pilot_repeats": 1}, "pilot_repeats must be a whole number >= 2"),
        ({"refit": lambda results: 0}, "refit must be True or False, got <function"),
        ({"refit": "accuracy"}, "refit must be True or False, got 'accuracy'"),
        ({"epsilon": "a"}, "epsilon must be a number >= 0, in units of the score, got 'a'"),
        ({"error_score": float("nan")}, "must be 'raise' or a finite number, got nan: .* such as 0 for an accuracy"),
        ({"cv": 0.2}, r"cv must be a whole number, .* got 0.2 \(test_size=0.2 leaves a share for scoring\)"),
        ({"policy": "best"}, "no policy is called 'best'"),
        ({"policy": "mf-toptwo"}, "mf-toptwo takes the rewards .* independent=True"),
        ({"policy": "mf-toptwo:independent=true"}, r"declare their range, as Bounded\(low, high\)"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(iris, settings, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        fitted(iris, **settings)


def test_scores_that_are_none(iris):
    with pytest.raises(RewardError, match=r"score of candidate 'max_depth=\d' at .* samples is nan"):
        fitted(iris, scoring=nan_scorer)
    with pytest.raises(RewardError, match=r"outside score_range \(0, 1\): state the range"):
        fitted(iris, scoring="neg_log_loss", score_range=(0, 1))
    clipped = fitted(iris, scoring="neg_log_loss", score_range=(-2, 0), clip=True, biases=1.0)
    assert clipped.cv_results_["mean_test_score"].max() <= 0.0


def test_fits_that_fail(iris):
    broken = MultiFidelitySearchCV(Broken(), GRID, fidelities=1, max_cost=3, refit=False)
    with pytest.raises(RuntimeError, match="no fit today"):
        broken.fit(*iris)
    assert broken.set_params(error_score=0.0).fit(*iris).best_score_ == 0.0


def test_a_calibration_must_fit(iris):
    means = np.array([[0.6, 0.8]] * 20)
    with pytest.raises(InvalidInput, match="the calibration is for 2 fidelities"):
        fitted(iris, biases=calibrate(means, noise="none"))
    shifted = calibrate(means, noise="none", common_offset=True)
    with pytest.raises(InvalidInput, match="common offset"):
        fitted(iris, fidelities=2, biases=shifted, policy="mf-toptwo:independent=true", score_range=(0, 1))


def test_a_search_warns_if_the_truth_is_about_few_samples(iris):
    with pytest.warns(UserWarning, match="the truest fidelity is 20 samples of 112, and the answer is about fits"):
        fitted(iris, fidelities=[10, 20], max_cost=3)


def test_no_answer_is_a_candidate_that_was_never_fitted():
    X, y = make_regression(80, 5, noise=5.0, random_state=0)
    grid = {"alpha": [0.1, 1.0, 10.0]}
    scoring = "neg_root_mean_squared_error"
    found = MultiFidelitySearchCV(Ridge(), grid, scoring=scoring, max_cost=3, random_state=0).fit(X, y)
    assert found.result_.status == "max_cost"
    assert found.cv_results_["n_fits"][found.best_index_] > 0
    assert found.best_score_ < 0.0
    assert found.cv_results_["rank_test_score"][found.best_index_] == 1
