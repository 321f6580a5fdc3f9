"""Who watches a tournament: told the newest, from any number on, at any speed."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from tests.server.tables import until

from ronda_server.tournaments import audience as audiences
from ronda_server.tournaments.audience import Audience, Ended, Moved, Quiet, Standing, Update
from ronda_server.tournaments.book import Progress
from ronda_server.tournaments.pace import Pace


def stood(audience: Audience, sequence: int, games: int = 0) -> None:
    """Let a tournament come so far."""
    audience.sequence = sequence
    audience.progress = Progress(sequence - 1, None, games, 0)
    audience.wake()


async def next_of(stream: AsyncIterator[Update]) -> Update:
    return await anext(stream)


async def test_a_slow_reader_is_given_the_newest_and_nothing_waits_for_it() -> None:
    audience = Audience()
    slow = audience.watch(0)
    assert await next_of(slow) == Standing(1)
    for sequence in range(2, 5000):
        stood(audience, sequence)
    assert await next_of(slow) == Standing(4999)
    stood(audience, 5000)
    audience.ending = audiences.OVER
    assert [update async for update in slow] == [Standing(5000), Ended("over", 5000)]


@pytest.mark.parametrize(
    ("after", "first"),
    [(0, Standing(7)), (6, Standing(7)), (7, Quiet(7)), (8, Standing(7)), (1 << 63, Standing(7))],
)
async def test_a_stream_goes_on_after_what_was_seen(after: int, first: Update) -> None:
    audience = Audience()
    stood(audience, 7)
    assert await next_of(audience.watch(after)) == first


async def test_progress_is_told_between_standings() -> None:
    audience = Audience()
    stood(audience, 3, games=8)
    stream = audience.watch(3)
    assert await next_of(stream) == Quiet(3)
    stood(audience, 3, games=9)
    assert await next_of(stream) == Moved(Progress(2, None, 9, 0))
    stood(audience, 4, games=10)
    assert await next_of(stream) == Standing(4)


async def test_a_change_of_state_is_told_though_no_game_is_over() -> None:
    audience = Audience()
    stood(audience, 3, games=8)
    audience.state = "running"
    stream = audience.watch(3)
    assert await next_of(stream) == Quiet(3)
    audience.state = audiences.HALTED
    audience.wake()
    assert await next_of(stream) == Moved(audience.progress)
    late = audience.watch(3)  # who has seen all standings has not seen that
    assert [await next_of(late) for _ in range(2)] == [Quiet(3), Moved(audience.progress)]
    audience.state = "running"
    audience.wake()
    assert await next_of(stream) == Moved(audience.progress)


def test_a_pace_is_that_of_the_driver_from_its_first_word_on() -> None:
    times = iter((10.0, 14.0))
    pace = Pace(lambda: next(times))
    assert (pace.games_a_second, pace.left(50)) == (0.0, None)
    pace.step(20, 41)
    assert (pace.games_a_second, pace.left(50)) == (0.0, None)
    pace.step(30, 61)
    assert pace.games_a_second == pytest.approx(5)
    assert pace.left(50) == pytest.approx(8)
    assert pace.left(None) is None
    assert pace.left(30) == 0


async def test_a_quiet_stream_gives_a_sign_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audiences, "HEARTBEAT_SECONDS", 0.01)
    stream = Audience().watch(0)
    assert [await next_of(stream) for _ in range(3)] == [Standing(1), Quiet(1), Quiet(1)]


@pytest.mark.parametrize("why", [audiences.OVER, audiences.CANCELLED])
async def test_who_comes_after_the_end_is_told_the_last_standings_and_why(why: str) -> None:
    audience = Audience()
    stood(audience, 9)
    audience.ending = why
    audience.drain()
    assert [update async for update in audience.watch(0)] == [Standing(9), Ended(why, 9)]
    assert [update async for update in audience.watch(9)] == [Quiet(9), Ended(why, 9)]


async def test_a_drain_ends_every_stream_and_those_to_come() -> None:
    audience = Audience()
    stream = audience.watch(0)
    assert await next_of(stream) == Standing(1)
    audience.drain()
    assert [update async for update in stream] == [Ended("draining", 1)]
    assert [update async for update in audience.watch(1)][-1] == Ended("draining", 1)
    await until(lambda: not audience._watchers)
