"""What anchors are worth is known: so a ladder sees how far off its ratings are, and says so."""

from __future__ import annotations

import math

import pytest
from tests.arena.ladder.pools import Pool

from ronda_arena.ladder.history import Point, point
from ronda_arena.ladder.ratings import NORMAL_95, Rating
from ronda_arena.ladder.rows import row, told

FAR = [4.0, 25.0, 46.0]
"""Anchors of a ladder of whole matches."""
NEAR = [20.0, 25.0, 31.0]


@pytest.mark.parametrize("players", [2, 3])
@pytest.mark.parametrize("strength", [4.0, 46.0])
def test_intervals_hold_a_pool_that_is_far_from_where_newcomers_start(
    players: int, strength: float
) -> None:
    held = alone = told = 0
    for seed in range(3):
        of = Pool([*FAR, *[strength] * 9], players, anchors=3, seed=seed)
        of.play(500)
        for bot in of.ladder.bots[3:]:
            shown = row(of.ladder, bot)
            told += 1
            held += shown.low <= strength <= shown.high
            alone += abs(shown.rating - strength) < NORMAL_95 * bot.rating.sigma
    # Those of one ladder hang together: they drag each other, and their sigmas know nothing of it.
    assert told == 27
    assert alone / told < 0.5
    assert held / told > 0.95 - 4 * math.sqrt(0.05 * 0.95 / told)


@pytest.mark.parametrize("players", [2, 3])
def test_where_blocks_go_as_ratings_say_intervals_are_half_as_wide_again_at_most(
    players: int,
) -> None:
    wider = []
    for seed in range(6):
        of = Pool([*NEAR, 18.0, 22.0, 24.0, 26.0, 28.0, 33.0], players, anchors=3, seed=seed)
        of.play(400)
        for bot in of.ladder.bots[3:]:
            shown = row(of.ladder, bot)
            wider.append((shown.high - shown.low) / (2 * NORMAL_95 * bot.rating.sigma))
    assert min(wider) >= 1 - 1e-9
    assert sorted(wider)[len(wider) // 2] < 1.5


def test_an_anchor_that_is_pinned_elsewhere_makes_everybody_doubtful() -> None:
    of = Pool([20.0, 25.0, 31.0, 22.0, 27.0, 29.0], anchors=3, seed=1)
    of.strengths[2] = 43.0  # it is pinned at 31
    of.play(600)
    assert of.ladder.misfit > 3
    shown = row(of.ladder, of.ladder.bots[3])
    assert shown.high - shown.rating > NORMAL_95 * 3
    assert shown.conservative < shown.rating - 3 * 3
    pinned = row(of.ladder, of.ladder.bots[2])
    assert (pinned.low, pinned.rating, pinned.high) == (31.0, 31.0, 31.0)


def test_without_anchors_nothing_is_known_but_the_sigmas() -> None:
    of = Pool([20.0, 25.0, 31.0], seed=1)
    of.play(100)
    assert of.ladder.misfit == 0.0


def test_who_does_oddly_with_an_anchor_goes_on_to_be_rated() -> None:
    of = Pool([*FAR, *[46.0] * 9], anchors=3, seed=1)
    of.play(900)
    ladder = of.ladder
    odd = [bot for bot in range(3, 12) if ladder.residuals.odd([2, bot])]
    assert odd
    assert not any(pair[0] < 3 for pair in ladder.pool.suspects)
    before = [bot.rating for bot in ladder.bots]
    of.block([2, odd[0]])
    assert ladder.bots[odd[0]].rating.mean != before[odd[0]].mean
    assert ladder.bots[2].rating == before[2]


@pytest.mark.parametrize("players", [2, 3, 4])
def test_a_point_of_a_history_has_the_interval_that_was_told_then(players: int) -> None:
    of = Pool([20.0, 25.0, 31.0, 22.0, 27.0, 29.0], players, anchors=2, seed=1)
    points: dict[int, Point] = {}
    of.ladder._told = lambda number, change: points.update({number: point(change)})
    for _ in range(60):
        of.play(1)
        assert len(points) == of.ladder.plan.seats
        for number, one in points.items():
            bot = of.ladder.bots[number]
            then = told(Rating(one.mean, one.sigma), one.misfit, pinned=bot.pinned)
            shown = row(of.ladder, bot)
            assert then == (shown.rating, shown.low, shown.high, shown.conservative)
        points.clear()
    assert of.ladder.misfit > 0
