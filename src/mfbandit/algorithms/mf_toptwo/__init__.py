"""The default policy: sampling rule, the arms in the race, what it remembers."""

from mfbandit.algorithms.mf_toptwo._memory import TopTwoMemory
from mfbandit.algorithms.mf_toptwo._mf_toptwo import MFTopTwo

__all__ = ["MFTopTwo", "TopTwoMemory"]
