"""The examples of judges, ads and searches run."""

import re
import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
DATA = Path(__file__).parents[2] / "shared" / "data"


def test_choosing_a_prompt(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # its picture is left there
    runpy.run_path(str(EXAMPLES / "choose_prompt.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert out.startswith("Best prompt: 'Think step by step. Then answer with A, B, C or D.' (certified")
    assert "Money: $" in out
    assert "with 32 calls at once" in out


def test_a_gate_for_a_prompt(capsys, tmp_path):
    names = runpy.run_path(str(EXAMPLES / "test_prompt_gate.py"))
    gate = names["test_the_new_prompt_is_not_worse"]
    gate(tmp_path)
    first = capsys.readouterr().out
    gate(tmp_path)
    assert "'new' is not worse than 'old' by more than 0.05" in first
    assert "Paid $0.00" in capsys.readouterr().out
    gate.__globals__["NEW"] = "Guess."
    with pytest.raises(AssertionError, match=r"'new' is worse than 'old' by more than 0\.05"):
        gate(tmp_path)


def test_comparing_logs(capsys):
    runpy.run_path(str(EXAMPLES / "compare_logs.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert out.startswith("On these 150 items 'step by step' has the best mean")
    assert "would settle it with an even chance" in out
    assert "'step by step' is the best with confidence 9" in out
    assert out.endswith("These items are enough.\n")


def test_other_goals(capsys):
    runpy.run_path(str(EXAMPLES / "goals.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "Better than 'in use': 'examples', 'steps' and 'all tricks'; not better by more than 0.03: 'short'" in out
    assert "'examples', 'steps' and 'all tricks' are the 3 best, with confidence at least 95%" in out
    assert "'examples' is the cheapest to use within 0.1 of the best" in out
    assert out.count("the certificate holds") == 3


def test_training_with_checkpoints(capsys):
    runpy.run_path(str(EXAMPLES / "train.py"))["main"](None)
    out = capsys.readouterr().out
    assert out.startswith("Best setting: rate 0.5, 32 units (certified, confidence 0.9")
    epochs, again = re.search(r"Epochs: (\d+), of them in this run (\d+)", out).groups()
    assert epochs == again
    # To train everything to the end would take 2052.
    assert int(epochs) < 1600


def test_ads_without_their_data(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["ads.py", str(tmp_path)])
    with pytest.raises(SystemExit) as end:
        runpy.run_path(str(EXAMPLES / "ads.py"), run_name="__main__")
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("skipped: ")


def test_ads(capsys):
    if not (DATA / "obd_men_groups").is_dir():
        pytest.skip("the logged ads are not there: ../shared/data/obd_men_groups")
    names = runpy.run_path(str(EXAMPLES / "ads.py"))
    instance = names["load_dataset"](DATA / "obd_men_groups")
    names["compare"].__globals__["BUDGETS"] = (2000.0,)
    names["compare"](instance, trials=2)
    names["spend"](instance, budget=300.0)
    out = capsys.readouterr().out
    for policy in ("elimination", "mf-ucb", "ucb-top"):
        assert policy in out
    assert "A study spent 300 on" in out


def test_tuning(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("sklearn", reason="needs scikit-learn: pip install 'mfbandit[sklearn]'")
    runpy.run_path(str(EXAMPLES / "tune.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert out.startswith("Best setting: {'var_smoothing': 0.")
    assert "certified" in out
