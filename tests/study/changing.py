"""What tests of studies that change share: small problems, rewards, and how two studies are compared."""

import random

import mfbandit as mf
from mfbandit.study import Study
from mfbandit.study.state.rounds._round_record import dump_state

PROBLEM = mf.Problem(["a", "b", "c"], [("quick", 1.0, 0.1), ("exact", 3.0, 0.0)])
ITEMS = mf.Problem(["a", "b", "c"], [("only", 1.0)], blocks=120)
NORMAL = mf.Problem(["a", "b", "c"], [("only", 1.0)], mf.Gaussian(), blocks="unlimited")
MEANS = {"a": 0.2, "b": 0.8, "c": 0.4}


def reward_of(pull):
    noise = random.Random(pull.seed if pull.block_seed is None else f"{pull.block_seed} {pull.arm}").random()
    return min(1.0, max(0.0, MEANS[pull.arm] + 0.5 * (noise - 0.5)))


def play(study: Study, at_once: int = 4) -> None:
    """Evaluate pulls, each time in another order, until nothing can be asked for."""
    luck = random.Random(1)
    while pulls := study.ask(at_once):
        luck.shuffle(pulls)
        for pull in pulls:
            study.tell(pull, reward_of(pull))


def assert_same(one: Study, other: Study) -> None:
    first, second = one.current(), other.current()
    assert (first.status, first.asked, first.rounds, first.cost) == (
        second.status,
        second.asked,
        second.rounds,
        second.cost,
    )
    assert first.settings == second.settings
    assert dump_state(first.state) == dump_state(second.state)
