"""``mfbandit policies`` and ``mfbandit instances``: what there is."""

from __future__ import annotations

from mfbandit.cli.options import Json
from mfbandit.cli.output import print_json, print_table

__all__ = ["instances", "policies"]

_OBJECTIVES = {"identify": "best arm", "regret": "regret"}


def policies(json: Json = False) -> None:
    """List the policies.

    A policy is written as its name, or as [bold]name:key=value,key=value[/bold]. Those for the best arm
    stop by themselves; those for regret spend a --budget.

    Example: [bold]mfbandit policies[/bold]
    """
    import dataclasses

    from mfbandit.algorithms import REGISTRY

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


def instances(json: Json = False) -> None:
    """List the built-in instances.

    An instance of your own is a TOML file with [bold]reward, costs, biases[/bold] and [bold]means[/bold].

    Example: [bold]mfbandit instances[/bold]
    """
    from mfbandit.instances import describe_instances

    found = describe_instances()
    if json:
        print_json([row._asdict() for row in found])
        return
    rows = [(row.name, str(row.n_arms), str(row.n_fidelities), row.reward, row.description) for row in found]
    print_table(("instance", "arms", "fidelities", "reward", "what it is"), rows)
