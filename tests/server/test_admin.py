"""AdminService: who may call it, and what it tells and does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.server.conftest import Client, bearer, request_id, stop
from tests.server.remotes import Admin, Remote
from tests.server.tables import refused, seat_all, until

from ronda.admin.v1 import admin_service_pb2 as admin_pb
from ronda_server.errors import ConfigError, Reason
from ronda_server.identity import ACCESS, Needs, is_api_key, load_admin_key


@pytest.fixture
def client(admin: Admin) -> Client:
    return admin.client


ADMIN_METHODS = [path.rsplit("/", 1)[1] for path, need in ACCESS.items() if need is Needs.ADMIN]


@pytest.mark.parametrize("method", ADMIN_METHODS)
async def test_who_is_not_the_admin_is_refused_everything(
    admin: Admin, client: Client, key: str, method: str
) -> None:
    table = await seat_all(client)
    with refused(Reason.TOKEN_REQUIRED):
        await admin.call(method, "")
    for token in (key, table.owner, table.tokens[0], admin.key[:-1], admin.key + "A"):
        with refused(Reason.BAD_TOKEN):
            await admin.call(method, token)
    assert not client.server.leaving.is_set()


@pytest.mark.parametrize("method", ADMIN_METHODS)
async def test_the_admin_service_is_not_on_the_listener_of_players(
    admin: Admin, client: Client, method: str
) -> None:
    call = client.channel.unary_unary(f"/ronda.admin.v1.AdminService/{method}")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(b"", metadata=bearer(admin.key))
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_players_are_not_served_on_the_listener_of_admins(admin: Admin) -> None:
    call = admin.channel.unary_unary("/ronda.v1.MatchService/ListMatches")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(b"")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", ":0", "192.0.2.1:0"])
async def test_the_admin_listener_is_loopback_whatever_is_allowed(start: Any, address: str) -> None:
    with pytest.raises(ConfigError, match="loopback"):
        await start(admin_listen=address, allow_plaintext=True)


async def test_without_an_address_there_is_no_admin_listener_and_no_key(
    start: Any, tmp_path: Path
) -> None:
    client = await start()
    assert "admin_listen" not in client.server.addresses
    assert not (tmp_path / "ronda.db.admin-key").exists()


def test_the_admin_key_is_readable_by_its_owner_only_and_stays(
    admin: Admin, tmp_path: Path
) -> None:
    file = tmp_path / "ronda.db.admin-key"
    assert file.stat().st_mode & 0o777 == 0o600
    assert load_admin_key(file) == admin.key


def test_a_file_that_holds_no_admin_key_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "key"
    for content in (b"", b"secret\n", b"\xff" * 32, b"rnd_a_" + b"A" * 42):
        file.write_bytes(content)
        with pytest.raises(ConfigError, match="admin key"):
            load_admin_key(file)


async def test_a_key_is_made_once_for_a_request_and_told_again_to_who_repeats_it(
    admin: Admin,
) -> None:
    same = request_id()
    made = await admin.call("CreateKey", account="ann", label="laptop", request_id=same)
    again = await admin.call("CreateKey", account="ann", label="laptop", request_id=same)
    assert made == again
    assert is_api_key(made.secret)
    assert made.key.id in made.secret
    with refused(Reason.REQUEST_ID_REUSED):
        await admin.call("CreateKey", account="bob", label="laptop", request_id=same)
    listed = await admin.call("ListKeys")
    assert [(one.account, one.label) for one in listed.keys] == [("ann", "laptop")]
    assert made.secret not in str(listed)


@pytest.mark.parametrize(
    ("fields", "reason", "field"),
    [
        ({"account": ""}, Reason.REQUEST_INVALID, "account"),
        ({"account": "a b"}, Reason.REQUEST_INVALID, "account"),
        ({"account": "x" * 65}, Reason.REQUEST_INVALID, "account"),
        ({"label": "x" * 101}, Reason.REQUEST_INVALID, "label"),
        ({"label": "\x1b[2J"}, Reason.REQUEST_INVALID, "label"),
        ({"request_id": "1"}, Reason.BAD_REQUEST_ID, "request_id"),
    ],
)
async def test_a_key_that_may_not_be_made_is_refused(
    admin: Admin, fields: dict[str, str], reason: Reason, field: str
) -> None:
    with refused(reason, field):
        await admin.call(
            "CreateKey", **{"account": "ann", "label": "", "request_id": request_id()} | fields
        )
    assert not (await admin.call("ListKeys")).keys


async def test_keys_are_listed_page_by_page_the_oldest_first(admin: Admin) -> None:
    for account in ("ann", "bob", "eve", "joe", "kim"):
        await admin.new_key(account)
    shown, token = [], ""
    while True:
        page = await admin.call("ListKeys", page_size=2, page_token=token)
        shown += [one.account for one in page.keys]
        token = page.next_page_token
        if not token:
            break
    assert shown == ["ann", "bob", "eve", "joe", "kim"]
    for method in ("ListKeys", "ListRemoteBots"):
        with refused(Reason.BAD_PAGE_SIZE, "page_size"):
            await admin.call(method, page_size=-1)
        with refused(Reason.BAD_PAGE_TOKEN, "page_token"):
            await admin.call(method, page_token="x")


async def test_a_key_that_does_not_exist_is_not_revoked(admin: Admin, key: str) -> None:
    for key_id in ("", "aaaaaaaa", key, "' OR 1=1 --"):
        with refused(Reason.KEY_NOT_FOUND, "key_id"):
            await admin.call("RevokeKey", key_id=key_id)
    await Remote(admin.client, key).open()


def test_nothing_that_is_stored_makes_a_key(admin: Admin, key: str, tmp_path: Path) -> None:
    secret = key.split("_", 3)[3].rsplit("_", 1)[0]
    for file in tmp_path.iterdir():
        content = file.read_bytes()
        assert secret.encode() not in content, file.name
        assert file.name == "ronda.db.admin-key" or admin.key.encode() not in content


async def test_remote_bots_are_listed_with_their_matches_and_round_trip(
    admin: Admin, client: Client, key: str
) -> None:
    bot = await Remote(client, key).open()
    created = await client.create("far", "greedy", rules="arabic")
    decision = await bot.next("decision")
    [one] = (await admin.call("ListRemoteBots")).bots
    assert not one.HasField("last_round_trip")
    await bot.decide(decision)
    await bot.next("decision")
    [one] = (await admin.call("ListRemoteBots")).bots
    assert one.last_round_trip.ToMicroseconds() > 0
    one.ClearField("last_round_trip")
    assert one == admin_pb.RemoteBot(
        identity="far@1.0.0",
        account="ann",
        connected=True,
        ready=True,
        match_ids=[created.match.id],
        max_seats=16,
        key_id=key.split("_")[2],
    )
    bot.hang_up()
    await until(lambda: not client.server.host.remotes.ready)
    [away] = (await admin.call("ListRemoteBots")).bots
    assert (away.connected, away.ready, list(away.match_ids)) == (False, False, [created.match.id])


async def test_drain_asks_the_server_to_leave(admin: Admin, client: Client) -> None:
    await client.create("open", "open")
    assert (await admin.call("Drain")).open_matches == 1
    assert client.server.leaving.is_set()


async def test_isolation_is_told_as_it_is(admin: Admin) -> None:
    report = (await admin.call("GetIsolation")).report
    assert report.wanted == report.granted == admin_pb.ISOLATION_LEVEL_TRUSTED


async def test_a_name_is_freed_for_whoever_uses_it_next(
    admin: Admin, client: Client, key: str
) -> None:
    other = await admin.new_key("bob")
    bot = await Remote(client, key).open()
    await client.create("far", "greedy", rules="arabic")
    await bot.next("decision")
    with refused(Reason.BOT_NAME_IN_USE, "name"):
        await admin.call("FreeBotName", name="far", account="ann")
    bot.hang_up()
    await until(lambda: not client.server.host.remotes.ready)
    with refused(Reason.BOT_NAME_IN_USE, "name"):  # its match goes on
        await admin.call("FreeBotName", name="far", account="ann")
    back = await Remote(client, key).open()
    await back.play_out()
    back.hang_up()
    await until(lambda: not client.server.host.remotes.ready)
    with refused(Reason.BOT_NOT_FOUND, "name"):
        await admin.call("FreeBotName", name="far", account="bob")
    await admin.call("FreeBotName", name="far", account="ann")
    for name in ("far", "far@1.0.0", "greedy", "", "' OR 1=1 --"):
        with refused(Reason.BOT_NOT_FOUND, "name"):
            await admin.call("FreeBotName", name=name, account="ann")
    taken = await Remote(client, other).open()
    assert taken.welcome.account == "bob"
    assert not taken.of("match_over")
    with refused(Reason.BOT_NAME_TAKEN, "hello.name"):
        await Remote(client, key).open()


async def test_a_freed_name_makes_room_for_another_and_stays_free_after_a_restart(
    start: Any, admin: Admin, tmp_path: Path
) -> None:
    key, other = await admin.new_key(), await admin.new_key("bob")
    await stop(admin.client)
    client: Client = await start(max_bot_names=1, admin_listen="127.0.0.1:0")
    bot = await Remote(client, key, name="one").open()
    with refused(Reason.TOO_MANY_NAMES, "hello.name"):
        await Remote(client, key, name="two").open()
    bot.hang_up()
    await until(lambda: not client.server.host.remotes.ready)
    operator = Admin(client, tmp_path)
    await operator.call("FreeBotName", name="one", account="ann")
    await operator.channel.close()
    await Remote(client, key, name="two").open()
    await stop(client)
    again: Client = await start(max_bot_names=1)
    await Remote(again, other, name="one").open()
    with refused(Reason.TOO_MANY_NAMES, "hello.name"):
        await Remote(again, key, name="three").open()
