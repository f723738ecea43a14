"""Reading the certificate of a race on blocks, strictly, and checking that its log is a possible one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mfbandit.algorithms import read_policy
from mfbandit.certificate._document import FORMAT, VERSION
from mfbandit.certificate._goal_document import GoalCertificate
from mfbandit.certificate._race_document import BLOCKS, BlockRound, RaceCertificate
from mfbandit.certificate._reading import check_parts, read_digest, read_mapping, read_paid
from mfbandit.certificate._statistics import read_count, read_number
from mfbandit.core import Goal, block_order
from mfbandit.errors import InvalidInput
from mfbandit.model import Problem, read_question

__all__ = ["log_faults", "read_race_certificate"]

_KEYS = ("problem", "policy", "delta", "epsilon", "seed", "answer", "rounds", "rewards", "log")
#: Numbers of an entry of "opened" and of "rows".
_OPENED, _ROW = 4, 3
#: The order of more blocks than that is not made anew: a file must not be able to fill the memory.
_MOST = 10_000_000


def read_race_certificate(found: Mapping[str, Any]) -> RaceCertificate:
    """Read what was measured, strictly; what follows from it is left aside."""
    if not isinstance(found, Mapping) or found.get("format") != FORMAT or found.get("kind") != BLOCKS:
        raise InvalidInput(f"it has no format {FORMAT!r} of kind {BLOCKS!r}")
    check_parts(found, VERSION, _KEYS)
    problem = Problem.from_json(read_mapping(found["problem"], "problem"))
    if problem.blocks is None:
        raise InvalidInput(f"its problem has no blocks, and its kind is {BLOCKS!r}")
    if isinstance(problem.blocks, int) and problem.blocks > _MOST:
        raise InvalidInput(f"its problem has {problem.blocks} blocks; the order of at most {_MOST} can be checked")
    policy = read_policy(read_mapping(found["policy"], "policy"))
    if getattr(policy, "independent", False):
        raise InvalidInput("its policy draws blocks independently, so that no two arms share them")
    delta, epsilon = read_number(found["delta"], "delta"), read_number(found["epsilon"], "epsilon")
    question = read_question(read_mapping(found["goal"], "goal")) if "goal" in found else None
    question = question and question.for_problem(problem, epsilon)
    policy.check(problem, Goal(delta, epsilon, question=question))
    answer = found["answer"] if question is None else None
    if answer is not None and answer not in problem.arms:
        raise InvalidInput(f"the answer {answer!r} is none of the arms")
    measured: dict[str, Any] = {
        "problem": problem,
        "policy": policy,
        "delta": delta,
        "epsilon": epsilon,
        "seed": read_count(found["seed"], "seed"),
        "answer": answer,
        "rounds": tuple(_rounds(found["rounds"], problem, policy.columns(problem))),
        "rewards": tuple(_rewards(found["rewards"], problem)),
        "log": read_digest(found["log"]),
        "paid": read_paid(found),
    }
    if question is not None:
        return GoalCertificate(**measured, question=question, chosen=_chosen(found["answer"], problem))
    certificate = RaceCertificate(**measured, **_open_arms(found, problem, len(policy.columns(problem))))
    if answer is not None and answer not in certificate.arms:
        raise InvalidInput(f"the answer {answer!r} is none of the arms that are there")
    return certificate


def _chosen(found: Any, problem: Problem) -> tuple[str, ...]:
    """The arms that are the answer to another question than which is the best."""
    names = _list(found, "answer")
    if not all(isinstance(arm, str) and arm in problem.arms for arm in names) or len(set(names)) < len(names):
        raise InvalidInput(f"answer must name arms of the problem, each once, not {found!r}")
    return tuple(names)


def _open_arms(found: Mapping[str, Any], problem: Problem, lanes: int) -> dict[str, Any]:
    """Who was there, where arms might join and leave."""
    if "arms_there" not in found:
        return {}
    check_parts(found, VERSION, ("arms_there", "gone", "joined"))
    there = read_count(found["arms_there"], "arms_there")
    if not 1 <= there <= problem.n_arms:
        raise InvalidInput(f"{there} arms cannot be there, with {problem.n_arms} places")
    gone = _list(found["gone"], "gone")
    if not all(isinstance(arm, str) for arm in gone) or not set(gone) <= set(problem.arms[:there]):
        raise InvalidInput(f"gone must name arms that were there, not {gone!r}")
    joined = [_numbers(blocks, lanes, "an entry of joined") for blocks in _list(found["joined"], "joined")]
    if len(joined) >= there or any(min(blocks) < 0 for blocks in joined):
        raise InvalidInput(f"joined must say how many blocks were open, for fewer than {there} arms")
    if problem.order == "shared" and any(len(set(blocks)) > 1 for blocks in joined):
        raise InvalidInput("fidelities share their blocks: an arm joins all of them at the same one")
    return {"arms_there": there, "gone": tuple(gone), "joined": tuple(map(tuple, joined))}


def _rounds(found: Any, problem: Problem, columns: list[int]) -> Iterator[BlockRound]:
    for number, one in enumerate(_list(found, "rounds")):
        what = f"round {number}"
        if not isinstance(one, Mapping) or set(one) != {"opened", "rows"}:
            raise InvalidInput(f"{what} must hold opened and rows")
        opened = [_numbers(entry, _OPENED, f"an opened block of {what}") for entry in _list(one["opened"], what)]
        rows = [_numbers(entry, _ROW, f"a row of {what}") for entry in _list(one["rows"], what)]
        for column, index, leader, second in opened:
            _check_column(column, columns, what)
            if index < 0 or not all(-1 <= arm < problem.n_arms for arm in (leader, second)):
                raise InvalidInput(f"{what} opens block {index} for the leaders {leader} and {second}")
            if leader == second != -1:
                raise InvalidInput(f"{what} declares arm {leader} both as leader and as runner-up")
        for arm, column, pulls in rows:
            _check_column(column, columns, what)
            if not 0 <= arm < problem.n_arms or pulls < 1:
                raise InvalidInput(f"{what} asks for {pulls} pulls of arm {arm}")
        if not rows:
            raise InvalidInput(f"{what} asks for no pulls")
        yield BlockRound(
            tuple((m, i, a, b) for m, i, a, b in opened),
            tuple((arm, m, pulls) for arm, m, pulls in rows),
        )


def _check_column(column: int, columns: list[int], what: str) -> None:
    if column not in columns:
        raise InvalidInput(f"{what} uses fidelity {column}, which is none of the policy's")


def _rewards(found: Any, problem: Problem) -> Iterator[float | None]:
    low, high = problem.reward.low, problem.reward.high
    for value in _list(found, "rewards"):
        if value is None:
            yield None
            continue
        reward = read_number(value, "a reward")
        if not math.isfinite(reward) or (low is not None and high is not None and not low <= reward <= high):
            raise InvalidInput(f"the reward {reward!r} is outside the range of rewards")
        yield reward


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidInput(f"{what} must be a list, not {value!r}")
    return value


def _numbers(value: Any, size: int, what: str) -> list[int]:
    listed = _list(value, what)
    if len(listed) != size or not all(isinstance(n, int) and not isinstance(n, bool) for n in listed):
        raise InvalidInput(f"{what} must be {size} whole numbers, not {value!r}")
    return listed


def log_faults(certificate: RaceCertificate) -> Iterator[str]:
    """Why no study can have had this log: its order of blocks, what was declared when, and prefixes."""
    problem, columns = certificate.problem, certificate.columns
    shared, finite = problem.order == "shared", problem.blocks != "unlimited"
    size = int(problem.blocks) if finite and problem.blocks is not None else 0
    order = block_order(certificate.seed, problem.n_fidelities, size, shared) if finite else None
    opened = dict.fromkeys(columns, 0)
    known = np.zeros((problem.n_arms, problem.n_fidelities), dtype=np.int64)
    declared: list[tuple[int, int]] = []
    for number, one in enumerate(certificate.rounds):
        for column, index, *leaders in one.opened:
            position = opened[column]
            opened[column] += 1
            if finite and position >= size:
                yield f"round {number} opens more than the {size} blocks that there are"
                return
            due = position if order is None else int(order[column, position])
            if index != due:
                yield f"round {number} opens block {index}, where the seed gives {due}"
                return
            if shared and position < len(declared):
                if declared[position] != tuple(leaders):
                    yield f"round {number} declares other leaders for block {index} than the fidelity that had it first"
                    return
            elif shared:
                declared.append((leaders[0], leaders[1]))
        for arm, column, pulls in one.rows:
            known[arm, column] += pulls
            if not certificate.may_measure(arm, [opened[m] for m in columns]):
                yield f"round {number} measures arm {problem.arms[arm]!r} before it has joined"
                return
            if known[arm, column] > opened[column]:
                yield f"round {number} measures arm {problem.arms[arm]!r} on blocks that were not opened before"
                return
    asked = [one.pulls for one in certificate.rounds]
    if not sum(asked[:-1]) <= len(certificate.rewards) <= sum(asked):
        yield f"there are {len(certificate.rewards)} rewards for {sum(asked)} pulls, the last {asked[-1:]} of one round"
