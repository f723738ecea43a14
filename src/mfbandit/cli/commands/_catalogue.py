"""``mfbandit policies`` and ``mfbandit instances``: what there is."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from mfbandit.algorithms import REGISTRY
from mfbandit.cli._options import Json
from mfbandit.cli._output import print_json, print_sentences, print_table
from mfbandit.errors import InvalidInput
from mfbandit.instances import Instance, describe_instances, instance_file, instance_table, load_instance

__all__ = ["instances", "policies"]

_OBJECTIVES = {"identify": "best arm", "regret": "regret"}


def policies(json: Json = False) -> None:
    """List the policies.

    A policy is written as its name, or as [bold]name:key=value,key=value[/bold]. Those for the best arm
    stop by themselves; those for regret spend a --budget.

    Example: [bold]mfbandit policies[/bold]
    """
    if not json:
        rows = [
            (name, _OBJECTIVES[entry.kind.objective], entry.summary, entry.example) for name, entry in REGISTRY.items()
        ]
        print_table(("policy", "for", "what it does", "example"), rows)
        return
    print_json(
        [
            {
                "name": name,
                "objective": entry.kind.objective,
                "summary": entry.summary,
                "example": entry.example,
                "options": {
                    field.name: field.default
                    for field in dataclasses.fields(entry.kind)
                    if field.name not in entry.preset
                },
            }
            for name, entry in REGISTRY.items()
        ]
    )


def instances(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="INSTANCE", help="Show the numbers of one: built-in, or a TOML file.", show_default=False
        ),
    ] = None,
    json: Json = False,
    toml: Annotated[
        bool, typer.Option("--toml", help="Print the file of one, to begin an instance of your own with.")
    ] = False,
) -> None:
    """List the built-in instances, or show the means, costs and biases of one.

    An instance of your own is a TOML file with [bold]reward, costs, biases[/bold] and [bold]means[/bold]:
    simulate, forecast and bounds take it in place of a name.

    Example: [bold]mfbandit instances[/bold]

    Example: [bold]mfbandit instances figure-1b[/bold]

    Example: [bold]mfbandit instances figure-1a --toml > mine.toml[/bold]
    """
    if toml:
        if name is None or json:
            raise InvalidInput("--toml prints the file of one instance: name it, and leave out --json")
        print(instance_file(name), end="")
        return
    if name is not None:
        _show_instance(load_instance(name), json)
        return
    found = describe_instances()
    if json:
        print_json([row._asdict() for row in found])
        return
    rows = [(row.name, str(row.n_arms), str(row.n_fidelities), row.reward, row.description) for row in found]
    print_table(("instance", "arms", "fidelities", "reward", "what it is"), rows)


def _show_instance(instance: Instance, json: bool) -> None:
    """Print an instance as the paper's Tables 2 and 3 do: a row per fidelity, a column per arm."""
    problem = instance.problem
    if json:
        print_json(
            {
                "name": instance.name,
                "law": repr(instance.law),
                "arms": problem.arms,
                "fidelities": [fidelity.name for fidelity in problem.fidelities],
                "means": instance.means,
                "biases": problem.biases,
                "costs": problem.costs,
                "truest": problem.truest,
                "blocks": problem.blocks,
                "best": problem.arms[instance.best],
                "violations": [{**vars(one), "sentence": one.sentence} for one in instance.violations],
            }
        )
        return
    print(
        f"{instance.name}: {problem.n_arms} arms, {problem.n_fidelities} fidelities, "
        f"{'' if problem.blocks is None else f'{problem.blocks} blocks, '}{instance.law!r}; "
        f"the best arm is {problem.arms[instance.best]!r}\n"
    )
    print_table(*instance_table(instance))
    if instance.violations:
        print()
        sentences = [one.sentence for one in instance.violations]
        print_sentences("The means break the bias bounds (marked !), so no theorem covers this instance:", sentences)
