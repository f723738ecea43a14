"""The evidence of races on blocks, against definitions written out in plain loops, and its traps."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad

import mfbandit as mf
from mfbandit.confidence.race import Race, bet_count, blocks_at_least, log_student, weights
from mfbandit.confidence.race._guards import least_step, typical_spread
from mfbandit.confidence.race._rules import BETS, EFFECT_WEIGHTS, EFFECTS, ProcessWeights
from mfbandit.confidence.race._student_paths import _log_limit, log_evidence, log_gate

NAN = math.nan


def race_of(problem, rewards, declared=None, known=None, delta=0.05, epsilon=0.0):
    """A race on all fidelities of a problem; `rewards` are (M, K, n)."""
    rewards = np.array(rewards, dtype=float)
    lanes, arms, blocks = rewards.shape
    known = np.full((arms, lanes), blocks) if known is None else np.array(known)
    rewards[np.arange(blocks) >= known.T[:, :, None]] = NAN
    declared = np.full((lanes, blocks, 2), -1) if declared is None else np.array(declared)
    return Race(problem, list(range(lanes)), delta, epsilon, rewards, known, declared)


def plain_log_p(race, zs, shares, size, swing):
    """Bounded evidence as its definition reads."""
    lanes, arms, _ = race.rewards.shape
    found = [0.0] * arms
    for b, m in itertools.product(range(arms), range(lanes)):
        x = race.rewards[m]
        bets = BETS[: bet_count(size)]

        def gap(a, i, x=x, b=b):
            low = 0.0 if math.isnan(x[a, i]) else x[a, i]
            return low - (1.0 if math.isnan(x[b, i]) else x[b, i])

        def factor(a, i, m=m, gap=gap, bets=bets):
            d, c = gap(a, i), zs[m]
            if swing:
                return 1 + bets * min(1, max(-1, (d - c) / swing))
            if size:
                c = (size * zs[m] - sum(gap(a, j) for j in range(i))) / (size - i)
            c = min(c, 1.0)
            return np.ones(bets.size) if c <= -1 + 1e-12 else 1 + bets * (d - c) / (1 + max(c, 0))

        others = [a for a in range(arms) if a != b]
        lead, pair = weights(arms, False, led=True)
        capital = {a: np.ones(bets.size) for a in [*others, "lead"]}
        halted, peak = False, 0.0
        for i in range(race.known[b, m]):
            total = 0.0
            for a in others:
                if race.known[a, m] > i:
                    capital[a] = capital[a] * factor(a, i)
                    total += pair * capital[a].mean()
                    ahead = sum(gap(a, j) for j in range(i + 1))
                    if size and ahead - (size - i - 1) > size * (zs[m] + 1e-9):
                        found[b] = -math.inf
            leader, second = race.declared[m, i]
            a = second if leader == b else leader
            if a not in (-1, b):
                halted = halted or race.known[a, m] <= i
                if not halted:
                    capital["lead"] = capital["lead"] * factor(a, i)
            if not halted:
                total += lead * capital["lead"].mean()
            peak = max(peak, total)
        found[b] = min(found[b], -math.log(max(peak, 1e-300) * shares[m]))
    return np.minimum(found, 0.0)


@pytest.mark.parametrize("kind", ["finite", "drawn", "swing", "two arms"])
def test_bounded_evidence_is_its_definition(kind):
    rng = np.random.default_rng(5)
    arms, blocks = (2 if kind == "two arms" else 4), 30
    size = 40 if kind == "finite" else 0
    swing = 0.8 if kind == "swing" else 0.0
    fidelities = [mf.Fidelity("cheap", 1.0, 0.03), mf.Fidelity("truth", 2.0)]
    reward = mf.Bounded(0, 1, swing=swing) if swing else "bounded"
    problem = mf.Problem(arms, fidelities, reward=reward, blocks=size or "unlimited")
    for _ in range(6):
        rewards = np.clip(rng.normal(np.linspace(0.2, 0.9, arms)[:, None], 0.2, (2, arms, blocks)), 0, 1)
        rewards[rng.random(rewards.shape) < 0.02] = NAN
        known = rng.integers(20, blocks + 1, (arms, 2))
        declared = rng.integers(-1, arms, (2, blocks, 2))
        race = race_of(problem, rewards, declared, known)
        expected = plain_log_p(race, [0.06, 0.0], [0.2, 0.8], size, swing)
        np.testing.assert_allclose(race.log_p, expected, rtol=1e-9, atol=1e-9)


def quadrature(n, t):
    """E as an integral."""
    total = 0.0
    for effect, weight in zip(EFFECTS, EFFECT_WEIGHTS, strict=True):
        logs = []
        for c in (effect * t, 0.0):
            top = (c + math.sqrt(c * c + 4 * (n - 1))) / 2
            most = (n - 1) * math.log(top) - top * top / 2 + c * top

            def integrand(y, c=c, most=most):
                return math.exp((n - 1) * math.log(y) - y * y / 2 + c * y - most) if y > 0 else 0.0

            area = quad(integrand, max(0.0, top - 12), top + 12, limit=400, epsabs=0, epsrel=1e-11)[0]
            logs.append(most + math.log(area))
        total += weight * math.exp(logs[0] - logs[1] - n * effect**2 / 2)
    return math.log(total)


@pytest.mark.parametrize(("n", "t"), [(5, 2.2), (5, 0.1), (30, 4.0), (100, 9.0), (1000, 3.0), (10_000, 20.0)])
def test_students_evidence_is_an_integral_and_the_kernels(n, t):
    value = log_evidence(np.array([n]), np.array([t]))[0]
    assert value == pytest.approx(quadrature(n, t), rel=1e-7, abs=1e-8)
    assert value == pytest.approx(log_student(n, t), rel=1e-9, abs=1e-9)
    assert value <= log_gate(np.array([n]), np.array([t]))[0]


@pytest.mark.parametrize("n", [64, 100, 1_000, 10_000])
def test_what_spares_the_evidence_of_many_blocks_is_never_below_it(n):
    t = np.linspace(1e-6, 1.0, 60) * math.sqrt(n)
    above = _log_limit(np.full(t.size, float(n)), t) - log_evidence(np.full(t.size, n), t)
    assert above.min() > 0.015
    assert above.max() < 0.021


def test_long_paths_do_not_overflow():
    found = log_evidence(np.array([10_000, 10_000]), np.array([100.0, 99.0]))
    assert np.isfinite(found).all()
    assert found[0] > found[1] > 1_000


def plain_student(race, a, b, start, z, caution, resolution):
    """The peak of one process, in plain loops."""
    x, peak = race.rewards[0], -math.inf
    reach = min(race.known[a, 0], race.known[b, 0])
    for end in range(start + 1, reach + 1):
        d = x[a, start:end] - x[b, start:end] - z
        if np.isnan(d).any():
            break
        spreads, steps = [], []
        for c in range(x.shape[0]):
            common = x[a, : min(end, race.known[c, 0])] - x[c, : min(end, race.known[c, 0])]
            if c != a and common.size >= 2 and not np.isnan(common).any():
                spreads.append(np.std(common, ddof=1))
        g = caution * (sorted(spreads)[(len(spreads) - 1) // 2] if spreads else 0.0)
        for i, c, e in itertools.product(range(end), range(x.shape[0]), range(x.shape[0])):
            if i < min(race.known[c, 0], race.known[e, 0]) and abs(x[c, i] - x[e, i]) > 1e-9:
                steps.append(abs(x[c, i] - x[e, i]))
        r = resolution or min(steps, default=0.0)
        n, s = d.size, d.sum()
        if n >= blocks_at_least(caution) and s > g:
            t = (s - g) / math.sqrt((d * d).sum() + g * g + n * r * r / 12)
            peak = max(peak, log_student(n, t))
    return peak


@pytest.mark.parametrize(("caution", "resolution"), [(0.0, None), (1.0, None), (2.0, 0.5)])
def test_students_evidence_is_its_definition(caution, resolution, monkeypatch):
    # As with more than 50 arms, where leaders have a weight.
    monkeypatch.setattr(
        "mfbandit.confidence.race._race_data.weights", lambda arms, student, led: ProcessWeights(0.1, 0.3)
    )
    rng = np.random.default_rng(6)
    reward = mf.Gaussian(caution=caution, resolution=resolution)
    problem = mf.Problem(4, [("only", 1.0)], reward=reward, blocks="unlimited")
    for _ in range(4):
        rewards = rng.normal(np.linspace(0.0, 3.0, 4)[:, None], 1.0, (1, 4, 16)).round(1)
        rewards[0, 1, 13] = NAN
        known = rng.integers(12, 17, (4, 1))
        declared = np.full((1, 16, 2), -1)
        declared[0, 4:, 0], declared[0, 9:, 0], declared[0, 4:, 1] = 2, 3, 0
        race = race_of(problem, rewards, declared, known)
        for b in range(4):
            levels = [0.0]
            for a in set(range(4)) - {b}:
                levels.append(-plain_student(race, a, b, 0, 0.0, caution, resolution or 0.0) - math.log(0.3))
            for rank, (a, start) in enumerate([(2, 4), (3, 9)], 1):
                if a != b:
                    peak = plain_student(race, a, b, start, 0.0, caution, resolution or 0.0)
                    levels.append(-peak - math.log(0.1 / (rank * (rank + 1))))
            assert race.log_p[b] == pytest.approx(min(levels), rel=1e-9, abs=1e-9)


def test_guards_look_at_all_arms_so_far():
    problem = mf.Problem(3, [("only", 1.0)], reward=mf.Gaussian(), blocks="unlimited")
    race = race_of(problem, [[[0.0, 2.0, 4.0], [0.0, 1.0, 3.5], [1.0, 1.0, 1.0]]])
    lane = race._lanes[0]
    np.testing.assert_allclose(typical_spread(lane, 0), [0.0, np.std([0, 1], ddof=1), np.std([0, 1, 0.5], ddof=1)])
    assert least_step(lane).tolist() == [1.0, 1.0, 0.5]


def test_steps_that_are_rounding_do_not_count():
    problem = mf.Problem(2, [("only", 1.0)], reward=mf.Gaussian(), blocks="unlimited")
    race = race_of(problem, [[[5.0, 0.1 + 0.2, 2.0], [4.0, 0.3, 2.5]]])
    assert least_step(race._lanes[0]).tolist() == [1.0, 1.0, 0.5]


def test_whole_rewards_are_not_normal():
    problem = mf.Problem(2, [("only", 1.0)], reward=mf.Gaussian(caution=0), blocks="unlimited")
    race = race_of(problem, [[[1.0] * 30, [0.0, 1.0, *[0.0] * 28]]])
    assert race.log_p.tolist() == [0.0, 0.0]
    assert race.regret_bound(0) == math.inf
    assert race.differences(0) == {1: (-math.inf, math.inf)}
    assert race_of(problem, [[[1.0, *[0.9] * 29], [0.0] * 30]]).certified(0)


def test_a_process_halts_where_a_cell_is_not_known():
    """The comparator's later blocks are not reached by passing over one that it lacks."""
    problem = mf.Problem(3, [("only", 1.0)], reward="bernoulli", blocks="unlimited")
    rewards = [[[1.0] * 60, [0.0] * 60, [0.0] * 60]]
    declared = np.tile([0, 1], (1, 60, 1))
    declared[0, 10] = [2, 1]
    stopped = race_of(problem, rewards, declared, [[60], [60], [10]])
    assert stopped.log_p[1] < -10
    # The leader's share ends at block 10, what is left is the pair's.
    free = race_of(problem, rewards, np.tile([0, 1], (1, 60, 1)), [[60], [60], [10]])
    assert stopped.log_p[1] > free.log_p[1] + 0.5


def test_missing_cells_count_as_the_worst_or_halt():
    problem = mf.Problem(2, [("only", 1.0)], reward="bernoulli", blocks=40)
    rewards = np.array([[[1.0] * 20, [0.0] * 20]])
    lost, worst = rewards.copy(), rewards.copy()
    lost[0, 0, 3], worst[0, 0, 3] = NAN, 0.0
    lost[0, 1, 5], worst[0, 1, 5] = NAN, 1.0
    assert race_of(problem, lost).log_p[1] == race_of(problem, worst).log_p[1] > race_of(problem, rewards).log_p[1]
    normal = mf.Problem(2, [("only", 1.0)], reward=mf.Gaussian(), blocks="unlimited")
    rewards = np.random.default_rng(1).normal([[9.0], [0.0]], 1.0, (1, 2, 20))
    lost = rewards.copy()
    lost[0, 1, 8] = NAN
    assert race_of(normal, lost).log_p[1] == race_of(normal, rewards[:, :, :8]).log_p[1]


def test_a_finite_set_that_is_known_gives_the_exact_answer():
    problem = mf.Problem(3, [("only", 1.0)], reward="bernoulli", blocks=4)
    race = race_of(problem, [[[1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]]])
    assert race.exact
    assert race.certified(0)
    assert race.certified(1)
    assert not race.certified(2)
    assert (race.tied(0), race.tied(1), race.tied(2)) == ([1], [0], [])
    assert race.confidence(0) == 1.0
    assert race.regret_bound(0) == 0.0
    assert race.differences(0) == {1: (0.0, 0.0), 2: (0.25, 0.25)}
    assert race.log_p[2] == -math.inf
    sure = race_of(problem, [[[1, 1, 0, NAN], [0, 0, 1, 1], [0, 0, 0, 1]]])
    assert sure.exact
    assert sure.certified(0)
    assert not sure.certified(1)
    lacking = race_of(problem, [[[1, 1, 0, NAN], [0, 1, 1, NAN], [0, 0, 0, 1]]])
    assert not lacking.exact
    assert lacking.tied(0) == []


def test_what_cannot_be_is_strict():
    """Equality with the bound is possible: a tie is no proof."""
    problem = mf.Problem(2, [("only", 1.0)], reward="bernoulli", blocks=10)
    half = race_of(problem, [[[1.0] * 5, [0.0] * 5]])
    more = race_of(problem, [[[1.0] * 6, [0.0] * 6]])
    assert half.log_p[1] > -math.inf
    assert more.log_p[1] == -math.inf


def test_all_blocks_but_one_can_be_equal():
    """At the least possible mean of what is left the factor is 1, not 0/0."""
    problem = mf.Problem(2, [("only", 1.0)], reward="bernoulli", blocks=4)
    race = race_of(problem, [[[1, 1, 0, 0], [0, 0, 1, 1]]])
    assert np.isfinite(race.log_p).all()
    assert race.tied(0) == [1]


@pytest.mark.parametrize("kind", ["finite", "drawn", "normal"])
def test_bounds_of_differences_and_regret_are_where_rejection_ends(kind):
    rng = np.random.default_rng(8)
    reward = mf.Gaussian() if kind == "normal" else mf.Bounded(0, 10)
    problem = mf.Problem(3, [("only", 1.0)], reward=reward, blocks=100 if kind == "finite" else "unlimited")
    rewards = np.clip(rng.normal([[0.2], [0.45], [0.5]], 0.1, (1, 3, 60)), 0, 1)
    race = race_of(problem, rewards)
    regret = race.regret_bound(1)
    assert 0 < regret < math.inf
    span = problem.reward.span
    for epsilon, proven in ((regret * 1.001, True), (regret * 0.999, False)):
        assert race_of(problem, rewards, epsilon=epsilon).certified(1) is proven
    for b, (low, high) in race.differences(2).items():
        apart = (rewards[0, 2] - rewards[0, b]).mean() * span
        assert low < apart < high
        # The bound at a level is where the process against that very value stops reaching it.
        level = np.array([math.log(0.05 / 6)])
        one = np.array([2]), np.array([b])
        assert race._rejected(*one, np.array([low / span - 1e-6]), level)[0]
        assert not race._rejected(*one, np.array([low / span + 1e-6]), level)[0]


def test_lanes_share_delta_and_biases_are_allowed_for():
    fidelities = [mf.Fidelity("cheap", 1.0, 0.3), mf.Fidelity("truth", 2.0)]
    rewards = np.zeros((2, 2, 30))
    rewards[0, 0] = 1.0
    wide = mf.Problem(2, fidelities, reward="bernoulli", blocks="unlimited")
    near = mf.Problem(
        2, [mf.Fidelity("cheap", 1.0, 0.4, pair_bias=0.1), fidelities[1]], reward="bernoulli", blocks="unlimited"
    )
    known = [[30, 0], [30, 0]]
    assert race_of(near, rewards, known=known).log_p[1] < race_of(wide, rewards, known=known).log_p[1] < 0
    alone = mf.Problem(2, [("truth", 2.0)], reward="bernoulli", blocks="unlimited")
    free = race_of(alone, rewards[:1])
    exact = race_of(
        mf.Problem(2, [("same", 1.0), ("truth", 2.0)], reward="bernoulli", blocks="unlimited"), rewards, known=known
    )
    assert exact.log_p[1] == pytest.approx(free.log_p[1] - math.log(0.2))


def test_many_arms_are_worked_out_in_seconds():
    rng = np.random.default_rng(9)
    arms, blocks = 90, 2000
    problem = mf.Problem(arms, [("only", 1.0)], reward="bernoulli", blocks=blocks)
    rewards = (rng.random((1, arms, blocks)) < np.linspace(0.3, 0.7, arms)[:, None]).astype(float)
    race = race_of(problem, rewards[:, :, :1500], np.tile([arms - 1, arms - 2], (1, 1500, 1)))
    assert race.log_p[:60].max() < math.log(0.05) < race.log_p[arms - 1]


def test_leaders_count_for_nothing_where_lanes_share_an_order():
    """A leader declared for a block of which another lane has cells may have been chosen by them."""
    fidelities = [mf.Fidelity("cheap", 1.0, 0.01), mf.Fidelity("truth", 2.0)]
    rewards = np.zeros((2, 3, 30))
    rewards[:, 0] = 1.0
    led, none = np.tile([0, 1], (2, 30, 1)), np.full((2, 30, 2), -1)
    shared = mf.Problem(3, fidelities, reward="bernoulli", blocks="unlimited", order="shared")
    assert race_of(shared, rewards, led).log_p.tolist() == race_of(shared, rewards, none).log_p.tolist()
    own = mf.Problem(3, fidelities, reward="bernoulli", blocks="unlimited")
    assert race_of(own, rewards, led).log_p[1] < race_of(own, rewards, none).log_p[1]
