"""Four workers, and Ctrl-C
========================

Find the best of three prompts from Python, with four workers, and a study that survives Ctrl-C.

Run it, press Ctrl-C, run it again: it goes on where it stopped. With four workers, what is out when the answer
comes is paid for too, so the cost varies by some cents.
"""

import random
import time

import mfbandit as mf
from mfbandit.plots import intervals

LIKED = {"plain": 0.35, "step by step": 0.85, "with examples": 0.6}

problem = mf.Problem(
    arms=list(LIKED),
    fidelities=[mf.Fidelity("small judge", cost=0.01, bias=0.05), mf.Fidelity("large judge", cost=0.2)],
    reward="bernoulli",
)


def evaluate(pull):
    """Ask a judge about one answer; here it is only drawn at random, by the seed of the pull."""
    time.sleep(0.02)  # a judge takes its time
    chance = random.Random(f"{pull.arm} {pull.fidelity} {pull.seed}")
    liked = LIKED[pull.arm] - (0.04 if pull.fidelity == "small judge" else 0.0)
    return float(chance.random() < liked)


if __name__ == "__main__":
    result = mf.identify(problem, evaluate, delta=0.05, storage="sqlite:///prompts.db", workers=4)
    print(f"{result.best} ({result.status}, confidence {result.confidence:.3f}), for {result.cost:.2f}")
    figure = intervals(result, truth="large judge")
    figure.savefig("prompts.png")
