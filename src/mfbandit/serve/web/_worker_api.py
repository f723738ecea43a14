"""Asking and telling over HTTP, for workers in any language."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from typing import Any, cast

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mfbandit._checks import is_number, is_whole
from mfbandit.errors import InvalidInput
from mfbandit.model import Outcome, Pull
from mfbandit.serve._open_studies import OpenStudies
from mfbandit.serve.web._answers import Json, read_json
from mfbandit.study import Study

__all__ = ["plain_pull", "worker_routes"]

#: So many pulls can be asked for, reported or renewed at once.
MOST_AT_ONCE = 1000
_LONGEST_REASON = 10_000
#: What is told of a pull.
_REPORT = ("pull", "reward", "cost", "note")
#: A year.
_LONGEST_LEASE = 366 * 86400.0
#: Numbers above it are no pulls, and no database takes them.
_LARGEST_ID = 2**53


def worker_routes(studies: OpenStudies) -> list[Route]:
    """The routes of workers."""
    found = []
    for name, work in {"ask": _ask, "tell": _tell, "fail": _fail, "heartbeat": _heartbeat, "release": _release}.items():
        found.append(Route(f"/api/studies/{{name:path}}/{name}", _endpoint(studies, work), methods=["POST"]))
    return found


def _endpoint(
    studies: OpenStudies, work: Callable[[Study, dict[str, Any]], dict[str, Any]]
) -> Callable[[Request], Awaitable[Response]]:
    """Make an endpoint of what is done with a study and what was sent."""

    async def endpoint(request: Request) -> Response:
        sent = await read_json(request)

        def step() -> dict[str, Any]:
            study = studies.get(request.path_params["name"])
            return {**work(study, sent), "status": study.known_end or study.status}

        return Json(await run_in_threadpool(step))

    return endpoint


def plain_pull(pull: Pull) -> dict[str, Any]:
    """A pull as JSON."""
    names = ("id", "arm", "fidelity", "cost", "seed", "index", "arm_index", "fidelity_index")
    found = {name: getattr(pull, name) for name in names}
    return found if pull.block is None else {**found, "block": pull.block, "block_seed": pull.block_seed}


def _ask(study: Study, sent: dict[str, Any]) -> dict[str, Any]:
    _check(sent, ("n", "lease_seconds", "people"))
    n, people = sent.get("n", 1), sent.get("people", False)
    if not isinstance(people, bool):
        raise InvalidInput(f"people must be true or false, got {str(people)[:40]!r}")
    if not is_whole(n) or not 1 <= n <= MOST_AT_ONCE:
        raise InvalidInput(f"n must be a whole number from 1 to {MOST_AT_ONCE}, got {str(n)[:40]!r}")
    pulls = study.ask(int(n), lease_seconds=_lease(sent), people=people)
    return {"pulls": [plain_pull(pull) for pull in pulls]}


def _tell(study: Study, sent: dict[str, Any]) -> dict[str, Any]:
    """One reward, or a list of them, which count all or not at all."""
    if "rewards" not in sent:
        _check(sent, _REPORT)
        return {"counted": study.tell(_id(sent.get("pull")), _outcome(sent))}
    _check(sent, ("rewards",))
    rewards = _list(sent, "rewards")
    for one in rewards:
        if not isinstance(one, dict):
            raise InvalidInput(f"rewards must be a list of objects with pull and reward, got {str(one)[:40]!r}")
        _check(one, _REPORT)
    return {"counted": study.tell_all([(_id(one.get("pull")), _outcome(one)) for one in rewards])}


def _fail(study: Study, sent: dict[str, Any]) -> dict[str, Any]:
    _check(sent, ("pull", "reason", "cost"))
    reason, cost = sent.get("reason", ""), sent.get("cost", 0.0)
    if not isinstance(reason, str):
        raise InvalidInput(f"reason must be a text, got {str(reason)[:40]!r}")
    return {"counted": study.fail(_id(sent.get("pull")), reason[:_LONGEST_REASON], cost=cost)}


def _heartbeat(study: Study, sent: dict[str, Any]) -> dict[str, Any]:
    _check(sent, ("pulls", "lease_seconds"))
    numbers: Any = [_id(one) for one in _list(sent, "pulls")]
    return {"wanted": cast(Any, study.heartbeat(numbers, lease_seconds=_lease(sent)))}


def _release(study: Study, sent: dict[str, Any]) -> dict[str, Any]:
    _check(sent, ("pulls",))
    numbers: Any = [_id(one) for one in _list(sent, "pulls")]
    study.release(numbers)
    return {}


def _check(sent: dict[str, Any], known: Collection[str]) -> None:
    for name in sent:
        if name not in known:
            raise InvalidInput(f"{name[:40]!r} is unknown here: choose from {', '.join(known)}")


def _id(number: Any) -> int:
    if not is_whole(number) or not 0 <= number < _LARGEST_ID:
        raise InvalidInput(f"a pull is named by its id, a whole number, got {str(number)[:40]!r}")
    return int(number)


def _outcome(sent: dict[str, Any]) -> float | Outcome:
    reward, cost, note = (sent.get(name) for name in ("reward", "cost", "note"))
    if not is_number(reward):
        raise InvalidInput(f"a reward must be a number, got {str(reward)[:40]!r}")
    if note is not None and (not isinstance(note, str) or len(note) > _LONGEST_REASON):
        raise InvalidInput(f"a note must be a text of at most {_LONGEST_REASON} letters")
    return reward if cost is None and note is None else Outcome(reward, cost, note)


def _lease(sent: dict[str, Any]) -> float | None:
    lease = sent.get("lease_seconds")
    if lease is not None and (not is_number(lease) or not 0.0 < lease <= _LONGEST_LEASE):
        raise InvalidInput(f"lease_seconds must be a number from 0 to {_LONGEST_LEASE:g}, got {str(lease)[:40]!r}")
    return lease


def _list(sent: dict[str, Any], name: str) -> list[Any]:
    found = sent.get(name)
    if not isinstance(found, list) or len(found) > MOST_AT_ONCE:
        raise InvalidInput(f"{name} must be a list of at most {MOST_AT_ONCE}")
    return found
