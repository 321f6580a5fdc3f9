"""What no server starts with, and that it lets go of what it had."""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Callable
from typing import Any

import pytest
from tests.server.probing import SERVING, check
from tests.server.scraping import scrape
from tests.server.tables import until

from ronda.v1 import match_pb2
from ronda_server import app
from ronda_server.errors import ConfigError
from ronda_server.identity import ACCESS

LISTENERS = ["listen", "health_listen", "metrics_listen"]


# What no server starts with.


def test_the_table_of_rights_names_every_method_that_is_served_and_no_other() -> None:
    app.check_access()
    players = (
        app.match_service_pb2,
        app.bot_service_pb2,
        app.tournament_service_pb2,
        app.ladder_service_pb2,
    )
    ours = {
        f"/{service.full_name}/{method.name}"
        for module in (*players, app.admin_service_pb2)
        for service in module.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
    assert {path for path in ACCESS if path.startswith("/ronda")} == ours


@pytest.mark.parametrize("path", [path for path in ACCESS if path.startswith("/ronda")])
async def test_a_method_without_an_entry_in_the_table_of_rights_stops_the_start(
    start: Any, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    with monkeypatch.context() as patch:
        patch.delitem(ACCESS, path)
        with pytest.raises(ConfigError, match=path.rsplit("/", 1)[1]):
            await start()
    assert (await (await start()).create("open", "open")).match.id


@pytest.mark.parametrize("listener", LISTENERS)
@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", ":0", "192.0.2.1:0", "example.org:0"])
async def test_a_listener_beyond_loopback_without_tls_is_refused(
    start: Any, listener: str, address: str
) -> None:
    with pytest.raises(ConfigError, match="loopback"):
        await start(**{listener: address})


async def test_a_listener_beyond_loopback_is_taken_when_it_is_said_to_be_plaintext(
    start: Any,
) -> None:
    client = await start(**dict.fromkeys(LISTENERS, "0.0.0.0:0"), allow_plaintext=True)
    assert all(client.server.addresses[one].startswith("0.0.0.0:") for one in LISTENERS)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.7.7.7"])
async def test_a_loopback_listener_by_any_of_its_names_is_taken(start: Any, host: str) -> None:
    if host == "[::1]" and not _has_ipv6():
        pytest.skip("this machine has no IPv6")
    client = await start(**dict.fromkeys(LISTENERS, f"{host}:0"))
    assert (await client.create("open", "open")).match.id
    assert all(
        re.fullmatch(rf"{re.escape(host)}:\d+", client.server.addresses[one]) for one in LISTENERS
    )
    assert await scrape(client)


def _has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.parametrize("listener", LISTENERS)
@pytest.mark.parametrize(
    "address", ["", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:x"]
)
async def test_an_address_that_is_none_is_refused(start: Any, listener: str, address: str) -> None:
    with pytest.raises(ConfigError):
        await start(**{listener: address})


@pytest.mark.parametrize("listener", LISTENERS)
async def test_a_port_that_is_in_use_is_named_and_nothing_is_left_behind(
    start: Any, listener: str
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        address = f"127.0.0.1:{other.getsockname()[1]}"
        with pytest.raises(ConfigError, match=re.escape(address)):
            await start(**{listener: address})
    client = await start(**{listener: address})
    assert (await client.create("open", "open")).match.id


@pytest.mark.parametrize("listener", LISTENERS)
async def test_two_servers_never_share_a_port(start: Any, tmp_path: Any, listener: str) -> None:
    first = await start()
    address = first.server.addresses[listener]
    with pytest.raises(ConfigError, match=re.escape(address)):
        await start(**{listener: address}, database=str(tmp_path / "other.db"))
    for _ in range(5):
        assert await check(first.channel, "") == SERVING
        assert await scrape(first)


async def test_a_server_that_could_not_start_lets_go_of_what_it_had(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = len(asyncio.all_tasks())

    async def failing(*_: object) -> None:
        raise OSError("the probe cannot start")

    steps: list[Callable[[pytest.MonkeyPatch], None]] = [
        lambda patch: patch.setattr(app.Promises, "open", failing),
        lambda patch: patch.setattr(app.Host, "open", failing),
        lambda patch: patch.setattr(app.Server, "_listen", failing),
        lambda patch: patch.setattr(app.SqliteLog, "open", failing),
    ]
    for step in steps:
        with monkeypatch.context() as patch, pytest.raises(OSError, match="cannot start"):
            step(patch)
            await start()
    await until(lambda: len(asyncio.all_tasks()) <= tasks)
    assert (await (await start()).create("open", "open")).match.state == (
        match_pb2.Match.STATE_WAITING
    )
