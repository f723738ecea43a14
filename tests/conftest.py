"""An option for all tests: how many trials the statistical ones make."""

import pytest


def _factor(text):
    if not text.isdecimal() or int(text) < 1:
        raise pytest.UsageError(f"--trials must be a whole number >= 1, got {text!r}")
    return int(text)


def pytest_addoption(parser):
    parser.addoption(
        "--trials",
        default="1",
        metavar="N",
        help="make N times as many trials in every statistical test (default: 1); seeds of the first are the same",
    )


def pytest_configure(config):
    _factor(config.getoption("--trials"))


@pytest.fixture(scope="session")
def times(pytestconfig):
    """How many times the usual number of trials a statistical test makes: the option --trials."""
    return _factor(pytestconfig.getoption("--trials"))
