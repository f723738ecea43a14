"""Instances: a problem together with what is hidden in it, to simulate and to compute bounds of.

One TOML file in this folder is one built-in instance; adding a file adds an instance.
"""

from mfbandit.instances.block_laws import BlockEffectLaw, BlockTableLaw
from mfbandit.instances.instance import Instance, Violation
from mfbandit.instances.laws import (
    BernoulliLaw,
    BetaLaw,
    GaussianLaw,
    RewardLaw,
    TableLaw,
    law_from_json,
)
from mfbandit.instances.loading import (
    InstanceSummary,
    builtin_instances,
    describe_instances,
    load_instance,
)

__all__ = [
    "BernoulliLaw",
    "BetaLaw",
    "BlockEffectLaw",
    "BlockTableLaw",
    "GaussianLaw",
    "Instance",
    "InstanceSummary",
    "RewardLaw",
    "TableLaw",
    "Violation",
    "builtin_instances",
    "describe_instances",
    "law_from_json",
    "load_instance",
]
