"""A race of models in Inspect: a model that is shown not to be the best of this dataset answers no more of it.

The samples of a dataset are a finite set in a random order, as in races on blocks. Against "b is the best on all N
samples" there is one process for every other model, along that order; their average is looked at after any number of
samples. Cells that are not known yet, or failed, count as the worst for whoever is to win and the best for b: that only
lowers the evidence, so samples may end in any order. The proof is in docs/certificates.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from mfbandit._checks import as_names, fraction
from mfbandit._optional import optional
from mfbandit.confidence.race import Lane, contradicts_range, pair_paths
from mfbandit.errors import InvalidInput
from mfbandit.logs._inspect_rows import inspect_scores
from mfbandit.logs._rows import LogRow, as_score
from mfbandit.logs._score_table import Reading, metric_of

__all__ = ["ModelRace"]

Floats = npt.NDArray[np.float64]

#: Evidence is worked out again when there are so many times as many scores.
_GROWTH = 1.01


class ModelRace:
    """Ends models that are shown not to be the best, while Inspect evaluates several on one dataset.

    The probability that the best model on all samples of the dataset is ended is at most `delta`.

    Parameters
    ----------
    models : sequence of str
        Names of all that take part.
    delta : float
        Allowed probability that the best one is ended.
    reading : Reading, optional
        How scores are read: the metric (the name of a scorer, or "scorer.name"), where there are several; the range.
    random_order : bool
        That the dataset is in a random order although it was not shuffled by Inspect.

    Examples
    --------
    >>> race = ModelRace(["small", "large"])
    >>> race.left, race.best
    (('small', 'large'), None)
    """

    def __init__(
        self,
        models: Sequence[str],
        *,
        delta: float = 0.05,
        reading: Reading | None = None,
        random_order: bool = False,
    ) -> None:
        self.models = as_names(models, "models", InvalidInput)
        if len(self.models) < 2:
            raise InvalidInput(f"a race needs at least two models, got {list(self.models)}")
        self.delta = fraction("delta", delta)
        self.p: dict[str, float] = dict.fromkeys(self.models, 1.0)
        self._reading = reading or Reading()
        self._random_order = random_order
        self._positions: dict[str | int, int] | None = None
        self._scores: Floats = np.zeros((len(self.models), 0))
        self._told, self._looked = 0, 0

    @property
    def left(self) -> tuple[str, ...]:
        """The models that may be the best."""
        return tuple(model for model in self.models if self.p[model] > self.delta)

    @property
    def best(self) -> str | None:
        """The model that is shown to be the best on these samples, if one is."""
        return self.left[0] if len(self.left) == 1 else None

    def stopping(self, model: str) -> ModelStopping:
        """The early stopping of one model, for its own task: ``Task(..., early_stopping=race.stopping("small"))``."""
        if model not in self.models:
            raise InvalidInput(f"{model!r} is none of the models of the race; they are {', '.join(self.models)}")
        return ModelStopping(self, model)

    def enter(self, model: str, samples: Sequence[str | int], epochs: int, shuffled: bool) -> None:
        """Note which samples a model will answer, in which order."""
        if epochs != 1:
            raise InvalidInput(f"a race takes every sample once, got {epochs} epochs")
        if not (shuffled or self._random_order):
            raise InvalidInput(
                "a race needs samples in a random order: shuffle the dataset, with one seed for all models, or pass "
                "random_order=True if it is in one"
            )
        positions = {sample: position for position, sample in enumerate(samples)}
        if self._positions is None:
            self._positions = positions
            self._scores = np.full((len(self.models), len(samples)), np.nan)
        elif list(positions) != list(self._positions):
            raise InvalidInput(f"model {model!r} has other samples than the first, or another order of them")

    def tell(self, model: str, sample: str | int, scores: dict[str, Any]) -> None:
        """Note what a model got for a sample."""
        where = f"sample {sample!r} of {model!r}"
        found = inspect_scores({name: one.score for name, one in scores.items()}, where)
        metric = metric_of([LogRow(model, str(sample), found, where)], self._reading.metric)
        value = as_score(found.get(metric), where, metric)
        if value is None or self._positions is None:
            return
        low, high = self._reading.range or (0.0, 1.0)
        if not low <= value <= high:
            raise InvalidInput(f"{where}: the {metric} is {value:g}, outside [{low:g}, {high:g}]; declare its range")
        unit = (value - low) / (high - low)
        if self._reading.lower_is_better:
            unit = 1.0 - unit
        self._scores[self.models.index(model), self._positions[sample]] = unit
        self._told += 1

    def is_beaten(self, model: str) -> bool:
        """Whether a model is shown not to be the best."""
        if self._told > self._looked * _GROWTH:
            self._looked = self._told
            self._look()
        return self.p[model] <= self.delta

    def _look(self) -> None:
        """Work out the evidence against each model; what was once shown stays so."""
        lane = self._lane()
        arms = np.arange(len(self.models))
        for b in arms[lane.known > 0]:
            others = arms[(arms != b) & (lane.known > 0)]
            losers = np.full(others.size, b)
            if not others.size:
                continue
            none = np.zeros(others.size)
            paths = pair_paths(lane, others, losers, none)
            log_sum = np.logaddexp.reduce(paths, axis=0).max(initial=-math.inf) - math.log(arms.size - 1)
            certain = contradicts_range(lane, others, losers, none).any()
            p = 0.0 if certain else math.exp(min(0.0, -log_sum))
            self.p[self.models[b]] = min(self.p[self.models[b]], p)

    def _lane(self) -> Lane:
        """The scores so far: each model up to its last one, with gaps for those that are not known."""
        arms, size = self._scores.shape
        have = ~np.isnan(self._scores)
        known = np.where(have.any(axis=1), size - have[:, ::-1].argmax(axis=1), 0)
        most = int(known.max(initial=0))
        return Lane(
            given=self._scores[:, :most],
            known=known,
            declared=np.full((most, 2), -1),
            bias=np.zeros(arms),
            pair_bias=math.inf,
            size=size,
            swing=0.0,
        )


class ModelStopping:
    """Inspect's `EarlyStopping` for one model of a race."""

    def __init__(self, race: ModelRace, model: str) -> None:
        self._race, self._model, self._started = race, model, False

    async def start_task(self, task: Any, samples: list[Any], epochs: int) -> str:
        """Enter the race."""
        if self._started:
            raise InvalidInput(
                f"the early stopping of model {self._model!r} is used by two tasks: give every model a task of its "
                "own, with race.stopping(model)"
            )
        self._started = True
        self._race.enter(self._model, [sample.id for sample in samples], epochs, bool(task.dataset.shuffled))
        return "mfbandit.logs.ModelRace"

    async def schedule_sample(self, id: str | int, epoch: int) -> Any:
        """Skip what a model that is beaten has not begun."""
        if not self._race.is_beaten(self._model):
            return None
        early_stop = optional("inspect_ai.util", "a race of models needs Inspect", extra="inspect").EarlyStop
        reason = f"{self._model} is not the best on this dataset, p = {self._race.p[self._model]:.2g}"
        return early_stop(id=id, epoch=epoch, reason=reason)

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, Any]) -> None:
        """Note a score."""
        self._race.tell(self._model, id, scores)

    async def complete_task(self) -> dict[str, Any]:
        """What goes into the log."""
        race = self._race
        return {"model": self._model, "beaten": race.is_beaten(self._model), "p": dict(race.p), "delta": race.delta}
