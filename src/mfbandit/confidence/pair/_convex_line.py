"""Whether a convex function is large enough all over an interval, from a few of its values.

A convex function lies above the straight line through two of its points, before the first and after the last of them.
So its values at x - h, x and x + h, x near its lowest point, bound it from below: between x and x + h by the line
through the first two, beyond x + h by the line through the last two, and the same to the left. Where it is
x^2 k / 2, with the least value s above what is needed, h = sqrt(2 s / k) is small enough, and three values prove what
intervals with a bound for each would prove by hundreds. Values that are only known up to an error are allowed for:
a line that is drawn further than its two points are apart may be off by that much more.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from mfbandit.core import kernel

__all__ = ["ABOVE", "AT", "BELOW", "LOST", "UNKNOWN", "Line", "next_line", "point_of", "start_line"]

#: What is known: nothing yet, that all of the interval is high enough, that a point is not, that too little is gained.
UNKNOWN, ABOVE, BELOW, LOST = 0, 1, 2, 3
#: Which of the three points is asked for next.
AT, LEFT, RIGHT = 0, 1, 2
#: The next step is this part of the one that would just do, if the function were a parabola.
_CAUTION = 0.8
#: By how much a step may change, and how many steps the middle may move.
_SHRINK, _GROW, _MOVE = 0.02, 4.0, 8.0
#: The middle stays where it is if it would move by less than this part of a step.
_STAYS = 0.1


class Line(NamedTuple):
    """What is known of a function on an interval."""

    low: float
    high: float
    at: float
    """The middle one of three points, in the interval."""
    step: float
    """How far the other two are from it."""
    value: float
    """The value there."""
    left: float
    """The value at the left one."""
    right: float
    known: int
    """The sum of 2^i over the points that are known."""
    asked: int
    """The point whose value is to come next."""
    status: int


@kernel
def start_line(low: float, high: float, at: float, step: float) -> Line:
    """Begin with an interval, at a point of it."""
    return Line(low, high, min(max(at, low), high), step, 0.0, 0.0, 0.0, 0, AT, UNKNOWN)


@kernel
def point_of(line: Line) -> float:
    """The point whose value is to come next; it may lie outside of the interval."""
    if line.asked == AT:
        return line.at
    return line.at - line.step if line.asked == LEFT else line.at + line.step


@kernel
def is_above(value: float, behind: float, step: float, reach: float, target: float, error: float) -> bool:
    """Whether a function is at least `target` from a point on to `reach`, by its value there and one step behind."""
    if reach <= 0.0:
        return True
    slope = (value - behind - 2.0 * error) / step
    if slope >= 0.0:
        return value - error >= target
    return reach < math.inf and value - error + slope * reach >= target


@kernel
def is_side_above(line: Line, behind: float, ahead: float, reach: float, three: bool, target: float, e: float) -> bool:
    """Whether it is on one side of the middle, up to `reach`; the point ahead counts if all three are known."""
    if is_above(line.value, behind, line.step, reach, target, e):
        return True
    if not three or not is_above(line.value, behind, line.step, min(reach, line.step), target, e):
        return False
    return is_above(ahead, line.value, line.step, reach - line.step, target, e)


@kernel
def next_line(line: Line, value: float, target: float, error: float) -> Line:
    """Take in the value that was asked for, off by at most `error`; say what is known, or what to ask for next.

    Examples
    --------
    >>> line = start_line(-9.0, 9.0, 1.0, 0.5)
    >>> while line.status == UNKNOWN:
    ...     line = next_line(line, point_of(line) ** 2 / 2, -0.1, 1e-9)
    >>> line.status == ABOVE
    True
    """
    x = point_of(line)
    known = line.known | 1 << line.asked
    middle = value if line.asked == AT else line.value
    left = value if line.asked == LEFT else line.left
    right = value if line.asked == RIGHT else line.right
    low, high, at, step = line.low, line.high, line.at, line.step
    if low <= x <= high and not value - error >= target:
        return Line(low, high, x, step, value, left, right, known, line.asked, BELOW)
    has_left, has_right = known & 1 << LEFT > 0, known & 1 << RIGHT > 0
    told = Line(low, high, at, step, middle, left, right, known, line.asked, UNKNOWN)
    three, to_right, to_left = has_left and has_right, high - at, at - low
    right_above, left_above = to_right <= 0.0, to_left <= 0.0
    if has_left and not right_above:
        right_above = is_side_above(told, left, right, to_right, three, target, error)
    if has_right and not left_above:
        left_above = is_side_above(told, right, left, to_left, three, target, error)
    if right_above and left_above:
        return Line(low, high, at, step, middle, left, right, known, AT, ABOVE)
    if three:
        return moved(told, target + error)
    asked = LEFT if has_right or not (has_left or right_above) else RIGHT
    return Line(low, high, at, step, middle, left, right, known, asked, UNKNOWN)


@kernel
def moved(line: Line, least: float) -> Line:
    """Three other points, by the parabola through those that did not do."""
    low, high, step, value = line.low, line.high, line.step, line.value
    slope = (line.right - line.left) / (2.0 * step)
    curvature = (line.left + line.right - 2.0 * value) / (step * step)
    way = _MOVE * step if slope < 0.0 else -_MOVE * step
    if abs(slope) < curvature * _MOVE * step:
        way = -slope / curvature
    at, changed = min(max(line.at + way, low), high), step
    if curvature > 0.0:
        room = value - least - 0.5 * slope * slope / curvature
        changed = _CAUTION * math.sqrt(2.0 * max(room, 0.0) / curvature)
        changed = min(max(changed, _SHRINK * step), _GROW * step)
    known, asked = 0, AT
    if abs(at - line.at) < _STAYS * changed:
        at, known, asked = line.at, 1 << AT, LEFT
        changed = min(changed, 0.5 * step)
    lost = not -math.inf < slope < math.inf or not curvature < math.inf or changed <= 1e-12 * (1.0 + abs(at))
    return Line(low, high, at, changed, value, 0.0, 0.0, known, asked, LOST if lost else UNKNOWN)
