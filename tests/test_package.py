"""A wheel and a source distribution hold the package, whole, and nothing else; CI runs what README.md says."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import mfbandit

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "mfbandit"
NAME = f"mfbandit-{mfbandit.__version__}"
BUILD = "import sys; from setuptools import build_meta; getattr(build_meta, sys.argv[1])(sys.argv[2])"


def build(what, source, folder):
    command = [sys.executable, "-c", BUILD, what, str(folder)]
    built = subprocess.run(command, cwd=source, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A source distribution, and a wheel that is built from it alone."""
    setuptools = pytest.importorskip("setuptools", minversion="77", reason="needs setuptools 77: pip install '.[test]'")
    assert setuptools
    folder = tmp_path_factory.mktemp("package")
    source, made = folder / "source", folder / "made"
    made.mkdir()
    left_out = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", source / "src", ignore=left_out)
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "MANIFEST.in"):
        shutil.copy(ROOT / name, source)
    (source / "tests").mkdir()
    (source / "tests" / "test_junk.py").write_text("")
    build("build_sdist", source, made)
    with tarfile.open(made / f"{NAME}.tar.gz") as archive:
        archive.extractall(folder / "unpacked", filter="data")
    build("build_wheel", folder / "unpacked" / NAME, made)
    return made


def files_of_the_package():
    """What is imported, read or shown: all but the caches."""
    return {
        f"mfbandit/{path.relative_to(PACKAGE).as_posix()}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_the_package_and_nothing_else(made):
    with zipfile.ZipFile(made / f"{NAME}-py3-none-any.whl") as wheel:
        names = set(wheel.namelist())
    own = files_of_the_package()
    assert {"mfbandit/py.typed", "mfbandit/instances/judges.toml"} <= own
    assert any(name.startswith("mfbandit/serve/static/") for name in own)
    assert {name for name in names if ".dist-info/" not in name} == own
    assert f"{NAME}.dist-info/licenses/LICENSE" in names


def test_the_source_distribution_holds_what_a_build_needs(made):
    with tarfile.open(made / f"{NAME}.tar.gz") as archive:
        names = {one.name.removeprefix(f"{NAME}/") for one in archive.getmembers() if one.isfile()}
    names = {name for name in names if ".egg-info/" not in name}
    more = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "MANIFEST.in"}
    assert names == {f"src/{name}" for name in files_of_the_package()} | more | {"PKG-INFO", "setup.cfg"}


def test_what_is_installed_runs(made, tmp_path):
    """By itself: in another folder, with its own data files, found before the repository."""
    wheel = str(made / f"{NAME}-py3-none-any.whl")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*pip, "--target", str(tmp_path / "there"), wheel], check=True)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "there")}
    run = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True, "check": True}
    where = subprocess.run([sys.executable, "-c", "import mfbandit; print(mfbandit.__file__)"], **run).stdout
    assert where.startswith(str(tmp_path / "there"))
    assert "judges" in subprocess.run([str(tmp_path / "there" / "bin" / "mfbandit"), "instances"], **run).stdout


def test_what_is_said_of_the_package(made):
    with zipfile.ZipFile(made / f"{NAME}-py3-none-any.whl") as wheel:
        said = Parser().parsestr(wheel.read(f"{NAME}.dist-info/METADATA").decode())
    assert said["Version"] == mfbandit.__version__
    assert said["License-Expression"] == "MIT"
    assert said["Summary"]
    assert said["Project-URL"] == "Paper, https://arxiv.org/abs/2306.07761"
    assert said["Author"] == "The mfbandit developers"
    assert said["Description-Content-Type"] == "text/markdown"
    assert said.get_payload().startswith("# mfbandit")
    first = said["Requires-Python"].removeprefix(">=")
    versions = [line.rpartition(" ")[2] for line in said.get_all("Classifier") if re.search(r":: 3\.\d+$", line)]
    assert versions[0] == first
    assert "Typing :: Typed" in said.get_all("Classifier")


def block(page, begins):
    """The one block of commands that begins so."""
    blocks = re.findall(r"^```sh\n(.*?)^```$", (ROOT / page).read_text(), flags=re.DOTALL | re.MULTILINE)
    (found,) = [text for text in blocks if text.startswith(begins)]
    return found


def test_the_commands_of_the_front_pages_are_those_of_ci():
    """.ci/run takes the tests from README.md, test_site.py the site, and test_study_commands.py plays the demo."""
    ci = (ROOT / ".ci" / "run").read_text()
    readme = (ROOT / "README.md").read_text()
    for mark in ("demo", "tests"):
        assert f"<!-- {mark} -->\n```sh\n" in readme
    assert "command_of tests" in ci
    environment, install, demo = block("docs/index.md", "python3").splitlines()
    assert environment == "python3 -m venv .venv && . .venv/bin/activate"
    (quick,) = block("README.md", "python3 -m venv .venv && .venv/bin/pip install -q .").splitlines()
    assert quick.replace(" -q", "").replace(".venv/bin/", "") == f"python3 -m venv .venv && {install} && {demo}"
    install, tests, checks = block("CONTRIBUTING.md", "python3").splitlines()
    assert install.replace(" -e ", " -q -e ") in readme
    assert tests.partition("  ")[0] in readme
    assert [line for line in checks.split(" && ") if line not in ci] == []


def test_extras_are_those_that_are_named():
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    named = set()
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        named |= {
            extra
            for group in re.findall(r"(?:mfbandit|\.)\[([a-z,]+)\]", page.read_text())
            for extra in group.split(",")
        }
    assert named <= extras
