"""Who works on a pull: the process that has a lease, and whether it is still alive.

A process that was killed cannot give its pulls back. Whoever runs on the same machine can see that it is gone,
and need not wait until its leases are over. A process is known by its number and the time it started, since
numbers are used again; a machine by what Linux draws at every boot, together with the space that process
numbers live in, since containers have their own. Where any of it is not known, nobody is taken for dead.
"""

from __future__ import annotations

import os
import time

__all__ = ["Owners", "this_process"]

#: For how long it is taken for granted that a process lives on.
_TRUSTED_SECONDS = 0.25
#: The parts of an owner's name: host, machine, number, start, and whatever the owner adds.
_PARTS = 5


def this_process(adds: str) -> str:
    """How leases call this process; empty where it could not be told from others."""
    machine, number = _machine(), os.getpid()
    started = _started(number)
    if not machine or not started:
        return ""
    host = "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in os.uname().nodename[:40])
    return f"{host}/{machine}/{number}/{started}/{adds}"


class Owners:
    """Remembers for a moment which processes are alive, since finding out takes longer than all the rest."""

    def __init__(self) -> None:
        self._alive: dict[str, float] = {}

    def is_gone(self, owner: str) -> bool:
        """Whether the process of this name has ended, for all that can be known here."""
        now = time.monotonic()
        if now < self._alive.get(owner, 0.0):
            return False
        if _is_gone(owner):
            return True
        self._alive[owner] = now + _TRUSTED_SECONDS
        return False


def _is_gone(owner: str) -> bool:
    parts = owner.split("/")
    if len(parts) != _PARTS or not parts[2].isdecimal() or parts[1] != _machine():
        return False
    number = int(parts[2])
    if number < 1:
        return False
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        pass  # it is there, and somebody else's
    started = _started(number)
    return bool(started) and started != parts[3]


def _machine() -> str:
    """Names this machine since its last boot, and the space of its process numbers; empty if that is not known."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip().replace("-", "")
        space = os.readlink("/proc/self/ns/pid").strip("pid:[]")
    except (OSError, ValueError):
        return ""
    return f"{boot[:12]}.{space}" if boot and space else ""


def _started(number: int) -> str:
    """When a process started, in ticks since the boot; "ended" if only its exit code is left, empty if not known."""
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as file:
            # The name of the program, in brackets, may hold anything.
            fields = file.read().rpartition(")")[2].split()
        return "ended" if fields[0] in "ZX" else fields[19]
    except (OSError, IndexError):
        return ""
