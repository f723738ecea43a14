"""Trials of a real Optuna, confirmed on fresh blocks, and pruned by evidence."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import mfbandit as mf
import optuna
from mfbandit.errors import InvalidInput, ModelWarning, StudyError
from mfbandit.optuna import EvidencePruner, confirm, race

optuna.logging.set_verbosity(optuna.logging.ERROR)
PAGE = Path(__file__).parents[2] / "docs" / "optuna.md"


def study_of(values, direction="maximize", params=None):
    study = optuna.create_study(direction=direction)
    for number, value in enumerate(values):
        given = {"x": float(number)} if params is None else {"x": params[number]}
        space = {"x": optuna.distributions.FloatDistribution(-100.0, 100.0)}
        study.add_trial(optuna.create_trial(params=given, distributions=space, value=value))
    return study


def noisy(best, sign=1.0):
    def evaluate(trial, pull):
        rng = np.random.default_rng([pull.block_seed, int(trial.params["x"])])
        return sign * (0.5 * (trial.params["x"] == best) + 0.1 * rng.normal())

    return evaluate


@pytest.mark.parametrize(("direction", "sign"), [("maximize", 1.0), ("minimize", -1.0)])
def test_the_truly_best_trial_is_found_and_not_the_luckiest(direction, sign):
    study = study_of([sign * value for value in (0.9, 0.1, 0.8, 0.85)], direction)
    found = confirm(study, noisy(2, sign), 3, progress=False)
    assert found.luckiest.number == study.best_trial.number == 0
    assert found.best_trial.number == 2
    assert found.best_params == {"x": 2.0}
    assert list(found.trials) == ["trial 0", "trial 3", "trial 2"]
    assert found.result.status == "certified"
    assert found.values[2] == pytest.approx(sign * 0.5, abs=0.2)
    assert "'trial 2' is the best, with confidence at least 95%" in str(found)
    assert "Optuna's best trial is 0" in str(found)


def test_a_test_set_is_raced_to_its_end_and_goes_on_from_a_storage(tmp_path):
    study = study_of([1.0, 2.0], "minimize")
    settings = {
        "blocks": 40,
        "score_range": (0.0, 1.0),
        "storage": f"sqlite:///{tmp_path}/confirm.db",
        "progress": False,
        "seed": 1,
    }

    async def evaluate(trial, pull):
        return mf.Outcome(float(trial.params["x"] == 0.0), cost=0.5)  # a loss: less is better

    begun = confirm(study, evaluate, max_cost=5, **settings)
    assert begun.result.status == "max_cost"
    found = confirm(study, evaluate, max_cost=100, **settings)
    assert found.best_trial.number == 1
    assert found.result.cost > begun.result.cost
    assert found.values == {0: 1.0, 1: 0.0}


def test_trials_with_the_same_parameters_are_one():
    study = study_of([3.0, 2.0, 1.0], params=[5.0, 5.0, 6.0])
    assert list(confirm(study, noisy(5), progress=False).trials) == ["trial 0", "trial 2"]


@pytest.mark.parametrize(
    ("study", "options", "said"),
    [
        (study_of([1.0]), {}, "1 completed trials and 1 different ones: a comparison needs two"),
        (study_of([1.0, 2.0]), {"blocks": 30}, "blocks=30 is a finite set, which needs score_range"),
        (study_of([1.0, 2.0]), {"top": 1}, "top must be a whole number >= 2, got 1"),
        (optuna.create_study(directions=["minimize", "maximize"]), {}, "has 2 objectives"),
    ],
)
def test_what_cannot_be_confirmed_is_refused(study, options, said):
    with pytest.raises(InvalidInput, match=re.escape(said)):
        confirm(study, noisy(0), **options)


SPACE = {"x": optuna.distributions.FloatDistribution(0, 1)}


@pytest.mark.parametrize("options", [{"epsilon": 0.01}, {"workers": 4, "width": 4}])
def test_a_function_that_ignores_the_pull_gets_no_certificate(options):
    for direction in ("maximize", "minimize"):
        study = study_of([0.5, 0.25, 0.75], direction)
        with pytest.raises(InvalidInput, match=r"each of the 3 trials has one value .*trial . 0\.\d+ on [34]: does"):
            confirm(study, lambda trial, pull: trial.params["x"] / 8, 3, progress=False, **options)
    with pytest.raises(InvalidInput, match="Nothing is certified from repeated values"):
        race(optuna.create_study(), lambda trial, pull: trial.params["x"], 4, SPACE, progress=False, at_once=3)


def test_one_trial_that_repeats_itself_is_told_of_once():
    def evaluate(trial, pull):
        return 0.75 if trial.params["x"] == 2 else noisy(1)(trial, pull)

    seen = []
    with pytest.warns(ModelWarning, match=r"trial 2 scored 0.75 on each of \d blocks: does your") as told:
        found = confirm(study_of([0.9, 0.1, 0.8]), evaluate, 3, progress=False, max_cost=60, callback=seen.append)
    assert len(told) == 1
    assert len(seen) == found.result.pulls
    # Every step of a range is possible, again and again.
    known = confirm(study_of([0.9, 0.1]), lambda *_: 0.5, 2, score_range=(0, 1), progress=False, max_cost=20)
    assert known.result.status == "max_cost"


def test_whether_the_luckiest_is_worse_is_said():
    study = study_of([0.9, 0.1, 0.8])
    # It is shown, although the bounds of all differences at once may reach below 0.
    sure = confirm(study, noisy(2), 3, progress=False)
    assert re.search(r"Trial 0 is shown to be worse than trial 2, by \d\.\d+ at most", str(sure))
    known = confirm(study, lambda trial, pull: 0.1 * trial.params["x"], 3, blocks=9, score_range=(0, 1), progress=False)
    assert "Trial 0 is shown to be worse than trial 2, by 0.06667 to 0.2889" in str(known)
    near = confirm(study, lambda trial, pull: 0.02 * noisy(2)(trial, pull), 3, epsilon=1.0, progress=False, max_cost=4)
    assert "Trial 0 is not shown to be worse than trial 2" in str(near)
    wide = confirm(study, noisy(2), 3, epsilon=1.0, progress=False)
    assert wide.best_trial.number != 0
    assert re.search(r"Trial 0 is not shown to be worse than trial \d: it is behind it by -\d.* to \d", str(wide))


@pytest.mark.parametrize("missing", ["arguments", "options"])
def test_what_cannot_be_called_is_refused_before_it_starts(missing):
    study, one = study_of([0.9, 0.1]), optuna.create_study()
    if missing == "arguments":
        for call in (lambda: confirm(study, lambda trial: 0.0), lambda: race(one, lambda trial: 0.0, 3, SPACE)):
            with pytest.raises(InvalidInput, match="a function of a trial and a pull, in this order: too many"):
                call()
        return
    with pytest.raises(TypeError, match=r"confirm\(\) got an unexpected .* 'n_jobs'; it is called workers here"):
        confirm(study, noisy(0), n_jobs=2)
    with pytest.raises(TypeError, match=r"race\(\) got an unexpected keyword argument 'random_state'; .* seed here"):
        race(one, noisy(0), 3, SPACE, random_state=2)
    with pytest.raises(InvalidInput, match="callback must be a function"):
        confirm(study, noisy(0), callback=3)


def test_a_function_that_never_works_ends_with_its_error():
    async def later(trial, pull):
        return trial.params["c"]

    for evaluate in (lambda trial, pull: trial.params["c"], later):
        with pytest.raises(StudyError, match=r"failed at fidelity 'fresh block' 3 times, .*KeyError: 'c'") as told:
            confirm(study_of([0.9, 0.1]), evaluate, progress=False)
        assert isinstance(told.value.__cause__, KeyError)
    with pytest.raises(StudyError, match="KeyError: 'c'"):
        race(optuna.create_study(), lambda trial, pull: trial.params["c"], 3, SPACE, progress=False)


@pytest.mark.parametrize("space", [SPACE, None])
def test_candidates_join_while_the_race_runs_and_the_sampler_is_told(space):
    study = optuna.create_study(direction="minimize", sampler=optuna.samplers.RandomSampler(seed=3))
    asked = []

    def evaluate(trial, pull):
        noise = np.random.default_rng([pull.block_seed, trial.number]).uniform(-0.02, 0.02)
        asked.append(trial.number)
        return 0.1 + 0.8 * trial.params["x"] + noise

    given = space or (lambda trial: trial.suggest_float("x", 0, 1))
    found = race(study, evaluate, 6, given, score_range=(0, 1), at_once=3, epsilon=0.02, progress=False)
    assert found.result.status == "certified"
    assert len(study.trials) == 6
    assert {trial.state.name for trial in study.trials} == {"COMPLETE"}
    assert found.best_params["x"] == pytest.approx(min(trial.params["x"] for trial in study.trials), abs=0.025)
    first = {number: asked.index(number) for number in range(6)}
    assert first[3] > 3 * 3  # it came when somebody was out
    assert study.trials[found.best_trial.number].value == pytest.approx(0.1 + 0.8 * found.best_params["x"], abs=0.02)


def test_scores_of_a_race_may_be_normal():
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=3))

    def evaluate(trial, pull):
        shared, own = (np.random.default_rng([pull.block, part]).normal() for part in (99, trial.number))
        return 10.0 * trial.params["x"] + 3.0 * shared + 0.2 * own

    space = {"x": optuna.distributions.FloatDistribution(0, 1)}
    found = race(study, evaluate, 4, space, at_once=2, epsilon=0.2, progress=False)
    assert found.result.status == "certified"
    assert found.best_params["x"] == pytest.approx(max(trial.params["x"] for trial in study.trials), abs=0.02)


def test_a_race_goes_on_from_a_storage(tmp_path):
    options = {"score_range": (0, 1), "at_once": 3, "epsilon": 0.02, "progress": False}
    where, space = f"sqlite:///{tmp_path / 'race.db'}", {"x": optuna.distributions.FloatDistribution(0, 1)}
    asked = []

    def evaluate(trial, pull):
        asked.append((trial.number, pull.block))
        return 0.1 + 0.8 * trial.params["x"] + np.random.default_rng([pull.block, trial.number]).uniform(-0.02, 0.02)

    study, other = (
        optuna.create_study(direction="minimize", sampler=optuna.samplers.RandomSampler(seed=3)) for _ in range(2)
    )
    for most in (20, 120):
        found = race(study, evaluate, 6, space, storage=where, max_cost=most, **options)
        assert found.result.status == "max_cost"
    found = race(study, evaluate, 6, space, storage=where, max_cost=math.inf, **options)
    assert found.result.status == "certified"
    assert len(asked) == len(set(asked)) == found.result.pulls
    assert {trial.state.name for trial in study.trials} == {"COMPLETE"}
    assert len(study.trials) == 6
    with pytest.raises(
        InvalidInput, match="race 'race' is between trials of another Optuna study: this one has no trial"
    ):
        race(other, evaluate, 6, space, storage=where, **options)
    with pytest.raises(InvalidInput, match=r"blocks=50 is a finite set, which needs score_range=\(low, high\)"):
        race(other, evaluate, 6, space, blocks=50)


def test_a_race_that_runs_out_of_money_says_so():
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=3))
    space = {"x": optuna.distributions.FloatDistribution(0, 1)}
    found = race(study, lambda trial, pull: 0.5, 6, space, score_range=(0, 1), max_cost=30, progress=False)
    assert found.result.status == "max_cost"
    assert len(found.trials) == 5


def folds(trial, values):
    for step, value in enumerate(values):
        trial.report(value, step)
        if trial.should_prune():
            raise optuna.TrialPruned
    return float(np.mean(values))


@pytest.mark.parametrize("given", [{}, {"score_range": (-3.0, 3.0)}])
@pytest.mark.parametrize(("direction", "sign"), [("maximize", 1.0), ("minimize", -1.0)])
def test_what_is_clearly_worse_is_pruned_and_what_is_better_is_not(direction, sign, given):
    rng = np.random.default_rng(0)
    hard = 0.3 * rng.normal(size=60)
    true = [0.0, -0.8, 0.5, -0.3, 0.6]
    study = optuna.create_study(direction=direction, pruner=EvidencePruner(0.05, **given))

    def objective(trial):
        return folds(trial, sign * (true[trial.number] + hard + 0.1 * rng.normal(size=60)))

    study.optimize(objective, n_trials=5)
    assert [trial.state.name for trial in study.trials] == ["COMPLETE", "PRUNED", "COMPLETE", "PRUNED", "COMPLETE"]


@pytest.mark.parametrize("pruner", [EvidencePruner(0.2), EvidencePruner(0.2, score_range=(0.0, 1.0))])
def test_an_equal_candidate_is_rarely_pruned(pruner, times):
    """The best of five earlier ones is the luckiest on the same blocks; every look counts."""
    normal, runs, pruned = pruner._range is None, 400 * times, 0
    for seed in range(runs):
        rng = np.random.default_rng([3, seed])
        chance = rng.normal(size=(6, 24)) if normal else (rng.random((6, 24)) < 0.5).astype(float)
        earlier, mine = chance[:5], chance[5]
        ahead = earlier[earlier.mean(axis=1).argmax()] - mine
        pruned += any(pruner.log_evidence(ahead[:n]) >= math.log(5 / 0.2) for n in range(2, 25))
    assert stats.binomtest(pruned, runs, 0.2, alternative="greater").pvalue > 1e-6


def test_what_is_no_evidence_prunes_nothing():
    pruner, study = EvidencePruner(), study_of([1.0])  # without steps
    trial = optuna.create_trial(state=optuna.trial.TrialState.RUNNING, intermediate_values={0: math.nan, 1: 0.3})
    assert not pruner.prune(study, trial)
    assert pruner.log_evidence([]) == 0.0
    assert pruner.log_evidence([0.0] * 50) == 0.0
    with pytest.raises(InvalidInput, match="level must lie strictly between 0 and 1, got 2"):
        EvidencePruner(2)
    with pytest.raises(InvalidInput, match="differ by 3, more than score_range=0 to 1 allows"):
        EvidencePruner(score_range=(0, 1)).log_evidence([3.0])


def test_the_page_runs(capsys):
    pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'mfbandit[sklearn]'")
    text = PAGE.read_text()
    for snippet in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(snippet, {})
    out = capsys.readouterr().out
    assert out.startswith("'trial 1' is within 0.01 of the best, with confidence at least 95%")
    for printed in re.findall(r"```text\n(.*?)```", text, re.DOTALL):
        assert printed in out
