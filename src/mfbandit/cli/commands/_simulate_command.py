"""``mfbandit simulate``: many independent runs of policies on an instance."""

from __future__ import annotations

import contextlib
import math
from typing import Annotated, Any

import typer

from mfbandit.algorithms import Policy, default_policy, read_policy
from mfbandit.cli._options import (
    Delta,
    GoalName,
    InstanceName,
    Json,
    PullDurations,
    Seed,
    Spread,
    check_finite,
    read_durations,
)
from mfbandit.cli._output import complain, print_json, print_table
from mfbandit.core import Goal
from mfbandit.formatting import amount
from mfbandit.instances import Instance, load_instance
from mfbandit.model import read_question
from mfbandit.simulation import Runs
from mfbandit.simulation import simulate as run
from mfbandit.theory import wrong_prior
from mfbandit.workers import RayCluster

__all__ = ["simulate"]

#: Pulls after which a trial is given up unless the user says otherwise: some policies never stop.
_DEFAULT_MAX_PULLS = 100_000_000


def simulate(
    instance: InstanceName,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            "--policy",
            "-p",
            help="name or name:key=value,... (see 'mfbandit policies'); repeat to compare.",
            show_default="mf-toptwo, or mf-race for blocks",
        ),
    ] = None,
    delta: Delta = 0.05,
    epsilon: Annotated[float, typer.Option(help="An answer this close to the best is good enough.")] = 0.0,
    goal: GoalName = None,
    budget: Annotated[float | None, typer.Option(help="What to spend, for policies that minimise regret.")] = None,
    trials: Annotated[int, typer.Option(help="Independent runs.")] = 100,
    seed: Seed = 0,
    max_cost: Annotated[float | None, typer.Option(help="Cost at which a run is ended without an answer.")] = None,
    max_pulls: Annotated[
        int | None,
        typer.Option(help="Pulls at which a run is ended without an answer.", show_default="100,000,000"),
    ] = None,
    device: Annotated[str, typer.Option(help="Where to run: cpu, or cuda.")] = "cpu",
    engine: Annotated[
        str, typer.Option(help="Whose cores or GPUs: threads (this machine's), or ray (those of a Ray cluster).")
    ] = "threads",
    threads: Annotated[int | None, typer.Option(help="CPU threads.", show_default="all cores")] = None,
    width: Annotated[int, typer.Option(help="Workers of each run, for the time to the answer.")] = 1,
    durations: PullDurations = None,
    spread: Spread = 0.0,
    json: Json = False,
) -> None:
    """Run policies on an instance many times, and show what they cost and how often they err.

    Policies that are compared share their luck: the same seed gives them the same rewards. Exit code 1
    if some policy did not stop in any trial.

    Example: [bold]mfbandit simulate judges[/bold]

    Example: [bold]mfbandit simulate figure-1a -p lucb-a:top=0.95,second=0.75 -p lucb-top --delta 0.1[/bold]

    Example: [bold]mfbandit simulate figure-1a -p elimination -p mf-ucb --budget 100000 --trials 20[/bold]

    With --width or --durations a clock runs along, which shows how long an answer takes and how busy workers are.

    Example: [bold]mfbandit simulate judges --width 8 --durations 1 --spread 1[/bold]
    """
    for name, value in (("budget", budget), ("max_cost", max_cost)):
        check_finite(name, value)
    loaded = load_instance(instance)
    chosen = [read_policy(text) for text in policy or [default_policy(loaded.problem)]]
    # All are checked first: a mistake in the last must not cost the time of the others.
    asked = read_question(goal)
    wanted = Goal(delta=delta, epsilon=epsilon, budget=math.inf if budget is None else budget, question=asked)
    for one in chosen:
        one.check(loaded.problem, wanted)
    settings: dict[str, Any] = {
        "delta": delta,
        "epsilon": epsilon,
        "goal": asked,
        "budget": budget,
        "trials": trials,
        "seed": seed,
        "max_cost": max_cost,
        "max_pulls": _DEFAULT_MAX_PULLS if max_pulls is None else max_pulls,
        "threads": threads,
        "device": device,
        "engine": engine,
        "width": width,
        "durations": read_durations(durations, spread),
        "progress": True,
    }
    _warn(loaded, chosen)
    with _connection(engine):
        all_runs = [run(loaded, one, **settings) for one in chosen]
    if json:
        reports = [_report(runs) for runs in all_runs]
        print_json(reports[0] if len(reports) == 1 else reports)
    else:
        _show(loaded, all_runs)
    _end(all_runs)


def _warn(instance: Instance, policies: list[Policy]) -> None:
    """Say where Explore-A and -B are told what is not so: their guarantee needs it."""
    for one in policies:
        for sentence in wrong_prior(instance, getattr(one, "top", None), getattr(one, "second", None)):
            complain(f"{one.label}: {sentence}")


def _connection(engine: str) -> contextlib.AbstractContextManager[Any]:
    """One connection to a cluster for all policies: each would make its own otherwise."""
    if engine != "ray":
        return contextlib.nullcontext()
    return contextlib.closing(RayCluster())


def _end(all_runs: list[Runs]) -> None:
    """Say which policies ended without an answer, and choose the exit code."""
    silent = [runs.policy.label for runs in all_runs if not runs.stopped.any()]
    for label in silent:
        complain(f"{label} ended without an answer in every trial (a limit on cost or pulls was reached)")
    if silent:
        raise typer.Exit(1)


def _report(runs: Runs) -> dict[str, Any]:
    """The figures of a simulation as one JSON object."""
    wrong, (low, high) = _errors(runs)
    return {
        **runs.summary(),
        "stderr_cost": _standard_error(runs.cost),
        "wrong": wrong,
        "error_interval": [low, high],
        "fidelities": [fidelity.name for fidelity in runs.instance.problem.fidelities],
        "mean_pulls_per_fidelity": runs.pulls.sum(axis=1).mean(axis=0),
    }


def _errors(runs: Runs) -> tuple[int, tuple[float, float]]:
    """Count wrong answers, with the exact (Clopper-Pearson) 95% interval of their rate."""
    from scipy.stats import binomtest

    wrong = int(runs.wrong.sum())
    interval = binomtest(wrong, runs.trials).proportion_ci(0.95, method="exact")
    return wrong, (float(interval.low), float(interval.high))


def _standard_error(values: Any) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0


def _show(instance: Instance, all_runs: list[Runs]) -> None:
    """Print one column per policy."""
    problem = instance.problem
    trials = all_runs[0].trials
    print(
        f"{instance.name}: {problem.n_arms} arms, {problem.n_fidelities} fidelities, "
        f"{trials} trial{'' if trials == 1 else 's'} of each policy, seed {all_runs[0].seed}; ± is one standard error\n"
    )
    columns = [_column(runs) for runs in all_runs]
    names = [name for name in columns[0] if any(column[name] != "-" for column in columns)]
    rows = [(name, *(column[name] for column in columns)) for name in names]
    print_table(("", *(runs.policy.label for runs in all_runs)), rows)


def _column(runs: Runs) -> dict[str, str]:
    """The figures of one policy in words, by the name of their row."""
    summary = runs.summary()
    wrong, (low, high) = _errors(runs)
    spends = runs.policy.spends
    column = {
        "delta": amount(summary["delta"]),
        "budget": amount(summary["budget"]) + ("" if spends or summary["budget"] is None else " (only a limit here)"),
        "mean cost": f"{amount(summary['mean_cost'])} ± {amount(_standard_error(runs.cost), 2)}",
        "standard deviation": amount(summary["std_cost"]),
        "limit C* kl": amount(summary["limit"]),
        "cost over limit": amount(summary["cost_over_limit"]),
        "stopped": f"{int(runs.stopped.sum())} of {runs.trials}",
        "wrong answers": f"{wrong} of {runs.trials}",
        "95% interval": f"{low:.2%} to {high:.2%}",
        "mean pulls": amount(summary["mean_pulls"]),
    }
    for fidelity, pulls in zip(runs.instance.problem.fidelities, runs.pulls.sum(axis=1).mean(axis=0), strict=True):
        column[f"  at {fidelity.name}"] = amount(float(pulls))
    if runs.width > 1 or runs.durations is not None:
        column["time to the answer"] = f"{amount(summary['mean_time'])} ± {amount(_standard_error(runs.time), 2)}"
        column["workers busy"] = f"{summary['utilisation']:.0%} of {runs.width}"
    column["regret (paper)"] = _regret(runs.regret) if spends else "-"
    column["regret (by cost)"] = _regret(runs.cost_regret) if spends else "-"
    column["pulls per second"] = amount(summary["pulls_per_second"])
    column["seconds"] = f"{runs.seconds:.2f}"
    return column


def _regret(values: Any) -> str:
    mean, error = float(values.mean()), _standard_error(values)
    # Equal regrets differ in their last bits.
    return f"{amount(mean)} ± {amount(error if error > 1e-9 * abs(mean) else 0.0, 2)}"
