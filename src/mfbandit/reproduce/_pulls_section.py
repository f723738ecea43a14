"""Pulls by arm and fidelity, beside the bounds of the proofs: step 3, Lemma C.2 and Lemma C.3."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from mfbandit import theory
from mfbandit.instances import Instance, load_instance
from mfbandit.reproduce._default_policy import DEFAULT
from mfbandit.reproduce._experiment import Experiment, Request
from mfbandit.reproduce._section import Section, Table, count, number
from mfbandit.simulation import Runs, simulate

__all__ = ["PULLS"]

DELTA = 0.05
MAX_PULLS = 50_000_000

Floats = npt.NDArray[np.float64]


class Case(NamedTuple):
    """An instance, what Explore-A and -B are told about it, and the share of the trials it gets."""

    instance: str
    top: float
    second: float
    fewer: int
    pulls: float
    """Of one run, roughly."""

    @property
    def policies(self) -> tuple[str, str, str]:
        """Explore-A, Explore-B and the default policy."""
        options = f"top={self.top:g},second={self.second:g}"
        return f"lucb-a:{options}", f"lucb-b:{options}", DEFAULT

    def trials(self, trials: int) -> int:
        """How many of the trials it gets: long runs get fewer."""
        return max(1, trials // self.fewer)


CASES = (
    Case("figure-1a", 0.95, 0.75, 1, 5e4),
    Case("figure-1b", 0.95, 0.75, 10, 1.6e6),
)


def _run(order: Request) -> Section:
    findings, tables = [], []
    for case in CASES:
        instance = load_instance(case.instance)
        a, b, default = (_simulate(instance, label, case, order) for label in case.policies)
        findings += [*_explore_a(instance, a, case), *_explore_b(instance, b, case)]
        if instance.violations:
            findings.append(f"{instance.name} breaks its own bias bounds, so the lemmas do not speak of it.")
        tables.append(_table(instance, a, b, default, case))
    return Section(
        name="pulls",
        title="Pulls by arm and fidelity",
        claim=(
            "Lemma C.2: Explore-A pulls an arm at other fidelities than m̃* at most 8/λ (difference of efficiencies)^-2 "
            "log N_k times, with high probability once N_k is large. Lemma C.3: Explore-B commits to a fidelity that "
            "is at least half as efficient as the best one. Step 3 of the proof of Theorem 3.4: at m̃* at most "
            "64/Δ² log(L t/δ) pulls."
        ),
        findings=tuple(findings),
        setup=(
            f"δ = {DELTA:g}, {order.trials} trials (a tenth on figure-1b), seed {order.seed}; top = 0.95 and second = "
            "0.75 as in the paper's simulations. Efficiencies are those that top and second make, which f-UCB and "
            "the commit test see; Lemma C.2 is printed with exact means. A cell is one arm at one fidelity of one run."
        ),
        tables=tuple(tables),
    )


def _simulate(instance: Instance, label: str, case: Case, order: Request) -> Runs:
    order.steps.running(f"pulls on {instance.name}: {label}")
    trials = case.trials(order.trials)
    runs = simulate(instance, label, delta=DELTA, trials=trials, seed=order.seed, max_pulls=MAX_PULLS)
    order.steps.finished(case.pulls * trials)
    return runs


def _elsewhere(instance: Instance, runs: Runs, case: Case) -> Floats:
    """Pulls over the bound of Lemma C.2, for all cells that are not at the optimal fidelity, (trials, cells)."""
    bound = theory.pulls_elsewhere(instance, runs.pulls.sum(axis=2), case.top, case.second)
    reached = theory.optimal_fidelity(instance, case.top, case.second)
    others = np.ones(instance.means.shape, dtype=bool)
    others[np.arange(len(reached)), reached] = False
    return np.asarray((runs.pulls / np.maximum(bound, 1e-300))[:, others])


def _explore_a(instance: Instance, runs: Runs, case: Case) -> list[str]:
    ratios = _elsewhere(instance, runs, case)
    above = int((ratios > 1.0).sum())
    most = f", at most {ratios.max():.2f} times it" if above else f" (at most {ratios.max():.2f} times it)"
    rows = np.arange(len(instance.means))
    reached = theory.optimal_fidelity(instance, case.top, case.second)
    mine = runs.pulls[:, rows, reached]
    half = (2 * mine > runs.pulls.sum(axis=2)).mean(axis=0)
    total = float(runs.pulls.sum(axis=(1, 2)).max())
    settled = mine / theory.pulls_at_optimum(instance, DELTA, total, case.top, case.second)
    names = instance.problem.arms
    shares = ", ".join(f"{name} {share:.0%}" for name, share in zip(names, half, strict=True))
    return [
        f"{instance.name}, Explore-A: {above} of {ratios.size:,} cells have more pulls than Lemma C.2's bound{most}. "
        "The lemma is for N_k beyond some N̄_k and fails with small probability, so this is no contradiction. It also "
        f"says that then more than half of an arm's pulls are at m̃*: so in {shares} of the runs.",
        f"{instance.name}, Explore-A: at m̃* no arm has more than {settled.max():.3f} of what step 3 allows."
        if settled.max() <= 1.0
        else f"{instance.name}, Explore-A: at m̃* an arm has {settled.max():.2f} times what step 3 allows.",
    ]


def _committed(runs: Runs) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.intp]]:
    """Which arms of which runs committed, and to which fidelity: before that all fidelities have equal pulls."""
    return runs.pulls.max(axis=2) > runs.pulls.min(axis=2), runs.pulls.argmax(axis=2)


def _explore_b(instance: Instance, runs: Runs, case: Case) -> list[str]:
    done, where = _committed(runs)
    ratios = theory.commitment_ratio(instance, where, case.top, case.second)[done]
    sweeps = runs.pulls.min(axis=2)
    over = sweeps / theory.pulls_of_sweeps(instance, DELTA, case.top, case.second)
    within = count((ratios <= 2.0).tolist())
    worst = ratios.max(initial=1.0)
    return [
        f"{instance.name}, Explore-B: {count(done.ravel().tolist())} arms of all runs committed; {within} to a "
        f"fidelity that is at least half as efficient as the best one (Lemma C.3; at worst 1/{worst:.2f}).",
        f"{instance.name}, Explore-B: sweeps before commitment are at most {over.max():.2f} of what the proof after "
        "Lemma C.3 allows.",
    ]


def _table(instance: Instance, a: Runs, b: Runs, default: Runs, case: Case) -> Table:
    names = [fidelity.name for fidelity in instance.problem.fidelities]
    bounds = {a.policy.label: _bounds_a(instance, a, case), b.policy.label: _bounds_b(instance, b, case)}
    rows, records = [], []
    for runs in (a, b, default):
        means = runs.pulls.mean(axis=0)
        bound = bounds.get(runs.policy.label)
        for k, arm in enumerate(instance.problem.arms):
            limits: Sequence[float | None] = [None] * len(names) if bound is None else bound[k].tolist()
            cells = [_cell(float(mean), limit) for mean, limit in zip(means[k], limits, strict=True)]
            rows.append((runs.policy.label.partition(":")[0], arm, *cells))
            records += [_record(runs, arm, *entry) for entry in zip(names, means[k], limits, strict=True)]
    return Table(
        stem=f"pulls-{instance.name}",
        caption=f"{instance.name}: mean pulls, and in brackets what the proofs allow (at the mean N_k; for "
        "lucb-b the sweeps, where no run committed to the fidelity).",
        headings=("policy", "arm", *names),
        rows=tuple(rows),
        records=tuple(records),
    )


def _bounds_a(instance: Instance, runs: Runs, case: Case) -> Floats:
    bound = theory.pulls_elsewhere(instance, runs.pulls.sum(axis=2).mean(axis=0), case.top, case.second)
    reached = theory.optimal_fidelity(instance, case.top, case.second)
    total = float(runs.pulls.sum(axis=(1, 2)).mean())
    bound[np.arange(len(reached)), reached] = theory.pulls_at_optimum(instance, DELTA, total, case.top, case.second)
    return bound


def _bounds_b(instance: Instance, runs: Runs, case: Case) -> Floats:
    """Sweeps for every fidelity that no run committed to; the others have no bound of their own in the table."""
    sweeps = theory.pulls_of_sweeps(instance, DELTA, case.top, case.second)
    bound = np.repeat(sweeps[:, None], instance.means.shape[1], axis=1)
    done, where = _committed(runs)
    arms = np.broadcast_to(np.arange(len(bound)), where.shape)
    bound[arms[done], where[done]] = np.nan
    return bound


def _cell(mean: float, bound: float | None) -> str:
    return number(mean) if bound is None or np.isnan(bound) else f"{number(mean)} ({number(bound)})"


def _record(runs: Runs, arm: str, fidelity: str, mean: Any, bound: float | None) -> dict[str, Any]:
    return {
        "instance": runs.instance.name,
        "policy": runs.policy.label,
        "delta": DELTA,
        "trials": runs.trials,
        "seed": runs.seed,
        "arm": arm,
        "fidelity": fidelity,
        "mean_pulls": float(mean),
        "bound": None if bound is None or np.isnan(bound) else bound,
    }


def _work(trials: int) -> float:
    return sum(len(case.policies) * case.pulls * case.trials(trials) for case in CASES)


PULLS = Experiment("pulls", 100, _work, _run)
