"""Certificates of every kind, made once."""

import json
import random

import pytest

import mfbandit as mf


def play(problem, evaluate, **settings):
    """Play a study to its end."""
    study = mf.create_study(problem, **settings)
    while not study.done:
        for pull in study.ask(100):
            try:
                study.tell(pull, evaluate(pull))
            except RuntimeError as error:
                study.fail(pull, str(error))
    return study


def judged():
    instance = mf.load_instance("judges")
    return play(instance.problem, instance.evaluator(seed=1), delta=0.05)


def separate_arms():
    instance = mf.load_instance("figure-1a")
    return play(instance.problem, instance.evaluator(seed=2), delta=0.1, policy="lucb-top:bound=kl")


def within_epsilon():
    problem = mf.Problem.from_arrays(
        [[0.1, 5.0], [0.2, 5.0], [0.1, 4.0]], [[0.1, 0.0], [0.2, 0.0], [0.3, 0.0]], reward=mf.Gaussian(0.5)
    )
    instance = mf.Instance(problem, [[0.95, 1.0], [0.8, 0.98], [0.1, 0.2]])
    return play(problem, instance.evaluator(seed=3), delta=0.1, epsilon=0.2)


def retired_and_widened():
    """The judge likes arm a far too much, and arm c breaks in the end."""
    truth = {"a": 0.5, "b": 0.8, "c": 0.3}
    fidelities = [("judge", 1.0, 0.05), ("crowd", 2.0, 0.05), ("expert", 10.0, 0.0)]
    problem = mf.Problem(list(truth), fidelities, reward="bernoulli")

    def evaluate(pull):
        if pull.arm == "c" and pull.index > 8:
            raise RuntimeError("it broke")
        lie = 0.45 if (pull.arm, pull.fidelity) == ("a", "judge") else 0.0
        return float(random.Random(pull.seed).random() < truth[pull.arm] + lie)

    policy = "lucb-b:top=0.9,second=0.6,bound=kl"
    return play(problem, evaluate, policy=policy, on_failure="retire", retries=0, on_violation="widen")


KINDS = {"pairs": judged, "arms": separate_arms, "epsilon": within_epsilon, "retired": retired_and_widened}


@pytest.fixture(scope="session", params=KINDS)
def certified(request):
    """A study that ended certified."""
    study = KINDS[request.param]()
    assert study.status == "certified"
    return study


@pytest.fixture
def proof(certified):
    """Its certificate, as read from a file."""
    return json.loads(json.dumps(certified.result().certificate))
