"""What every storage of studies must do."""

from __future__ import annotations

import hashlib
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from mfbandit.errors import StorageError
from mfbandit.storage import FAILURE, LEASE, RESULT, ROUND, Record, Storage, record_line

__all__ = ["StorageContract"]

#: Text that breaks whoever builds statements, pages or lines from it.
NASTY = 'Robert\'); DROP TABLE "studies";--\n<b>&amp;</b> %s ? {0} \\ \t ünï \U0001f3b0'


class StorageContract(ABC):
    """Tests for pytest; a subclass says how to open a storage.

    `open` is called several times in a test and must then open the same, empty at first.
    """

    @abstractmethod
    def open(self) -> Storage:
        """Open the storage under test."""

    def test_a_new_storage_is_empty(self) -> None:
        """No studies at first."""
        assert self.open().headers() == {}

    def test_names_are_taken_once(self) -> None:
        """A second study of one name is refused, and the first keeps its header."""
        storage = self.open()
        assert storage.create("a", '{"x": 1}')
        assert not storage.create("a", '{"x": 2}')
        assert storage.headers() == {"a": '{"x": 1}'}

    def test_a_study_can_begin_with_records(self) -> None:
        """A study that is made with its records has them from its first moment on."""
        storage = self.open()
        records = [Record(ROUND, 0, 0.0, NASTY), Record(RESULT, 0, 0.1), Record(RESULT, 1, -2.5)]
        assert storage.create("a", "{}", records)
        assert not storage.create("a", "{}", records)
        assert list(self.open().log("a").read(0)) == records
        storage.log("a").exchange(3, lambda news, clock: [Record(FAILURE, 2, 0.0, "no")], safe=True)
        assert len(self.open().log("a").read(0)) == 4

    def test_headers_keep_their_order_and_their_text(self) -> None:
        """Headers come back as they were, oldest first."""
        storage = self.open()
        names = ["zebra", NASTY, "ape"]
        for name in names:
            storage.create(name, NASTY + name)
        assert list(self.open().headers()) == names
        assert self.open().headers()[NASTY] == NASTY + NASTY

    def test_a_study_that_is_not_there(self) -> None:
        """The log of an unknown study is an error that names it."""
        said = ""
        try:
            self.open().log("nobody")
        except StorageError as error:
            said = str(error)
        assert "'nobody'" in said

    def test_records_come_back_as_they_were(self) -> None:
        """Every bit of a number and every character of a text survives."""
        storage = self.open()
        storage.create("a", "{}")
        records = [
            Record(ROUND, 0, 0.0, NASTY),
            Record(RESULT, 2**53 + 1, 0.1 + 0.2),
            Record(RESULT, 7, 5e-324),
            Record(FAILURE, 8, -1.7976931348623157e308, ""),
            Record(LEASE, 9, 1234567890.123456),
        ]
        assert storage.log("a").exchange(0, lambda news, clock: records, safe=True) == 5
        assert [tuple(record) for record in self.open().log("a").read(0)] == [tuple(r) for r in records]
        assert len(self.open().log("a").read(3)) == 2
        assert len(self.open().log("a").read(5)) == 0

    def test_exchange_shows_what_others_wrote(self) -> None:
        """A writer sees the records that it does not know, and its own come after them."""
        storage, other = self.open(), self.open()
        storage.create("a", "{}")
        mine, theirs = storage.log("a"), other.log("a")
        assert mine.exchange(0, lambda news, clock: [Record(LEASE, 1)], safe=False) == 1
        seen: list[Record] = []

        def decide(news: Sequence[Record], clock: Callable[[], float]) -> list[Record]:
            seen.extend(news)
            assert clock() > 1e9
            return [Record(LEASE, 2), Record(LEASE, 3)]

        assert theirs.exchange(0, decide, safe=True) == 3
        assert [record.pull for record in seen] == [1]
        assert [record.pull for record in mine.read(1)] == [2, 3]

    def test_an_exchange_that_raises_writes_nothing(self) -> None:
        """The error goes through, and the log can be written again."""
        storage = self.open()
        storage.create("a", "{}")
        log = storage.log("a")

        def decide(news: Sequence[Record], clock: Callable[[], float]) -> list[Record]:
            raise KeyError("changed my mind")

        for _ in range(2):
            try:
                log.exchange(0, decide, safe=True)
            except KeyError:
                pass
            else:
                raise AssertionError("the error was swallowed")
        assert log.exchange(0, lambda news, clock: [], safe=True) == 0
        assert log.exchange(0, lambda news, clock: [Record(LEASE, 1)], safe=True) == 1

    def test_the_past_is_split_at_the_last_round(self) -> None:
        """Leases of finished rounds are left out; the current round is complete."""
        storage = self.open()
        storage.create("a", "{}")
        log = storage.log("a")
        assert log.past()[0] == 0
        first = [Record(ROUND, 0, 0.0, "{}"), Record(LEASE, 0, 9.0), Record(RESULT, 0, 0.5)]
        second = [Record(ROUND, 1, 0.0, "{}"), Record(LEASE, 1, 9.0)]
        log.exchange(0, lambda news, clock: first + second, safe=True)
        length, finished, current = self.open().log("a").past()
        assert length == 5
        assert [tuple(record) for record in finished] == [tuple(first[0]), tuple(first[2])]
        assert [tuple(record) for record in current] == [tuple(record) for record in second]

    def test_the_digest_is_that_of_the_records_without_leases(self) -> None:
        """All who read the log find the same digest, and it is that of the lines of an export."""
        storage = self.open()
        storage.create("a", "{}")
        log = storage.log("a")
        records = [
            Record(ROUND, 0, 0.0, '{"rows":[[0,0,1]]}'),
            Record(LEASE, 0, 9.0),
            Record(FAILURE, 0, 0.0, NASTY),
            Record(RESULT, 0, -0.0),
            Record(LEASE, 1, 9.0),
        ]
        known = 0
        for record in records:
            known = log.exchange(known, lambda news, clock, record=record: [record], safe=True)  # type: ignore[misc]
        lines = "".join(record_line(*record) for record in records if record.kind != LEASE)
        for length, end in ((5, len(lines)), (2, lines.index("\n") + 1), (0, 0)):
            digest = hashlib.sha256(lines[:end].encode()).hexdigest()
            assert log.digest(length) == self.open().log("a").digest(length) == digest
        again = self.open().log("a")
        again.past()
        assert again.digest(5) == log.digest(5)

    def test_studies_do_not_mix(self) -> None:
        """Two logs of one storage know nothing of each other."""
        storage = self.open()
        for name in ("a", "b"):
            storage.create(name, "{}")
            records = [Record(RESULT, 0, 0.5, name)]
            storage.log(name).exchange(0, lambda news, clock, records=records: records, safe=True)  # type: ignore[misc]
        assert [record.text for record in storage.log("a").read(0)] == ["a"]
        assert [record.text for record in storage.log("b").read(0)] == ["b"]

    def test_writers_take_turns(self) -> None:
        """Threads that count together count right: no exchange comes between another's."""
        self.open().create("a", "{}")
        threads, steps = 6, 25
        errors: list[BaseException] = []

        def work() -> None:
            try:
                log, known, total = self.open().log("a"), 0, 0

                def decide(news: Sequence[Record], clock: Callable[[], float]) -> list[Record]:
                    nonlocal total
                    total += len(news)
                    total += 1
                    return [Record(LEASE, total)]

                for _ in range(steps):
                    known = log.exchange(known, decide, safe=False)
            except BaseException as error:
                errors.append(error)

        workers = [threading.Thread(target=work) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        assert errors == []
        counted = [record.pull for record in self.open().log("a").read(0)]
        assert counted == list(range(1, threads * steps + 1))
