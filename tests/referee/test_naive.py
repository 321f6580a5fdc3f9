"""The second referee against the rules that no vector shows."""

from __future__ import annotations

import random
from itertools import combinations, product
from math import comb
from typing import TYPE_CHECKING

import pytest

from .biased import biased_deck
from .naive import Referee
from .naive_rules import (
    FULL_PACK,
    PRESETS,
    RANKS,
    SUITS,
    Award,
    is_legal_first_table,
    set_in,
)

if TYPE_CHECKING:
    pass
from .situations import (
    TABLES,
    answer,
    at_the_last_card,
    deck_with,
    este_position,
    lay,
    others,
    play_lowest,
    position,
)


def test_a_ronda_is_in_2186_and_a_tringa_in_40_of_10000_hands_of_three() -> None:
    found = [set_in(set(hand)) for hand in combinations(FULL_PACK, 3)]
    assert len(found) == 9880
    kinds = [kind_and_rank[0] for kind_and_rank in found if kind_and_rank is not None]
    assert round(100 * kinds.count("ronda") / 9880, 2) == 21.86
    assert round(100 * kinds.count("tringa") / 9880, 3) == 0.405


def test_51968_of_91390_first_tables_are_legal() -> None:
    assert comb(40, 4) == 91390
    legal_ranks = [
        ranks
        for ranks in combinations(RANKS, 4)
        if is_legal_first_table([f"{rank}O" for rank in ranks])
    ]
    assert len(legal_ranks) * len(list(product(SUITS, repeat=4))) == 51968
    assert not is_legal_first_table(["3O", "3C", "5E", "7B"])


@pytest.mark.parametrize(
    ("rules", "players", "target", "length"),
    [
        ("ronda", 2, 41, 0),
        ("playtash", 3, 41, 0),
        ("playtash", 2, 25, 0),
        ("playtash", 2, 0, 0),
        ("cafe", 5, 41, 0),
        ("cafe", 1, 41, 0),
        ("cafe", 2, 42, 0),
        ("cafe", 2, 0, 0),
        ("cafe", 2, 41, 1),
        ("cafe", 2, 0, -1),
        ("arabic", 2, 41, 0),
        ("arabic", 2, 0, 1),
        ("arabic", 3, 0, 0),
        ("arabic", 4, 0, 0),
        ("pagat", 2, 21, 0),
    ],
)
def test_a_match_that_the_rules_do_not_allow_is_refused(
    rules: str, players: int, target: int, length: int
) -> None:
    with pytest.raises(ValueError, match=r"."):
        Referee(rules, players, target, length)


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_every_allowed_target_and_length_opens_a_match(rules: str, players: int) -> None:
    for target in PRESETS[rules].targets:
        assert Referee(rules, players, target).phase == "deal"
    if rules != "arabic":
        assert Referee(rules, players, 0, 3).length == 3


def test_a_deal_needs_forty_cards_and_the_right_dealer() -> None:
    deck = deck_with(2, 0)
    referee = Referee("playtash", 2, 0, 2)
    for bad in (deck[:-1], [*deck[:-1], deck[0]], [*deck, deck[0]], [*deck[:-1], "8O"]):
        with pytest.raises(ValueError, match="40 cards"):
            referee.deal(bad, 0)
    for dealer in (None, -1, 2):
        with pytest.raises(ValueError, match=r"seat|dealer"):
            referee.deal(deck, dealer)
    referee.deal(deck, 1)
    with pytest.raises(ValueError, match="no deal"):
        referee.deal(deck, 0)
    while referee.phase == "play":
        play_lowest(referee)
    with pytest.raises(ValueError, match="passes to seat 0"):
        referee.deal(deck, 1)
    referee.deal(deck)
    assert referee.dealer == 0
    assert referee.turn == 1


def test_a_card_that_is_not_held_is_refused_and_changes_nothing() -> None:
    referee = Referee("playtash", 2, 41)
    with pytest.raises(ValueError, match="no play"):
        referee.play("1O")
    referee.deal(deck_with(2, 0), 0)
    before = referee.view(1)
    for card in ("8O", min(referee.hands[0]), min(referee.table)):
        with pytest.raises(ValueError, match="does not hold"):
            referee.play(card)
    assert before == referee.view(1)


def test_a_false_second_or_late_declaration_is_refused_and_changes_nothing() -> None:
    referee = Referee("pagat", 2, 41)
    hands = [["7O", "7C", "1E"], ["2O", "3C", "4E"]]
    with pytest.raises(ValueError, match="no declaration"):
        referee.declare(0, False)
    referee.deal(deck_with(2, 0, hands), 0)
    with pytest.raises(ValueError, match="no play"):
        referee.play("2O")
    for seat in (-1, 2):
        with pytest.raises(ValueError, match="no seat"):
            referee.declare(seat, False)
    with pytest.raises(ValueError, match="holds no set"):
        referee.declare(1, True)
    assert referee.declare(0, True) == ()
    with pytest.raises(ValueError, match="has answered"):
        referee.declare(0, True)
    assert referee.scores == [0, 0]
    assert referee.declare(1, False) == (Award(0, 0, "ronda", 1),)
    assert referee.declared == {1: {0: "ronda"}}
    with pytest.raises(ValueError, match="no declaration"):
        referee.declare(1, False)


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_the_dealer_plays_last_and_the_deal_passes_on_every_hand(rules: str, players: int) -> None:
    hands = 1 if rules == "arabic" else players + 1
    referee = Referee(rules, players, 0, 0 if rules == "arabic" else hands)
    for number in range(hands):
        dealer = (1 + number) % players
        referee.deal(deck_with(players, dealer), 1 if number == 0 else None)
        assert dealer == referee.dealer
        assert len(referee.stock) == 36 - 3 * players
        order = []
        while referee.phase in ("declare", "play"):
            if referee.phase == "declare":
                answer(referee)
            else:
                order.append(play_lowest(referee).seat)
        assert len(order) == 36
        assert referee.batch == 36 // (3 * players)
        assert order == [(dealer + 1 + play) % players for play in range(36)]
        assert referee.hand_counts is not None
        assert sum(referee.hand_counts) == 40
    assert referee.phase == "over"
    assert referee.outcome == ("hand" if rules == "arabic" else "length")


def test_four_players_are_two_sides_for_every_dealer() -> None:
    for dealer in range(4):
        referee = position(
            "playtash", 4, [["1O", "2O"]] * 4, ["1C"], dealer=dealer, turn=(dealer + 1) % 4
        )
        played = referee.play("1O")
        assert [(a.side, a.reason) for a in played.awards] == [((dealer + 1) % 2, "missa")]
        assert len(referee.piles[(dealer + 1) % 2]) == 2
        assert referee.last_capturer == (dealer + 1) % 2


@pytest.mark.parametrize(
    ("scores", "winner"), [([5, 5], None), ([4, 5], 1), ([45, 5], 0), ([41, 41], None)]
)
def test_a_fixed_length_has_no_target_and_equal_is_a_draw(
    scores: list[int], winner: int | None
) -> None:
    for rules in ("playtash", "cafe", "pagat"):
        referee, card = at_the_last_card(rules, 2, [20, 20], 0, 0, scores)
        referee.target, referee.length = 0, 1
        referee.play(card)
        assert (referee.phase, referee.outcome) == ("over", "length")
        assert winner == referee.winner
        assert referee.draw == (winner is None)


def test_a_fixed_length_is_not_won_in_the_middle_of_a_hand() -> None:
    referee, card = este_position("cafe", 2, [60, 0], 0, 41)
    referee.target, referee.length = 0, 3
    referee.play(card)
    assert referee.phase == "play"
    assert referee.scores == [61, 0]


@pytest.mark.parametrize("rules", ["playtash", "cafe", "pagat"])
def test_equal_sides_over_the_target_play_another_hand(rules: str) -> None:
    referee, card = at_the_last_card(rules, 2, [20, 20], 0, 0, [44, 44])
    referee.play(card)
    assert (referee.phase, referee.winner, referee.outcome) == ("deal", None, None)


@pytest.mark.parametrize(("scores", "winner"), [([20, 20], None), ([10, 0], 0)])
def test_an_arabic_hand_with_equal_totals_is_a_draw(scores: list[int], winner: int | None) -> None:
    referee, card = at_the_last_card("arabic", 2, [19, 20], 1, 0, scores)
    referee.play(card)
    assert (referee.phase, referee.outcome, referee.winner) == ("over", "hand", winner)
    assert referee.draw == (winner is None)


@pytest.mark.parametrize(
    ("players", "scores", "seat", "winner"),
    [
        (2, [9, 0], 0, 1),
        (4, [9, 0], 2, 1),
        (4, [9, 0], 3, 0),
        (3, [9, 2, 3], 0, 2),
        (3, [9, 2, 3], 1, 0),
        (3, [3, 9, 4], 2, 1),
        (3, [9, 3, 3], 0, None),
    ],
)
def test_a_forfeit_gives_the_match_to_the_other_or_the_higher_of_the_others(
    players: int, scores: list[int], seat: int, winner: int | None
) -> None:
    referee = Referee("cafe", players, 41)
    referee.deal(deck_with(players, 0), 0)
    referee.scores = scores
    referee.forfeit(seat)
    assert (referee.phase, referee.outcome, referee.winner) == ("over", "forfeit", winner)
    assert referee.turn is None
    with pytest.raises(ValueError, match="over"):
        referee.forfeit(seat)
    with pytest.raises(ValueError, match="no declaration"):
        referee.declare(0, False)
    with pytest.raises(ValueError, match="no deal"):
        referee.deal(deck_with(players, 1))


def test_the_pending_pack_waits_for_exactly_one_play() -> None:
    referee = position(
        "cafe",
        3,
        [["6O", "12O", "6B"], ["6C", "12C"], ["6E", "12E"]],
        ["7O", "2O"],
        dealer=2,
        turn=0,
        stock=others([]),
    )
    lay(referee, "6O")
    assert referee.pack == set()
    referee.play("6C")
    assert referee.pack == {"6O", "7O", "6C"}
    referee.play("6E")
    assert referee.pack == {"6O", "7O", "6C", "6E"}
    assert referee.piles == [set(), set(), {"6O", "7O", "6C", "6E"}]
    lay(referee, "12O")
    assert referee.pack == set()


def test_only_what_a_link_gained_can_be_reclaimed() -> None:
    referee = position(
        "arabic",
        2,
        [["6C", "6B", "12O"], ["6E", "12C", "12B"]],
        ["6O", "7O", "2O"],
        dealer=1,
        turn=0,
    )
    assert referee.play("6C").captured == {"6O", "7O"}
    assert referee.pack == set()
    lay(referee, "6E")
    assert referee.pack == set()
    played = referee.play("6B")
    assert (played.captured, played.reclaimed) == (frozenset({"6E"}), frozenset())
    assert [a.points for a in played.awards] == [5]
    assert referee.piles == [{"6O", "7O", "6C", "6E", "6B"}, set()]


def test_a_new_batch_closes_the_pack() -> None:
    referee = position(
        "arabic",
        2,
        [["6O"], ["6C"]],
        ["2O"],
        dealer=1,
        turn=0,
        stock=["6E", "1O", "3O", "4O", "5O", "11O", *others([])][:12],
        plays_made=4,
    )
    lay(referee, "6O")
    assert [a.points for a in referee.play("6C").awards] == [1]
    assert referee.batch == 2
    assert referee.pack == set()
    played = referee.play("6E")
    assert (played.captured, played.reclaimed, played.awards) == (frozenset(), frozenset(), ())


def test_equal_cards_that_do_not_follow_each_other_score_nothing() -> None:
    for rules in PRESETS:
        hands = [["6O", "6C", "1O"], ["2C", "3C"]]
        referee = position(rules, 2, hands, ["12E"], dealer=1, turn=0)
        lay(referee, "6O")
        lay(referee, "2C")
        assert referee.play("6C").awards == ()


def test_nothing_is_paid_or_dealt_after_an_immediate_win() -> None:
    referee = position(
        "pagat",
        2,
        [["6C"], ["6O"]],
        [],
        dealer=0,
        turn=1,
        stock=others(["6C", "6O"])[:30],
        plays_made=4,
        scores=[40, 10],
    )
    referee.dealt_sets = {0: ("ronda", 6), 1: ("tringa", 7)}
    lay(referee, "6O")
    assert referee.play("6C").awards == (Award(6, 0, "este", 1),)
    assert (referee.phase, referee.winner, referee.outcome) == ("over", 0, "target")
    assert referee.batch == 1
    assert len(referee.stock) == 30
    assert referee.scores == [41, 10]


def test_a_view_shows_a_hand_only_to_its_seat_and_hides_the_order_of_the_stock() -> None:
    rng = random.Random(3)
    for rules, players in TABLES:
        referee = Referee(rules, players, PRESETS[rules].targets[0])
        referee.deal(biased_deck(rng, players), 0)
        public = referee.view(None)
        assert public["hand"] is None
        assert public["hand_sizes"] == [3] * players
        for seat in range(players):
            assert referee.view(seat) == {**public, "hand": sorted(referee.hands[seat])}
        # Another world with the same public history: hidden cards change places.
        hidden = [card for hand in referee.hands[1:] for card in sorted(hand)] + referee.stock
        rng.shuffle(hidden)
        own = referee.view(0)
        for seat in range(1, players):
            referee.hands[seat] = {hidden.pop() for _ in range(3)}
        referee.stock = hidden
        assert own == referee.view(0)
        assert public == referee.view(None)
        with pytest.raises(ValueError, match="no seat"):
            referee.view(players)


def test_an_answer_is_secret_until_the_last_seat_has_answered() -> None:
    hands = [["7O", "7C", "1E"], ["2O", "2C", "4E"], ["3O", "5C", "6E"]]
    referee = Referee("cafe", 3, 41)
    referee.deal(deck_with(3, 0, hands), 0)
    before = [referee.view(viewer) for viewer in (None, 0, 1, 2)]
    for seat, declares in ((2, False), (0, True)):
        assert referee.declare(seat, declares) == ()
        assert before == [referee.view(viewer) for viewer in (None, 0, 1, 2)]
    assert referee.declare(1, False) == (Award(0, 0, "ronda", 1),)
    assert referee.view(2)["declared"] == {1: {0: "ronda"}}
    assert referee.view(None)["turn"] == 1
