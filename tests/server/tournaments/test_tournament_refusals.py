"""What no tournament may be, and who may not do what."""

from __future__ import annotations

import os
from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration
from tests.server.conftest import Client, bearer, request_id
from tests.server.remotes import Remote
from tests.server.tables import refused
from tests.server.tournaments.callers import Caller, caller, spec

from ronda.v1 import bot_service_pb2 as bots_pb
from ronda.v1 import tournament_pb2 as t
from ronda.v1 import tournament_service_pb2 as pb
from ronda_server.errors import Reason
from ronda_server.identity import ACCESS, Needs

S = t.TournamentSpec
METHODS = [path for path in ACCESS if path.startswith("/ronda.v1.TournamentService/")]
NONE = "t-none"
NAN = float("nan")


def _clock(seconds: int = 0, nanos: int = 0, bank: int = 0) -> t.TournamentClock:
    return t.TournamentClock(
        per_decision=Duration(seconds=seconds, nanos=nanos), bank=Duration(seconds=bank)
    )


@pytest.fixture
async def ann(start: Any) -> Caller:
    return await caller(await start(tournaments_at_once=0, max_tournament_games=1000))


BAD = {
    "no such preset": ({"rules": "chess"}, Reason.BAD_RULES, "rules"),
    "no players": ({"players": 0}, Reason.BAD_SEAT_COUNT, "players"),
    "a preset for other players": ({"players": 3}, Reason.BAD_SEAT_COUNT, "players"),
    "no such target": ({"target": 7, "length": 0}, Reason.BAD_TARGET, "target"),
    "too many hands": ({"length": 101}, Reason.BAD_LENGTH, "length"),
    "nobody": ({"entrants": []}, Reason.BAD_TOURNAMENT, "entrants"),
    "one": ({"entrants": ["greedy"]}, Reason.BAD_TOURNAMENT, "entrants"),
    "one twice": ({"entrants": ["greedy", "greedy@1.0.0"]}, Reason.BAD_TOURNAMENT, "entrants"),
    "two hundred and one": ({"entrants": ["greedy"] * 201}, Reason.BAD_TOURNAMENT, "entrants"),
    "a name without end": ({"entrants": ["a" * 258, "b"]}, Reason.BAD_TOURNAMENT, "entrants"),
    "a team for two seats": (
        {"entrants": ["greedy+random", "careful"]},
        Reason.BAD_TOURNAMENT,
        "entrants",
    ),
    "a bot that is not there": ({"entrants": ["greedy", "x"]}, Reason.BOT_NOT_FOUND, "entrants"),
    "no such version": ({"entrants": ["greedy@9", "random"]}, Reason.BOT_NOT_FOUND, "entrants"),
    "no such format": ({"format": 99}, Reason.BAD_TOURNAMENT, "format"),
    "a list without pairings": ({"format": S.FORMAT_LIST}, Reason.BAD_TOURNAMENT, "pairings"),
    "pairings without a list": (
        {"pairings": [t.Pairing(entrants=[0, 1])]},
        Reason.BAD_TOURNAMENT,
        "pairings",
    ),
    "a pairing of nobody": (
        {"format": S.FORMAT_LIST, "pairings": [t.Pairing(entrants=[0, 3])]},
        Reason.BAD_TOURNAMENT,
        "pairings",
    ),
    "a pairing of one": (
        {"format": S.FORMAT_LIST, "pairings": [t.Pairing(entrants=[1, 1])]},
        Reason.BAD_TOURNAMENT,
        "pairings",
    ),
    "a gauntlet of all": (
        {"format": S.FORMAT_GAUNTLET, "challengers": 3},
        Reason.BAD_TOURNAMENT,
        "challengers",
    ),
    "too many rounds": (
        {"format": S.FORMAT_SWISS, "rounds": 1001},
        Reason.BAD_TOURNAMENT,
        "rounds",
    ),
    "a name that is none": ({"name": "a b"}, Reason.BAD_TOURNAMENT, "name"),
    "no time": ({"clock": _clock()}, Reason.BAD_TOURNAMENT, "clock"),
    "time that is negative": ({"clock": _clock(-1)}, Reason.BAD_TOURNAMENT, "clock"),
    "two hours": ({"clock": _clock(7200)}, Reason.BAD_TOURNAMENT, "clock"),
    "a bank of two days": ({"clock": _clock(1, bank=172_800)}, Reason.BAD_TOURNAMENT, "clock"),
    "a precision that is none": (
        {"stop": t.StopRule(precision=NAN)},
        Reason.BAD_TOURNAMENT,
        "stop",
    ),
    "a precision below zero": (
        {"stop": t.StopRule(precision=-1)},
        Reason.BAD_TOURNAMENT,
        "stop",
    ),
    "a test of three": ({"stop": t.StopRule(sequential=0.05)}, Reason.BAD_TOURNAMENT, "stop"),
    "two rules": (
        {"entrants": ["greedy", "random"], "stop": t.StopRule(sequential=0.05, precision=1)},
        Reason.BAD_TOURNAMENT,
        "stop",
    ),
    "rated without a sandbox": ({"rated": True}, Reason.SANDBOX_MISSING, "rated"),
    "too many games": ({"blocks": 167}, Reason.TOURNAMENT_TOO_LARGE, "blocks"),
    "too many games of a knockout": (
        {"format": S.FORMAT_KNOCKOUT, "blocks": 248},
        Reason.TOURNAMENT_TOO_LARGE,
        "blocks",
    ),
}


async def test_what_no_tournament_may_be_is_refused_with_its_field(ann: Caller) -> None:
    for name, (fields, reason, field) in BAD.items():
        try:
            with refused(reason, f"spec.{field}"):
                await ann.create(**fields)
        except BaseException as problem:
            problem.add_note(name)
            raise
    page = await ann.stub.ListTournaments(pb.ListTournamentsRequest())
    assert not page.tournaments


async def test_what_is_at_the_limits_is_taken(ann: Caller) -> None:
    made = await ann.create(blocks=166, clock=_clock(0, 1_000_000, 86_400))
    assert made.spec.clock == _clock(0, 1_000_000, 86_400)
    assert made.progress.planned_blocks == 3 * 166
    made = await ann.create(format=S.FORMAT_KNOCKOUT, blocks=247)
    assert not made.progress.HasField("planned_blocks")
    pairings = [t.Pairing(entrants=[2, 0]), t.Pairing(entrants=[0, 1])]
    made = await ann.create(format=S.FORMAT_LIST, pairings=pairings, stop=t.StopRule(precision=0.5))
    assert list(made.spec.pairings) == pairings
    assert made.spec.stop == t.StopRule(precision=0.5)


async def test_a_remote_bot_is_asked_for_while_it_is_there_and_has_a_clock(start: Any) -> None:
    client = await start(tournaments_at_once=0, max_account_tournaments=5)
    ann = await caller(client)
    with refused(Reason.BOT_NOT_FOUND, "spec.entrants"):
        await ann.create(entrants=["greedy", "far"])
    plays = [bots_pb.Playable(rules="playtash", players=[2])]
    remote = await Remote(client, ann.key, plays=plays).open(ready=False)
    with refused(Reason.BOT_NOT_FOUND, "spec.entrants"):
        await ann.create(entrants=["greedy", "far"])
    await remote.be_ready()
    for entrants in (["greedy", "far@2.0.0"], ["greedy", "far+near"]):
        with refused(Reason.BOT_NOT_FOUND, "spec.entrants"):
            await ann.create(entrants=entrants, players=4)
    with refused(Reason.BOT_DECLINES, "spec.entrants"):
        await ann.create(entrants=["greedy", "far"], rules="cafe")
    few = await Remote(client, ann.key, name="few", max_seats=2).open()
    for entrants in (["few", "few+greedy"], ["few", "greedy", "few+random"]):
        with refused(Reason.BOT_DECLINES, "spec.entrants"):
            await ann.create(entrants=entrants, players=4)
    await ann.create(entrants=["few", "greedy", "random"], players=4)
    few.hang_up()
    for clock in (_clock(1, 0, 1), _clock(0, 99_000_000), _clock(60, 1_000), _clock(3600)):
        with refused(Reason.BAD_TOURNAMENT, "spec.clock"):
            await ann.create(entrants=["greedy", "far"], clock=clock)
    made = await ann.create(entrants=["greedy", "far"])
    assert list(made.spec.entrants) == ["greedy@1.0.0", "far@1.0.0"]
    assert made.spec.clock == _clock(10)
    made = await ann.create(entrants=["greedy", "far@1.0.0"], clock=_clock(0, 100_000_000))
    assert made.spec.clock == _clock(0, 100_000_000)
    made = await ann.create(entrants=["greedy", "far@1.0.0"], clock=_clock(60))
    assert made.spec.clock == _clock(60)
    made = await ann.create(entrants=["greedy", "random"])
    assert not made.spec.HasField("clock")
    remote.hang_up()


async def test_a_request_without_an_id_or_for_nothing_is_refused(ann: Caller) -> None:
    with refused(Reason.BAD_REQUEST_ID, "request_id"):
        await ann.create(id_="1")
    for id_ in (NONE, "", "../x", "m" * 65):
        with refused(Reason.TOURNAMENT_NOT_FOUND):
            await ann.cancel(id_)
        with refused(Reason.TOURNAMENT_NOT_FOUND):
            await ann.get(id_)
        with refused(Reason.TOURNAMENT_NOT_FOUND):
            await ann.standings(id_)
        with refused(Reason.TOURNAMENT_NOT_FOUND):
            await ann.games(id_)
        with refused(Reason.TOURNAMENT_NOT_FOUND):
            await ann.watch(id_).read()


async def test_pages_of_another_list_are_refused(ann: Caller) -> None:
    made, other = await ann.create(), await ann.create()
    page = await ann.stub.ListTournaments(pb.ListTournamentsRequest(page_size=1))
    token = page.next_page_token
    assert token
    for fields in ({"page_token": token}, {"page_token": "x"}):
        with refused(Reason.BAD_PAGE_TOKEN, "page_token"):
            await ann.stub.ListGames(pb.ListGamesRequest(tournament_id=made.id, **fields))
    with refused(Reason.BAD_PAGE_SIZE, "page_size"):
        await ann.stub.ListGames(pb.ListGamesRequest(tournament_id=other.id, page_size=-1))
    with refused(Reason.BAD_PAGE_SIZE, "page_size"):
        await ann.stub.ListTournaments(pb.ListTournamentsRequest(page_size=-1))


def _request(method: str, tournament: str) -> Any:
    name = method.rpartition("/")[2]
    kind = getattr(pb, f"{name}Request")
    fields: dict[str, Any] = {}
    if "request_id" in kind.DESCRIPTOR.fields_by_name:
        fields["request_id"] = request_id()
    if name == "CreateTournament":
        fields["spec"] = spec()
    elif "tournament_id" in kind.DESCRIPTOR.fields_by_name:
        fields["tournament_id"] = tournament
    return kind(**fields)


async def _call(ann: Caller, method: str, tournament: str, token: str) -> None:
    """Call a method; of a stream the first message is enough."""
    made = getattr(ann.stub, method.rpartition("/")[2])
    called = made(_request(method, tournament), metadata=bearer(token))
    if hasattr(called, "read"):
        await called.read()
        called.cancel()
    else:
        await called


@pytest.mark.parametrize("method", METHODS)
async def test_each_method_asks_of_its_caller_what_the_table_of_rights_says(
    ann: Caller, method: str
) -> None:
    made = await ann.create()
    _, revoked = await ann.client.server.accounts.create("ann", "old", os.urandom(16))
    key = next(key for key in ann.client.server.accounts.keys if key.label == "old")
    await ann.client.server.accounts.revoke(key.id)
    match = await ann.client.create("open", "open")
    if ACCESS[method] is Needs.NOTHING:
        for token in ("", ann.key, revoked, "nonsense"):
            await _call(ann, method, made.id, token)
        return
    with refused(Reason.TOKEN_REQUIRED):
        await _call(ann, method, made.id, "")
    for token in (revoked, "nonsense", match.owner_token, ann.key[:-1]):
        with refused(Reason.BAD_TOKEN):
            await _call(ann, method, made.id, token)
    assert (await ann.get(made.id)).state == t.Tournament.STATE_WAITING
    await _call(ann, method, made.id, ann.key)


async def test_a_tournament_is_cancelled_by_its_account_alone(ann: Caller) -> None:
    bob = await caller(ann.client, "bob")
    made = await ann.create()
    with refused(Reason.BAD_TOKEN):
        await bob.cancel(made.id)
    assert (await ann.get(made.id)).state == t.Tournament.STATE_WAITING
    another_key = await caller(ann.client, "ann")
    assert (await another_key.cancel(made.id)).state == t.Tournament.STATE_CANCELLED


async def test_open_tournaments_are_limited_by_account_and_by_server(start: Any) -> None:
    client: Client = await start(
        tournaments_at_once=0, max_tournaments=3, max_account_tournaments=2
    )
    ann, bob = await caller(client, "ann"), await caller(client, "bob")
    mine = [await ann.create() for _ in range(2)]
    with refused(Reason.TOO_MANY_TOURNAMENTS) as why:
        await ann.create()
    assert why.info.metadata["limit"] == "account_tournaments"
    await bob.create()
    with refused(Reason.TOO_MANY_TOURNAMENTS) as why:
        await bob.create()
    assert why.info.metadata["limit"] == "tournaments"
    await ann.cancel(mine[0].id)
    await bob.create()


async def test_a_server_that_drains_takes_no_tournament_and_cancels_none(ann: Caller) -> None:
    made = await ann.create()
    ann.client.server.host.drain()
    with refused(Reason.DRAINING):
        await ann.create()
    with refused(Reason.DRAINING):
        await ann.cancel(made.id)
