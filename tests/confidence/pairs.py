"""Random pairs of arms, for the tests of pair certificates."""

import math

import numpy as np

from mfbandit.confidence.pair import BOTH, NEWEST, NORMAL, TILT, Chosen, Hypothesis, take_leader
from mfbandit.confidence.pair._mixture import log_evidence
from mfbandit.confidence.pair._victory_records import PairMemory
from mfbandit.core import BERNOULLI, BOUNDED, GAUSSIAN, new_state
from mfbandit.core import arrays as arrays_of
from mfbandit.kernel import compiled, kernel
from mfbandit.model import Gaussian, Problem

KINDS = {
    "bernoulli": (BERNOULLI, TILT),
    "bounded": (BOUNDED, BOTH),
    "gaussian": (GAUSSIAN, NORMAL),
}


def problem(kind, bias, cost, sigma=0.5):
    reward = {BERNOULLI: "bernoulli", BOUNDED: "bounded", GAUSSIAN: Gaussian(sigma)}[kind]
    return arrays_of(Problem.from_arrays(np.array(cost), np.array(bias), reward=reward))


def empty(arrays):
    state = new_state(arrays, PairMemory)
    return state, Chosen(state.own.active, state.own.leaders), state.own.scratch


@kernel
def claim(epsilon, evidence, chosen):
    """What is to be refuted: by leaders too, if there are any; by the first weights where these are two."""
    led, weights = chosen.leaders.known[0] > 0, 1 if chosen.leaders.known[0] == 2 else NEWEST
    return Hypothesis(0, 1, epsilon, evidence, 0.4 if led else 1.0, 0.6 if led else 0.0, weights)


@kernel
def evidence_of(arrays, hypothesis, cell, rewards, at):
    """The evidence on a cell of v."""
    return log_evidence(arrays, hypothesis, cell, rewards, at)


def quick(function):
    """A kernel in compiled form, with the one machine code of the evidence that all tests of it share."""
    return compiled(function, apart=("log_evidence",))


def random_case(rng, name):
    """A random pair and a third arm: unequal biases and costs per arm, pulls from none to a million, any gap.

    In one case of two some of them have led.
    """
    kind, evidence = KINDS[name]
    fidelities = int(rng.integers(1, 5))
    cost = np.sort(10.0 ** rng.uniform(-2, 1, (3, fidelities)), axis=1)
    bias = np.sort(rng.uniform(0, 0.4, (3, fidelities)), axis=1)[:, ::-1].copy()
    bias[:, -1] = 0.0
    arrays = problem(kind, bias, cost, sigma=float(10.0 ** rng.uniform(-2, 1)) if kind == GAUSSIAN else 0.5)
    state, chosen, scratch = empty(arrays)
    active = chosen.active
    truth = rng.uniform(0, 1, 3)
    most = 10.0 ** rng.uniform(0.5, 6)
    led = rng.random(3) < (0.6 if rng.random() < 0.5 else 0.0)
    for k in rng.permutation(3).tolist():
        for m in range(fidelities):
            n = int(most ** rng.uniform(0, 1)) if rng.random() < 0.85 else 0
            mean = min(max(truth[k] + rng.uniform(-1, 1) * bias[k, m], 0.0), 1.0)
            if kind == GAUSSIAN:
                total = n * truth[k] + arrays.sigma * math.sqrt(n) * rng.normal()
                squared = n * arrays.sigma**2 + total**2 / max(n, 1)
            elif kind == BERNOULLI:
                total = float(rng.binomial(n, mean))
                squared = total
            else:
                total = n * mean
                squared = total * (mean + (1 - mean) * rng.uniform() ** 3)
            share = rng.choice([0.0, 1.0, rng.uniform()])
            count = int(share * n)
            part = count / n if n else 0.0
            state.pulls[k, m], state.sums[k, m], state.squares[k, m] = n, total, squared
            good, square = part * total, part * squared
            if kind == BERNOULLI:
                good = square = float(min(count, round(part * total)))
            active.pulls[k, m], active.sums[k, m], active.squares[k, m] = count, good, square
            if led[k] and count:
                take_leader(chosen.leaders, k, m, float(count), good, square)
    epsilon = 0.0 if led.any() else float(rng.choice([0.0, 0.0, 0.05]))
    return arrays, evidence, epsilon, state, chosen, scratch, truth
