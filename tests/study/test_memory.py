"""What a policy remembers, in a study's log: by name, read by later versions, and from logs of format 1 too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.algorithms.mf_toptwo import MFTopTwo
from mfbandit.core import uniform
from mfbandit.errors import StorageError
from mfbandit.layout import fields
from mfbandit.storage import ALL_NOTES, CHANGES, CHECKPOINT, ROUND, MemoryStorage, _records, json_text
from mfbandit.study import Study, _settings, create_study, import_study, load_study
from mfbandit.study._verify_with_study import verify_with_study
from mfbandit.study.state._planner import Planner
from mfbandit.study.state.rounds import _round_record as noted

OLD = sorted((Path(__file__).parent / "format_1").glob("*.jsonl"))
TRUTH = (0.9, 0.6, 0.1)
PROBLEM = mf.Problem(["a", "b", "c"], [("quick", 1.0, 0.1), ("exact", 4.0, 0.0)], reward="bernoulli")


def evaluate(pull: mf.Pull) -> float:
    return float(uniform(5, pull.arm_index, pull.fidelity_index, pull.index) < TRUTH[pull.arm_index])


def go_on(study: Study, pulls: int) -> list[tuple[int, int]]:
    """Decisions of so many pulls."""
    decided: list[tuple[int, int]] = []
    while len(decided) < pulls and not study.done:
        for pull in study.ask(1):
            decided.append((pull.arm_index, pull.fidelity_index))
            study.tell(pull, evaluate(pull))
    return decided


def same_memory(one: Any, other: Any) -> None:
    for name, array in fields(one.own, kept=True).items():
        # What was written long ago may be off in its last place: decisions are compared too.
        np.testing.assert_allclose(array, fields(other.own)[name], rtol=1e-12, err_msg=name)


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short studies are over before their policies are compiled."""
    monkeypatch.setattr(Planner, "compile", lambda self, state: None)


@pytest.mark.parametrize("path", [path for path in OLD if "retired" not in path.stem], ids=lambda path: path.stem)
def test_a_study_of_format_1_goes_on_as_if_nothing_had_happened(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = import_study(path)
    settings = old.settings
    assert not settings.leaders, "evidence stays of the kind that it was when the study began"
    assert settings.weights == 1, "and so do its weights"
    monkeypatch.setattr(MFTopTwo, "declares_leaders", False)
    monkeypatch.setattr(_settings, "NEWEST", 1)
    anew = create_study(settings.problem, policy=settings.policy, delta=settings.delta, budget=settings.budget)
    go_on(anew, old.result().pulls)
    if path.stem != "mf-grad-ours":  # which did not record what beat an arm
        np.testing.assert_array_equal(old.current().state.arm_flags, anew.current().state.arm_flags)
        same_memory(old.current().state, anew.current().state)
    assert go_on(old, 300) == go_on(anew, 300)
    assert old.status == anew.status
    assert old.best == anew.best


def test_a_study_of_format_1_that_retired_an_arm_goes_on() -> None:
    old = import_study(next(path for path in OLD if "retired" in path.stem))
    state = old.current().state
    assert old.current().planner.arms == [0, 1]
    assert state.pulls.sum() > 40
    assert (state.own.spent == state.pulls @ [1.0, 4.0]).all()
    assert (state.own.centre > 0.0).all()
    go_on(old, 10_000)
    assert old.status == "certified"
    assert mf.verify(old.result().certificate).valid


def test_a_study_that_mf_grad_began_in_format_1_is_certified_again() -> None:
    old = import_study(next(path for path in OLD if path.stem == "mf-grad-ours"))
    assert not old.current().state.arm_flags.any(), "no arm is beaten without a record"
    go_on(old, 10_000)
    assert old.status == "certified"
    assert mf.verify(old.result().certificate).valid


def test_a_study_that_began_with_the_first_weights_ends_with_the_certificate_that_it_would_have_had(
    tmp_path: Path,
) -> None:
    """The certificate is the one with which the version that began the study has ended it, but for the log's digest."""
    folder = Path(__file__).parent / "format_3"
    storage = MemoryStorage()
    import_study(folder / "mf-toptwo.jsonl", storage)
    old = load_study(storage, allow_changed_policy=True)
    go_on(old, 10_000)
    found, expected = old.result().certificate, json.loads((folder / "certificate.json").read_text())
    assert {**found, "log": None} == {**expected, "log": None}
    assert "weights" not in found
    assert mf.verify(found).valid
    old.export(tmp_path / "study.jsonl")
    again = import_study(tmp_path / "study.jsonl")
    assert again.settings.weights == 1
    assert verify_with_study(found, again).valid
    chosen = {**found, "version": 3, "weights": 2}
    assert mf.verify(chosen).valid, "these rewards would prove it with other weights, too, which were not declared"
    assert not verify_with_study(chosen, again).valid


def edited(path: Path, change: Any) -> Path:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        change(line)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def renamed(line: dict[str, Any]) -> None:
    for part in ("layout", "memory"):
        if "split" in line.get(part, {}):
            line[part]["cut"] = line[part].pop("split")


def longer(line: dict[str, Any]) -> None:
    if "layout" in line:
        line["layout"]["due"] = [4]


def unannounced(line: dict[str, Any]) -> None:
    line.pop("layout", None)
    renamed(line)


def cut_short(line: dict[str, Any]) -> None:
    line.pop("layout", None)
    if "split" in line.get("memory", {}):
        line["memory"]["split"]["bits"] = line["memory"]["split"]["bits"][16:]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (renamed, "remembers something else: 'cut' is kept no more; 'split' is new"),
        (longer, r"'due' has shape \[3\], not \[4\]"),
        (unannounced, "keeps 'cut', which this version of the policy does not remember"),
        (cut_short, "keeps 2 numbers of 'split', this version of the policy 3"),
    ],
)
def test_a_version_that_remembers_something_else_says_what(change: Any, says: str, tmp_path: Path) -> None:
    study = create_study(PROBLEM, policy="mf-toptwo", delta=0.1)
    go_on(study, 20)
    study.export(tmp_path / "study.jsonl")
    with pytest.raises(StorageError, match=says):
        import_study(edited(tmp_path / "study.jsonl", change)).current()


def test_what_is_not_kept_is_not_stored(tmp_path: Path) -> None:
    study = create_study(PROBLEM, policy="mf-toptwo", delta=0.1)
    go_on(study, 20)
    study.export(tmp_path / "study.jsonl")
    text = (tmp_path / "study.jsonl").read_text(encoding="utf-8")
    assert "victories.statistics" in text
    assert "scratch" not in text


@pytest.mark.parametrize("policy", ["mf-toptwo", "lucb-c", "iise"])
def test_a_study_opens_from_the_last_round_that_says_all(policy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noted, "_ROUNDS", 7)
    monkeypatch.setattr(noted, "_NUMBERS", 10_000)
    storage = MemoryStorage()
    study = create_study(PROBLEM, policy=policy, delta=0.1, storage=storage)
    go_on(study, 90)
    rounds = [record for record in storage.log(study.name).read(0) if record.kind == ROUND]
    assert [place for place, record in enumerate(rounds) if record.value == ALL_NOTES] == list(range(7, len(rounds), 7))
    read: list[str | None] = []
    true_read = noted.read_round
    monkeypatch.setattr(noted, "read_round", lambda text: read.append(text) or true_read(text))
    again = load_study(storage)
    assert len(read) <= 7, "rounds before that one need not be read"
    same_memory(study.current().state, again.current().state)
    np.testing.assert_array_equal(study.current().state.arm_flags, again.current().state.arm_flags)
    anew = create_study(PROBLEM, policy=policy, delta=0.1)
    go_on(anew, 90)
    assert go_on(again, 60) == go_on(anew, 60)


def test_a_log_that_does_not_say_how_much_its_rounds_hold_is_read_all_the_same() -> None:
    """As versions wrote it that left the value of a round at 0."""
    study = create_study(PROBLEM, policy="mf-toptwo", delta=0.1, retries=0, on_failure="retire")
    go_on(study, 30)
    study.fail(study.ask()[0], "broken")
    go_on(study, 30)
    records = study.storage.log(study.name).read(0)
    assert {record.value for record in records if record.kind == ROUND} == {CHANGES, CHECKPOINT}
    older = MemoryStorage()
    unsaid = [record._replace(value=0.0) if record.kind == ROUND else record for record in records]
    older.create("older", study.storage.headers()[study.name], unsaid)
    again = load_study(older)
    same_memory(study.current().state, again.current().state)
    assert go_on(study, 200) == go_on(again, 200)
    assert study.status == again.status


@pytest.mark.parametrize("policy", ["lucb-c", "mf-toptwo"])
def test_small_and_large_memories_are_searched_for_the_same_changes(
    policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = []
    for small in (0, 10**6):
        monkeypatch.setattr(noted, "_SMALL", small)
        study = create_study(PROBLEM, policy=policy, delta=1e-9)
        go_on(study, 150)
        records = [json.loads(record.text or "") for record in study._log.read(0) if record.kind == ROUND]
        texts.append([record.get("memory") for record in records])
    assert texts[0] == texts[1]
    assert any(texts[0])


def test_the_text_of_a_record_is_that_of_the_standard_library(monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"rows": [[0, 1, 2]], "cut": True, "state": {"sums": [0.1, "inf", 1e300]}, "broken": [{"arm": "\u00e4\n"}]}
    wanted = json.dumps(body, separators=(",", ":"))
    assert json_text(body) == wanted
    monkeypatch.setattr(json.encoder, "c_make_encoder", None)
    assert _records._json_writer()(body) == wanted
