"""The sets of ``real.py`` whose arms were measured on the same blocks: what a race costs there, and what else does."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import mfbandit as mf
from blocks import CUT, FEW, FINITE, NORMAL, TODAY, Race, race, with_reward
from blocks_data import load, names

#: Where a set is finite, an answer within that of the best is right.
NEAR = 0.01


@dataclass(frozen=True)
class BlockSet:
    """What one set costs, in shares of all cells (finite sets) or in evaluations per candidate."""

    set: str
    arms: int
    blocks: int
    finite: bool
    epsilon: float
    everything: float
    """All arms on all blocks that were recorded."""
    race: Race
    runs: int
    default: Race
    """Today's default for independent rewards, each pull on a block of its own."""
    rival: str
    """The cheapest other policy that keeps its word, on blocks of its own, too."""
    rival_cost: Race

    @property
    def wrong(self) -> int:
        """How many races ended with a wrong answer."""
        return self.race.wrong


def block_names() -> list[str]:
    """All sets with blocks that races are run on; none where there are no data."""
    return [name for name in names() if name in FINITE or name in NORMAL]


def as_rewards_with_a_range(instance: mf.Instance) -> mf.Instance:
    """The instance for policies that take rewards for independent: they are told the range, not that all is normal."""
    if not isinstance(instance.problem.reward, mf.Gaussian):
        return instance
    assert isinstance(instance.law, mf.BlockTableLaw)
    return with_reward(instance, mf.Bounded(min(0.0, float(instance.law.values.min())), 1.0))


def rivals(instance: mf.Instance) -> Iterator[str]:
    """Policies beside the default that need not be told any mean."""
    bounds = ("kl",) if isinstance(instance.problem.reward, mf.Bernoulli) else ("mixed", "bernstein")
    for bound in bounds:
        yield from (f"{name}:bound={bound},independent=True" for name in ("lucb-top", "lucb-c"))
    yield "iise:independent=True"


def measure(name: str, runs: int) -> BlockSet:
    """Run the race, today's default and the rivals on one set."""
    instance = load(name)
    assert isinstance(instance.law, mf.BlockTableLaw)
    finite = instance.problem.blocks != "unlimited"
    epsilon = NEAR if finite else NORMAL[name][0]
    ours = race(instance, runs, epsilon)
    independent = as_rewards_with_a_range(instance)
    found = {policy: race(independent, FEW, epsilon, policy) for policy in rivals(independent)}
    # A run that was cut short has spent less than it would have.
    cheapest = min(found, key=lambda policy: (found[policy].unfinished > 0, found[policy].cost))
    return BlockSet(
        set=name,
        arms=instance.problem.n_arms,
        blocks=instance.law.blocks,
        finite=finite,
        epsilon=epsilon,
        everything=1.0 if finite else float(instance.law.blocks),
        race=ours,
        runs=runs,
        default=race(independent, FEW, epsilon, TODAY),
        rival=cheapest.replace(",independent=True", "").replace(":independent=True", ""),
        rival_cost=found[cheapest],
    )


def print_block_sets(chosen: Sequence[str], runs: int) -> list[dict[str, Any]]:
    """Measure sets and print a line for each as soon as it is there; the figures as plain objects."""
    print(
        f"\nBlocks: parts of all cells (finite sets, within {NEAR:g}), or evaluations per candidate. A > is cut off at "
        f"3 times everything, or at {CUT:,} evaluations per candidate"
    )
    print(
        f"{'data set':<32} {'arms':>5} {'blocks':>7} {'epsilon':>8} {'race':>9} {'wrong':>9} {'everything':>11} "
        f"{'default':>9} {'cheapest rival':>15}"
    )
    kept = []
    for name in chosen:
        one = measure(name, runs)
        print(
            f"{name:<32} {one.arms:>5} {one.blocks:>7} {one.epsilon:>8g} {one.race.cost:>9.4g} "
            f"{f'{one.wrong}/{runs}':>9} {one.everything:>11g} {cost(one.default):>9} {cost(one.rival_cost):>15} "
            f"{one.rival}",
            flush=True,
        )
        print(name, file=sys.stderr, flush=True)
        kept.append(asdict(one))
    return kept


def cost(found: Race) -> str:
    """A mean cost, marked where runs were cut short."""
    return (">" if found.unfinished else "") + format(found.cost, ".4g")
