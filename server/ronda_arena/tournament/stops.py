"""When a tournament stops before all its blocks are played, and what it then says.

A rule is fed whole blocks in the order of the schedule, and nothing else: what it decides is a
function of them, however many workers played them and however often the run was interrupted. It
decides once; blocks that are over later change nothing.
"""

from __future__ import annotations

from math import ceil, comb
from statistics import fmean
from typing import Final, Protocol

from ronda_arena.report.verdict import SprtTold, Verdict
from ronda_arena.statistics.estimate import Estimate
from ronda_arena.statistics.evidence import Evidence
from ronda_arena.statistics.ratings import Strengths
from ronda_arena.statistics.sequential import Decision, Finding, Sequential
from ronda_arena.statistics.sprt import Accepted, Hypotheses, Sprt
from ronda_arena.tournament import spec
from ronda_arena.tournament.entrants import sides
from ronda_arena.tournament.results import Block, margins, shares
from ronda_arena.tournament.spec import Plan

FEWEST: Final = 30
"""Blocks of every entrant before a precision is looked at: with fewer a variance is often judged
too small, and that is when a rule that waits for a narrow interval would stop."""
GROWTH: Final = 1.05
"""From one look at a precision to the next."""


class StopRule(Protocol):
    """What is told of every block that counts, and knows when that was enough."""

    @property
    def stopped(self) -> bool:
        """Whether nothing more has to be played."""

    def add(self, block: Block) -> None:
        """Take the next block of the schedule. `ValueError` if another one comes before it."""

    def verdict(self, *, over: bool) -> Verdict | None:
        """Return what was decided; if all is over, also that nothing was; else None."""

    @property
    def so_far(self) -> str:
        """How near it is to a decision, in a few words; empty where it has none to tell."""


def stop_rule(plan: Plan) -> StopRule:
    """Return the rule of a plan."""
    if plan.stop.sequential is not None:
        return SequentialStop(plan, plan.stop.sequential)
    if plan.stop.sprt is not None:
        return SprtStop(plan, plan.stop.sprt)
    if plan.stop.precision is not None:
        return PrecisionStop(plan, plan.stop.precision)
    return PlayAll()


class PlayAll:
    """Never stop: what there is to say, the report says."""

    stopped = False
    so_far = ""

    def add(self, block: Block) -> None:
        """Take a block, and leave it at that."""

    def verdict(self, *, over: bool) -> Verdict | None:  # noqa: ARG002 -- a StopRule's
        """Return nothing: there was nothing to decide."""
        return None


class SequentialStop:
    """Stop when one of two entrants is shown to be stronger."""

    so_far = ""

    def __init__(self, plan: Plan, alpha: float) -> None:
        self._plan = plan
        self._test = Sequential(plan.blocks, alpha)
        self._counted = 0
        self._verdict: Verdict | None = None

    @property
    def stopped(self) -> bool:
        """Whether it is decided."""
        return self._test.decision is not None

    def add(self, block: Block) -> None:
        """Take the next block of the schedule."""
        if self.stopped:
            return
        _check_turn(block, self._counted)
        self._counted += 1
        if self._test.add(_lead(block, self._plan)):
            assert self._test.decision is not None
            self._verdict = self._told(self._test.decision)

    def verdict(self, *, over: bool) -> Verdict | None:  # noqa: ARG002 -- the last look is the end
        """Return what was decided; None while it is not."""
        return self._verdict

    def _told(self, decision: Decision) -> Verdict:
        first, second = (entrant.name for entrant in self._plan.entrants)
        after: int | None = decision.blocks - 1
        match decision.finding:
            case Finding.FIRST:
                told = f"{first} is stronger than {second}"
            case Finding.SECOND:
                told = f"{second} is stronger than {first}"
            case Finding.NEITHER:
                told = f"no difference was shown in all {decision.blocks} blocks"
                after = None
        return Verdict("sequential", told, after, self._test.estimate())


class SprtStop:
    """Stop when one of two hypotheses of how far one of two entrants is ahead is accepted."""

    def __init__(self, plan: Plan, asked: spec.Sprt) -> None:
        self._plan = plan
        self._asked = Hypotheses(asked.elo0, asked.elo1, asked.alpha, asked.beta)
        self._test = Sprt(self._asked)

    @property
    def stopped(self) -> bool:
        """Whether it is decided."""
        return self._test.accepted is not None

    @property
    def so_far(self) -> str:
        """How near it is to a decision."""
        lower, upper = self._asked.bounds
        return f"LLR {self._test.llr:.2f} ({lower:.2f}, {upper:.2f})"

    def add(self, block: Block) -> None:
        """Take the next block of the schedule."""
        if not self.stopped:
            _check_turn(block, self._test.blocks)
            self._test.add(_won(block))

    def verdict(self, *, over: bool) -> Verdict:
        """Return what was decided, or that it goes on, or that it came to nothing."""
        test, asked = self._test, self._asked
        lower, upper = asked.bounds
        ended = over or self.stopped
        unknown = Estimate(None, None, None, test.blocks)
        told = SprtTold(
            elo0=asked.elo0,
            elo1=asked.elo1,
            llr=test.llr,
            lower=lower,
            upper=upper,
            accepted=test.accepted.value if test.accepted else None,
            elo=test.estimate() if ended else unknown,
        )
        block = test.blocks - 1 if self.stopped else None
        return Verdict("sprt", self._words(over=over), block, unknown, told)

    def _words(self, *, over: bool) -> str:
        asked = self._asked
        first, second = (entrant.name for entrant in self._plan.entrants)
        ahead = f"{first} is ahead of {second} by"
        match self._test.accepted:
            case Accepted.H1:
                return f"H1 is accepted: {ahead} {asked.elo1:g} Elo rather than {asked.elo0:g}"
            case Accepted.H0:
                return f"H0 is accepted: {ahead} {asked.elo0:g} Elo rather than {asked.elo1:g}"
        neither = f"neither H0 ({asked.elo0:g} Elo) nor H1 ({asked.elo1:g} Elo)"
        if over:
            return f"all {self._test.blocks} blocks were played, and {neither} was accepted"
        return f"so far {neither} is accepted"


class PrecisionStop:
    """Stop when every entrant's rating in points is known to within so many.

    It looks when every pairing has met and every entrant has `FEWEST` blocks, and then each time
    that the number of blocks has grown by a twentieth.
    """

    so_far = ""

    def __init__(self, plan: Plan, within: float) -> None:
        self._plan = plan
        self._within = within
        self._evidence = Evidence(plan.entrants, plan.players, plan.hands_a_game)
        self._unmet = _Unmet(plan)
        self._look = 0
        """The next is not before so many blocks."""
        self._verdict: Verdict | None = None

    @property
    def stopped(self) -> bool:
        """Whether all are known well enough."""
        return self._verdict is not None

    def add(self, block: Block) -> None:
        """Take the next block of the schedule."""
        if self.stopped:
            return
        _check_turn(block, self._evidence.blocks)
        self._evidence.add(block)
        self._unmet.add(block)
        if self._unmet or self._evidence.blocks < self._look:
            return
        self._look = ceil(self._evidence.blocks * GROWTH)
        name, half = self._least_sure()
        if half <= self._within:
            told = (
                f"every rating is known to within {self._words}; the least sure is that of {name}, "
                f"to within {half:.3g}"
            )
            self._verdict = Verdict("precision", told, block.number, self._no_estimate())

    def verdict(self, *, over: bool) -> Verdict | None:
        """Return what was decided; if all is over, also that it was not enough; else None."""
        if self._verdict is None and over:
            name, _ = self._least_sure()
            told = (
                f"all {self._evidence.blocks} blocks were played, and not every rating is known "
                f"to within {self._words}: that of {name} is not"
            )
            return Verdict("precision", told, None, self._no_estimate())
        return self._verdict

    @property
    def _words(self) -> str:
        number = f"{self._within:g}"
        return f"{number} {'point' if number == '1' else 'points'} a {self._plan.unit}"

    def _least_sure(self) -> tuple[str, float]:
        """Return whose interval is the widest, and half of its width."""
        halves = [_half(estimate) for estimate in Strengths(self._evidence).margins()]
        half = max(halves)
        return self._plan.entrants[halves.index(half)].name, half

    def _no_estimate(self) -> Estimate:
        """Return nothing: the ratings are in the report, and this is about none of them."""
        return Estimate(None, None, None, self._evidence.blocks)


class _Unmet:
    """Who has not met yet, or not often enough. True while there is somebody."""

    def __init__(self, plan: Plan) -> None:
        self._pairings = _pairings(plan)
        self._met: set[tuple[int, ...]] = set()
        self._blocks = [0] * len(plan.entrants)
        self._rare = len(plan.entrants)
        """Entrants with fewer than `FEWEST` blocks."""

    def add(self, block: Block) -> None:
        pairing = tuple(sorted(block.entrants))
        if self._pairings and pairing not in self._met:
            self._met.add(pairing)
            self._pairings -= 1
        for entrant in block.entrants:
            self._blocks[entrant] += 1
            self._rare -= self._blocks[entrant] == FEWEST

    def __bool__(self) -> bool:
        return self._pairings > 0 or self._rare > 0


def _pairings(plan: Plan) -> int:
    """Return how many different pairings will meet; 0 where that depends on results."""
    entrants, table = len(plan.entrants), sides(plan.players)
    match plan.format:
        case "round-robin":
            return comb(entrants, table)
        case "gauntlet":
            return plan.challengers * comb(entrants - plan.challengers, table - 1)
        case "list":
            return len({tuple(sorted(pairing)) for pairing in plan.pairings})
        case "swiss" | "knockout":
            return 0


def _lead(block: Block, plan: Plan) -> float:
    """Return the mean margin of the plan's first entrant in a block, a hand or a game."""
    at = block.entrants.index(0)
    return fmean(game[at] for game in margins(block)) / plan.hands_a_game


def _won(block: Block) -> float:
    """Return the part of a block's games that the plan's first entrant won, a draw as a half."""
    at = block.entrants.index(0)
    return fmean(shares(game, len(block.entrants))[at] for game in block.games)


def _check_turn(block: Block, number: int) -> None:
    if block.number != number:
        raise ValueError(f"block {number} of the schedule comes before block {block.number}")


def _half(estimate: Estimate) -> float:
    """Return half of the width of an interval: infinite where there is none."""
    if estimate.low is None or estimate.high is None:
        return float("inf")
    return (estimate.high - estimate.low) / 2
