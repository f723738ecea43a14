"""For all tests: how many trials the statistical ones make, which files come first, and a garbage collector that rests.

Compiling leaves millions of objects behind that stay, and Python would look through them again and again. Programs that
tests start keep the bytecode of the package for each other, also where the environment says that none is written.
"""

import gc
import logging
import os
import signal
import sys
from collections.abc import Iterator

import pytest

import mfbandit as mf
from mfbandit.study.state import _planner
from mfbandit.testing import PostgresMissing, temporary_postgres

#: Files that take the longest, longest first: started last, one of them would keep a single worker busy at the end.
#: The first compiles what others then find on disk.
LONG = (
    "algorithms/test_mf_toptwo.py",
    "test_three_ways.py",
    "simulation/test_gpu.py",
    "test_blocks_guarantee.py",
    "test_paper.py",
    "storage/test_processes.py",
    "algorithms/test_tournament.py",
    "algorithms/test_rivals.py",
    "engines/test_ray.py",
    "search/test_sklearn.py",
    "algorithms/test_many_arms.py",
    "simulation/test_width.py",
    "study/test_disturbed.py",
    "cli/test_study_commands.py",
    "cli/test_interrupted_commands.py",
    "reproduce/test_reproduce.py",
    "confidence/test_pair.py",
    "algorithms/test_mf_commit.py",
    "algorithms/test_contract.py",
    "algorithms/test_halving.py",
    "algorithms/test_explore_stop.py",
)


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


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config):
    """One worker more than there are cores: tests of processes, clusters and leases wait for time to pass."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ:
        return None
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores + 1


def pytest_configure(config):
    _factor(config.getoption("--trials"))
    if hasattr(config.option, "loadscopereorder"):  # pytest-xdist would begin with the files of most tests
        config.option.loadscopereorder = False
    gc.set_threshold(50_000, 20, 20)
    # A shell starts what runs in the background so that it ignores interrupts, which tests send.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


def pytest_collection_modifyitems(items):
    order = {name: position for position, name in enumerate(LONG)}
    items.sort(key=lambda item: order.get(item.nodeid.split("::")[0].removeprefix("tests/"), len(LONG)))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """After the last test of a file, take what is left for what stays: no later collection looks at it."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def short_studies_stay_uncompiled():
    """A study compiles its policy beside its pulls as soon as that may pay. Most studies of tests are over before.

    To compile a policy takes up to ten seconds, in which a test that is over would leave others less of the machine.
    """
    _planner._COMPILE_AFTER_SECONDS = _planner._WAIT_AFTER_SECONDS = 2.0


@pytest.fixture(scope="session")
def compiled_plans() -> None:
    """The plans of the default policies as machine code, which a study takes once its planning takes milliseconds.

    For tests that play very many studies, or long ones.
    """
    for blocks in (None, "unlimited"):
        for width in (1, 2):
            study = mf.create_study(mf.Problem(2, [("only", 1.0)], blocks=blocks), width=width)
            study.ask(1)
            known = study.current()
            known.planner.compile(_planner.copy_state(known.state))


@pytest.fixture(autouse=True)
def warnings_are_heard():
    """Inspect sets the level of all loggers, and Optuna's storage disables them: ours goes on."""
    ours = logging.getLogger("mfbandit")
    ours.disabled = False
    ours.setLevel(logging.WARNING)


@pytest.fixture(scope="session")
def times(pytestconfig):
    """How many times the usual number of trials a statistical test makes: the option --trials."""
    return _factor(pytestconfig.getoption("--trials"))


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The URL of a real PostgreSQL server that lives as long as the tests."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    try:
        server = temporary_postgres()
        url = server.__enter__()
    except PostgresMissing as error:
        pytest.skip(str(error))
    try:
        yield url
    finally:
        server.__exit__(None, None, None)


@pytest.fixture
def postgres_database(postgres: str) -> str:
    """The URL of an empty database."""
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS fresh WITH (FORCE)")
        connection.execute("CREATE DATABASE fresh")
    return postgres.replace("/postgres?", "/fresh?")
