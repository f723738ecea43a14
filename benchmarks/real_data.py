"""The recorded data sets of ``real.py``: read, shuffled, and with what is added to them."""

from __future__ import annotations

import json
import math
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import mfbandit as mf

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

#: What is a right answer where the truth is a near tie: about the standard error of the gap.
EPSILONS = {
    "lcdb_cmc": 0.02,
    "obd_men_groups": 0.002,
    "obd_men_items": 0.005,
    "realsumm_abs": 0.03,
    "wmt21_ted_ende": 0.005,
}

#: Noise where there is one row per cell. Beta(c): an accuracy on c + 1 validation examples; for lcdb11_* as
#: noisy as the standard errors of the source say. Gaussian: 0.3 eV of a band gap, a tenth of a function's
#: range.
NOISE: dict[str, mf.BetaLaw | mf.GaussianLaw] = {
    "bandgap_pbe_hse_exp": mf.GaussianLaw(0.03),
    "lcdb11_eucalyptus": mf.BetaLaw(100),
    "lcdb11_jungle_chess_2pcs_raw_endgame_complete": mf.BetaLaw(300),
    "mf2_borehole": mf.GaussianLaw(0.1),
    "mf2_currin": mf.GaussianLaw(0.1),
    "mf2_hartmann6": mf.GaussianLaw(0.1),
    "yahpo_lcbench_167168": mf.BetaLaw(400),
    "yahpo_lcbench_189906": mf.BetaLaw(400),
    "yahpo_rpart_1489": mf.BetaLaw(400),
}


@dataclass(frozen=True)
class Task:
    """A data set, made ready to be simulated."""

    name: str
    instance: mf.Instance
    epsilon: float
    words: str


def load(folder: Path, bernoulli: bool) -> Task:
    """Load a data set, shuffle its arms, and say what was added to it."""
    name = folder.name
    single = json.loads((folder / "meta.json").read_text())["n_max"] == 1
    law = (mf.BernoulliLaw() if bernoulli else NOISE.get(name, mf.BernoulliLaw())) if single else None
    instance = shuffled(mf.load_dataset(folder, law=law))
    words = "rows drawn" if law is None else f"one row per cell: {law}"
    gap, error = top_two(instance)
    epsilon = 0.0
    if gap < 2.0 * error:
        epsilon = EPSILONS.get(name, float(f"{error:.1g}"))
        words += f"; near tie (gap {gap:.2g}, standard error {error:.2g}): within {epsilon:g} is right"
    return Task(name, instance, epsilon, words)


def shuffled(instance: mf.Instance) -> mf.Instance:
    """The instance with its arms in an order of chance, the best not first."""
    problem = instance.problem
    random = np.random.default_rng(zlib.crc32(instance.name.encode()))
    order = random.permutation(problem.n_arms)
    while order[0] == instance.best:
        order = random.permutation(problem.n_arms)
    law = instance.law
    return mf.Instance(
        mf.Problem.from_arrays(
            problem.costs[order],
            problem.biases[order],
            arms=[problem.arms[k] for k in order],
            fidelities=[fidelity.name for fidelity in problem.fidelities],
            reward=problem.reward,
        ),
        instance.means[order],
        mf.TableLaw([law.cells[k] for k in order]) if isinstance(law, mf.TableLaw) else law,
        name=instance.name,
    )


def top_two(instance: mf.Instance) -> tuple[float, float]:
    """The gap of the two best arms, and its standard error (0 where there is one row per cell)."""
    second, best = (int(k) for k in np.argsort(instance.truth)[-2:])
    gap = float(instance.truth[best] - instance.truth[second])
    if not isinstance(instance.law, mf.TableLaw):
        return gap, 0.0
    cells = [instance.law.cells[k][instance.problem.truest] for k in (best, second)]
    return gap, math.sqrt(sum(cell.var(ddof=1) / len(cell) for cell in cells))
