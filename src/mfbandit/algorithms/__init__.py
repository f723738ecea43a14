"""The policies, one file or folder each, and the registry that knows them by name.

To add one, write its file and one line in the registry (`mfbandit.algorithms._registry`); the command line, the
simulators, the studies, the tests and the benchmarks pick it up from there.

What stands here is for other rooms; modules with an underscore are private to this one, which imports only from
the rooms above it in CONTRIBUTING.md.
"""

from mfbandit.algorithms._elimination import Elimination, Phases, default_epsilon, theorem_epsilon
from mfbandit.algorithms._hyperband import Brackets, Hyperband
from mfbandit.algorithms._iise import IISE, Phase
from mfbandit.algorithms._mf_commit import Beliefs, MFCommit
from mfbandit.algorithms._mf_ucb import MFUCB
from mfbandit.algorithms._parts import put
from mfbandit.algorithms._policy import Policy
from mfbandit.algorithms._registry import REGISTRY, Entry, default_policy, policy, read_policy
from mfbandit.algorithms._successive_halving import Rungs, SuccessiveHalving
from mfbandit.algorithms.lucb._lucb import LUCB
from mfbandit.algorithms.mf_grad._mf_grad import MFGrad
from mfbandit.algorithms.mf_race._mf_race import MFRace
from mfbandit.algorithms.mf_toptwo._mf_toptwo import MFTopTwo

__all__ = [
    "IISE",
    "LUCB",
    "MFUCB",
    "REGISTRY",
    "Beliefs",
    "Brackets",
    "Elimination",
    "Entry",
    "Hyperband",
    "MFCommit",
    "MFGrad",
    "MFRace",
    "MFTopTwo",
    "Phase",
    "Phases",
    "Policy",
    "Rungs",
    "SuccessiveHalving",
    "default_epsilon",
    "default_policy",
    "policy",
    "put",
    "read_policy",
    "theorem_epsilon",
]
