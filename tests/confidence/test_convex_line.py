"""Evidence is convex where the proof says so, and a convex function is bounded by few of its values, never wrongly."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pairs import KINDS, claim, evidence_of, quick, random_case
from scipy.optimize import minimize_scalar

from mfbandit.confidence.pair import Active
from mfbandit.confidence.pair._convex_line import ABOVE, BELOW, UNKNOWN, next_line, point_of, start_line
from mfbandit.confidence.pair._hypothesis import Rewards
from mfbandit.confidence.pair._likelihood_levels import CUT, EDGES, SURE, Cell, inside


def tried(function, low, high, at, step, target, error, noise, most=200):
    """What is found out about a function whose values are off by up to `error`, and from how many."""
    line, asked = start_line(low, high, at, step), 0
    while line.status == UNKNOWN and asked < most:
        line = next_line(line, function(point_of(line)) + noise.uniform(-error, error), target, error)
        asked += 1
    return line, asked


@st.composite
def convex_functions(draw):
    """A parabola plus the log of a sum of exponentials: smooth, kinked or nearly straight."""
    lines = draw(st.lists(st.tuples(st.floats(-300.0, 300.0), st.floats(-10.0, 10.0)), min_size=1, max_size=5))
    curvature, centre = 10.0 ** draw(st.floats(-3.0, 4.0)), draw(st.floats(-2.0, 2.0))
    slopes, heights = np.array(lines).T
    return lambda x: float(np.logaddexp.reduce(slopes * x + heights) + 0.5 * curvature * (x - centre) ** 2)


@settings(max_examples=300, deadline=None)
@given(
    convex_functions(),
    st.floats(-3.0, 3.0),
    st.floats(1e-3, 5.0),
    st.floats(-4.0, 4.0),
    st.floats(-3.0, 0.5),
    st.floats(-5.0, 1.0),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_no_convex_function_is_called_high_enough_that_is_not(function, low, width, at, step, gap, above, seed):
    high = low + width
    found = minimize_scalar(function, bounds=(low, high), method="bounded", options={"xatol": 1e-13})
    lowest = min(found.fun, function(low), function(high))
    target = lowest + (-1.0 if above else 1.0) * 10.0**gap
    error = 1e-7 * (1.0 + abs(lowest))
    line, _ = tried(function, low, high, at, 10.0**step, target, error, np.random.default_rng(seed))
    if not above and 10.0**gap > 2.0 * error:
        assert line.status != ABOVE
    if above and 10.0**gap > 2.0 * error:
        assert line.status != BELOW


def test_a_few_values_are_enough():
    rng = np.random.default_rng(3)
    counts = []
    for _ in range(300):
        curvature, slack = 10.0 ** rng.uniform(0, 4), 10.0 ** rng.uniform(-3, 0)
        start, step = rng.normal() * math.sqrt(1.0 / curvature), 10.0 ** rng.uniform(-2, 0)
        line, asked = tried(lambda x, k=curvature: 0.5 * k * x * x, -math.inf, math.inf, start, step, -slack, 1e-9, rng)
        assert line.status == ABOVE
        counts.append(asked)
    assert np.median(counts) <= 9
    assert max(counts) <= 24


@pytest.mark.parametrize("name", KINDS)
def test_evidence_is_convex_while_nothing_is_cut_and_the_same_streams_speak(name, times):
    """Also beyond the stretch whose octaves are taken: there the points lie that bound what is on it."""
    rng = np.random.default_rng(17)
    value, looked = quick(evidence_of), 0
    for _ in range(1500 * times):
        arrays, evidence, epsilon, state, chosen, at, _ = random_case(rng, name)
        rewards = Rewards(Active(state.pulls, state.sums, state.squares), chosen.active, chosen.leaders)
        number = int(rng.integers(len(EDGES) - 1))
        centre, reach = rng.uniform(epsilon, 1.0), 10.0 ** rng.uniform(-4, -0.5)
        points = np.sort(np.clip(centre + reach * rng.uniform(-1, 1, 3), epsilon, 1.0))
        found, counts = [], []
        for v in points.tolist():
            cell = Cell(v, v, inside(number), inside(number), 63.0, points[0], points[2])
            found.append(value(arrays, claim(epsilon, evidence, chosen), cell, rewards, at))
            counts.append((at.counts[CUT], at.counts[SURE]))
            alone = Cell(v, v, inside(number), inside(number), 63.0, v, v)
            assert found[-1] <= value(arrays, claim(epsilon, evidence, chosen), alone, rewards, at) + 1e-12
        if counts[0][0] > 0 or len(set(counts)) > 1 or points[0] == points[2]:
            continue
        part = (points[1] - points[0]) / (points[2] - points[0])
        chord = (1.0 - part) * found[0] + part * found[2]
        assert found[1] <= chord + 1e-8 + 1e-13 * state.pulls.sum(), (name, points, found)
        looked += 1
    assert looked > 300 * times
