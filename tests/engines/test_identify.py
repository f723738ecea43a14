"""The settings of a study are spelled out where people look for them; here they are held together."""

import dataclasses
import inspect

import pytest

import mfbandit as mf
from mfbandit.study import Study
from mfbandit.study._settings import Settings


def defaults(function):
    parameters = inspect.signature(function).parameters.values()
    return {one.name: one.default for one in parameters if one.default is not inspect.Parameter.empty}


@pytest.mark.parametrize("front_door", [mf.create_study, mf.identify, mf.allocate, Study.optimize])
def test_a_setting_has_one_default(front_door):
    stored = {field.name: field.default for field in dataclasses.fields(Settings)}
    known = {**defaults(Study.optimize), **defaults(mf.create_study), **stored}
    found = defaults(front_door)
    found.pop("policy", None)  # no policy serves both purposes
    unsaid = {"width", "delta", "epsilon"}  # the default for a study that is made, what it has for one that exists
    assert all(found.pop(name, None) is None for name in unsaid)
    assert found == {name: known[name] for name in found}


def test_what_both_front_doors_pass_on_they_have_in_common():
    for_races = {"folders", "most_arms", "goal", "m", "control", "use_costs"}  # what minimises regret takes no blocks
    shared = set(defaults(mf.identify)) - {"delta", "epsilon", "max_cost", *for_races}
    assert shared == set(defaults(mf.allocate))
    assert shared - {"policy"} <= {*defaults(mf.create_study), *defaults(Study.optimize)}
