r"""Choose the best of four prompts with a small judge, a large judge and people, and pay little.

Runs offline: the graders below are stand-ins. A grader that asks a real model is five lines::

    async def large_judge(answer, item):
        reply = await client.messages.create(model="...", max_tokens=5, messages=[
            {"role": "user", "content": f"Question: {item}\nAnswer: {answer}\nGood answer? 1 or 0."}])
        return float(reply.content[0].text.strip() == "1")

    graders = [Grader("large judge", large_judge, price=0.01, bias=0.05, per_second=5, timeout=30), ...]

The stand-ins always say the same. Real judges and people may not: by default the answer is about the grades
that they gave, each asked for once. With ``truth="expected grade"`` every draw is graded anew, and the answer
is about the grade to be expected.
"""

from mfbandit.judges import Judging
from mfbandit.judges_offline import stand_in_graders

# The share of questions to which people would like the answer: what the study is to find out.
PROMPTS = {
    "Answer the question.": 0.45,
    "Answer the question. Think step by step.": 0.82,
    "Answer in one sentence.": 0.55,
    "You are a helpful expert. Answer the question.": 0.60,
}


def main() -> None:
    questions = [f"question {number}" for number in range(400)]
    judging = Judging(list(PROMPTS), questions, stand_in_graders(PROMPTS), reward="bernoulli")
    result = judging.identify(delta=0.05, workers=8, progress=False)
    print(f"Best prompt: {result.best!r} ({result.status}, confidence {result.confidence:.3f})")
    print(result.certificate["claim"])
    bill = judging.bill()
    print(bill.sentence)
    for line in bill.lines:
        print(f"  {line}")


if __name__ == "__main__":
    main()
