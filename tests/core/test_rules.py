"""The presets as the rules document tables them, and every refusal."""

from __future__ import annotations

import copy
import pickle
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest

from ronda_core import hand as hands
from ronda_core import match as matches
from ronda_core.cards import PACK, parse_card
from ronda_core.hand import DeckError, IllegalMoveError, Phase, Refusal
from ronda_core.match import Cause, Fault, Match, Outcome
from ronda_core.rules import MAX_LENGTH, PRESETS, RulesError, Settings, settings

from .positions import TABLES, deck_with, position


@pytest.mark.parametrize(
    ("rules", "players", "targets"),
    [
        ("playtash", (2, 4), (41,)),
        ("cafe", (2, 3, 4), (41, 25, 21)),
        ("arabic", (2,), ()),
        ("pagat", (2, 3, 4), (41, 25)),
    ],
)
def test_a_preset_has_the_players_and_targets_of_the_table(
    rules: str, players: tuple[int, ...], targets: tuple[int, ...]
) -> None:
    for count in range(7):
        if count in players:
            assert settings(rules, count).target == (targets[0] if targets else 0)
        else:
            assert refused(rules, count) == "players"
    for target in range(50):
        if target in targets:
            assert settings(rules, players[0], target).target == target
        elif target:
            assert refused(rules, players[0], target) == "target"
    assert settings(rules, players[0], None if targets else 0).length == 0


def refused(*values: Any) -> str:
    with pytest.raises(RulesError) as error:
        settings(*values)
    return error.value.field


def test_there_are_four_presets_at_nine_tables() -> None:
    assert list(PRESETS) == ["playtash", "cafe", "arabic", "pagat"]
    assert len(TABLES) == 9
    for rules in ("", "Cafe", "ronda"):
        assert refused(rules, 2) == "rules"


@pytest.mark.parametrize("rules", ["playtash", "cafe", "pagat"])
def test_a_fixed_length_has_no_target_and_no_immediate_win(rules: str) -> None:
    for length in (1, 2, MAX_LENGTH):
        made = settings(rules, 2, 0, length)
        assert made == settings(rules, 2, None, length)
        assert (made.target, made.length, made.immediate) == (0, length, False)
    for length in (-1, MAX_LENGTH + 1):
        assert refused(rules, 2, None, length) == "length"
    assert refused(rules, 2, 41, 3) == "target"
    assert refused(rules, 2, 0, 0) == "target"


def test_arabic_is_one_hand_and_takes_no_length() -> None:
    assert refused("arabic", 2, None, 1) == "length"
    assert refused("arabic", 2, 41) == "target"


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_seats_sit_in_playing_order_and_four_make_two_sides(rules: str, players: int) -> None:
    made = settings(rules, players)
    assert made.next_seat == tuple((seat + 1) % players for seat in range(players))
    assert made.side_of == ((0, 1, 0, 1) if players == 4 else tuple(range(players)))
    assert made.sides == len(set(made.side_of))
    assert (made.batches, made.batch_plays) == ({2: 6, 3: 4, 4: 3}[players], 3 * players)


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_packets_of_three_go_round_from_the_seat_after_the_dealer(rules: str, players: int) -> None:
    made = settings(rules, players)
    places = tuple(range(40))
    for dealer in range(players):
        order = [(dealer + 1 + place) % players for place in range(players)]
        dealt: list[int] = []
        for batch, (starts, reader) in enumerate(
            zip(made.packets[dealer], made.readers[dealer], strict=True)
        ):
            read = reader(places)
            assert read == tuple((at, at + 1, at + 2) for at in starts)
            for seat in order:
                dealt += read[seat]
            if batch == 0:
                dealt += places[made.batch_plays : made.batch_plays + 4]
        assert dealt == list(places)
        assert order[-1] == dealer


def test_settings_compare_hash_copy_and_pickle_by_what_they_say() -> None:
    made = settings("cafe", 3, 25)
    for same in (settings("cafe", 3, 25), copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert same == made
        assert hash(same) == hash(made)
        assert same.readers[1][2](tuple(PACK)) == made.readers[1][2](tuple(PACK))
    assert made != settings("cafe", 3, 21)
    assert made != settings("pagat", 3, 25)
    assert len(repr(made)) < 1200


def test_a_ronda_is_in_2186_and_a_tringa_in_40_of_10000_hands_of_three() -> None:
    kinds: Counter[str | None] = Counter()
    made = settings("playtash", 2)
    for cards in combinations(PACK, 3):
        left = [card for card in PACK if card not in cards]
        table = list({card % 10: card for card in left if card % 10 in {1, 3, 5, 8}}.values())
        rest = [card for card in left if card not in table]
        hand, _ = hands.deal(made, 1, 1, [*cards, *rest[:3], *table, *rest[3:]], (0, 0))
        kinds[hands.set_kind(hand, 0)] += 1
    assert sum(kinds.values()) == 9880
    assert round(100 * kinds["ronda"] / 9880, 2) == 21.86
    assert round(100 * kinds["tringa"] / 9880, 3) == 0.405


def unchanged(match: Match, why: Refusal, act: Callable[..., object], *values: Any) -> None:
    """Assert that an input is refused for a reason and that the match stays as it was."""

    def everything() -> object:
        hand = match.hand
        values = [getattr(hand, name) for name in hand.__slots__] if hand else []
        return copy.deepcopy([match.result, *values])

    before = everything()
    with pytest.raises(IllegalMoveError) as refused:
        act(match, *values)
    assert refused.value.reason is why
    assert str(refused.value) == why.value
    assert everything() == before


def fresh(rules: str, players: int, **options: Any) -> Match:
    """A match whose first hand is dealt: seat 0 after the dealer holds a ronda, nobody else."""
    match = Match(settings(rules, players, **options), players - 1)
    pair = ["7O", "7C", "1E"]
    rest = [["2O", "4C", "6E"], ["3E", "5B", "12O"], ["1B", "3B", "12C"]]
    matches.deal(match, deck_with(players, players - 1, [pair, *rest[: players - 1]]))
    return match


def test_nothing_happens_before_the_first_deal() -> None:
    match = Match(settings("cafe", 2), 0)
    unchanged(match, Refusal.MATCH_NOT_STARTED, matches.play, 0, 1)
    unchanged(match, Refusal.MATCH_NOT_STARTED, matches.declare, 0, False)


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_only_the_seat_whose_turn_it_is_plays_a_card_that_it_holds(
    rules: str, players: int
) -> None:
    match = fresh(rules, players)
    hand = match.hand
    assert hand is not None
    if match.settings.declares:
        for seat in range(players):
            matches.declare(match, seat, False)
    for seat in range(1, players):
        unchanged(match, Refusal.NOT_YOUR_TURN, matches.play, seat, hand.hands[seat][0])
    missing = [card for card in range(-1, 50) if card not in hand.hands[0]]
    for card in missing:
        unchanged(match, Refusal.CARD_NOT_HELD, matches.play, 0, card)
    card = hand.hands[0][0]
    matches.play(match, 0, card)
    unchanged(match, Refusal.NOT_YOUR_TURN, matches.play, 0, hand.hands[0][0])
    unchanged(match, Refusal.CARD_NOT_HELD, matches.play, 1, card)
    unchanged(match, Refusal.MATCH_OVER, matches.deal, deck_with(players, 0))


@pytest.mark.parametrize(("rules", "players"), [("playtash", 4), ("arabic", 2)])
def test_nobody_declares_where_sets_are_automatic_or_nothing(rules: str, players: int) -> None:
    match = fresh(rules, players)
    for declares in (True, False):
        unchanged(match, Refusal.DECLARATION_AUTOMATIC, matches.declare, 0, declares)


@pytest.mark.parametrize(("rules", "players"), [("cafe", 2), ("cafe", 3), ("pagat", 4)])
def test_every_seat_declares_once_truly_and_before_the_first_play(rules: str, players: int) -> None:
    match = fresh(rules, players)
    hand = match.hand
    assert hand is not None
    card = hand.hands[0][0]
    unchanged(match, Refusal.DECLARATION_PENDING, matches.play, 0, card)
    unchanged(match, Refusal.FALSE_DECLARATION, matches.declare, 1, True)
    matches.declare(match, 0, True)
    for declares in (True, False):
        unchanged(match, Refusal.ALREADY_DECLARED, matches.declare, 0, declares)
    for seat in range(1, players):
        unchanged(match, Refusal.DECLARATION_PENDING, matches.play, 0, card)
        if seat > 1:
            unchanged(match, Refusal.ALREADY_DECLARED, matches.declare, seat - 1, False)
        matches.declare(match, seat, False)
    assert hand.declared == [(1, 0, "ronda")]
    for seat in range(players):
        unchanged(match, Refusal.DECLARATION_CLOSED, matches.declare, seat, False)
    matches.play(match, 0, card)
    unchanged(match, Refusal.DECLARATION_CLOSED, matches.declare, 0, False)


def test_a_match_that_is_over_takes_nothing() -> None:
    for rules in ("cafe", "playtash"):
        won = position(rules, 2, [["6O"], ["6C"]], ["6E"], dealer=1, turn=0, scores=[40, 0])
        given = fresh(rules, 2)
        matches.forfeit(given, Fault(1, Cause.RESIGNED))
        cancelled = fresh(rules, 2)
        matches.cancel(cancelled)
        over = [given, cancelled]
        if rules == "cafe":
            matches.play(won, 0, parse_card("6O"))
            over.append(won)
        for match in over:
            assert match.result is not None
            assert match.needs_deck == 0
            refuse_all(match)


def refuse_all(match: Match) -> None:
    unchanged(match, Refusal.MATCH_OVER, matches.play, 0, 1)
    unchanged(match, Refusal.MATCH_OVER, matches.declare, 0, False)
    unchanged(match, Refusal.MATCH_OVER, matches.deal, deck_with(2, 0))
    unchanged(match, Refusal.MATCH_OVER, matches.cancel)
    fault = Fault(0, Cause.TIME)
    unchanged(match, Refusal.MATCH_OVER, matches.forfeit, fault)


def test_a_hand_that_is_over_takes_nothing_until_the_next_deal() -> None:
    match = position("cafe", 2, [[], ["6C"]], ["2O"], dealer=1, turn=1, final=True, last_capturer=0)
    hand = match.hand
    assert hand is not None
    hand.piles = [20, 18]
    matches.play(match, 1, hand.hands[1][0])
    assert (hand.phase, match.needs_deck, match.result) == (Phase.OVER, 2, None)
    unchanged(match, Refusal.MATCH_OVER, matches.play, 0, 1)
    unchanged(match, Refusal.MATCH_OVER, matches.declare, 0, False)
    (event,) = matches.deal(match, deck_with(2, 0))
    assert isinstance(event, hands.Dealt)
    assert (event.hand, event.dealer, event.scores) == (2, 0, hand.scores)


def bad_decks() -> dict[str, list[int]]:
    good = deck_with(2, 0)
    pair = deck_with(2, 0, table=["1O", "3C", "5E", "5B"])
    return {
        "short": good[:-1],
        "long": [*good, good[0]],
        "twice": [good[1], *good[1:]],
        "no card": [0 if card == 7 else card for card in good],
        "beyond": [41 if card == 7 else card for card in good],
        "far beyond": [400 if card == 7 else card for card in good],
        "negative": [-7 if card == 7 else card for card in good],
        "pair": pair,
        "run": deck_with(2, 0, table=["11B", "10E", "6O", "7C"]),
        "empty": [],
    }


@pytest.mark.parametrize("deck", bad_decks().values(), ids=bad_decks().keys())
def test_a_deck_that_may_not_be_dealt_is_refused(deck: list[int]) -> None:
    match = Match(settings("cafe", 2), 0)
    with pytest.raises(DeckError):
        matches.deal(match, deck)
    assert (match.hand, match.needs_deck) == (None, 1)


@pytest.mark.parametrize(
    ("scores", "seat", "winner"),
    [
        ([3, 9], 1, 0),
        ([3, 9], 0, 1),
        ([3, 9, 5], 1, 2),
        ([3, 9, 5], 0, 1),
        ([3, 9, 9], 0, -1),
        ([9, 3, 9], 0, 2),
        ([0, 0, 0], 2, -1),
    ],
)
def test_a_forfeit_makes_the_higher_of_the_others_win(
    scores: list[int], seat: int, winner: int
) -> None:
    players = len(scores)
    match = position("cafe", players, [["1O"]] * players, [], dealer=0, turn=1, scores=scores)
    fault = Fault(seat, Cause.CRASH, "why")
    (finished,) = matches.forfeit(match, fault)
    assert finished == (Outcome.FORFEIT, winner, tuple(scores), fault)
    assert match.result == finished


def test_a_forfeit_of_one_partner_loses_for_both() -> None:
    for seat in range(4):
        match = position("cafe", 4, [["1O"]] * 4, [], dealer=0, turn=1, scores=[20, 10])
        (finished,) = matches.forfeit(match, Fault(seat, Cause.TIME))
        assert isinstance(finished, matches.Finished)
        assert finished.winner == 1 - seat % 2


def test_settings_come_from_one_maker_and_are_frozen() -> None:
    made = settings("pagat", 4)
    assert isinstance(made, Settings)
    with pytest.raises(AttributeError):
        made.target = 25  # type: ignore[misc] # it is frozen
