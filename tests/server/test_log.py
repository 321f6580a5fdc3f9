"""The log: what is committed is told, what is not is not, and storage that fails loses nothing."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.server.conftest import Client
from tests.server.tables import held_up, seat_all, until

from ronda_core.hand import IllegalMoveError
from ronda_server import database, fold
from ronda_server.errors import ConflictError, StorageError
from ronda_server.facts import Fact
from ronda_server.live import Shelf
from ronda_server.log import SqliteLog
from ronda_server.statements import append_all, rows_of


class Commits:
    """What the log says of its commits."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __call__(self, _seconds: float, size: int, _stored: bool) -> None:
        self.sizes.append(size)


@pytest.fixture
def commits() -> Commits:
    """Return what will hold the sizes of all commits."""
    return Commits()


@pytest.fixture
async def log(tmp_path: Path, commits: Commits) -> AsyncIterator[SqliteLog]:
    """Return an open log without events."""
    path = tmp_path / "log.db"
    await asyncio.to_thread(database.upgrade, str(path))
    log = SqliteLog(path, commits)
    await log.open()
    yield log
    await log.close()


def append(match_id: str, sequence: int) -> Callable[[sqlite3.Connection], int]:
    """Return work that appends one event."""

    def work(connection: sqlite3.Connection) -> int:
        append_all(connection, [rows_of(match_id, [Fact(sequence, 0, "played", {"n": sequence})])])
        return sequence

    return work


async def numbers(log: SqliteLog, match_id: str = "m") -> list[int]:
    """Return the numbers of the events of a match."""
    return [fact.sequence for fact in await log.read(match_id)]


async def test_what_waits_together_is_committed_together(log: SqliteLog, commits: Commits) -> None:
    async with held_up(log):
        futures = [log.submit(append("m", number)) for number in range(1, 101)]
    assert await asyncio.gather(*futures) == list(range(1, 101))
    await until(lambda: sum(commits.sizes) == 101)
    assert commits.sizes == [1, 100]
    assert await numbers(log) == list(range(1, 101))


async def test_many_submits_in_one_turn_of_the_loop_make_few_commits(
    log: SqliteLog, commits: Commits
) -> None:
    futures = [log.submit(append("m", number)) for number in range(1, 601)]
    await asyncio.gather(*futures)
    await until(lambda: sum(commits.sizes) == 600)
    assert max(commits.sizes) <= 256
    assert len(commits.sizes) < 100


async def test_plays_at_once_in_many_matches_share_a_commit(
    client: Client,
) -> None:
    tables = await asyncio.gather(*[seat_all(client) for _ in range(20)])
    size = client.server.metrics.commit_size
    async with held_up(client.server.host.log):
        before = size._sum.get(), sum(bucket.get() for bucket in size._buckets)
        steps = [asyncio.create_task(table.step()) for table in tables]
        await until(lambda: len(client.server.host.log.committer) == len(tables))
    await asyncio.gather(*steps)
    await until(lambda: size._sum.get() - before[0] == len(tables) + 1)
    assert sum(bucket.get() for bucket in size._buckets) - before[1] == 2


async def test_work_is_answered_after_the_commit_that_holds_it(
    log: SqliteLog, tmp_path: Path
) -> None:
    def count() -> int:
        with sqlite3.connect(tmp_path / "log.db") as other:
            found: int = other.execute("SELECT count(*) FROM event").fetchone()[0]
        other.close()
        return found

    for number in range(1, 6):
        await log.submit(append("m", number))
        assert await asyncio.to_thread(count) == number


async def test_a_commit_is_on_disk_before_it_is_answered(log: SqliteLog) -> None:
    def pragma(name: str) -> Callable[[sqlite3.Connection], Any]:
        return lambda connection: connection.execute(f"PRAGMA {name}").fetchone()[0]

    assert await log.submit(pragma("synchronous")) == 2  # FULL
    assert await log.submit(pragma("journal_mode")) == "wal"


async def test_a_piece_of_work_that_fails_fails_alone(log: SqliteLog, commits: Commits) -> None:
    def broken(connection: sqlite3.Connection) -> None:
        append("m", 99)(connection)
        raise KeyError("a fault of ours")

    async with held_up(log):
        futures: list[asyncio.Future[Any]] = [log.submit(append("m", n)) for n in (1, 2)]
        futures.append(log.submit(broken))
        futures.append(log.submit(append("m", 1)))  # taken
        futures.append(log.submit(lambda connection: connection.execute("nonsense")))
        futures.append(log.submit(append("m", 3)))
    answers = await asyncio.gather(*futures, return_exceptions=True)
    assert answers[:2] == [1, 2]
    assert answers[5] == 3
    assert [type(answer) for answer in answers[2:5]] == [KeyError, ConflictError, StorageError]
    assert await numbers(log) == [1, 2, 3]


async def test_a_number_that_is_taken_is_a_conflict_and_the_event_stays_as_it_was(
    log: SqliteLog,
) -> None:
    await log.submit(append("m", 1))
    before = await log.read("m")
    other = [Fact(1, 5, "other", {"n": 0})]
    with pytest.raises(ConflictError):
        await log.submit(lambda _: rows_of("m", other))
    assert await log.read("m") == before
    await log.submit(append("other", 1))


async def test_events_are_appended_all_or_none(log: SqliteLog) -> None:
    await log.submit(append("m", 3))
    three = [Fact(number, 0, "played", {}) for number in (1, 2, 3)]
    with pytest.raises(ConflictError):
        await log.submit(lambda _: rows_of("m", three))
    assert await numbers(log) == [3]


async def test_of_two_logs_on_one_file_that_write_one_number_one_wins(
    log: SqliteLog, tmp_path: Path
) -> None:
    other = SqliteLog(tmp_path / "log.db")
    await other.open()
    try:
        for number in range(1, 11):
            answers = await asyncio.gather(
                log.submit(append("m", number)),
                other.submit(append("m", number)),
                return_exceptions=True,
            )
            assert sorted(map(str, map(type, answers))) == sorted(map(str, (int, ConflictError)))
    finally:
        await other.close()
    assert await numbers(log) == list(range(1, 11))


async def test_work_whose_caller_has_gone_is_committed_all_the_same(log: SqliteLog) -> None:
    async with held_up(log):
        future = log.submit(append("m", 1))
        future.cancel()
    await log.submit(append("m", 2))
    assert await numbers(log) == [1, 2]


async def test_a_log_that_is_closed_has_done_what_waited(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    await asyncio.to_thread(database.upgrade, str(path))
    log = SqliteLog(path)
    await log.open()
    futures = [log.submit(append("m", number)) for number in range(1, 301)]
    await log.close()
    assert await asyncio.gather(*futures) == list(range(1, 301))


async def test_a_file_that_cannot_be_opened_is_a_storage_error(tmp_path: Path) -> None:
    log = SqliteLog(tmp_path)  # a folder
    with pytest.raises(StorageError):
        await log.open()


async def test_events_are_read_in_order_and_from_a_number_on(log: SqliteLog) -> None:
    for number in (3, 1, 2, 5, 4):
        await log.submit(append("m", number))
    await log.submit(append("other", 1))
    assert await numbers(log) == [1, 2, 3, 4, 5]
    assert [fact.sequence for fact in await log.read("m", 3)] == [4, 5]
    assert (await log.read("m"))[1].data == {"n": 2}
    assert await log.read("nothing") == []


def test_a_fact_shows_neither_cards_nor_requests() -> None:
    fact = Fact(7, 0, "played", {"card": "7O"}, b"request", b"content")
    assert repr(fact) == "Fact(7, played)"


def rows(path: Path) -> list[tuple[Any, ...]]:
    """Return all events of a file."""
    with sqlite3.connect(path) as connection:
        found = connection.execute("SELECT * FROM event ORDER BY match_id, sequence").fetchall()
    connection.close()
    return found


async def test_events_never_change(client: Client, tmp_path: Path) -> None:
    before: set[tuple[Any, ...]] = set()
    table = await seat_all(client, "cafe", 3)
    for at in range(30):
        await table.step()
        if at == 20:
            await table.act("CancelMatch", 0)
        now = set(await asyncio.to_thread(rows, tmp_path / "ronda.db"))
        assert before < now
        before = now


async def test_a_log_that_contradicts_itself_is_not_played_on(client: Client) -> None:
    table = await seat_all(client)
    for _ in range(4):
        await table.step()
    log = client.server.host.log
    facts = await log.read(table.id)
    game = await table.game()
    for at in range(1, len(facts) - 1):
        forged = [*facts[:at], *facts[at + 1 :]]
        with pytest.raises((fold.LogError, IllegalMoveError, KeyError)):
            list(fold.replay(table.id, forged, game.commitment, game.master))
    states = list(fold.replay(table.id, facts, game.commitment, game.master))
    assert states[-1][0].sequence == len(facts)


@pytest.mark.parametrize("length", [1, 400, 70_000])
def test_what_is_over_makes_room_by_number_and_by_length_and_what_is_open_never(
    length: int,
) -> None:
    shelf = Shelf()
    for at in range(300):
        live: Any = SimpleNamespace(
            game=SimpleNamespace(id=f"m-{at}", over=at % 2 == 0, sequence=length)
        )
        shelf.put(live)
        shelf.put(live)  # shown again, it counts once
    kept = [live.game.id for live in shelf if live.game.over]
    most = max(1, min(150, 65_536 // length))
    assert kept == [f"m-{at}" for at in range(0, 300, 2)][-most:]
    assert len(shelf.open) == 150
    live.game.over = True  # the last open one ends
    shelf.put(live)
    assert len(shelf.open) == 149
    assert shelf.get(live.game.id) is live
