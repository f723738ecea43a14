"""A gate for changes of a prompt, as a test: the new one must not be worse than the old one by more than 0.05.

    pytest examples/test_prompt_gate.py

It asks for answers and grades until it is certain, one way or the other, at confidence 0.95, and never pays more than
`max_cost`. The cache keeps answers and grades, so a second run costs nothing. Runs offline: the model is a stand-in.
"""

import random

from mfbandit.judges import Grader, Judging

OLD = "Answer with A, B, C or D."
NEW = "Think step by step. Then answer with A, B, C or D."
QUESTIONS = [(f"Question {number}: ...", random.Random(number).choice("ABCD")) for number in range(300)]


def ask_model(prompt, question):
    text, right = question
    # A hard question is hard with both prompts.
    hardness, luck = random.Random(text).random(), random.Random(prompt + text).uniform(-0.1, 0.1)
    understood = 0.72 if "step by step" in prompt else 0.70 if "Answer" in prompt else 0.40
    return right if understood + luck > hardness else "E"


def is_right(answer, question):
    return float(answer == question[1])


def test_the_new_prompt_is_not_worse(tmp_path):
    judging = Judging(
        {"old": OLD, "new": NEW},
        QUESTIONS,
        [Grader("exact match", is_right, price=0.0001)],
        respond=ask_model,
        answer_price=0.002,
        reward="bernoulli",
        cache=tmp_path / "gate.jsonl",  # in your project a file that CI keeps
    )
    gate = judging.compare("new", "old", margin=0.05, max_cost=2.00, progress=False)
    print(gate.statement, judging.bill().sentence)
    assert gate, gate.statement
