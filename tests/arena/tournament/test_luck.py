"""The reference that luck is measured with is the bot greedy, and no seat is better off by it."""

from __future__ import annotations

import random

import pytest
from tests.bots.tables import TABLES, every_table, info

from ronda_arena.table import play_match
from ronda_arena.tournament.luck import luck
from ronda_bots.greedy import Greedy
from ronda_core.fair import seeded_master
from ronda_core.rules import PRESETS, settings


@every_table()
def test_it_scores_what_greedy_scores_in_all_seats(rules: str, players: int) -> None:
    length = 1 if PRESETS[rules].targets else 0
    one = settings(rules, players, length=length)
    for game in range(25):
        record = play_match(
            "m",
            one,
            [info(Greedy)] * players,
            seeded_master(7, game),
            now=lambda: "2026-01-01T00:00:00Z",
        )
        assert luck(rules, players, record.hands) == record.score


@pytest.mark.parametrize(("rules", "players"), [one for one in TABLES if PRESETS[one[0]].targets])
def test_it_is_a_sum_over_hands_and_asks_for_the_decks_alone(rules: str, players: int) -> None:
    random_ = random.Random(1)
    many = settings(rules, players, length=3)
    record = play_match(
        "m", many, [info(Greedy)] * players, seeded_master(8), now=lambda: "2026-01-01T00:00:00Z"
    )
    hands = list(record.hands)
    whole = luck(rules, players, hands)
    parts = [luck(rules, players, [hand]) for hand in hands]
    assert whole == tuple(map(sum, zip(*parts, strict=True)))
    random_.shuffle(hands)
    assert luck(rules, players, hands) == whole
