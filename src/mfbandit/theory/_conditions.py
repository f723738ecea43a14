"""Whether the theorems on LUCB apply: Assumption 3.3 and the side conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mfbandit.errors import InvalidInput
from mfbandit.instances import Instance
from mfbandit.theory._identification import conservative_fidelity, gaps, optimal_fidelity
from mfbandit.theory._scale import by_name

__all__ = ["Assumptions", "Explore", "assumptions", "wrong_prior"]

#: Differences of decimal fractions are off by rounding.
_ROUNDING = 1e-12

Explore: TypeAlias = Literal["a", "b", "c"]


@dataclass(frozen=True)
class Assumptions:
    """What Theorem 3.4 (or B.1) asks of an instance, and whether it is so.

    Attributes
    ----------
    assumption_3_3 : bool
        Assumption 3.3 as printed: no arm but the best may be better than the second-best, by its
        mean and bias at its optimal fidelity m*.
    second_arm_is_good : bool
        The same where the proof uses it: for A and B at m* and at the fidelity that the prior leads
        to, for C at the fidelity that it ends at.
    gaps_are_positive : bool
        The true gap of every arm is positive at the fidelity that the procedure settles on.
    prior_is_valid : bool
        ``top`` is at least the best mean, ``second`` at most the second-best.
    L_is_large : bool
        L is at least 4KM.
    biases_hold : bool
        No mean is further from the truth than its bias bound.
    best_arm_is_clear : bool
        Not in the theorem, but used by its proof (step 3): at its fidelity the best arm's mean
        less its bias lies above the threshold (mu_1 + mu_2)/2.
    L : float
        The L that was checked.
    sentences : tuple of str
        One for everything that does not hold.
    printed : tuple of str
        One for every arm that breaks Assumption 3.3 as printed.
    commitments : tuple of str
        For Explore-B, one for every fidelity that Lemma C.3 lets it commit to although the true gap
        there is not positive. The theorem does not ask for this, but a run that commits so never
        stops. Empty for A and C.
    """

    second_arm_is_good: bool
    gaps_are_positive: bool
    prior_is_valid: bool
    L_is_large: bool
    biases_hold: bool
    best_arm_is_clear: bool
    L: float
    sentences: tuple[str, ...]
    assumption_3_3: bool
    printed: tuple[str, ...]
    commitments: tuple[str, ...] = ()

    @property
    def commitments_are_safe(self) -> bool:
        """Whether every fidelity that Explore-B may commit to can tell its arm."""
        return not self.commitments

    @property
    def applies(self) -> bool:
        """Whether the bound can be evaluated (biases aside), with 3.3 where the proof uses it."""
        return self.second_arm_is_good and self.gaps_are_positive and self.prior_is_valid and self.L_is_large

    @property
    def holds(self) -> bool:
        """Whether everything the theorem asks for is so."""
        return self.applies and self.biases_hold


@by_name
def assumptions(
    instance: Instance,
    top: float | None = None,
    second: float | None = None,
    L: float | None = None,
    explore: Explore = "a",
) -> Assumptions:
    """Check what the upper bounds on LUCB assume.

    Assumption 3.3 is printed for the optimal fidelity m* of each arm, in Theorem B.1 too;
    `assumption_3_3` says whether it holds so. The proofs use it elsewhere: at the fidelity that the
    prior leads to, and for Explore-C at the one it ends at. `second_arm_is_good` and `applies` go
    by these.

    Parameters
    ----------
    instance : Instance
        The instance.
    top, second : float, optional
        Prior knowledge of Explore-A and -B; the true means by default.
    L : float, optional
        The L of the confidence radius, 4KM by default.
    explore : "a", "b" or "c"
        The explore procedure; A and B assume the same, but only B commits.

    Returns
    -------
    Assumptions

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> found = assumptions(load_instance("loose-prior"), top=1, second=0.5)
    >>> found.applies
    False
    >>> found.sentences[1]
    "arm 'arm 0' is led to fidelity 'fidelity 0', where its true gap is -0.03; it must be positive"
    """
    if explore not in ("a", "b", "c"):
        raise InvalidInput(f"explore is {explore!r}; it must be 'a', 'b' or 'c'")
    problem = instance.problem
    required = 4.0 * problem.n_arms * problem.n_fidelities
    level = required if L is None else float(L)
    if explore == "c":
        reached = conservative_fidelity(instance)
        checked = [reached]
        prior: list[str] = []
    else:
        reached = optimal_fidelity(instance, top, second)
        checked = [optimal_fidelity(instance), reached]
        prior = wrong_prior(instance, top, second)
    good = _better_than_second(instance, checked)
    printed = _better_than_second(instance, [optimal_fidelity(instance)])
    positive = _without_gap(instance, reached)
    large = [] if level >= required else [f"L is {level}; it must be at least 4KM = {required:g}"]
    biases = [violation.sentence for violation in instance.violations]
    clear = _unclear_best(instance, int(reached[instance.best]))
    return Assumptions(
        second_arm_is_good=not good,
        gaps_are_positive=not positive,
        prior_is_valid=not prior,
        L_is_large=not large,
        biases_hold=not biases,
        best_arm_is_clear=not clear,
        L=level,
        sentences=(*good, *positive, *prior, *large, *biases, *clear),
        assumption_3_3=not printed,
        printed=tuple(printed),
        commitments=tuple(_useless_commitments(instance, top, second)) if explore == "b" else (),
    )


def _second(instance: Instance) -> float:
    return float(np.delete(instance.truth, instance.best).max(initial=-np.inf))


def _better_than_second(instance: Instance, checked: list[NDArray[np.intp]]) -> list[str]:
    """Sentences on the arms that break Assumption 3.3 at one of the checked fidelities."""
    problem = instance.problem
    second = _second(instance)
    upper = instance.means + problem.biases
    found = []
    for arm in range(problem.n_arms):
        for m in sorted({int(columns[arm]) for columns in checked} - {-1}):
            # A mean at the bound is admitted; only rounding may put it above.
            if arm != instance.best and upper[arm, m] > second + 1e-12 * max(1.0, abs(second)):
                found.append(
                    f"Assumption 3.3 wants mu + zeta <= the second-best mean, {second:.6g}; "
                    f"arm {problem.arms[arm]!r} at fidelity {problem.fidelities[m].name!r} has {upper[arm, m]:.6g}"
                )
    return found


def _without_gap(instance: Instance, reached: NDArray[np.intp]) -> list[str]:
    """Sentences on the arms whose true gap is not positive where the procedure leads."""
    problem = instance.problem
    true_gaps = gaps(instance)
    found = []
    for arm, m in enumerate(reached):
        if m < 0:
            found.append(f"arm {problem.arms[arm]!r} has no fidelity with a gap above twice its bias")
        elif not true_gaps[arm, m] > 0.0:
            found.append(
                f"arm {problem.arms[arm]!r} is led to fidelity {problem.fidelities[m].name!r}, "
                f"where its true gap is {true_gaps[arm, m]:.6g}; it must be positive"
            )
    return found


def _useless_commitments(instance: Instance, top: float | None, second: float | None) -> list[str]:
    """Sentences on fidelities that look half as efficient as the best one by the prior, and tell nothing."""
    problem = instance.problem
    true_gaps = gaps(instance)
    seen = gaps(instance, top, second) / np.sqrt(problem.costs)
    likely = (seen > 0.0) & (2.0 * seen >= seen.max(axis=1, keepdims=True))
    return [
        f"Explore-B may commit arm {problem.arms[arm]!r} to fidelity {problem.fidelities[m].name!r}, which by the "
        f"prior is at least half as efficient as the best one; its true gap there is {true_gaps[arm, m]:.6g}, so the "
        "run need not stop"
        for arm, m in np.argwhere(likely & (true_gaps <= _ROUNDING))
    ]


def wrong_prior(instance: Instance, top: float | None, second: float | None) -> list[str]:
    """Sentences on what Explore-A and -B are told that is not so: the paper's guarantee needs it.

    Examples
    --------
    >>> from mfbandit.instances import load_instance
    >>> wrong_prior(load_instance("figure-1a"), 0.65, 0.6)
    ['top is 0.65; it must be at least the best mean, 0.9']
    """
    found = []
    best = float(instance.truth[instance.best])
    if top is not None and top < best:
        found.append(f"top is {top}; it must be at least the best mean, {best:.6g}")
    if second is not None and second > _second(instance):
        found.append(f"second is {second}; it must be at most the second-best mean, {_second(instance):.6g}")
    return found


def _unclear_best(instance: Instance, m: int) -> list[str]:
    """Say so if the best arm cannot pass the threshold of the proof at its fidelity."""
    if m < 0:
        return []
    best, problem = instance.best, instance.problem
    lower = float(instance.means[best, m] - problem.biases[best, m])
    threshold = 0.5 * (float(instance.truth[best]) + _second(instance))
    if lower > threshold:
        return []
    return [
        f"at its fidelity {problem.fidelities[m].name!r} the best arm's lower end {lower:.6g} is "
        f"not above the threshold {threshold:.6g} of the proof"
    ]
