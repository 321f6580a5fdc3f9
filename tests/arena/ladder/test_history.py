"""What a bot's rating has been: bounded, evenly spaced, and a function of the log alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.arena.ladder.games import Drawn, ladder_plan, run
from tests.arena.tournament.plans import Scripted

from ronda_arena.ladder.history import MOST, History, Point, point
from ronda_arena.ladder.standings import Change, Ladder
from ronda_arena.ladder.store import Store, claim


def _points(blocks: int) -> list[Point]:
    kept = History()
    for block in range(1, blocks + 1):
        kept.add(Point(1_000_000_000 + block, block, 2 * block, 25 + block / 7, 8 / block, 0.5))
    return list(kept.points())


@pytest.mark.parametrize("blocks", [1, 2, MOST, MOST + 1, 2 * MOST - 1, 3 * MOST, 100_001])
def test_it_keeps_every_so_many_blocks_and_the_last_and_no_more_than_its_bound(blocks: int) -> None:
    points = _points(blocks)
    assert len(points) <= MOST
    assert len(points) >= min(blocks, MOST // 2)
    last = points[-1]
    assert last == Point(
        1_000_000_000 + blocks, blocks, 2 * blocks, 25 + blocks / 7, 8 / blocks, 0.5
    )
    every = points[0].blocks
    assert [one.blocks for one in points[:-1]] == [every * at for at in range(1, len(points))]
    assert 0 < last.blocks - every * (len(points) - 1) <= every


def _kept(store: Store) -> tuple[Ladder, dict[int, History]]:
    kept: dict[int, History] = {}

    def told(number: int, change: Change) -> None:
        kept.setdefault(number, History()).add(point(change))

    ladder = Ladder(store.plan, told)
    for fact in store.facts():
        ladder.take(fact)
    return ladder, kept


def test_the_log_alone_gives_the_points_that_were_told_while_it_was_played(tmp_path: Path) -> None:
    with claim(tmp_path, Drawn()) as folder:
        store = folder.begin(ladder_plan())
        kept: dict[int, History] = {}
        for games in (200, 700):  # the second is told what is in the log first, and goes on

            def told(number: int, change: Change) -> None:
                kept.setdefault(number, History()).add(point(change))

            kept.clear()
            running = run(store, told=told)
            running.play(Scripted, games)
        ladder, refolded = _kept(store)
        assert {number: list(one.points()) for number, one in kept.items()} == {
            number: list(one.points()) for number, one in refolded.items()
        }
        for number, one in refolded.items():
            bot, last = ladder.bots[number], list(one.points())[-1]
            assert (last.blocks, last.games) == (bot.blocks, bot.games)
            assert (last.mean, last.sigma) == bot.rating
            assert last.blocks > MOST


def test_nothing_of_it_is_told_of_a_block_that_is_being_played(tmp_path: Path) -> None:
    with claim(tmp_path, Drawn()) as folder:
        store = folder.begin(ladder_plan())
        changes: list[Change] = []
        running = run(store, told=lambda _, change: changes.append(change))
        running._look()
        running.seat(None)
        assert running.ready
        assert running.ladder.open
        assert changes == []
