"""Instances from tables of recorded rewards: see `mfbandit.instances`."""

from mfbandit.instances import Evaluator, PullLike, evaluator
from mfbandit.instances.recorded import Cells, collect, read_table

__all__ = ["Cells", "Evaluator", "PullLike", "collect", "evaluator", "read_table"]
