"""Small instances, for tests of theory."""

from mfbandit.instances import Instance
from mfbandit.model import Gaussian, Problem


def bernoulli(means, biases, costs):
    problem = Problem.from_arrays(costs, biases, arms=len(means), reward="bernoulli")
    return Instance(problem, means)


def gaussian(means, biases, costs, sigma):
    problem = Problem.from_arrays(costs, biases, arms=len(means), reward=Gaussian(sigma))
    return Instance(problem, means)
