"""What every policy must do."""

from __future__ import annotations

import dataclasses
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mfbandit.algorithms import REGISTRY, Policy, read_policy
from mfbandit.core import State, fields, uniform
from mfbandit.errors import PolicyError
from mfbandit.instances import BlockTableLaw, Instance
from mfbandit.model import Problem
from mfbandit.simulation import simulate
from mfbandit.storage import LEASE, MemoryStorage
from mfbandit.study import Header, Study, create_study
from mfbandit.study.state import StudyState

__all__ = ["PolicyContract"]

#: A true claim fails its test with a probability of at most this.
_SIGNIFICANCE = 1e-6
_FIDELITIES = [("quick", 1.0, 0.1), ("exact", 4.0, 0.0)]
_ARMS = ["a", "b", "c"]


class PolicyContract(ABC):
    """Tests for pytest; a subclass makes the policy, and says how large tests are to be.

    Examples
    --------
    >>> import mfbandit as mf
    >>> class TestMine(PolicyContract):
    ...     def policy(self):
    ...         return mf.policy("lucb-c")
    >>> TestMine().test_recommend_only_looks()
    """

    #: Pulls of each run that is compared step by step.
    pulls: int = 300
    #: Independent runs for the test of the guarantee, and the probability of an error that they allow.
    trials: int = 300
    delta: float = 0.1
    #: Where a run of these ends, so that a policy that is slow to stop is not waited for.
    most_pulls: int = 20_000

    @abstractmethod
    def policy(self) -> Policy:
        """The policy under test."""

    def bad_options(self) -> Sequence[Mapping[str, Any]]:
        """Options that the policy must refuse; add those of your own."""
        return [{"fidelities": "cheap"}, {"fidelities": "0+0"}, {"batch": -1}, {"batch": True}]

    def instances(self) -> list[Instance]:
        """Two instances that the policy is made for."""
        if self.policy().on_blocks:
            return [_blocks(0.15, seed=1), _blocks(0.05, seed=2)]
        problem = Problem(_ARMS, _FIDELITIES, reward="bernoulli")
        return [
            Instance(problem, means=[[0.85, 0.9], [0.5, 0.5], [0.2, 0.1]]),
            Instance(problem, means=[[0.5, 0.4], [0.45, 0.55], [0.9, 0.95]]),
        ]

    def test_it_says_what_it_is(self) -> None:
        """Its text and its JSON read back as the same policy, if it is registered; its JSON is plain."""
        policy = self.policy()
        plain = json.loads(json.dumps(policy.to_json()))
        assert plain["name"] == policy.name
        assert dataclasses.replace(policy) == policy
        if policy.name in REGISTRY:
            assert read_policy(policy.label) == policy
            assert read_policy(plain) == policy
            assert REGISTRY[policy.name].summary
        assert policy.objective in ("identify", "regret")

    def test_bad_options_are_refused(self) -> None:
        """A bad option is refused by an error that names it."""
        policy = self.policy()
        known = {field.name for field in dataclasses.fields(policy)} - policy.preset
        for options in self.bad_options():
            if set(options) <= known:
                said = _refusal(policy, options)
                assert any(option in said for option in options), f"the refusal of {dict(options)} does not name it"

    def test_plain_and_compiled_decide_the_same(self) -> None:
        """The text decides the same as plain Python and as compiled code."""
        for instance in self.instances():
            goal = self._goal(instance)
            runs = [
                simulate(
                    instance, self.policy(), trials=1, max_pulls=self.pulls, trace=self.pulls, device=device, **goal
                )
                for device in ("python", "cpu")
            ]
            for part in ("trace", "pulls", "cost", "best", "stopped"):
                plain, fast = (getattr(run, part) for run in runs)
                assert np.array_equal(plain, fast), f"{part} differs"

    def test_plans_keep_within_their_rows(self) -> None:
        """A round has no more rows than were announced, all of them of arms and fidelities that there are."""
        for study_state in self._rounds():
            planner = study_state.planner
            arms, columns = planner.problem.cost.shape
            assert len(study_state.round.rows) <= planner.algorithm.rows
            for row in study_state.round.rows:
                assert 0 <= row.cell[0] < arms
                assert 0 <= row.cell[1] < columns
                assert row.size >= 1

    def test_no_run_costs_more_than_it_may(self) -> None:
        """Neither a budget nor a limit is exceeded."""
        for instance in self.instances():
            goal, most = self._goal(instance), 25.0 * float(instance.problem.costs.max())
            limit = {"budget": most} if "budget" in goal else {**goal, "max_cost": most}
            runs = simulate(instance, self.policy(), trials=5, max_pulls=self.most_pulls, **limit)
            assert (runs.cost <= most).all()

    def test_recommend_only_looks(self) -> None:
        """To ask for the answer changes nothing, and the answer is an arm."""
        for study_state in self._rounds():
            planner, before = study_state.planner, _snapshot(study_state.state)
            answer = int(planner.algorithm.recommend(planner.problem, planner.algorithm.params, study_state.state))
            assert 0 <= answer < planner.problem.cost.shape[0]
            assert _snapshot(study_state.state) == before, "recommend has written into the state"

    def test_a_study_goes_on_with_what_it_remembered(self) -> None:
        """A study that is stored and opened again has the same memory, field by field, and decides the same."""
        for instance in self.instances():
            study = self._study(instance)
            _play(study, 40)
            again = _opened_again(study)
            ours, theirs = (fields(one.current().state.own, kept=True) for one in (study, again))
            assert list(ours) == list(theirs)
            for name, array in ours.items():
                assert array.tobytes() == theirs[name].tobytes(), f"{name!r} was not stored"
            assert _play(study, 60) == _play(again, 60)

    def test_answers_are_wrong_no_more_often_than_claimed(self) -> None:
        """A policy that claims a guarantee keeps it, by an exact binomial test."""
        for instance in self.instances():
            if self.policy().spends or not self.policy().proven_for(instance.problem):
                continue
            runs = simulate(
                instance, self.policy(), trials=self.trials, delta=self.delta, max_pulls=self.most_pulls, seed=7
            )
            wrong = int(runs.wrong.sum())
            assert _tail(wrong, self.trials, self.delta) > _SIGNIFICANCE, f"{wrong} of {self.trials} runs were wrong"
            assert runs.stopped.any(), "no run has stopped by itself"

    def _goal(self, instance: Instance) -> dict[str, Any]:
        if not self.policy().spends:
            return {"delta": self.delta}
        return {"budget": 0.8 * self.pulls * float(instance.problem.costs.min())}

    def _study(self, instance: Instance) -> Study:
        return create_study(instance.problem, policy=self.policy(), seed=3, **self._goal(instance))

    def _rounds(self) -> Iterator[StudyState]:
        """Studies of the instances after every round that they plan."""
        for instance in self.instances():
            study = self._study(instance)
            for _ in range(self.pulls):
                _play(study, 1)
                if study.done:
                    break
                yield study.current()


def _refusal(policy: Policy, options: Mapping[str, Any]) -> str:
    """What is said of bad options; nothing if they are taken."""
    try:
        dataclasses.replace(policy, **options)
    except PolicyError as error:
        return str(error)
    return ""


def _blocks(gap: float, seed: int) -> Instance:
    """An instance of a race whose arms share the luck of their blocks."""
    rng = np.random.default_rng(seed)
    luck = rng.uniform(0.2, 0.6, 200)
    noise = rng.uniform(-0.05, 0.05, (3, 2, 200))
    values = luck + noise + gap * np.array([1.0, 0.0, -1.0])[:, None, None]
    return Instance(Problem(_ARMS, _FIDELITIES, blocks=200), law=BlockTableLaw(values))


def _opened_again(study: Study) -> Study:
    """The same study in another process, by its log alone."""
    storage = MemoryStorage()
    records = [record for record in study.storage.log(study.name).read(0) if record.kind != LEASE]
    storage.create(study.name, "{}", records)
    return Study(storage, study.name, Header(study.made_with, study.identity, study.code.digest))


def _play(study: Study, pulls: int) -> list[tuple[int, int]]:
    """Decisions of so many pulls, with rewards that depend on the arm and on luck."""
    decided: list[tuple[int, int]] = []
    while len(decided) < pulls and not study.done:
        for pull in study.ask():
            decided.append((pull.arm_index, pull.fidelity_index))
            luck = uniform(5, pull.arm_index, pull.fidelity_index, pull.index)
            study.tell(pull, float(luck < (0.9, 0.6, 0.1)[pull.arm_index]))
    return decided


def _snapshot(state: State) -> list[bytes]:
    """All bits of a state."""
    arrays = [*fields(state.own).values(), *state.blocks, *(part for part in state if isinstance(part, np.ndarray))]
    return [array.tobytes() for array in arrays]


def _tail(count: int, trials: int, probability: float) -> float:
    """The probability of so many successes or more.

    Examples
    --------
    >>> _tail(0, 10, 0.3), round(_tail(2, 2, 0.3), 12)
    (1.0, 0.09)
    """
    if count == 0:
        return 1.0
    terms = (
        math.comb(trials, k) * probability**k * (1.0 - probability) ** (trials - k) for k in range(count, trials + 1)
    )
    return min(1.0, math.fsum(terms))
