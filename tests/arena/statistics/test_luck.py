"""What is taken off for luck moves no estimate on the whole, and makes it surer."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.arena.statistics.simulated import entrants, game

from ronda_arena.statistics import margins
from ronda_arena.statistics.evidence import Evidence
from ronda_arena.statistics.margins import NOTHING, control
from ronda_arena.statistics.ratings import Strengths
from ronda_arena.tournament.entrants import side
from ronda_arena.tournament.results import Block

TARGET = 20
PLACE = (0.0, 1.0, 0.5)
"""What a place makes of a hand, for the bots and for the reference."""


def hands(rng: np.random.Generator, count: int) -> list[np.ndarray]:
    """Return what a deal gives the places of forty hands: more than a match ever takes."""
    return list(rng.poisson(2.0, (40, count)) + np.array(PLACE[:count]))


def match(
    rng: np.random.Generator, skill: np.ndarray, dealer: int, deals: list[np.ndarray]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return what the sides and the reference make of a match to a target.

    The reference plays on until everyone has dealt equally often.
    """
    count = len(skill)
    score, luck = np.zeros(count), np.zeros(count)
    for hand, deal in enumerate(deals):
        over = score.max() >= TARGET
        if over and hand % count == 0:
            break
        by_side = np.roll(deal, dealer + hand)
        luck += by_side
        if not over:
            score += 0.7 * by_side + skill + rng.poisson(1.0, count)
    return tuple(round(one) for one in score), tuple(round(2 * one) for one in luck)


def blocks(
    rng: np.random.Generator, skills: tuple[float, ...], number: int, *, paired: bool
) -> Iterator[Block]:
    count = len(skills)
    for block in range(number):
        dealer, deals = int(rng.integers(count)), hands(rng, count)
        games = []
        for rotation in range(count):
            if not paired:
                dealer, deals = int(rng.integers(count)), hands(rng, count)
            skill = np.zeros(count)
            for at in range(count):
                skill[side(at, rotation, count)] = skills[at]
            score, luck = match(rng, skill, dealer, deals)
            games.append(game(rotation, dealer, score, luck=luck))
        yield Block(block, tuple(range(count)), tuple(games), paired)


def evidence(told: Iterator[Block], count: int) -> Evidence:
    found = Evidence(entrants("a b c")[:count], count, 1)
    for block in told:
        found.add(block)
    return found


def plain(found: Evidence) -> float:
    """Return the first entrant's points without anything taken off."""
    strengths = Strengths(found)
    fit = margins.fit(strengths._design, strengths.kinds, NOTHING)
    return float((strengths._design.skills @ fit.values)[0])


@pytest.mark.parametrize(("count", "paired"), [(2, True), (2, False), (3, False)])
def test_taking_luck_off_is_unbiased_and_saves_variance_where_deals_differ(
    count: int, paired: bool
) -> None:
    rng = np.random.default_rng(11)
    skills = (1.0, 0.0, 0.5)[:count]
    without, sharpened = [], []
    for _ in range(80):
        found = evidence(blocks(rng, skills, 24, paired=paired), count)
        value = Strengths(found).margins()[0].value
        assert value is not None
        sharpened.append(value)
        without.append(plain(found))
    moved = np.array(sharpened) - np.array(without)
    assert abs(moved.mean()) <= 3 * moved.std(ddof=1) / len(moved) ** 0.5
    # In a complete rotation only the last hands of unequal matches are left to take off.
    assert np.var(sharpened) < np.var(without) * (1.03 if paired else 0.9)


def test_intervals_hold_the_truth_with_luck_taken_off() -> None:
    rng = np.random.default_rng(12)
    held = 0
    for _ in range(200):
        found = evidence(blocks(rng, (0.5, 0.5), 15, paired=False), 2)
        one = Strengths(found).margins()[0]
        assert one.low is not None
        assert one.high is not None
        held += one.low <= 0 <= one.high
    assert 0.95 - 0.046 < held / 200 < 0.95 + 0.046  # three standard errors


def test_what_is_left_of_the_variance_is_told_step_by_step() -> None:
    rng = np.random.default_rng(13)
    found = evidence(blocks(rng, (1.0, 0.0), 400, paired=False), 2)
    kinds = found.kinds()
    told = margins.luck(kinds, control(kinds), measured=True)
    assert told is not None
    assert told.controlled is not None
    assert told.rotated == pytest.approx(told.plain, rel=0.02)  # no two games shared a deal
    assert told.controlled < 0.9 * told.rotated

    found = evidence(blocks(rng, (1.0, 0.0), 400, paired=True), 2)
    kinds = found.kinds()
    told = margins.luck(kinds, control(kinds), measured=True)
    assert told is not None
    assert told.controlled is not None
    assert told.rotated < 0.9 * told.plain
    assert told.controlled <= told.rotated * 1.01


def test_variances_are_those_of_the_games_and_of_the_block_means() -> None:
    rng = np.random.default_rng(14)
    played = list(blocks(rng, (0.0, 0.0), 300, paired=True))
    kinds = evidence(iter(played), 2).kinds()
    told = margins.luck(kinds, NOTHING, measured=False)
    games = np.array(
        [
            [one.scores[0] - one.scores[1], one.scores[1] - one.scores[0]][one.rotation]
            for block in played
            for one in block.games
        ]
    )
    assert told is not None
    assert told.controlled is None
    assert told.plain == pytest.approx(games.var(ddof=1), rel=0.01)
    assert told.rotated == pytest.approx(2 * games.reshape(-1, 2).mean(axis=1).var(ddof=1))


def test_in_complete_rotations_of_a_fixed_length_there_is_nothing_to_take_off() -> None:
    rng = np.random.default_rng(15)
    found = Evidence(entrants("a b"), 2, 1)
    for number in range(30):
        luck = int(rng.integers(9)), int(rng.integers(9))
        scores = [(int(rng.integers(30)), int(rng.integers(30))) for _ in range(2)]
        games = [game(at, 1, score, luck=luck) for at, score in enumerate(scores)]
        found.add(Block(number, (0, 1), tuple(games)))
    assert control(found.kinds()).points == 0
    assert found.measured == 60


def test_too_few_blocks_do_not_tell_how_much_luck_counts() -> None:
    rng = np.random.default_rng(16)
    few = evidence(blocks(rng, (1.0, 0.0), 5, paired=False), 2)
    assert control(few.kinds()).points == 0
