"""The code in the documentation runs."""

import re
from pathlib import Path

import pytest

import mfbandit as mf
from mfbandit import algorithms

DOCS = Path(__file__).parents[1] / "docs"


def test_the_skeleton_of_a_new_algorithm_runs(monkeypatch):
    text = (DOCS / "new_algorithm.md").read_text()
    skeleton, line = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    names = {"__name__": "skeleton", "REGISTRY": algorithms.REGISTRY, "Entry": algorithms.Entry}
    monkeypatch.setitem(algorithms.REGISTRY, "uniform", None)
    exec(compile(skeleton, "new_algorithm.md", "exec"), names)
    exec(line, names)
    plain = mf.simulate("figure-1a", "uniform", trials=1, seed=1, max_pulls=3000, device="python")
    fast = mf.simulate("figure-1a", "uniform", trials=20, seed=1)
    again = mf.simulate("figure-1a", "uniform", trials=1, seed=1, max_pulls=3000)
    assert (plain.pulls == again.pulls).all()
    assert fast.stopped.all()
    assert (fast.best == 0).all()
    assert mf.policy("uniform:batch=5").label == "uniform:batch=5"


@pytest.mark.parametrize("page", sorted(p.name for p in DOCS.glob("*.md")))
def test_links_lead_somewhere(page):
    text = (DOCS / page).read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target:
            assert (DOCS / target).exists(), target
