"""``mfbandit extend``, ``widen`` and so on: what changes while a study lives."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import typer

from mfbandit.cli._options import Json
from mfbandit.cli._output import print_json
from mfbandit.cli.commands._study_commands import Patience, StorageUrl, StudyName, open_stored
from mfbandit.formatting import amount, shown
from mfbandit.storage import PATIENCE_SECONDS
from mfbandit.study import Study

__all__ = ["add_arm", "extend", "reprice", "retire", "widen"]

ArmName: TypeAlias = Annotated[str, typer.Argument(metavar="ARM", help="Its name.", show_default=False)]
FidelityName: TypeAlias = Annotated[str, typer.Argument(metavar="FIDELITY", help="Its name.", show_default=False)]


def extend(
    storage: StorageUrl,
    max_cost: Annotated[
        float | None, typer.Option(help="What the study may cost in all; inf is no limit.", show_default=False)
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(help="How likely a wrong answer may be: less than before.", show_default=False),
    ] = None,
    epsilon: Annotated[
        float | None,
        typer.Option(help="How far from the best an answer may be: less than before.", show_default=False),
    ] = None,
    study: StudyName = None,
    json: Json = False,
    patience: Patience = PATIENCE_SECONDS,
) -> None:
    """Let a study cost more, or less, or ask for a surer or a better answer; one that has ended for it goes on.

    What it has measured so far stays. Workers that have it open follow; those that have ended are started again.

    Example: [bold]mfbandit extend judges.db --max-cost 200[/bold]
    """
    opened = open_stored(storage, study, patience)
    opened.extend(max_cost=max_cost, delta=delta, epsilon=epsilon)
    settings = opened.settings
    if json:
        now = {name: getattr(settings, name) for name in ("max_cost", "delta", "epsilon")}
        print_json({"status": opened.status, "cost": opened.cost, **now})
        return
    limit = settings.max_cost
    most = "no limit" if limit is None else f"at most {amount(limit)}"
    wanted = f"delta {settings.delta:g}" + (f" and epsilon {settings.epsilon:g}" if settings.epsilon else "")
    print(f"The study is {opened.status} at a cost of {amount(opened.cost)}, with {most} and {wanted} from now on.")


def widen(
    storage: StorageUrl,
    fidelity: FidelityName,
    bias: Annotated[
        float | None, typer.Option(help="The bound on its bias: at least what it was.", show_default=False)
    ] = None,
    pair_bias: Annotated[
        float | None,
        typer.Option(
            help="The bound on the bias of differences: at least what it was; inf is none.", show_default=False
        ),
    ] = None,
    study: StudyName = None,
    json: Json = False,
    patience: Patience = PATIENCE_SECONDS,
) -> None:
    """Take the bias of a fidelity to be larger than was declared; arms that were beaten are judged again.

    Example: [bold]mfbandit widen judges.db judge --bias 0.2[/bold]
    """
    opened = open_stored(storage, study, patience)
    opened.widen(fidelity, bias=bias, pair_bias=pair_bias)
    bounds = {one.name: one.to_json() for one in opened.settings.problem.fidelities}[fidelity]
    now: dict[str, Any] = {key: bounds.get(key) for key in ("bias", "pair_bias")}
    if json:
        print_json({"status": opened.status, "fidelity": fidelity, **now})
        return
    said = f"bias {now['bias']}" + ("" if now["pair_bias"] is None else f" and pair bias {now['pair_bias']}")
    print(f"The study is {opened.status}, with {said} at {fidelity!r} from now on.")


def reprice(
    storage: StorageUrl,
    fidelity: FidelityName,
    cost: Annotated[float, typer.Option(help="What a pull costs from now on.", show_default=False)],
    study: StudyName = None,
    json: Json = False,
    patience: Patience = PATIENCE_SECONDS,
) -> None:
    """Let pulls of a fidelity cost something else from now on; what was paid so far stays.

    Example: [bold]mfbandit reprice judges.db human --cost 0.4[/bold]
    """
    opened = open_stored(storage, study, patience)
    opened.reprice(fidelity, cost=cost)
    if json:
        print_json({"status": opened.status, "cost": opened.cost, "prices": dict(opened.settings.prices)})
        return
    print(f"The study is {opened.status}, and a pull at {fidelity!r} costs {amount(cost)} from now on.")


def add_arm(
    storage: StorageUrl,
    arm: ArmName,
    study: StudyName = None,
    json: Json = False,
    patience: Patience = PATIENCE_SECONDS,
) -> None:
    """Let an arm join a race that was made with most_arms; it counts on blocks that are opened from now on.

    Example: [bold]mfbandit add-arm judges.db "prompt C"[/bold]
    """
    opened = open_stored(storage, study, patience)
    opened.add_arm(arm)
    _say_who_is_there(opened, json)


def retire(
    storage: StorageUrl,
    arm: ArmName,
    study: StudyName = None,
    json: Json = False,
    patience: Patience = PATIENCE_SECONDS,
) -> None:
    """Take an arm out of a race that was made with most_arms; arms that only it has beaten return.

    Example: [bold]mfbandit retire judges.db "prompt B"[/bold]
    """
    opened = open_stored(storage, study, patience)
    opened.retire(arm)
    _say_who_is_there(opened, json)


def _say_who_is_there(study: Study, json: bool) -> None:
    settings = study.settings
    arms = [arm for arm, there in zip(settings.problem.arms, settings.present or [], strict=True) if there]
    if json:
        print_json({"status": study.status, "arms": arms, "most_arms": settings.problem.n_arms})
        return
    print(f"The study is {study.status}, with {len(arms)} arms: {', '.join(map(shown, arms))}.")
