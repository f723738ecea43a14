"""Every registered policy on every built-in instance decides the same as plain ask/tell and compiled."""

import hashlib
import warnings

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.algorithms import REGISTRY
from mfbandit.core import trial_key
from mfbandit.instances import draw_of, law_arrays
from mfbandit.study import create_study
from mfbandit.study.state._planner import Planner

#: More pulls take the same branches of every policy.
PULLS = 3_000
#: MF-GRAD solves an optimisation problem before every pull, which takes milliseconds in plain Python.
SLOW = {"mf-grad": 150}
#: Except in these: two runs on rewards of 0 and 1 that come to their answers, and branches that are rare or late.
WHOLE = {
    ("lucb-top", "judges"): 20_000,
    ("iise", "figure-1a"): 20_000,
    ("lucb-b-stop", "figure-1a"): 20_000,
    ("mf-toptwo", "figure-1b"): 20_000,
}
SEED = 11


def load(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mf.errors.ModelWarning)
        return mf.load_instance(name)


def most_pulls(policy, instance):
    return WHOLE.get((policy.name, instance.name), SLOW.get(policy.name, PULLS))


def goal(policy, instance):
    """A delta, or a budget that pays for about as many pulls as are compared."""
    if policy.objective == "identify":
        return {"delta": 0.1}
    return {"budget": 0.8 * PULLS * float(instance.problem.costs.min())}


def compiled_decisions(instance, policy):
    most = most_pulls(policy, instance)
    runs = mf.simulate(instance, policy, trials=1, seed=SEED, max_pulls=most, trace=most, **goal(policy, instance))
    rows = runs.trace[0]
    return np.repeat(rows[:, :2], rows[:, 2], axis=0)


def told_decisions(instance, policy):
    """Ask and tell in plain Python, with the rewards that the simulator would draw."""
    study = create_study(instance.problem, policy=policy, **goal(policy, instance))
    law, draw, key = law_arrays(instance), draw_of(instance), trial_key(SEED, 0)
    fidelities = instance.problem.n_fidelities
    seen: dict[int, int] = {}
    decided = []
    most = most_pulls(policy, instance)
    while len(decided) < most:
        pulls = study.ask(min(500, most - len(decided)))
        if not pulls:
            break
        for pull in pulls:
            k, m = pull.arm_index, pull.fidelity_index
            stream = k * fidelities + m
            n = seen.get(stream, 0)
            seen[stream] = n + 1
            reward = draw(law, key, stream, k, m, n)
            study.tell(pull, float(instance.problem.reward.from_unit(reward)))
            decided.append((k, m))
    return np.array(decided, dtype=np.int64).reshape(-1, 2)


def fingerprint(decisions):
    return hashlib.sha256(np.ascontiguousarray(decisions, dtype=np.int64).tobytes()).hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize("name", mf.builtin_instances())
# Those that race on blocks are compared in test_blocks_simulation.py: these instances have none. The first policy,
# which takes longest to compile, comes last, when another worker has stored its machine code.
@pytest.mark.parametrize("policy", [name for name in reversed(REGISTRY) if not REGISTRY[name].kind.on_blocks])
def test_same_decisions(policy, name, monkeypatch):
    monkeypatch.setattr(Planner, "compile", lambda self, state: None)
    instance, chosen = load(name), mf.policy(REGISTRY[policy].example)
    fast, plain = compiled_decisions(instance, chosen), told_decisions(instance, chosen)
    assert len(fast) == len(plain)
    assert len(fast) > 0
    assert fingerprint(fast) == fingerprint(plain)
