"""The repaired Explore-A and -B: the paper's where that stops, and stopping where it does not."""

import numpy as np
import pytest

import mfbandit as mf


@pytest.mark.parametrize("letter", ["a", "b"])
def test_the_same_as_the_papers_while_nothing_is_worn_out(letter):
    paper, ours = (
        mf.simulate("figure-1a", f"lucb-{name}:top=0.95,second=0.75", trials=5, seed=1)
        for name in (letter, f"{letter}-stop")
    )
    assert (paper.pulls == ours.pulls).all()


@pytest.mark.parametrize("letter", ["a", "b"])
def test_stops_where_the_papers_does_not(letter):
    loose = f"lucb-{letter}:top=1,second=0.5"
    assert not mf.simulate("loose-prior", loose, trials=3, seed=1, max_cost=5e6).stopped.any()
    ours = mf.simulate("loose-prior", loose.replace(":", "-stop:"), trials=3, seed=1, max_cost=5e6)
    assert ours.stopped.all()
    assert not ours.wrong.any()


@pytest.mark.parametrize("letter", ["a", "b"])
def test_forever_ends(letter):
    runs = mf.simulate("forever", f"lucb-{letter}-stop:top=0.6,second=0.5", delta=0.01, trials=2, max_cost=4e6)
    top = mf.simulate("forever", "lucb-top", delta=0.01, trials=2, max_cost=4e6)
    assert runs.stopped.all()
    assert runs.cost.mean() < 1.5 * top.cost.mean()


@pytest.mark.parametrize("letter", ["a", "b"])
def test_random_instances_with_wrong_prior_knowledge_end(letter):
    rng = np.random.default_rng(4)
    for _ in range(5):
        truth = rng.permutation([0.2, 0.5, 0.9])
        biases = np.array([0.25, 0.1, 0.0])
        means = np.clip(truth[:, None] + biases * rng.choice([-1, 1], (3, 3)), 0, 1)
        problem = mf.Problem.from_arrays([1.0, 3.0, 9.0], biases, arms=3, reward="bernoulli")
        runs = mf.simulate(
            mf.Instance(problem, means), f"lucb-{letter}-stop:top=1.5,second=-0.5", trials=2, max_cost=3e6
        )
        assert runs.stopped.all()
        assert not runs.wrong.any()


@pytest.mark.parametrize("letter", ["a", "b"])
def test_plain_and_compiled_agree(letter):
    policy = f"lucb-{letter}-stop:top=1,second=0.5,bound=kl"
    # One costly bias bound, so that the cheap fidelity is worn out at once.
    problem = mf.Problem.from_arrays([1.0, 2.0], [0.9, 0.0], arms=2, reward="bernoulli")
    instance = mf.Instance(problem, [[0.8, 0.9], [0.5, 0.2]])
    a = mf.simulate(instance, policy, trials=2, seed=4, max_pulls=500, trace=500)
    b = mf.simulate(instance, policy, trials=2, seed=4, max_pulls=500, trace=500, device="python")
    assert (a.trace == b.trace).all()
