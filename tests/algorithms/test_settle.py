"""Races with other goals: what kernels stop by is what raw rewards prove, in all kinds of problems."""

import numpy as np
import pytest

import mfbandit as mf


def drawn(seed):
    """Any problem, its rewards (some of them lost), and a goal."""
    rng = np.random.default_rng(seed)
    arms, normal = int(rng.integers(2, 7)), rng.random() < 0.35
    means = np.round(rng.random(arms), 1)
    finite = not normal and rng.random() < 0.6
    blocks = int(rng.integers(20, 150)) if finite else "unlimited"
    epsilon, kind, graded = float(rng.choice([0, 0.1, 0.2])), rng.integers(3), rng.random() < 0.5
    reward = mf.Gaussian() if normal else mf.Bounded(0, 2) if graded else "bernoulli"
    lanes, size = 2 if rng.random() < 0.4 else 1, blocks if finite else 12_000
    problem = mf.Problem(arms, [("cheap", 0.02, 0.1), ("true", 1.0)][2 - lanes :], reward=reward, blocks=blocks)
    hard, mean = rng.random((lanes, 1, size)), means[None, :, None]
    if normal:
        table = mean + 0.3 * hard + rng.normal(0, 0.2, (lanes, arms, size))
    elif graded:
        table = np.clip(1.5 * mean + 0.5 * hard * rng.random((lanes, arms, size)), 0, 2)
    else:
        table = (0.5 * hard + 0.5 * rng.random((lanes, arms, size)) < mean).astype(float)
    lost = rng.random(table.shape) < (0.02 if rng.random() < 0.3 else 0)
    table[lost] = np.nan
    if kind == 0:
        goal = mf.BetterThan(problem.arms[int(rng.integers(arms))])
    elif kind == 1:
        goal = mf.TopM(int(rng.integers(1, arms)))
    else:
        epsilon = max(epsilon, 0.1)
        prices = list(map(float, rng.integers(1, 4, arms)))
        goal = mf.CheapestWithin(prices, slack=float(rng.choice([0, epsilon / 2, epsilon])))
    return problem, table, goal, epsilon, int(rng.choice([1, 1, 4]))


def play(study, table, pulls=None):
    """Evaluate some pulls of a study, those at once in any order."""
    rng, names = np.random.default_rng(1), [fidelity.name for fidelity in study.problem.fidelities]
    while not study.done and (pulls is None or pulls > 0):
        handed = study.ask(study.settings.width)
        for place in rng.permutation(len(handed)):
            pull = handed[place]
            reward = table[names.index(pull.fidelity), study.problem.arms.index(pull.arm), pull.block]
            if np.isnan(reward):
                study.fail(pull, "lost")
            else:
                study.tell(pull, float(reward))
        pulls = None if pulls is None else pulls - len(handed)


# Few and many arms, one fidelity and two, 1 and 4 workers, finite sets and none, all goals and kinds of rewards, and
# cells that could not be had.
@pytest.mark.parametrize("seed", [10, 11, 27, 29, 36, 40, 64, 74, 83, 89, 101, 104])
def test_whatever_stops_is_proven(seed):
    problem, table, goal, epsilon, width = drawn(seed)
    options = {"goal": goal, "epsilon": epsilon, "max_cost": 100 * problem.n_arms, "width": width}
    study = mf.create_study(problem, seed=seed, on_failure="worst", retries=0, **options)
    play(study, table)
    result = study.result()
    # Nothing more is shown of normal differences after a cell that could not be had.
    assert result.status in (("certified", "answered") if np.isnan(table).any() else ("certified",))
    verdict = mf.verify(result.certificate)
    assert verdict.valid == (result.status == "certified"), verdict.reasons
    assert result.confidence >= (0.95 if verdict.valid else 0.0)


@pytest.mark.parametrize(
    ("goal", "epsilon"), [(mf.TopM(2), 0.05), (mf.BetterThan("arm 1"), 0.1), (mf.CheapestWithin([3, 1, 2, 4]), 0.4)]
)
def test_normal_races_go_on_wherever_they_were_left(tmp_path, goal, epsilon):
    rng = np.random.default_rng(4)
    fidelities = [("cheap", 0.02, 0.05), ("true", 1.0)]
    problem = mf.Problem(4, fidelities, reward=mf.Gaussian(), blocks="unlimited")
    table = np.array([0.1, 0.4, 0.62, 0.9])[None, :, None] + rng.normal(0, 0.3, (2, 1, 3000))
    table = table + rng.normal(0, 0.1, (2, 4, 3000))
    whole = mf.create_study(problem, goal=goal, epsilon=epsilon)
    play(whole, table)
    assert whole.status == "certified"
    where = f"sqlite:///{tmp_path / 'left.db'}"
    with mf.create_study(problem, goal=goal, epsilon=epsilon, storage=where) as left:
        play(left, table, 9)
    for _ in range(200):
        with mf.load_study(where) as left:
            if left.done:
                break
            play(left, table, 131)
    with mf.load_study(where) as left:
        one, other = left.result(), whole.result()
    assert (one.status, one.pulls, one.verdicts, one.cost) == (other.status, other.pulls, other.verdicts, other.cost)


def test_simulations_say_where_arms_stand():
    problem = mf.Problem(3, [("true", 1.0)], reward="bernoulli", blocks="unlimited")
    instance = mf.Instance(problem, [[0.9], [0.5], [0.1]], law=mf.BlockEffectLaw(0.3))
    runs = mf.simulate(instance, goal="top-m:m=2", trials=2, device="python", max_pulls=3000)
    assert runs.sides.tolist() == [[1, 1, 2]] * 2
    assert runs.summary()["goal"] == "top-m:m=2"
    assert not runs.wrong.any()
    wide = mf.simulate(instance, goal=mf.BetterThan("arm 1"), trials=1, device="python", width=4, max_pulls=3000)
    assert wide.sides.tolist() == [[1, 0, 2]]
    plain = mf.simulate(instance, trials=1, device="python", max_pulls=3000)
    assert plain.sides.shape == (1, 0)
