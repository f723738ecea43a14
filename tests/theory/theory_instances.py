"""Instances that the tests of the theory share."""

import warnings

import numpy as np
from numpy.typing import ArrayLike

from mfbandit.instances import BernoulliLaw, GaussianLaw, Instance, load_instance
from mfbandit.problem import Gaussian, Problem


def quietly(name: str) -> Instance:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_instance(name)


def bernoulli(means: ArrayLike, biases: ArrayLike, costs: ArrayLike) -> Instance:
    means = np.asarray(means, dtype=float)
    problem = Problem.from_arrays(costs, biases, arms=len(means), reward="bernoulli")
    return Instance(problem, means, BernoulliLaw())


def gaussian(means: ArrayLike, biases: ArrayLike, costs: ArrayLike, sigma: float) -> Instance:
    means = np.asarray(means, dtype=float)
    problem = Problem.from_arrays(costs, biases, arms=len(means), reward=Gaussian(sigma))
    return Instance(problem, means, GaussianLaw(sigma))


def random_instance(seed: int, arms: int, fidelities: int, law: str) -> Instance:
    """Means anywhere within their bias bounds, often exactly at them."""
    rng = np.random.default_rng(seed)
    truth = rng.uniform(0.25, 0.75, arms)
    biases = rng.uniform(0.0, 0.2, fidelities)
    biases[-1] = 0.0
    offsets = rng.choice([-1.0, 1.0, rng.uniform(-1.0, 1.0)], (arms, fidelities))
    means = truth[:, None] + offsets * biases
    costs = rng.uniform(0.05, 5.0, fidelities)
    if law == "bernoulli":
        return bernoulli(means, biases, costs)
    return gaussian(means, biases, costs, sigma=0.3)
