"""Every policy's certificate says what its study says."""

import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.algorithms import REGISTRY, Entry, Policy, put
from mfbandit.certificate import verify
from mfbandit.core import PULLS, Algorithm
from mfbandit.kernel import kernel

MEANS = np.array([[0.88, 0.95], [0.3, 0.35], [0.1, 0.1]])
BOUNDS = {
    "bernoulli": ("paper", "hoeffding", "kl", "bernstein", "mixed"),
    "bounded": ("paper", "hoeffding", "kl", "bernstein", "mixed"),
    "gaussian": ("paper", "gaussian"),
}
EXPLORE = ("c:", "top:", *(f"{name}:top=0.95,second=0.3," for name in ("a", "b", "a-stop", "b-stop")))


def identification_policies(kind):
    yield from ("mf-toptwo", "iise", "iise:radius=practical", "successive-halving:repeats=4", "hyperband:repeats=2")
    yield from (f"mf-grad:threshold={name}" for name in ("practical", "theory", "ours"))
    yield from (f"lucb-{explore}bound={bound}" for explore in EXPLORE for bound in BOUNDS[kind])


CASES = [(kind, policy) for kind in BOUNDS for policy in identification_policies(kind)]


def play(kind, policy, seed=0, delta=0.05):
    reward = mf.Gaussian(0.3) if kind == "gaussian" else kind
    problem = mf.Problem.from_arrays([1.0, 3.0], [0.1, 0.0], arms=3, reward=reward)
    rng = np.random.default_rng(seed)

    def evaluate(pull):
        mean = MEANS[int(pull.arm[4:]), int(pull.fidelity[9:])]
        if kind == "gaussian":
            return float(rng.normal(mean, 0.3))
        return float(rng.random() < mean) if kind == "bernoulli" else float(rng.beta(8 * mean, 8 - 8 * mean))

    study = mf.create_study(problem, policy=policy, delta=delta, max_cost=20_000)
    while not study.done:
        for pull in study.ask(500):
            study.tell(pull, evaluate(pull))
    return study


def test_the_cases_cover_the_registry():
    named = {policy.partition(":")[0] for _, policy in CASES}
    # Policies for problems with blocks have certificates of their own: see test_race.py.
    others = {name for name, entry in REGISTRY.items() if entry.kind.objective == "regret" or entry.kind.on_blocks}
    assert named | others == set(REGISTRY)


@pytest.mark.parametrize(("kind", "policy"), CASES)
def test_certified_means_that_the_certificate_holds(kind, policy):
    study = play(kind, policy)
    result, read = study.result(), mf.policy(policy)
    verdict = verify(result.certificate)
    proven = read.proven_for(study.problem)
    assert study.status == ("certified" if proven else "answered")
    if proven:
        assert verdict.reasons == ()
    assert verdict.valid == (result.confidence >= 0.95)


@kernel
def guess_plan(problem, params, state, out):
    """Pull the first arm once, then stop."""
    return 0 if state.clock[PULLS] > 0 else put(out, 0, 0, problem.truest, 1)


@kernel
def guess(problem, params, state):
    """The first arm, whatever the reward."""
    return 0


@dataclass(frozen=True)
class Guess(Policy):
    """A policy that knows nothing."""

    @property
    def name(self):
        return "guess"

    def algorithm(self, problem, goal, unit):
        return Algorithm(plan=guess_plan, recommend=guess, params=None, rows=1)


@dataclass(frozen=True)
class Boast(Guess):
    """One that says that it is proven, too."""

    guarantee: ClassVar[bool] = True

    @property
    def name(self):
        return "boast"


@pytest.mark.parametrize("kind", [Guess, Boast])
def test_a_policy_that_guesses_certifies_nothing(kind, monkeypatch):
    policy = kind()
    monkeypatch.setitem(REGISTRY, policy.name, Entry(kind, {}, "guesses", policy.name))
    study = play("bernoulli", policy.name)
    assert study.status == "answered"
    assert study.confidence == 0.0
    assert not verify(study.result().certificate).valid


def test_everything_works_without_numba(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    for policy in ("mf-toptwo", "lucb-top:bound=kl"):
        study = play("bernoulli", policy)
        assert study.status == "certified"
        assert verify(study.result().certificate).valid
        assert study.confidence >= 0.95
