"""The examples that the gallery does not show run: see test_site.py for the others."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
DATA = Path(__file__).parents[2] / "shared" / "data"


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
