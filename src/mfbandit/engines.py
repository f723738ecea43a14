"""Running the evaluations of studies: threads, processes, asyncio, Ray, any executor, any command."""

from mfbandit.study.api import allocate, identify
from mfbandit.study.run import optimize
from mfbandit.workers import Batches, Command, Ray

__all__ = ["Batches", "Command", "Ray", "allocate", "identify", "optimize"]
