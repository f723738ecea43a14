"""Other goals
===========

Which prompts beat the one in use, which three are the best, and which cheap one is good enough?

Six prompts answer the same 600 questions, or as few of them as will do. Everything runs offline: whether an answer is
right is drawn from the number of the question. The picture shows how many answers of each prompt every goal took.
"""

import numpy as np
from matplotlib.figure import Figure

import mfbandit as mf

#: How many of the questions each prompt gets right, and what an answer costs.
RIGHT = {"in use": 0.62, "short": 0.40, "polite": 0.61, "examples": 0.78, "steps": 0.82, "all tricks": 0.84}
PRICE = {"in use": 1.0, "short": 0.5, "polite": 1.1, "examples": 2.0, "steps": 3.0, "all tricks": 9.0}

PROBLEM = mf.Problem(list(RIGHT), [("graded", 1.0)], reward="bernoulli", blocks=600)


def grade(pull):
    """Whether a prompt answers a question right: hard questions are hard for all."""
    hard, luck = (np.random.default_rng([pull.block, place]) for place in (9, list(RIGHT).index(pull.arm)))
    return float(0.7 * hard.random() + 0.3 * luck.random() < RIGHT[pull.arm])


def ask(question, **options):
    """Ask, and print the answer and what it rests on."""
    result = mf.identify(PROBLEM, grade, progress=False, **options)
    print(question, *str(result).splitlines(), sep="\n  ")
    proof = "the certificate holds" if mf.verify(result.certificate).valid else "nothing is proven yet"
    print(f"  {result.cost:.0f} of {len(RIGHT) * 600} answers were graded; {proof}.\n")
    return result


def draw(results):
    """Draw how many answers of each prompt every goal took, each goal at a height of its own."""
    figure = Figure(figsize=(5.6, 3.4), layout="constrained")
    axes = figure.subplots()
    looks = ("#0072B2", "o"), ("#D55E00", "s"), ("#009E73", "^")
    for (goal, result), (colour, marker), above in zip(results.items(), looks, (0.25, 0, -0.25), strict=True):
        graded = [arm.pulls["graded"] for arm in result.arms]
        heights = [place + above for place in range(len(graded))]
        axes.plot(graded, heights, marker, color=colour, markersize=8, label=goal)
    for place in range(1, len(RIGHT)):
        axes.axhline(place - 0.5, color="#d0d0d0", linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(RIGHT)), list(RIGHT))
    axes.set_xlim(left=0)
    axes.set_xlabel("answers that were graded, of 600")
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    return figure


if __name__ == "__main__":
    better = ask("Which prompts beat the one in use?", goal="better-than", control="in use", epsilon=0.03)
    three = ask("Which three are the best?", goal="top-m", m=3)
    cheap = ask("Which is the cheapest within 0.1 of the best?", goal="cheapest-within", use_costs=PRICE, epsilon=0.1)
    ask("Which is best, for 150 answers at most?", max_cost=150)
    figure = draw({"beat the one in use": better, "the three best": three, "the cheapest that will do": cheap})
    figure.savefig("goals.png")
