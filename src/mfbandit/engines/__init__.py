"""Running the evaluations of studies: threads, processes, asyncio, Ray, any executor, any command."""

from mfbandit.engines.command import Command
from mfbandit.engines.engine import Ray
from mfbandit.engines.identify import allocate, identify
from mfbandit.engines.loop import optimize

__all__ = ["Command", "Ray", "allocate", "identify", "optimize"]
