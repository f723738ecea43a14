"""Files of grades: what was paid for is kept by content, survives crashes, and is not lost to other processes."""

import json
import multiprocessing
import random

import numpy as np
import pytest

from mfbandit.errors import InvalidInput, StorageError
from mfbandit.judges import Grader, Judging
from mfbandit.judges.kept import GradeCache, Subject
from mfbandit.study import create_study


class Opaque:
    def __repr__(self):
        return "Opaque()"


LONG = np.zeros(5000)
OTHER = LONG.copy()
OTHER[2500] = 1.0


def test_things_that_cannot_be_told_apart_are_refused(tmp_path):
    judge = Grader("judge", lambda answer, item: 0.5, price=1)
    sentence = r"item 1 is Opaque\(\), whose content cannot be told: a cache file keeps grades of texts"
    with pytest.raises(InvalidInput, match=sentence):
        Judging(["a"], ["x", Opaque()], [judge], cache=tmp_path / "grades.jsonl")
    with pytest.raises(InvalidInput, match="candidate 'a' is Opaque"):
        Judging({"a": Opaque()}, ["x"], [judge], cache=tmp_path / "grades.jsonl")
    masked = np.ma.masked_array([1.0, 2.0], [True, False])
    with pytest.raises(InvalidInput, match="item 0 is masked_array"):
        Judging(["a"], [masked], [judge], cache=tmp_path / "grades.jsonl")
    nested = []
    nested.append(nested)
    with pytest.raises(InvalidInput, match="item 0 is nested more than 100 deep"):
        Judging(["a"], [nested], [judge], cache=tmp_path / "grades.jsonl")
    assert not (tmp_path / "grades.jsonl").exists()


def test_without_a_file_each_thing_has_its_own_grades():
    items = [Opaque(), Opaque(), LONG, OTHER]
    judging = Judging({"a": Opaque(), "b": Opaque()}, items, [Grader("judge", lambda a, i: float(i is OTHER), price=1)])
    pulls = create_study(judging.problem, policy="lucb-top:batch=40,independent=true").ask(80)
    for pull in pulls:
        assert judging.grade(pull) == float(items[judging.item_of(pull)] is OTHER)
    assert judging.bill().graders[0].paid == 8


def cache(path, **settings):
    return GradeCache(path, {"a": "x", "b": "y"}, ["one", "two"], **settings)


def test_a_last_line_that_was_cut_off_is_mended(tmp_path, caplog):
    file = tmp_path / "grades.jsonl"
    first = cache(file)
    first.keep_grade(Subject("a", 0), "judge", 0.25, study="s", price=1.0)
    first.keep_grade(Subject("a", 1), "judge", 0.75, study="s", price=1.0)
    whole = file.read_bytes()
    start = whole.index(b"\n") + 1
    for cut in range(start, len(whole)):
        file.write_bytes(whole[:cut])
        again = cache(file)
        kept = 0.75 if cut == len(whole) - 1 else None
        assert (again.grade(Subject("a", 0), "judge"), again.grade(Subject("a", 1), "judge")) == (0.25, kept)
        again.keep_grade(Subject("b", 0), "judge", 0.5, study="s", price=1.0)
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert [line["score"] for line in lines] == ([0.25, 0.75, 0.5] if kept else [0.25, 0.5])
    assert "was cut off and is taken away" in caplog.text


def test_a_line_cut_off_while_the_file_is_used_is_mended(tmp_path):
    file = tmp_path / "grades.jsonl"
    one, other = cache(file), cache(file)
    one.keep_grade(Subject("a", 0), "judge", 0.25, study="s", price=1.0)
    with open(file, "ab") as half:  # a process that died while it wrote
        half.write(b'{"candidate": "12')
    assert other.grade(Subject("a", 0), "judge") == 0.25
    other.keep_grade(Subject("a", 1), "judge", 0.5, study="s", price=1.0)
    assert one.grade(Subject("a", 1), "judge") == 0.5
    assert cache(file).paid("s") == 2.0


def test_other_damage_is_refused(tmp_path):
    file = tmp_path / "grades.jsonl"
    for text in (b"[1]\n", b'{"score": 1}\n', b"\xff\xfe\n"):
        file.write_bytes(text)
        with pytest.raises(StorageError, match=r"line 1 of .* is not a grade"):
            cache(file)
    with pytest.raises(StorageError, match="cannot be used: it is no file"):
        cache(tmp_path)
    with pytest.raises(StorageError, match="cannot be used: No such file or directory"):
        cache(tmp_path / "absent" / "x").keep_grade(Subject("a", 0), "judge", 0.5, study="s", price=1.0)


def test_a_grade_that_cannot_be_written_is_not_paid_twice(tmp_path, monkeypatch):
    def full(line):
        raise OSError(28, "No space left on device")

    grades = cache(tmp_path / "grades.jsonl")
    monkeypatch.setattr(grades, "_repair", full)
    with pytest.raises(StorageError, match="cannot be used: No space left on device"):
        grades.keep_grade(Subject("a", 0), "judge", 0.5, study="s", price=1.0)
    assert grades.grade(Subject("a", 0), "judge") == 0.5
    assert grades.paid("s") == 1.0


def test_the_first_of_two_grades_counts_for_everybody(tmp_path):
    file = tmp_path / "grades.jsonl"
    one, other = cache(file), cache(file)
    assert one.grade(Subject("a", 0), "judge") is other.grade(Subject("a", 0), "judge") is None
    assert one.keep_grade(Subject("a", 0), "judge", 0.25, study="s", price=1.0) == 0.25
    assert other.keep_grade(Subject("a", 0), "judge", 0.75, study="s", price=1.0) == 0.25
    assert one.paid("s") == other.paid("s") == cache(file).paid("s") == 2.0
    file.unlink()
    assert one.keep_grade(Subject("b", 0), "judge", 0.5, study="s", price=1.0) == 0.5


def _keep_many(file, seed):
    mine = cache(file)
    for place in range(200):
        subject = Subject("ab"[place % 2], place // 2 % 2, str(place // 4))
        mine.keep_grade(subject, "judge", random.Random(f"{seed} {place}").random(), study="s", price=1.0)


def test_processes_share_a_file(tmp_path):
    file = tmp_path / "grades.jsonl"
    context = multiprocessing.get_context("fork")
    crew = [context.Process(target=_keep_many, args=(file, seed)) for seed in range(3)]
    for one in crew:
        one.start()
    for one in crew:
        one.join()
    assert [one.exitcode for one in crew] == [0, 0, 0]
    assert cache(file).paid("s") == 600.0
    assert len(file.read_text().splitlines()) == 600
