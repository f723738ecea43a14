"""Fidelities that go on from what cheaper ones left: prices, folders, and what becomes of them."""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import mfbandit as mf
from mfbandit.engines import Batches
from mfbandit.errors import InvalidInput, PolicyError, ProblemError, StudyError
from mfbandit.study import Study, create_study, import_study, load_study
from mfbandit.study._verify_with_study import verify_with_study
from mfbandit.study.state.rounds._round_record import dump_state
from mfbandit.workers import Command

ARMS = list("abcdef")
MEANS = dict(zip(ARMS, (0.9, 0.85, 0.8, 0.7, 0.6, 0.5), strict=True))
LACKS = {"3": 0.2, "9": 0.1, "27": 0.0}


def problem(**more) -> mf.Problem:
    three = mf.Fidelity("3", 3.0, 0.3, pair_bias=0.05, **more)
    nine = mf.Fidelity("9", 9.0, 0.1, pair_bias=0.02, continues=True, **more)
    return mf.Problem(
        ARMS,
        [three, nine, mf.Fidelity("27", 27.0, continues=True, **more)],
        mf.Gaussian(),
        blocks="unlimited",
        order="shared",
    )


def score(pull: mf.Pull) -> float:
    shared, own = random.Random(pull.block_seed), random.Random(f"{pull.block_seed} {pull.arm}")
    return MEANS[pull.arm] + shared.gauss(0.0, 0.1) + own.gauss(0.0, 0.02) - LACKS[pull.fidelity]


def epochs(pull: mf.Pull) -> float:
    return float(pull.fidelity) - float(pull.done or 0)


def train(pull: mf.Pull) -> float:
    """Add a line for each fidelity that was reached; what an attempt finds must be what the one before left."""
    state = Path(pull.folder or "") / "state"
    known = state.read_text().split() if state.exists() else []
    assert (known[-1] if known else None) == pull.done
    state.write_text(" ".join([*known, pull.fidelity]))
    return score(pull)


@pytest.mark.parametrize(("width", "measured"), [(1, False), (4, False), (4, True)])
def test_going_on_costs_what_is_left(width: int, measured: bool, tmp_path: Path) -> None:
    url, reached = f"sqlite:///{tmp_path / 'study.db'}", {}
    study = create_study(problem(**({"measured": "told"} if measured else {})), width=width, storage=url)
    while pulls := study.ask(width):
        random.Random(pulls[0].id).shuffle(pulls)
        for pull in pulls:
            assert reached.get((pull.arm, pull.block)) == pull.done
            assert measured or pull.cost == pytest.approx(epochs(pull))
        for pull in pulls:
            study.tell(pull, score(pull), cost=2.0 * epochs(pull) if measured else None)
            reached[pull.arm, pull.block] = pull.fidelity
    result = study.result()
    assert (result.status, result.best) == ("certified", "a")
    total = sum(float(fidelity) for fidelity in reached.values())
    assert result.cost == pytest.approx(total * (2 if measured else 1))
    assert sum(arm.cost for arm in result.arms) == pytest.approx(result.cost)
    assert study.to_frame()["cost"].sum() == pytest.approx(result.cost)
    assert verify_with_study(result.certificate, study).valid
    study.export(tmp_path / "study.jsonl")
    for other in (load_study(url), import_study(tmp_path / "study.jsonl")):
        assert other.result() == result
        assert dump_state(other.current().state) == dump_state(study.current().state)
    if width == 1:  # much less than to train everything to the end
        alone = create_study(mf.Problem(ARMS, [mf.Fidelity("27", 27.0)], mf.Gaussian(), blocks="unlimited"))
        assert total < 0.6 * alone.optimize(score, progress=False).cost


def test_folders_have_what_was_left_and_are_removed(tmp_path: Path) -> None:
    study = create_study(problem(), storage=f"sqlite:///{tmp_path / 'study.db'}", max_cost=400.0, retries=3, width=3)
    failed: set[int] = set()

    def fails_at_first(pull: mf.Pull) -> float:
        if pull.seed % 3 == 0 and pull.id not in failed:
            failed.add(pull.id)
            (Path(pull.folder or "") / "state").write_text("half-written")
            raise ConnectionError("lost")
        return train(pull)

    assert study.optimize(fails_at_first, workers=3, progress=False, failure_patience=0).status == "max_cost"
    assert failed
    # A study that may go on keeps them, and another process finds them.
    kept = list(tmp_path.glob("study.db.folders/*/*/block-*/*"))
    assert kept
    assert not [folder for folder in kept if folder.name.startswith("attempt")]
    again = load_study(study.storage.url)
    again.extend(max_cost=10_000.0)
    again.optimize(Batches(lambda pulls: [train(pull) for pull in pulls], 2), progress=False)
    assert again.status == "certified"
    assert not (tmp_path / "study.db.folders").exists()


def test_folders_of_arms_that_are_out_are_removed_and_others_kept(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("not yours")
    seen: set[str] = set()

    def look(pull: mf.Pull) -> float:
        seen.update(folder.name for folder in tmp_path.glob("*/*-*") if folder.is_dir())
        if pull.fidelity == "9":
            assert not list(tmp_path.glob("*/5-f"))
        return train(pull)

    mf.identify(problem(), look, folders=tmp_path, progress=False)
    assert {"0-a", "5-f"} <= seen
    assert os.listdir(tmp_path) == ["mine.txt"]
    result = mf.identify(problem(), train, folders=mf.Folders(tmp_path, keep=True), progress=False)
    (base,) = [folder for folder in tmp_path.iterdir() if folder.is_dir()]
    assert len(list(base.glob("*/block-*"))) >= max(result.arms[0].pulls.values())
    study = create_study(problem())
    (tmp_path / f"study-{study.identity}").mkdir()
    with pytest.raises(StudyError, match="was not made by mfbandit"):
        study.optimize(train, folders=tmp_path, progress=False)


KILLED = """
import os, sys
sys.path.insert(0, sys.argv[2])
import test_continuing as these
def dies(pull):
    if pull.id == 31:
        (these.Path(pull.folder) / "state").write_text("half-written")
        os._exit(9)
    return these.train(pull)
these.load_study(sys.argv[1]).optimize(dies, progress=False)
"""


def test_a_run_that_was_killed_leaves_nothing_half_written(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    study = create_study(problem(), storage=url)
    code = subprocess.run([sys.executable, "-c", KILLED, url, str(Path(__file__).parent)]).returncode
    assert code == 9
    assert study.view().pulls == 31
    assert list(tmp_path.glob("study.db.folders/*/*/*/attempt-31-*"))
    assert study.optimize(train, progress=False).status == "certified"
    assert not (tmp_path / "study.db.folders").exists()
    alone = create_study(problem())
    alone.optimize(train, progress=False)
    decided = ["pull", "arm", "fidelity", "block", "cost", "reward"]
    assert alone.to_frame()[decided].equals(study.to_frame()[decided])


def test_a_command_finds_its_folder(tmp_path: Path) -> None:
    (pull,) = create_study(problem()).ask()
    script = "import os; print(os.path.isdir(os.environ['MFBANDIT_FOLDER']) + 2 * len(os.environ['MFBANDIT_DONE']))"
    folder = mf.Pull(**{**vars(pull), "folder": str(tmp_path), "done": "3"})
    assert Command([sys.executable, "-c", script])(folder) == 3.0


def test_what_cannot_go_on_is_refused() -> None:
    going = [mf.Fidelity("3", 3.0, 0.1), mf.Fidelity("9", 9.0, continues=True)]
    for more in ({}, {"blocks": 100}):
        with pytest.raises(ProblemError, match="'9' continues others, so that their rewards depend on each other"):
            mf.Problem(2, going, **more)
    shared = {"blocks": 100, "order": "shared"}
    unknown = [mf.Fidelity("3", "seconds", 0.1), mf.Fidelity("9", "seconds", continues=True)]
    with pytest.raises(ProblemError, match="'9' continues others, but none is cheaper: declare what they cost"):
        mf.Problem(2, unknown, **shared)
    by_arm = [mf.Fidelity("3", [3.0, 10.0], 0.1), mf.Fidelity("9", [9.0, 9.0], continues=True)]
    with pytest.raises(ProblemError, match="continues '3', so it must cost more for every arm, and does not for"):
        mf.Problem(["a", "b"], by_arm, **shared)
    with pytest.raises(ProblemError, match="continues of fidelity 'x' must be True or False, got 1"):
        mf.Fidelity("x", 1.0, continues=1)  # type: ignore[arg-type]
    with pytest.raises(PolicyError, match="on which there is nothing to go on from"):
        create_study(mf.Problem(2, going, **shared), policy="mf-toptwo:independent=True")
    plain: Study = create_study(mf.Problem(2, [mf.Fidelity("9", 9.0)], **shared))
    with pytest.raises(InvalidInput, match="folders are for fidelities that continue others"):
        plain.optimize(score, folders="here", progress=False)
    assert mf.Problem.from_json(problem().to_json()) == problem()


@pytest.mark.parametrize("width", [1, 4])
def test_nobody_goes_on_from_what_could_not_be_had(width: int) -> None:
    settings = {"on_failure": "worst", "retries": 0, "width": width, "seed": 2}
    study = create_study(problem(), **settings)
    reached: dict[tuple[str, int | None], str] = {}
    lost = 0
    while pulls := study.ask(width):
        for pull in pulls:
            assert reached.get((pull.arm, pull.block)) == pull.done
            if pull.arm == "b" and pull.fidelity == "3" and pull.block == 1:
                study.fail(pull, "no result")
                lost += 1
            else:
                study.tell(pull, score(pull))
                reached[pull.arm, pull.block] = pull.fidelity
    assert lost == 1
    assert study.best == "a"
