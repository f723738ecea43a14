"""What a search says while it runs and when it ends: warnings, and bounds that go with its metric."""

import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'mfbandit[sklearn]'")

from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import GroupKFold, GroupShuffleSplit
from sklearn.tree import DecisionTreeClassifier

from mfbandit.errors import InvalidInput
from mfbandit.sklearn import MultiFidelitySearchCV

pytestmark = pytest.mark.filterwarnings("ignore:the answer is not certified")


def search(estimator=None, grid=None, **settings):
    settings = {"cv": 5, "random_state": 0, **settings}
    tree = DecisionTreeClassifier(random_state=0)
    return MultiFidelitySearchCV(estimator or tree, grid or {"max_depth": [1, 2, 3]}, **settings)


def heard(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in found]


def test_an_answer_without_a_certificate_is_told_of(iris):
    with pytest.warns(ConvergenceWarning, match="not certified: ended by max_cost=3; by how much another") as told:
        search(max_cost=3).fit(*iris)
    assert told[0].filename == __file__
    with pytest.warns(
        ConvergenceWarning, match=r"no candidate is better than 'max_depth=\d' by more than 0\.\d+, with"
    ):
        search(max_cost=40, epsilon=0.0).fit(*iris)
    assert heard(lambda: search(epsilon=0.1).fit(*iris)) == []


def test_groups_are_not_torn_apart(iris):
    groups = np.arange(150) % 30
    for settings, said in (
        ({"cv": 4}, r"but cv=4 draws .*GroupShuffleSplit\(test_size=0.25\), .* cv=GroupKFold\(4\)"),
        ({"cv": None}, r"but a random split draws .* cv=GroupKFold\(5\)"),
    ):
        with pytest.raises(InvalidInput, match=said):
            search(**settings).fit(*iris, groups=groups)
    kept = search(cv=None, splitter=GroupShuffleSplit(test_size=0.2), epsilon=0.1).fit(*iris, groups=groups)
    assert kept.result_.status == "certified"
    assert search(cv=GroupKFold(5)).fit(*iris, groups=groups).n_splits_ == 5


def test_differences_lie_within_the_range_of_the_metric(iris):
    table = search(max_cost=6).fit(*iris).cv_results_
    ridge = search(Ridge(), {"alpha": [0.1, 1e4]}, max_cost=4).fit(*load_diabetes(return_X_y=True))
    assert (min(table["difference_low"]), max(table["difference_high"])) == (-1.0, 1.0)
    assert max(ridge.cv_results_["difference_high"]) == np.inf  # nobody knows how low r2 can be


def test_equal_candidates_differ_by_nothing(iris):
    table = search(grid={"max_depth": [2], "max_leaf_nodes": [4, 5, 6]}, epsilon=0.02).fit(*iris).cv_results_
    assert set(table["difference"]) == {0.0}


def test_an_epsilon_for_another_metric_is_told_of():
    X, y = load_diabetes(return_X_y=True)
    settings = {"scoring": "neg_mean_squared_error", "max_cost": 30}
    said = r"scores differ by about \d+ from split to split, but epsilon is 0.01 \(the default\)"
    with pytest.warns(UserWarning, match=said):
        search(Ridge(), {"alpha": [0.1, 1.0, 10.0]}, **settings).fit(X, y)
    for stated in ({"epsilon": 0.01}, {"scoring": "r2"}):
        told = heard(lambda stated=stated: search(Ridge(), {"alpha": [0.1, 1.0]}, **{**settings, **stated}).fit(X, y))
        assert not [one for one in told if "state epsilon" in one]


class Interrupting(DecisionTreeClassifier):
    """Ends the search in one of its fits."""

    left = 0

    def fit(self, X, y, check_input=True):  # which scikit-learn 1.6 expects
        Interrupting.left -= 1
        if Interrupting.left == 0:
            raise KeyboardInterrupt
        return super().fit(X, y)


def test_ctrl_c_ends_a_search_with_the_answer_so_far(iris):
    Interrupting.left = 11
    with pytest.warns(ConvergenceWarning, match="ended by an interrupt, and a search cannot be gone on with"):
        found = search(Interrupting(random_state=0)).fit(*iris)
    assert (found.result_.status, found.result_.pulls, found.n_fits_) == ("cancelled", 10, 10)
    assert found.best_params_ in found.cv_results_["params"]
    assert found.predict(iris[0]).shape == (150,)
    Interrupting.left = 1
    with pytest.raises(KeyboardInterrupt):
        search(Interrupting(random_state=0)).fit(*iris)


def test_what_the_last_fit_took_is_kept(iris):
    assert search(max_cost=3).fit(*iris).refit_time_ > 0
    assert not hasattr(search(max_cost=3, refit=False).fit(*iris), "refit_time_")
