"""The reference that luck is measured with is the bot greedy, and no seat is better off by it."""

from __future__ import annotations

import random

import pytest
from tests.bots.tables import TABLES, every_table, info

from ronda_arena.table import play_match
from ronda_arena.tournament.entrants import sides
from ronda_arena.tournament.luck import deals, luck
from ronda_arena.tournament.spec import Spec, plan
from ronda_bots.greedy import Greedy
from ronda_core.fair import Dealer, Entry, seeded_master
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


@pytest.mark.parametrize(("rules", "players"), [one for one in TABLES if PRESETS[one[0]].targets])
def test_the_reference_plays_on_until_each_side_has_dealt_equally_often(
    rules: str, players: int
) -> None:
    spec = Spec(bots=("a", "b", "c")[: sides(players)], rules=rules, players=players)  # type: ignore[arg-type] # 2, 3 or 4
    own = plan(spec, str, str)
    for number in range(6):
        master = seeded_master(9, number)
        record = play_match(
            "m",
            own.settings,
            [info(Greedy)] * players,
            master,
            now=lambda: "2026-01-01T00:00:00Z",
        )
        assert record.fair is not None
        dealer = Dealer(master, record.fair.scope, record.fair.entries, players)
        told = deals(own, dealer, record.hands)
        assert len(record.hands) <= len(told) < len(record.hands) + own.settings.sides
        assert len(told) % own.settings.sides == 0
        begun = deals(own, dealer, record.hands[:1])
        for hand, (at, one) in zip(record.hands, enumerate(told), strict=False):
            assert (hand.dealer, tuple(hand.deck)) == (one.dealer, tuple(one.deck))
            assert one.dealer == (dealer.first_dealer() + at) % players
        for hand, one in zip(record.hands, begun, strict=False):
            assert (hand.dealer, tuple(hand.deck)) == (one.dealer, tuple(one.deck))


def test_of_a_fixed_length_all_hands_are_told_also_where_a_fault_ended_it() -> None:
    own = plan(Spec(bots=("a", "b"), rules="playtash", hands=3), str, str)
    dealer = Dealer(seeded_master(9), "t/0", [Entry("a"), Entry("b")], 2)
    told = deals(own, dealer, ())
    first = dealer.first_dealer()
    assert [one.dealer for one in told] == [first, 1 - first, first]
    assert [one.deck for one in told] == [dealer.deck(hand) for hand in (1, 2, 3)]
