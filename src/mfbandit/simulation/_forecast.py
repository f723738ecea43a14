"""What a study will cost, before anything is spent: simulations on guessed means."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mfbandit._checks import as_list, whole_number
from mfbandit.algorithms import Policy, read_policy
from mfbandit.errors import InvalidInput
from mfbandit.formatting import Mean, amount, in_these_runs, times, too_few
from mfbandit.instances import Instance, load_instance
from mfbandit.simulation._run_plots import cost_against_confidence
from mfbandit.simulation._runs import Runs, WidthRow
from mfbandit.simulation._simulate import simulate
from mfbandit.simulation._virtual_workers import GivenDurations, as_durations
from mfbandit.theory import limit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Forecast", "ForecastRow", "forecast"]

#: Up to so many cheap fidelities every subset is tried.
_ALL_SUBSETS = 4
#: A run is given up when it has cost so many times what the truest fidelity alone must cost.
_PATIENCE = 100.0
#: Fidelities that save less than this share are not worth having.
_WORTHWHILE = 0.02
_CURVE = (0.2, 0.1, 0.05, 0.02, 0.01, 0.001)


@dataclass(frozen=True)
class ForecastRow:
    """The expected cost of one policy with some of the fidelities."""

    policy: str
    fidelities: tuple[str, ...]
    """Names of those it may use."""
    mean_cost: float
    """Mean over the trials; too small where some were given up."""
    standard_error: float
    error_rate: float
    stopped_rate: float
    """Share of the trials that ended with an answer; the others were given up at a very high cost."""
    limit: float
    """What no policy can undercut with these fidelities; NaN where it is not known."""


@dataclass(frozen=True)
class Forecast:
    """What identification will cost if the guesses are right.

    Attributes
    ----------
    instance, delta, epsilon, trials, seed
        What was simulated.
    rows
        One per policy and set of fidelities, the cheapest first.
    best
        The row to follow: the cheapest, or one with fewer fidelities that is as good.
    truest_only
        The cheapest row that uses the truest fidelity alone.
    widths
        Cost and time of `best` with each number of workers that was asked for.
    """

    instance: Instance = field(repr=False)
    delta: float
    epsilon: float
    trials: int
    seed: int
    rows: tuple[ForecastRow, ...]
    best: ForecastRow
    truest_only: ForecastRow
    widths: tuple[WidthRow, ...] = ()

    @property
    def keep(self) -> tuple[str, ...]:
        """The cheapest set of fidelities."""
        return self.best.fidelities

    @property
    def helps(self) -> bool:
        """Whether the cheap fidelities save anything."""
        return len(self.keep) > 1

    @property
    def limit(self) -> float:
        """What no policy can undercut on average, with all fidelities."""
        return min(row.limit for row in self.rows)

    @property
    def advice(self) -> str:
        """What to do, in words; what is uncertain after so few trials is said so."""
        problem = self.instance.problem
        truth = repr(problem.fidelities[problem.truest].name)
        best, alone, least = self._mean(self.best), self._mean(self.truest_only), self._least()
        if problem.n_fidelities == 1:
            return f"With {self.best.policy} expect a cost of {best.text(3)}.{least}"
        if not self.helps:
            most = max(self.rows, key=lambda row: (row.policy == self.best.policy, len(row.fidelities)))
            everything, unsure = self._mean(most), f"made no clear difference {in_these_runs(self.trials)}"
            # That the limit is the same without them shows it as well.
            useless = self.truest_only.limit <= (1.0 + _WORTHWHILE) * self.limit and not self.instance.violations
            verdict = "do not help" if useless or alone.below(everything) else unsure
            return (
                f"The cheap fidelities {verdict}: use {truth} alone. With {self.best.policy} expect a "
                f"cost of {alone.text(3)}; with all fidelities it would be {everything.text(3)}.{least}"
            )
        kept = " and ".join(map(repr, self.keep))
        idle = [one.name for one in problem.fidelities if one.name not in self.keep]
        without = f" {' and '.join(map(repr, idle))} can be left out." if idle else ""
        given = f"Use {kept} with {self.best.policy}: expect a cost of {best.text(3)}, "
        if best.below(alone):
            less = times(alone, best, f"less than the {alone.text(3)} of {truth} alone")
            return f"{given}{less}.{without}{least}"
        return (
            f"{given}beside {alone.text(3)} with {truth} alone, a difference that may be luck "
            f"{in_these_runs(self.trials)}.{without}{least}"
        )

    def _mean(self, row: ForecastRow) -> Mean:
        return Mean(row.mean_cost, row.standard_error, self.trials)

    def _least(self) -> str:
        """What no policy can undercut, as a sentence, and whether too few trials did."""
        if math.isnan(self.limit):
            return ""
        if self.instance.violations:
            return " No least cost is claimed: the means break their bias bounds."
        doubt = f", but {too_few(self.trials)}" if self.best.mean_cost < self.limit else ""
        return f" Nothing can cost less than {amount(self.limit, 3)} on average{doubt}."

    def to_json(self) -> dict[str, Any]:
        """The forecast as a plain JSON object; numbers that are not known become None."""
        rows = [{**vars(row), "fidelities": list(row.fidelities)} for row in self.rows]
        plain = {
            "instance": self.instance.name,
            "delta": self.delta,
            "epsilon": self.epsilon,
            "trials": self.trials,
            "seed": self.seed,
            "keep": list(self.keep),
            "helps": self.helps,
            "policy": self.best.policy,
            "mean_cost": self.best.mean_cost,
            "mean_cost_truest_only": self.truest_only.mean_cost,
            "limit": self.limit,
            "advice": self.advice,
            "rows": rows,
            "widths": [vars(row) for row in self.widths],
        }
        return dict(_without_nan(plain))

    def curve(self, deltas: Sequence[float] = _CURVE) -> list[tuple[str, list[tuple[float, float]]]]:
        """Costs against delta by simulation, and the limit: named lists of (delta, cost)."""
        lines = []
        for row in dict.fromkeys((self.best, self.truest_only)):
            points = [(delta, float(self._again(row, delta).cost.mean())) for delta in deltas]
            lines.append((f"{row.policy.partition(':')[0]}, {_short(row.fidelities)}", points))
        if not math.isnan(self.limit):
            lines.append(
                ("limit (all fidelities)", [(delta, limit(self.instance, delta)) for delta in deltas if delta < 0.5])
            )
        return lines

    def figure(self, deltas: Sequence[float] = _CURVE) -> Figure:
        """The cost against the confidence, as a picture."""
        title = f"What {self.instance.name or 'it'} will cost"
        return cost_against_confidence(self.curve(deltas), title=title)

    def _again(self, row: ForecastRow, delta: float) -> Runs:
        given = {"epsilon": self.epsilon, "trials": self.trials, "seed": self.seed}
        most = _PATIENCE * _scale(self.instance, delta)
        return _run(self.instance, row.policy, row.fidelities, delta=delta, max_cost=most, **given)


def forecast(
    instance: Instance | str,
    *,
    delta: float = 0.05,
    epsilon: float = 0.0,
    policies: Sequence[Policy | str] = ("mf-toptwo", "lucb-c"),
    trials: int = 100,
    seed: int = 0,
    max_cost: float | None = None,
    workers: Sequence[int] = (),
    durations: GivenDurations | None = None,
) -> Forecast:
    """Foretell what identifying the best arm will cost, and which fidelities to use.

    Parameters
    ----------
    instance : Instance or str
        Guessed means, with costs and biases: an instance, a built-in's name or a TOML file.
    delta, epsilon : float
        As for `identify`.
    policies : sequence of Policy or str
        Policies to compare. The first is tried with every set of fidelities that holds the truest one, the
        others with all fidelities and with the truest alone.
    trials : int
        Simulated runs of each.
    seed : int
        Seed of the simulated rewards; all rows share their luck.
    max_cost : float, optional
        Where a run is given up; by default at a hundred times what the truest fidelity alone must cost.
    workers : sequence of int
        Numbers of workers to tell cost and time of, for the row to follow: see `Forecast.widths`.
    durations
        How long a pull takes, as for `simulate`.

    Returns
    -------
    Forecast

    Examples
    --------
    >>> found = forecast("poiani-5x2", policies=["mf-toptwo"], trials=20)
    >>> found.helps, found.keep
    (True, ('fidelity 0', 'fidelity 1'))
    """
    guessed = load_instance(instance) if isinstance(instance, str) else instance
    if not isinstance(guessed, Instance):
        raise InvalidInput(f"instance must be an Instance, a name or a file, got {instance!r}")
    given = [read_policy(one) for one in as_list(policies, "policies must be a list", InvalidInput)]
    chosen = list({one.label: one for one in given}.values())
    _check(guessed, chosen, epsilon)
    numbers = [whole_number("workers", one, 1) for one in as_list(workers, "workers must be a list", InvalidInput)]
    taken = as_durations(durations)
    if taken is not None:
        taken.means(guessed.problem)
    most = _PATIENCE * _scale(guessed, delta) if max_cost is None else max_cost
    settings: dict[str, Any] = {"delta": delta, "epsilon": epsilon, "trials": trials, "seed": seed, "max_cost": most}
    rows = []
    for position, one in enumerate(chosen):
        for columns in _subsets(guessed, every=position == 0):
            if one.truest_only and len(columns) > 1:
                continue
            names = tuple(guessed.problem.fidelities[m].name for m in columns)
            runs = _run(guessed, one.label, names, **settings)
            rows.append(_row(runs, one.label, names, _limit(guessed, delta, epsilon, columns)))
    ordered = tuple(sorted(rows, key=lambda row: (-row.stopped_rate, row.mean_cost)))
    alone = next(row for row in ordered if len(row.fidelities) == 1)
    best = _choice(ordered)
    settings["durations"] = taken
    widths = [WidthRow.of(_run(guessed, best.policy, best.fidelities, width=one, **settings)) for one in numbers]
    return Forecast(guessed, delta, epsilon, trials, seed, ordered, best, alone, tuple(widths))


def _check(instance: Instance, policies: Sequence[Policy], epsilon: float) -> None:
    if instance.problem.blocks is not None:
        raise InvalidInput(
            f"a forecast is about independent rewards, but the arms of this instance share {instance.problem.blocks} "
            "blocks: use simulate with mf-race"
        )
    if not policies:
        raise InvalidInput("policies are empty; give at least one policy to forecast")
    for one in policies:
        if one.spends:
            raise InvalidInput(f"{one.label} spends a budget: a forecast is about identifying the best arm")
        if one.fidelities != "all":
            raise InvalidInput(f"{one.label} names its fidelities; a forecast tries the sets by itself")
    if instance.problem.n_arms > 1:
        first, second = (int(k) for k in np.argsort(-instance.truth, kind="stable")[:2])
        gap = float(instance.truth[first] - instance.truth[second])
        if gap <= 0.0 and not epsilon > 0.0:
            names = instance.problem.arms
            raise InvalidInput(
                f"arms {names[first]!r} and {names[second]!r} are tied at the top, so no study with "
                "epsilon 0 would end: pass an epsilon > 0"
            )


def _scale(instance: Instance, delta: float) -> float:
    """What the truest fidelity alone must cost, or a pull of everything if that is nothing or no limit."""
    must = limit(instance, min(delta, 0.4), fidelities="top")
    everything = 100.0 * float(instance.problem.costs.sum())
    return max(must, everything) if math.isfinite(must) else 1e4 * everything


def _limit(instance: Instance, delta: float, epsilon: float, columns: Sequence[int]) -> float:
    # The limit is that of the exact problem; an answer that may be off by epsilon can cost less.
    return math.nan if epsilon > 0.0 else limit(instance, delta, fidelities=list(columns))


def _subsets(instance: Instance, every: bool) -> list[tuple[int, ...]]:
    """Sets of fidelities that hold the truest one, all of them first."""
    count, truest = instance.problem.n_fidelities, instance.problem.truest
    cheap = [m for m in range(count) if m != truest]
    sets = {tuple(range(count)), (truest,)}
    if every and len(cheap) <= _ALL_SUBSETS:
        sizes = range(1, len(cheap))
        chosen = itertools.chain.from_iterable(itertools.combinations(cheap, size) for size in sizes)
        sets |= {tuple(sorted((*some, truest))) for some in chosen}
    elif every:
        # Too many to try all: single ones, and all but one.
        sets |= {tuple(sorted((m, truest))) for m in cheap}
        sets |= {tuple(m for m in range(count) if m != left) for left in cheap}
    return sorted(sets, key=lambda some: (-len(some), some))


def _run(instance: Instance, label: str, names: tuple[str, ...], **settings: Any) -> Runs:
    known = [one.name for one in instance.problem.fidelities]
    columns = [known.index(name) for name in names]
    chosen = read_policy(label)
    if len(columns) < len(known) and not chosen.truest_only:
        text = f"fidelities={'+'.join(map(str, columns))}"
        chosen = read_policy(f"{label},{text}" if ":" in label else f"{label}:{text}")
    return simulate(instance, chosen, progress=True, **settings)


def _row(runs: Runs, label: str, names: tuple[str, ...], least: float) -> ForecastRow:
    error = float(runs.cost.std(ddof=1)) / math.sqrt(runs.trials) if runs.trials > 1 else math.nan
    return ForecastRow(
        policy=label,
        fidelities=names,
        mean_cost=float(runs.cost.mean()),
        standard_error=error,
        error_rate=float(runs.wrong.mean()),
        stopped_rate=float(runs.stopped.mean()),
        limit=least,
    )


def _choice(ordered: Sequence[ForecastRow]) -> ForecastRow:
    """The cheapest row, or one with fewer fidelities that costs hardly more."""
    first = ordered[0]
    slack = max(_WORTHWHILE * first.mean_cost, 0.0 if math.isnan(first.standard_error) else first.standard_error)
    good = [
        row for row in ordered if row.stopped_rate == first.stopped_rate and row.mean_cost <= first.mean_cost + slack
    ]
    return min(good, key=lambda row: (len(row.fidelities), row.mean_cost))


def _short(names: tuple[str, ...]) -> str:
    return " + ".join(names) if len(names) < 4 else f"{len(names)} fidelities"


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
