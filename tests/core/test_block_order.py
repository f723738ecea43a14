"""Orders and seeds of blocks: fair, the same for all arms, and the same compiled."""

import itertools

import numpy as np
import pytest
from scipy import stats

from mfbandit.core import block_order, block_seed, lane_seed, own_block, shuffle, trial_key
from mfbandit.errors import InvalidInput
from mfbandit.kernel import compiled


def signed(key):
    return key - 2**64 if key >= 2**63 else key


def test_orders_are_permutations_of_their_own_or_one_for_all():
    own, shared = block_order(3, 3, 200, shared=False), block_order(3, 3, 200, shared=True)
    assert all(sorted(row) == list(range(200)) for row in np.vstack([own, shared]).tolist())
    assert (shared == shared[0]).all()
    assert (own[0] == shared[0]).all()
    assert (own[0] != own[1]).any()
    assert (own[1] != own[2]).any()
    assert (own != block_order(4, 3, 200, shared=False)).any()
    assert block_order(0, 2, 1, shared=False).tolist() == [[0], [0]]


def test_every_order_of_four_comes_equally_often():
    fill, order = compiled(shuffle, store=False), np.zeros(4, dtype=np.int64)
    seen = dict.fromkeys(itertools.permutations(range(4)), 0)
    for trial in range(24_000):
        fill(order, signed(trial_key(7, trial)), 1)
        seen[tuple(order.tolist())] += 1
    assert stats.chisquare(list(seen.values())).pvalue > 1e-3


def test_orders_of_two_fidelities_are_independent():
    fill, first, second = compiled(shuffle, store=False), np.zeros(5, dtype=np.int64), np.zeros(5, dtype=np.int64)
    seen = np.zeros((5, 5))
    for trial in range(20_000):
        fill(first, signed(trial_key(1, trial)), 0)
        fill(second, signed(trial_key(1, trial)), 1)
        seen[first[0], second[0]] += 1
    assert stats.chisquare(seen.ravel()).pvalue > 1e-3


def test_plain_and_compiled_are_the_same():
    key = trial_key(9, 0)
    order = np.zeros(100, dtype=np.int64)
    compiled(shuffle, store=False)(order, signed(key), 2)
    assert order.tolist() == block_order(9, 3, 100, shared=False)[2].tolist()
    seed, own = compiled(lane_seed, store=False), compiled(own_block, store=False)
    for n in range(200):
        assert seed(signed(key), 1, n) == lane_seed(key, 1, n)
        for size in (0, 37):
            assert own(signed(key), 4, n, size) == own_block(key, 4, n, size)
            assert 0 <= own_block(key, 4, n, size) < (size or 2**62)


def test_block_seeds_differ_by_study_fidelity_and_block():
    seeds = {block_seed(s, lane, block) for s in range(5) for lane in range(4) for block in range(100)}
    assert len(seeds) == 2000
    assert all(0 <= seed < 2**31 for seed in seeds)
    assert block_seed(5, "shared", 8) == block_seed(5, 0, 8)
    with pytest.raises(InvalidInput, match="'truth'"):
        block_seed(5, "truth", 8)
