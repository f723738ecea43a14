"""mfbandit: find the best of several alternatives from cheap biased and expensive true measurements.

>>> import mfbandit as mf
>>> problem = mf.Problem(["a", "b"], [("quick look", 1.0, 0.1), ("full test", 20.0)], reward="bernoulli")
>>> chance = {"a": 0.9, "b": 0.2}
>>> def evaluate(pull):
...     return float(pull.seed % 1000 < 1000 * chance[pull.arm])
>>> mf.identify(problem, evaluate, delta=0.05, progress=False).best
'a'
"""

from mfbandit import errors, theory
from mfbandit.algorithms import (
    IISE,
    LUCB,
    MFUCB,
    Elimination,
    Hyperband,
    MFCommit,
    MFGrad,
    MFRace,
    MFTopTwo,
    Policy,
    SuccessiveHalving,
    policy,
)
from mfbandit.calibration import Calibration, PilotNoise, calibrate
from mfbandit.certificate import verify
from mfbandit.errors import MfbanditError
from mfbandit.instances import (
    BernoulliLaw,
    BetaLaw,
    BlockEffectLaw,
    BlockTableLaw,
    GaussianLaw,
    Instance,
    TableLaw,
    builtin_instances,
    evaluator,
    load_instance,
)
from mfbandit.instances.recorded import load_dataset, read_table
from mfbandit.model import (
    Bernoulli,
    BetterThan,
    Bounded,
    CheapestWithin,
    Fidelity,
    Gaussian,
    Outcome,
    Problem,
    Pull,
    TopM,
)
from mfbandit.simulation import Durations, Forecast, Runs, forecast, simulate
from mfbandit.study import BiasAlarm, Failures, Folders, Result, Study, create_study, import_study, load_study
from mfbandit.study.api import allocate, identify, identify_async
from mfbandit.version import __version__
from mfbandit.workers import Ray

__all__ = [
    "IISE",
    "LUCB",
    "MFUCB",
    "Bernoulli",
    "BernoulliLaw",
    "BetaLaw",
    "BetterThan",
    "BiasAlarm",
    "BlockEffectLaw",
    "BlockTableLaw",
    "Bounded",
    "Calibration",
    "CheapestWithin",
    "Durations",
    "Elimination",
    "Failures",
    "Fidelity",
    "Folders",
    "Forecast",
    "Gaussian",
    "GaussianLaw",
    "Hyperband",
    "Instance",
    "MFCommit",
    "MFGrad",
    "MFRace",
    "MFTopTwo",
    "MfbanditError",
    "Outcome",
    "PilotNoise",
    "Policy",
    "Problem",
    "Pull",
    "Ray",
    "Result",
    "Runs",
    "Study",
    "SuccessiveHalving",
    "TableLaw",
    "TopM",
    "__version__",
    "allocate",
    "builtin_instances",
    "calibrate",
    "create_study",
    "errors",
    "evaluator",
    "forecast",
    "identify",
    "identify_async",
    "import_study",
    "load_dataset",
    "load_instance",
    "load_study",
    "policy",
    "read_table",
    "simulate",
    "theory",
    "verify",
]
