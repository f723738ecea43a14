"""Tune a classifier
=================

Tune a classifier, know how sure the answer is, and see what it took beside a grid search.

Needs the extra: pip install 'mfbandit[sklearn]'
"""

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

from mfbandit.sklearn import MultiFidelitySearchCV

GRID = {"var_smoothing": [float(f"{x:.1g}") for x in np.logspace(-9, 1, 16)]}
FOLDS = 5


def tune(n_jobs: int = 1) -> MultiFidelitySearchCV:
    """Search a grid for a setting that is within 0.01 of the best, with confidence 0.95."""
    search = MultiFidelitySearchCV(
        GaussianNB(), GRID, cv=FOLDS, epsilon=0.01, delta=0.05, width=2, n_jobs=n_jobs, random_state=0
    )
    return search.fit(*load_digits(return_X_y=True))


def draw(search: MultiFidelitySearchCV) -> Figure:
    """Draw the scores of all settings, with bounds of their distance from the best."""
    table = search.cv_results_
    figure = Figure(figsize=(7.2, 3.2), layout="constrained")
    axes = figure.subplots()
    for place, setting in enumerate(table["params"]):
        ends = [search.best_score_ - table[f"difference_{end}"][place] for end in ("low", "high")]
        colour = "#0072B2" if place == search.best_index_ else "#8a8a8a"
        axes.plot([setting["var_smoothing"]] * 2, ends, color=colour, linewidth=3)
        axes.plot(setting["var_smoothing"], table["mean_test_score"][place], "o", color=colour, markersize=7)
    axes.set_xscale("log")
    axes.set_xlabel("var_smoothing (in colour: the answer)")
    axes.set_ylabel("accuracy")
    return figure


if __name__ == "__main__":
    search = tune()
    table = search.cv_results_
    print(f"Best setting: {search.best_params_}, accuracy {search.best_score_:.3f}")
    print(f"No other is better by more than 0.01: confidence {search.best_confidence_:.3f}, {search.result_.status}")
    fits = FOLDS * len(table["params"])
    print(f"Fits: {search.n_fits_}; a grid search with {FOLDS} folds makes {fits}, and claims nothing")
    for place in np.argsort(table["rank_test_score"])[:4]:
        low, high = table["difference_low"][place], table["difference_high"][place]
        print(
            f"  {table['params'][place]['var_smoothing']:<8.2g} {table['mean_test_score'][place]:.3f}, "
            f"{table['n_fits'][place]} fits, behind the best by {low:.3f} to {high:.3f}"
        )
    figure = draw(search)
    figure.savefig("settings.png")
