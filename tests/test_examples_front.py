"""The examples of judges and ads run."""

import runpy
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
DATA = Path(__file__).parents[2] / "shared" / "data"


def test_choosing_a_prompt(capsys):
    runpy.run_path(str(EXAMPLES / "choose_prompt.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert out.startswith("Best prompt: 'Answer the question. Think step by step.' (certified")
    assert "Paid $" in out


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
