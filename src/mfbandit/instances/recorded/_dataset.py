"""Folders of recorded measurements as instances: a ``meta.json`` beside rows or a summary of them.

The layout: ``meta.json`` names the ``arms`` and ``fidelities`` and gives ``costs`` and bias bounds
``zeta``, one per fidelity; ``samples.csv.gz`` (or ``samples.csv``) holds rows with the columns arm,
fidelity, reward; ``table.csv`` holds their summary with the columns arm, fidelity, n, mean, sd. Rewards lie
in [0, 1] unless ``meta.json`` says ``"range": [low, high]``.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mfbandit._checks import FloatArray, as_names
from mfbandit.errors import InstanceError, InvalidInput
from mfbandit.instances._instance import Instance
from mfbandit.instances._laws import BernoulliLaw, BetaLaw, GaussianLaw, RewardLaw, TableLaw
from mfbandit.instances.recorded._table_instance import read_table
from mfbandit.instances.recorded._table_rows import read_rows
from mfbandit.model import Bernoulli, Bounded, Gaussian, Problem, RewardKind

__all__ = ["load_dataset"]

_SAMPLES = ("samples.csv.gz", "samples.csv")
_REQUIRED = ("arms", "fidelities", "costs", "zeta")
#: Beta rewards of a concentration below this are 0 or 1 for all practical purposes.
_COIN = 0.02
#: Summaries are rounded to six digits; means that break a bound by less do so by their rounding.
_ROUNDED = 1e-5


def load_dataset(
    folder: str | os.PathLike[str], *, law: RewardLaw | None = None, strict: bool | None = None
) -> Instance:
    """Load a folder of recorded measurements as an instance.

    Parameters
    ----------
    folder
        Holds ``meta.json`` and ``samples.csv.gz``, or ``table.csv`` where there are no rows.
    law
        Draw rewards from this law around the means of the cells, instead of drawing rows: for data
        sets with a single row per cell, whose rows know no noise, for example ``BernoulliLaw()``.
    strict
        Whether a cell mean beyond its bias bound is an error (as by default) rather than a warning.

    Returns
    -------
    Instance
        Rows are drawn with replacement. Without rows the law is made from the summary: Beta rewards of
        the concentration that fits the standard deviations, 0/1 rewards where these are as large as can
        be, the means themselves where all are 0, and Gaussian rewards for means outside [0, 1] when no
        range is stated.
    """
    path = Path(folder)
    meta = _meta(path)
    try:
        return _load(path, meta, law, strict is not False)
    except InvalidInput as error:
        raise InstanceError(f"data set {path.name!r}: {error}") from None


def _load(path: Path, meta: Mapping[str, Any], law: RewardLaw | None, strict: bool) -> Instance:
    given = {"costs": meta["costs"], "biases": meta["zeta"]}
    names = {"arms": meta["arms"], "fidelities": meta["fidelities"]}
    name = str(meta.get("name", path.name))
    span = _range(meta)
    samples = next((path / file for file in _SAMPLES if (path / file).is_file()), None)
    if samples is None:
        kind, means, fitted = _summary(path, meta, span)
        given["biases"] = _widened(means, meta)
    else:
        rows = read_table(samples, **given, **names, reward=span, name=name, strict=strict)
        kind, means, fitted = rows.problem.reward, rows.means, rows.law
    if law is not None:
        kind, fitted = _kind_of(law, kind), law
    problem = Problem.from_arrays(**given, **names, reward=kind)
    return Instance(problem, means, fitted, name=name, strict=strict)


def _widened(means: FloatArray, meta: Mapping[str, Any]) -> Any:
    """Bias bounds that the means of a summary keep where only their rounding broke them."""
    biases = np.asarray(meta["zeta"], dtype=np.float64)
    if biases.shape != (means.shape[1],) or not (biases == 0.0).any():
        return meta["zeta"]
    truest = int(np.flatnonzero(biases == 0.0)[-1])
    observed = np.abs(means - means[:, [truest]]).max(axis=0)
    return np.where((biases > 0.0) & (observed - biases <= _ROUNDED), np.maximum(observed, biases), biases)


def _kind_of(law: RewardLaw, kind: RewardKind) -> RewardKind:
    """The reward kind that goes with a law, as near to the data's own as can be."""
    if isinstance(law, GaussianLaw):
        return Gaussian(law.sigma)
    if isinstance(law, BernoulliLaw) and kind == Bounded():
        return Bernoulli()
    return Bounded() if isinstance(law, BetaLaw) and isinstance(kind, Bernoulli) else kind


def _meta(path: Path) -> dict[str, Any]:
    file = path / "meta.json"
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InstanceError(f"the folder {str(path)!r} is no data set: it has no 'meta.json'") from None
    except OSError as error:
        raise InstanceError(f"{str(file)!r} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise InstanceError(f"{str(file)!r} is not valid JSON: {error}") from None
    missing = [key for key in _REQUIRED if not isinstance(data, dict) or key not in data]
    if missing:
        raise InstanceError(f"{str(file)!r} lacks the key {missing[0]!r}")
    return dict(data)


def _range(meta: Mapping[str, Any]) -> Bounded | None:
    stated = meta.get("range")
    if stated is None:
        return None
    if not isinstance(stated, list) or len(stated) != 2:
        raise InstanceError(f"the range is {stated!r}; it must be [low, high]")
    return Bounded(stated[0], stated[1])


def _summary(path: Path, meta: Mapping[str, Any], span: Bounded | None) -> tuple[RewardKind, FloatArray, RewardLaw]:
    """Reward kind, means and law from the summary of a data set without rows."""
    file = path / "table.csv"
    if not file.is_file():
        raise InstanceError("it has neither 'samples.csv.gz' nor 'table.csv'")
    arms = as_names(meta["arms"], "arms", InstanceError)
    fidelities = as_names(meta["fidelities"], "fidelities", InstanceError)
    means = _column(file, "mean", arms, fidelities)
    deviations = _column(file, "sd", arms, fidelities)
    if not (deviations >= 0.0).all():
        k, m = np.argwhere(deviations < 0.0)[0]
        raise InstanceError(
            f"the standard deviation of arm {arms[k]!r} at fidelity {fidelities[m]!r} is {deviations[k, m]:g}"
        )
    return _fitted(means, deviations, span)


def _fitted(
    means: FloatArray, deviations: FloatArray, span: Bounded | None
) -> tuple[RewardKind, FloatArray, RewardLaw]:
    if span is None and (means.min() < 0.0 or means.max() > 1.0):
        sigma = float(deviations.max())
        if not sigma > 0.0:
            raise InstanceError("means lie outside [0, 1]: state their range in 'meta.json'")
        return Gaussian(sigma), means, GaussianLaw(sigma)
    kind = span or Bounded()
    if not deviations.any():
        return kind, means, TableLaw(means[:, :, np.newaxis])
    unit = kind.to_unit(means)
    # var = u (1 - u) / (1 + c) in every cell: c from the sums weighs cells by how much they vary.
    concentration = float((unit * (1.0 - unit)).sum() / ((deviations / kind.span) ** 2).sum()) - 1.0
    if not math.isfinite(concentration) or concentration < _COIN:
        return (Bernoulli() if kind == Bounded() else kind), means, BernoulliLaw()
    return kind, means, BetaLaw(concentration)


def _column(file: Path, column: str, arms: tuple[str, ...], fidelities: tuple[str, ...]) -> FloatArray:
    """One number per cell, from a column of the summary."""
    values = np.full((len(arms), len(fidelities)), np.nan)
    for row in read_rows(file, ("arm", "fidelity", column)):
        if row.arm in arms and row.fidelity in fidelities:
            k, m = arms.index(row.arm), fidelities.index(row.fidelity)
            if not math.isnan(values[k, m]):
                raise InstanceError(f"{row.where} repeats arm {row.arm!r} at fidelity {row.fidelity!r}")
            values[k, m] = row.reward
    for k, m in np.argwhere(np.isnan(values)):
        raise InstanceError(f"{file.name} has no {column} of arm {arms[k]!r} at fidelity {fidelities[m]!r}")
    return values
