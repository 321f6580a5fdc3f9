"""The bots that come with ronda: legal, blind to what is hidden, and each better than the last."""

from __future__ import annotations

import copy
import inspect
import random
from dataclasses import replace
from math import sqrt
from statistics import fmean, stdev
from typing import Any

import pytest
from tests.bots.tables import (
    BUILT_IN,
    Deck,
    blocks,
    every_table,
    hard_deck,
    one_hand,
    play_out,
    sit,
    twin,
    uniform_deck,
)

from ronda_bots import points
from ronda_bots.careful import Careful
from ronda_bots.greedy import Greedy
from ronda_bots.random import Random
from ronda_core import match as matches
from ronda_core.cards import PACK, STEP, by_rank, parse_cards
from ronda_core.match import Match
from ronda_core.rules import settings
from ronda_core.view import View, view

HANDS_A_TABLE = 1_112  # nine tables: 10,000 hands


@every_table()
def test_ten_thousand_hands_hold_only_legal_cards(rules: str, players: int) -> None:
    rng = random.Random(f"legal {rules} {players}")
    one = one_hand(rules, players)
    for number in range(HANDS_A_TABLE):
        bots = sit(one, [BUILT_IN[(number + seat) % 3] for seat in range(players)], number)

        def choose(match: Match, seen: View, bots: list[Any] = bots) -> int:
            card: int = bots[seen.seat].play(seen)
            assert card in seen.hand
            return card

        deck = hard_deck if number % 8 == 0 else uniform_deck
        play_out(Match(one, number % players), choose, lambda _, deck=deck: deck(rng, players))


@every_table()
def test_whole_matches_come_to_an_end(rules: str, players: int) -> None:
    rng = random.Random(f"whole {rules} {players}")
    whole = settings(rules, players)
    for number in range(4):
        bots = sit(whole, [BUILT_IN[(number + seat) % 3] for seat in range(players)], number)
        match = Match(whole, number % players)
        play_out(
            match,
            lambda _, seen, bots=bots: bots[seen.seat].play(seen),
            lambda _: uniform_deck(rng, players),
        )
        assert match.result is not None


@every_table()
def test_hidden_cards_never_change_a_move(rules: str, players: int) -> None:
    rng = random.Random(f"twins {rules} {players}")
    one = one_hand(rules, players)
    changed = decisions = 0
    for number in range(30):
        bots = sit(one, [BUILT_IN[(number + seat) % 3] for seat in range(players)], number)

        def choose(match: Match, seen: View, bots: list[Any] = bots) -> int:
            nonlocal changed, decisions
            other = twin(match, seen.seat, rng)
            assert match.hand is not None
            assert other.hand is not None
            mine = by_rank(match.hand.hands[seen.seat])
            assert mine == by_rank(other.hand.hands[seen.seat])
            decisions += 1
            changed += match.hand.hands != other.hand.hands or match.hand.deck != other.hand.deck
            bot = copy.deepcopy(bots[seen.seat])
            card: int = bots[seen.seat].play(seen)
            assert bot.play(view(other, seen.seat)) == card
            return card

        play_out(Match(one, number % players), choose, lambda _: uniform_deck(rng, players))
    assert changed > decisions / 2


def test_greedy_takes_the_most_points_then_the_most_cards_then_the_lowest() -> None:
    rules = one_hand("playtash", 2)
    match = Match(rules, 0)
    # Seat 1 plays first; the table is 2 3 6 7 and its hand 2 6 12.
    deck = _deck("2O 6O 12O 5O 10O 1O 2C 3C 6C 7C")
    matches.deal(match, deck)
    greedy = sit(rules, [Greedy, Greedy])[1]
    assert str(greedy.play(view(match, 1))) == "2O"  # as many cards as the 6, and lower
    matches.play(match, 1, deck[2])
    matches.play(match, 0, deck[4])
    matches.play(match, 1, deck[1])
    assert str(sit(rules, [Greedy, Greedy])[0].play(view(match, 0))) == "1O"


def _deck(start: str) -> Deck:
    first = parse_cards(start)
    return (*first, *(card for card in PACK if card not in first))


def test_careful_lays_the_rank_that_the_next_player_is_less_likely_to_hold() -> None:
    # Nothing takes; three 4s are unseen but only two 7s, and the other 7 can take the one laid.
    rules = one_hand("playtash", 2)
    match = Match(rules, 0)
    matches.deal(match, _deck("4O 7O 7C 3O 5O 6O 1C 2C 11C 12C"))
    greedy, careful = sit(rules, [Greedy, Careful])
    assert greedy.play(view(match, 1)).rank == 4
    assert careful.play(view(match, 1)).rank == 7


@pytest.mark.parametrize("rules", ["playtash", "cafe", "arabic", "pagat"])
def test_careful_plays_the_last_batch_of_two_players_to_perfection(rules: str) -> None:
    one = one_hand(rules, 2)
    rng = random.Random(f"last batch {rules}")
    positions = 0

    def choose(match: Match, seen: View) -> int:
        nonlocal positions
        if not seen.stock and len(seen.hand) > 1:
            worth = {card: _margin(match, seen.seat, card) for card in seen.hand}
            card: int = sit(one, [Careful] * 2)[seen.seat].play(seen)
            assert worth[card] == max(worth.values())
            positions += 1
        return rng.choice(seen.hand)

    for number in range(12):
        deck = hard_deck if number % 2 else uniform_deck
        play_out(Match(one, number % 2), choose, lambda _, deck=deck: deck(rng, 2))
    assert positions == 48


def _margin(match: Match, seat: int, card: int) -> int:
    """Seat's final margin if it plays `card` and both play the engine to the end at best."""
    after = matches.copy(match)
    matches.play(after, seat, card)
    if after.result:
        return after.scores[seat] - after.scores[1 - seat]
    hand = after.hand
    assert hand is not None
    return -max(_margin(after, 1 - seat, reply) for reply in hand.hands[1 - seat])


@pytest.mark.parametrize("rules", ["cafe", "pagat"])
def test_careful_takes_a_win_when_it_is_there(rules: str) -> None:
    rng = random.Random(f"win {rules}")
    whole, long = settings(rules, 2), settings(rules, 2, length=1)
    careful, unaware = sit(whole, [Careful])[0], sit(long, [Careful])[0]
    wins = changed = 0

    def choose(match: Match, seen: View) -> int:
        nonlocal wins, changed
        at = points.spot(seen)
        pays = {card: points.play(whole, at, STEP[card])[0].points for card in seen.hand}
        close = replace(seen, scores=tuple(40 if side == seen.side else 3 for side in (0, 1)))
        if len(seen.hand) > 1 and any(pays.values()):
            card = careful.play(close)
            assert pays[card]
            wins += 1
            changed += card != unaware.play(close)
        return rng.choice(seen.hand)

    for number in range(60):
        play_out(Match(long, number % 2), choose, lambda _: hard_deck(rng, 2))
    assert wins > 100
    assert changed


@pytest.mark.parametrize(("better", "worse"), [(Careful, Greedy), (Greedy, Random)])
@every_table()
def test_each_bot_beats_the_one_before_it_beyond_doubt(
    better: Any, worse: Any, rules: str, players: int
) -> None:
    margins = blocks(better, worse, rules, players, 150)
    error = stdev(margins) / sqrt(len(margins))
    assert fmean(margins) > 3.3 * error  # 99.9 % for a margin that is none


@pytest.mark.parametrize("bot", BUILT_IN)
def test_each_bot_is_a_lesson_of_at_most_150_lines(bot: Any) -> None:
    source = inspect.getsource(inspect.getmodule(bot) or bot)
    assert len(source.splitlines()) <= 150
    assert bot.version == "1.0.0"
    assert bot.__doc__.splitlines()[0].endswith(".")
    assert "import random\n" not in source  # chance comes from the generator it is given
