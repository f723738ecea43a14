"""Where evaluations run: threads, processes, asyncio, Ray, any executor, any command.

What stands here is for other rooms; modules with an underscore are private to this one, which imports only from
the rooms above it in CONTRIBUTING.md.
"""

from mfbandit.workers._batches import Batch, Batches
from mfbandit.workers._command import Command, check_timeout
from mfbandit.workers._engine import Engine, Evaluate, Ray, Resources, is_async
from mfbandit.workers._failure import BUG, LASTING, REFUSED, TEMPORARY, Failure, TookTooLong, describe, reason
from mfbandit.workers._make_engine import make_engine
from mfbandit.workers._programs import end_all_programs
from mfbandit.workers._ray_cluster import RayCluster

__all__ = [
    "BUG",
    "LASTING",
    "REFUSED",
    "TEMPORARY",
    "Batch",
    "Batches",
    "Command",
    "Engine",
    "Evaluate",
    "Failure",
    "Ray",
    "RayCluster",
    "Resources",
    "TookTooLong",
    "check_timeout",
    "describe",
    "end_all_programs",
    "is_async",
    "make_engine",
    "reason",
]
