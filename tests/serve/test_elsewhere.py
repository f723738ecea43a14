"""A study in a notebook, and a report from the command line."""

import mfbandit as mf
from mfbandit.cli import main


def test_a_notebook_shows_a_study(problem):
    study = mf.create_study(problem, name="in a <notebook>", width=4)
    assert "There is no answer yet" in study._repr_html_()
    for pull in study.ask(4):
        study.tell(pull, float(pull.arm == "good"))
    page = study._repr_html_()
    assert "in a &lt;notebook&gt;" in page
    assert page.count("<tr>") == 3
    assert f"{study.view().pulls:,} pulls" in page


def test_a_report_is_written_from_the_command_line(tmp_path, problem, capsys):
    path = str(tmp_path / "s.db")
    with mf.create_study(problem, storage=path, name="reported", width=4) as study:
        for pull in study.ask(4):
            study.tell(pull, float(pull.arm == "good"))
    assert main(["report", path, "-o", str(tmp_path / "x.html")]) == 0
    page = (tmp_path / "x.html").read_text()
    assert "reported" in page
    assert "The certificate" in page
    assert main(["report", path, "-o", str(tmp_path / "no folder" / "x.html")]) == 2
    assert "there is no folder" in capsys.readouterr().err
