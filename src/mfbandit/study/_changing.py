"""Settings of a study that change while it lives."""

from __future__ import annotations

from collections.abc import Sequence

from mfbandit.errors import StudyError
from mfbandit.storage import SETTING, Record, json_text
from mfbandit.study._ask_tell import AskTell, Clock
from mfbandit.study._settings import as_limit

__all__ = ["ChangingStudy"]


class ChangingStudy(AskTell):
    """Hands out pulls, and lets what it may cost change."""

    def extend(self, *, max_cost: float) -> None:
        """Let a study cost more, or less, than it was made for; one that has ended for it goes on.

        What it has shown stays as it is: confidence is valid whenever you look. All processes that have the study
        open follow.

        Parameters
        ----------
        max_cost : float
            Never spend more than this from now on; ``math.inf`` is no limit. It must pay for what is planned already.

        Examples
        --------
        >>> import mfbandit as mf
        >>> from mfbandit.study import create_study
        >>> study = create_study(mf.Problem(["a", "b"], [("exact", 1.0, 0.0)]), max_cost=4)
        >>> study.optimize(lambda pull: float(pull.arm == "b"), progress=False).status
        'max_cost'
        >>> study.extend(max_cost=50)
        >>> study.optimize(lambda pull: float(pull.arm == "b"), progress=False).status
        'certified'
        """
        limit = as_limit("max_cost", max_cost)

        def decide(news: Sequence[Record], clock: Clock) -> list[Record]:
            study_state, records = self._apply_news(news), list[Record]()
            if study_state.settings.max_cost == limit:
                return records
            if self._may_plan():
                self._plan(records)  # by the limit that held until now
            planned = study_state.planned_cost
            if limit is not None and limit < planned * (1 - 1e-12):
                raise StudyError(
                    f"max_cost={limit:g} does not pay for what is spent or planned already in study {self.name!r}: "
                    f"{planned:g}"
                )
            asked = study_state.asked
            skips = study_state.change({"max_cost": limit})
            records.append(Record(SETTING, asked, float(skips), json_text({"max_cost": limit})))
            return records

        with self._lock:
            self._exchange(decide, self._durable)
