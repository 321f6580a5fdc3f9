"""Whose a name is while a tournament is still to be played by a bot of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import stop
from tests.server.remotes import Admin, Remote
from tests.server.tables import refused, until
from tests.server.tournaments.callers import Caller

from ronda_server.errors import Reason


@pytest.fixture
def to_start(start: Any) -> Any:
    """Start a server that admins can call, and that begins no tournament."""

    async def begun() -> Any:
        return await start(admin_listen="127.0.0.1:0", tournaments_at_once=0)

    return begun


async def test_a_name_is_not_freed_while_a_tournament_waits_for_a_bot_of_it(
    to_start: Any, tmp_path: Path
) -> None:
    client = await to_start()
    admin = Admin(client, tmp_path)
    ann, bob = Caller(client, await admin.new_key()), Caller(client, await admin.new_key("bob"))
    far = await Remote(client, ann.key).open()
    made = await bob.create(entrants=["greedy+far", "random"], players=4)  # whoever asks for it
    far.hang_up()
    for _ in range(2):  # and after a restart, with nobody connected since
        await until(lambda c=client: not c.server.host.remotes.ready)
        await until(lambda c=client: c.server.host.remotes.loaded)
        with refused(Reason.BOT_NAME_IN_USE, "name"):
            await admin.call("FreeBotName", name="far", account="ann")
        with refused(Reason.BOT_NAME_TAKEN, "hello.name"):
            await Remote(client, bob.key).open()
        await admin.channel.close()
        await stop(client)
        client = await to_start()
        admin, bob = Admin(client, tmp_path), Caller(client, bob.key)
    await until(lambda: client.server.host.remotes.loaded)
    await bob.cancel(made.id)
    await admin.call("FreeBotName", name="far", account="ann")
    taken = await Remote(client, bob.key).open()
    assert taken.welcome.account == "bob"
    taken.hang_up()
    await admin.channel.close()
