"""The tournament against the scan: the same two arms, round after round."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mfbandit as mf
from mfbandit.algorithms.lucb import _lucb as lucb
from mfbandit.instances import BernoulliLaw, GaussianLaw, Instance

POLICIES = {
    "a": "lucb-a:top=0.9,second=0.6",
    "b": "lucb-b:top=0.9,second=0.6",
    "c": "lucb-c",
    "top": "lucb-top",
    "kl": "lucb-c:bound=kl",
}
#: Not worth compiling twice: what is compiled decides as plain Python does.
PLAIN = {
    "b by rounds": "lucb-b:top=0.9,second=0.6,clock=rounds",
    "a-stop": "lucb-a-stop:top=0.9,second=0.6",
    "hoeffding, batches": "lucb-c:bound=hoeffding,batch=3",
}


def random_instance(arms: int, fidelities: int, seed: int, *, normal: bool = False, decimals: int = 2) -> Instance:
    """Means and biases are round decimals, so that bounds tie or miss a tie by a rounding error."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.2, 0.8, arms).round(decimals)
    bias = np.sort(rng.uniform(0.0, 0.2, fidelities).round(decimals))[::-1].copy()
    bias[-1] = 0.0
    means = truth[:, None] + bias * rng.choice([-1.0, 0.0, 1.0], (arms, fidelities))
    columns = [(f"f{m}", float(3**m), float(bias[m])) for m in range(fidelities)]
    problem = mf.Problem(arms, columns, reward=mf.Gaussian(0.3) if normal else "bernoulli")
    return Instance(problem, means, GaussianLaw(0.3) if normal else BernoulliLaw(), strict=False)


def both_ways(monkeypatch: pytest.MonkeyPatch, instance: Instance, policy: str, **how: object) -> list[mf.Runs]:
    runs = []
    for many in (2, 10**9):
        monkeypatch.setattr(lucb, "_MANY", many)
        runs.append(mf.simulate(instance, policy, seed=5, threads=1, **how))  # type: ignore[arg-type]
    return runs


def same(one: mf.Runs, other: mf.Runs) -> bool:
    return (
        np.array_equal(one.trace, other.trace)
        and np.array_equal(one.pulls, other.pulls)
        and np.array_equal(one.best, other.best)
        and np.array_equal(one.stopped, other.stopped)
    )


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("arms", [2, 3, 7, 64, 333])
def test_the_tournament_takes_the_decisions_of_the_scan(monkeypatch: pytest.MonkeyPatch, name: str, arms: int) -> None:
    for seed in range(3):
        instance = random_instance(arms, 1 + seed, seed)
        tree, scan = both_ways(monkeypatch, instance, POLICIES[name], trials=3, max_pulls=30_000, trace=15_000)
        assert same(tree, scan), (name, arms, seed)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # to infinity: never
@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("arms", [2, 7, 64])
def test_it_does_so_for_variants(monkeypatch: pytest.MonkeyPatch, name: str, arms: int) -> None:
    for seed in range(3):
        instance = random_instance(arms, 1 + seed, seed)
        how = {"trials": 1, "max_pulls": 1_500, "trace": 1_500, "device": "python"}
        tree, scan = both_ways(monkeypatch, instance, PLAIN[name], **how)
        assert same(tree, scan), (name, arms, seed)


@pytest.mark.parametrize("policy", ["lucb-c", "lucb-top"])
def test_it_does_so_for_normal_rewards(monkeypatch: pytest.MonkeyPatch, policy: str, times: int) -> None:
    for seed in range(times):
        instance = random_instance(50, 3, seed, normal=True)
        tree, scan = both_ways(monkeypatch, instance, policy, trials=3, max_pulls=30_000, trace=15_000)
        assert same(tree, scan)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")  # to infinity: never
def test_it_does_so_for_bounds_made_for_normal_rewards(monkeypatch: pytest.MonkeyPatch, times: int) -> None:
    for seed in range(times):
        instance, how = random_instance(50, 3, seed, normal=True), {"max_pulls": 3_000, "trace": 3_000}
        tree, scan = both_ways(monkeypatch, instance, "lucb-c:bound=gaussian", trials=1, device="python", **how)
        assert same(tree, scan)


@settings(max_examples=25, deadline=None)
@given(
    arms=st.integers(2, 40),
    fidelities=st.integers(1, 3),
    seed=st.integers(0, 10**6),
    name=st.sampled_from(["a", "b", "c"]),
    decimals=st.integers(1, 3),
)
def test_it_does_so_on_any_instance(arms: int, fidelities: int, seed: int, name: str, decimals: int) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        instance = random_instance(arms, fidelities, seed, decimals=decimals)
        tree, scan = both_ways(monkeypatch, instance, POLICIES[name], trials=2, max_pulls=4_000, trace=2_000)
    assert same(tree, scan)


def test_plain_python_plays_it_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = random_instance(100, 3, 1)
    for name in ("a", "b", "c"):
        compiled = mf.simulate(instance, POLICIES[name], trials=1, seed=2, max_pulls=2_000, trace=1_000)
        plain = mf.simulate(instance, POLICIES[name], trials=1, seed=2, max_pulls=2_000, trace=1_000, device="python")
        assert same(compiled, plain)
