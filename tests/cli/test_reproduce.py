import json
import re
import shlex
from pathlib import Path

from mfbandit.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "paper.md"
(BLOCK,) = re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
FIGURE, BOUNDS = (shlex.split(line)[1:] for line in BLOCK.splitlines())


def test_json_is_one_object_and_files_are_written(capsys, tmp_path):
    out = tmp_path / "deep" / "folder"
    assert main([*FIGURE, "--trials", "2", "--out", str(out), "--json"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found["index"] == str(out / "index.html")
    table, instance = found["studies"]["figure-1a"]["tables"]
    assert len(table["records"]) == 25
    assert len(instance["records"]) == 15
    assert captured.err.startswith("mfbandit: figure-1a done in ")
    names = {path.name for path in out.iterdir()}
    files = {f"figure-1a.{ending}" for ending in ("csv", "json", "png", "svg")}
    assert names == files | {"figure-1a-instance.csv", "index.html"}


def test_the_figure_in_python(capsys):
    (code,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    exec(compile(code, "paper.md", "exec"), {})
    (printed,) = re.findall(r"^```text\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    assert capsys.readouterr().out == printed


def test_people_get_the_claim_the_findings_and_the_page(capsys, tmp_path):
    assert main([*BOUNDS, "--out", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "The paper: Theorem 3.1" in text
    assert "Measured:" in text
    assert str(tmp_path / "index.html") in text
    assert "figure-1a" in text


def test_the_default_is_everything(monkeypatch, capsys, tmp_path):
    asked = []

    def run(what, out, **settings):
        asked.append((what, str(out), settings))
        return []

    monkeypatch.setattr("mfbandit.cli.commands._reproduce_command.run", run)
    assert main(["reproduce", "--trials", "3"]) == 0
    assert asked == [("all", "reproduction", {"trials": 3, "seed": 0, "quiet": False})]
