"""People grade the pulls of a study: blind, in random order, nobody the same thing twice.

Pulls that the study has for people are leased to a session. While somebody is there, it renews the leases; when the
last one leaves, it gives all of them back. A grade is told to the study when the next one is given, or after some
seconds: until then it can be undone. What was told cannot, since exactly one result of a pull counts.
"""

from __future__ import annotations

import json
import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from mfbandit.errors import InvalidInput, StudyError
from mfbandit.model import Pull
from mfbandit.serve.people._showing import Show, Shown, shown_for
from mfbandit.study import Study
from mfbandit.study.report import results_with_notes

__all__ = ["GradingSession", "Person", "person_name"]

_logger = logging.getLogger("mfbandit")

#: Pulls are leased for so long without renewal, which comes three times as often.
LEASE_SECONDS = 60.0
#: A grade can be undone for so long.
UNDO_SECONDS = 8.0
#: So many pulls are kept ready for everybody who is there, so that their order is random.
_READY = 3
_MOST_PEOPLE = 200
#: The log is read so often, whether or not anybody grades.
_LOOK_SECONDS = 1.0


def person_name(name: Any) -> str:
    """A name by which somebody grades."""
    plain = " ".join(name.split()) if isinstance(name, str) else ""
    if not 1 <= len(plain) <= 60 or not plain.isprintable():
        raise InvalidInput("the name of whoever grades must have 1 to 60 letters")
    return plain


@dataclass
class GradingTask:
    """A pull that somebody grades."""

    pull: Pull
    shown: Shown
    order: tuple[int, ...]
    """Which answer is shown first: with two of them, that is tossed."""
    name: str = field(default_factory=lambda: secrets.token_hex(8))
    """Tells it from others, and says nothing of the arm."""


@dataclass
class Person:
    """Somebody who is there."""

    name: str
    key: str = field(default_factory=lambda: secrets.token_hex(16))
    task: GradingTask | None = None
    #: What was graded last and is not told yet: the task, its reward, and until when it can be undone.
    given: tuple[GradingTask, float, float] | None = None
    graded: int = 0
    problem: str = ""


class GradingSession:
    """People who grade the pulls of one study."""

    def __init__(self, study: Study, show: Show, clock: Callable[[], float] = time.monotonic) -> None:
        self.study, self._show, self._clock = study, show, clock
        self._lock = threading.RLock()
        self._people: dict[str, Person] = {}
        #: Pulls that nobody has yet, and what is shown for them.
        self._ready: dict[int, GradingTask] = {}
        #: What everybody has graded, by the keys of what was shown.
        self._seen: dict[str, set[str]] = {}
        self._next_beat = self._next_look = 0.0
        #: Whether what to show for the last pull could not be made.
        self._unshown = False
        for noted in results_with_notes(study):
            said = read_note(noted.note)
            if said is not None:
                self._seen.setdefault(said[0], set()).add(said[1])

    def join(self, name: Any) -> Person:
        """Somebody comes."""
        person = Person(person_name(name))
        with self._lock:
            if len(self._people) >= _MOST_PEOPLE:
                raise StudyError(f"{_MOST_PEOPLE} people grade already, and there is room for no more")
            self._people[person.key] = person
        return person

    def leave(self, person: Person) -> None:
        """Somebody leaves: what was graded counts, and what was not goes to others."""
        with self._lock:
            if self._people.pop(person.key, None) is None:
                return
            self._tell(person)
            self._put_back(person)
            if not self._people:
                self._give_back()

    def person(self, key: Any) -> Person:
        """Somebody who is there."""
        found = self._people.get(key) if isinstance(key, str) else None
        if found is None:
            raise StudyError("the connection was lost: load the page again")
        return found

    def state(self, person: Person) -> dict[str, Any]:
        """What somebody sees now; it says nothing of arms and fidelities."""
        with self._lock:
            self._tend()
            if person.task is None and person.key in self._people:
                person.task = self._draw(person)
            task = person.task
            status = self.study.known_end or "running"
            return {
                "person": person.key,
                "status": status,
                "graded": person.graded,
                "undo": person.given is not None,
                "waits": "" if task or status != "running" else self._why(person),
                "task": None if task is None else _plain(task),
            }

    def grade(self, person: Person, task_name: Any, choice: Any) -> None:
        """Somebody gives a grade: which one of those that were offered."""
        with self._lock:
            task = self._current(person, task_name)
            offered = len(task.shown.grades)
            if type(choice) is not int or not 0 <= choice < offered:
                raise InvalidInput(f"a grade is one of the {offered} that are offered, got {str(choice)[:40]!r}")
            self._tell(person)
            person.given = task, _reward(task, choice), self._clock() + UNDO_SECONDS
            person.task = None
            person.graded += 1
            self._seen.setdefault(person.name, set()).add(task.shown.key)

    def undo(self, person: Person) -> None:
        """Somebody takes the last grade back, and gives another one."""
        with self._lock:
            if person.given is None:
                raise StudyError("it is too late: the last grade was told to the study")
            self._put_back(person)
            person.task, person.given = person.given[0], None
            person.graded -= 1
            self._seen[person.name].discard(person.task.shown.key)

    def skip(self, person: Person, task_name: Any) -> None:
        """Somebody cannot tell: another person is asked."""
        with self._lock:
            task = self._current(person, task_name)
            self._seen.setdefault(person.name, set()).add(task.shown.key)
            self._put_back(person)

    def names(self) -> list[str]:
        """Who is there."""
        return sorted(person.name for person in self._people.values())

    # What goes on behind it; whoever calls has the lock

    def _current(self, person: Person, name: Any) -> GradingTask:
        if person.task is None or person.task.name != name:
            raise StudyError("this is no longer asked: it was graded, or is not needed any more")
        return person.task

    def _draw(self, person: Person) -> GradingTask | None:
        """A random one of the pulls that somebody has not seen; None if there is none."""
        seen = self._seen.get(person.name, set())
        busy = {one.task.shown.key for one in self._people.values() if one.task and one.name == person.name}

        def new() -> list[GradingTask]:
            return [task for task in self._ready.values() if task.shown.key not in seen | busy]

        found = new()
        if len(found) < _READY:
            self._fetch(_READY * len(self._people) + _READY - len(self._ready))
            found = new()
        if not found:
            return None
        task = secrets.choice(found)
        del self._ready[task.pull.id]
        return task

    def _fetch(self, wanted: int) -> None:
        if wanted < 1:
            # All that is ready was seen by whoever asks: somebody else has to come.
            return
        for pull in self.study.ask(wanted, lease_seconds=LEASE_SECONDS, people=True):
            try:
                shown = shown_for(self._show, pull, self.study.problem.reward)
            except Exception as error:
                # No fault of the pull: it stays out until its lease ends, and is tried again then.
                _logger.warning("what to show for pull %d could not be made: %s", pull.id, error)
                self._unshown = True
                continue
            self._unshown = False
            order = (1, 0) if len(shown.answers) == 2 and secrets.randbelow(2) else tuple(range(len(shown.answers)))
            self._ready[pull.id] = GradingTask(pull, shown, order)

    def _why(self, person: Person) -> str:
        if self._ready:
            return "What is to be graded now you have seen already: somebody else has to."
        if self._unshown:
            return "What is to be graded now cannot be shown: whoever started the page finds the reason in its log."
        return "Nothing is to be graded now; the page goes on by itself as soon as there is."

    def _tell(self, person: Person) -> None:
        """Tell the study what somebody graded last."""
        if person.given is None:
            return
        task, reward, _ = person.given
        person.given = None
        note = json.dumps({"by": person.name, "shown": task.shown.key})
        self.study.tell(task.pull, reward, note=note)

    def _put_back(self, person: Person) -> None:
        if person.task is not None:
            self._ready[person.task.pull.id] = person.task
            person.task = None

    def _give_back(self) -> None:
        """Let go of what nobody here grades."""
        tasks = list(self._ready.values())
        self._ready.clear()
        if tasks:
            self.study.release([task.pull for task in tasks])

    def _tend(self) -> None:
        """Tell what can no longer be undone, and renew leases; called often."""
        now = self._clock()
        for person in self._people.values():
            if person.given is not None and now >= person.given[2]:
                self._tell(person)
        if now >= self._next_look:
            self._next_look = now + _LOOK_SECONDS
            self.study.current()  # others may have found the answer
        if self.study.known_end:
            for person in self._people.values():
                self._put_back(person)
            self._give_back()
            return
        if now < self._next_beat:
            return
        self._next_beat = now + LEASE_SECONDS / 3.0
        people = self._people.values()
        theirs = [task for one in people for task in (one.task, one.given and one.given[0]) if task]
        held = {task.pull.id: task.pull for task in (*self._ready.values(), *theirs)}
        if not held:
            return
        wanted = {pull.id for pull in self.study.heartbeat(held.values(), lease_seconds=LEASE_SECONDS)}
        self._ready = {number: task for number, task in self._ready.items() if number in wanted}
        for person in self._people.values():
            if person.task is not None and person.task.pull.id not in wanted:
                person.task = None


def read_note(note: str) -> tuple[str, str] | None:
    """Who graded what, by the note of a result; None if it says something else."""
    try:
        said = json.loads(note)
        return str(said["by"]), str(said["shown"])
    except (ValueError, TypeError, KeyError):
        return None


def _reward(task: GradingTask, choice: int) -> float:
    """What a grade stands for; with two answers in the other order, the first is the second."""
    grades = task.shown.grades
    return grades[choice if task.order != (1, 0) else len(grades) - 1 - choice][1]


def _plain(task: GradingTask) -> dict[str, Any]:
    shown = task.shown
    rewards = [reward for _, reward in shown.grades]
    return {
        "name": task.name,
        "item": shown.item,
        "answers": [shown.answers[index] for index in task.order],
        "markdown": shown.markdown,
        "grades": [label for label, _ in shown.grades],
        "rising": all(one < other for one, other in pairwise(rewards)),
    }
