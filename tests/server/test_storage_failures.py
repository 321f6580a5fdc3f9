"""Storage that fails under a server: nothing is told that is not stored, and nothing is lost."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
import structlog
from tests.server.conftest import Client, request_id, stop
from tests.server.tables import Table, refused, seat_all, unchanged, until, watching

from ronda.v1 import match_pb2
from ronda.v1 import match_service_pb2 as pb
from ronda_core.record import read
from ronda_core.verify import verify
from ronda_server import committer, database, fold, hosting
from ronda_server.errors import ConflictError, Reason, StorageError
from ronda_server.facts import Fact
from ronda_server.statements import rows_of

# Storage that fails under a server.


class Storage:
    """The storage of a server, which fails when it is told to."""

    def __init__(self) -> None:
        self.readonly = False
        self.full = False

    def commit(self, connection: sqlite3.Connection, jobs: list[Any]) -> Any:
        """Commit, or fail as SQLite fails."""
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages if self.full else 4294967294}")
        connection.execute(f"PRAGMA query_only = {int(self.readonly)}")
        return COMMIT(connection, jobs)


COMMIT = committer._commit


@pytest.fixture(autouse=True)
def _quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the server try again soon."""
    monkeypatch.setattr(hosting, "_RETRY_SECONDS", 0.001)


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Storage:
    """Return what makes storage fail."""
    made = Storage()
    monkeypatch.setattr(committer, "_commit", made.commit)
    return made


async def check_memory_is_the_log(table: Table) -> None:
    """Check that what the server holds is what its log says."""
    game = await table.game()
    facts = await table.client.server.host.log.read(table.id)
    assert game.sequence == len(facts)
    *_, (told, _) = fold.replay(table.id, facts, game.commitment, game.master)
    assert told.match
    assert game.match
    assert told.match.hand
    assert game.match.hand
    assert told.match.hand.hands == game.match.hand.hands
    assert told.match.hand.plays == game.match.hand.plays
    assert told.match.scores == game.match.scores


async def test_a_play_that_is_not_stored_is_told_to_nobody_and_can_be_sent_again(
    client: Client, storage: Storage
) -> None:
    table = await seat_all(client)
    sequence = (await table.game()).sequence
    stream = table.watch(None, sequence)
    await stream.read()
    same = request_id()
    async with unchanged(table):
        storage.readonly = True
        for _ in range(3):
            with refused(Reason.STORAGE_UNAVAILABLE):
                await table.step(request_id=same, expected_sequence=sequence)
        storage.readonly = False
    await check_memory_is_the_log(table)
    answer = await table.step(request_id=same, expected_sequence=sequence)
    assert answer.sequence == sequence + 1
    message = await stream.read()
    assert message.event.sequence == sequence + 1
    await table.step()
    await check_memory_is_the_log(table)


async def test_every_command_says_that_the_storage_is_away_and_works_when_it_is_back(
    client: Client, storage: Storage
) -> None:
    running = await seat_all(client, "cafe")
    over = await seat_all(client)
    await over.act("Resign", 0)
    lobby = Table(client, await client.create("open", "open"))
    same = request_id()
    number = (await running.game()).sequence
    commands: list[Callable[[], Any]] = [
        lambda: client.create("open", "open", request_id=same),
        lambda: client.join(lobby.id, request_id=same),
        lambda: lobby.act("CancelMatch", lobby.owner, request_id=same),
        lambda: running.declare(0, False, request_id=same, expected_sequence=number),
        lambda: running.act("Resign", 1, request_id=same),
        lambda: over.act("Rematch", 0, request_id=same),
    ]
    storage.readonly = True
    for command in commands:
        with refused(Reason.STORAGE_UNAVAILABLE):
            await command()
    assert (await over.match()).result.fault.seat == 0  # what is known is told meanwhile
    storage.readonly = False
    for command in commands:
        first = await command()
        assert await command() == first
    listed = await client.matches.ListMatches(pb.ListMatchesRequest())
    assert len(listed.matches) == 5


async def test_a_disk_that_is_full_stops_commands_and_loses_nothing(
    client: Client, storage: Storage
) -> None:
    table = await seat_all(client, "arabic")
    storage.full = True
    same = ""
    async with asyncio.timeout(20):
        while not same:
            before = await table.seen()
            trying = request_id()
            sequence = (await table.game()).sequence
            try:
                await table.step(request_id=trying, expected_sequence=sequence)
            except grpc.aio.AioRpcError:
                same = trying
    assert await table.seen() == before
    with refused(Reason.STORAGE_UNAVAILABLE):
        await table.step(request_id=same, expected_sequence=sequence)
    storage.full = False
    answer = await table.step(request_id=same, expected_sequence=sequence)
    assert answer.sequence == sequence + 1
    await check_memory_is_the_log(table)
    await table.play_out()
    got = await client.matches.GetRecord(pb.GetRecordRequest(match_id=table.id))
    assert verify(read(got.record.decode())).proven


@pytest.mark.parametrize("stored", [False, True])
async def test_a_commit_whose_fate_is_unknown_is_read_from_the_log(
    client: Client, monkeypatch: pytest.MonkeyPatch, stored: bool
) -> None:
    table = await seat_all(client, "arabic")
    commit = committer._commit

    def torn(connection: sqlite3.Connection, jobs: list[Any]) -> Any:
        if stored:
            commit(connection, jobs)
        return [(job, None, StorageError("disk I/O error")) for job in jobs]

    same = request_id()
    turn, held = await table.turn()
    sequence = (await table.game()).sequence
    fields = {"card": held[0], "request_id": same, "expected_sequence": sequence}
    stream = table.watch(None, sequence)
    await stream.read()
    with monkeypatch.context() as patch:
        patch.setattr(committer, "_commit", torn)
        with refused(Reason.STORAGE_UNAVAILABLE):
            await table.act("PlayCard", turn, **fields)
    answer = await table.act("PlayCard", turn, **fields)
    assert answer.sequence == sequence + 1
    assert len((await table.hand()).plays) == 1
    assert (await stream.read()).event.sequence == sequence + 1
    await check_memory_is_the_log(table)
    await table.play_out()


async def test_what_a_torn_commit_holds_is_told_to_all_though_nobody_sends_it_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = await seat_all(client)
    commit = committer._commit

    def torn(connection: sqlite3.Connection, jobs: list[Any]) -> Any:
        commit(connection, jobs)
        return [(job, None, StorageError("disk I/O error")) for job in jobs]

    sequence = (await table.game()).sequence
    stream = table.watch(None, sequence)
    await stream.read()
    with monkeypatch.context() as patch:
        patch.setattr(committer, "_commit", torn)
        with refused(Reason.STORAGE_UNAVAILABLE):
            await table.step()
    # Nobody sends it again, and everybody is told all the same: it is in the log.
    assert (await stream.read()).event.sequence == sequence + 1
    with refused(Reason.STALE_SEQUENCE) as refusal:
        await table.step(expected_sequence=sequence)
    assert dict(refusal.info.metadata) == {"sequence": str(sequence + 1)}
    await table.step()


async def test_a_torn_creation_makes_one_match_and_is_answered_when_sent_again(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = committer._commit

    def torn(connection: sqlite3.Connection, jobs: list[Any]) -> Any:
        commit(connection, jobs)
        return [(job, None, StorageError("disk I/O error")) for job in jobs]

    same = request_id()
    with monkeypatch.context() as patch:
        patch.setattr(committer, "_commit", torn)
        with refused(Reason.STORAGE_UNAVAILABLE):
            await client.create("open", "open", request_id=same)
    first = await client.create("open", "open", request_id=same)
    listed = await client.matches.ListMatches(pb.ListMatchesRequest())
    assert [match.id for match in listed.matches] == [first.match.id]
    assert (await client.create("open", "open")).match.id != first.match.id


async def test_bots_go_on_when_the_storage_is_back(
    client: Client, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = threading.Event()

    def failing(connection: sqlite3.Connection, jobs: list[Any]) -> Any:
        outcomes = storage.commit(connection, jobs)
        if isinstance(outcomes[0][2], StorageError):
            gone.set()
        return outcomes

    monkeypatch.setattr(committer, "_commit", failing)
    table = Table(client, await client.create("greedy", "random", rules="playtash", length=5))
    storage.readonly = True
    await until(gone.is_set)
    storage.readonly = False
    stream = table.watch()
    while (message := await stream.read()).WhichOneof("update") != "ended":
        pass
    assert message.ended.reason == pb.StreamEnded.REASON_MATCH_OVER
    assert client.server.metrics.plays.labels("playtash")._value.get() == 5 * 36
    await check_memory_is_the_log(table)


async def test_a_deadline_is_judged_when_the_storage_is_back(start: Any, storage: Storage) -> None:
    now = [1_700_000_000_000_000]
    client = await start(now=lambda: now[0])
    clock = match_pb2.Clock()
    clock.per_decision.FromSeconds(60)
    table = await seat_all(client, clock=clock)
    live = await client.server.host.find(table.id)
    storage.readonly = True
    now[0] += 60_000_000
    await client.server.host._expire(live)
    assert not live.game.over
    storage.readonly = False
    await until(lambda: live.game.over)


async def test_storage_that_cannot_be_read_is_said_to_be_away(
    client: Client, tmp_path: Path
) -> None:
    table = await seat_all(client)
    await table.act("Resign", 0)
    host = client.server.host
    host._shelf._over.clear()
    host.log._engine.dispose()
    database_file = tmp_path / "ronda.db"
    aside = tmp_path / "aside.db"
    await asyncio.to_thread(database_file.rename, aside)
    await asyncio.to_thread(database_file.mkdir)
    asked = pb.GetMatchRequest(match_id=table.id)
    with refused(Reason.STORAGE_UNAVAILABLE):
        await client.matches.GetMatch(asked)
    with refused(Reason.STORAGE_UNAVAILABLE):
        await client.matches.ListMatches(pb.ListMatchesRequest())
    with refused(Reason.STORAGE_UNAVAILABLE):
        await client.matches.ListCommitments(pb.ListCommitmentsRequest())
    await asyncio.to_thread(database_file.rmdir)
    await asyncio.to_thread(aside.rename, database_file)
    assert (await client.matches.GetMatch(asked)).match.id == table.id
    assert watching(client) == 0


async def test_a_server_that_restarts_after_a_failure_holds_what_was_answered_and_no_more(
    start: Any, storage: Storage
) -> None:
    before = await start()
    table = await seat_all(before, "pagat", 3)
    for _ in range(10):
        await table.step()
    seen = await table.seen()
    storage.readonly = True
    with refused(Reason.STORAGE_UNAVAILABLE):
        await table.step()
    await stop(before)
    storage.readonly = False
    again = table.again(await start())
    assert await again.seen() == seen
    await again.step()


def test_work_that_finds_the_storage_locked_waits_once_for_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "ronda.db"
    database.upgrade(str(path))
    holder = sqlite3.connect(path, isolation_level=None)
    writer = sqlite3.connect(path, isolation_level=None, timeout=0)
    holder.execute("BEGIN IMMEDIATE")
    begun: list[str] = []
    writer.set_trace_callback(begun.append)
    done: list[sqlite3.Connection] = []
    jobs: list[Any] = [committer._Job(done.append, None, None) for _ in range(9)]
    outcomes = committer._commit(writer, jobs)
    assert [type(problem) for _, _, problem in outcomes] == [StorageError] * 9
    assert begun == ["BEGIN IMMEDIATE"]
    assert not done
    holder.close()
    assert [problem for _, _, problem in committer._commit(writer, jobs)] == [None] * 9
    assert len(done) == 9
    writer.close()


def test_plays_alone_are_one_statement_which_waits_once_for_all_of_them(tmp_path: Path) -> None:
    path = tmp_path / "ronda.db"
    database.upgrade(str(path))
    holder = sqlite3.connect(path, isolation_level=None)
    writer = sqlite3.connect(path, isolation_level=None, timeout=0)
    begun: list[str] = []
    writer.set_trace_callback(begun.append)
    jobs: list[Any] = [
        committer._Job(rows_of("m", [Fact(number, 0, "played", {})]), None, None)
        for number in range(1, 10)
    ]
    holder.execute("BEGIN IMMEDIATE")
    outcomes = committer._commit(writer, jobs)
    assert [type(problem) for _, _, problem in outcomes] == [StorageError] * 9
    assert len(begun) == 1
    holder.execute("COMMIT")
    assert [problem for _, _, problem in committer._commit(writer, jobs)] == [None] * 9
    assert len(begun) == 2
    stored = holder.execute("SELECT sequence FROM event ORDER BY sequence").fetchall()
    assert stored == [(number,) for number in range(1, 10)]
    holder.close()
    writer.close()


def test_of_plays_alone_one_that_fails_fails_alone(tmp_path: Path) -> None:
    path = tmp_path / "ronda.db"
    database.upgrade(str(path))
    writer = sqlite3.connect(path, isolation_level=None)
    jobs: list[Any] = [
        committer._Job(rows_of("m", [Fact(number, 0, "played", {})]), None, None)
        for number in (1, 2, 1, 3)
    ]
    problems = [problem for _, _, problem in committer._commit(writer, jobs)]
    assert [type(problem) for problem in problems] == [
        type(None),
        type(None),
        ConflictError,
        type(None),
    ]
    stored = writer.execute("SELECT sequence FROM event ORDER BY sequence").fetchall()
    assert stored == [(1,), (2,), (3,)]
    writer.close()


async def test_storage_that_fails_is_told_once_and_counted_and_so_is_its_return(
    client: Client, storage: Storage
) -> None:
    table = await seat_all(client)
    with structlog.testing.capture_logs() as told:
        for _ in range(3):
            storage.readonly = True
            for _ in range(2):
                with refused(Reason.STORAGE_UNAVAILABLE):
                    await table.step()
            storage.readonly = False
            await table.step()
    events = [line["event"] for line in told if line["event"].startswith("the storage")]
    assert (
        events
        == [
            "the storage does not take commits",
            "the storage takes commits again",
        ]
        * 3
    )
    assert client.server.metrics.commit_failures._value.get() >= 6
