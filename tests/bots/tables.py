"""Tables and matches that the tests of the bots and of the arena share."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import cache
from statistics import fmean
from typing import Any

import pytest
from tests.referee.biased import biased_deck

from ronda_bots.api import BotClass, SeatInfo
from ronda_bots.careful import Careful
from ronda_bots.greedy import Greedy
from ronda_bots.random import Random
from ronda_bots.registry import BotInfo
from ronda_core import match as matches
from ronda_core.cards import parse_card
from ronda_core.fair import legal_table
from ronda_core.hand import Phase, set_kind
from ronda_core.match import Match
from ronda_core.rules import PRESETS, Settings, settings
from ronda_core.view import View, view

TABLES = [(name, n) for name, preset in PRESETS.items() for n in preset.players]
BUILT_IN = (Random, Greedy, Careful)

Deck = tuple[int, ...]
Choose = Callable[[Match, View], int]


def named(table: tuple[str, int]) -> str:
    return f"{table[0]}-{table[1]}"


def every_table() -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("rules", "players"), TABLES, ids=map(named, TABLES))


def info(bot_class: Any, name: str | None = None) -> BotInfo:
    """A bot as the registry would describe it."""
    kind: BotClass = bot_class
    return BotInfo(name or bot_class.__name__.lower(), kind.version, "ronda", "0.1.0", "", kind)


def seat_info(rules: Settings, seat: int) -> SeatInfo:
    names = tuple(f"bot{number}@1" for number in range(rules.players))
    side = rules.side_of[seat]
    return SeatInfo(seat, side, rules.players, rules.preset.name, rules.target, rules.length, names)


def one_hand(rules: str, players: int) -> Settings:
    return (
        settings(rules, players, length=1) if PRESETS[rules].targets else settings(rules, players)
    )


def uniform_deck(rng: random.Random, players: int) -> Deck:
    while True:
        deck = rng.sample(range(1, 41), 40)
        if legal_table(deck[3 * players : 3 * players + 4]):
            return tuple(deck)


def hard_deck(rng: random.Random, players: int) -> Deck:
    """A deck that is likely to make chains, reclaims, sweeps and sets."""
    return tuple(parse_card(text) for text in biased_deck(rng, players))


def play_out(match: Match, choose: Choose, decks: Callable[[int], Deck]) -> None:
    """Play a match to its end by the public steps: what is not legal raises."""
    while match.result is None:
        if match.needs_deck:
            matches.deal(match, decks(match.needs_deck))
            continue
        hand = match.hand
        assert hand is not None
        if hand.phase is Phase.DECLARE:
            for seat in range(match.settings.players):
                matches.declare(match, seat, set_kind(hand, seat) is not None)
        else:
            matches.play(match, hand.turn, choose(match, view(match, hand.turn)))


def sit(rules: Settings, classes: Sequence[Any], seed: int = 0) -> list[Any]:
    """Make a bot for each seat."""
    return [
        kind(seat_info(rules, seat), random.Random(seed + seat))
        for seat, kind in enumerate(classes)
    ]


def twin(match: Match, seat: int, rng: random.Random) -> Match:
    """The same match to `seat`, with everything that it has not seen dealt anew."""
    other = matches.copy(match)
    hand = other.hand
    assert hand is not None
    held = [card for at, cards in enumerate(hand.hands) if at != seat for card in cards]
    dealt = 4 + hand.batch * hand.settings.batch_plays
    hidden = held + list(hand.deck[dealt:])
    anew = dict(zip(hidden, rng.sample(hidden, len(hidden)), strict=True))
    hand.deck = tuple(anew.get(card, card) for card in hand.deck)
    hand.hands = [[anew.get(card, card) for card in cards] for cards in hand.hands]
    return other


def blocks(better: Any, worse: Any, rules: str, players: int, count: int) -> list[float]:
    """Margins of `better`, a block each: one deal in every rotation of the seats."""
    one = one_hand(rules, players)
    margins = []
    for block in range(count):
        rng = random.Random(f"{rules} {players} {block}")
        deal = cache(lambda _, rng=rng: uniform_deck(rng, players))
        games = []
        for rotation in range(one.sides):
            classes = [
                better if (seat - rotation) % one.sides == 0 else worse for seat in range(players)
            ]
            bots = sit(one, classes, block)
            match = Match(one, block % players)
            play_out(match, lambda _, seen, bots=bots: bots[seen.seat].play(seen), deal)
            others = [score for side, score in enumerate(match.scores) if side != rotation]
            games.append(match.scores[rotation] - fmean(others))
        margins.append(fmean(games))
    return margins
