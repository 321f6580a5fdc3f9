"""What a request for a tournament of remote bots costs the server, and what it is when repeated."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.server.conftest import request_id
from tests.server.remotes import Remote
from tests.server.tables import refused, until
from tests.server.tournaments.callers import caller

from ronda.v1 import tournament_pb2 as t
from ronda_bots.registry import Registry
from ronda_server.errors import Reason
from ronda_server.remote import Remotes

LIST = t.TournamentSpec.FORMAT_LIST


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count how often each bot is looked up, by the name that is asked for."""
    count: Counter[str] = Counter()
    find_remote, find_installed = Remotes.find, Registry.find

    def remote(self: Remotes, wanted: str) -> Any:
        count[wanted] += 1
        return find_remote(self, wanted)

    def installed(self: Registry, wanted: str) -> Any:
        count[f"installed {wanted}"] += 1
        return find_installed(self, wanted)

    monkeypatch.setattr(Remotes, "find", remote)
    monkeypatch.setattr(Registry, "find", installed)
    return count


async def test_each_bot_is_looked_up_once_however_many_pairings_and_teams_name_it(
    start: Any, looked_up: Counter[str]
) -> None:
    client = await start(tournaments_at_once=0)
    ann = await caller(client)
    remote = await Remote(client, ann.key).open()
    pairings = [t.Pairing(entrants=[0, 1]), t.Pairing(entrants=[2, 0])] * 1000
    for players, entrants in (
        (2, ["far", "greedy", "random"]),
        (4, ["far", "far+greedy", "greedy+random"]),
    ):
        looked_up.clear()
        made = await ann.create(
            entrants=entrants, players=players, format=LIST, pairings=pairings, blocks=1
        )
        assert list(made.spec.pairings) == pairings
        assert looked_up["far"] == 1
        assert max(looked_up.values()) == 1
    remote.hang_up()


async def test_what_is_refused_by_its_numbers_or_for_want_of_room_looks_up_no_bot(
    start: Any, looked_up: Counter[str]
) -> None:
    client = await start(tournaments_at_once=0, max_account_tournaments=1)
    ann = await caller(client)
    remote = await Remote(client, ann.key).open()
    pairings = [t.Pairing(entrants=[0, 1])] * 1000
    wrong = [*pairings, t.Pairing(entrants=[0, 2])]
    with refused(Reason.BAD_TOURNAMENT, "spec.pairings"):
        await ann.create(entrants=["far", "greedy"], format=LIST, pairings=wrong)
    with refused(Reason.BAD_TOURNAMENT, "spec.entrants"):
        await ann.create(entrants=["far"] * 201)
    assert not looked_up
    await ann.create(entrants=["random", "greedy"])
    looked_up.clear()
    with refused(Reason.TOO_MANY_TOURNAMENTS):
        await ann.create(entrants=["far", "greedy"], format=LIST, pairings=pairings)
    assert not looked_up
    remote.hang_up()


async def test_a_bot_is_found_by_its_name_without_going_through_all_of_them(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = await start()
    ann = await caller(client)
    far = [
        await Remote(client, ann.key, version=version).open()
        for version in ("1.9.0", "1.10.0", "1.10.0rc1")
    ]
    near = await Remote(client, ann.key, name="near").open()
    remotes = client.server.host.remotes
    with monkeypatch.context() as without:
        without.delattr(Remotes, "here")
        found = {name: remotes.find(name) for name in ("far", "far@1.9.0", "near", "far@2", "x")}
    told = {name: bot and bot.identity for name, bot in found.items()}
    assert told == {
        "far": "far@1.10.0",
        "far@1.9.0": "far@1.9.0",
        "near": "near@1.0.0",
        "far@2": None,
        "x": None,
    }
    far[1].hang_up()
    await until(lambda: len(remotes.ready) == 3)
    newest = remotes.find("far")
    assert newest
    assert newest.identity == "far@1.10.0rc1"
    for one in (far[0], far[2], near):
        one.hang_up()
    await until(lambda: not remotes.ready)
    assert remotes.find("far") is None
    await until(lambda: remotes.forget("far"))
    assert await Remote(client, ann.key, version="2.0.0").open()
    back = remotes.find("far")
    assert back
    assert back.identity == "far@2.0.0"


async def test_a_tournament_is_the_same_for_the_same_request_when_its_bot_is_away(
    start: Any,
) -> None:
    client = await start(tournaments_at_once=0, max_account_tournaments=1)
    ann = await caller(client)
    remote = await Remote(client, ann.key).open()
    asked = request_id()
    made = await ann.create(id_=asked, entrants=["far", "greedy"])
    remote.hang_up()
    await until(lambda: not client.server.host.remotes.ready)
    assert await ann.create(id_=asked, entrants=["far", "greedy"]) == made
    with refused(Reason.REQUEST_ID_REUSED):
        await ann.create(id_=asked, entrants=["far", "random"])
    await ann.cancel(made.id)
    with refused(Reason.BOT_NOT_FOUND, "spec.entrants"):
        await ann.create(entrants=["far", "greedy"])
