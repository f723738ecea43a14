"""How often certificates are wrong where costs are measured, and tell of rewards.

A pull costs more the higher its reward is, by up to 30 times, and its arm has a factor of its own, so that what is
pulled next depends on rewards in one more way. Two arms are nearly the same, so that every certificate about them is
nearly a matter of chance. Prints how often a study was certified,
how often the answer was wrong, the probability of so many errors if each had probability delta, and by how much
`max_cost` was exceeded at most.

    python benchmarks/measured_costs.py [STUDIES] [DELTA]
"""

from __future__ import annotations

import random
import sys

from scipy.stats import binomtest

import mfbandit as mf

LIMIT = 60_000.0


def independent() -> mf.Problem:
    """0/1 rewards, two fidelities, nothing declared of their costs."""
    fidelities = [mf.Fidelity("quick", "measured", 0.05), mf.Fidelity("exact", "measured")]
    return mf.Problem(["a", "b", "c"], fidelities, "bernoulli")


def on_blocks() -> mf.Problem:
    """Normal rewards on shared blocks."""
    return mf.Problem(["a", "b", "c"], [mf.Fidelity("exact", "measured")], mf.Gaussian(), blocks="unlimited")


def outcome(pull: mf.Pull, study: int, problem: mf.Problem) -> mf.Outcome:
    """A reward, and a cost that tells of it."""
    own = random.Random(f"{study} {pull.seed} {pull.arm} {pull.fidelity}")
    factor = {"a": 1.0, "b": 5.0, "c": 0.2}[pull.arm] * (10.0 if pull.fidelity == "exact" else 1.0)
    if problem.blocks is not None:
        shared = random.Random(f"{study} {pull.block_seed}").gauss(0.0, 1.0)
        noise = random.Random(f"{study} {pull.block_seed} {pull.arm}").gauss(0.0, 0.3)
        reward = {"a": 0.002, "b": 0.0, "c": -0.6}[pull.arm] + shared + noise
        return mf.Outcome(reward, cost=factor * 30.0 ** min(1.0, max(0.0, 0.5 + noise)))
    bias = {"a": -0.04, "b": 0.04, "c": 0.0}[pull.arm] if pull.fidelity == "quick" else 0.0
    reward = float(own.random() < {"a": 0.502, "b": 0.498, "c": 0.2}[pull.arm] + bias)
    return mf.Outcome(reward, cost=factor * 30.0**reward)


def main(studies: int = 200, delta: float = 0.2) -> None:
    """Play many studies of each kind."""
    for make, policy in ((independent, "mf-toptwo"), (on_blocks, "mf-race")):
        problem, certified, wrong, over = make(), 0, 0, 0.0
        for seed in range(studies):
            study = mf.create_study(problem, policy=policy, delta=delta, seed=seed, max_cost=LIMIT)
            while pulls := study.ask():
                for pull in pulls:
                    study.tell(pull, outcome(pull, seed, problem))
            certified += study.status == "certified"
            wrong += study.status == "certified" and study.best != "a"
            over = max(over, study.cost / LIMIT)
        chance = binomtest(wrong, studies, delta, alternative="greater").pvalue
        said = f"{certified} certified, {wrong} wrong, p = {chance:.3g}, {over:.2f} of max_cost"
        print(f"{policy}: {studies} studies, {said}", flush=True)


if __name__ == "__main__":
    main(*(kind(text) for kind, text in zip((int, float), sys.argv[1:], strict=False)))
