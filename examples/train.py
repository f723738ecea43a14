"""Train with checkpoints
======================

Which learning rate and width train the best network? Few epochs first, and those that look good go on.

A block is a seed: which rows are for training, which for testing, and how the weights begin. All settings are compared
on the same ones. Training for 9 epochs goes on from the checkpoint that 3 epochs left in `pull.folder`, so it costs 6
more, and 27 epochs go on from 9. ::

    python examples/train.py                          # a few seconds, nothing is downloaded
    python examples/train.py --storage train.db       # can be interrupted and started again
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import mfbandit as mf
from mfbandit.plots import differences

#: Learning rate and number of hidden units of each setting.
SETTINGS = {f"rate {rate}, {units} units": (rate, units) for rate in (0.01, 0.1, 0.5) for units in (4, 32)}
EPOCHS = {"3 epochs": 3, "9 epochs": 9, "27 epochs": 27}
ROWS = 600


def make_data(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Points in the plane, and which of two spirals each lies on."""
    chance = np.random.default_rng(seed)
    side = chance.integers(0, 2, ROWS)
    turn = chance.uniform(0.5, 5.0, ROWS)
    angle = turn + np.pi * side
    points = np.stack([turn * np.cos(angle), turn * np.sin(angle)], axis=1) + chance.normal(0.0, 0.15, (ROWS, 2))
    return points, side.astype(float)


def begin(units: int, seed: int) -> dict[str, np.ndarray]:
    """A network that has learned nothing."""
    chance = np.random.default_rng(seed)
    return {
        "w1": chance.normal(0.0, 1.0, (2, units)),
        "b1": chance.normal(0.0, 0.5, units),
        "w2": chance.normal(0.0, 1.0 / np.sqrt(units), units),
        "b2": np.zeros(1),
    }


def forward(net: dict[str, np.ndarray], points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The hidden units, and the probability of the second spiral."""
    hidden = np.tanh(points @ net["w1"] + net["b1"])
    return hidden, 1.0 / (1.0 + np.exp(-(hidden @ net["w2"] + net["b2"])))


def train_epoch(net: dict[str, np.ndarray], points: np.ndarray, labels: np.ndarray, rate: float, seed: int) -> None:
    """Go through all rows once, in batches of 20."""
    order = np.random.default_rng(seed).permutation(len(points))
    for batch in np.split(order, len(order) // 20):
        hidden, chance = forward(net, points[batch])
        error = (chance - labels[batch]) / len(batch)
        back = np.outer(error, net["w2"]) * (1.0 - hidden**2)
        net["w2"] -= rate * hidden.T @ error
        net["b2"] -= rate * error.sum()
        net["w1"] -= rate * points[batch].T @ back
        net["b1"] -= rate * back.sum(axis=0)


def evaluate(pull: mf.Pull) -> float:
    """Train one setting on one block, and return its accuracy on rows that it has not seen."""
    rate, units = SETTINGS[pull.arm]
    points, labels = make_data(pull.block_seed)
    half = ROWS // 2
    checkpoint = Path(pull.folder) / "net.npz"
    if pull.done is None:
        net, trained = begin(units, pull.block_seed), 0
    else:
        with np.load(checkpoint) as stored:
            net, trained = dict(stored), EPOCHS[pull.done]
    for epoch in range(trained, EPOCHS[pull.fidelity]):
        train_epoch(net, points[:half], labels[:half], rate, pull.block_seed + epoch)
    np.savez(checkpoint, **net)
    return float(np.mean((forward(net, points[half:])[1] > 0.5) == (labels[half:] > 0.5)))


def main(storage: str | None) -> mf.Result:
    """Find the best setting."""
    problem = mf.Problem(
        arms=list(SETTINGS),
        fidelities=[
            # Nobody who is behind by more than this after so few epochs is ahead at the end.
            mf.Fidelity("3 epochs", cost=3.0, bias=1.0, pair_bias=0.25),
            mf.Fidelity("9 epochs", cost=9.0, bias=1.0, pair_bias=0.2, continues=True),
            mf.Fidelity("27 epochs", cost=27.0, continues=True),
        ],
        reward=mf.Gaussian(resolution=2.0 / ROWS),
        blocks="unlimited",
        order="shared",
    )
    trained: dict[str, int] = {}

    def counted(pull: mf.Pull) -> float:
        trained[pull.fidelity] = trained.get(pull.fidelity, 0) + EPOCHS[pull.fidelity] - EPOCHS.get(pull.done or "", 0)
        return evaluate(pull)

    result = mf.identify(problem, counted, delta=0.05, epsilon=0.02, storage=storage, progress=False)
    print(f"Best setting: {result.best} ({result.status}, confidence {result.confidence:.3f})")
    print(f"Epochs: {result.cost:g}, of them in this run {sum(trained.values())}")
    for arm in result.arms:
        print(f"  {arm.arm:22} " + ", ".join(f"{name}: {pulls}" for name, pulls in arm.pulls.items()))
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Find the settings that train the best network.")
    parser.add_argument("--storage", help="a SQLite file, to go on later")
    figure = differences(main(parser.parse_args().storage))
    figure.savefig("settings.png")
