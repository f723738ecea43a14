"""Settings of a study that change while it lives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from mfbandit._checks import is_number
from mfbandit.errors import InvalidInput, StudyError
from mfbandit.model import CheapestWithin, Fidelity, Problem
from mfbandit.storage import SETTING, Record, json_text
from mfbandit.study._ask_tell import AskTell, Clock
from mfbandit.study._settings import Settings, as_limit

__all__ = ["ChangeableStudy"]

#: What says how sure an answer is without a delta or an epsilon that was chosen for it.
_INSTEAD = {
    "delta": "result.confidence says how sure the answer is by now",
    "epsilon": "result.regret_bound says by how much the answer can be beaten",
}


class ChangeableStudy(AskTell):
    """Hands out pulls, and lets some of its settings change."""

    def extend(
        self, *, max_cost: float | None = None, delta: float | None = None, epsilon: float | None = None
    ) -> None:
        """Let a study cost more, or less, than it was made for, or ask for a surer or a better answer.

        One that has ended for it goes on. All processes that have the study open follow. With a smaller delta or
        epsilon, arms that were beaten are judged again: they return unless all that is known of them is enough for the
        new demand, too.

        Parameters
        ----------
        max_cost : float, optional
            Never spend more than this from now on; ``math.inf`` is no limit. It must pay for what is planned already.
        delta : float, optional
            The probability of a wrong answer that is allowed from now on: less than before. A larger one is refused,
            since whoever chooses it has seen results.
        epsilon : float, optional
            How far from the best an answer may be from now on: less than before.

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
        >>> study.extend(delta=0.001)
        >>> study.status
        'running'
        >>> study.optimize(lambda pull: float(pull.arm == "b"), progress=False).confidence >= 0.999
        True
        """
        given = {"max_cost": max_cost, "delta": delta, "epsilon": epsilon}
        said = {name: value for name, value in given.items() if value is not None}
        if not said:
            raise InvalidInput("extend changes max_cost, delta or epsilon: give at least one of them")

        def wanted(settings: Settings) -> dict[str, Any]:
            new: dict[str, Any] = {
                name: self._stricter(settings, name, said[name]) for name in said if name in _INSTEAD
            }
            return {"max_cost": as_limit("max_cost", max_cost), **new} if "max_cost" in said else new

        self._change(wanted)

    def widen(
        self, fidelity: str, *, bias: float | Sequence[float] | None = None, pair_bias: float | None = None
    ) -> None:
        """Take the bias of a fidelity to be larger than was declared, from now on and for all that was measured.

        Arms that were beaten are judged again by what was measured, and return unless it is enough with the wider
        bound, too. A study that had its answer goes on. A bound cannot be narrowed: whoever does it has seen results.

        Parameters
        ----------
        fidelity : str
            Its name.
        bias : float or sequence of float, optional
            The bound on its bias from now on, one number or one for every arm: at least what it was.
        pair_bias : float, optional
            The bound on the bias of differences from now on, where one was declared: at least what it was, and
            ``math.inf`` for none.

        Examples
        --------
        >>> import mfbandit as mf
        >>> study = mf.create_study(mf.Problem(["a", "b"], [("judge", 1.0, 0.1), ("human", 9.0)]))
        >>> study.widen("judge", bias=0.2)
        >>> study.settings.problem.fidelities[0]
        Fidelity('judge', cost=1.0, bias=0.2)
        """
        if bias is None and pair_bias is None:
            raise InvalidInput("widen changes the bias or the pair_bias of a fidelity: give at least one of them")
        self._change(lambda settings: {"biases": self._wider(settings.problem, fidelity, bias, pair_bias)})

    def reprice(self, fidelity: str, *, cost: float | Sequence[float]) -> None:
        """Let pulls of a fidelity cost something else from now on.

        What was paid so far stays, and so does the price of pulls that are planned already. What is planned from now on
        goes by the new price, and so does `max_cost`. Evidence rests on the costs that were declared when the study was
        made, so that what is proven stays as it is.

        Parameters
        ----------
        fidelity : str
            Its name.
        cost : float or sequence of float
            What a pull costs from now on, above 0: one number, or one for every arm. What it costs to open a block
            stays as it is.

        Examples
        --------
        >>> import mfbandit as mf
        >>> study = mf.create_study(mf.Problem(["a", "b"], [("human", 0.3)]))
        >>> for pull in study.ask(2):
        ...     _ = study.tell(pull, 0.5)
        >>> study.reprice("human", cost=0.4)
        >>> study.settings.prices
        (('human', 0.4),)
        """
        self._change(lambda settings: {"prices": self._price(settings, fidelity, cost)})

    def _price(self, settings: Settings, name: str, cost: Any) -> dict[str, Any]:
        """What the log says of another price."""
        problem = settings.problem
        column = self._column(problem, name)
        # As strictly as a price is read that is declared.
        new = Problem(problem.arms, [Fidelity(name, cost)]).fidelities[0]
        if not new.guessed or problem.fidelities[column].measured or self._study_state.costs.is_told(column):
            raise StudyError(
                f"what pulls of {name!r} cost is measured or told with their rewards in study {self.name!r}, which "
                f"plans with that: there is no price to change to {cost!r}"
            )
        going_on = [one.name for one in problem.fidelities if one.continues]
        if going_on:
            raise StudyError(
                f"fidelity {going_on[0]!r} of study {self.name!r} continues others, at the price of what is left: the "
                f"price of {name!r} stays {problem.fidelities[column].cost!r}, and cannot be {cost!r}"
            )
        if not settings.policy.follows_costs:
            raise StudyError(
                f"policy {settings.policy.label!r} takes the costs of study {self.name!r} for known and fixed: the "
                f"price of {name!r} stays {problem.fidelities[column].cost!r}, and cannot be {cost!r}"
            )
        return {name: new.to_json()["cost"]}

    def _column(self, problem: Problem, name: str) -> int:
        """The column of a fidelity."""
        names = [one.name for one in problem.fidelities]
        if name not in names:
            raise InvalidInput(f"there is no fidelity {name!r}; there are {', '.join(map(repr, names))}")
        return names.index(name)

    def add_arm(self, name: str) -> None:
        """Let an arm join a race, in a study that was made with `most_arms`.

        It may have been made by what was seen so far. So it is measured on all blocks, and counts only on those that
        are opened from now on. A study that had its answer goes on.

        Parameters
        ----------
        name : str
            Its name.

        Examples
        --------
        >>> import mfbandit as mf
        >>> study = mf.create_study(mf.Problem(["a", "b"], [("only", 1.0)], blocks=200), most_arms=4)
        >>> study.optimize(lambda pull: {"a": 0.2, "b": 0.5, "c": 0.9}[pull.arm], progress=False).best
        'b'
        >>> study.add_arm("c")
        >>> study.optimize(lambda pull: {"a": 0.2, "b": 0.5, "c": 0.9}[pull.arm], progress=False).best
        'c'
        """

        def joins(settings: Settings) -> dict[str, Any]:
            self._check_open_arms(settings, f"arm {name!r} cannot join")
            if settings.arms_there == settings.problem.n_arms:
                raise StudyError(
                    f"study {self.name!r} has places for {settings.arms_there} arms, and all are taken: arm {name!r} "
                    "cannot join"
                )
            if name in settings.problem.arms:
                raise StudyError(f"study {self.name!r} has an arm {name!r} already")
            opened = self._study_state.state.blocks.opened.tolist()
            if settings.seen.order == "shared":
                # Who has seen a block in one lane may have made an arm that fits it in all of them.
                opened = [max(opened)] * len(opened)
            return {"joins": {"arm": name, "blocks": opened}}

        self._change(joins)

    def retire(self, arm: str) -> None:
        """Take an arm out of a race, in a study that was made with `most_arms`: the answer is about those left.

        What it showed about others counts no more, since it may be better than all who are left: arms that only it has
        beaten return. Pulls of it that are planned are still asked for.

        Parameters
        ----------
        arm : str
            Its name.
        """

        def retires(settings: Settings) -> dict[str, Any]:
            out = [settings.problem.arms[k] for k in self._study_state.arms_out]
            if not settings.arms_there and settings.question is None and arm in out:
                raise StudyError(
                    f"arm {arm!r} need not be taken out of study {self.name!r}: it was shown not to be the best, and "
                    "is measured no more"
                )
            self._check_open_arms(settings, f"arm {arm!r} cannot be taken out")
            there = [one for one in settings.problem.arms[: settings.arms_there] if one not in settings.arms_gone]
            if arm not in there:
                raise StudyError(f"study {self.name!r} has no arm {arm!r}; there are {', '.join(map(repr, there))}")
            if len(there) == 1:
                raise StudyError(f"arm {arm!r} is the last one in study {self.name!r}: somebody must be the answer")
            return {"retires": arm}

        self._change(retires)

    def _check_open_arms(self, settings: Settings, what: str) -> None:
        """Refuse arms that join or leave where delta was not shared out for it."""
        many = f"{settings.problem.n_arms} arms"
        why = "which of the arms is then the best would depend on the results so far, and the answer be wrong too often"
        if settings.seen.blocks is None:
            raise StudyError(
                f"{what}: study {self.name!r} was made for its {many}, and {why}; make a new study of the arms "
                "that you want, or a problem with blocks and most_arms=..., which has delta shared out for it"
            )
        if settings.question is not None:
            raise StudyError(
                f"{what}: study {self.name!r} asks for goal={settings.question.name!r} about its {many}, and arms join "
                "and leave races for the best arm only; make a new study of the arms that you want"
            )
        if not settings.arms_there:
            raise StudyError(
                f"{what}: study {self.name!r} was made for its {many}, with all of its delta, and {why}; make a study "
                "with most_arms=..., which shares delta out before results are seen"
            )

    def _stricter(self, settings: Settings, name: str, value: Any) -> float:
        """Refuse a delta or an epsilon that is not what was asked for so far, or less."""
        known: float = getattr(settings, name)
        if not is_number(value):
            raise InvalidInput(f"{name} must be a number, got {value!r}")
        if value > known:
            raise StudyError(
                f"study {self.name!r} exists with {name}={known:g}, not {value:g}: a larger one, chosen after results "
                f"were seen, promises nothing; {_INSTEAD[name]}"
            )
        if value < known and settings.spends:
            raise StudyError(f"study {self.name!r} spends a budget and proves nothing: its {name} stays {known:g}")
        if value < known and name == "epsilon" and isinstance(settings.question, CheapestWithin):
            # Which arm is the cheapest good one depends on it, and the proof pays for one such arm.
            raise StudyError(
                f"study {self.name!r} asks for the cheapest arm within epsilon={known:g} of the best: another epsilon "
                "is another question, for a new study"
            )
        return float(value)

    def _wider(self, problem: Problem, name: str, bias: Any, pair_bias: Any) -> dict[str, dict[str, Any]]:
        """What the log says of wider bounds of a fidelity; refuses those that are narrower."""
        column = self._column(problem, name)
        before = problem.fidelities[column]
        if column == problem.truest:
            raise StudyError(f"fidelity {name!r} measures the truth in study {self.name!r}: its bias stays 0")
        kept = before.pair_bias if pair_bias is None else None if pair_bias == math.inf else pair_bias
        after = before.with_bias(before.bias if bias is None else bias, kept)
        bounds = {name: {key: after.to_json().get(key) for key in ("bias", "pair_bias")}}
        wanted = problem.with_biases(bounds).biases[:, column].tolist()
        known = problem.biases[:, column].tolist()
        faults = [
            (f"bias {old!r} for arm {arm!r}", new)
            for arm, old, new in zip(problem.arms, known, wanted, strict=True)
            if new < old
        ]
        if pair_bias is not None and pair_bias < (math.inf if before.pair_bias is None else before.pair_bias):
            faults.append(
                ("no pair_bias" if before.pair_bias is None else f"pair_bias {before.pair_bias!r}", pair_bias)
            )
        for has, new in faults:
            raise StudyError(
                f"study {self.name!r} has {has} at fidelity {name!r}, not {new!r}: a narrower bound, chosen after "
                "results were seen, promises nothing"
            )
        return bounds

    def _change(self, wanted: Any) -> None:
        """Change settings to what a function of those so far says, as one step on the log."""

        def decide(news: Sequence[Record], clock: Clock) -> list[Record]:
            study_state, records = self._apply_news(news), list[Record]()
            if study_state.due and study_state.settings.width > 1:
                self.code.check()  # others may know more than whoever plans nothing
            if self._may_plan():
                self._plan(records)  # by what held until now
            new = wanted(study_state.settings)
            if study_state.settings.changed(new) == study_state.settings:
                return records
            self._check_paid(new)
            new |= study_state.out_of_turn()
            asked = study_state.asked
            skips = study_state.change(new)
            records.append(Record(SETTING, asked, float(skips), json_text(new)))
            return records

        with self._lock:
            self._exchange(decide, self._durable)

    def _check_paid(self, new: dict[str, Any]) -> None:
        """Refuse a limit that does not pay for what is planned."""
        limit, planned = new.get("max_cost"), self._study_state.planned_cost
        if limit is not None and limit < planned * (1 - 1e-12):
            raise StudyError(
                f"max_cost={limit:g} does not pay for what is spent or planned already in study {self.name!r}: "
                f"{planned:g}"
            )
