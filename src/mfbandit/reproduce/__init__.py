"""The paper's figures and tables, computed again: pictures, data, and a page that shows them.

Each study is a module with a :class:`~mfbandit.reproduce._experiment.Experiment`; adding one is one line in
`EXPERIMENTS`. A study returns a :class:`~mfbandit.reproduce.Section`, which is kept as JSON in the
folder, so that studies may be done one by one and the page shows all that are there.

What stands here is for other rooms; modules with an underscore are private to this one, which imports only from
the rooms above it in CONTRIBUTING.md.
"""

from mfbandit.reproduce._reproduce import EXPERIMENTS, reproduce
from mfbandit.reproduce._section import Section

__all__ = ["EXPERIMENTS", "Section", "reproduce"]
