"""What the others may hold, given all that has been seen.

A world says which ranks each other seat holds. It has to agree with the cards seen, with the
sizes of the hands, and with the sets of this batch: a seat that declared a ronda was dealt a
pair, one that kept silent was dealt none (silence never pays), and where sets are paid without a
word, the points that each side was paid tell as much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb
from random import Random
from typing import Final, NamedTuple

from ronda_bots.api import Event, View
from ronda_bots.moves import TABLE, Moves
from ronda_bots.rates import Rates
from ronda_core.cards import STEP
from ronda_core.rules import Settings
from ronda_core.sets import KINDS, POINTS, STRENGTH
from ronda_core.view import CardsDealt, DeclarationsRevealed

Hand = tuple[int, ...]
"""The steps of the cards that a seat holds, in ascending order."""

Shares = tuple[int, ...]
"""Points by side."""

TRIES: Final = 100
"""Deals drawn for each world asked for, before what was paid for sets is let go, and as many
again before what was declared is."""


class World(NamedTuple):
    """One way that things may be, and how likely it is beside the others."""

    weight: float
    hands: tuple[Hand, ...]
    """Of the other seats, in the order in which they play after this one."""


def paid(event: Event, sides: int) -> Shares | None:
    """Return what a batch's sets paid each side, where `event` tells it."""
    if not isinstance(event, CardsDealt | DeclarationsRevealed):
        return None
    shares = [0] * sides
    for award in event.awards:
        shares[award.side] += award.points
    return tuple(shares)


class Evidence:
    """What one view, and what was paid for the sets of its batch, say of the other hands."""

    def __init__(self, rules: Settings, view: View, shares: Shares | None) -> None:
        self._rules = rules
        players = rules.players
        self.seats = [(view.seat + ahead) % players for ahead in range(1, players)]
        self.sizes = [view.hand_sizes[seat] for seat in self.seats]
        self.unseen = [0] * 10
        for card in view.unseen:
            self.unseen[STEP[card]] += 1
        begun = (view.batch - 1) * rules.batch_plays
        first = rules.next_seat[view.dealer]
        self.played: list[list[int]] = [[] for _ in range(players)]
        """Steps that each seat has played in this batch."""
        for at, card in enumerate(view.plays[begun:]):
            self.played[(first + at) % players].append(STEP[card])
        mine = [STEP[card] for card in view.hand] + self.played[view.seat]
        self._view = view
        self._mine = view.seat, strength(mine)
        self._kinds: dict[int, str] | None = None
        if rules.declares:
            told = {seat: kind for batch, seat, kind in view.declared if batch == view.batch}
            self._kinds = {seat: told.get(seat, "") for seat in self.seats}
        self._shares = shares if rules.has_sets else None

    def agrees(self, hands: Sequence[Sequence[int]], *, shares: bool = True) -> bool:
        """Say whether the other seats may hold `hands`, by all that sets have told."""
        if not self._rules.has_sets:
            return True
        strengths = [0] * self._rules.players
        for seat, held in zip(self.seats, hands, strict=True):
            strengths[seat] = strength([*held, *self.played[seat]])
        if self._kinds is not None:
            for seat, kind in self._kinds.items():
                if KINDS[strengths[seat]] != kind:
                    return False
        if self._shares is None or not shares:
            return True
        seat, own = self._mine
        strengths[seat] = own
        return pays(self._rules, strengths) == self._shares

    def next_hands(self) -> list[tuple[Hand, int]]:
        """Return every hand that the next seat may hold, with the ways in which it comes."""
        seat = self.seats[0]
        kind = self._kinds[seat] if self._kinds is not None else None
        every = list(_hands(self.unseen, self.sizes[0]))
        if kind is None or not self.sizes[0]:
            return every
        played = self.played[seat]
        fit = [each for each in every if KINDS[strength([*each[0], *played])] == kind]
        return fit or every

    def weighed(self, worlds: Sequence[World], rates: Rates, doubt: float) -> list[World]:
        """Return the worlds, each as likely as its seats' plays so far were in it."""
        told = [
            (ahead, spot, rest, rates.before(since))
            for ahead, spot, rest, since in self._decisions(rates.moves)
        ]
        weighed = []
        for weight, hands in worlds:
            likely = weight
            for ahead, spot, rest, then in told:
                held = tuple(sorted((*hands[ahead], *rest)))
                if held[then.choose(spot, held)] != rest[0]:
                    likely *= doubt
            weighed.append(World(likely, hands))
        return weighed

    def _decisions(self, moves: Moves) -> list[tuple[int, int, list[int], list[int]]]:
        """Return who of the others chose in this batch, where, and what it and all played since."""
        rules, view = self._rules, self._view
        begun = (view.batch - 1) * rules.batch_plays
        spot = 0
        for card in view.first_table:
            spot |= 1 << STEP[card]
        seat = rules.next_seat[view.dealer]
        told = []
        count = [0] * rules.players
        for made, card in enumerate(view.plays):
            if made % rules.batch_plays == 0:
                spot &= TABLE
            if made >= begun:
                if seat != view.seat and count[seat] < 2:
                    since = [STEP[each] for each in view.plays[made:]]
                    rest = self.played[seat][count[seat] :]
                    told.append((self.seats.index(seat), spot, rest, since))
                count[seat] += 1
            spot = moves[spot << 4 | STEP[card]][2]
            seat = rules.next_seat[seat]
        return told

    def all(self) -> list[World]:
        """Return every world at two players, a hand of ranks each, with how many ways it has."""
        every = [World(ways, (held,)) for held, ways in _hands(self.unseen, self.sizes[0])]
        return [world for world in every if self.agrees(world.hands)] or every

    def sample(self, count: int, rng: Random) -> list[World]:
        """Return `count` worlds, each as likely as it is: draw, and keep what agrees.

        At two players there are so few that all can be told: they are gone through in order at an
        even pace, which leaves less to luck than drawing does.
        """
        if len(self.seats) == 1:
            return thinned(self.all(), count)
        cards = [step for step, copies in enumerate(self.unseen) for _ in range(copies)]
        most = TRIES * (count + 20)
        proposals = self._proposals()
        worlds: list[World] = []
        tries = 0
        while len(worlds) < count:
            tries += 1
            hands = self._draw(cards, proposals, rng)
            if hands is None:
                continue
            # Somebody may have kept a set to itself against all sense: then silence says nothing.
            if tries > 2 * most or self.agrees(hands, shares=tries <= most):
                worlds.append(World(1.0, tuple(hands)))
        return worlds

    def _proposals(self) -> dict[int, tuple[list[Hand], list[int]]]:
        """Return the hands to draw from for the seats that declared a set: few of all fit."""
        found: dict[int, tuple[list[Hand], list[int]]] = {}
        for at, seat in enumerate(self.seats):
            kind = self._kinds[seat] if self._kinds else ""
            if kind:
                fit = [
                    (held, ways)
                    for held, ways in _hands(self.unseen, self.sizes[at])
                    if KINDS[strength([*held, *self.played[seat]])] == kind
                ]
                found[at] = [held for held, _ in fit], [ways for _, ways in fit]
        return found

    def _draw(
        self, cards: list[int], proposals: dict[int, tuple[list[Hand], list[int]]], rng: Random
    ) -> list[Hand] | None:
        """Return hands for the other seats, or None where those drawn go badly together.

        What is drawn for one seat leaves fewer ways for the next: it is kept as often as so many
        ways are left, so that in the end every deal is as likely as any other.
        """
        hands: list[Hand] = [()] * len(self.seats)
        if not proposals:
            drawn = rng.sample(cards, sum(self.sizes))
        else:
            left = self.unseen[:]
            for at, (fit, ways) in proposals.items():
                held = rng.choices(fit, ways)[0]
                hands[at] = held
                keep = 1.0
                for step in set(held):
                    copies = held.count(step)
                    keep *= comb(left[step], copies) / comb(self.unseen[step], copies)
                    left[step] -= copies
                if keep < 1.0 and rng.random() >= keep:
                    return None
            rest = [step for step, copies in enumerate(left) for _ in range(copies)]
            others = [at for at in range(len(hands)) if at not in proposals]
            drawn = rng.sample(rest, sum(self.sizes[at] for at in others))
        start = 0
        for at, size in enumerate(self.sizes):
            if at not in proposals:
                hands[at] = tuple(sorted(drawn[start : start + size]))
                start += size
        return hands


def strength(steps: Sequence[int]) -> int:
    """Return the strength of the set that a seat was dealt; 0: none, or not three cards."""
    if len(steps) != 3:
        return 0
    a, b, c = steps
    return STRENGTH[a + 1][b + 1][c + 1]


def pays(rules: Settings, strengths: Sequence[int]) -> Shares:
    """Return what sets of these strengths, by seat, pay each side."""
    shares = [0] * rules.sides
    best = max(strengths)
    if best:
        total = sum(POINTS[each] for each in strengths)
        winners = {rules.side_of[seat] for seat, each in enumerate(strengths) if each == best}
        for side in winners:
            shares[side] = total // len(winners)
    return tuple(shares)


def _hands(counts: Sequence[int], size: int) -> Iterator[tuple[Hand, int]]:
    """Yield every hand of `size` ranks that the counts allow, and in how many ways it comes."""
    for held, copies in _shapes(size):
        ways = 1
        for step, wanted in copies:
            ways *= comb(counts[step], wanted)
        if ways:
            yield held, ways


@lru_cache(maxsize=4)
def _shapes(size: int) -> list[tuple[Hand, tuple[tuple[int, int], ...]]]:
    return [
        (held, tuple((step, held.count(step)) for step in sorted(set(held))))
        for held in combinations_with_replacement(range(10), size)
    ]


def thinned(worlds: Sequence[World], count: int) -> list[World]:
    """Return about `count` of the worlds, of equal weight, each as often as it is likely."""
    pace = sum(world.weight for world in worlds) / count
    kept: list[World] = []
    passed, mark = 0.0, pace / 2
    for world in worlds:
        passed += world.weight
        times = 0
        while passed > mark:
            times += 1
            mark += pace
        if times:
            kept.append(World(float(times), world.hands))
    return kept
