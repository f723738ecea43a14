"""Instances: problems whose reward laws are known, from files or recorded rewards, and draws from them.

What stands here is for other rooms; modules with an underscore are private to this one, which imports only from
the rooms above it in CONTRIBUTING.md.
"""

from mfbandit.instances._block_draws import BlockLaw, block_draw, block_law, draw_any_block
from mfbandit.instances._block_laws import BlockEffectLaw, BlockTableLaw
from mfbandit.instances._evaluator import Evaluator, PullLike
from mfbandit.instances._instance import Instance, Violation, evaluator
from mfbandit.instances._instance_table import instance_table
from mfbandit.instances._laws import BernoulliLaw, BetaLaw, GaussianLaw, RewardLaw, TableLaw, law_from_json
from mfbandit.instances._loading import (
    InstanceSummary,
    builtin_instances,
    describe_instances,
    instance_file,
    load_instance,
)
from mfbandit.instances._reward_draws import Law, draw_any, draw_of, law_arrays

__all__ = [
    "BernoulliLaw",
    "BetaLaw",
    "BlockEffectLaw",
    "BlockLaw",
    "BlockTableLaw",
    "Evaluator",
    "GaussianLaw",
    "Instance",
    "InstanceSummary",
    "Law",
    "PullLike",
    "RewardLaw",
    "TableLaw",
    "Violation",
    "block_draw",
    "block_law",
    "builtin_instances",
    "describe_instances",
    "draw_any",
    "draw_any_block",
    "draw_of",
    "evaluator",
    "instance_file",
    "instance_table",
    "law_arrays",
    "law_from_json",
    "load_instance",
]
