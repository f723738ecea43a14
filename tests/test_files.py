"""Files appear when they are complete, or not at all."""

import errno
import os
import stat
from pathlib import Path

import pytest

from mfbandit.errors import MfbanditError, OutputError
from mfbandit.files import complete_file


def test_nothing_is_there_before_all_of_it_is(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    with complete_file(target) as file:
        file.write("ünï\n")
        assert not target.exists()
    assert target.read_bytes() == "ünï\n".encode()
    assert os.listdir(tmp_path) == ["page.html"]


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt(), ValueError()])
def test_what_goes_wrong_leaves_the_old_file_and_no_other(tmp_path: Path, error: BaseException) -> None:
    target = tmp_path / "page.html"
    target.write_text("old")
    with pytest.raises(BaseException) as caught, complete_file(target) as file:  # noqa: PT011, PT012
        file.write("new")
        raise error
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["page.html"]
    if isinstance(error, OSError):
        assert isinstance(caught.value, OutputError)
        assert str(caught.value) == f"{str(target)!r} cannot be written: No space left on device"


def test_a_disk_that_is_found_full_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(number: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left"), complete_file(tmp_path / "x") as file:
        file.write("x")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_devices_are_written_to_and_stay(tmp_path: Path) -> None:
    before = os.stat("/dev/full").st_rdev
    with pytest.raises(OutputError, match="'/dev/full' cannot be written: No space left on device"):  # noqa: SIM117
        with complete_file("/dev/full") as file:
            file.write("x" * 100_000)
    with complete_file("/dev/null", binary=True) as file:
        file.write(b"x")
    assert os.stat("/dev/full").st_rdev == before
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_places_that_cannot_be_written_to_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "nowhere" / "x", tmp_path / "folder"):
        with pytest.raises(MfbanditError, match="cannot be written: ") as caught, complete_file(path) as file:
            file.write("x")
        assert isinstance(caught.value, OSError)
    assert os.listdir(tmp_path) == ["folder"]
    assert os.listdir(tmp_path / "folder") == []


def test_links_modes_and_long_names_stay(tmp_path: Path) -> None:
    real, link, long = tmp_path / "real", tmp_path / "link", tmp_path / ("x" * 250)
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    for path in (link, long):
        with complete_file(path) as file:
            file.write("new")
    assert link.is_symlink()
    assert real.read_text() == long.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
