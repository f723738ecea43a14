"""What all tests share: the option that makes statistical ones larger, and the order of files."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest


def run(folder, *options):
    """Run one test in a folder that has the suite's conftest.py."""
    (folder / "conftest.py").write_text((Path(__file__).parent / "conftest.py").read_text())
    (folder / "test_it.py").write_text("def test_it(times):\n    assert times == 1\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", folder, folder, *options]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder)


def test_trials_are_as_many_as_said_or_once_as_many(tmp_path):
    assert run(tmp_path).returncode == 0
    larger = run(tmp_path, "--trials", "10")
    assert larger.returncode == 1
    assert "assert 10 == 1" in larger.stdout


def test_other_numbers_are_refused(tmp_path):
    done = run(tmp_path, "--trials=-2")
    assert done.returncode == 4
    assert "--trials must be a whole number >= 1, got '-2'" in done.stderr
    number = runpy.run_path(str(Path(__file__).with_name("conftest.py")))["_factor"]
    assert number("10") == 10
    for text in ("0", "-2", "1.5", "many"):
        with pytest.raises(pytest.UsageError, match=f"--trials must be a whole number >= 1, got '{text}'"):
            number(text)


def test_files_that_come_first_are_there():
    here = Path(__file__).parent
    long = runpy.run_path(str(here / "conftest.py"))["LONG"]
    assert [name for name in long if not (here / name).is_file()] == []
