"""Studies on the command line without an evaluator: ask, tell, fail, retry, export and import."""

import json

import pytest


def test_people_take_part_by_ask_and_tell(file, tmp_path, call, plain):
    study = file('policy = "lucb-c"')
    assert "hand out its pulls by 'mfbandit ask" in call("run", study).err
    db = tmp_path / "mine.db"
    assert call("best", db, code=1).out == "Running, after 0 pulls that cost 0; there is no answer yet.\n"
    asked = plain("ask", db, "-n", "9")
    assert asked["status"] == "running"
    assert [pull["id"] for pull in asked["pulls"]] == [0, 1]
    assert set(asked["pulls"][0]) == {"id", "arm", "fidelity", "cost", "seed", "index"}
    nothing = call("ask", db, "--json", code=1)
    assert json.loads(nothing.out)["pulls"] == []
    assert "2 pulls are out" in nothing.err
    assert plain("status", db)["out"] == 2
    assert plain("tell", db, 1, "0.5") == {"pull": 1, "counted": True, "status": "running"}
    late = call("tell", db, 1, "0.9")
    assert "does not count" in late.err
    assert plain("fail", db, 0, "went home")["counted"]
    again = plain("ask", db)["pulls"]
    assert again == asked["pulls"][:1]
    assert plain("tell", db, 0, "1")["counted"]
    assert plain("best", db)["best"] == asked["pulls"][0]["arm"]


@pytest.mark.parametrize("reward", ["nan", "inf", "-1", "1.5", "good", ""])
def test_a_reward_that_is_none_is_refused_and_nothing_recorded(file, tmp_path, call, plain, complaint, reward):
    call("run", file())
    db = tmp_path / "mine.db"
    call("ask", db)
    assert "a reward must" in complaint("tell", db, 0, reward)
    assert plain("status", db)["pulls"] == 0


def test_rewards_may_be_negative(file, tmp_path, call, plain):
    study = file()
    study.write_text(study.read_text().replace('"bernoulli"', '{ kind = "gaussian", sigma = 1.0 }'))
    call("run", study)
    call("ask", tmp_path / "mine.db")
    assert plain("tell", tmp_path / "mine.db", 0, "-0.25")["counted"]


def test_foreign_pulls_and_storages(file, tmp_path, call, complaint):
    call("run", file())
    db = tmp_path / "mine.db"
    assert "pull 77 was never handed out" in complaint("tell", db, 77, "0.5")
    assert "there is no file" in complaint("status", tmp_path / "none.db")
    (tmp_path / "foreign.db").write_text("This is a diary.\n" * 100)
    assert "is not a SQLite file" in complaint("status", tmp_path / "foreign.db")
    assert "holds no study named 'yours'" in complaint("ask", db, "--study", "yours")
    assert "n must be a whole number >= 1" in complaint("ask", db, "-n", "0")
    assert "lease_seconds must be" in complaint("ask", db, "--lease", "-1")


def test_a_study_that_stopped_can_be_tried_again(file, tmp_path, call, plain):
    call("run", file("retries = 0"))
    db = tmp_path / "mine.db"
    call("ask", db)
    assert plain("fail", db, 0, "no\nanswer")["status"] == "failed"
    assert "the study is failed" in call("ask", db, code=1).err
    assert "with: no answer" in call("status", db).out
    assert plain("retry", db) == {"status": "running", "counted": True}
    assert "nothing to try again" in call("retry", db).err


def test_export_and_import(file, tmp_path, call, plain, complaint, command, good):
    call("run", file('policy = "lucb-c"\nmax_cost = 20.0', command(good)), code=1)
    db, lines, other = tmp_path / "mine.db", tmp_path / "mine.jsonl", tmp_path / "other.db"
    call("export", db, lines)
    assert call("export", db).out == lines.read_text()
    assert plain("import", lines, other)["pulls"] == 20
    assert "exists already" in complaint("import", lines, other)
    assert plain("import", lines, other, "--study", "copy")["study"] == "copy"
    both = call("status", other).out
    assert "mine" in both
    assert "copy" in both
    assert [found["study"] for found in plain("status", other)] == ["mine", "copy"]
    assert "a name is needed" in complaint("best", other)
    lines.write_text(lines.read_text()[:-20])
    assert "damaged or cut off" in complaint("import", lines, tmp_path / "third.db")
    assert "there is no folder" in complaint("export", db, tmp_path / "none" / "x.jsonl")


def test_costs_are_told_and_measured(tmp_path, call, plain, complaint):
    study = tmp_path / "mine.toml"
    fidelities = '[problem]\narms = ["a", "b"]\nfidelities = [{ name = "only", cost = "seconds" }]\n'
    study.write_text(fidelities)
    call("run", study)
    db = tmp_path / "mine.db"
    call("ask", db, "-n", "2")
    assert "what a pull costs at fidelity 'only' is measured" in complaint("tell", db, 0, "0.5")
    assert plain("tell", db, 0, "0.5", "--cost", "2.5", "--note", "by hand")["counted"]
    assert plain("fail", db, 1, "went home", "--cost", "1.5")["counted"]
    assert plain("status", db)["cost"] == 4.0
    run = tmp_path / "timed.toml"
    run.write_text(f"max_cost = 1e-9\n{fidelities}[evaluator]\ncommand = \"sh -c 'echo 0.5' {{seed}}\"\n")
    assert 0.0 < plain("run", run, code=1)["cost"] < 60.0
