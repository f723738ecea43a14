"""Test cases are drawn from the seed of a pull: cases chosen by its index would be shared by all arms."""

import random
import re
from pathlib import Path

import pytest
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.study import create_study

pytestmark = pytest.mark.usefixtures("compiled_plans")

ROOT = Path(__file__).parents[1]
DELTA = 0.01
CASES = 20_000


def by_index(pull):
    return pull.index


def by_seed(pull):
    return random.Random(pull.seed).randrange(CASES)


def is_wrong(choose, seed):
    """Whether 'a' is certified, which is right on the cases on which 'b' is wrong, and on a few fewer."""
    chance = random.Random(seed)
    cases = [chance.random() < 0.499 for _ in range(CASES)]
    problem = mf.Problem(["a", "b"], [("exact", 1.0, 0.0)], reward="bernoulli")
    study = create_study(problem, delta=DELTA, seed=seed, max_cost=300)
    while not study.done:
        for pull in study.ask(50):
            study.tell(pull, float(cases[choose(pull)] == (pull.arm == "a")))
    return study.status == "certified" and study.best == "a"


@pytest.mark.parametrize(("choose", "holds"), [(by_index, False), (by_seed, True)])
def test_shared_cases_break_the_guarantee_and_drawn_ones_keep_it(choose, holds, times):
    trials = 150 * times
    wrong = sum(is_wrong(choose, seed) for seed in range(trials))
    pvalue = binomtest(wrong, trials, DELTA, alternative="greater").pvalue
    assert (pvalue > 0.01) == holds


def test_no_example_chooses_by_index():
    for path in sorted((ROOT / "examples").iterdir()):
        if path.suffix in (".py", ".toml", ".sh", ".mjs"):
            assert not re.search(r"\bpull\.index\b|\{index\}|MFBANDIT_INDEX", path.read_text()), path.name


def test_whoever_mentions_the_index_says_to_draw_from_the_seed():
    texts = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "src").rglob("*.py")]
    assert len(texts) > 100
    for path in texts:
        for paragraph in re.split(r"\n\s*\n", path.read_text()):
            if re.search(r"test cases?\b", paragraph) and re.search(r"\bindex\b", paragraph):
                assert re.search(r"(?i)\bnever\b", paragraph), f"{path.name}: {paragraph}"
                assert "seed" in paragraph, f"{path.name}: {paragraph}"


def test_the_documentation_says_how():
    studies = (ROOT / "docs" / "studies.md").read_text()
    assert "random.Random(pull.seed)" in studies
    assert "never chosen by `pull.index`" in studies
