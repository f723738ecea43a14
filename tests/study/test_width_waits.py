"""Wide studies say why they hand out nothing."""

from functools import partial

from wide import PROBLEM, Player, reward_of, rounds_of

import mfbandit as mf
from mfbandit.study import create_study

WIDTH = 8
make = partial(create_study, PROBLEM, width=WIDTH, delta=0.1)
PAIR = mf.Problem(["a", "b"], [("quick", 1.0, 0.1), ("exact", 2.0, 0.0)], reward="bernoulli")


def test_a_study_says_why_it_hands_out_nothing():
    study = make()
    assert study.view().hold_up.kind == ""
    # The first plans wait for some of the first results.
    out = study.ask(WIDTH)
    assert len(out) < WIDTH
    assert (study.view().hold_up.kind, study.view().hold_up.pull) == ("lag", out[0].id)
    while len(out) < WIDTH:
        study.tell(out[0], reward_of(out[0]))
        out = [*out[1:], *study.ask(WIDTH)]
    assert study.ask() == []
    assert study.view().hold_up.kind == "width"
    # The first is the slowest: plans run ahead of it only so far.
    slowest, kinds = out[0], set()
    while fast := [pull for pull in out if pull.id != slowest.id]:
        for pull in fast:
            study.tell(pull, reward_of(pull))
        out = [slowest, *study.ask(WIDTH)]
        kinds.add(study.view().hold_up.kind)
    held = study.view().hold_up
    assert (held.kind, held.pull) == ("lag", slowest.id)
    assert kinds <= {"", "width", "lag"}
    study.tell(slowest, reward_of(slowest))
    assert study.view().hold_up.kind == ""
    # What is out would end it, or nothing more can be paid for.
    found = set()
    for wide in (create_study(PAIR, width=64), make(max_cost=20.0)):
        study, player = wide, Player(64, reward=lambda pull: float(pull.arm == "a"))
        while not study.done:
            player.play(study, 1)
            found.add(study.view().hold_up.kind)
    assert {"expected", "limit"} <= found


def test_fidelities_with_a_limit_of_their_own_wait():
    problem = mf.Problem(["a", "b"], [mf.Fidelity("human", 1.0, at_most=2)], reward="bernoulli")
    study = create_study(problem, width=WIDTH)
    assert len(study.ask(WIDTH)) == 2
    held = study.view().hold_up
    assert (held.kind, held.fidelity) == ("at_most", 0)
    # The others go on, and what is decided is the same.
    shared = mf.Problem(
        PROBLEM.arms, [mf.Fidelity("quick", 1.0, 0.1), mf.Fidelity("exact", 4.0, at_most=1)], "bernoulli"
    )
    study, player = create_study(shared, width=WIDTH, delta=0.1), Player(WIDTH)
    most = 0
    while not study.done:
        player.play(study, 1)
        most = max(most, sum(pull.fidelity == "exact" for pull in player.out))
    assert most == 1
    assert rounds_of(study) == rounds_of(Player(1).play(make()))
    narrow = create_study(PROBLEM)
    first, *_ = narrow.ask(100)
    held = narrow.view().hold_up
    assert (held.kind, held.pull) == ("round", first.id)
