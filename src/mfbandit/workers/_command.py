"""Evaluations by a command: any program that prints a reward."""

from __future__ import annotations

import contextlib
import difflib
import json
import math
import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from typing import Any

from mfbandit._checks import is_number
from mfbandit.errors import InvalidInput, StudyError
from mfbandit.formatting import shown
from mfbandit.model import Outcome, Pull
from mfbandit.workers._programs import Programs

__all__ = ["Command", "check_timeout"]

_FIELDS = ("arm", "fidelity", "seed", "index", "id", "cost", "block", "block_seed", "done", "folder")
_FIELD = re.compile(r"\{([A-Za-z_]+)\}")


def check_timeout(timeout: float | None, what: str = "timeout") -> None:
    """Refuse a timeout that is not a number of seconds."""
    if timeout is not None and not (is_number(timeout) and 0 < timeout < math.inf):
        raise InvalidInput(f"{what} must be a number > 0, got {timeout!r}")


class Command:
    """An evaluator that runs a command once per pull.

    The command gets the pull in place of ``{arm}``, ``{fidelity}``, ``{seed}``, ``{index}``, ``{id}``, ``{cost}``,
    ``{block}`` and ``{block_seed}`` in its arguments; if it has none of these, the arm, the fidelity and the seed
    follow its own arguments. They are also in its environment, as MFBANDIT_ARM, MFBANDIT_FIDELITY, MFBANDIT_SEED,
    MFBANDIT_BLOCK and so on; a problem without blocks leaves the block and its seed empty. No shell comes between, so
    names need no quoting, whatever is in them. The last line that it prints is the reward, or JSON with its cost and a
    note: ``{"reward": 0.7, "cost": 0.02, "note": "812 tokens"}``. Of what it prints only the last 64 kilobytes are
    kept. Another exit code than 0, another text than a number, and running for too long are failures.

    Parameters
    ----------
    command : str or list of str
        The program and its arguments; a text is split as a shell would.
    timeout : float, optional
        Seconds after which it is killed, with all it started. An evaluation that is repeated because it
        was slow is no longer a fair sample: fast ones are favoured.
    folder : str, optional
        Where it runs.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> said = {"seed": 7, "index": 0, "id": 0, "cost": 1.0, "block": 41, "block_seed": 9}
    >>> pull = SimpleNamespace(arm="A & B", fidelity="quick", **said)
    >>> Command("echo 0.{seed}")(pull)
    0.7
    >>> Command("echo good, {arm}")(pull)
    'good, A & B'
    >>> Command("echo {block}")(pull)
    41.0
    """

    def __init__(
        self,
        command: str | Sequence[str],
        timeout: float | None = None,
        folder: str | os.PathLike[str] | None = None,
    ) -> None:
        self.words = _words(command)
        check_timeout(timeout, "the timeout of a command")
        self.timeout, self.folder = timeout, folder
        self._name = shown(os.path.basename(self.words[0]))
        self._programs = Programs()

    def __call__(self, pull: Pull) -> float | str | Outcome:
        """Run the command for a pull; returns the reward that it prints."""
        said = {field: getattr(pull, field, None) for field in _FIELDS}
        values = {field: "" if value is None else str(value) for field, value in said.items()}
        try:
            ended = self._programs.run(
                pull.id,
                [_FIELD.sub(lambda field: values.get(field[1], field[0]), word) for word in self.words],
                self.timeout,
                cwd=self.folder,
                env={**os.environ, **{f"MFBANDIT_{field.upper()}": value for field, value in values.items()}},
            )
        except (OSError, ValueError) as error:
            what = getattr(error, "strerror", None) or error
            raise StudyError(f"{self._name} could not be started: {what}") from error
        except subprocess.TimeoutExpired:
            raise StudyError(f"{self._name} took longer than {self.timeout:g} s and was ended") from None
        return self._reward(ended.code, ended.output, ended.complaint)

    @property
    def asks_for_blocks(self) -> bool:
        """Whether its arguments have a place for the block of a pull."""
        return any(field.startswith("block") for word in self.words for field in _FIELD.findall(word))

    def cancel(self, pull: Pull | None = None) -> None:
        """End the evaluation of a pull, or all that run in this process."""
        self._programs.end(None if pull is None else pull.id)

    def within(self, timeout: float | None) -> Command:
        """The same command with at most this timeout; what runs is ended by both."""
        times = [limit for limit in (self.timeout, timeout) if limit is not None]
        made = Command(self.words, min(times, default=None), self.folder)
        made._programs = self._programs
        return made

    def _reward(self, code: int, output: str, complaint: str) -> float | str | Outcome:
        said = [line.strip() for line in output.splitlines() if line.strip()]
        if code:
            lines = [line for line in complaint.splitlines() if line.strip()]
            how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
            raise _Failed(f"{self._name} {how}" + (f": {shown(lines[-1].strip(), 200)}" if lines else ""), said)
        if not said:
            raise StudyError(f"{self._name} printed nothing; its last line must be a reward")
        try:
            return float(said[-1])
        except ValueError:
            # What is none is no failure that may pass: the study refuses it, and the run ends.
            return _outcome(said[-1]) or shown(said[-1], 100)

    def __getstate__(self) -> dict[str, Any]:
        """Another process gets the command, not what runs here."""
        return {"command": self.words, "timeout": self.timeout, "folder": self.folder}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


class _Failed(StudyError):
    """A command failed, and may have said as JSON what that cost all the same."""

    def __init__(self, why: str, printed: Sequence[str]) -> None:
        super().__init__(why)
        self.cost = None
        with contextlib.suppress(ValueError, AttributeError):
            self.cost = json.loads(printed[-1]).get("cost") if printed else None


def _outcome(line: str) -> Outcome | None:
    """What a line of JSON says of a reward and its cost; None if it says nothing of the kind."""
    try:
        found = json.loads(line)
    except ValueError:
        return None
    if not isinstance(found, dict) or "reward" not in found or not found.keys() <= {"reward", "cost", "note"}:
        return None
    return Outcome(**found)


def _words(command: str | Sequence[str]) -> list[str]:
    """The program and its arguments, with places for the pull."""
    try:
        words = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        raise InvalidInput(f"the command {command!r} cannot be split into words: {error}") from None
    if not words or not all(isinstance(word, str) for word in words) or not words[0]:
        raise InvalidInput(f"a command is a program and its arguments, got {command!r}")
    found = [field for word in words for field in _FIELD.findall(word)]
    for field in found:
        near = difflib.get_close_matches(field, _FIELDS, n=1, cutoff=0.75)
        if field not in _FIELDS and near:
            raise InvalidInput(f"the command has {{{field}}}; did you mean {{{near[0]}}}?")
    if not set(found) & set(_FIELDS):
        words += ["{arm}", "{fidelity}", "{seed}"]
    return words
