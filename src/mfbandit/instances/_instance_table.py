"""An instance as people read it: the layout of Tables 2 and 3 of the paper."""

from __future__ import annotations

from mfbandit._checks import FloatArray
from mfbandit.instances._instance import Instance

__all__ = ["instance_table"]


def instance_table(instance: Instance) -> tuple[list[str], list[list[str]]]:
    """Headings and rows of Table 2 or 3 of the paper for an instance; cells beyond the bias bound have a !.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> instance_table(load_instance("loose-prior"))[1][0]
    ['fidelity 0', '0.85', '0.75', '0.6', '0.08', '1']
    """
    problem = instance.problem
    broken = {(one.arm, one.fidelity) for one in instance.violations}
    rows = []
    for m, fidelity in enumerate(problem.fidelities):
        means = [
            f"{instance.means[k, m]:.6g}{' !' if (arm, fidelity.name) in broken else ''}"
            for k, arm in enumerate(problem.arms)
        ]
        rows.append([fidelity.name, *means, _range(problem.biases[:, m]), _range(problem.costs[:, m])])
    return ["fidelity", *(f"mean of {arm}" for arm in problem.arms), "bias bound", "cost"], rows


def _range(values: FloatArray) -> str:
    """One number, or the least and the largest where arms differ."""
    low, high = float(values.min()), float(values.max())
    return f"{low:.6g}" if low == high else f"{low:.6g} to {high:.6g}"
