"""The teachers above `careful`: legal, repeatable, blind to what is hidden, and none a cheat."""

from __future__ import annotations

import copy
import inspect
import random
import tomllib
from dataclasses import replace
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import pytest
from tests.bots.tables import (
    blocks,
    every_table,
    hard_deck,
    one_hand,
    play_out,
    seat_info,
    sit,
    twin,
    uniform_deck,
)

from ronda_bots import points
from ronda_bots.counter import Counter
from ronda_bots.greedy import Greedy
from ronda_bots.sampler import Sampler
from ronda_bots.search import affordable
from ronda_bots.solver import Solver
from ronda_bots.worlds import pays, strength
from ronda_core import match as matches
from ronda_core.cards import STEP
from ronda_core.hand import Phase, set_kind
from ronda_core.match import Match, MatchEvent
from ronda_core.rules import PRESETS, Settings, settings
from ronda_core.sets import KINDS
from ronda_core.view import story, view

LADDER = (Counter, Sampler, Solver)


class Quick(Solver):
    """The solver with less time to think: what it sees is the same."""

    samples = 12


class Hasty(Sampler):
    samples = 8


FAST = (Counter, Hasty, Quick)


def tell(match: Match, events: tuple[MatchEvent, ...], bots: list[Any]) -> None:
    for seat, bot in enumerate(bots):
        if hasattr(bot, "observe"):
            for event in story(match, events, seat):
                bot.observe(event)


def play(rules: Settings, bots: list[Any], deck: tuple[int, ...], dealer: int, look: Any) -> Match:
    """Play a hand, every bot told what its seat may know; `look` is asked before each play."""
    match = Match(rules, dealer)
    while match.result is None:
        hand = match.hand
        if match.needs_deck:
            tell(match, matches.deal(match, deck), bots)
        elif hand is not None and hand.phase is Phase.DECLARE:
            for seat in range(rules.players):
                held = set_kind(hand, seat) is not None
                tell(match, matches.declare(match, seat, held), bots)
        else:
            assert hand is not None
            seen = view(match, hand.turn)
            card = look(match, seen)
            assert card in seen.hand
            tell(match, matches.play(match, seen.seat, card), bots)
    return match


@pytest.mark.parametrize("bot", FAST)
@every_table()
def test_hands_are_legal_and_the_same_again_under_one_seed(
    bot: Any, rules: str, players: int
) -> None:
    one = one_hand(rules, players)
    plays = []
    for _ in range(2):
        rng = random.Random(f"ladder {rules} {players}")
        told = []
        for number in range(2):
            bots = sit(one, [bot] * players, number)
            deck = hard_deck(rng, players) if number % 2 else uniform_deck(rng, players)
            match = play(one, bots, deck, number % players, lambda _, v, b=bots: b[v.seat].play(v))
            assert match.hand is not None
            told.append((tuple(match.hand.plays), match.scores))
        plays.append(told)
    assert plays[0] == plays[1]


@pytest.mark.parametrize("bot", FAST)
@every_table()
def test_hidden_cards_and_their_order_never_change_a_move(
    bot: Any, rules: str, players: int
) -> None:
    rng = random.Random(f"ladder twins {rules} {players}")
    one = one_hand(rules, players)
    changed = decisions = 0

    def look(match: Match, seen: Any) -> int:
        nonlocal changed, decisions
        # What was declared or paid was told to everybody: only twins that tell it too will do.
        for _ in range(60):
            other = twin(match, seen.seat, rng)
            assert match.hand is not None
            assert other.hand is not None
            if told(other) == told(match):
                break
        else:
            other = matches.copy(match)
            assert other.hand is not None
        for held in other.hand.hands:
            rng.shuffle(held)
        decisions += 1
        changed += match.hand.hands != other.hand.hands
        double = copy.copy(bots[seen.seat])
        if hasattr(double, "_rng"):  # all that one decision changes
            double._rng = copy.copy(double._rng)
        card: int = bots[seen.seat].play(seen)
        assert double.play(view(other, seen.seat)) == card
        return card

    for number in range(2):
        bots = sit(one, [bot] * players, number)
        play(one, bots, uniform_deck(rng, players), number % players, look)
    assert changed > decisions / 2


def told(match: Match) -> object:
    """What the sets of this batch tell everybody: who declared which kind, or who was paid what."""
    hand = match.hand
    assert hand is not None
    rules = match.settings
    begun = (hand.batch - 1) * rules.batch_plays
    dealt: list[list[int]] = [[STEP[card] for card in held] for held in hand.hands]
    seat = rules.next_seat[hand.dealer]
    for card in hand.plays[begun:]:
        dealt[seat].append(STEP[card])
        seat = rules.next_seat[seat]
    strengths = [strength(steps) for steps in dealt]
    kinds = [KINDS[each] for each in strengths] if rules.declares else None
    return rules.has_sets and (kinds, pays(rules, strengths))


@every_table()
def test_whole_matches_come_to_an_end(rules: str, players: int) -> None:
    rng = random.Random(f"whole ladder {rules} {players}")
    whole = settings(rules, players, min(PRESETS[rules].targets, default=None))
    bots = sit(whole, [FAST[seat % 3] for seat in range(players)])
    match = Match(whole, 0)
    play_out(match, lambda _, v: bots[v.seat].play(v), lambda _: uniform_deck(rng, players))
    assert match.result is not None


@every_table()
def test_counting_beats_grabbing_beyond_doubt(rules: str, players: int) -> None:
    margins = blocks(Counter, Greedy, rules, players, 60)
    assert fmean(margins) > 2.6 * stdev(margins) / sqrt(len(margins))


@pytest.mark.parametrize("bot", LADDER)
def test_each_teacher_is_a_lesson_of_at_most_150_lines(bot: Any) -> None:
    source = inspect.getsource(inspect.getmodule(bot) or bot)
    assert len(source.splitlines()) <= 150
    assert bot.version == "1.0.0"
    assert bot.__doc__.splitlines()[0].endswith(".")


@pytest.mark.parametrize("bot", LADDER)
@pytest.mark.parametrize("rules", ["cafe", "pagat"])
def test_a_card_that_wins_the_match_is_played(bot: Any, rules: str) -> None:
    whole, one = settings(rules, 2), settings(rules, 2, length=1)
    rng = random.Random(f"wins {rules}")
    wins = 0

    def look(_: Match, seen: Any) -> int:
        nonlocal wins
        at = points.spot(seen)
        pays = {card: points.play(whole, at, STEP[card])[0].points for card in seen.hand}
        close = replace(seen, scores=tuple(40 if side == seen.side else 3 for side in (0, 1)))
        if any(pays.values()):
            player = bot(seat_info(whole, seen.seat), random.Random(1))
            assert pays[player.play(close)]
            wins += 1
        return rng.choice(seen.hand)

    for number in range(8):
        play(one, [None, None], hard_deck(rng, 2), number % 2, look)
    assert wins > 10


def test_a_short_clock_leaves_time_for_fewer_worlds() -> None:
    assert affordable(100, 1.0, None) == 100
    assert affordable(100, 1.0, 300.0) == 100
    assert affordable(100, 1.0, 0.1) == 20
    assert affordable(100, 1.0, 0.0) == 1
    assert affordable(100, 0.01, None) == 20


def test_the_cheater_is_no_bot_that_anybody_can_seat() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))
    entries = project["project"]["entry-points"]["ronda.bots"]
    assert list(entries) == ["random", "greedy", "careful", "counter", "sampler", "solver"]
    assert not any("cheater" in target for target in entries.values())
