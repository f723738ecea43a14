"""Optuna's best trial beside the confirmed one, and how often pruners drop a candidate that is as good as the best.

    python benchmarks/optuna_bridge.py [--studies N] [--runs N] [--learning N]

Part 1: studies of 50 trials of a noisy objective (TPE, two parameters; a trial's value is the mean over five blocks).
How often Optuna's `best_trial` is not within epsilon of the best of its 10 best trials, how often the confirmed one is
not, and what confirming takes. Part 2: all candidates are equally good, and are measured on the same 30 blocks; the
share of trials that are pruned. Part 3: the same with a sampler that learns (TPE), which may fit the blocks: what a
block does to a candidate is noise of its own, or a smooth function of its parameters, so that neighbours of a lucky
candidate are lucky on the same blocks.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np
from scipy import stats

import optuna
from mfbandit.optuna import EvidencePruner, confirm

EPSILON, DELTA = 0.03, 0.05
#: Spread of what a block does to all trials, and to each trial on its own.
SHARED, OWN = 0.10, 0.10


def truth(x: float, y: float) -> float:
    """What a setting is worth."""
    return 0.8 - 4.0 * (x - 0.3) ** 2 - 3.0 * (y - 0.7) ** 2 + 0.02 * math.cos(12.0 * x)


def score(params: dict[str, float], block: object, trial: int) -> float:
    """A setting on a block."""
    shared, own = np.random.default_rng([block, 0]), np.random.default_rng([block, 1, trial])
    return truth(**params) + SHARED * shared.normal() + OWN * own.normal()


def confirmations(studies: int) -> None:
    """Play part 1."""
    lucky_wrong = confirmed_wrong = certified = 0
    costs = []
    for seed in range(studies):
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))

        def objective(trial: optuna.Trial, seed: int = seed) -> float:
            params = {name: trial.suggest_float(name, 0.0, 1.0) for name in "xy"}
            return float(np.mean([score(params, 10_000_000 + 100 * seed + fold, trial.number) for fold in range(5)]))

        study.optimize(objective, n_trials=50)
        found = confirm(
            study,
            lambda trial, pull: score(trial.params, pull.block_seed, trial.number),
            10,
            epsilon=EPSILON,
            delta=DELTA,
            seed=seed,
            progress=False,
        )
        best = max(truth(**trial.params) for trial in found.trials.values())
        lucky_wrong += truth(**study.best_trial.params) < best - EPSILON
        certified += found.result.status == "certified"
        confirmed_wrong += found.result.status == "certified" and truth(**found.best_params) < best - EPSILON
        costs.append(found.result.cost)
    print(f"{studies} studies of 50 trials on 5 blocks each; the best of the 10 best, within {EPSILON}")
    print(f"  Optuna's best trial is wrong in  {lucky_wrong / studies:.3f}")
    print(f"  the confirmed one is wrong in    {confirmed_wrong / studies:.3f} ({certified} certified, delta {DELTA})")
    print(f"  evaluations: 250 by Optuna, {np.mean(costs):.0f} to confirm (at most {max(costs):.0f})")


def false_prunes(runs: int) -> None:
    """Play part 2."""
    trials, steps = 20, 30
    evidence, bounded = EvidencePruner(0.05), EvidencePruner(0.05, score_range=(-1.0, 1.0))

    def wilcoxon(ahead: np.ndarray, number: int) -> bool:
        if ahead.size < 2 or ahead.mean() <= 0.0:
            return False
        return bool(stats.wilcoxon(ahead, alternative="greater", zero_method="zsplit").pvalue < 0.1)

    def shown(pruner: EvidencePruner) -> Callable[[np.ndarray, int], bool]:
        return lambda ahead, number: pruner.log_evidence(ahead) >= math.log(max(1, number) / 0.05)

    rules = {"EvidencePruner(0.05)": shown(evidence), "the same, range -1 to 1": shown(bounded), "Wilcoxon": wilcoxon}
    print(f"{runs} studies of {trials} candidates that are equally good, {steps} steps each")
    for name, rule in rules.items():
        pruned = looked = first = 0
        for seed in range(runs):
            rng = np.random.default_rng([7, seed])
            scores = np.clip(SHARED * rng.normal(size=steps) + OWN * rng.normal(size=(trials, steps)), -1.0, 1.0)
            best = scores[0]
            for number in range(1, trials):
                mine = scores[number]
                out = any(rule(best[:n] - mine[:n], number) for n in range(2, steps + 1))
                pruned, looked = pruned + out, looked + 1
                first += out and number == 1
                if not out and mine.mean() > best.mean():
                    best = mine
        print(f"  {name:24} prunes {pruned / looked:.4f} of all, {first / runs:.4f} of the second ones")


class Luck:
    """What blocks do to candidates that are all equally good: luck of each, or smooth in their parameters."""

    def __init__(self, seed: int, steps: int, smooth: bool) -> None:
        self._rng = np.random.default_rng([11, seed])
        self._shared = SHARED * self._rng.normal(size=steps)
        self._waves = self._rng.normal(size=(steps, 40, 2)) / 0.3
        self._phases = self._rng.uniform(0.0, 2.0 * math.pi, (steps, 40))
        self._smooth = smooth

    def scores(self, x: float, y: float) -> np.ndarray:
        """The scores of a candidate on all blocks."""
        if not self._smooth:
            return self._shared + OWN * self._rng.normal(size=self._shared.size)
        # A Gaussian field with a length of 0.3 on each block, by random features.
        field = np.cos(self._waves @ np.array([x, y]) + self._phases).sum(axis=1) * math.sqrt(2.0 / 40)
        return self._shared + OWN * field + 0.1 * OWN * self._rng.normal(size=self._shared.size)


def may_reach(ahead: np.ndarray, need: float) -> bool:
    """Whether the evidence of differences may be as large as that: no effect is likelier than the likeliest."""
    n, t = ahead.size, float(ahead.sum()) / max(1e-300, math.sqrt(float(ahead @ ahead)))
    return t > 0.0 and (t * t >= n or -0.5 * n * math.log1p(-t * t / n) >= need)


def learned_prunes(runs: int) -> None:
    """Play part 3."""
    trials, steps, level = 40, 30, 0.05
    print(f"{runs} studies of {trials} candidates that are equally good, {steps} steps each, level {level}")
    cases = [("TPE", True), ("TPE", False), ("random", True)]
    for sampler, smooth in cases:
        pruned = np.zeros(trials)
        for seed in range(runs):
            luck, pruner = Luck(seed, steps, smooth), EvidencePruner(level)
            kind = optuna.samplers.TPESampler if sampler == "TPE" else optuna.samplers.RandomSampler
            study = optuna.create_study(direction="maximize", sampler=kind(seed=seed))
            best: np.ndarray | None = None
            for number in range(trials):
                trial = study.ask()
                mine = luck.scores(trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0))
                need, out = math.log(max(1, number) / level), False
                for n in range(2, steps + 1):
                    trial.report(float(mine[n - 1]), n - 1)
                    if best is None or not may_reach(best[:n] - mine[:n], need):
                        continue
                    if pruner.log_evidence(best[:n] - mine[:n]) >= need:
                        out = True
                        break
                pruned[number] += out
                study.tell(
                    trial,
                    None if out else float(mine.mean()),
                    optuna.trial.TrialState.PRUNED if out else optuna.trial.TrialState.COMPLETE,
                )
                if not out and (best is None or mine.mean() > best.mean()):
                    best = mine
        shares = pruned[1:] / runs
        what = "smooth in the parameters" if smooth else "of each candidate's own"
        print(
            f"  {sampler:6} luck {what:24} prunes {shares.mean():.4f} of all, at most {shares.max():.4f} of the trials "
            f"with one number; {shares[19:].mean():.4f} of those from 20 on"
        )


def main() -> None:
    """Play all parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--learning", type=int, default=1000)
    chosen = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if chosen.runs:
        false_prunes(chosen.runs)
    if chosen.learning:
        learned_prunes(chosen.learning)
    if chosen.studies:
        confirmations(chosen.studies)


if __name__ == "__main__":
    main()
