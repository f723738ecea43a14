"""The progress of a study, on stderr: live on a terminal, a plain line now and then elsewhere.

A display looks at the study from a thread of its own, so that no evaluation waits for it, and takes only a
small share of the time.
"""

from __future__ import annotations

import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, Self

from mfbandit.errors import StudyError
from mfbandit.formatting import amount, duration, percent, shown, told_apart
from mfbandit.study.state._remaining_cost import RemainingCost, SpendingRate

if TYPE_CHECKING:
    from mfbandit.study._study import Study
    from mfbandit.study._view import View

__all__ = ["Display", "make_display"]

#: Seconds before anything is shown.
_PATIENCE = 0.3
#: Seconds between two pictures on a terminal, and between two lines elsewhere: at first, and at most.
_REFRESH = 0.2
_FIRST_LINE, _LAST_LINE = 5.0, 60.0
#: A picture may take one part in this many of the time.
_SHARE = 8.0
_BAR_WIDTH = 32
#: By how much another arm may be better is worked out so many times as seldom as that takes, and not for more arms.
_SELDOM, _MANY_ARMS = 20.0, 200


#: Why there is nothing to do, by what the study waits for.
_REASONS = {
    "round": "the round is not complete ({})",
    "lag": "the slowest pull holds up the next plan ({})",
    "expected": "enough is out to end it if all goes as expected",
    "limit": "nothing more can be paid for",
}


def _unknown_age(number: int) -> float | None:
    """Nothing is evaluated here."""
    return None


#: Of so many arms names are told apart whenever the line is drawn anew.
_FEW_ARMS = 200


class Display(Protocol):
    """Shows how far a study is."""

    workers: int
    """How many evaluations may run at once."""
    running: int
    """How many run."""
    next_attempt: float
    """When something that failed is tried again; infinite if nothing is."""
    age: Callable[[int], float | None]
    """For how many seconds a pull is evaluated here; None if it is not."""

    def say(self, sentence: str) -> None:
        """Show a sentence."""

    def __enter__(self) -> Display: ...

    def __exit__(self, *exception: object) -> None: ...


def make_display(study: Study, wanted: bool) -> Display:
    """The display that suits where stderr goes."""
    if not wanted:
        return Silent()
    return Live(study) if sys.stderr.isatty() else Lines(study)


class Silent:
    """Shows nothing."""

    workers = running = 0
    next_attempt = float("inf")
    age: Callable[[int], float | None] = staticmethod(_unknown_age)

    def say(self, sentence: str) -> None:
        """Say nothing."""

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


class _ProgressReport(ABC):
    """What there is to say of a study, and a thread that says it now and then."""

    def __init__(self, study: Study, first: float) -> None:
        settings = study.settings
        self.workers = self.running = 0
        self.next_attempt = float("inf")
        self._bound: float | None = None
        self._next_bound = 0.0
        self.age: Callable[[int], float | None] = _unknown_age
        self.pace = SpendingRate(study.cost)
        self.due = time.monotonic() + first
        self._study = study
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="mfbandit-display", daemon=True)
        self.name = shown(study.name)
        self.spends = settings.spends
        self.target = 1.0 - settings.delta
        # On blocks, and with leaders, there is no union over arms: each is compared with delta itself.
        alone = settings.seen.blocks is not None or settings.leaders
        self.remaining_cost = RemainingCost(1 if alone else settings.problem.n_arms - 1, settings.delta)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        """Show the study whenever it is due."""
        while not self._ended.wait(max(0.0, self.due - time.monotonic())):
            try:
                self.show(self._study.view())
            except StudyError:  # the loop meets it too, and says so
                return

    @abstractmethod
    def show(self, view: View) -> None:
        """Show where the study stands, and set when to do so again."""

    @abstractmethod
    def say(self, sentence: str) -> None:
        """Show a sentence."""

    def share(self, view: View) -> float:
        """How far the study is, between 0 and 1."""
        return min(1.0, view.cost / view.settings.limit) if self.spends else self.remaining_cost.share(view.confidence)

    def sure(self, view: View) -> str:
        """How sure the study is."""
        if self.spends:
            return f"{self.share(view):.0%} of the budget"
        return f"confidence {percent(view.confidence)} ({percent(self.target)} asked for)"

    def facts(self, view: View) -> list[str]:
        """Pulls, money, the best arm and what is to come."""
        found = [f"{view.pulls:,} pulls ({self.busy(view)})"]
        limit = view.settings.limit  # it may have been raised
        left = f" of {amount(limit)}, {amount(max(0.0, limit - view.cost))} left"
        found.append(f"spent {amount(view.cost)}{left if limit < float('inf') else ''}")
        if view.verdicts is not None:
            total = len(view.verdicts.words)
            found.append(f"{total - len(view.left)} of {total} arms settled")
        elif view.best is not None:
            found.append(f"best {_best(view, view.best)}")
        if view.best is not None and view.verdicts is None and not self.spends and len(view.left) < len(view.arms):
            found.append(f"{len(view.left)} of {len(view.arms)} arms left")
        if (bound := self._no_better_by(view)) is not None:
            found.append(f"none better by more than {amount(bound, 2)}")
        ahead = None if self.spends else self.remaining_cost.update(view.cost, view.confidence)
        if ahead is not None:
            ahead = min(ahead, view.cost_of_all)
            seconds = self.pace.seconds(view.cost, ahead)
            found.append(f"about {amount(ahead, 2)} to go" + ("" if seconds is None else f", {duration(seconds)}"))
        return found

    def _no_better_by(self, view: View) -> float | None:
        """By how much another arm can be better; worked out now and then, since it may take long."""
        began = time.monotonic()
        if not self.spends and began >= self._next_bound and len(view.arms) <= _MANY_ARMS:
            self._bound = view.regret_bound if view.best is not None else None
            now = time.monotonic()
            self._next_bound = now + _SELDOM * (now - began)
        return self._bound

    def busy(self, view: View) -> str:
        """How many workers are busy, and why others are not."""
        idle = self.workers - self.running
        why = self.why(view) if idle > 0 else ""
        if not why:
            return f"{self.running} running" if self.running else "waiting for other workers"
        return f"{self.running} of {self.workers} workers busy; {idle} wait{'s' if idle == 1 else ''}: {why}"

    def why(self, view: View) -> str:
        """Why workers have nothing to do; empty if there is no reason."""
        seconds = self.next_attempt - time.monotonic()
        if seconds < float("inf"):
            return f"failed pulls are tried again in {duration(max(0.0, seconds))}"
        held, settings = view.hold_up, view.settings
        if held.kind == "width":
            return f"the study is {settings.width} wide"
        if held.kind == "at_most":
            fidelity = settings.problem.fidelities[held.fidelity]
            return f"{shown(fidelity.name)!r} has its {fidelity.at_most} at once"
        if held.kind == "people":
            return f"pulls at {shown(settings.problem.fidelities[held.fidelity].name)!r} wait for people"
        return _REASONS.get(held.kind, "").format(self._pull(held.pull))

    def _pull(self, number: int) -> str:
        """Name a pull, and say how long it takes already."""
        age = self.age(number)
        return f"pull {number}" if age is None else f"pull {number}, {duration(age)}"


class Lines(_ProgressReport):
    """A plain line now and then, less and less often."""

    def __init__(self, study: Study) -> None:
        super().__init__(study, _FIRST_LINE)
        self._pause = _FIRST_LINE

    def show(self, view: View) -> None:
        """Print a line."""
        self.say(", ".join([*self.facts(view), self.sure(view)]))
        self._pause = min(2.0 * self._pause, _LAST_LINE)
        self.due = time.monotonic() + self._pause

    def say(self, sentence: str) -> None:
        """Print a sentence."""
        print(f"{self.name}: {sentence}", file=sys.stderr, flush=True)


class Live(_ProgressReport):
    """A bar and a line that change in place, and are gone when the study is."""

    def __init__(self, study: Study) -> None:
        super().__init__(study, _PATIENCE)
        self._started = time.monotonic()
        self._live: Any = None

    def show(self, view: View) -> None:
        """Draw the study as it stands."""
        from rich.live import Live as Picture

        began = time.monotonic()
        first = self._live is None
        if first:
            self._live = Picture(console=_console(), auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(self._picture(view), refresh=True)
        # The first one takes longer: it loads or compiles what it needs.
        took = 0.0 if first else time.monotonic() - began
        self.due = time.monotonic() + max(_REFRESH, _SHARE * took)

    def _picture(self, view: View) -> Any:
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        seconds = int(time.monotonic() - self._started)
        bar = Table.grid(padding=(0, 1))
        bar.add_row(
            Text(self.name, style="bold"),
            ProgressBar(total=1.0, completed=self.share(view), width=_BAR_WIDTH),
            Text(self.sure(view), style="bold cyan"),
            Text(f"{seconds // 60}:{seconds % 60:02}", style="dim"),
        )
        return Group(bar, Text("  " + " · ".join(self.facts(view)), style="dim"))

    def say(self, sentence: str) -> None:
        """Print a sentence above the picture."""
        from rich.text import Text

        (self._live.console if self._live is not None else _console()).print(
            Text(f"{self.name}: {sentence}", style="yellow")
        )

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        if self._live is not None:
            # Nothing is left on the screen.
            self._live.stop()


def _console() -> Any:
    from rich.console import Console

    return Console(stderr=True, highlight=False)


def _best(view: View, best: str) -> str:
    """The best arm in a few words; among many arms no look is taken at the names of all others."""
    names = view.settings.problem.arms
    return told_apart(names)[best] if len(names) <= _FEW_ARMS else shown(best)
