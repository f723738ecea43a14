"""Confidence processes, one file each, as kernels that plug into policies by name.

A process gives bounds by three kernels: ``level(problem, log_factor, time)`` (what the radius has to
pay at a time), and the confidence bounds of one stream of rewards, either ``above`` and ``below``, from
its statistics, or ``high`` and ``low``, from a state that has what they need at hand. All but the paper's
radius are e-processes and give ``log_e_above`` and ``log_e_below`` too: the log e-value against
"mean <= q" and against "mean >= q". An e-value starts at 1 and, where the null is true, ever reaches
1/alpha with probability at most alpha, whatever chooses the pulls and whenever one looks.
"""

from mfbandit.confidence.processes._bernstein import bernstein_reach
from mfbandit.confidence.processes._by_name import BOUNDS, bound_kernels

__all__ = ["BOUNDS", "bernstein_reach", "bound_kernels"]
