"""Commands as evaluators: what they get, and every way in which they can go wrong."""

import os
import pickle
import threading
import time
import tracemalloc
from types import SimpleNamespace

import pytest

from mfbandit.engines import Command
from mfbandit.errors import InvalidInput, RewardError, StudyError

NASTY = 'it\'s "so"; $(rm -rf x) <b>\nnew line & `ls` * {seed}'
PULL = SimpleNamespace(arm=NASTY, fidelity="quick look", seed=41, index=3, id=9, cost=0.5, block=17, block_seed=23)


def shell(script, **options):
    return Command(["sh", "-c", script, "sh", "{arm}", "{fidelity}", "{seed}"], **options)


def test_arguments_and_environment_carry_the_pull_whatever_its_names(tmp_path):
    script = (
        'printf "%s|" "$1" "$2" "$3" "$MFBANDIT_ARM" "$MFBANDIT_FIDELITY" "$MFBANDIT_SEED" "$MFBANDIT_INDEX" '
        '"$MFBANDIT_ID" "$MFBANDIT_COST" > seen; echo thinking; echo; echo " 0.25 "'
    )
    assert shell(script, folder=tmp_path)(PULL) == 0.25
    expected = [NASTY, "quick look", "41"] * 2 + ["3", "9", "0.5", ""]
    assert (tmp_path / "seen").read_text().split("|") == expected


def test_a_command_finds_its_block():
    assert Command("echo {block}")(PULL) == 17.0
    assert Command("echo 0.{block_seed}")(PULL) == 0.23
    script = 'echo "0.$MFBANDIT_BLOCK$MFBANDIT_BLOCK_SEED"'
    assert shell(script)(PULL) == 0.1723
    assert Command("echo {block}").asks_for_blocks
    assert not Command("echo {arm}").asks_for_blocks


def test_there_is_no_block_where_there_are_none(monkeypatch):
    monkeypatch.setenv("MFBANDIT_BLOCK", "5")
    pull = SimpleNamespace(**{**vars(PULL), "block": None, "block_seed": None})
    assert shell('echo "0.25$MFBANDIT_BLOCK$MFBANDIT_BLOCK_SEED"')(pull) == 0.25


def test_a_command_without_places_gets_three_arguments():
    assert Command("echo").words == ["echo", "{arm}", "{fidelity}", "{seed}"]
    assert Command("sh -c 'echo $3' sh")(PULL) == 41.0
    assert Command("sh -c 'echo $#; echo {index}' sh")(PULL) == 3.0


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("true", "sh printed nothing; its last line must be a reward"),
        ("echo; echo ' '", "sh printed nothing"),
        ("echo 0.5; exit 3", "sh ended with exit code 3$"),
        ("echo first >&2; echo 'no key' >&2; exit 1", "exit code 1: no key"),
        ("kill -9 $$", "sh was ended by signal 9"),
    ],
)
def test_what_is_no_reward_is_a_failure(script, message):
    with pytest.raises((StudyError, RewardError), match=message):
        shell(script)(PULL)


@pytest.mark.parametrize(
    ("script", "line"),
    [
        ("echo 0.5; echo 'very good'", "very good"),
        ("echo 0.5 0.6", "0.5 0.6"),
        ("printf '\\377\\033[31m'", "\ufffd\\x1b[31m"),
    ],
)
def test_a_line_that_is_no_number_is_handed_on_to_be_refused(script, line):
    assert shell(script)(PULL) == line


def test_a_program_that_is_not_there():
    with pytest.raises(StudyError, match=r"no-such-program could not be started: No such file"):
        Command("./no-such-program")(PULL)


@pytest.mark.parametrize(
    "script",
    [
        "sleep 60 & echo $! > child; wait",
        "sleep 60 & echo $! > child; echo 0.5",  # it has exited itself
        "(sleep 60 & echo $! > child; wait) & wait",
        "set -m; sleep 60 & echo $! > child; wait",  # a process group of its own
        "setsid sh -c 'echo $$ > child; exec sleep 60' & wait",  # a session of its own
    ],
)
def test_a_slow_command_is_killed_with_all_it_started(tmp_path, script):
    command = shell(script, timeout=0.5, folder=tmp_path)
    began = time.monotonic()
    with pytest.raises(StudyError, match=r"sh took longer than 0\.5 s and was ended"):
        command(PULL)
    assert time.monotonic() - began < 5
    child = int((tmp_path / "child").read_text())
    deadline = time.monotonic() + 5
    while _runs(child):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def _runs(process):
    try:
        with open(f"/proc/{process}/stat") as status:
            return status.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
    except ProcessLookupError:
        return False


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks at /proc")
def test_processes_can_be_seen():
    assert _runs(os.getpid())


def test_of_what_a_command_prints_only_the_last_is_kept():
    script = "head -c 50000000 /dev/zero | tr '\\0' '\\n'; echo no >&2; head -c 50000000 /dev/zero >&2; echo 0.25"
    tracemalloc.start()
    assert shell(script)(PULL) == 0.25
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 2_000_000


def test_half_a_line_is_no_reward():
    assert "1111" in str(shell("head -c 100000 /dev/zero | tr '\\0' 1")(PULL))
    assert not isinstance(shell("head -c 100000 /dev/zero | tr '\\0' 1")(PULL), float)
    assert shell("head -c 100000 /dev/zero | tr '\\0' 1; echo; echo 0.5")(PULL) == 0.5


def test_one_evaluation_of_several_can_be_ended(tmp_path):
    command = shell("echo $$ > child; exec sleep 60", folder=tmp_path)
    other = SimpleNamespace(**{**vars(PULL), "id": 10})
    failed = []

    def evaluate():
        try:
            command(PULL)
        except StudyError as error:
            failed.append(str(error))

    thread = threading.Thread(target=evaluate)
    thread.start()
    while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text():
        time.sleep(0.01)
    command.within(5.0).cancel(other)
    assert thread.is_alive()
    command.within(5.0).cancel(PULL)
    thread.join()
    assert failed == ["sh was ended by signal 9"]


def test_it_can_be_sent_to_other_processes(tmp_path):
    command = Command("echo {seed}", timeout=5.0, folder=tmp_path)
    again = pickle.loads(pickle.dumps(command))
    assert (again.words, again.timeout, again.folder) == (command.words, 5.0, tmp_path)
    assert again(PULL) == 41.0


@pytest.mark.parametrize(
    ("command", "options", "message"),
    [
        ("", {}, "a command is a program and its arguments, got ''"),
        (["echo", 3], {}, "a command is a program"),
        ("echo 'x", {}, "cannot be split into words: No closing quotation"),
        ("echo {fidelty}", {}, r"the command has \{fidelty\}; did you mean \{fidelity\}\?"),
        ("echo", {"timeout": 0}, "timeout of a command must be a number > 0, got 0"),
        ("echo", {"timeout": "1s"}, "timeout of a command must be"),
    ],
)
def test_bad_commands_are_refused(command, options, message):
    with pytest.raises(InvalidInput, match=message):
        Command(command, **options)


def test_other_braces_are_left_alone():
    assert Command(["awk", "BEGIN {print 0.5; x = {arm}}"]).words == ["awk", "BEGIN {print 0.5; x = {arm}}"]
    assert Command("echo {x}").words == ["echo", "{x}", "{arm}", "{fidelity}", "{seed}"]
