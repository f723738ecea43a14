"""Studies: real evaluations, asked for and told one by one or many at once, by any number of workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from typing import Any

from mfbandit.errors import MfbanditError, StorageError, StudyError
from mfbandit.model import Problem, Pull
from mfbandit.storage import PATIENCE_SECONDS, Storage, open_storage
from mfbandit.study._changeable_study import ChangeableStudy
from mfbandit.study._policy_digest import PolicyCode
from mfbandit.study._result import Result
from mfbandit.study._settings import read_header
from mfbandit.study._view import View
from mfbandit.study.report._export import export_study, study_frame
from mfbandit.study.report._notebook import study_html
from mfbandit.study.run._folders import Folders
from mfbandit.study.run._run_async import run_beside
from mfbandit.study.run._run_loop import optimize
from mfbandit.study.state._study_blocks import arms_on_block
from mfbandit.workers import Ray

__all__ = ["Study", "open_study", "opened_storage"]


class Study(ChangeableStudy):
    """A search for the best arm by real evaluations.

    Made by `create_study` and `load_study`. All methods may be called from any thread, and several
    processes may open the same study at once: they share its pulls, its results and its budget, and take
    the decisions that a single worker would have taken.

    Examples
    --------
    >>> import mfbandit as mf
    >>> from mfbandit.study import create_study
    >>> problem = mf.Problem(["a", "b"], [("quick", 1.0, 0.0)], reward="bernoulli")
    >>> study = create_study(problem, delta=0.1)
    >>> while not study.done:
    ...     for pull in study.ask(2):
    ...         _ = study.tell(pull, 1.0 if pull.arm == "b" else 0.0)
    >>> study.best, study.status, study.cost
    ('b', 'certified', 10.0)

    A study that is used in a ``with`` block is closed at its end:

    >>> with create_study(problem) as study:
    ...     study.optimize(lambda pull: float(pull.arm == "b"), progress=False).best
    'b'
    """

    def __enter__(self) -> Study:
        """Use it in a ``with`` block, which closes it."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close it."""
        self.close()

    @property
    def problem(self) -> Problem:
        """The problem."""
        return self.settings.problem

    @property
    def done(self) -> bool:
        """Whether there is nothing more to ask for."""
        return self.status != "running"

    @property
    def status(self) -> str:
        """Where it stands: "running", or how it ended.

        That is "certified", "answered" (the policy stopped by itself, without a proof), "max_cost", "budget", "failed",
        or "violation" (the data contradict a bias bound, and that was to stop the study).
        """
        return self.current().status

    @property
    def cost(self) -> float:
        """What all pulls that have a result cost together."""
        return self.current().cost

    @property
    def best(self) -> str | None:
        """The arm that the policy would answer with now; None before the first result."""
        return self.view().best

    @property
    def verdicts(self) -> dict[str, str]:
        """What is shown of each arm, where the goal is not the best arm: see docs/goals.md."""
        view = self.view()
        shown = {} if view.verdicts is None else view.verdicts.words
        return {self.problem.arms[arm]: word for arm, word in shown.items()}

    @property
    def confidence(self) -> float:
        """How sure it is that `best` is the best, or all that is asked; valid whenever you look."""
        return self.view().confidence

    def intervals(self) -> dict[str, tuple[float, float]]:
        """Bounds of every arm's true mean, in units of the reward.

        All of them hold, at all times at once, with probability 1 - delta.
        """
        return self.view().intervals()

    def view(self) -> View:
        """What the data say at this moment, all of it from one moment."""
        with self._lock:
            return View(self.current())

    def arms_on_block(self, pull: Pull) -> tuple[str, ...]:
        """The arms that are, or may yet be, measured on the block of a pull, those first who come farthest.

        In a race these are the arms that had not lost when the block was opened: the same whenever one looks.

        Parameters
        ----------
        pull : Pull
            A pull of this study.

        Returns
        -------
        tuple of str

        Examples
        --------
        >>> import mfbandit as mf
        >>> study = mf.create_study(mf.Problem(["a", "b", "c"], [("exact", 1.0)], blocks=20))
        >>> study.arms_on_block(study.ask()[0])
        ('a', 'b', 'c')
        """
        with self._lock:
            study_state = self._study_state
            if study_state.race is None:
                raise StudyError(f"study {self.name!r} does not compare arms on blocks: its policy is no race")
            planner, names = study_state.planner, self.problem.arms
            lane = list(planner.columns).index(pull.fidelity_index)
            return tuple(names[planner.arms[k]] for k in arms_on_block(study_state.state, lane, pull.index))

    def result(self, status: str | None = None) -> Result:
        """The answer so far; final when the study is done.

        Parameters
        ----------
        status : str, optional
            Another status to put into it, such as "cancelled".
        """
        with self._lock:
            return Result.of(self, View(self.current()), status)

    def optimize(
        self,
        evaluate: Callable[[Pull], Any],
        *,
        workers: int = 1,
        engine: str | Executor | Ray = "threads",
        progress: bool = True,
        callback: Callable[[View], Any] | None = None,
        resources: Mapping[str, Mapping[str, Any]] | None = None,
        timeout: float | None = None,
        failure_patience: float = 60.0,
        folders: str | os.PathLike[str] | Folders | None = None,
    ) -> Result:
        """Evaluate pulls until the study is done, or Ctrl-C ends it with the answer so far.

        Called again, it goes on where it stopped; a study that failed tries again what failed.

        Parameters
        ----------
        evaluate : callable
            Gets a `Pull` and returns its reward; may be a coroutine function. What it raises is a
            failure of the pull.
        workers : int
            How many evaluations run at once. Decisions do not depend on it.
        engine : {"threads", "processes", "ray"}, Ray or concurrent.futures.Executor
            Where they run. Coroutines of "threads" share one event loop.
        progress : bool
            Whether to show progress on stderr.
        callback : callable, optional
            Called with a `View` of the study after new results; raises StopIteration to end the run.
        resources : mapping, optional
            For "ray": what a pull needs, by fidelity, such as ``{"human": {"num_cpus": 0}}``. ``Ray(resources=...)``
            as the engine says the same.
        timeout : float, optional
            Seconds after which an evaluation has failed. A process, a coroutine, a Ray task or a command
            is ended; a function in a thread, or on an executor of yours, is left to itself. One that is
            repeated because it was slow is no longer a fair sample: fast ones are favoured.
        failure_patience : float
            How many seconds failures of several pulls in a row may pause the run before they count. 0: no
            pauses, and what failed is tried again at once.
        folders : str, path or Folders, optional
            Where evaluations leave what others go on from, for fidelities that continue others; by default beside the
            SQLite file, else in a temporary folder. Removed when the study has its answer, unless ``keep=True``.

        Returns
        -------
        Result
            With status "cancelled" if the run was ended before the study was done.

        Examples
        --------
        >>> import mfbandit as mf
        >>> from mfbandit.study import create_study
        >>> study = create_study(mf.Problem(["a", "b"], [("exact", 1.0, 0.0)]), max_cost=20)
        >>> study.optimize(lambda pull: 0.5, workers=2, progress=False).status
        'max_cost'
        """
        return self._optimize(
            evaluate,
            workers=workers,
            engine=engine,
            progress=progress,
            callback=callback,
            resources=resources,
            timeout=timeout,
            failure_patience=failure_patience,
            folders=folders,
        )

    async def optimize_async(self, evaluate: Callable[[Pull], Any], **options: Any) -> Result:
        """Do what `optimize` does inside an event loop, which goes on meanwhile.

        A coroutine function runs in that loop, so that it may share its sessions and locks; other evaluators run where
        `engine` says. Whoever cancels it ends the run: the study can be gone on with.

        Parameters
        ----------
        evaluate : callable
            As for `optimize`.
        **options
            What `optimize` takes.

        Returns
        -------
        Result

        Examples
        --------
        >>> import asyncio, mfbandit as mf
        >>> async def main():
        ...     study = mf.create_study(mf.Problem(["a", "b"], [("exact", 1.0, 0.0)]), max_cost=20)
        ...     return await study.optimize_async(lambda pull: 0.5, progress=False)
        >>> asyncio.run(main()).status
        'max_cost'
        """
        run = partial(self._optimize, **options)
        return await run_beside(run, evaluate, options.get("engine", "threads"))

    def _optimize(self, evaluate: Callable[[Pull], Any], **options: Any) -> Result:
        if not self.current().ended:
            self.code.check()
        return optimize(self, evaluate, **options)

    def to_frame(self) -> Any:
        """One row per pull that has a result, in the order of asking, as a pandas data frame.

        It has the number, round, arm, fidelity, cost and reward of a pull; block and item, where there are blocks; how
        many seconds it took and who did it, where that was told, as by every run; and at which attempt it came.
        """
        return study_frame(self)

    def export(self, path: Any) -> None:
        """Write the study to a file of JSON lines, which `import_study` reads."""
        export_study(self, path)

    def __repr__(self) -> str:
        """Show it as one line."""
        study_state = self._study_state
        return (
            f"<Study {self.name!r}: {study_state.status}, {study_state.asked} pulls asked, cost {study_state.cost:g}>"
        )

    def _repr_html_(self) -> str:
        """Show it in a notebook: the answer so far, and the arms that matter."""
        return study_html(self)

    def __reduce__(self) -> tuple[Callable[..., Study], tuple[Any, ...]]:
        """Another process gets the study by opening its storage."""
        if not self.storage.url:
            raise StudyError(
                "a study in memory cannot be sent to another process: give it a storage such as sqlite:///study.db"
            )
        return self.reopening(), ()

    def reopening(self) -> Callable[[], Study]:
        """What opens the study again, here or in another process; its storage must have a URL."""
        patience = getattr(self.storage, "patience", PATIENCE_SECONDS)
        allowed = self.code.allow_changed
        return partial(_reopened, self.storage.url, self.name, self._durable, patience, allow_changed_policy=allowed)


def _reopened(url: str, name: str, durable: bool, patience: float, *, allow_changed_policy: bool) -> Study:
    with opened_storage(url, True, patience) as store:
        study = open_study(store, name, durable, allow_changed_policy)
        study.closes_storage = True
        return study


@contextmanager
def opened_storage(storage: str | Storage | None, existing: bool, patience: float) -> Iterator[Storage]:
    """Open a storage for a study; should that fail, what was opened is closed again."""
    store = open_storage(storage, existing=existing, patience=patience)
    try:
        yield store
    except BaseException:
        if store is not storage:
            store.close()
        raise


def open_study(storage: Storage, name: str, durable: bool, allow_changed_policy: bool = False) -> Study:
    """Open a study of a storage."""
    text = storage.headers().get(name)
    if text is None:
        known = ", ".join(map(repr, list(storage.headers())[:10])) or "none"
        raise StudyError(f"the storage holds no study named {name!r}; it holds {known}")
    header = read_header(text, name)
    try:
        return Study(storage, name, header, durable, allow_changed_policy)
    except (LookupError, TypeError, ValueError) as error:
        if isinstance(error, MfbanditError):
            raise
        changed = PolicyCode(name, header, False).changed
        why = "the code of its policy has changed since it was made" if changed else "it is damaged"
        raise StorageError(f"the log of study {name!r} cannot be read: {why} ({error})") from error
