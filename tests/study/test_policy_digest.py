"""Another version of a policy's code is noticed before it decides anything."""

import importlib.util
import json
import pickle
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

import mfbandit as mf
from mfbandit.algorithms import REGISTRY
from mfbandit.cli import main
from mfbandit.errors import StorageError, StudyError
from mfbandit.layout import NoMemory
from mfbandit.storage import MemoryStorage
from mfbandit.study import Study, create_study, import_study, load_study
from mfbandit.study._policy_digest import policy_digest, text_digest
from mfbandit.study._settings import Settings

#: A number in a file that lucb-c reaches through two others.
FAR_AWAY = "mfbandit.algorithms.lucb._top_two_scan._EPOCHS"

PLAIN = """
from mfbandit.kernel import kernel
from inner import helper
LIMIT = 3

@kernel
def plan(x):
    return helper(x) + LIMIT
"""
INNER = """
from mfbandit.kernel import kernel

@kernel
def helper(x):
    return 2 * x
"""


def digest_of(folder: Path, monkeypatch: pytest.MonkeyPatch, plan: str = PLAIN, inner: str = INNER) -> str:
    """The digest of a kernel in one file that calls one in another."""
    folder.mkdir()
    (folder / "inner.py").write_text(inner)
    (folder / "outer.py").write_text(plan)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "inner", raising=False)
    spec = importlib.util.spec_from_file_location("outer", folder / "outer.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return text_digest([module.plan])


def test_what_decides_nothing_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dressed = PLAIN.replace("def plan(x):", 'def plan(x: float) -> float:\n    """Say\n    much."""  # and more\n\n')
    remarks = INNER.replace("return 2 * x", "return (2 *\n        x)  # twice")
    first = digest_of(tmp_path / "a", monkeypatch)
    assert digest_of(tmp_path / "b", monkeypatch, dressed, "\n# A remark.\nOTHER = 5\n" + remarks) == first


@pytest.mark.parametrize(
    ("plan", "inner"),
    [
        (PLAIN.replace("+ LIMIT", "- LIMIT"), INNER),
        (PLAIN.replace("LIMIT = 3", "LIMIT = 4"), INNER),
        (PLAIN, INNER.replace("2 * x", "3 * x")),
        (PLAIN, INNER.replace("2 * x", "2.0 * x")),
        (PLAIN, INNER.replace("(x)", "(x, y=1)")),
    ],
)
def test_what_decides_changes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plan: str, inner: str) -> None:
    assert digest_of(tmp_path / "a", monkeypatch, plan, inner) != digest_of(tmp_path / "b", monkeypatch)


def on_blocks(problem: mf.Problem) -> mf.Problem:
    return mf.Problem(problem.arms, problem.fidelities, problem.reward, blocks="unlimited")


def test_every_policy_and_option_has_its_own(pair: mf.Problem) -> None:
    policies = [mf.policy(entry.example) for entry in REGISTRY.values()]
    policies += [mf.policy(text) for text in ("lucb-c:bound=kl", "lucb-c:batch=3", "mf-toptwo:evidence=tilt,batch=2")]
    digests = []
    for policy in policies:
        limit = {"budget": 50.0} if policy.objective == "regret" else {}
        settings = Settings(on_blocks(pair) if policy.on_blocks else pair, policy, **limit)
        digests.append(policy_digest(settings))
        assert digests[-1] == policy_digest(Settings.from_json(json.loads(json.dumps(settings.to_json()))))
    assert len(set(digests)) == len(digests)


@pytest.mark.parametrize("policy", [entry.example for entry in REGISTRY.values()])
@pytest.mark.parametrize("arms", [1, 2, 100])
def test_any_number_of_arms_has_one(policy: str, arms: int) -> None:
    problem = mf.Problem(arms, [("quick", 1.0, 0.1), ("exact", 4.0, 0.0)], reward="bernoulli")
    limit = {"budget": 5000.0} if mf.policy(policy).objective == "regret" else {}
    create_study(on_blocks(problem) if mf.policy(policy).on_blocks else problem, policy=policy, **limit)


def test_the_alarm_belongs_to_it_where_it_decides(pair: mf.Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    calm, wary = (Settings(pair, mf.policy("lucb-c"), on_violation=action) for action in ("ignore", "stop"))
    before = policy_digest(calm), policy_digest(wary)
    monkeypatch.setattr("mfbandit.confidence._bias_alarm._STEPS", 20)
    monkeypatch.setattr("mfbandit.confidence._bias_alarm._measure", mf.confidence._bias_alarm._measure.__wrapped__)
    assert policy_digest(calm) == before[0]
    assert policy_digest(wary) != before[1]


def test_so_does_what_is_done_when_it_goes_off(pair: mf.Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(pair, mf.policy("lucb-c"), on_violation="drop")
    before = policy_digest(settings)
    monkeypatch.setattr("mfbandit.study.state._bias_violations._HOPELESS", 900.0)
    assert policy_digest(settings) != before


@pytest.fixture
def changed(pair: mf.Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The storage of a study whose first pull is out and whose policy has changed since."""
    study = create_study(pair, storage=tmp_path / "s.db", policy="lucb-c", max_cost=200.0, durable=False)
    play_round(study)
    study.ask(lease_seconds=1e-9)
    study.storage.close()
    monkeypatch.setattr(FAR_AWAY, 128)
    return str(tmp_path / "s.db")


def play_round(study: Study) -> None:
    pulls = study.ask(99)
    for pull in pulls:
        study.tell(pull, 0.5)


def test_it_is_said_and_nothing_is_decided(pair: mf.Problem, changed: str) -> None:
    says = "the code of policy 'lucb-c' has changed since study 'study' was made, and may decide differently"
    options: dict[str, Any] = {"storage": changed, "policy": "lucb-c", "max_cost": 200.0}
    with pytest.raises(StudyError, match=says):
        create_study(pair, load_if_exists=True, **options)
    with pytest.raises(StudyError, match=says):
        mf.identify(pair, lambda pull: 0.5, progress=False, **options)
    study = load_study(changed)
    with pytest.raises(StudyError, match=says):
        study.optimize(lambda pull: 0.5, progress=False)
    rounds = study.current().rounds
    study.tell(2, 0.5)
    study.tell(study.ask()[0], 0.5)
    assert study.current().due, "results that were paid for count"
    assert (study.current().rounds, study.best is not None) == (rounds + 1, True)
    with pytest.raises(StudyError, match=says):
        study.ask()


def test_it_goes_on_if_asked_to(pair: mf.Problem, changed: str) -> None:
    assert load_study(changed, allow_changed_policy=True).ask(lease_seconds=1e-9)
    copy = pickle.loads(pickle.dumps(load_study(changed, allow_changed_policy=True)))
    play_round(copy)
    result = mf.identify(
        pair,
        lambda pull: 0.5,
        storage=changed,
        policy="lucb-c",
        max_cost=200.0,
        progress=False,
        allow_changed_policy=True,
    )
    assert result.status == "max_cost"
    # What has ended asks for no decision.
    assert load_study(changed).optimize(lambda pull: 0.5, progress=False).status == "max_cost"


def test_the_command_line_says_so_too(changed: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["status"], ["best"], ["tell", "2", "0.5"]):
        assert main([command[0], changed, *command[1:]]) == 0
    assert main(["ask", changed]) == 0, "what was planned is still asked for"
    assert main(["tell", changed, "3", "0.5"]) == 0
    capsys.readouterr()
    assert main(["ask", changed]) == 2
    said = capsys.readouterr().err
    assert "has changed since study 'study' was made" in said
    assert said.count("\n") == 1
    assert main(["ask", changed, "--allow-changed-policy", "--lease", "1e-9"]) == 0
    file = tmp_path / "s.toml"
    file.write_text(
        'storage = "s.db"\nname = "study"\npolicy = "lucb-c"\nmax_cost = 200.0\n[problem]\narms = ["a", "b"]\n'
        'reward = "bernoulli"\nfidelities = [["quick", 1.0, 0.1], ["exact", 4.0, 0.0]]\n'
        "[evaluator]\ncommand = \"sh -c 'echo 1'\"\n"
    )
    capsys.readouterr()
    assert main(["run", str(file)]) == 2
    assert "has changed since" in capsys.readouterr().err
    assert main(["run", str(file), "--allow-changed-policy"]) == 1


def test_an_export_says_which_code_it_was(changed: str, tmp_path: Path) -> None:
    load_study(changed).export(tmp_path / "s.jsonl")
    copy = import_study(tmp_path / "s.jsonl")
    assert copy.code.changed
    assert copy.code.digest == load_study(changed).code.digest


def test_studies_without_a_digest_open(pair: mf.Problem, tmp_path: Path) -> None:
    study = create_study(pair, storage=tmp_path / "s.db", durable=False)
    play_round(study)
    study.storage.close()
    with sqlite3.connect(tmp_path / "s.db") as connection:
        ((text,),) = connection.execute("SELECT header FROM mfbandit_studies").fetchall()
        header = json.loads(text)
        assert header.pop("digest")
        connection.execute("UPDATE mfbandit_studies SET seal = NULL, header = ?", (json.dumps(header),))
    assert load_study(str(tmp_path / "s.db")).ask()


def test_a_log_that_new_code_cannot_read_is_one_sentence(pair: mf.Problem, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = MemoryStorage()
    study = create_study(pair, storage=storage, policy="lucb-c")
    for _ in range(3):
        play_round(study)
    monkeypatch.setattr(FAR_AWAY, 128)
    monkeypatch.setattr("mfbandit.algorithms.lucb._lucb.Ceilings", NoMemory)
    with pytest.raises(StorageError, match="remembers something else: 'epoch' is kept no more"):
        load_study(storage)
