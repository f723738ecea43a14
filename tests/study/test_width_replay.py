"""Opening a study whose rounds were planned while others were out: all at once, as if step by step."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from wide import PROBLEM, Player

import mfbandit as mf
from mfbandit.core import fields
from mfbandit.storage import MemoryStorage, open_storage
from mfbandit.study import create_study
from mfbandit.study.state import _replay
from mfbandit.study.state._wide_state import study_state_of

NORMAL = mf.Problem(["a", "b", "c", "d"], [("quick", 1.0, 0.3), ("exact", 4.0)], reward=mf.Gaussian(sigma=0.5))


@pytest.fixture(autouse=True)
def uncompiled(monkeypatch):
    """Short studies are over before their policies are compiled."""
    monkeypatch.setattr("mfbandit.study.state._planner._LOOK_AFTER_SECONDS", math.inf)


class Prefix:
    """The beginning of a log."""

    def __init__(self, records):
        self.records = records

    def read(self, after):
        return self.records[after:]


def facts(study_state):
    """All that a state decides by, pulls by their numbers."""
    state, playing = study_state.state, study_state.round
    first, counted = playing.first, playing.first + playing.folded
    arrays = {name: getattr(state, name) for name in state._fields} | fields(state.own)
    free = {place for place in playing._returned if place not in playing.leases and not playing.told(place)}
    return [
        {name: array.tobytes() for name, array in arrays.items() if isinstance(array, np.ndarray)},
        [array.tobytes() for array in study_state._flying],
        [playing.rows_out(), playing.lasts[playing.row :], playing.begins, counted, study_state.asked],
        {first + place: lease for place, lease in playing.leases.items()},
        {first + place: reward for place, reward in playing.waiting.items()},
        [max(first + playing.fresh, counted), {first + place for place in free}],
        {first + place for place in playing.skipped if first + place >= counted},
        [study_state.rounds, study_state.status, study_state.cost, study_state.due, study_state.hold_up()],
    ]


@pytest.mark.parametrize(
    ("problem", "policy"),
    [(PROBLEM, "mf-toptwo"), (NORMAL, "mf-toptwo"), (PROBLEM, "lucb-top:batch=8"), (PROBLEM, "lucb-c")],
    ids=["marked", "normal", "batches", "pairs"],
)
def test_a_log_that_is_read_at_once_amounts_to_the_same(problem, policy, monkeypatch):
    study = create_study(problem, policy=policy, width=8, delta=0.1, max_cost=1000.0, storage=MemoryStorage(), name="s")
    # Whoever opens a study writes what its plans change, not what has counted before.
    Player(6, 1, reopened=0.1).play(study, steps=250)
    records, luck, at_once = study.storage.log("s").read(0), random.Random(2), []
    whole = _replay._replay_counted
    monkeypatch.setattr(_replay, "_replay_counted", lambda *given: (at_once.append(1), whole(*given)))
    for length in [len(records), *(luck.randrange(len(records)) for _ in range(12))]:
        stepped = study_state_of(study.made_with)
        stepped.apply(records[:length])
        read, opened = _replay.replay(study.made_with, Prefix(records[:length]))
        assert read == length
        assert facts(opened) == facts(stepped)
    assert len(at_once) > 10


@pytest.mark.parametrize("failing", [False, True])
def test_a_database_gives_what_is_out(tmp_path, failing):
    """Leases before the last round are among what is read, as whoever goes on needs them."""
    path = str(tmp_path / "s.db")
    study = create_study(PROBLEM, policy="lucb-top", width=8, storage=path, name="s", retries=5)
    player = Player(7, 1)
    player.play(study, steps=120)
    if failing:
        study.fail(player.out.pop(), "no answer")
    storage = open_storage(path)
    length, opened = _replay.replay(study.made_with, storage.log("s"))
    assert length == study.known_length
    assert facts(opened) == facts(study.current())
    assert len(opened.round.leases) == len(player.out)
    storage.close()
