"""mfbandit: find the best of K alternatives at the least cost, from cheap and dear measurements.

>>> import mfbandit as mf
>>> instance = mf.load_instance("figure-1a")
>>> runs = mf.simulate(instance, "lucb-a:top=0.95,second=0.75", trials=2, seed=0)
>>> runs.best.tolist()
[0, 0]
"""

from mfbandit import errors, theory
from mfbandit.algorithms import LUCB, MFUCB, Elimination, Policy, policy
from mfbandit.errors import MfbanditError
from mfbandit.instances import (
    BernoulliLaw,
    BetaLaw,
    GaussianLaw,
    Instance,
    TableLaw,
    builtin_instances,
    load_instance,
)
from mfbandit.problem import Bernoulli, Bounded, Fidelity, Gaussian, Problem
from mfbandit.runs import Runs
from mfbandit.simulate import simulate
from mfbandit.version import __version__

__all__ = [
    "LUCB",
    "MFUCB",
    "Bernoulli",
    "BernoulliLaw",
    "BetaLaw",
    "Bounded",
    "Elimination",
    "Fidelity",
    "Gaussian",
    "GaussianLaw",
    "Instance",
    "MfbanditError",
    "Policy",
    "Problem",
    "Runs",
    "TableLaw",
    "__version__",
    "builtin_instances",
    "errors",
    "load_instance",
    "policy",
    "simulate",
    "theory",
]
