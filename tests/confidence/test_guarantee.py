"""The guarantee itself: how often a path of 10,000 rewards ever refutes its own mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.confidence import BOUNDS, process_kernels
from mfbandit.confidence.processes._stream_sums import StreamSums
from mfbandit.core import Arrays, arrays
from mfbandit.kernel import bind, compiled, kernel, slot
from mfbandit.simulation import simulate

Floats = npt.NDArray[np.float64]

BOUNDED = arrays(mf.Problem(2, [("only", 1.0, 0.0)], reward="bounded"))
GAUSSIAN = arrays(mf.Problem(2, [("only", 1.0, 0.0)], reward=mf.Gaussian(sigma=0.3)))
STEPS, PATHS = 10_000, 150

#: Laws on [0, 1]: their mean, and a draw of paths.
LAWS: dict[str, tuple[float, Callable[[np.random.Generator], Floats]]] = {
    "rare coin": (0.001, lambda rng: (rng.random((PATHS, STEPS)) < 0.001).astype(float)),
    "fair coin": (0.5, lambda rng: (rng.random((PATHS, STEPS)) < 0.5).astype(float)),
    "beta": (0.8, lambda rng: rng.beta(40.0, 10.0, (PATHS, STEPS))),
    "two points": (0.28, lambda rng: np.where(rng.random((PATHS, STEPS)) < 0.1, 1.0, 0.2)),
    "constant": (0.3, lambda rng: np.full((2, STEPS), 0.3)),
}


@slot
def log_e_above(problem: Arrays, stream: StreamSums, q: float) -> float: ...


@slot
def log_e_below(problem: Arrays, stream: StreamSums, q: float) -> float: ...


@kernel
def highest_evidence(problem: Any, paths: Any, mean: float, out: Any) -> None:
    """The highest log e-values along each path against "<= mean" and ">= mean", both true."""
    for i in range(paths.shape[0]):
        total, deviation = 0.0, 0.0
        out[i, 0], out[i, 1] = 0.0, 0.0
        for n in range(1, paths.shape[1] + 1):
            x = paths[i, n - 1]
            surprise = x - (0.5 + total) / n
            total += x
            deviation += surprise * surprise
            stream = StreamSums(n, total, deviation)
            out[i, 0] = max(out[i, 0], log_e_above(problem, stream, mean))
            out[i, 1] = max(out[i, 1], log_e_below(problem, stream, mean))


def check_crossings(highest: Floats) -> None:
    """Each one-sided process crosses 1/alpha in at most a share alpha of the paths."""
    for alpha in (0.05, 0.2):
        for column in range(highest.shape[1]):
            crossed = int((highest[:, column] >= np.log(1.0 / alpha)).sum())
            assert binomtest(crossed, len(highest), alpha, alternative="greater").pvalue > 0.01


@pytest.fixture(scope="module")
def drawn(times: int) -> dict[str, Floats]:
    found = {}
    for law, (_, draw) in LAWS.items():
        rng = np.random.default_rng(11)
        found[law] = np.concatenate([draw(rng) for _ in range(times)])
    return found


@pytest.mark.parametrize("name", ["hoeffding", "kl", "bernstein", "mixed"])
def test_true_means_are_rarely_refuted(name: str, drawn: dict[str, Floats]) -> None:
    run = compiled(bind(highest_evidence, **process_kernels(name)))
    for law, (mean, _) in LAWS.items():
        highest = np.empty((len(drawn[law]), 2))
        run(BOUNDED, drawn[law], mean, highest)
        if law == "constant":
            assert (highest == 0.0).all()
        else:
            check_crossings(highest)


@pytest.mark.parametrize("name", ["gaussian", "hoeffding"])
def test_true_gaussian_means_are_rarely_refuted(name: str, times: int) -> None:
    paths = np.random.default_rng(12).normal(-2.0, 0.3, (PATHS * times, STEPS))
    highest = np.empty((PATHS * times, 2))
    compiled(bind(highest_evidence, **process_kernels(name)))(GAUSSIAN, paths, -2.0, highest)
    check_crossings(highest)
    # The test is not empty: an e-process that pays too little would be near this rate.
    assert (highest >= np.log(5.0)).mean() > 0.0


def test_false_means_are_refuted(drawn: dict[str, Floats]) -> None:
    for name in ("hoeffding", "kl", "bernstein", "mixed"):
        for sample in drawn["beta"][:3]:
            stream = StreamSums(STEPS, float(sample.sum()), float(((sample - 0.8) ** 2).sum()))
            assert BOUNDS[name].log_e_above(BOUNDED, stream, 0.75) > np.log(1e6)
            assert BOUNDS[name].log_e_below(BOUNDED, stream, 0.85) > np.log(1e6)


def test_lucb_with_the_beta_mixture_is_cheap_and_right(times: int) -> None:
    instance = mf.load_instance("figure-1a")
    runs = simulate(instance, "lucb-top:bound=kl", delta=0.2, trials=200 * times, seed=5)
    wrong = int((runs.best != instance.best).sum())
    assert runs.stopped.all()
    assert binomtest(wrong, 200 * times, 0.2, alternative="greater").pvalue > 0.01
    # With the paper's radius it costs 50,000.
    assert runs.cost.mean() < 3_000.0


@pytest.mark.parametrize("bound", ["hoeffding", "bernstein", "mixed"])
def test_lucb_with_the_other_bounds_is_cheap(bound: str) -> None:
    runs = simulate(mf.load_instance("figure-1a"), f"lucb-top:bound={bound}", delta=0.2, trials=1, device="python")
    assert runs.stopped.all()
    assert runs.cost.mean() < 8_000.0
