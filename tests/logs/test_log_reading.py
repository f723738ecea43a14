"""Logs are read as their tools write them, and what is wrong with one is said by its file and line."""

import json
from pathlib import Path

import pytest

from mfbandit.errors import InvalidInput, MissingExtra
from mfbandit.logs import Reading, compare, read_logs, score_table

#: Written by lm-evaluation-harness 0.4.13 and by promptfoo 0.121.20 (unneeded keys of its results were cut).
DATA = Path(__file__).parent / "data"
HARNESS = DATA / "harness-0.4.13"
PROMPTFOO = DATA / "promptfoo-0.121.20.json"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def table(*sources, **reading):
    return score_table(read_logs(sources, reading.get("metric")), Reading(**reading))


def test_samples_of_the_harness():
    found = table(HARNESS, metric="acc")
    assert found.systems == ("toy/model-1", "toy/model-2")
    assert found.items == ("0", "1", "2", "3", "4")
    assert found.values.tolist() == [[1, 1, 1, 0, 1], [1, 1, 1, 1, 0]]
    assert found.metric == "acc,none"
    with pytest.raises(InvalidInput, match="choose one by --metric: acc,none, acc_norm,none"):
        table(HARNESS)
    with pytest.raises(InvalidInput, match="no metric 'acc_nrom'; did you mean 'acc_norm,none'"):
        table(HARNESS, metric="acc_nrom")


def test_a_metric_of_the_harness_with_several_filters(tmp_path):
    for system, right in (("a", 1.0), ("b", 0.0)):
        (tmp_path / system).mkdir()
        lines = [
            {"doc_id": 0, "filtered_resps": [], "filter": kind, "metrics": ["exact_match"], "exact_match": score}
            for kind, score in (("strict-match", right), ("flexible-extract", 1.0))
        ]
        write(tmp_path / system / "samples_gsm8k.jsonl", "\n".join(map(json.dumps, lines)))
    assert table(tmp_path, metric="exact_match,strict-match").values.tolist() == [[1.0], [0.0]]
    with pytest.raises(InvalidInput, match="several filters; choose one of exact_match,strict-match or"):
        table(tmp_path, metric="exact_match")


def test_items_of_one_name_must_have_one_text(tmp_path):
    [first] = (HARNESS / "toy__model-1").glob("*.jsonl")
    changed = first.read_text().replace('"doc_hash": "b8e7', '"doc_hash": "0000')
    (tmp_path / "other").mkdir()
    write(tmp_path / "other" / first.name, changed)
    with pytest.raises(InvalidInput, match=r"line 1 of .* and line 1 of .* one name and different texts"):
        table(first, tmp_path / "other", metric="acc")


def test_an_output_of_promptfoo():
    found = table(PROMPTFOO)
    assert found.systems == ("Say {{answer}}", "Please say {{answer}} politely")
    # Four tests (one has two values of a variable), each of them repeated.
    assert found.values.tolist() == [[0.0, 1.0, 1.0, 1.0], [1.0, 0.5, 1.0, 1.0]]
    assert found.notes == ("Items that a system answered several times (up to 2) count their mean.",)
    assert table(PROMPTFOO, metric="loose").values.tolist() == [[1.0], [1.0]]


def test_errors_of_promptfoo_are_missing_scores(tmp_path):
    data = json.loads(PROMPTFOO.read_text())
    first = data["results"]["results"][0]
    first |= {"failureReason": 2, "score": 0, "namedScores": {}}
    broken = write(tmp_path / "output.json", json.dumps(data))
    found = table(broken)
    assert len(found.items) == 3
    assert found.notes[0].startswith("1 of 4 common items is left out: a score is missing (1 of 'Say {{answer}}').")
    worst = table(broken, missing="worst")
    assert worst.values[0].tolist() == [0.0, 1.0, 1.0, 1.0]
    assert worst.notes[0] == "Scores that are missing count as the worst, 0: 1 of 'Say {{answer}}'."


def test_tables_long_and_wide(tmp_path):
    long = write(tmp_path / "long.csv", "Model,id,other,correct\na,1,x,C\nb,1,x,I\na,2,x,true\nb,2,x,0\n\n")
    wide = write(tmp_path / "wide.csv", "question,a,b\n1,1,0\n2,1,0\n")
    lines = write(
        tmp_path / "rows.jsonl",
        "\n".join(
            json.dumps({"item": item, "system": system, "score": system == "a"}) for item in (1, 2) for system in "ab"
        ),
    )
    for path in (long, wide, lines):
        found = table(path)
        assert (found.systems, found.items, found.values.tolist()) == (("a", "b"), ("1", "2"), [[1, 1], [0, 0]])
    assert table(f"new={_only(tmp_path, 'a')}", f"old={_only(tmp_path, 'b')}").systems == ("new", "old")


def test_data_frames():
    pandas = pytest.importorskip("pandas", reason="needs pandas: pip install 'mfbandit[pandas]'")
    long = pandas.DataFrame({"item": [1, 1, 2, 2], "model": list("abab"), "score": [1.0, 0.0, 0.5, float("nan")]})
    assert table_of(long).values.tolist() == [[1.0], [0.0]]
    wide = pandas.DataFrame({"a": [True, True], "b": [False, True]}, index=["x", "y"]).reset_index()
    assert table_of(wide).values.tolist() == [[1.0, 1.0], [0.0, 1.0]]
    with pytest.raises(InvalidInput, match="row 1 of the data frame: the score is 'good'"):
        table_of(pandas.DataFrame({"item": [1, 1], "model": ["a", "b"], "score": [1, "good"]}))


def table_of(frame):
    return score_table(read_logs(frame))


def _only(folder, system):
    return write(folder / f"{system}.csv", f"item,system,score\n1,{system},1\n2,{system},0.5\n")


def test_repeats_are_averaged_and_others_left_out(tmp_path):
    path = write(tmp_path / "r.csv", "item,system,score\n1,a,1\n1,a,0\n1,b,1\n2,a,1\n3,a,\n3,b,1\n4,a,1\n4,b,1\n")
    found = table(path)
    assert (found.items, found.values.tolist()) == (("1", "4"), [[0.5, 1.0], [1.0, 1.0]])
    assert found.notes == (
        "1 of 4 items is left out: not all systems have it ('b' lacks 1).",
        "1 of 3 common items is left out: a score is missing (1 of 'a'). So all is about items that nobody fails on; "
        "--missing worst counts the worst score instead.",
        "Items that a system answered several times (up to 2) count their mean.",
    )


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.csv", "item,system,score\n1,a,1\n1,b,good\n", "line 3 of a.csv: the score is 'good'"),
        ("a.csv", "item,system,score\n1,a,1\n1,b\n", "line 3 of a.csv has 2 values; the first line names 3"),
        ("a.csv", "item,system,score\n1,a,inf\n1,b,1\n", "line 2 of a.csv: the score is inf; it must be finite"),
        ("a.csv", "item,system,score\n,a,1\n", "line 2 of a.csv: the item is empty"),
        ("a.csv", "item,system,scor\n1,a,1\n", "no column 'score'; did you mean 'scor'?"),
        ("a.csv", "text,system,score\n1,a,1\n", "no column of the item"),
        ("a.csv", "item,system,score\n1,a,1\n", "one system only, 'a'"),
        ("a.csv", "item,system,score\n1,a,1\n2,b,1\n", "no item has a score of all 2 systems: a, b"),
        ("a.csv", "item,system,score\n1,a,7\n1,b,2\n", "goes from 2 to 7; say what it can be at least and at most"),
        ("a.csv", "item,system,score\n", "holds no scores"),
        ("a.jsonl", '{"item": 1, "system": "a", "score": 1}\n{"item": 1', "line 2 of a.jsonl is not JSON"),
        ("a.jsonl", '{"item": 1, "score": 1}\n', "line 1 of a.jsonl has no system"),
        ("a.json", "[1]", "neither a log of Inspect nor an output of promptfoo"),
        ("a.txt", "1", "ends in '.txt'; logs are .eval, .json, .jsonl and .csv files"),
        ("a.csv", b"item\xff", "is not UTF-8 text"),
    ],
)
def test_what_is_wrong_is_said_by_file_and_line(tmp_path, name, text, said):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InvalidInput, match=said.replace("?", r"\?").replace(".", r"\.")):
        compare([path])


def test_one_system_in_two_files(tmp_path):
    first = _only(tmp_path, "a")
    second = write(tmp_path / "again.csv", first.read_text())
    with pytest.raises(InvalidInput, match="both have scores of 'a' for item '1': name them, NAME=FILE"):
        table(first, second)
    # One name says that they are repeats.
    found = table(f"a={first}", f"a={second}", _only(tmp_path, "b"))
    assert found.notes == ("Items that a system answered several times (up to 2) count their mean.",)
    with pytest.raises(InvalidInput, match="holds 2 systems"):
        table(f"x={write(tmp_path / 'both.csv', 'item,system,score~1,a,1~1,b,1'.replace('~', chr(10)))}")


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(InvalidInput, match="there is no file"):
        read_logs([tmp_path / "none.csv"])
    with pytest.raises(InvalidInput, match="holds no logs"):
        read_logs([tmp_path])
    with pytest.raises(InvalidInput, match="name at least one file"):
        read_logs([])


def test_without_inspect_one_sentence_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "inspect_ai.log", None)
    with pytest.raises(MissingExtra, match=r"reading a.eval needs Inspect: pip install 'mfbandit\[inspect\]'"):
        read_logs([write(tmp_path / "a.eval", "")])
