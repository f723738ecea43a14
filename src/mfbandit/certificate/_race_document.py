"""The certificate of a race on blocks: the log in short, all raw rewards, and what follows from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mfbandit.algorithms import Policy
from mfbandit.certificate._claim_words import UNSHOWN, claim_of, listed, older_claim, without_bias
from mfbandit.certificate._document import FORMAT, VERSION, fingerprint_of
from mfbandit.certificate._measured import Measured
from mfbandit.confidence.race import LaneCells, OpenArms, Race
from mfbandit.model import Bernoulli, Gaussian, Problem

__all__ = ["BLOCKS", "BlockRound", "RaceCertificate"]

#: The word for this kind of certificate.
BLOCKS = "blocks"


@dataclass(frozen=True)
class BlockRound:
    """One round of a race: the blocks it opened, then the pulls it asked for."""

    opened: tuple[tuple[int, int, int, int], ...]
    """Fidelity, index of the block, declared leader and runner-up (-1: nobody), in the order of opening."""
    rows: tuple[tuple[int, int, int], ...]
    """Arm, fidelity, number of pulls, in the order of asking."""

    @property
    def pulls(self) -> int:
        """How many pulls it asked for."""
        return sum(row[2] for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """The round as a plain JSON object."""
        return {"opened": [list(one) for one in self.opened], "rows": [list(row) for row in self.rows]}


@dataclass(frozen=True)
class RaceCertificate:
    """What a race on blocks measured; everything that is claimed follows from these fields."""

    problem: Problem
    policy: Policy
    delta: float
    epsilon: float
    seed: int
    """From which the order of blocks was made."""
    answer: str | None
    rounds: tuple[BlockRound, ...]
    rewards: tuple[float | None, ...]
    """In units of the reward and in the order of asking; None is a cell that could not be had."""
    log: str | None = None
    """SHA-256 of the study's log at that moment: of the lines of its export after the first."""
    paid: float | None = None
    """What the results really cost, where that was told; else it follows from their number."""
    arms_there: int = 0
    """How many places for arms were taken, where some were kept free; else 0."""
    gone: tuple[str, ...] = ()
    """The arms that were taken out."""
    joined: tuple[tuple[int, ...], ...] = ()
    """How many blocks of each fidelity in use were open when each arm joined that was not there from the beginning."""

    @classmethod
    def of(cls, view: Measured, log: str | None = None) -> RaceCertificate:
        """The certificate of a study as it stands, and the digest of its log."""
        settings = view.settings
        return cls(
            problem=settings.problem,
            policy=settings.policy,
            delta=settings.delta,
            epsilon=float(settings.epsilon),
            seed=settings.seed,
            answer=view.best,
            rounds=tuple(
                BlockRound(
                    tuple((int(m), int(i), int(a), int(b)) for m, i, a, b in one.get("opened", ())),
                    tuple((int(arm), int(m), int(pulls)) for arm, m, pulls in one["rows"]),
                )
                for one in view.rounds
            ),
            rewards=tuple(_plain(reward) for reward in view.rewards),
            log=log,
            paid=None if view.beyond is None else view.counted_cost,
            arms_there=settings.arms_there,
            gone=settings.arms_gone,
            joined=view.joined,
        )

    # What follows

    @cached_property
    def columns(self) -> list[int]:
        """The fidelities that the policy uses."""
        return self.policy.columns(self.problem)

    @cached_property
    def race(self) -> Race:
        """All rewards by lane, arm and position, with what was declared."""
        lanes = {column: m for m, column in enumerate(self.columns)}
        declared = np.full((len(lanes), self._depth, 2), -1, dtype=np.int64)
        opened = [0] * len(lanes)
        for one in self.rounds:
            for column, _, leader, second in one.opened:
                m = lanes[column]
                declared[m, opened[m]] = leader, second
                opened[m] += 1
        rows = np.array([row for one in self.rounds for row in one.rows], dtype=np.int64).reshape(-1, 3)
        units = self.problem.reward.to_unit(np.array(self.rewards, dtype=float))
        # The last round may have fewer rewards than pulls.
        counts = np.diff(np.minimum(np.cumsum(rows[:, 2]), units.size), prepend=0)
        arms, columns = (np.repeat(rows[:, column], counts) for column in (0, 1))
        cells = [
            LaneCells.in_order(self.problem.n_arms, arms[columns == column], units[columns == column])
            for column in self.columns
        ]
        known = np.stack([lane.known for lane in cells], axis=1)
        given = self.problem, self.columns, self.delta, self.epsilon, cells, known, declared
        return Race(*given, self._open_arms)

    @property
    def _open_arms(self) -> OpenArms | None:
        """Who is there, where arms may join and leave."""
        if not self.arms_there:
            return None
        joined = np.zeros((len(self.columns), self.problem.n_arms), dtype=np.int64)
        first = self.arms_there - len(self.joined)
        for arm, blocks in enumerate(self.joined, start=first):
            joined[:, arm] = blocks
        names = self.problem.arms
        present = [k < self.arms_there and arm not in self.gone for k, arm in enumerate(names)]
        return OpenArms(np.array(present), joined)

    def may_measure(self, arm: int, opened: list[int]) -> bool:
        """Whether an arm, by its index, had joined when so many blocks of the fidelities in use were open."""
        if not self.arms_there:
            return True
        number = arm - (self.arms_there - len(self.joined))
        if number < 0 or arm >= self.arms_there:
            return arm < self.arms_there
        then = self.joined[number]
        if self.problem.order == "shared":
            # Blocks are the same in all lanes, and known as soon as one lane has opened them.
            return max(opened) >= max(then)
        return all(now >= before for now, before in zip(opened, then, strict=True))

    @property
    def arms(self) -> list[str]:
        """The arms that the claim is about."""
        there = self.problem.arms[: self.arms_there or None]
        return [arm for arm in there if arm not in self.gone]

    @property
    def _depth(self) -> int:
        """The largest number of blocks that were opened in a lane."""
        counts = dict.fromkeys(self.columns, 0)
        for one in self.rounds:
            for column, *_ in one.opened:
                counts[column] += 1
        return max(counts.values())

    @cached_property
    def _answer_index(self) -> int:
        return -1 if self.answer is None else self.problem.arms.index(self.answer)

    @cached_property
    def certified(self) -> bool:
        """Whether every other arm is beaten, or within epsilon."""
        return self.answer is not None and self.race.certified(self._answer_index)

    @cached_property
    def confidence(self) -> float:
        """How sure the answer is."""
        return 0.0 if self.answer is None else self.race.confidence(self._answer_index)

    @cached_property
    def tied(self) -> list[str]:
        """The arms whose true mean is known to be the answer's."""
        return [] if self.answer is None else [self.problem.arms[b] for b in self.race.tied(self._answer_index)]

    @cached_property
    def evidence(self) -> list[dict[str, Any]]:
        """What speaks against each other arm: the level at which it is beaten; 0 if for certain."""
        if self.answer is None:
            return []
        levels = np.exp(np.minimum(0.0, self.race.log_wrong(self._answer_index)))
        return [
            {"arm": arm, "level": float(level)}
            for arm, level in zip(self.problem.arms, levels, strict=True)
            if arm != self.answer and arm in self.arms
        ]

    @property
    def pulls(self) -> int:
        """The number of results, cells that could not be had among them."""
        return len(self.rewards)

    @property
    def missing(self) -> int:
        """How many cells could not be had."""
        return sum(reward is None for reward in self.rewards)

    @property
    def cost(self) -> float:
        """What they cost, with what it cost to open their blocks."""
        if self.paid is not None:
            return self.paid
        known = self.race.known
        spent = float((known * self.problem.costs[:, self.columns]).sum())
        opening = [self.problem.fidelities[m].block_cost for m in self.columns]
        # Arms are measured on prefixes, so the longest of a lane has all of its blocks.
        return spent + sum(int(n) * each for n, each in zip(known.max(axis=0), opening, strict=True))

    @property
    def claim(self) -> str:
        """What is claimed, and what it assumes, in words."""
        if self.answer is None or (not self.rewards and self.problem.n_arms > 1):
            return "Nothing is claimed: there is no result yet."
        return claim_of(self, self._statement(), f"Assumed: {', '.join(self._assumptions())}. {UNSHOWN}")

    @property
    def older_claim(self) -> str:
        """The claim as older versions said it."""
        return older_claim(self.claim, without_bias(self.problem, self.columns))

    def _statement(self) -> str:
        blocks = self.problem.blocks
        over = "" if blocks == "unlimited" else f" over the {blocks} blocks of the set"
        left = " that were not taken out" if self.gone else ""
        others = f"the {len(self.arms)} arms{left}{over}"
        if self.epsilon > 0:
            return f"the true mean of {self.answer!r} is within {self.epsilon!r} of the highest of {others}"
        tied = f", the same as {listed([repr(arm) for arm in self.tied])}" if self.tied else ""
        return f"{self.answer!r} has the highest true mean of {others}{tied}"

    def _assumptions(self) -> list[str]:
        reward, problem = self.problem.reward, self.problem
        order = "one order for all fidelities" if problem.order == "shared" else "an order of its own for each fidelity"
        if problem.blocks == "unlimited":
            said = [f"blocks drawn independently at random, the same for all arms ({order})"]
        else:
            said = [f"the blocks of the set taken in the random order that seed {self.seed} gives ({order})"]
        said.append("leaders declared before their blocks were measured")
        if isinstance(reward, Gaussian):
            said.append("normal differences of arms on a block, of unknown variance")
        elif isinstance(reward, Bernoulli):
            said.append("rewards in [0, 1]")
        else:
            said.append(f"rewards in [{reward.low!r}, {reward.high!r}]")
            if reward.swing is not None:
                said.append(f"differences of arms on a block within {reward.swing!r} of their means")
        if self.arms_there:
            said.append(f"at most {problem.n_arms} arms in all, each compared on blocks opened after it joined")
        biased = [self._bias(m) for m in self.columns if problem.biases[:, m].any()]
        if biased:
            said.append(f"differences of two arms biased by at most {listed(biased)}")
        said += without_bias(problem, self.columns)
        if self.missing:
            cells = "1 result" if self.missing == 1 else f"{self.missing} results"
            rule = "left out with all that follow them" if isinstance(reward, Gaussian) else "counted as the worst"
            said.append(f"{cells} that could not be had {rule}")
        return said

    def _bias(self, m: int) -> str:
        """The bound on differences at a fidelity; the least and the largest where arms have their own."""
        fidelity = self.problem.fidelities[m]
        bounds = np.sort(self.problem.biases[:, m])
        most = math.inf if fidelity.pair_bias is None else fidelity.pair_bias
        ends = min(float(bounds[:2].sum()), most), min(float(bounds[-2:].sum()), most)
        said = repr(ends[1]) if ends[0] == ends[1] else f"{ends[0]!r} to {ends[1]!r} (by arm)"
        return f"{said} at {fidelity.name!r}"

    @cached_property
    def fingerprint(self) -> str:
        """Digest of everything that the claim is about: two certificates that share it claim the same."""
        content = {
            "kind": BLOCKS,
            "problem": self.problem.to_json(),
            "delta": self.delta,
            "epsilon": self.epsilon,
            "seed": self.seed,
            "answer": self.answer,
            "certified": self.certified,
            "tied": self.tied,
            "fidelities": self.columns,
            **self._about_arms(),
        }
        return fingerprint_of(content)

    def _about_arms(self) -> dict[str, Any]:
        """What is to say where arms may join and leave."""
        if not self.arms_there:
            return {}
        return {
            "arms_there": self.arms_there,
            "gone": list(self.gone),
            "joined": [list(blocks) for blocks in self.joined],
        }

    def to_json(self) -> dict[str, Any]:
        """The certificate as a plain JSON object: what was measured, and what follows from it."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "kind": BLOCKS,
            "claim": self.claim,
            "answer": self.answer,
            "status": "certified" if self.certified else "not certified",
            "confidence": self.confidence,
            "delta": self.delta,
            "epsilon": self.epsilon,
            "seed": self.seed,
            "tied": self.tied,
            "exact": self.answer is not None and self.race.exact,
            "cost": self.cost,
            **({} if self.paid is None else {"paid": self.paid}),
            "pulls": self.pulls,
            "missing": self.missing,
            "policy": self.policy.to_json(),
            "problem": self.problem.to_json(),
            "arms": self.arms,
            **self._about_arms(),
            "fidelities": [self.problem.fidelities[m].name for m in self.columns],
            "evidence": self.evidence,
            "rounds": [one.to_json() for one in self.rounds],
            "rewards": list(self.rewards),
            "log": self.log,
            "fingerprint": self.fingerprint,
        }


def _plain(reward: float | None) -> float | None:
    return None if reward is None or reward != reward else float(reward)
