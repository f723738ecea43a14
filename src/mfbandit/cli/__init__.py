"""The command line: ``mfbandit COMMAND``.

Results go to stdout, everything else to stderr. Bad input is answered by one line and exit code 2, a
run that ended without an answer has exit code 1, an interrupted one 130.

To add a command, write a function with typer annotations in a module of this package and one line in
:mod:`mfbandit.cli.commands`.

What stands here is for other rooms; modules with an underscore are private to this one, which imports only from
the rooms above it in CONTRIBUTING.md.
"""

from mfbandit.cli._main import main

__all__ = ["main"]
