"""`mf-toptwo`: it stops, it is right often enough, and it decides alike in all ways of running."""

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

import mfbandit as mf
from mfbandit.algorithms.mf_toptwo import MFTopTwo
from mfbandit.algorithms.mf_toptwo._sampling import is_good
from mfbandit.confidence.pair import proves
from mfbandit.confidence.pair._victory_records import beaten_records, evidence, from_record
from mfbandit.core import Goal, arrays, new_state, observe
from mfbandit.errors import PolicyError
from mfbandit.instances import BernoulliLaw, BetaLaw, GaussianLaw, TableLaw
from mfbandit.layout import fields
from mfbandit.study.state._planner import copy_state

SHARED = Path(__file__).parents[3] / "shared" / "data"


def instance(means, biases, costs, law=None, reward="bernoulli"):
    problem = mf.Problem.from_arrays(np.array(costs, float), np.array(biases, float), arms=len(means), reward=reward)
    return mf.Instance(problem, np.array(means, float), BernoulliLaw() if law is None else law)


def limit(name, delta):
    return mf.theory.limit(mf.load_instance(name), delta)


# ---------------------------------------------------------------- decisions are the same everywhere


@pytest.mark.parametrize(
    ("name", "options"),
    [("poiani-4x5", {}), ("loose-prior", {"batch": 50}), ("figure-1a", {"fidelities": "0+2"})],
)
def test_plain_python_decides_like_compiled_code(name, options):
    runs = [
        mf.simulate(name, MFTopTwo(**options), delta=0.2, trials=2, seed=5, device=device, max_pulls=3000)
        for device in ("python", "cpu")
    ]
    assert (runs[0].pulls == runs[1].pulls).all()
    assert (runs[0].best == runs[1].best).all()
    assert (runs[0].cost == runs[1].cost).all()


def test_bounded_rewards_decide_alike_too():
    two = instance([[0.6, 0.5], [0.3, 0.35]], [[0.1, 0.0]] * 2, [[1, 4]] * 2, BetaLaw(20.0), "bounded")
    runs = [mf.simulate(two, "mf-toptwo", trials=2, seed=1, device=device) for device in ("python", "cpu")]
    assert (runs[0].pulls == runs[1].pulls).all()


# ---------------------------------------------------------------- edges


def test_one_arm_needs_no_pull():
    runs = mf.simulate(instance([[0.5, 0.5]], [[0.1, 0.0]], [[1, 2]]), "mf-toptwo", trials=3)
    assert runs.stopped.all()
    assert (runs.cost == 0).all()
    assert (runs.best == 0).all()


def test_one_fidelity():
    runs = mf.simulate(instance([[0.8], [0.3], [0.4]], [[0.0]] * 3, [[2.0]] * 3), "mf-toptwo", trials=100)
    assert runs.stopped.all()
    assert (runs.best != 0).sum() <= 5


def test_not_every_stream_is_pulled_first():
    runs = mf.simulate("judges", "mf-toptwo", trials=20, seed=1)
    assert (runs.pulls[:, :, 2] == 0).mean() > 0.9


@pytest.mark.parametrize("bad", [-1, 1.5, True, "grow"])
def test_bad_batches_are_refused(bad):
    with pytest.raises(PolicyError, match="batch must be a whole number"):
        MFTopTwo(batch=bad)


def test_bad_evidence_is_refused():
    with pytest.raises(PolicyError, match="evidence must be one of"):
        MFTopTwo(evidence="luck")


def test_a_fixed_batch_is_kept():
    runs = mf.simulate("figure-1a", "mf-toptwo:batch=7", trials=2, trace=40)
    assert set(runs.trace[:, 5:, 2].ravel().tolist()) <= {0, 7}


def test_tiny_delta():
    runs = mf.simulate("poiani-mu3", "mf-toptwo", delta=1e-300, trials=3)
    assert runs.stopped.all()
    assert (runs.best == 2).all()
    assert runs.cost.mean() < 1.5 * limit("poiani-mu3", 1e-300)


# ---------------------------------------------------------------- cost


@pytest.mark.parametrize(
    ("name", "delta", "most"),
    [
        ("figure-1a", 0.05, 1300),
        ("figure-1b", 0.05, 28500),
        ("poiani-5x2", 0.01, 385),
        ("poiani-4x5", 0.01, 40),
        ("poiani-mu2", 0.01, 75),
        ("poiani-mu3", 0.01, 39),
    ],
)
def test_mean_cost(name, delta, most, times):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        runs = mf.simulate(name, "mf-toptwo", delta=delta, trials=400 * times, seed=3)
    assert runs.stopped.all()
    assert runs.cost.mean() <= most
    wrong = int((runs.best != runs.instance.best).sum())
    assert binomtest(wrong, 400 * times, delta, alternative="greater").pvalue > 1e-3


@pytest.mark.parametrize("name", ["figure-1a", "forever"])
def test_useless_fidelities_cost_little(name):
    delta = 0.01 if name == "forever" else 0.05
    full, top = (
        mf.simulate(name, policy, delta=delta, trials=250, seed=1).cost.mean()
        for policy in ("mf-toptwo", "mf-toptwo:fidelities=top")
    )
    assert full <= 1.25 * top


def test_judges_cost_fifty_times_less_than_humans():
    full = mf.simulate("judges", "mf-toptwo", trials=100, seed=1).cost.mean()
    top = mf.simulate("judges", "mf-toptwo:fidelities=top", trials=100, seed=1).cost.mean()
    assert 50 * full <= top


@pytest.mark.parametrize(("name", "trials", "times"), [("mtbench_judges", 200, 1.6), ("pandalm_judges", 60, 50)])
def test_recorded_judges_pay(name, trials, times):
    if not (SHARED / name).is_dir():
        pytest.skip(f"data set {name} is not beside the checkout")
    rows = mf.load_instance(SHARED / name)
    full, top = (
        mf.simulate(rows, policy, trials=trials, seed=0).cost.mean()
        for policy in ("mf-toptwo", "mf-toptwo:fidelities=top")
    )
    assert times * full <= top


@pytest.mark.parametrize("means", [(0.02, 0.001, 0.0), (1.0, 0.98, 0.97)])
def test_rewards_near_an_end_are_cheaper_than_by_confidence_intervals(means):
    near = instance([[mean] for mean in means], [[0.0]] * 3, [[1.0]] * 3)
    ours, intervals = (
        mf.simulate(near, policy, trials=100, seed=1).cost.mean() for policy in ("mf-toptwo", "lucb-top:bound=kl")
    )
    assert ours <= intervals


@pytest.mark.parametrize("name", ["lcdb_kropt", "simopt_inventory"])
def test_low_variance_pays(name):
    if not (SHARED / name).is_dir():
        pytest.skip(f"data set {name} is not beside the checkout")
    rows = mf.load_instance(SHARED / name)
    both, tilt = (mf.simulate(rows, policy, trials=8, seed=1) for policy in ("mf-toptwo", "mf-toptwo:evidence=tilt"))
    assert both.stopped.all()
    assert (both.best == rows.best).all()
    assert 10 * both.cost.mean() <= tilt.cost.mean()


# ---------------------------------------------------------------- errors and stopping


HURTFUL = {
    "near tie": instance([[0.52], [0.5]], [[0.0]] * 2, [[1.0]] * 2),
    "low variance": instance(
        [[0.80, 0.90], [0.97, 0.88], [0.78, 0.87]],
        [[0.1, 0.0]] * 3,
        [[0.2, 1]] * 3,
        BetaLaw(500.0),
        "bounded",
    ),
    "biases against the best": instance([[0.5, 0.6], [0.6, 0.5]], [[0.1, 0.0]] * 2, [[0.1, 1]] * 2),
    "near 0": instance([[0.05], [0.02]], [[0.0]] * 2, [[1.0]] * 2),
    "near 1": instance([[0.98, 0.99], [0.96, 0.95]], [[0.01, 0.0]] * 2, [[0.2, 1]] * 2),
    "gaussian": instance(
        [[0.0, 0.1], [0.2, 0.1], [0.15, 0.25]],
        [[0.1, 0.0]] * 3,
        [[0.05, 1]] * 3,
        GaussianLaw(0.3),
        mf.Gaussian(0.3),
    ),
    "beta": instance([[0.4, 0.5], [0.5, 0.4]], [[0.1, 0.0]] * 2, [[0.1, 1]] * 2, BetaLaw(3.0), "bounded"),
    "two points": instance(
        [[0.5], [0.48]], [[0.0]] * 2, [[1.0]] * 2, TableLaw([[[0.4, 0.6]], [[0.46, 0.5]]]), "bounded"
    ),
    "constant": instance([[0.5], [0.49]], [[0.0]] * 2, [[1.0]] * 2, TableLaw([[[0.5]], [[0.49]]]), "bounded"),
    "bias per arm": instance(
        [[0.5, 0.6], [0.5, 0.5], [0.55, 0.45]],
        [[0.1, 0.0], [0.0, 0.0], [0.1, 0.0]],
        [[0.1, 1], [0.2, 2], [0.1, 1]],
    ),
}


@pytest.mark.parametrize("delta", [0.2, 0.05])
@pytest.mark.parametrize("name", HURTFUL)
def test_error_rate(name, delta, times):
    # As many as find a rate of twice delta with a probability of 0.998.
    trials = {0.2: 250, 0.05: 1000}[delta] * times
    runs = mf.simulate(HURTFUL[name], "mf-toptwo", delta=delta, trials=trials, seed=4, max_pulls=10**7)
    assert runs.stopped.all()
    wrong = int((runs.best != runs.instance.best).sum())
    assert binomtest(wrong, trials, delta, alternative="greater").pvalue > 1e-3


@pytest.mark.parametrize("delta", [0.2, 0.05])
def test_error_rate_with_fifty_arms(delta, times):
    means = np.full((50, 2), 0.5)
    means[7], means[1:7, 0] = (0.5, 0.6), 0.6
    many = instance(means, [[0.1, 0.0]] * 50, [[0.1, 1.0]] * 50)
    # Whoever forgets the biases is always wrong here; 40 runs find a rate of 0.7 with a probability of 0.9999.
    runs = mf.simulate(many, "mf-toptwo", delta=delta, trials=40 * times, seed=2)
    assert runs.stopped.all()
    assert binomtest(int((runs.best != 7).sum()), 40 * times, delta, alternative="greater").pvalue > 1e-3


@pytest.mark.parametrize("name", ["forever", "loose-prior"])
def test_it_stops_where_the_papers_procedures_do_not(name):
    runs = mf.simulate(name, "mf-toptwo", trials=200, seed=8)
    assert runs.stopped.all()
    assert not runs.wrong.any()


@pytest.mark.slow
def test_it_stops_on_hundreds_of_random_instances(times):
    rng = np.random.default_rng(0)
    for _ in range(400 * times):
        arms, fidelities = int(rng.integers(2, 51)), int(rng.integers(1, 7))
        costs = np.sort(10.0 ** rng.uniform(-2, 1, fidelities))
        biases = np.append(np.sort(rng.uniform(0, 0.3, fidelities - 1))[::-1], 0.0)
        truth = rng.uniform(0.1, 0.9, arms)
        truth[rng.integers(arms)] = truth.max() + 0.05
        signs = rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], (arms, fidelities))
        means = np.clip(truth[:, None] + signs * biases, 0.0, 1.0)
        case = instance(means, [biases] * arms, [costs] * arms)
        runs = mf.simulate(case, "mf-toptwo", delta=0.1, trials=1, max_pulls=10**8)
        assert runs.stopped.all()


def test_an_epsilon_ends_exact_ties(times):
    tie = instance([[0.5, 0.5], [0.5, 0.5], [0.2, 0.2]], [[0.1, 0.0]] * 3, [[0.1, 1.0]] * 3)
    runs = mf.simulate(tie, "mf-toptwo", delta=0.1, epsilon=0.1, trials=200 * times, max_pulls=10**7)
    assert runs.stopped.all()
    assert binomtest(int((runs.best == 2).sum()), 200 * times, 0.1, alternative="greater").pvalue > 1e-3


# ---------------------------------------------------------------- what can be read from a run


def play(case, delta):
    """One run in the way of a study: plan, observe, plan; its parts and its final state."""
    used = arrays(case.problem)
    algorithm = MFTopTwo().algorithm(used, Goal(delta=delta), float)
    state = new_state(used, algorithm.memory)
    out = np.zeros((algorithm.rows, 3), dtype=np.int64)
    rng = np.random.default_rng(1)
    while (rows := algorithm.plan(used, algorithm.params, state, out)) > 0:
        for arm, fidelity, count in out[:rows]:
            for _ in range(count):
                observe(state, arm, fidelity, float(rng.random() < case.means[arm, fidelity]))
            state.clock[0] += count
            state.spent[0] += count * used.cost[arm, fidelity]
        state.clock[1] += 1
    return used, algorithm, state


def test_records_prove_every_defeat_again():
    case = instance([[0.8, 0.85], [0.4, 0.5], [0.3, 0.2]], [[0.1, 0.0]] * 3, [[0.2, 1.0]] * 3)
    used, algorithm, state = play(case, 0.1)
    records = beaten_records(used, algorithm.params, state)
    assert [entry["arm"] for entry in records] == [1, 2]
    threshold = -math.log(0.1)
    for entry in records:
        assert entry["by"] == 0
        assert entry["evidence"] == threshold
        pair, again = from_record(used, entry)
        assert evidence(pair, algorithm.params, again, 0, 1) >= threshold - 0.05
        assert proves(used, algorithm.params, entry, threshold)
        assert proves(used, algorithm.params, entry, threshold, fast=False)
        assert not proves(used, algorithm.params, entry, threshold + 20.0)


def test_evidence_changes_no_state():
    case = instance([[0.8, 0.85], [0.4, 0.5]], [[0.1, 0.0]] * 2, [[0.2, 1.0]] * 2)
    used, algorithm, state = play(case, 0.1)
    before = copy_state(state)
    fast = evidence(used, algorithm.params, state, 0, 1)
    assert fast == evidence(used, algorithm.params, state, 0, 1, fast=False)
    assert evidence(used, algorithm.params, state, 1, 0) == -math.inf
    assert algorithm.recommend(used, algorithm.params, state) == 0
    for a, b in zip(before, state, strict=True):
        assert a is before.own or np.all(a == b)
    now = fields(state.own)
    assert all((a == now[name]).all() for name, a in fields(before.own).items())


def test_a_best_arm_that_was_beaten_by_mistake_returns():
    instance = mf.Instance(
        mf.Problem(3, [("true", 1.0, 0.0)], reward="bernoulli"), [[0.8], [0.5], [0.5]], mf.BernoulliLaw()
    )
    study = mf.create_study(instance.problem, delta=0.001, policy="mf-toptwo", max_cost=50_000)
    evaluate = instance.evaluator(seed=4)
    told = 0
    while not study.done:
        for pull in study.ask(1000):
            study.tell(pull, evaluate(pull))
            told += 1
        if told == 12:
            # What happens with probability delta: the best arm is out, and the two that are left tie.
            state = study.current().state
            state.arm_flags[0] = 2
            state.own.quiet[0] = study.cost
    assert study.status == "certified"
    assert study.best == "arm 0"


@pytest.mark.parametrize(("weights", "truest_is"), [(1, False), (2, True)])
def test_what_counts_as_active_stays_as_it_was_when_a_study_began(weights, truest_is):
    """The truest fidelity always counts, but in studies with the first weights only where it gives enough."""
    seen = arrays(mf.load_instance("poiani-5x2").problem)
    params = MFTopTwo().algorithm(seen, Goal(0.1, weights=weights), lambda value: value).params
    assert is_good(seen, params, seen.truest, 0.1, 1.0) == truest_is
    assert is_good(seen, params, seen.truest, 0.5, 1.0)
    assert is_good(seen, params, seen.truest, 0.0, 0.0)
    assert not is_good(seen, params, 0, 0.1, 1.0)
    assert not is_good(seen, params, 0, 0.0, 0.0)
