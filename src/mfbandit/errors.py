"""Every error and warning that mfbandit raises on purpose.

::

    MfbanditError                      catch this to catch them all
    ├── InvalidInput (ValueError)      a value that breaks a rule; the message names both
    │   ├── ProblemError               arms, fidelities, costs, biases, the reward kind
    │   ├── InstanceError              means, reward laws, instance files
    │   ├── PolicyError                an unknown policy or a wrong option of one
    │   └── RewardError                a reward that is NaN, infinite or out of its range
    ├── MissingExtra (ImportError)     an optional part is not installed; names the extra
    ├── OutputError (OSError)          a file could not be written, and none was left behind
    └── StudyError                     a study cannot do what it was asked
        └── StorageError               the storage of a study failed or disagrees

    UserWarning
    └── ModelWarning                   what was declared contradicts itself, or costs more than it need

Examples
--------
>>> from mfbandit.errors import InvalidInput
>>> from mfbandit.model import Fidelity
>>> try:
...     Fidelity("human", cost=-1.0)
... except InvalidInput as error:
...     print(error)
the cost of fidelity 'human' is -1.0; a cost must be a positive finite number
"""

__all__ = [
    "InstanceError",
    "InvalidInput",
    "MfbanditError",
    "MissingExtra",
    "ModelWarning",
    "OutputError",
    "PolicyError",
    "ProblemError",
    "RewardError",
    "StorageError",
    "StudyError",
]


class MfbanditError(Exception):
    """Root of all errors of this package."""


class InvalidInput(MfbanditError, ValueError):
    """A value that breaks a rule; the message names the value and the rule."""


class ProblemError(InvalidInput):
    """Wrong arms, fidelities, costs, biases or reward kind."""


class InstanceError(InvalidInput):
    """Wrong means, reward law or instance file."""


class PolicyError(InvalidInput):
    """An unknown policy, or a wrong option of a known one."""


class RewardError(InvalidInput):
    """A reward that is not a finite number inside its declared range."""


class MissingExtra(MfbanditError, ImportError):
    """An optional part is not installed; the message names the extra to install."""


class OutputError(MfbanditError, OSError):
    """A file could not be written; nothing was left behind."""


class StudyError(MfbanditError):
    """A study cannot do what it was asked."""


class StorageError(StudyError):
    """The storage of a study failed, or what it holds does not agree with the study."""


class ModelWarning(UserWarning):
    """What was declared contradicts itself (a broken bias bound) or costs more than it need; it was accepted."""
