"""The command line: ``mfbandit COMMAND``.

Results go to stdout, everything else to stderr. Bad input is answered by one line and exit code 2, a
run that ended without an answer has exit code 1, an interrupted one 130.

To add a command, write a function with typer annotations in a module of this package and one line in
:mod:`mfbandit.cli.commands`.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from typing import Any

import typer

from mfbandit.cli._app import application
from mfbandit.cli._output import complain, one_line_warnings
from mfbandit.errors import MfbanditError

__all__ = ["main"]

#: Exit codes beside 0.
NO_ANSWER, BAD_INPUT, INTERRUPTED = 1, 2, 130
#: What writing to a full disk or past a quota says; files of our own say it as an OutputError.
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name.

    Parameters
    ----------
    arguments : sequence of str, optional
        What stands after ``mfbandit``; that of the process by default.

    Returns
    -------
    int
        The exit code.

    Examples
    --------
    >>> main(["--version"])  # doctest: +ELLIPSIS
    mfbandit ...
    0
    """
    with one_line_warnings():
        try:
            outcome = application()(args=arguments, prog_name="mfbandit", standalone_mode=False)
            sys.stdout.flush()
        except MfbanditError as error:
            complain(str(error))
            return BAD_INPUT
        except (KeyboardInterrupt, typer.Abort):
            outcome = INTERRUPTED
        except BrokenPipeError:
            return _reader_gone()
        except OSError as error:
            if error.errno not in _FULL:
                raise
            complain(f"the output cannot be written: {error.strerror}")
            _reader_gone()
            return BAD_INPUT
        except SystemExit as ending:
            # So typer ends when the reader of a pipe has left.
            if not isinstance(ending.__context__, BrokenPipeError):
                raise
            return _reader_gone()
        except Exception as error:
            # typer keeps its usage errors private; all of them can format themselves.
            message = getattr(error, "format_message", None)
            if message is None:
                raise
            complain(_usage(str(message()), getattr(error, "ctx", None)))
            return BAD_INPUT
    if outcome == INTERRUPTED:
        complain("interrupted")
    return outcome if isinstance(outcome, int) else 0


def _usage(message: str, context: Any) -> str:
    """Put a usage error into one line that says where to read on."""
    command = getattr(context, "command_path", "mfbandit")
    ending = "" if message.endswith((".", "?")) else "."
    return f"{message}{ending} Try '{command} --help'."


def _reader_gone() -> int:
    """End quietly when the reader of a pipe has left (``mfbandit instances | head -1``)."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
