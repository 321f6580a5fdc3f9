"""How a server comes up over what it finds, and how it leaves."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.server.conftest import offer, request_id, stop
from tests.server.tables import refused, seat_all

from ronda.v1 import match_service_pb2 as pb
from ronda.v1.match_service_pb2_grpc import MatchServiceStub
from ronda_server import database, fold
from ronda_server.database import DatabaseError
from ronda_server.errors import Reason

Damage = Callable[[sqlite3.Connection, str], object]


def _update(what: str) -> Damage:
    return lambda connection, match: connection.execute(what, {"match": match})


DAMAGES: dict[str, Damage] = {
    "data that is no JSON": _update("UPDATE event SET data = '{' WHERE match_id = :match"),
    "data that is null": _update("UPDATE event SET data = 'null' WHERE match_id = :match"),
    "data that is a list": _update("UPDATE event SET data = '[]' WHERE match_id = :match"),
    "no first event": _update("DELETE FROM event WHERE match_id = :match AND sequence = 1"),
    "a gap": _update("DELETE FROM event WHERE match_id = :match AND sequence = 4"),
    "no events": _update("DELETE FROM event WHERE match_id = :match"),
    "an unknown kind": _update("UPDATE event SET kind = 'x' WHERE match_id = :match"),
    "a play before the deal": _update(
        'UPDATE event SET kind = \'played\', data = \'{"seat":0,"card":"1O"}\''
        " WHERE match_id = :match AND sequence = 2"
    ),
    "a seat that is none": _update(
        "UPDATE event SET data = replace(data, '\"seat\":', '\"seat\":9') WHERE match_id = :match"
    ),
    "no secret": _update("DELETE FROM secret WHERE scope = :match"),
    "no commitment": _update("DELETE FROM commitment WHERE scope = :match"),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
async def test_a_damaged_match_is_left_out_and_the_others_go_on(
    start: Any, tmp_path: Path, damage: Damage
) -> None:
    before = await start()
    broken, sound = await seat_all(before), await seat_all(before)
    for table in (broken, sound):
        await table.step()
    await stop(before)

    def spoil() -> None:
        with sqlite3.connect(tmp_path / "ronda.db") as connection:
            damage(connection, broken.id)
        connection.close()

    await asyncio.to_thread(spoil)
    client = await start()
    client.faults = 2  # one for the match, one for the call below
    await client.server.host.loaded()
    await sound.again(client).play_out()
    listed = await client.matches.ListMatches(pb.ListMatchesRequest())
    assert [match.id for match in listed.matches] == [sound.id]
    with refused(Reason.INTERNAL):
        await client.matches.GetMatch(pb.GetMatchRequest(match_id=broken.id))
    assert client.server.metrics.errors._value.get() == client.faults


async def test_who_asks_for_a_match_after_a_start_does_not_wait_for_the_others(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await start()
    tables = [await seat_all(before, "arabic") for _ in range(4)]
    await stop(before)
    go_on = threading.Event()
    latest = fold.latest

    def slow(match_id: str, *given: Any) -> Any:
        if match_id != tables[0].id:
            assert go_on.wait(30)
        return latest(match_id, *given)

    monkeypatch.setattr(fold, "latest", slow)
    client = await start()
    assert len(client.server.host) == len(tables)  # they count, loaded or not
    await tables[0].again(client).play_out()
    go_on.set()
    await client.server.host.loaded()
    assert len(client.server.host) == len(tables) - 1
    for table in tables[1:]:
        await table.again(client).step()


async def test_a_server_that_is_stopped_while_it_loads_loses_nothing(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = await start()
    tables = [await seat_all(before) for _ in range(6)]
    seen = [await table.seen() for table in tables]
    await stop(before)
    await stop(await start())
    client = await start()
    assert [await table.again(client).seen() for table in tables] == seen


async def test_a_database_serves_one_server_at_a_time(start: Any) -> None:
    first = await start()
    table = await seat_all(first)
    with pytest.raises(DatabaseError, match="another server"):
        await start()
    await table.step()
    await stop(first)
    second = await start()
    await table.again(second).step()


async def test_a_database_is_the_same_by_whatever_name_it_is_given(
    start: Any, tmp_path: Path
) -> None:
    await start()
    (tmp_path / "link.db").symlink_to(tmp_path / "ronda.db")
    (tmp_path / "folder").symlink_to(tmp_path)
    for name in ("link.db", "folder/ronda.db", "folder/link.db", "./ronda.db"):
        with pytest.raises(DatabaseError, match="another server"):
            await start(database=f"{tmp_path}/{name}")


async def test_a_database_of_two_names_is_refused(start: Any, tmp_path: Path) -> None:
    await stop(await start())
    (tmp_path / "other.db").hardlink_to(tmp_path / "ronda.db")
    for name in ("ronda.db", "other.db"):
        with pytest.raises(DatabaseError, match=r"has 2 names \(hard links\)"):
            await start(database=f"{tmp_path}/{name}")
    (tmp_path / "other.db").unlink()
    await start()


async def test_what_stands_where_the_lock_belongs_is_neither_followed_nor_waited_for(
    start: Any, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.write_text("as it was")
    lock = tmp_path / "ronda.db.lock"
    lock.symlink_to(precious)
    with pytest.raises(OSError, match="symbolic"):
        await start()
    assert precious.read_text() == "as it was"
    lock.unlink()
    os.mkfifo(lock)
    await start()  # it is locked as well as a file is
    with pytest.raises(DatabaseError, match="another server"):
        await start()


async def test_a_database_of_another_version_is_refused_in_words(
    start: Any, tmp_path: Path
) -> None:
    await stop(await start())

    def foresee() -> None:
        with sqlite3.connect(tmp_path / "ronda.db") as connection:
            connection.execute("UPDATE alembic_version SET version_num = 'of the future'")
        connection.close()

    await asyncio.to_thread(foresee)
    with pytest.raises(DatabaseError, match="newer"):
        await start()
    with pytest.raises(DatabaseError, match="newer"):
        await asyncio.to_thread(database.upgrade, str(tmp_path / "ronda.db"))


async def test_a_server_that_cannot_use_its_database_leaves_no_key_behind(
    start: Any, tmp_path: Path
) -> None:
    (tmp_path / "junk.db").write_bytes(b"no database" * 100)
    with pytest.raises(Exception, match="not a database"):
        await start(database=str(tmp_path / "junk.db"))
    assert not (tmp_path / "junk.db.key").exists()


async def test_a_key_file_without_an_end_is_refused(start: Any) -> None:
    with pytest.raises(ValueError, match="32 to 64 bytes"):
        await start(key_file="/dev/zero")


_SERVER = """
import sys
from ronda_bots.registry import BotInfo, Registry
from ronda_server import app
from ronda_server.config import Config

class Lost:
    version = "1.0.0"
    def __init__(self, seat, rng): ...
    def play(self, view):
        while True: pass

bot = BotInfo("lost", "1.0.0", "lost", "1.0.0", "", Lost)
app.discover = lambda nursery, home: Registry(bots=(bot,), broken=())
app.is_quick = lambda info: True
config = Config(*["127.0.0.1:0"] * 3, database=sys.argv[1], drain_seconds=1.0)
app.run(config, lambda addresses: print(addresses["listen"], flush=True))
"""


async def test_a_bot_that_never_comes_back_does_not_keep_a_server_from_leaving(
    tmp_path: Path,
) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", _SERVER, str(tmp_path / "lost.db")),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        assert process.stdout
        address = (await process.stdout.readline()).decode().strip()
        async with grpc.aio.insecure_channel(address) as channel:
            stub = MatchServiceStub(channel)
            made = await stub.CreateMatch(
                pb.CreateMatchRequest(
                    rules="arabic",
                    seats=[offer("lost"), offer("lost")],
                    request_id=request_id(),
                )
            )
            assert made.match.id
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), 30) == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
