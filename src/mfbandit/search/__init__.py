"""The parts of `mfbandit.sklearn`: candidates, rungs, splits, single measurements and pilots.

All of them need scikit-learn, which `mfbandit.sklearn` checks for.

What stands here is for other rooms; modules with an underscore are private to this one, which imports only from
the rooms above it in CONTRIBUTING.md.
"""

from mfbandit.search._pickling import thawed, without_study
from mfbandit.search._search import SearchRun
from mfbandit.search._splits import subset

__all__ = ["SearchRun", "subset", "thawed", "without_study"]
