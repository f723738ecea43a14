"""Tune a classifier
=================

Tune a classifier, know how sure the answer is, and see what it took beside a grid search. It needs
`pip install '.[sklearn]'`, in a clone.

In the picture, dots are mean scores, each on the splits on which a setting was fitted. Bars say how far each setting
may lie from the answer, all bounds at once. A grey bar that reaches above the answer is no better candidate: bounds of
all pairs at once take more evidence than the answer does. `confidence` in `cv_results_` says how sure that is.
"""

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

from mfbandit.sklearn import MultiFidelitySearchCV

GRID = {"var_smoothing": [float(f"{x:.1g}") for x in np.logspace(-9, 1, 16)]}
FOLDS = 5
BELOW = {"xytext": (0, -4), "textcoords": "offset points", "ha": "center", "va": "top", "fontsize": 10}


def tune(n_jobs: int = 1) -> MultiFidelitySearchCV:
    """Search a grid for a setting that is within 0.01 of the best, with confidence 0.95."""
    search = MultiFidelitySearchCV(
        GaussianNB(), GRID, cv=FOLDS, epsilon=0.01, delta=0.05, width=2, n_jobs=n_jobs, random_state=0
    )
    return search.fit(*load_digits(return_X_y=True))


def draw(search: MultiFidelitySearchCV) -> Figure:
    """Draw the scores of all settings, with bounds of their distance from the answer, all at once."""
    table, best = search.cv_results_, search.best_score_
    figure = Figure(figsize=(5.6, 3.8), layout="constrained")
    axes = figure.subplots()
    axes.axhline(best, color="#0072B2", linewidth=1.2, zorder=0)
    for place, setting in enumerate(table["params"]):
        answer = place == search.best_index_
        colour = "#0072B2" if answer else "#8a8a8a"
        ends = [best - table[f"difference_{end}"][place] for end in ("low", "high")]
        axes.plot([setting["var_smoothing"]] * 2, ends, color=colour, linewidth=3)
        axes.plot(setting["var_smoothing"], table["mean_test_score"][place], "o", color=colour, markersize=7)
        if not answer:
            axes.annotate(f"{table['n_fits'][place]}", (setting["var_smoothing"], min(ends)), **BELOW)
    axes.set_xscale("log")
    axes.margins(y=0.12)
    axes.set_xlabel("var_smoothing (in colour: the answer; numbers: fits)")
    axes.set_ylabel("accuracy of the answer,\nless bounds of the difference")
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
            f"{table['n_fits'][place]} fits, behind the answer by {low:.3f} to {high:.3f}"
        )
    figure = draw(search)
    figure.savefig("settings.png")
