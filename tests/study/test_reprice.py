"""What a pull costs may change while a study lives: what was paid stays, and what is proven, too."""

import pytest
from changing import ITEMS, PROBLEM, assert_same, play, reward_of

import mfbandit as mf
from mfbandit.certificate import verify
from mfbandit.errors import ProblemError, StudyError
from mfbandit.study import create_study, import_study, load_study
from mfbandit.study._verify_with_study import verify_with_study
from mfbandit.study.api import logged_pulls

pytestmark = pytest.mark.usefixtures("compiled_plans")

LABELLED = mf.Problem(["a", "b", "c"], [mf.Fidelity("only", 1.0, block_cost=0.5)], blocks=120)


@pytest.mark.parametrize(("problem", "width"), [(PROBLEM, 1), (PROBLEM, 5), (ITEMS, 1), (LABELLED, 5)])
def test_a_price_changes_from_now_on(problem, width, tmp_path):
    url = f"sqlite:///{tmp_path / 'study.db'}"
    name = problem.fidelities[-1].name
    study = create_study(problem, delta=0.1, storage=url, durable=False, width=width, seed=3)
    for _ in range(12):
        for pull in study.ask(1):
            study.tell(pull, reward_of(pull))
    cost, asked = study.cost, study.current().asked
    load_study(url).reprice(name, cost=0.25)
    assert study.cost == cost
    assert_same(study, load_study(url))
    play(study)
    assert study.status == "certified"
    told = list(logged_pulls(study))
    usual = {fidelity.name: fidelity.cost for fidelity in problem.fidelities}
    for pull, _ in told:
        fidelity = problem.fidelities[pull.fidelity]
        each = usual[fidelity.name] if pull.pull < asked or fidelity.name != name else 0.25
        assert pull.cost in (each, each + fidelity.block_cost)
    result = study.result()
    assert sum(pull.cost for pull, _ in told) == pytest.approx(result.cost)
    assert result.certificate["problem"] == problem.to_json()
    assert result.certificate["paid"] <= result.cost + 1e-9
    assert verify(result.certificate).valid
    assert verify_with_study(result.certificate, study).valid
    assert_same(study, load_study(url))
    study.export(tmp_path / "study.jsonl")
    assert_same(study, import_study(tmp_path / "study.jsonl"))
    again = create_study(problem, delta=0.1, storage=url, load_if_exists=True, seed=3)
    assert again.settings.prices == ((name, 0.25),)


@pytest.mark.parametrize("width", [1, 4])
def test_a_limit_counts_the_new_price(width):
    study = create_study(ITEMS, delta=0.01, width=width, max_cost=60.0)
    for _ in range(10):
        for pull in study.ask(1):
            study.tell(pull, reward_of(pull))
    asked = study.current().asked
    study.reprice("only", cost=[4.0, 5.0, 3.0])
    play(study)
    assert study.status == "max_cost"
    assert asked < 20
    assert 54.0 < study.cost <= 60.0
    assert sum(arm.cost for arm in study.result().arms) == pytest.approx(study.cost)


def test_policies_plan_with_the_new_price():
    def spent(price):
        study = create_study(PROBLEM, delta=0.05, seed=5)
        study.reprice("exact", cost=price)
        play(study)
        return {arm.arm: arm.pulls["exact"] for arm in study.result().arms}["b"]

    assert spent(0.2) > 2 * spent(60.0)


def test_what_has_no_price_keeps_it():
    study = create_study(PROBLEM, policy="iise", name="mine")
    with pytest.raises(StudyError, match=r"'iise' takes the costs of study 'mine' for known .* stays 3.0, .* be 4$"):
        study.reprice("exact", cost=4)
    timed = create_study(mf.Problem(2, [("quick", 1.0, 0.1), mf.Fidelity("run", "seconds")]))
    with pytest.raises(StudyError, match="what pulls of 'run' cost is measured or told"):
        timed.reprice("run", cost=4)
    epochs = [mf.Fidelity("3 epochs", 3.0, 0.1), mf.Fidelity("9 epochs", 9.0, continues=True)]
    training = create_study(mf.Problem(3, epochs, blocks=50, order="shared"))
    with pytest.raises(StudyError, match=r"'9 epochs' .* continues others, .* price of '3 epochs' stays 3.0, .* be 4$"):
        training.reprice("3 epochs", cost=4)
    told = create_study(PROBLEM)
    told.tell(told.ask()[0], 0.5, cost=2.0)
    told.ask()
    with pytest.raises(StudyError, match="what pulls of 'quick' cost is measured or told"):
        told.reprice("quick", cost=4)
    with pytest.raises(ProblemError, match="the cost of fidelity 'exact' is -1"):
        told.reprice("exact", cost=-1)
    with pytest.raises(ProblemError, match="has length 2 for 3 arms"):
        told.reprice("exact", cost=[1, 2])
