"""What goes over the socket arrives as it was: every view and event, of every preset and seat."""

from __future__ import annotations

import dataclasses
import random
from typing import Any

from tests.bots.tables import every_table, hard_deck, seat_info, uniform_deck

from ronda_arena.worker import wire
from ronda_core import match as matches
from ronda_core.hand import Phase, set_kind
from ronda_core.match import Cause, Fault, Match, MatchEvent
from ronda_core.rules import settings
from ronda_core.view import Event, story, view

MATCHES = 6


def shape(value: Any) -> Any:
    """A value with the types of all that is in it: equal numbers need not be equal cards."""
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
        return type(value), [shape(getattr(value, name)) for name in names]
    if isinstance(value, tuple):
        return type(value), [shape(one) for one in value]
    return type(value), value


class Crossing:
    """Takes every view and event of a match over the wire."""

    def __init__(self, match: Match) -> None:
        self.match = match
        self.kinds: set[type] = set()
        self.views = 0
        self._news: dict[int, list[Event]] = {seat: [] for seat in range(match.settings.players)}
        self._sequence = 0

    def see(self, events: tuple[MatchEvent, ...], clock: float | None) -> None:
        self._sequence += len(events)
        for seat, news in self._news.items():
            news.extend(story(self.match, events, seat))
            self._cross(seat, clock)
            if len(news) > 5:
                news.clear()

    def _cross(self, seat: int, clock: float | None) -> None:
        about = seat_info(self.match.settings, seat)
        sent = view(self.match, seat, self._sequence, clock), self._news[seat]
        came = wire.unpack_decision(wire.pack_decision(*sent), about)
        assert shape((came[0], tuple(came[1]))) == shape((sent[0], tuple(sent[1])))
        for event in sent[1]:
            again = wire.unpack_event(wire.unpack(wire.pack(wire.pack_event(event))))
            assert shape(again) == shape(event)
            self.kinds.add(type(event))
        self.views += 1


def wander(crossing: Crossing, rng: random.Random, last: int) -> None:
    """Play any legal match, and let a seat forfeit after `last` steps."""
    match = crossing.match
    players = match.settings.players
    deck = hard_deck if rng.random() < 0.5 else uniform_deck
    for _ in range(last):
        clock = rng.choice((None, 0.5, 1e-3, 86_400.125))
        hand = match.hand
        if match.result is not None:
            return
        if match.needs_deck:
            crossing.see(matches.deal(match, deck(rng, players)), clock)
        elif hand is not None and hand.phase is Phase.DECLARE:
            for seat in range(players):
                answer = set_kind(hand, seat) is not None and rng.random() < 0.7
                crossing.see(matches.declare(match, seat, answer), clock)
        else:
            assert hand is not None
            card = rng.choice(view(match, hand.turn).hand)
            crossing.see(matches.play(match, hand.turn, card), clock)
    fault = Fault(rng.randrange(players), rng.choice(list(Cause)), "why")
    crossing.see(matches.forfeit(match, fault), None)


@every_table()
def test_every_view_and_event_arrives_as_it_was(rules: str, players: int) -> None:
    rng = random.Random(f"wire/{rules}/{players}")
    kinds: set[type] = set()
    for number in range(MATCHES):
        match = Match(settings(rules, players), rng.randrange(players))
        crossing = Crossing(match)
        crossing.see((), None)
        wander(crossing, rng, 60 if number % 2 else 10_000)
        assert match.result is not None
        assert crossing.views > players
        kinds |= crossing.kinds
    names = {kind.__name__ for kind in kinds}
    assert {"CardsDealt", "CardPlayed", "HandEnded", "MatchEnded"} <= names


@every_table()
def test_what_a_bot_is_made_with_arrives_as_it_was(rules: str, players: int) -> None:
    for seat in range(players):
        about = seat_info(settings(rules, players), seat)
        packed = wire.unpack(wire.pack(wire.pack_seat(about)))
        assert shape(wire.unpack_seat(packed)) == shape(about)


def test_a_head_says_all_that_there_is_to_an_answer() -> None:
    assert wire.SAY.size == 7
    assert wire.SAY.unpack(wire.SAY.pack(wire.Say.CARD, 0xFFFFFFFF, 40)) == (2, 0xFFFFFFFF, 40)
