import pytest

from mfbandit.reproduce._steps import Steps
from mfbandit.simulation import _progress_bar as progress


class Terminal:
    """A stderr that says it is a terminal, or that it is not."""

    def __init__(self, real):
        self.text = ""
        self.real = real
        self.encoding = "utf-8"

    def isatty(self):
        return self.real

    def write(self, text):
        self.text += text
        return len(text)

    def flush(self):
        pass


def test_off_a_terminal_there_is_a_line_per_study(capsys):
    with Steps(10.0) as steps:
        steps.running("something")
        steps.finished(10.0)
        steps.study("figure-1a done")
    assert capsys.readouterr().err == "mfbandit: figure-1a done\n"


def test_quiet_is_quiet(capsys):
    with Steps(10.0, quiet=True) as steps:
        steps.running("something")
        steps.finished(10.0)
        steps.study("figure-1a done")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("total", "left"), [(20.0, "about 10 s left"), (200.0, "about 3 min left")])
def test_time_left_is_told_from_the_rate_so_far(monkeypatch, total, left):
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    steps = Steps(total, quiet=True)
    assert steps.left() == ""
    now[0] += 10.0
    steps.finished(10.0)
    assert steps.left() == left


def test_a_terminal_sees_what_is_running(monkeypatch):
    terminal = Terminal(True)
    monkeypatch.setattr("sys.stderr", terminal)
    with Steps(10.0) as steps:
        steps.running("lucb-a at delta 0.05")
        steps.finished(5.0)
        steps.bar.refresh()
        steps.study("not shown beside the bar")
    assert "lucb-a at delta 0.05" in terminal.text
    assert "not shown" not in terminal.text
