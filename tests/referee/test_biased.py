"""Biased hands: legal, hard, and the same for the same seed."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from .biased import biased_deck, biased_declare, biased_play
from .naive import Referee
from .naive_rules import (
    FULL_PACK,
    PRESETS,
    rank_of,
)

if TYPE_CHECKING:
    pass
from .situations import TABLES


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_biased_hands_are_legal_hard_and_keep_all_forty_cards(rules: str, players: int) -> None:
    rng = random.Random(players)
    chains = {1: 0, 5: 0, 10: 0}
    missas = 0
    reclaims = 0
    for _ in range(40):
        referee = Referee(rules, players, 0, 0 if rules == "arabic" else 1)
        referee.deal(biased_deck(rng, players), rng.randrange(players))
        last_rank: int | None = None
        while referee.phase in ("declare", "play"):
            if referee.phase == "declare":
                for seat in range(players):
                    referee.declare(seat, biased_declare(rng, seat in referee.dealt_sets))
                continue
            assert referee.turn is not None
            hand = sorted(referee.hands[referee.turn])
            played = referee.play(biased_play(rng, hand, referee.table, last_rank))
            last_rank = rank_of(played.card)
            reclaims += bool(played.reclaimed)
            for award in played.awards:
                assert award.points > 0
                if award.reason == "este":
                    chains[award.points] += 1
                missas += award.reason == "missa"
            cards = [card for hand in referee.hands for card in sorted(hand)]
            cards += [card for pile in referee.piles for card in sorted(pile)]
            cards += [*sorted(referee.table), *referee.stock]
            assert sorted(cards) == sorted(FULL_PACK)
            assert len({rank_of(card) for card in referee.table}) == len(referee.table)
            assert referee.pack <= set().union(*referee.piles)
        assert referee.hand_counts is not None
        assert sum(referee.hand_counts) == 40
        assert sum(award.points for award in referee.awards) == sum(referee.scores)
    assert chains[1] > 100
    assert missas > 20
    chains_pay = not (PRESETS[rules].este_form == "capture" and players == 2)
    assert (chains[5] > 15) == chains_pay
    assert (chains[10] > 8) == chains_pay
    assert (reclaims > 20) == (rules == "arabic" or (rules != "playtash" and players > 2))


def test_the_same_seed_makes_the_same_biased_hand() -> None:
    for players in (2, 3, 4):
        first = biased_deck(random.Random(5), players)
        assert first == biased_deck(random.Random(5), players)
        assert first != biased_deck(random.Random(6), players)
    table = {"1O", "3C", "5E"}
    plays = [
        biased_play(random.Random(seed), ["1C", "3O", "12B"], table, 12) for seed in range(300)
    ]
    assert plays == [
        biased_play(random.Random(seed), ["12B", "3O", "1C"], sorted(table), 12)
        for seed in range(300)
    ]
    assert plays.count("12B") > 250


def test_a_biased_seat_never_declares_falsely_and_sometimes_conceals() -> None:
    rng = random.Random(1)
    assert not any(biased_declare(rng, False) for _ in range(200))
    assert 100 < sum(biased_declare(rng, True) for _ in range(200)) < 200
