"""What a user declares: the problem, its fidelities, the kind of rewards, and the pull that is asked for.

What stands here is for other rooms; modules with an underscore are private to this one, which imports only from
the rooms above it in CONTRIBUTING.md.
"""

from mfbandit.model._block_declarations import counting_alike, counts_alike
from mfbandit.model._fidelity import Fidelity, PerArm
from mfbandit.model._outcome import Outcome
from mfbandit.model._problem import Problem
from mfbandit.model._problem_difference import first_difference
from mfbandit.model._pull import Pull, make_pull
from mfbandit.model._question_errors import wrong_answers
from mfbandit.model._questions import BetterThan, CheapestWithin, Question, TopM, read_question
from mfbandit.model._reward_kinds import Bernoulli, Bounded, Gaussian, RewardKind, as_reward_kind

__all__ = [
    "Bernoulli",
    "BetterThan",
    "Bounded",
    "CheapestWithin",
    "Fidelity",
    "Gaussian",
    "Outcome",
    "PerArm",
    "Problem",
    "Pull",
    "Question",
    "RewardKind",
    "TopM",
    "as_reward_kind",
    "counting_alike",
    "counts_alike",
    "first_difference",
    "make_pull",
    "read_question",
    "wrong_answers",
]
