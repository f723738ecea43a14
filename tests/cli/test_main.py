import os
import subprocess
import sys

import pytest

from mfbandit.cli import main
from mfbandit.model import Problem
from mfbandit.study import create_study
from mfbandit.version import __version__


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["simulat"], "Did you mean 'simulate'?"),
        (["simulate"], "Missing argument"),
        (["simulate", "figure-1a", "-p", "lucb-top", "--tirals", "3"], "--trials"),
        (["simulate", "figure-1a", "extra", "-p", "lucb-top"], "extra"),
        (["simulate", "figure-1a", "-p", "lucb-tpo"], "did you mean 'lucb-top'?"),
        (["simulate", "figure-1a", "-p", "lucb-a"], "lucb-a:top="),
        (["simulate", "figure-1a", "-p", "lucb-c:batsch=2"], "batsch"),
        (["simulate", "figure-1a", "-p", "lucb-c:batch=two"], "two"),
        (["simulate", "figure-1a", "-p", "lucb-top:"], ""),
        (["simulate", "figure-2", "-p", "lucb-top"], "did you mean 'figure-1"),
        (["simulate", "no/such.toml", "-p", "lucb-top"], "no/such.toml"),
        (["simulate", "figure-1a", "-p", "lucb-top", "--delta", "1.5"], "1.5"),
        (["simulate", "figure-1a", "-p", "lucb-top", "--delta", "nan"], "nan"),
        (["simulate", "figure-1a", "-p", "lucb-top", "--delta", "small"], "--delta"),
        (["simulate", "figure-1a", "-p", "lucb-top", "--epsilon", "-1"], "-1"),
        (["simulate", "figure-1a", "-p", "lucb-top", "--trials", "0"], "trials"),
        (["simulate", "figure-1a", "-p", "lucb-top", "--trials", "2.5"], "--trials"),
        (["simulate", "figure-1a", "-p", "lucb-top", "--seed", "-1"], "seed"),
        (["simulate", "figure-1a", "-p", "lucb-top", "--max-cost", "0"], "max_cost"),
        (["simulate", "figure-1a", "-p", "lucb-top", "--max-cost", "inf"], "max_cost"),
        (["simulate", "figure-1a", "-p", "lucb-top", "--max-pulls", "0"], "max_pulls"),
        (["simulate", "figure-1a", "-p", "lucb-top", "--threads", "0"], "threads"),
        (["simulate", "figure-1a", "-p", "lucb-top", "--device", "abacus"], "abacus"),
        (["simulate", "figure-1a", "-p", "mf-ucb"], "budget"),
        (["simulate", "figure-1a", "-p", "mf-ucb", "--budget", "nan"], "budget"),
        (["bounds"], "Missing argument"),
        (["bounds", "figure-1c"], "did you mean"),
        (["bounds", "figure-1a", "--delta", "0"], "delta"),
        (["bounds", "figure-1a", "--top", "nan"], "top"),
        (["bounds", "figure-1a", "--second", "inf"], "second"),
        (["reproduce", "figure-1c"], "did you mean 'figure-1"),
        (["reproduce", "bounds", "--trials", "0"], "trials"),
        (["policies", "lucb-a"], "lucb-a"),
        (["instances", "--jason"], "--json"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(complaint, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    if arguments[-1] == "lucb-top:":  # an empty list of options is no mistake
        assert main([*arguments, "--trials", "1"]) == 0
        return
    assert said in complaint(*arguments)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("reward = ", "line 1"),
        ("reward = 'bernoulli'", "costs"),
        ("reward='bernoulli'\ncosts=[1]\nbiases=[0]\nmeans=[[1.5],[0.2]]", "1.5"),
        ("reward='bernoulli'\ncosts=[1,2]\nbiases=[0.1,0]\nmeans=[[0.5,0.9],[0.2,0.2]]", "bias"),
    ],
)
def test_a_wrong_instance_file_is_one_line(complaint, tmp_path, text, said):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    for command in (["bounds", str(file)], ["simulate", str(file), "-p", "lucb-top"]):
        assert said in complaint(*command)


def test_a_folder_is_no_instance_file(complaint, tmp_path):
    assert tmp_path.name in complaint("bounds", f"{tmp_path}{os.sep}")


def test_a_file_that_is_no_text(complaint, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_bytes(b"\xff\xfe\x00")
    assert "not UTF-8" in complaint("bounds", str(file))


def test_reproduce_refuses_a_folder_it_cannot_write_to(complaint, tmp_path):
    file = tmp_path / "taken"
    file.write_text("")
    assert "taken" in complaint("reproduce", "bounds", "--out", str(file))


def test_version_and_help_go_to_stdout(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"mfbandit {__version__}\n"
    assert main([]) == 0
    assert "simulate" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["simulate", "bounds", "reproduce", "policies", "instances"])
def test_every_help_has_an_example(capsys, command):
    assert main([command, "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"Example: mfbandit {command}" in text
    assert "--json" in text


def test_an_error_that_is_not_ours_is_not_hidden(monkeypatch):
    def broken(*args, **kwargs):
        raise RuntimeError("a bug")

    monkeypatch.setattr("mfbandit.cli.commands._catalogue.describe_instances", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        main(["instances"])


def test_an_interrupt_is_one_line_and_exit_code_130(capsys, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("mfbandit.cli.commands._catalogue.describe_instances", interrupted)
    assert main(["instances"]) == 130
    assert capsys.readouterr().err == "mfbandit: interrupted\n"


def run_python(code, *arguments):
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120)


def test_the_help_loads_nothing_heavy():
    code = (
        "import sys; from mfbandit.cli import main; main(['--help']); "
        "print(sorted({'scipy', 'numba', 'matplotlib', 'sqlalchemy'} & set(sys.modules)), file=sys.stderr)"
    )
    assert run_python(code).stderr.strip() == "[]"


@pytest.mark.parametrize("policy", ["mf-toptwo", "lucb-c"])
def test_the_status_of_a_small_study_does_not_wait_for_numba(tmp_path, policy):
    url = f"sqlite:///{tmp_path}/study.db"
    study = create_study(Problem(["a", "b"], [("exact", 1.0, 0.0)]), policy=policy, storage=url, name="s", max_cost=9)
    study.optimize(lambda pull: float(pull.arm == "b"), progress=False)
    code = (
        "import sys; from mfbandit.cli import main; main(['status', sys.argv[1]]); "
        "print(sorted({'scipy', 'numba', 'matplotlib'} & set(sys.modules)), file=sys.stderr)"
    )
    done = run_python(code, url)
    assert done.stderr.strip() == "[]"
    assert "'b'" in done.stdout


def test_a_reader_that_leaves_is_no_error():
    code = (
        "import os, sys; from mfbandit.cli import main; "
        "reading, writing = os.pipe(); os.close(reading); os.dup2(writing, 1); sys.exit(main(['instances']))"
    )
    done = run_python(code)
    assert (done.returncode, done.stderr) == (0, "")
