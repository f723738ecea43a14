r"""Choose a prompt
===============

Choose the best of six prompts on 200 questions, with 32 calls at once, and pay little.

Runs offline in some seconds: the model and the people below are stand-ins that take 50 to 300 ms for each call. With a
real model, `ask_model` is five lines::

    async def ask_model(prompt, question):
        reply = await client.messages.create(model="...", max_tokens=5, messages=[
            {"role": "user", "content": f"{prompt}\n\n{question}"}])
        return reply.content[0].text.strip()

All prompts answer the same questions, one question after the other, and a prompt that has lost answers no more. People
say what the right answer to a question is, once for all prompts, and only where the prompts left do not agree. What
comes back first differs from run to run, and with it the cost, by a little.

The picture shows how far the best prompt is ahead of each other one. Those in colour are shown not to be better. Their
bounds may include 0 all the same: bounds hold for all pairs of prompts at once, which takes more evidence.
"""

import asyncio
import random
import time

import mfbandit as mf
from mfbandit.judges import Grader, Judging
from mfbandit.plots import differences

# How much of what is asked the model understands with each prompt: what the study is to find out.
PROMPTS = {
    "Answer with A, B, C or D.": 0.55,
    "Think step by step. Then answer with A, B, C or D.": 0.85,
    "You are an expert. Answer with A, B, C or D.": 0.60,
    "Answer with A, B, C or D. Be careful.": 0.62,
    "Which is right: A, B, C or D?": 0.50,
    "First rule out what is wrong. Then answer with A, B, C or D.": 0.70,
}
QUESTIONS = [f"Question {number}: ..." for number in range(200)]
AT_ONCE = 32
LEAST_SECONDS, MOST_SECONDS = 0.05, 0.3
ANSWER_PRICE, LABEL_PRICE = 0.002, 0.30


def right_answer(question: str) -> str:
    return random.Random(question).choice("ABCD")


async def waiting(*call: str) -> None:
    """What a call takes."""
    await asyncio.sleep(random.Random(str(call)).uniform(LEAST_SECONDS, MOST_SECONDS))


async def ask_model(prompt: str, question: str) -> str:
    await waiting(prompt, question)
    # A hard question is hard with every prompt, and one mistake is the most common.
    hardness = random.Random(f"how hard is {question}").random()
    luck = random.Random(f"{prompt} {question}").uniform(-0.15, 0.15)
    if PROMPTS[prompt] + luck > hardness:
        return right_answer(question)
    return random.Random(f"a mistake in {question}").choice("ABCD")


async def ask_people(question: str) -> str:
    await waiting("people", question)
    return right_answer(question)


def main() -> mf.Result:
    people = Grader(
        "people", lambda answer, label: float(answer == label), price=LABEL_PRICE, per_item=True, label=ask_people
    )
    judging = Judging(
        list(PROMPTS), QUESTIONS, [people], respond=ask_model, answer_price=ANSWER_PRICE, reward="bernoulli"
    )
    started = time.perf_counter()
    result = judging.identify(delta=0.05, workers=AT_ONCE, progress=False)
    seconds = time.perf_counter() - started

    bill = judging.bill()
    print(f"Best prompt: {result.best!r} ({result.status}, confidence {result.confidence:.3f})")
    everything = len(PROMPTS) * len(QUESTIONS)
    print(f"Money: {bill.money(bill.total)} instead of {bill.money(bill.everything_cost)} for everything")
    print(f"  {bill.answers:,} answers of {everything:,}, {bill.graders[0].paid} labels of {len(QUESTIONS)}")
    # All answers and labels, 32 at once.
    calls = everything + len(QUESTIONS)
    all_seconds = calls * (LEAST_SECONDS + MOST_SECONDS) / 2 / AT_ONCE
    print(f"Time: {seconds:.1f} s instead of {all_seconds:.1f} s, with {AT_ONCE} calls at once")
    return result


if __name__ == "__main__":
    figure = differences(main())
    figure.savefig("prompts.png")
