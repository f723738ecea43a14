"""Rewards that are kept as far as each arm is known: the same evidence as from a table, from the same state."""

import math

import numpy as np
import pytest

import mfbandit as mf
from mfbandit.confidence.race import LaneCells, Race, weights
from mfbandit.confidence.race._student_paths import student_peaks
from mfbandit.core import arrays, enlarged, new_state, observe_block, reward_at, with_deep_rows


def ragged(arms: int, seed: int) -> tuple[mf.Problem, np.ndarray, np.ndarray, np.ndarray]:
    """A race of normal rewards in which arms are known on 0 to 40 blocks, with declared leaders."""
    rng = np.random.default_rng(seed)
    known = rng.integers(0, 41, (arms, 1))
    known[:3] = 40
    rewards = rng.normal(0.0, 1.0, (1, arms, 40)) + 0.5 * rng.normal(0.0, 1.0, (1, 1, 40))
    rewards[0, 0] += 1.0
    rewards[np.arange(40) >= known.T[:, :, None]] = math.nan
    rewards[0, 3, min(5, int(known[3, 0]))] = math.nan
    declared = np.full((1, 40, 2), -1)
    declared[0, 2:9, 0], declared[0, 9:, 0], declared[0, 2:, 1] = 1, 0, 2
    problem = mf.Problem(arms, [("only", 1.0)], mf.Gaussian(caution=1.0), blocks="unlimited")
    return problem, rewards, known, declared


@pytest.mark.parametrize("seed", range(2))
def test_cells_and_tables_give_the_same_evidence(seed: int) -> None:
    problem, rewards, known, declared = ragged(52, seed)
    order = np.argsort(np.random.default_rng(seed).random(known.sum()), kind="stable")
    of_arm = np.repeat(np.arange(52), known[:, 0])[order]
    # Rewards of an arm in their order, those of different arms in any.
    values = np.empty(of_arm.size)
    for arm in range(52):
        values[of_arm == arm] = rewards[0, arm, : known[arm, 0]]
    cells = LaneCells.in_order(52, of_arm, values)
    table = Race(problem, [0], 0.05, 0.3, rewards, known, declared)
    sparse = Race(problem, [0], 0.05, 0.3, [cells], known, declared)
    np.testing.assert_array_equal(table.log_wrong(0), sparse.log_wrong(0))
    assert table.regret_bound(0) == sparse.regret_bound(0)
    assert (
        table._scale(np.array([0, 5]), np.array([4, 6])).tolist()
        == sparse._scale(np.array([0, 5]), np.array([4, 6])).tolist()
    )


def test_a_leader_is_shown_to_be_within_epsilon_by_its_own_process() -> None:
    problem, rewards, known, declared = ragged(60, 1)
    declared[0, 1:, 0] = 0
    race = Race(problem, [0], 0.05, 0.3, rewards, known, declared)
    others, guards = np.array([1, 2]), race._guards[0]
    shift, need = np.full(2, -0.3), np.full(2, -math.inf)
    pairs = student_peaks(guards, np.zeros(2, dtype=int), others, shift, need)
    # Arm 0 is the first to lead, from the second block on.
    own = student_peaks(guards, np.zeros(2, dtype=int), others, shift, need, 1)
    given = weights(60, student=True, led=True)
    expected = np.maximum(pairs + math.log(given.pair), own + math.log(given.leader / 2.0))
    np.testing.assert_allclose(race._log_q(0)[others], np.minimum(0.0, -expected), rtol=1e-12)
    assert (own + math.log(given.leader / 2.0) > pairs + math.log(given.pair)).all()


def test_later_rewards_have_rows_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mfbandit.core._blocks._CELLS", 100)
    problem = mf.Problem(5, [("quick", 0.1, 0.1), ("exact", 1.0)], mf.Gaussian(), blocks="unlimited")
    state = new_state(arrays(problem))
    held = state.blocks.rewards.shape[2]
    for room in (2 * held, 4 * held):
        state = state._replace(blocks=enlarged(state.blocks, room))
    assert state.blocks.rewards.shape[2] == held
    far = [(3, 1), (0, 0), (3, 1)]
    state = state._replace(blocks=with_deep_rows(state.blocks, far))
    state = state._replace(blocks=with_deep_rows(state.blocks, [(4, 0)]))
    counts = {(3, 1): 3 * held, (0, 0): held + 1, (4, 0): held + 2, (2, 1): 7}
    for number in range(3 * held):
        for (arm, lane), count in counts.items():
            if number < count:
                observe_block(state, arm, lane, 100.0 * number + 10.0 * lane + arm)
    for lane in range(2):
        cells = LaneCells.of_blocks(state.blocks, lane, state.pulls[:, lane])
        for arm in range(5):
            count = counts.get((arm, lane), 0)
            expected = [100.0 * number + 10.0 * lane + arm for number in range(count)]
            assert [reward_at(state.blocks, lane, arm, number) for number in range(count)] == expected
            assert cells.rows(np.array([arm]), 0, count)[0].tolist() == expected
