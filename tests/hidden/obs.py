"""What each viewer learns, by the rules alone: the second opinion that the detector trusts.

Everything here stands on the naive referee and on "What each viewer may know" in the rules; the
engine, its views and the service are what is on trial, so nothing of theirs is asked.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from tests.referee.naive import Referee
from tests.referee.naive_rules import FULL_PACK, RANKS, SUITS, is_legal_first_table

Step = tuple[Any, ...]
"""("declare", seat, answer), ("play", seat, card), or ("late",): nobody else declares in time."""

Decks = Callable[[int], Sequence[str]]
"""The 40 cards of a hand, by its number from 1."""

Learned = tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]
"""What everybody has learned, and what one seat has learned besides."""

NUMBER: Final = {
    card: 10 * SUITS.index(card[-1]) + RANKS.index(int(card[:-1])) + 1 for card in FULL_PACK
}
"""A card's number on the wire: suits in the order O, C, E, B, each 1 to 7, 10, 11, 12."""

TEXT: Final = {number: card for card, number in NUMBER.items()}


class Setup(NamedTuple):
    """What a match is played by."""

    rules: str
    players: int
    target: int
    length: int = 0

    def __str__(self) -> str:
        return f"{self.rules}/{self.players}"


class Playout(NamedTuple):
    """A match as far as it was played."""

    setup: Setup
    dealer: int
    decks: tuple[tuple[str, ...], ...]
    """Of every hand dealt so far."""
    steps: tuple[Step, ...]


class Told(NamedTuple):
    """A numbered event: its kind, and the cards of its hand that are known once it has happened."""

    kind: str
    public: frozenset[str]
    own: tuple[frozenset[str], ...]
    """By seat: what it has been dealt."""

    def known(self, viewer: int | None) -> frozenset[str]:
        """Return the cards that a viewer knows."""
        return self.public if viewer is None else self.public | self.own[viewer]


class Mirror:
    """One match on the naive referee, with what it has told whom."""

    def __init__(self, setup: Setup, dealer: int, decks: Decks) -> None:
        self.setup = setup
        self.referee = Referee(setup.rules, setup.players, setup.target, setup.length)
        self.events: list[Told] = []
        """In the order of their numbers; whoever runs a match adds those of the lobby."""
        self.public: list[tuple[Any, ...]] = []
        self.own: list[list[tuple[Any, ...]]] = [[] for _ in range(setup.players)]
        self.decks: list[tuple[str, ...]] = []
        self.packets: list[list[tuple[str, ...]]] = []
        """Of this hand, by batch and seat."""
        self.first_dealer = dealer
        self._deck_of = decks
        self._seen: set[str] = set()
        self._dealt: list[set[str]] = [set() for _ in range(setup.players)]

    @property
    def sequence(self) -> int:
        """The number of the last event."""
        return len(self.events)

    @property
    def opened(self) -> int:
        """The number of the event that opened the decision that waits."""
        openers = ("dealt", "revealed", "played")
        return next((at for at in range(self.sequence, 0, -1) if self._is(at, openers)), 0)

    def learned(self, viewer: int | None) -> Learned:
        """Return all that a viewer has learned: its observation sequence."""
        return self.public, [] if viewer is None else self.own[viewer]

    def note(self, kind: str) -> None:
        """Add an event that shows no card."""
        own = tuple(frozenset(cards) for cards in self._dealt)
        self.events.append(Told(kind, frozenset(self._seen), own))

    def deal(self) -> None:
        """Deal the next hand."""
        referee = self.referee
        deck = tuple(self._deck_of(referee.hand_number + 1))
        self.decks.append(deck)
        referee.deal(deck, self.first_dealer if referee.dealer is None else None)
        self.packets = []
        self._seen = set(referee.table)
        self._dealt = [set() for _ in range(self.setup.players)]
        self._take_batch()

    def take(self, step: Step) -> None:
        """Let a seat answer or play, or let the time for answers run out."""
        if step[0] == "play":
            self._play(step[1], step[2])
        elif step[0] == "declare":
            self._declare(step[1], step[2])
        else:
            for seat in range(self.setup.players):
                if self.referee.phase == "declare" and seat not in self.referee.answers:
                    self._declare(seat, declares=False)

    def _declare(self, seat: int, declares: bool) -> None:
        referee = self.referee
        awards = referee.declare(seat, declares)
        self.own[seat].append((len(self.public), "I answered", declares))
        self.public.append(("answered", seat, tuple(sorted(referee.answers))))
        self.note("answered")
        if len(referee.answers) == self.setup.players:
            kinds = tuple(sorted(referee.declared.get(referee.batch, {}).items()))
            self.public.append(("revealed", kinds, awards, *self._table()))
            self.note("revealed")
            self._end_if_over()

    def _play(self, seat: int, card: str) -> None:
        referee = self.referee
        if seat != referee.turn:
            raise ValueError(f"seat {referee.turn} is to play, not {seat}")
        batch, lying = referee.batch, sorted(referee.table)
        hand_counts = referee.hand_counts
        play = referee.play(card)
        self._seen.add(card)
        taken = (tuple(sorted(play.captured)), tuple(sorted(play.reclaimed)))
        self.public.append(("played", seat, card, *taken, play.awards, *self._table()))
        self.note("played")
        if referee.hand_counts is not None and referee.hand_counts is not hand_counts:
            self.public.append(("counted", tuple(lying), tuple(referee.hand_counts)))
            self.note("hand_ended")
        if self._end_if_over():
            return
        if referee.phase == "deal":
            self.deal()
        elif referee.batch != batch:
            self._take_batch()

    def _take_batch(self) -> None:
        """Note what a deal tells: to each seat its own cards, to all the rest."""
        referee = self.referee
        for seat, hand in enumerate(referee.hands):
            self._dealt[seat] |= hand
            self.own[seat].append((len(self.public), "I was dealt", tuple(sorted(hand))))
        self.packets.append([tuple(sorted(hand)) for hand in referee.hands])
        awards = referee.last_deal_awards
        self.public.append(("dealt", referee.dealer, awards, *self._table()))
        self.note("dealt")

    def _end_if_over(self) -> bool:
        if self.referee.phase != "over":
            return False
        self.public.append(("over", self.referee.outcome, self.referee.winner))
        self.note("match_ended")
        return True

    def _table(self) -> tuple[Any, ...]:
        """Return all that lies open."""
        now = self.referee
        return (
            (now.hand_number, now.batch, now.phase, now.turn),
            (tuple(map(len, now.hands)), len(now.stock), tuple(map(len, now.piles))),
            (tuple(sorted(now.table)), tuple(sorted(now.pack)), now.last_capturer),
            tuple(now.scores),
        )

    def _is(self, number: int, kinds: tuple[str, ...]) -> bool:
        return self.events[number - 1].kind in kinds


def replay(playout: Playout) -> Mirror:
    """Return the match of a play-out; `ValueError` where it is not legal."""
    mirror = Mirror(playout.setup, playout.dealer, lambda number: playout.decks[number - 1])
    mirror.deal()
    for step in playout.steps:
        mirror.take(step)
    return mirror


def random_deck(rng: random.Random, players: int) -> tuple[str, ...]:
    """Return any deck that may be dealt."""
    deck = list(FULL_PACK)
    while True:
        rng.shuffle(deck)
        if is_legal_first_table(deck[3 * players : 3 * players + 4]):
            return tuple(deck)
