"""What `points` says a card takes and earns is what the engine does."""

from __future__ import annotations

import random
from collections import Counter

from tests.bots.tables import every_table, hard_deck, one_hand, play_out, seat_info, uniform_deck

from ronda_bots import points
from ronda_core import match as matches
from ronda_core.cards import STEP
from ronda_core.hand import Phase, Played
from ronda_core.match import Match
from ronda_core.rules import Settings, settings
from ronda_core.view import View, view

HANDS = 60


def paid(played: Played, side: int, reason: str) -> int:
    """Points of a reason as the mover counts them: what another side gets is a loss."""
    return sum(
        award.points if award.side == side else -award.points
        for award in played.awards
        if award.reason == reason
    )


def bait(rng: random.Random, seen: View) -> int:
    """A card that makes chains likely."""
    last = seen.plays[-1].rank if seen.plays else 0
    equal = [card for card in seen.hand if card.rank == last]
    return rng.choice(equal if equal and rng.random() < 0.8 else seen.hand)


def check(rules: Settings, match: Match, seen: View) -> Counter[str]:
    """Try every card of the hand on a copy of the match; return what has been seen."""
    met: Counter[str] = Counter()
    at = points.spot(seen)
    for card in seen.hand:
        gain, left = points.play(rules, at, STEP[card])
        copy = matches.copy(match)
        events = matches.play(copy, seen.seat, card)
        played = events[0]
        assert isinstance(played, Played)
        assert gain.taken == len(played.captured)
        assert gain.reclaimed == len(played.reclaimed)
        took = (*played.captured, *played.reclaimed)
        assert gain.cards == (len(took) + 1 if took else 0)
        assert gain.este == paid(played, seen.side, "este")
        assert gain.closing == paid(played, seen.side, "closing")
        if copy.result is None or not rules.immediate:
            assert gain.missa == paid(played, seen.side, "missa")
        hand = copy.hand
        assert hand is not None
        if hand.phase is not Phase.OVER:
            assert left == points.spot(view(copy, seen.seat))
        met[f"link {played.link}"] += 1
        met["reclaim"] += bool(played.reclaimed)
        met["missa"] += gain.missa
        met[f"closing {gain.closing}"] += 1
    return met


@every_table()
def test_a_prediction_is_what_the_engine_takes_and_pays_and_leaves(
    rules: str, players: int
) -> None:
    rng = random.Random(f"points {rules} {players}")
    one = one_hand(rules, players)
    met: Counter[str] = Counter()

    def choose(match: Match, seen: View) -> int:
        met.update(check(match.settings, match, seen))
        return bait(rng, seen)

    for number in range(HANDS):
        deck = hard_deck if number % 3 else uniform_deck
        play_out(Match(one, number % players), choose, lambda _, deck=deck: deck(rng, players))
    # Hard things did come up, wherever the preset has them.
    links = ["link 1", "link 2", "link 3"] if one.links == 3 else ["link 1"]
    seldom = [
        *links,
        "missa",
        *(["reclaim"] if one.reclaims and one.links == 3 else []),
        *(["closing 5", "closing -5"] if rules == "arabic" else []),
    ]
    assert all(met[thing] for thing in seldom), met


@every_table()
def test_a_prediction_holds_in_matches_to_a_target_too(rules: str, players: int) -> None:
    rng = random.Random(f"target {rules} {players}")
    whole = settings(rules, players)

    def choose(match: Match, seen: View) -> int:
        check(whole, match, seen)
        return bait(rng, seen)

    for number in range(5):
        play_out(Match(whole, number % players), choose, lambda _: hard_deck(rng, players))


def test_the_rules_of_a_seat_are_those_of_its_match() -> None:
    for rules in (settings("cafe", 3, 25), settings("pagat", 4, length=7), settings("arabic", 2)):
        assert points.settings_of(seat_info(rules, 1)) == rules


def test_a_run_counts_the_lowest_bits_without_a_gap() -> None:
    for bits in range(1024):
        text = f"{bits:010b}"[::-1]
        assert points.RUN[bits] == len(text) - len(text.lstrip("1"))
