"""Honest pools give nothing to look at; who plays for another, or hides from losses, is seen."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.arena.ladder.pools import Pool, Twist

from ronda_arena.ladder.residuals import THRESHOLD, Excess, review
from ronda_arena.ladder.rows import reviews
from ronda_arena.ladder.standings import QUARANTINE_FAULTS, Change, Ladder

GIVER, TAKER = 3, 7
COUNT = 20


def pool(players: int, seed: int, count: int = COUNT, **asked: object) -> Pool:
    of = random.Random(seed)
    strengths = [of.gauss(25, 5) for _ in range(count)]
    return Pool(strengths, players, seed=seed, **asked)  # type: ignore[arg-type] -- passed on


def dump(players: int, by: float) -> Twist:
    """Let one bot give another so many standard deviations whenever they meet.

    At two seats they are those of the margin, at three those of a score: the other has them too.
    """

    def twist(bots: Sequence[int], scores: list[float]) -> None:
        if GIVER in bots and TAKER in bots:
            if players == 2:
                scores[bots.index(GIVER)] -= by * math.sqrt(2)
            else:
                scores[bots.index(GIVER)] -= by
                scores[bots.index(TAKER)] += by

    return twist


def until_listed(of: Pool, most: int) -> list[dict[str, Any]]:
    """Play until somebody is to be looked at, or the two have met so often: every 30th block."""
    others = [bot for bot in range(COUNT) if bot not in (GIVER, TAKER)]
    while of.ladder.residuals.of(GIVER, TAKER).meetings < most:
        of.play(29)
        of.block([GIVER, TAKER, of.random.choice(others)][: of.ladder.plan.seats])
        if found := reviews(of.ladder):
            return found
    return []


@pytest.mark.parametrize("players", [2, 3])
def test_an_honest_pool_of_twenty_stays_under_the_threshold(players: int) -> None:
    of = pool(players, 1)
    of.play(1500)
    residuals = of.ladder.residuals
    worst = max(
        min(abs(a), abs(b))
        for pair in residuals.met()
        for a, b in zip(residuals.of(*pair).scores, residuals.of(*pair[::-1]).scores, strict=True)
    )
    assert 1 < worst < THRESHOLD
    assert list(of.ladder.reviews()) == []


@pytest.mark.parametrize("players", [2, 3])
def test_a_dump_of_a_standard_deviation_is_seen_within_a_hundred_meetings(players: int) -> None:
    of = pool(players, 2)
    of.play(1200 if players == 2 else 400)
    of.twist = dump(players, 1.0)
    found = until_listed(of, 100)
    assert [(one["first"], one["second"], one["kind"]) for one in found] == [
        (f"bot{GIVER}@1", f"bot{TAKER}@1", "lifts")
    ]


def test_two_that_play_together_against_the_third_are_seen() -> None:
    def twist(bots: Sequence[int], scores: list[float]) -> None:
        if GIVER in bots and TAKER in bots:
            (third,) = set(bots) - {GIVER, TAKER}
            scores[bots.index(third)] -= 1.5

    of = pool(3, 4)
    of.play(400)
    of.twist = twist
    found = until_listed(of, 150)
    assert [(one["first"], one["second"], one["kind"]) for one in found] == [
        (f"bot{GIVER}@1", f"bot{TAKER}@1", "together")
    ]


def test_a_pair_that_looks_odd_is_given_extra_blocks() -> None:
    of = pool(3, 5)
    of.twist = dump(3, 1.0)
    while (GIVER, TAKER) not in of.ladder.pool.suspects:
        of.play(20)
        assert of.ladder.blocks < 3000
    before = of.ladder.pool.met[:COUNT, :COUNT].copy()
    of.play(500)
    met = of.ladder.pool.met[:COUNT, :COUNT] - before
    assert met[GIVER, TAKER] > 3 * met.sum() / (COUNT * (COUNT - 1))


def test_what_an_odd_pair_does_together_changes_no_rating() -> None:
    of = pool(2, 5)
    of.play(400)
    of.twist = dump(2, 2.0)
    while (GIVER, TAKER) not in of.ladder.pool.suspects:
        of.play(20)
        of.block([GIVER, TAKER])
    before = [bot.rating for bot in of.ladder.bots]
    of.block([GIVER, TAKER])
    assert [bot.rating for bot in of.ladder.bots] == before
    of.block([GIVER, 0])
    assert of.ladder.bots[GIVER].rating != before[GIVER]


def test_bots_of_one_owner_that_lift_those_of_another_are_seen_together() -> None:
    """Each pair alone is under the threshold; what they have in common is their owners."""
    sums = Excess(40, -28.0, 40, -26.0), Excess(40, 28.0, 40, 26.0)
    assert review("a", "b", *sums) is None
    both = sums[0].plus(sums[0]), sums[1].plus(sums[1])
    found = review("a", "b", *both)
    assert found is not None
    assert found.kind == "lifts"
    assert found.meetings == 80


def test_a_bot_that_stalls_when_it_is_behind_loses_the_block_and_stops_playing() -> None:
    of = pool(2, 6)
    of.faulty = lambda bot, ahead: bot == GIVER and ahead < -1.0
    of.play(400)
    changes: list[Change] = []

    def told(bot: int, change: Change) -> None:
        if bot == GIVER:
            changes.append(change)

    again = Ladder(of.ladder.plan, told)
    for fact in of.facts:
        again.take(fact)
    stalled = [change for change in changes if change.faults]
    assert len(changes) > len(stalled) > 1
    assert all(change.place == 1 and change.after.mean < change.before.mean for change in stalled)
    bot = of.ladder.bots[GIVER]
    assert bot.lost >= bot.faults["time"] >= QUARANTINE_FAULTS
    assert bot.quarantined.endswith("time)")
    assert bot.blocks == len(changes) < 200
    assert not any(other.quarantined for other in of.ladder.bots if other is not bot)


def test_memory_is_a_few_numbers_a_pair_whatever_the_games() -> None:
    of = pool(2, 7, 10)
    of.play(200)
    before = _bytes(of)
    of.play(400)
    assert before == _bytes(of) > 0
    assert len(of.ladder.open) == 0


def _bytes(of: Pool) -> int:
    tables = vars(of.ladder.residuals).values()
    return sum(table.nbytes for table in tables if isinstance(table, np.ndarray))
