"""Where Explore-A and -B do not stop: the instances ``forever`` and ``loose-prior``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from mfbandit import theory
from mfbandit.instances import Instance, load_instance
from mfbandit.reproduce._default_policy import DEFAULT
from mfbandit.reproduce._experiment import Experiment, Request
from mfbandit.reproduce._section import Section, Table, number
from mfbandit.simulation import Runs, simulate

__all__ = ["TERMINATION"]

DELTA = 0.05
MAX_PULLS = 10_000_000
#: Policies that run to the limit get one trial for so many of the others: they would take most of the time.
FEWER = 10


class Prior(NamedTuple):
    """An instance, and what Explore-A and -B are told about it."""

    instance: str
    top: float
    second: float
    words: str
    endless: str
    """Letters of the explore procedures that are known to run to the limit."""

    @property
    def policies(self) -> tuple[str, ...]:
        """A, B, C, the truest fidelity only, and the default policy."""
        options = f"top={self.top:g},second={self.second:g}"
        return f"lucb-a:{options}", f"lucb-b:{options}", "lucb-c", "lucb-top", DEFAULT

    def trials(self, label: str, trials: int) -> int:
        """How many of the trials a policy gets."""
        return max(1, trials // FEWER) if self._is_endless(label) else trials

    def work(self, label: str, trials: int) -> float:
        """Pulls of a policy, roughly."""
        return self.trials(label, trials) * (MAX_PULLS if self._is_endless(label) else 1e5)

    def _is_endless(self, label: str) -> bool:
        return label[len("lucb-") :].partition(":")[0] in tuple(self.endless)


PRIORS = (
    Prior("forever", 0.6, 0.5, "exact", "a"),
    Prior("loose-prior", 1.0, 0.5, "valid, loose", "ab"),
    Prior("loose-prior", 0.9, 0.8, "exact", ""),
)


def _run(order: Request) -> Section:
    done = [(prior, _simulations(prior, order)) for prior in PRIORS]
    return Section(
        name="termination",
        title="Explore-A and Explore-B need not stop",
        claim=(
            "Theorem 3.4: LUCB with Explore-A or -B stops, at a finite expected cost, for any top ≥ μ₁ and "
            "second ≤ μ₂, given Assumption 3.3 and positive gaps where the prior knowledge leads."
        ),
        findings=tuple(sentence for prior, runs in done for sentence in _findings(prior, runs)),
        setup=(
            f"δ = {DELTA:g}, {order.trials} trials each, a tenth of it for those that run to the limit, seed "
            f"{order.seed}; a trial is ended without an answer after {MAX_PULLS:,} pulls."
        ),
        tables=(_table(done),),
    )


def _simulations(prior: Prior, order: Request) -> list[Runs]:
    instance = load_instance(prior.instance)
    runs = []
    for label in prior.policies:
        order.steps.running(f"termination on {prior.instance}: {label}")
        runs.append(
            simulate(
                instance,
                label,
                delta=DELTA,
                trials=prior.trials(label, order.trials),
                seed=order.seed,
                max_pulls=MAX_PULLS,
            )
        )
        order.steps.finished(prior.work(label, order.trials))
    return runs


def _work(trials: int) -> float:
    return sum(prior.work(label, trials) for prior in PRIORS for label in prior.policies)


def _findings(prior: Prior, runs: Sequence[Runs]) -> list[str]:
    told = f"{prior.instance} with top = {prior.top:g}, second = {prior.second:g} ({prior.words})"
    names = ("Explore-A", "Explore-B", "Explore-C", "top only", DEFAULT)
    stopped = ", ".join(
        f"{name} in {int(one.stopped.sum())} of {one.trials}" for name, one in zip(names, runs, strict=True)
    )
    wrong = sum(int(one.wrong.sum()) for one in runs)
    sentence = f"{told}: stopped {stopped} trials; wrong answers: {wrong}."
    if all(one.stopped.all() for one in runs[:2]):
        return [sentence]
    return [f"{sentence} {_why(load_instance(prior.instance), prior)}"]


def _why(instance: Instance, prior: Prior) -> str:
    """Why Explore-A cannot separate the two best arms where it settles, and which assumption fails."""
    settled = theory.optimal_fidelity(instance, prior.top, prior.second)
    best = instance.best
    rival = max((k for k in range(len(settled)) if k != best), key=lambda k: float(instance.truth[k]))
    biases = instance.problem.biases
    low = float(instance.means[best, settled[best]] - biases[best, settled[best]])
    high = float(instance.means[rival, settled[rival]] + biases[rival, settled[rival]])
    found = theory.assumptions(instance, prior.top, prior.second)
    broken = "; ".join(found.sentences) or "none"
    return (
        f"Explore-A settles where the best arm's lower bound tends to {low:.3g} and its rival's upper "
        f"bound to {high:.3g}, so more pulls there never separate them. Assumptions that do not hold: "
        f"{broken}."
    )


def _table(done: Sequence[tuple[Prior, Sequence[Runs]]]) -> Table:
    rows, records = [], []
    for prior, runs in done:
        for one in runs:
            record = _record(prior, one)
            records.append(record)
            rows.append(
                (
                    prior.instance,
                    one.policy.label,
                    f"{record['stopped']} of {one.trials}",
                    str(record["wrong"]),
                    number(record["mean_pulls"]),
                    number(record["mean_cost"]),
                )
            )
    return Table(
        stem="termination",
        caption=f"Trials that stopped by themselves within {MAX_PULLS:,} pulls; means include the others.",
        headings=("instance", "policy", "stopped", "wrong", "mean pulls", "mean cost"),
        rows=tuple(rows),
        records=tuple(records),
    )


def _record(prior: Prior, runs: Runs) -> dict[str, Any]:
    summary = runs.summary()
    return {
        "instance": prior.instance,
        "prior": prior.words if ":" in runs.policy.label else None,
        "policy": runs.policy.label,
        "delta": DELTA,
        "trials": runs.trials,
        "seed": runs.seed,
        "max_pulls": MAX_PULLS,
        "stopped": int(runs.stopped.sum()),
        "wrong": int(runs.wrong.sum()),
        "mean_pulls": summary["mean_pulls"],
        "mean_cost": summary["mean_cost"],
    }


TERMINATION = Experiment("termination", 100, _work, _run)
