"""LUCB against a second, naive writing of Algorithm 1 and 2, and its edges."""

import math

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.core import PULLS, Goal, arrays, new_state, observe
from mfbandit.errors import PolicyError


class Naive:
    """Algorithm 1 as one would write it on a blackboard: every bound computed every round."""

    def __init__(self, problem, explore, delta, top, second):
        self.cost, self.bias, self.truest = problem.costs, problem.biases, problem.truest
        self.order = np.argsort(self.cost.mean(axis=0), kind="stable")
        self.explore, self.delta, self.top, self.second = explore, delta, top, second
        self.n = np.zeros(self.cost.shape, dtype=int)
        self.s = np.zeros(self.cost.shape)
        self.spread = 2 * problem.reward.sigma**2 if isinstance(problem.reward, mf.Gaussian) else 1.0
        self.L = 4 * self.cost.size
        self.fixed, self.pending = {}, {}

    def means(self):
        return np.divide(self.s, self.n, out=np.zeros_like(self.s), where=self.n > 0)

    def radius(self):
        t = max(1, self.n.sum())
        with np.errstate(divide="ignore"):
            return np.sqrt(self.spread * math.log(self.L * float(t) ** 4 / self.delta) / self.n)

    def bounds(self):
        upper = np.where(self.n > 0, self.means() + self.bias + self.radius(), np.inf).min(axis=1)
        lower = np.where(self.n > 0, self.means() - self.bias - self.radius(), -np.inf).max(axis=1)
        return lower, upper

    def gap(self, k, leading):
        mean = self.means()[k]
        return mean - self.bias[k] - self.second if leading else self.top - (mean + self.bias[k])

    def rows(self, k, leader):
        if self.explore == "a":
            if (self.n[k] == 0).any():
                return [(k, int(np.argmax(self.n[k] == 0)))]
            bonus = np.sqrt(2 * self.spread * math.log(self.n[k].sum()) / self.n[k])
            return [(k, int(np.argmax((self.gap(k, k == leader) + bonus) / np.sqrt(self.cost[k]))))]
        if self.explore == "b":
            if k in self.pending:
                rate = self.gap(k, self.pending.pop(k)) / np.sqrt(self.cost[k])
                m = int(np.argmax(rate))
                threshold = 3 * math.sqrt(
                    self.spread * math.log(self.L / self.delta) / (self.cost[k].min() * self.n[k, m])
                )
                if rate[m] > threshold:
                    self.fixed[k] = m
            if k in self.fixed:
                return [(k, self.fixed[k])]
            self.pending[k] = k == leader
            return [(k, m) for m in range(self.cost.shape[1])]
        radius = self.radius()[k]
        return [(k, int(next(m for m in self.order if m == self.truest or radius[m] >= self.bias[k, m])))]

    def round(self):
        lower, upper = self.bounds()
        leader = int(np.argmax(upper))
        challenger = int(np.argmax(np.where(np.arange(len(upper)) == leader, -np.inf, upper)))
        if lower[leader] > upper[challenger]:
            return []
        return self.rows(challenger, leader) + self.rows(leader, leader)

    def see(self, k, m, x):
        self.n[k, m] += 1
        self.s[k, m] += x


def random_problem(rng, gaussian):
    arms, fidelities = rng.integers(2, 12), rng.integers(1, 5)
    biases = np.sort(rng.uniform(0, 0.3, fidelities))[::-1].copy()
    biases[-1] = 0
    costs = np.sort(rng.uniform(0.5, 5, fidelities))
    reward = mf.Gaussian(0.3) if gaussian else "bounded"
    return mf.Problem.from_arrays(costs, biases, arms=int(arms), reward=reward)


@pytest.mark.parametrize("explore", ["a", "b", "c", "top"])
@pytest.mark.parametrize("seed", range(6))
def test_same_pulls_as_the_blackboard(explore, seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, gaussian=seed % 2 == 1)
    policy = mf.LUCB(explore=explore, top=0.9, second=0.5)
    columns = policy.columns(problem)
    seen = arrays(problem, columns)
    algorithm = policy.algorithm(seen, Goal(delta=0.1), lambda x: x)
    shown = mf.Problem.from_arrays(
        problem.costs[:, columns], problem.biases[:, columns], arms=problem.n_arms, reward=problem.reward
    )
    naive = Naive(shown, explore, 0.1, 0.9, 0.5)
    state = new_state(seen, algorithm.memory)
    out = np.zeros((algorithm.rows, 3), dtype=np.int64)
    for _ in range(400):
        rows = algorithm.plan(seen, algorithm.params, state, out)
        expected = naive.round()
        assert [tuple(row[:2]) for row in out[:rows].tolist()] == expected
        if not expected:
            break
        for k, m in expected:
            # Rewards on a coarse grid make exact ties between arms frequent.
            x = float(rng.integers(0, 3)) / 2
            naive.see(k, m, x)
            observe(state, k, m, x)
            state.clock[PULLS] += 1
        state.clock[1] += 1


def test_costs_and_biases_per_arm():
    problem = mf.Problem.from_arrays(
        [[1.0, 2.0], [1.5, 2.0], [0.5, 4.0]], [[0.1, 0.0], [0.2, 0.0], [0.05, 0.0]], reward="bernoulli"
    )
    instance = mf.Instance(problem, [[0.85, 0.9], [0.6, 0.5], [0.2, 0.2]], mf.BernoulliLaw())
    runs = mf.simulate(instance, "lucb-c", trials=20, seed=2)
    assert runs.stopped.all()
    assert (runs.best == 0).all()
    spent = (runs.pulls * problem.costs).sum(axis=(1, 2))
    np.testing.assert_allclose(runs.cost, spent)


def test_one_arm_answers_at_once():
    instance = mf.Instance(mf.Problem(1, [("only", 1.0, 0.0)], reward="bernoulli"), [[0.4]])
    runs = mf.simulate(instance, "lucb-c", trials=3)
    assert runs.cost.tolist() == [0, 0, 0]
    assert runs.stopped.all()


def test_epsilon_ends_a_tie():
    tie = mf.Instance(mf.Problem(2, [("only", 1.0, 0.0)], reward="bernoulli"), [[0.5], [0.5]])
    exact = mf.simulate(tie, "lucb-c", trials=4, max_pulls=20_000)
    close = mf.simulate(tie, "lucb-c", trials=4, epsilon=0.3, max_pulls=20_000)
    assert not exact.stopped.any()
    assert close.stopped.all()
    assert not close.wrong.any()


def test_rounds_clock_is_cheaper():
    by_pulls = mf.simulate("figure-1a", "lucb-top", trials=40, seed=3)
    by_rounds = mf.simulate("figure-1a", "lucb-top:clock=rounds", trials=40, seed=3)
    assert 0.90 < by_rounds.cost.mean() / by_pulls.cost.mean() < 0.97


def test_scaled_rewards_take_the_same_decisions():
    unit = mf.load_instance("figure-1a")
    wide = mf.Instance(
        mf.Problem.from_arrays(
            unit.problem.costs[0], unit.problem.biases[0] * 10, arms=5, reward=mf.Bounded(-5.0, 5.0)
        ),
        unit.means * 10 - 5,
        mf.BernoulliLaw(),
    )
    a = mf.simulate(unit, "lucb-a:top=0.95,second=0.75", trials=3, max_pulls=3000, trace=500)
    b = mf.simulate(wide, "lucb-a:top=4.5,second=2.5", trials=3, max_pulls=3000, trace=500)
    assert (a.trace == b.trace).all()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lucb-a", "lucb-a needs top, prior knowledge"),
        ("lucb-b:top=0.9", "lucb-b needs second"),
        ("lucb-a:top=0.5,second=0.75", "top must exceed second"),
        ("lucb-a:top=nan,second=0.75", "top must be a finite number, got nan"),
        ("lucb-c:bound=magic", "bound must be one of paper"),
        ("lucb-c:clock=sun", "clock must be one of pulls, rounds, got 'sun'"),
        ("lucb-c:factor=-1", "factor must be a finite number > 0"),
    ],
)
def test_bad_options(text, message):
    with pytest.raises(PolicyError, match=message):
        mf.policy(text)


def test_factor_has_a_least_value():
    with pytest.raises(PolicyError, match="factor must be at least 4 K M = 60, got 59"):
        mf.simulate("figure-1a", "lucb-c:factor=59", trials=1)
