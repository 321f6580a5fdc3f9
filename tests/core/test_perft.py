"""Every line of play from three fixed deals, added up: a change of the rules shows as a number.

As in chess, the table pins the rules by exhaustion. How many lines there are says little here, for
no card is ever illegal; what happens on them says the rest. The second referee adds up the lines
of the first batch as well.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterable

import pytest
from tests.referee.naive import Referee
from tests.referee.naive_rules import Award as NaiveAward

from ronda_core import hand as engine
from ronda_core.cards import parse_cards
from ronda_core.hand import Award, Hand, Phase, Played
from ronda_core.rules import settings

DECKS = {
    2: "3E 11E 11O 3B 3O 4E 4C 5C 3C 11B 10C 4B 10E 10B 12C 10O 2B 2E 5B 2O "
    "6E 2C 12O 5O 12E 4O 1C 12B 1B 6C 6B 1E 1O 11C 5E 7C 7O 7E 7B 6O",
    3: "1E 3O 10C 10O 10E 3B 10B 3E 3C 5O 4O 2B 1C 5C 4B 5E 1O 12E 11E 11O "
    "11B 4C 6B 6O 11C 2E 2C 12C 6C 6E 5B 7C 4E 1B 2O 12B 12O 7O 7B 7E",
    4: "5C 4O 12C 7E 7C 5B 6C 12E 5O 7B 5E 7O 10C 12B 6B 11C 3O 11E 3C 11O "
    "3B 3E 4C 6O 4B 11B 1O 1B 2E 2O 12O 6E 1E 10B 10O 4E 1C 10E 2C 2B",
}
"""Hard deals: equal cards one seat after the other, sets that compete, runs on the table."""

COLUMNS = ("lines", "captured", "este", "reclaimed", "missa", "sets", "points")

TABLE: dict[tuple[str, int, int], tuple[int, ...]] = {
    ("playtash", 2, 6): (36, 196, 72, 0, 28, 144, 116),
    ("playtash", 2, 12): (1296, 11808, 12240, 0, 2160, 7776, 11664),
    ("playtash", 2, 18): (46656, 518400, 787968, 0, 80640, 326592, 619776),
    ("cafe", 2, 6): (36, 196, 16, 0, 28, 72, 36),
    ("cafe", 2, 12): (1296, 11808, 2592, 0, 2160, 3888, 3456),
    ("cafe", 2, 18): (46656, 518400, 165888, 0, 80640, 186624, 179136),
    ("arabic", 2, 6): (36, 196, 72, 0, 28, 0, 80),
    ("arabic", 2, 12): (1296, 11232, 12240, 3744, 2448, 0, 9120),
    ("arabic", 2, 18): (46656, 476928, 787968, 222912, 92160, 0, 528192),
    ("pagat", 2, 6): (36, 196, 16, 0, 28, 108, 36),
    ("pagat", 2, 12): (1296, 11808, 2592, 0, 2160, 6480, 3456),
    ("pagat", 2, 18): (46656, 518400, 165888, 0, 80640, 326592, 179136),
    ("cafe", 3, 9): (216, 1608, 1416, 552, 428, 432, 784),
    ("cafe", 3, 18): (46656, 513216, 331776, 119232, 99168, 186624, 186688),
    ("pagat", 3, 9): (216, 1608, 1416, 552, 428, 864, 784),
    ("pagat", 3, 18): (46656, 513216, 331776, 119232, 99168, 373248, 186688),
    ("playtash", 4, 12): (1296, 11640, 4224, 0, 528, 7776, 5032),
    ("playtash", 4, 16): (104976, 1127640, 400464, 0, 55776, 629856, 473976),
    ("cafe", 4, 12): (1296, 11344, 3520, 1420, 584, 5184, 3352),
    ("cafe", 4, 16): (104976, 1117560, 343440, 115020, 61224, 419904, 338760),
    ("pagat", 4, 12): (1296, 11344, 3520, 1420, 584, 6480, 3352),
    ("pagat", 4, 16): (104976, 1117560, 343440, 115020, 61224, 524880, 338760),
}
"""By preset, players and depth in plays: the lines of that length, then sums over all of them:
cards captured, points for estes, cards reclaimed, points for missas, points for sets and for sets
kept silent, and the last side's score."""


def row(total: Counter[str], lines: int) -> dict[str, int]:
    return {"lines": lines} | {column: total[column] for column in COLUMNS[1:]}


def note(total: Counter[str], awards: Iterable[Award | NaiveAward], times: int) -> None:
    for award in awards:
        column = "sets" if award.reason in {"ronda", "tringa", "penalty"} else award.reason
        total[column] += award.points * times


def perft(hand: Hand, depth: int, total: Counter[str]) -> int:
    """Add up what happens on all lines of `depth` plays from here; return how many there are."""
    if depth == 0:
        total["points"] += hand.scores[-1]
        return 1
    lines = 0
    for card in hand.hands[hand.turn]:
        after = engine.copy(hand)
        events = [*engine.play(after, card), *declare(after)]
        below = perft(after, depth - 1, total)
        played = events[0]
        assert isinstance(played, Played)
        total["captured"] += len(played.captured) * below
        total["reclaimed"] += len(played.reclaimed) * below
        for event in events:
            note(total, getattr(event, "awards", ()), below)
        lines += below
    return lines


def declare(hand: Hand) -> list[engine.HandEvent]:
    """Let every seat declare what it holds, but the dealer, who keeps silent."""
    events: list[engine.HandEvent] = []
    if hand.phase is Phase.DECLARE:
        for seat, strength in enumerate(hand.strengths):
            events += engine.declare(hand, seat, strength > 0 and seat != hand.dealer)
    return events


def counted(rules: str, players: int, depth: int) -> dict[str, int]:
    made = settings(rules, players, None, 0 if rules == "arabic" else 1)
    hand, events = engine.deal(made, 1, players - 1, parse_cards(DECKS[players]), (0,) * made.sides)
    opening = [*events, *declare(hand)]
    total: Counter[str] = Counter()
    lines = perft(hand, depth, total)
    for event in opening:
        note(total, getattr(event, "awards", ()), lines)
    return row(total, lines)


def slow_perft(referee: Referee, depth: int, total: Counter[str]) -> int:
    """The same, by the second referee."""
    if depth == 0:
        total["points"] += referee.scores[-1]
        return 1
    lines = 0
    assert referee.turn is not None
    for card in sorted(referee.hands[referee.turn]):
        after = copy.deepcopy(referee)
        played = after.play(card)
        awards = [*played.awards, *after.last_deal_awards, *slow_declare(after)]
        below = slow_perft(after, depth - 1, total)
        total["captured"] += len(played.captured) * below
        total["reclaimed"] += len(played.reclaimed) * below
        note(total, awards, below)
        lines += below
    return lines


def slow_declare(referee: Referee) -> list[NaiveAward]:
    awards: list[NaiveAward] = []
    if referee.phase == "declare":
        for seat in range(referee.players):
            holds = seat in referee.dealt_sets
            awards += referee.declare(seat, holds and seat != referee.dealer)
    return awards


def slowly_counted(rules: str, players: int, depth: int) -> dict[str, int]:
    referee = Referee(rules, players, 0, 0 if rules == "arabic" else 1)
    awards = [*referee.deal(DECKS[players].split(), players - 1), *slow_declare(referee)]
    total: Counter[str] = Counter()
    lines = slow_perft(referee, depth, total)
    note(total, awards, lines)
    return row(total, lines)


@pytest.mark.parametrize(("rules", "players", "depth"), TABLE)
def test_all_lines_of_a_deal_add_up_to_the_table(rules: str, players: int, depth: int) -> None:
    expected = dict(zip(COLUMNS, TABLE[rules, players, depth], strict=True))
    assert counted(rules, players, depth) == expected


@pytest.mark.parametrize(
    ("rules", "players", "depth"), [place for place in TABLE if place[2] <= 3 * place[1]]
)
def test_the_second_referee_adds_up_the_same_lines(rules: str, players: int, depth: int) -> None:
    expected = dict(zip(COLUMNS, TABLE[rules, players, depth], strict=True))
    assert slowly_counted(rules, players, depth) == expected
