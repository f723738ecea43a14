"""How a large study went, worked out by a process of its own, so that nobody waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
from typing import Any

from mfbandit.serve.web._answers import whole_text
from mfbandit.study import load_study
from mfbandit.study.report import moments

__all__ = ["main", "moments_elsewhere"]

_logger = logging.getLogger("mfbandit")

_PROGRAM = "from mfbandit.serve.live._moments_program import main; main()"
#: How much less important it is than everything else.
_NICENESS = 10


async def moments_elsewhere(url: str, name: str) -> list[dict[str, Any]]:
    """Moments of a study, by another process; none if that fails."""
    program = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _PROGRAM,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        # Not by an argument: all users of the machine see those, and a URL may hold a password.
        written, _ = await program.communicate(json.dumps([url, name]).encode())
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            program.kill()
        raise
    if program.returncode:
        _logger.warning("how study %r went could not be worked out", name)
        return []
    found: list[dict[str, Any]] = json.loads(written)
    return found


def main() -> None:
    """Read a URL and a name from the standard input, and write the moments of that study to the standard output."""
    os.nice(_NICENESS)
    url, name = json.load(sys.stdin)
    with load_study(url, name) as study:
        sys.stdout.write(whole_text(moments(study)))
