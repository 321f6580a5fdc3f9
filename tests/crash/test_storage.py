"""Storage that fails: an error at every statement, a disk that is full, a tail that is torn off."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest
from google.protobuf.duration_pb2 import Duration

from ronda.v1.match_pb2 import Clock
from ronda_bots.registry import Registry
from ronda_server import database
from ronda_server.errors import Reason, ServiceError
from ronda_server.identity import Keys

from .crashes import Crashes, Picture, prepare
from .failures import WAYS, Failing, errors_everywhere, play
from .history import Entry
from .inside import DATABASE, KEY, Files, Inside, Probe, config, files_of, lay, probing
from .judge import check, check_log
from .scenarios import bots_alone, brief, called_off, opening, two_persons
from .stored import read_database
from .table import Scenario, Simulated, Table, hand_of

pytestmark = pytest.mark.thorough


_PAGE: Final = 4096
_WAL_HEADER: Final = 32
_FRAME: Final = 24 + _PAGE


@pytest.fixture(scope="module")
def fresh(registry: Registry, tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Return the files of a server that has been started once."""
    folder = tmp_path_factory.mktemp("fresh")
    prepare(folder, registry)
    return files_of(folder)


@pytest.mark.parametrize("scenario", [brief, opening, called_off])
@pytest.mark.parametrize(("count", "done"), WAYS.values(), ids=WAYS)
def test_an_error_at_any_statement_loses_and_doubles_nothing(
    scenario: Scenario, count: int, done: bool, registry: Registry, quick: Path
) -> None:
    """A statement fails in one of the ways; `python -m tests.long.crash` lets it fail in each."""
    first = 1 + [*WAYS.values()].index((count, done))
    places, report = errors_everywhere(
        quick, registry, scenario, count, done=done, first=first, every=len(WAYS)
    )
    print(f"{places} places: {report}")
    assert report.faults == []
    assert places > 20 // len(WAYS)


class Switch(Probe):
    """Fails the statements that `fails` names, while it is on."""

    def __init__(self, fails: Callable[[str], bool], *, done: bool) -> None:
        super().__init__()
        self.on = False
        self.failures = 0
        self._fails = fails
        self._done = done
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._seen: list[str] = []

    def before(self, statement: str) -> None:
        self._fail(statement, self.on and not self._done)

    def after(self, statement: str) -> None:
        self._fail(statement, self.on and self._done)
        self._seen.append(statement)
        self._loop.call_soon_threadsafe(self._changed.set)

    def _fail(self, statement: str, now: bool) -> None:
        if now and self._fails(statement):
            self.failures += 1
            self._loop.call_soon_threadsafe(self._changed.set)
            raise sqlite3.OperationalError("disk I/O error")

    async def fails(self, count: int) -> None:
        """Wait until so many statements have failed in all."""
        while self.failures < count:
            self._changed.clear()
            await self._changed.wait()

    async def sees(self, part: str, count: int) -> None:
        """Wait until so many statements that hold `part` have been run."""
        while sum(part in statement for statement in self._seen) < count:
            self._changed.clear()
            await self._changed.wait()


def _commit(statement: str) -> bool:
    return statement == "COMMIT"


def _play(statement: str) -> bool:
    """Say whether this commits a play, alone or with other plays: one statement does."""
    return statement.startswith("INSERT INTO event")


def _anything(_statement: str) -> bool:
    return True


@contextmanager
def _unavailable() -> Iterator[None]:
    with pytest.raises(ServiceError) as problem:
        yield
    assert problem.value.reason is Reason.STORAGE_UNAVAILABLE


@asynccontextmanager
async def _table(
    folder: Path, fresh: Files, registry: Registry, probe: Probe
) -> AsyncIterator[Table]:
    """Return clients of a server that is not to be stopped."""
    lay(fresh, folder)
    journal: list[Entry] = []
    with probing(probe):
        server = Inside(config(folder, Simulated(journal)), registry)
        await server.start()
        table = Table(server, journal, probe)
        try:
            async with asyncio.timeout(60):  # where nothing is told, nothing ever ends
                yield table
        finally:
            table.leave()
            await server.stop()
    report = check(
        journal,
        read_database(folder / DATABASE),
        Keys((folder / KEY).read_bytes()),
        complete=False,
    )
    assert report.faults == []


async def _told(table: Table, match: str, number: int) -> None:
    """Wait until a spectator has been told an event."""
    while table.told(match) < number:
        await table.news()


async def test_what_was_committed_in_spite_of_an_error_is_told_though_nobody_asks(
    fresh: Files, registry: Registry, quick: Path
) -> None:
    switch = Switch(_play, done=True)
    async with _table(quick / "told", fresh, registry, switch) as table:
        made = await table.create("unknown", "arabic", "open", "greedy")
        match = made.match.id
        token = await table.join("imane", match, 0)
        await table.play_out(match, {0: token}, lambda game: bool(game.waits_for))
        game = (await table.live(match)).game
        card = hand_of(game).hands[0][0]
        switch.on = True
        with _unavailable():
            await table.try_to_play(match, 0, token, card, game.opened)
        switch.on = False
        # The play, and what the bot answers to it.
        await _told(table, match, game.sequence + 2)


async def test_a_match_made_in_spite_of_an_error_is_played_though_nobody_asks(
    fresh: Files, registry: Registry, quick: Path
) -> None:
    switch = Switch(_commit, done=True)
    async with _table(quick / "made", fresh, registry, switch) as table:
        switch.on = True
        with _unavailable():
            await table.try_to_create("unknown", "arabic", "greedy", "random")
        switch.on = False
        await switch.sees("UPDATE match SET state = ?, ended", 1)


@pytest.mark.parametrize("place", ["FROM secret", "BEGIN", "INSERT INTO match", "COMMIT"])
async def test_a_promise_that_came_to_nothing_is_that_of_the_next_match(
    place: str, fresh: Files, registry: Registry, quick: Path
) -> None:
    switch = Switch(lambda statement: place in statement, done=False)
    async with _table(quick / "promise", fresh, registry, switch) as table:
        host = table.server.host
        oldest = (await host.log.unused_scopes())[0][0]
        for attempt in range(3):
            switch.on = True
            with _unavailable():
                await table.try_to_create(f"attempt {attempt}", "arabic", "greedy", "random")
            switch.on = False
            await asyncio.gather(*host._tasks, return_exceptions=True)
        made = await table.create("at last", "arabic", "open", "open")
        assert made.match.id == oldest


async def test_bots_and_clocks_go_on_when_the_storage_is_back(
    fresh: Files, registry: Registry, quick: Path
) -> None:
    switch = Switch(_anything, done=False)
    async with _table(quick / "bots", fresh, registry, switch) as table:
        made = await table.create("bots", "arabic", "greedy", "random")
        clocked = await table.create(
            "clock", "arabic", "open", "open", clock=Clock(per_decision=Duration(seconds=1))
        )
        await table.join("jihane", clocked.match.id, 0)
        await table.join("kamal", clocked.match.id, 1)
        await _told(table, made.match.id, 5)
        switch.on = True
        table.pass_time_unseen(clocked.match.id, 2)
        await switch.fails(30)
        switch.on = False
        await _told(table, made.match.id, 40)
        await _told(table, clocked.match.id, 5)
        await table.finish()


def test_a_bot_answers_the_same_after_an_error_as_without(
    fresh: Files, registry: Registry, quick: Path
) -> None:
    folder = quick / "undisturbed"
    assert play(folder, fresh, registry, bots_alone, Failing(1, 0), keep=True).faults == []
    expected = read_database(folder / DATABASE).rows
    for nth in range(40, 78, 3):
        folder = quick / f"disturbed {nth}"
        probe = Failing(nth, 1)
        assert play(folder, fresh, registry, bots_alone, probe, keep=True).faults == []
        assert probe.failed
        assert read_database(folder / DATABASE).rows == expected


async def test_a_full_disk_refuses_commands_and_tells_nothing(
    fresh: Files, registry: Registry, quick: Path
) -> None:
    async with _table(quick / "full", fresh, registry, Probe()) as table:
        made = await table.create("full", "arabic", "open", "open")
        match = made.match.id
        tokens = {0: await table.join("lina", match, 0), 1: await table.join("mehdi", match, 1)}
        log = table.server.host.log

        def fill(connection: sqlite3.Connection) -> None:
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            connection.execute(f"PRAGMA max_page_count = {pages}")

        def free(connection: sqlite3.Connection) -> None:
            connection.execute("PRAGMA max_page_count = 1000000")

        await log.submit(fill)
        with _unavailable():
            for _ in range(36):
                game = (await table.live(match)).game
                seat = hand_of(game).turn
                card = hand_of(game).hands[seat][0]
                await table.try_to_play(match, seat, tokens[seat], card, game.opened)
        stored = await log.read(match)
        assert table.told(match) <= len(stored)
        await log.submit(free)
        await table.resume()
        await table.play_out(match, tokens)
        await table.finish()


async def test_what_is_acknowledged_is_flushed_to_disk(
    fresh: Files, registry: Registry, quick: Path
) -> None:
    def settings(connection: sqlite3.Connection) -> tuple[str, int]:
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
        (synchronous,) = connection.execute("PRAGMA synchronous").fetchone()
        return mode, synchronous

    async with _table(quick / "flushed", fresh, registry, Probe()) as table:
        full = 2
        assert await table.server.host.log.submit(settings) == ("wal", full)


def test_a_torn_tail_leaves_a_prefix_that_replays(registry: Registry, quick: Path) -> None:
    crashes = Crashes(registry, two_persons, quick)
    last = crashes.shoot()[-1]
    wal = last.files[f"{DATABASE}-wal"]
    whole = read_database(_laid(last.files, quick / "whole"))
    assert len(wal) > 50 * _FRAME
    lengths = set()
    for end in _ends(0, len(wal)):
        folder = quick / "torn"
        torn = last.files | {f"{DATABASE}-wal": wal[:end]}
        left = read_database(_laid(torn, folder))
        keys = Keys((folder / KEY).read_bytes())
        shutil.rmtree(folder)
        assert check_log(left, keys).faults == []
        for match, rows in left.rows.items():
            assert rows == whole.rows[match][: len(rows)]
            lengths.add(len(rows))
    assert len(lengths) > 30


def test_a_commit_that_was_cut_off_is_as_if_it_had_not_been_asked_for(
    registry: Registry, quick: Path
) -> None:
    """The power fails while a commit is written: any part of it may have reached the disk."""
    crashes = Crashes(registry, brief, quick)
    states = crashes.shoot()
    torn = [state for before, after in pairwise(states) for state in _torn(before, after)]
    for state in torn:
        crashes.recover(state)
    print(crashes.tally)
    assert crashes.tally.report.faults == []
    assert len(torn) > 100


def test_a_log_that_is_folded_in_all_the_time_may_be_cut_off_anywhere(
    registry: Registry, quick: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here every commit copies its pages from the log into the file, and starts the log anew."""
    prepared = database.prepare

    def folding(connection: sqlite3.Connection) -> None:
        prepared(connection)
        connection.execute("PRAGMA wal_autocheckpoint = 1")

    monkeypatch.setattr(database, "prepare", folding)
    crashes = Crashes(registry, brief, quick)
    states = crashes.shoot()
    mixed = [
        state
        for before, after in pairwise(states)
        if before.files[DATABASE] != after.files[DATABASE]
        for state in _half_folded(before, after)
    ]
    for state in (*states[::3], *mixed):
        crashes.recover(state)
    print(crashes.tally)
    assert crashes.tally.report.faults == []
    assert len(mixed) > 30


def _half_folded(before: Picture, after: Picture) -> list[Picture]:
    """Return what may be left of a file into which the log is being copied: any of its pages."""
    old, new = before.files[DATABASE], after.files[DATABASE]
    changed = [
        at for at in range(0, len(new), _PAGE) if old[at : at + _PAGE] != new[at : at + _PAGE]
    ]
    states = []
    for copied in (changed[:1], changed[::2], changed[1:]):
        main = bytearray(old.ljust(len(new), b"\0"))
        for at in copied:
            main[at : at + _PAGE] = new[at : at + _PAGE]
        files = after.files | {DATABASE: bytes(main)}
        states.append(Picture(files, before.journal, f"{len(copied)} of {len(changed)} pages"))
    return states


def _torn(before: Picture, after: Picture) -> list[Picture]:
    """Return what may be left of the commit between two states, if there is one."""
    name = f"{DATABASE}-wal"
    old, new = before.files.get(name, b""), after.files.get(name, b"")
    if old == new or not new.startswith(old):
        return []
    parts = [new[:end] for end in _ends(len(old), len(new))]
    first = max(len(old), _WAL_HEADER)
    # Written out of order: the last frame is there, the first is not.
    parts.append(new[:first] + bytes(_FRAME) + new[first + _FRAME :])
    return [
        Picture(before.files | {name: part}, before.journal, f"{len(part)} of {len(new)} bytes")
        for part in parts
    ]


def _ends(start: int, end: int) -> list[int]:
    """Return where a log may be cut off: between its frames, and within them."""
    frames = range(max(start, _WAL_HEADER), end, _FRAME)
    cuts = [cut for frame in frames for cut in (frame, frame + 7, frame + 24, frame + 24 + 1000)]
    return [cut for cut in (start + 1, *cuts) if start < cut < end]


def _laid(files: Files, folder: Path) -> Path:
    lay(files, folder)
    return folder / DATABASE
