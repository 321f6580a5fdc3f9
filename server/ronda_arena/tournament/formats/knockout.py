"""Knockout: who loses an encounter is out.

Entrants are seeded by the list: the first meets the last, and where the number is no power of two
(of three at three seats) the first ones have a bye. An encounter goes to who has the greater
margin over all of its games; if that is equal, to who won more games; if that is too, another
block is played, up to three times; after that it goes to who stands earlier in the list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from ronda_arena.tournament.formats import Encounter, Pairing, Round, table_size
from ronda_arena.tournament.formats.course import Bracket, Course, Decided, Tie, rounds_to_one
from ronda_arena.tournament.spec import Plan

REPLAYS: Final = 3
"""Further blocks at most, one at a time, where nobody is ahead."""


class Knockout:
    """A round is made of the winners of the one before."""

    depends = True
    planned = None

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._blocks = plan.blocks
        self._count = len(plan.entrants)
        self._table = table_size(plan)

    def next(self, played: Sequence[Sequence[Encounter]]) -> Round | None:
        """Return the next round, or the replay of encounters in which nobody is ahead."""
        state = self._fold(played)
        if state.open:
            pairings = [one.pairing for one in state.open]
            return Round(partial(iter, pairings), len(pairings), 1)
        if len(state.alive) == 1:
            return None
        pairings = _draw(state.alive, self._table)
        return Round(partial(iter, pairings), len(pairings), self._blocks)

    def placings(self, played: Sequence[Sequence[Encounter]]) -> tuple[int, ...]:
        """Return the entrants by how far they came; the losers of a round by the margin of it."""
        if not played:
            return ()
        state = self._fold(played)
        return tuple(state.alive + state.out)

    def course(self, played: Sequence[Sequence[Encounter]]) -> Course:
        """Return what the rounds that are over came to."""
        rounds = self._fold(played).rounds
        brackets = tuple(self._bracket(one) for one in rounds)
        return Course(rounds_to_one(self._count, self._table), len(rounds), brackets=brackets)

    def _bracket(self, one: _Round) -> Bracket:
        names = [entrant.name for entrant in self._plan.entrants]
        ties = (
            Tie(
                entrants=tuple(names[at] for at in tie.encounter.pairing),
                margins=tuple(tie.encounter.margins),
                won=tuple(tie.encounter.wins),
                extra=tie.extra,
                winner=names[tie.winner],
                by=tie.by,
            )
            for _, tie in sorted(one.ties.items())
        )
        return Bracket(tuple(ties), tuple(names[at] for at in one.byes))

    def _fold(self, played: Sequence[Sequence[Encounter]]) -> _State:
        state = _State(list(range(self._count)))
        for encounters in played:
            state.take(encounters)
        return state


class _Tie(NamedTuple):
    """An encounter that is decided."""

    encounter: Encounter
    extra: int
    winner: int
    by: Decided


@dataclass(slots=True)
class _Round:
    """What was decided of a round."""

    byes: list[int]
    ties: dict[Pairing, _Tie] = field(default_factory=dict)


@dataclass(slots=True)
class _State:
    """Who is still in, from the best seed on; who is out, the last of them first."""

    alive: list[int]
    out: list[int] = field(default_factory=list)
    open: list[Encounter] = field(default_factory=list)
    """Encounters that are being played again."""
    rounds: list[_Round] = field(default_factory=list)
    """That are over."""
    _round: _Round | None = None
    _losers: list[tuple[float, int]] = field(default_factory=list)
    _replays: int = 0

    def take(self, encounters: Sequence[Encounter]) -> None:
        """Count a round, or a replay of what was open."""
        if self.open:
            encounters = [_sum(old, new) for old, new in zip(self.open, encounters, strict=True)]
            self._replays += 1
        round_ = self._round or _Round(_resting(self.alive, encounters))
        self.open = []
        for one in encounters:
            leading = _leading(one)
            if len(leading) > 1 and self._replays < REPLAYS:
                self.open.append(one)
                continue
            winner = min(leading)
            round_.ties[one.pairing] = _Tie(one, self._replays, winner, _by(one, leading))
            for entrant, margin in zip(one.pairing, one.margins, strict=True):
                if entrant != winner:
                    self.alive.remove(entrant)
                    self._losers.append((-margin, entrant))
        self._round = round_
        if not self.open:
            self.rounds.append(round_)
            self._round = None
            self.out = [entrant for _, entrant in sorted(self._losers)] + self.out
            self._losers, self._replays = [], 0


def _draw(alive: Sequence[int], table: int) -> list[Pairing]:
    """Return who meets: so many of the last that a full bracket is left, the best with the worst.

    At two seats the first meets the last; at three the first, one of the middle and the last.
    """
    full = 1
    while full * table <= len(alive):
        full *= table
    if full == len(alive):
        tables, playing = full // table, list(alive)
    else:
        tables = (len(alive) - full) // (table - 1)
        playing = list(alive[len(alive) - tables * table :])
    pairings = []
    for at in range(tables):
        middle = [playing[2 * tables - 1 - at]] if table == 3 else []
        last = playing[(2 * tables + at) if table == 3 else (2 * tables - 1 - at)]
        pairings.append((playing[at], *middle, last))
    return pairings


def _leading(one: Encounter) -> list[int]:
    """Return who has the greatest margin, and of those the most games won."""
    best = max(zip(one.margins, one.wins, strict=True))
    return [
        entrant
        for entrant, margin, wins in zip(one.pairing, one.margins, one.wins, strict=True)
        if (margin, wins) == best
    ]


def _by(one: Encounter, leading: Sequence[int]) -> Decided:
    if len(leading) > 1:
        return "list"
    return "margin" if one.margins.count(max(one.margins)) == 1 else "games"


def _resting(alive: Sequence[int], encounters: Sequence[Encounter]) -> list[int]:
    seated = {entrant for one in encounters for entrant in one.pairing}
    return [entrant for entrant in alive if entrant not in seated]


def _sum(old: Encounter, new: Encounter) -> Encounter:
    return Encounter(
        old.pairing,
        [a + b for a, b in zip(old.margins, new.margins, strict=True)],
        [a + b for a, b in zip(old.wins, new.wins, strict=True)],
    )
