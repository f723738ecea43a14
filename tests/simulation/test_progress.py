import io

from mfbandit.simulation import _progress_bar as progress
from mfbandit.simulation._progress_bar import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def advance_to_the_end(**options):
    with Progress("lucb-a on figure-1a", 1000, **options) as bar:
        bar.advance(250, 10**6)
        bar.advance(750, 10**6)
        if bar.bar is not None:
            bar.bar.refresh()


def test_a_long_wait_shows_trials_and_speed(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    advance_to_the_end()
    assert "lucb-a on figure-1a" in terminal.getvalue()
    assert "1,000 of 1,000 trials" in terminal.getvalue()
    assert "M pulls/s, about 0 s left" in terminal.getvalue()


def test_short_waits_and_the_quiet_show_nothing(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    advance_to_the_end()
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    advance_to_the_end(quiet=True)
    assert terminal.getvalue() == ""


def test_nothing_is_shown_off_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    advance_to_the_end()
    assert capsys.readouterr().err == ""
