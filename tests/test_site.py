"""The site is built by the command of the README, without a warning, and its gallery shows what the examples find."""

import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: Doors whose names all stand in the reference. Others show there what outsiders need of them.
DOORS = ("mfbandit", "mfbandit.judges", "mfbandit.sklearn", "mfbandit.optuna", "mfbandit.logs", "mfbandit.theory")
DOORS += ("mfbandit.plots", "mfbandit.errors")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder with the pages; examples run anew, since they are built in a copy."""
    pytest.importorskip("sphinx_gallery", reason="needs the site's packages: pip install 'mfbandit[docs]'")
    folder = tmp_path_factory.mktemp("site")
    for name in ("docs", "examples"):
        left_out = shutil.ignore_patterns("_build", "gallery", "__pycache__", "*.db*")
        shutil.copytree(ROOT / name, folder / name, ignore=left_out)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (arguments,) = re.findall(r"python -m (sphinx -W [^`\n]+)", readme)
    built = subprocess.run(
        [sys.executable, "-m", *arguments.split()], cwd=folder, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    return folder / arguments.split()[-1]


def shown(site, example):
    """What an example printed, as its page has it."""
    page = (site.parent / "gallery" / f"{example}.rst").read_text(encoding="utf-8")
    assert page.count(".. image-sg::") == 1, "the page has no picture"
    _, _, after = page.partition(".. code-block:: none\n\n")
    lines = after.partition("\n\n\n\n")[0].splitlines()
    return "\n".join(line.removeprefix("    ") for line in lines).strip()


def test_every_page_is_there(site):
    pages = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert pages <= {path.stem for path in site.glob("*.html")}
    assert (site / "gallery" / "index.html").exists()


def test_the_example_of_four_workers(site):
    assert re.search(
        r"^step by step \(certified, confidence 0\.95\d\), for \d\.\d\d$", shown(site, "identify"), re.MULTILINE
    )


def test_the_example_of_prompts(site):
    out = shown(site, "choose_prompt")
    assert out.startswith("Best prompt: 'Think step by step. Then answer with A, B, C or D.' (certified")
    assert "Money: $" in out
    assert "with 32 calls at once" in out


def test_the_example_of_logs(site):
    out = shown(site, "compare_logs")
    assert out.startswith("On these 150 items 'step by step' has the best mean")
    assert "would settle it with an even chance" in out
    assert "'step by step' is the best with confidence 9" in out
    assert out.endswith("These items are enough.")


def test_the_example_of_goals(site):
    out = shown(site, "goals")
    assert "Better than 'in use': 'examples', 'steps' and 'all tricks'; not better by more than 0.03: 'short'" in out
    assert "'examples', 'steps' and 'all tricks' are the 3 best, with confidence at least 95%" in out
    assert "'examples' is the cheapest to use within 0.1 of the best" in out
    assert out.count("the certificate holds") == 3


def test_the_example_of_checkpoints(site):
    out = shown(site, "train")
    assert out.startswith("Best setting: rate 0.5, 32 units (certified, confidence 0.9")
    epochs, again = re.search(r"Epochs: (\d+), of them in this run (\d+)", out).groups()
    assert epochs == again
    # To train everything to the end would take 2052.
    assert int(epochs) < 1600


def test_the_example_of_tuning(site):
    out = shown(site, "tune")
    assert out.startswith("Best setting: {'var_smoothing': 0.")
    assert "certified" in out


@pytest.mark.parametrize("door", DOORS)
def test_the_reference_leaves_out_nothing(door):
    if door.rpartition(".")[2] in ("sklearn", "optuna"):
        pytest.importorskip(door.rpartition(".")[2])
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "api").glob("*.md"))
    named = set(re.findall(r"auto\w+:: (\S+)", pages))
    module = importlib.import_module(door)
    public = {name for name in module.__all__ if not name.startswith("_")} - {"errors", "theory"}
    known = {name.rpartition(".")[2] for name in named if name.rpartition(".")[0] in (door, "mfbandit.errors")}
    assert public <= known, public - known
