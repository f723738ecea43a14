"""Reward kinds: their range, their noise and the unit scale."""

import json
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mfbandit.errors import ProblemError
from mfbandit.model import Bernoulli, Bounded, Gaussian, as_reward_kind


@pytest.mark.parametrize("sigma", [0, -1, np.nan, np.inf, "1", [1, 2]])
def test_sigma_must_be_a_positive_number(sigma: Any) -> None:
    with pytest.raises(ProblemError, match="sigma of a Gaussian reward"):
        Gaussian(sigma)


@pytest.mark.parametrize(
    ("low", "high"),
    [(1, 1), (2, 1), (np.nan, 1), (0, np.inf), ("0", 1), ([0], 1), (-1.5e308, 1.5e308)],
)
def test_a_range_must_have_a_finite_width(low: Any, high: Any) -> None:
    with pytest.raises(ProblemError, match="the reward range"):
        Bounded(low, high)


def test_kinds_convert_to_unit_scale_and_back() -> None:
    stars = Bounded(low=1, high=np.float64(5))
    assert (stars.low, stars.high, stars.span) == (1.0, 5.0, 4.0)
    assert (stars.to_unit(1.0), stars.to_unit(5.0), stars.from_unit(0.25)) == (0.0, 1.0, 2.0)
    np.testing.assert_array_equal(stars.to_unit(np.array([1.0, 3.0])), [0.0, 0.5])
    assert (Bernoulli().low, Bernoulli().high, Bernoulli().span) == (0.0, 1.0, 1.0)
    noise = Gaussian(2)
    assert (noise.low, noise.high, noise.span, noise.sigma) == (None, None, 1.0, 2.0)
    for kind in (Bernoulli(), noise):
        assert kind.to_unit(0.3) == kind.from_unit(0.3) == 0.3


finite = st.floats(-1e6, 1e6)


@given(low=finite, width=st.floats(1e-3, 1e6), share=st.floats(0, 1))
def test_the_ends_of_a_range_are_exact_and_the_rest_comes_back(low: float, width: float, share: float) -> None:
    kind = Bounded(low, low + width)
    assert (kind.from_unit(0.0), kind.from_unit(1.0)) == (kind.low, kind.high)
    assert (kind.to_unit(kind.low), kind.to_unit(kind.high)) == (0.0, 1.0)
    reward = kind.from_unit(share)
    assert kind.from_unit(kind.to_unit(reward)) == pytest.approx(reward, rel=1e-9, abs=1e-9)


def test_a_variance_may_be_unknown():
    assert Gaussian() == as_reward_kind("gaussian") == as_reward_kind({"kind": "gaussian"})
    assert (Gaussian().sigma, Gaussian().caution, Gaussian().resolution) == (None, 1.0, None)
    assert Gaussian() != Gaussian(1.0)
    assert Gaussian() != Gaussian(caution=0)
    assert Gaussian() != Gaussian(resolution=0.1)
    assert Gaussian().near(1e9) == Gaussian()


@pytest.mark.parametrize(
    "kind",
    [
        Gaussian(),
        Gaussian(caution=0),
        Gaussian(caution=5, resolution=1 / 114),
        Gaussian(origin=7.0),
        Bounded(0, 1, swing=0.25),
        Bounded(-3, 9, swing=24),
    ],
)
def test_kinds_for_blocks_are_read_back(kind):
    again = as_reward_kind(json.loads(json.dumps(kind.to_json())))
    assert again == kind == pickle.loads(pickle.dumps(kind))
    assert hash(again) == hash(kind)
    assert repr(again) == repr(kind)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian(caution=-1), "caution of a Gaussian reward is -1.0; it must be a number of at least 0"),
        (lambda: Gaussian(caution=float("inf")), "caution of a Gaussian reward is inf; it must be one finite number"),
        (lambda: Gaussian(caution=None), "caution of a Gaussian reward"),
        (lambda: Gaussian(resolution=0), "resolution of a Gaussian reward"),
        (lambda: Gaussian(1.0, caution=2), "caution and resolution are for Gaussian rewards without sigma"),
        (lambda: Gaussian(1.0, resolution=0.1), "caution and resolution are for Gaussian rewards without sigma"),
        (lambda: Bounded(0, 1, swing=0), "swing of the rewards"),
        (
            lambda: Bounded(0, 1, swing=2.5),
            "swing is 2.5; no difference of rewards from 0.0 to 1.0 is farther than 2.0",
        ),
        (lambda: Bounded(0, 1, swing="much"), "swing of the rewards"),
        (lambda: as_reward_kind({"kind": "gaussian", "swing": 1.0}), "swing"),
        (lambda: as_reward_kind({"kind": "bernoulli", "swing": 1.0}), "swing"),
    ],
)
def test_what_cannot_be_said_of_rewards_on_blocks(make, message):
    with pytest.raises(ProblemError, match=message):
        make()
