"""`mfbandit compare`."""

import random

import pytest

SKILLS = {"short": 0.5, "careful": 0.55, "step by step": 0.8}


@pytest.fixture
def scores(tmp_path):
    """A table of right and wrong answers to 300 questions."""
    luck = random.Random(1)
    lines = ["item,system,score"]
    for item in range(300):
        hard = luck.random()
        lines += [
            f"{item},{name},{'C' if skill + luck.uniform(-0.1, 0.1) > hard else 'I'}" for name, skill in SKILLS.items()
        ]
    path = tmp_path / "scores.csv"
    path.write_text("\n".join(lines))
    return path


def test_it_says_which_is_best_in_a_table_and_in_words(call, scores):
    lines = call("compare", scores).out.splitlines()
    assert lines[0].split("  ")[0] == "system"
    assert lines[1].startswith("step by step")
    # Numbers stand below each other.
    assert len({len(line.rstrip()) for line in lines[2:4]}) == 1
    assert lines[5].startswith("On these 300 items 'step by step' has the best mean, 0.77")
    assert lines[6].startswith("On all items of this kind 'step by step' is the best with confidence over 99.99%")
    assert lines[7] == "These items are enough."
    assert "You may look as often as you like" in lines[8]


def test_json_has_it_all(plain, scores):
    found = plain("compare", scores, "--once", "--delta", "0.01")
    assert (found["best"], found["settled"], found["items"]) == ("step by step", True, 300)
    assert (found["once"], found["delta"], found["metric"]) == (True, 0.01, "score")
    assert [rival["system"] for rival in found["rivals"]] == ["careful", "short"]
    for rival in found["rivals"]:
        assert rival["at_least"] < rival["ahead"] < rival["at_most"]


def test_what_is_not_settled_has_exit_code_1_and_a_number_of_items(call, plain, scores, tmp_path):
    close = tmp_path / "close.csv"
    close.write_text("".join(line for line in scores.read_text().splitlines(True) if "step" not in line))
    said = call("compare", close, code=1).out
    assert "it is not settled that 'careful' is the best: 'short' may be better" in said
    assert " items in all (" in said
    needed = plain("compare", close, code=1)["items_needed"]
    assert needed["even"] > 300


def test_systems_beside_a_control(call, plain, scores):
    lines = call("compare", scores, "--control", "short", "--epsilon", "0.2").out.splitlines()
    assert lines[1].startswith("short")
    assert lines[5] == "'step by step': better than 'short'."
    assert lines[6] == "'careful': not better than 'short' by more than 0.2."
    found = plain("compare", scores, "--control", "short", code=1)
    assert (found["better"], found["open"]) == (["step by step"], ["careful"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--metric", "scor"], "no column 'scor'; did you mean 'score'?"),
        (["--range", "1"], "the range must be LOW,HIGH, such as 0,10, got '1'"),
        (["--range", "2,1"], "the range must be two numbers"),
        (["--missing", "zero"], "missing must be one of out, worst, got 'zero'"),
        (["--delta", "0"], "delta must lie strictly between 0 and 1"),
        (["--epsilon", "nan"], "epsilon must be a number >= 0, got nan"),
        (["--control", "shrt"], "there is no system 'shrt'; did you mean 'short'?"),
        (["more.csv"], "there is no file 'more.csv'"),
    ],
)
def test_bad_input_is_one_line(complaint, scores, arguments, said):
    assert said in complaint("compare", scores, *arguments)
