"""The error tree: what catches what."""

import pickle

import pytest

from mfbandit import errors


@pytest.mark.parametrize("name", [name for name in errors.__all__ if name != "ModelWarning"])
def test_every_error_is_caught_by_the_root_and_drawn_in_the_docstring(name: str) -> None:
    error = getattr(errors, name)
    assert issubclass(error, errors.MfbanditError)
    assert errors.__doc__ is not None
    assert name in errors.__doc__
    assert str(pickle.loads(pickle.dumps(error("the reason")))) == "the reason"


def test_errors_are_also_the_builtin_ones_people_expect() -> None:
    assert issubclass(errors.InvalidInput, ValueError)
    assert issubclass(errors.MissingExtra, ImportError)
    assert issubclass(errors.StorageError, errors.StudyError)
    assert issubclass(errors.ModelWarning, UserWarning)
    for error in (
        errors.ProblemError,
        errors.InstanceError,
        errors.PolicyError,
        errors.RewardError,
    ):
        assert issubclass(error, errors.InvalidInput)
