"""Ratings find what bots are worth, say how sure that is, and move for no other reason."""

from __future__ import annotations

import itertools
import random

import pytest
from tests.arena.ladder.pools import Pool, plan

from ronda_arena.ladder import ratings
from ronda_arena.ladder.facts import Joined, Left, Released
from ronda_arena.ladder.plan import Anchor, LadderError, anchor_means, made
from ronda_arena.ladder.ratings import NORMAL_95, PRIOR, PRIOR_SIGMA, Rating, rate
from ronda_arena.ladder.rows import row, standings
from ronda_arena.ladder.standings import (
    PROVISIONAL_GAMES,
    QUARANTINE_FAULTS,
    Ladder,
    block_places,
)
from ronda_core.rules import PRESETS, settings

TABLES = [(name, players) for name, preset in PRESETS.items() for players in preset.players]
DAY = 86_400


@pytest.mark.parametrize("players", [2, 3, 4])
def test_bots_end_in_the_order_of_their_strength(players: int) -> None:
    of = Pool([16.0, 25.0, 34.0, 43.0, 20.5, 29.5, 38.5], players, anchors=2, seed=3)
    of.play(800)
    order = sorted(of.ladder.bots, key=lambda bot: bot.rating.mean)
    assert [bot.number for bot in order] == [0, 4, 1, 5, 2, 6, 3]
    free = [one.bot for one in standings(of.ladder) if one.state == "active"]
    assert free == [f"bot{at}@1" for at in (3, 6, 2, 5, 4)]


@pytest.mark.parametrize("players", [2, 3])
def test_intervals_hold_about_as_often_as_they_say(players: int) -> None:
    held = told = 0
    for seed in range(2):
        of = random.Random(seed)
        strengths = [20.0, 25.0, 31.0, *(of.gauss(25, 5) for _ in range(17))]
        pool = Pool(strengths, players, anchors=3, seed=seed)
        pool.play(1000)
        for bot in pool.ladder.bots[3:]:
            off = abs(bot.rating.mean - strengths[bot.number])
            held += off < NORMAL_95 * bot.rating.sigma
            told += 1
    assert told == 34
    assert held / told > 0.85


@pytest.mark.parametrize("places", sorted(set(itertools.permutations([0, 1, 2]))))
def test_anchors_never_move_and_who_is_before_others_gains(places: tuple[int, ...]) -> None:
    before = [PRIOR] * 3
    after = rate(before, places, [False, True, False])
    assert after[1] == PRIOR
    gains = {place: one.mean for place, one in zip(places, after, strict=True)}
    first, last = (places.index(0), places.index(2))
    if first != 1:
        assert gains[0] > PRIOR.mean
    if last != 1:
        assert gains[2] < PRIOR.mean
    assert all(one.sigma < PRIOR_SIGMA for at, one in enumerate(after) if at != 1)


def test_a_draw_of_equals_moves_no_mean_and_takes_off_doubt() -> None:
    for count in (2, 3):
        for after in rate([PRIOR] * count, [0] * count, [False] * count):
            assert after.mean == pytest.approx(PRIOR.mean)
            assert after.sigma < PRIOR_SIGMA


def test_a_fault_costs_the_block_whatever_the_points() -> None:
    assert block_places([9.0, -9.0], [1, 0]) == (1, 0)
    assert block_places([9.0, -4.0, -5.0], [1, 0, 0]) == (2, 0, 1)
    assert block_places([3.0, -3.0], [1, 1]) == (0, 1)
    assert block_places([0.5, 0.5, -1.0], [0, 0, 0]) == (0, 0, 2)


def test_a_new_version_starts_where_the_one_before_stands_and_in_doubt() -> None:
    of = Pool([25.0, 31.0, 20.0, 26.0], seed=1)
    of.play(300)
    old = of.ladder.bots[1]
    of.take(Joined("bot1@2", old.owner, of.time))
    of.take(Joined("bot1@3", "somebody else", of.time))
    new, stranger = of.ladder.bots[-2:]
    assert new.rating.mean == old.rating.mean
    assert old.rating.sigma < new.rating.sigma < PRIOR_SIGMA
    assert stranger.rating == PRIOR
    assert new.blocks == 0


def test_other_code_under_a_version_is_doubted_like_a_new_version_and_told() -> None:
    of = Pool([25.0, 31.0, 20.0, 26.0], anchors=1, seed=1, codes=["a", "b", "c", ""])
    of.play(300)
    for number, code in ((0, "a2"), (1, "b2"), (2, "c"), (3, "d")):
        bot = of.ladder.bots[number]
        before = bot.rating
        of.take(Joined(bot.identity, bot.owner, of.time, code))
        new = ratings.new_version(before) if number == 1 else before
        assert bot.rating == new  # an anchor is pinned, and what nobody knew has not changed
        assert (bot.code, bot.changed) == (code, 1 if number < 2 else 0)
    of.play(20)
    of.take(Joined("bot1@1", "owner1", of.time, "c"))
    assert row(of.ladder, of.ladder.bots[1]).alike == ("bot2@1",)
    assert row(of.ladder, of.ladder.bots[2]).alike == ("bot1@1",)
    assert row(of.ladder, of.ladder.bots[1]).changed == 2
    again = Ladder(of.ladder.plan)
    for fact in of.facts:
        again.take(fact)
    assert standings(again) == standings(of.ladder)


def test_who_is_away_keeps_the_mean_and_is_doubted_more_and_more() -> None:
    of = Pool([25.0, 31.0, 20.0, 26.0], seed=1)
    of.play(300)
    bot = of.ladder.bots[1]
    before = bot.rating
    of.take(Left(1, of.time))
    of.time += 30 * DAY
    of.play(1)
    shown = row(of.ladder, bot)
    assert shown.state == "inactive"
    assert shown.rating == before.mean
    assert of.ladder.shown(bot).sigma > before.sigma + 1
    of.take(Joined("bot1@1", bot.owner, of.time))
    assert bot.rating == ratings.away(before, 30 * DAY + 1)
    assert row(of.ladder, bot).state == "active"


def test_a_rating_is_provisional_until_enough_games_against_enough_owners() -> None:
    of = Pool([25.0] * 6, seed=1)
    while any(of.ladder.provisional(bot) for bot in of.ladder.bots):
        assert min(bot.games for bot in of.ladder.bots) < PROVISIONAL_GAMES
        of.play(10)
    assert min(bot.games for bot in of.ladder.bots) >= PROVISIONAL_GAMES
    assert all(of.ladder.opponents(bot) == 5 for bot in of.ladder.bots)
    of.take(Joined("new@1", "new", of.time))
    assert standings(of.ladder)[-1].bot == "new@1"


def test_a_quarantine_says_why_and_ends_only_when_it_is_released() -> None:
    of = Pool([25.0] * 5, seed=1)
    of.faulty = lambda bot, ahead: bot == 2
    of.play(60)
    bot = of.ladder.bots[2]
    assert bot.recent.bit_count() >= QUARANTINE_FAULTS
    assert bot.quarantined == "lost 6 of its last 20 games by its own fault (of all: 6 time)"
    assert row(of.ladder, bot).state == "quarantined"
    of.take(Left(2, of.time))
    of.take(Joined("bot2@1", bot.owner, of.time))
    assert bot.quarantined
    of.take(Released(2, of.time))
    assert bot.enabled


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_anchors_are_pinned_where_they_were_measured(rules: str, players: int) -> None:
    preset = PRESETS[rules]
    lengths = (1, 4) if preset.targets else (0,)
    for length in lengths:
        means = anchor_means(settings(rules, players, None, length))
        assert means["random"] < means["greedy"] == PRIOR.mean < means["careful"]
    if preset.targets:
        short, long = (anchor_means(settings(rules, players, None, one)) for one in (1, 4))
        assert long["careful"] - 25 == pytest.approx(2 * (short["careful"] - 25))


def test_an_anchor_that_nobody_has_measured_needs_a_rating() -> None:
    table = settings("playtash", 2)
    with pytest.raises(LadderError, match="say its rating: mine=25"):
        made("l", table, anchors=["mine"])
    with pytest.raises(LadderError, match="is no rating"):
        made("l", table, anchors=["mine=nan"])
    with pytest.raises(LadderError, match="named once"):
        made("l", table, anchors=["mine=1", "mine=2"])
    assert made("l", table, anchors=["mine=31.5"]).anchors == (Anchor("mine", 31.5),)


def test_no_interval_is_ever_nothing_or_no_number() -> None:
    ladder = Ladder(plan(anchors=[Anchor("pinned@1", 30.0)]))
    for name in ("pinned", "new"):
        ladder.take(Joined(f"{name}@1", name, 0))
    new, pinned = (row(ladder, bot) for bot in reversed(ladder.bots))
    assert new.low < new.rating < new.high
    assert new.provisional
    assert (pinned.low, pinned.rating, pinned.high) == (30.0, 30.0, 30.0)
    assert Rating(1.0, 2.0).conservative == -5.0
