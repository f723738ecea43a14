"""The pair certificate: a true supermartingale, and an infimum that no grid can undercut."""

import math

import numpy as np
import pytest
from pairs import KINDS, claim, empty, evidence_of, problem, quick, random_case
from scipy.stats import binomtest

from mfbandit.confidence.pair import PROVEN, Active, Guess, prove, take_leader
from mfbandit.confidence.pair._hypothesis import Rewards
from mfbandit.confidence.pair._likelihood_levels import LOGS, Cell, Stream, stream_levels
from mfbandit.confidence.pair._mixture import cell_at, log_evidence
from mfbandit.confidence.pair._proof import REFUTED, infimum
from mfbandit.core import GAUSSIAN
from mfbandit.kernel import compiled, kernel


@kernel
def lowest_on_grid(arrays, evidence, epsilon, state, low, high, points, cap, chosen, at):
    """The lowest log W on a grid of v, refined where it is lowest."""
    best, where = math.inf, low
    step = (high - low) / (points - 1)
    for _turn in range(4):
        for i in range(points):
            normal = arrays.reward_code == 2
            v = min(max(low + i * step, -1e300 if normal else 0.0), 1e300 if normal else 1.0)
            if not normal and v < epsilon:
                continue
            value = log_evidence(
                arrays,
                claim(epsilon, evidence, chosen),
                cell_at(arrays, v, v, cap),
                Rewards(Active(state.pulls, state.sums, state.squares), chosen.active, chosen.leaders),
                at,
            )
            if value < best:
                best, where = value, v
        low, high = where - 2.0 * step, where + 2.0 * step
        step = (high - low) / (points - 1)
    return best


@pytest.mark.parametrize("name", KINDS)
def test_the_proven_infimum_is_never_above_a_fine_grid_and_close_to_it(name, times):
    rng = np.random.default_rng(7)
    grid, proven = quick(lowest_on_grid), compiled(infimum)
    gaps = []
    for _ in range(400 * times):
        arrays, evidence, epsilon, state, chosen, at, truth = random_case(rng, name)
        low, high = (epsilon, 1.0)
        if arrays.reward_code == GAUSSIAN:
            low, high = truth.min() - 3 * arrays.sigma - 0.5, truth.max() + 3 * arrays.sigma + 0.5
        guess, step = float(truth[:2].mean()), 0.1 * float(abs(truth[0] - truth[1])) + 1e-3
        bound = proven(arrays, claim(epsilon, evidence, chosen), state, Guess(guess, step), 0.01, chosen, at)
        cap = max(0.0, bound) + 25.0
        lowest = grid(arrays, evidence, epsilon, state, low, high, 201, cap, chosen, at)
        assert bound <= lowest
        # Far beyond any use, ratios of several leaders that are cut may make the bound smaller than it could be.
        if math.isfinite(bound) and lowest < (20.0 if chosen.leaders.known[0] else 600.0):
            gaps.append(lowest - bound)
    assert len(gaps) > 30
    assert np.quantile(gaps, 0.99) < 0.05


def test_prove_and_refute_agree_with_the_infimum():
    rng = np.random.default_rng(3)
    decide, proven = compiled(prove), compiled(infimum)
    for _ in range(300):
        arrays, evidence, epsilon, state, chosen, at, truth = random_case(rng, "bounded")
        guess, hypothesis = Guess(float(truth[:2].mean()), 0.05), claim(epsilon, evidence, chosen)
        bound = proven(arrays, hypothesis, state, guess, 0.01, chosen, at)
        if math.isfinite(bound) and bound < 600.0:
            above = decide(arrays, hypothesis, state, bound + 0.2, guess, chosen, at)
            below = decide(arrays, hypothesis, state, bound - 0.2, guess, chosen, at)
            assert above.status != PROVEN
            assert below.status != REFUTED


def test_cells_bound_every_point_inside_them(times):
    rng = np.random.default_rng(11)
    value = quick(evidence_of)
    for name in KINDS:
        for _ in range(500 * times):
            arrays, evidence, epsilon, state, chosen, at, _ = random_case(rng, name)
            low = rng.uniform(epsilon, 1)
            high = rng.uniform(low, 1)
            bound = value(
                arrays,
                claim(epsilon, evidence, chosen),
                cell_at(arrays, low, high, 60.0),
                Rewards(Active(state.pulls, state.sums, state.squares), chosen.active, chosen.leaders),
                at,
            )
            # Where a stream's mean is just possible or just impossible, ratios change the most.
            ends = np.concatenate([arrays.bias.ravel(), 1.0 - arrays.bias.ravel()])
            ends = np.concatenate([ends + shift for shift in (0.0, -epsilon, epsilon, 1e-7, -1e-7, 1e-3, -1e-3)])
            for v in [low, high, *rng.uniform(low, high, 10), *ends[(ends > low) & (ends < high)]]:
                assert (
                    bound
                    <= value(
                        arrays,
                        claim(epsilon, evidence, chosen),
                        cell_at(arrays, v, v, 60.0),
                        Rewards(Active(state.pulls, state.sums, state.squares), chosen.active, chosen.leaders),
                        at,
                    )
                    + 1e-9
                )


def filled(kind, bias, cost, seen, active):
    """Two arms with pulls, sums and sums of squares by arm and fidelity: of all rewards, and of the active ones."""
    arrays = problem(kind, bias, cost, sigma=1.0)
    state, chosen, at = empty(arrays)
    for part, numbers in ((state, active | seen), (chosen.active, active)):
        for stream, (n, total, squared) in numbers.items():
            part.pulls[stream], part.sums[stream], part.squares[stream] = n, total, squared
    return arrays, state, chosen, at


def test_streams_of_both_arms_that_change_places_prove_nothing():
    """At one v a stream of one arm begins to be able to say something, and one of the other arm ceases to be."""
    crossing, count, two = 0.4657788603004403, 10254, {(0, 1): (20508, 9285, 9285), (1, 1): (20508, 9285, 9285)}
    active = {(0, 1): (count, 5200, 5200), (1, 1): (count, 4815, 4815), (0, 0): (391, 161, 161), (1, 0): (77, 20, 20)}
    bias = [[1.0 - crossing, 0.0], [crossing, 0.0]]
    arrays, state, chosen, at = filled(KINDS["bernoulli"][0], bias, [[0.1, 1.0]] * 2, two, active)
    check_that_it_is_not_proven(arrays, KINDS["bernoulli"][1], state, chosen, at, 14.8, 0.4757595593367844, 0.45, 0.05)


def test_products_that_are_cut_on_the_way_prove_nothing():
    """Two fidelities speak for an arm, more than evidence is told apart, and a third one against it."""

    def rewards(n, mean):
        return n, n * mean, n + n * mean * mean

    active = {(0, m): rewards(125, 1.107508919812819) for m in range(2)}
    active |= {(0, 2): rewards(180, -1.283079652094753), (1, 2): rewards(144, -0.14546370503218162)}
    seen = {(0, m): rewards(250, 0.0) for m in range(2)}
    seen |= {(0, 2): rewards(100_000, -0.02513460252730988), (1, 2): rewards(288, 0.0)}
    kind, evidence = KINDS["gaussian"]
    bias, cost = [[1e-9, 1e-9, 0.0]] * 2, [[0.9, 0.95, 1.0]] * 2
    arrays, state, chosen, at = filled(kind, bias, cost, seen, active)
    check_that_it_is_not_proven(arrays, evidence, state, chosen, at, 64.0, 0.6491924747375095, 0.0, 0.003)


def check_that_it_is_not_proven(arrays, evidence, state, chosen, at, target, v, guess, step):
    """Evidence is too low at this v, wherever the search begins."""
    rewards = Rewards(Active(state.pulls, state.sums, state.squares), chosen.active, chosen.leaders)
    assert log_evidence(arrays, claim(0.0, evidence, chosen), cell_at(arrays, v, v, 200.0), rewards, at) < target - 0.2
    verdict = prove(arrays, claim(0.0, evidence, chosen), state, target, Guess(guess, step), chosen, at)
    assert verdict.status != PROVEN


def test_plain_python_and_compiled_code_give_the_same_bits():
    rng = np.random.default_rng(5)
    for name in KINDS:
        for _ in range(5):
            arrays, evidence, epsilon, state, chosen, at, truth = random_case(rng, name)
            args = (
                arrays,
                claim(epsilon, evidence, chosen),
                state,
                Guess(float(truth[:2].mean()), 0.02),
                0.01,
                chosen,
                at,
            )
            assert infimum(*args) == compiled(infimum)(*args)


@pytest.mark.parametrize("name", KINDS)
def test_no_nan_at_the_edges(name):
    kind, evidence = KINDS[name]
    arrays = problem(kind, [[0.1, 0.0], [0.2, 0.0]], [[1e-3, 1.0], [1.0, 1e3]])
    for n in (0, 1, 10**9):
        for means in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0), (0.5, 0.499999)]:
            state, chosen, at = empty(arrays)
            active = chosen.active
            for k in range(2):
                for m in range(2):
                    total = n * means[k]
                    state.pulls[k, m], state.sums[k, m], state.squares[k, m] = n, total, total
                    active.pulls[k, m], active.sums[k, m], active.squares[k, m] = n, total, total
            for v in (0.0, 1e-300, 1e-12, 0.5, 0.9, 1.0 - 1e-12, 1.0):
                for cap in (5.0, 775.0):
                    value = log_evidence(
                        arrays,
                        claim(0.0, evidence, chosen),
                        cell_at(arrays, v, v, cap),
                        Rewards(Active(state.pulls, state.sums, state.squares), chosen.active, chosen.leaders),
                        at,
                    )
                    assert not math.isnan(value)
            bound = infimum(arrays, claim(0.0, evidence, chosen), state, Guess(0.5, 0.05), 0.01, chosen, at)
            assert not math.isnan(bound)
            if n == 10**9 and means[0] > means[1]:
                assert bound > math.log(1e300) if means[0] == 1.0 else bound < 0.0


@kernel
def crossings(arrays, evidence, state, rewards, v, level, leads, chosen, at):
    """Whether log W(v), or log E(v), crosses the level under a sampling rule that chases what looks best."""
    active = chosen.active
    fidelities = arrays.cost.shape[1]
    for t in range(rewards.shape[0]):
        stream = t if t < 2 * fidelities else 0
        if t >= 2 * fidelities:
            best = -math.inf
            for s in range(2 * fidelities):
                k, m = s // fidelities, s % fidelities
                sign = 1.0 if k == 0 else -1.0
                lead = sign * (state.sums[k, m] / state.pulls[k, m] - v) - arrays.bias[k, m]
                score = lead * math.sqrt(state.pulls[k, m]) - (0.5 if (t + s) % 3 else 0.0)
                if score > best:
                    best, stream = score, s
        k, m = stream // fidelities, stream % fidelities
        x = rewards[t, stream]
        state.pulls[k, m] += 1
        state.sums[k, m] += x
        state.squares[k, m] += x * x
        if (t * 7 + stream) % 5 < 3:  # active by a rule that looks at the past only
            active.pulls[k, m] += 1.0
            active.sums[k, m] += x
            active.squares[k, m] += x * x
            if leads and k == 0 and t % 4 < 3:  # a leader's, likewise
                take_leader(chosen.leaders, k, m, 1.0, x, x * x)
        if (
            t % 8 == 0
            and log_evidence(
                arrays,
                claim(0.0, evidence, chosen),
                cell_at(arrays, v, v, 40.0),
                Rewards(Active(state.pulls, state.sums, state.squares), chosen.active, chosen.leaders),
                at,
            )
            >= level
        ):
            return True
    return False


def rewards_of(rng, law, mean, shape):
    if law == "gaussian":
        return rng.normal(mean, 0.5, shape)
    if law == "beta":
        return rng.beta(5 * mean, 5 * (1 - mean), shape)
    if law == "two-point":
        return np.where(rng.random(shape) < 0.5, mean - 0.02, mean + 0.02)
    if law == "constant":
        return np.full(shape, mean)
    return (rng.random(shape) < mean).astype(float)


@pytest.mark.parametrize(
    ("law", "name", "v"),
    [
        ("bernoulli", "bernoulli", 0.5),
        ("bernoulli", "bernoulli", 0.06),
        ("bernoulli", "bounded", 0.5),
        ("beta", "bounded", 0.5),
        ("two-point", "bounded", 0.3),
        ("constant", "bounded", 0.4),
        ("gaussian", "gaussian", 0.2),
    ],
)
def test_evidence_rarely_crosses_when_the_hypothesis_holds(law, name, v, times):
    kind, evidence = KINDS[name]
    bias = np.array([[0.05, 0.0], [0.03, 0.0]])
    arrays = problem(kind, bias, [[0.2, 1.0], [0.1, 1.0]])
    run, rng, alpha, paths = quick(crossings), np.random.default_rng(2), 0.2, 400 * times
    crossed = 0
    for path in range(paths):
        state, chosen, at = empty(arrays)
        # The worst case that the hypothesis allows: means at the very ends of what the biases permit.
        means = [v + 0.05, v, v - 0.03, v]
        rewards = np.stack([rewards_of(rng, law, mean, 800) for mean in means], axis=1)
        crossed += run(arrays, evidence, state, rewards, v, math.log(1 / alpha), path % 2 == 0, chosen, at)
    assert binomtest(crossed, paths, alpha, alternative="greater").pvalue > 1e-3


@pytest.mark.parametrize(("name", "q"), [("bernoulli", 0.3), ("bounded", 0.3), ("gaussian", 0.0)])
def test_each_level_has_mean_at_most_one(name, q):
    """After one pull from the law on the edge of the hypothesis, by exact sums or quadrature."""
    _, evidence = KINDS[name]
    out, total, logs, counts = np.zeros(23), np.zeros(23), np.zeros((1, LOGS)), np.zeros(2)
    if name == "gaussian":
        points, weights = np.polynomial.hermite_e.hermegauss(80)
        points, weights = 0.5 * points + q, weights / weights.sum()
    else:
        points, weights = np.array([0.0, 1.0]), np.array([1 - q, q])
    for x, weight in zip(points, weights, strict=True):
        stream_levels(evidence, Stream(1.0, x, x * x), Cell(q, q, q, q, 60.0, q, q), 0, 0.5, out[None], 0, logs, counts)
        total += weight * out * math.exp(15.0)
    assert (total[:22] <= 1 + 1e-9).all()
    assert total[22] <= 1 + 1e-9
