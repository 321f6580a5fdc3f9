"""Whose bot it is: keys, names, streams that take over, and room."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.server.conftest import Client, bearer, request_id
from tests.server.remotes import Admin, Remote
from tests.server.tables import Table, refused, seat_all, until

from ronda.v1 import bot_service_pb2 as pb
from ronda.v1 import match_service_pb2 as matches_pb
from ronda_core.rules import PRESETS
from ronda_server.errors import Reason
from ronda_server.identity import Keys, is_api_key

Ended = pb.ConnectionEnded


@pytest.fixture
def client(admin: Admin) -> Client:
    return admin.client


async def first(client: Client, metadata: Any, *messages: pb.ConnectRequest) -> Any:
    """Return the first message of a stream that says `messages`.

    grpc.aio puts "Internal error from Core" in the place of a refusal that comes while it writes:
    then it is asked again.
    """
    for _ in range(20):
        call = client.bots.Connect(metadata=metadata)
        try:
            for message in messages:
                await call.write(message)
            return await call.read()
        except grpc.aio.AioRpcError as error:
            if error.details() != "Internal error from Core":
                raise
    raise AssertionError("every answer was gRPC's own")


HELLO = pb.ConnectRequest(hello=pb.Hello(name="far", version="1.0.0"))


async def test_a_stream_without_a_key_is_refused(client: Client) -> None:
    with refused(Reason.TOKEN_REQUIRED):
        await first(client, (), HELLO)


async def test_a_stream_with_another_token_than_a_key_is_refused(
    admin: Admin, client: Client, key: str
) -> None:
    table = await seat_all(client)
    wrong = [
        table.owner,
        table.tokens[0],
        admin.key,
        key[:-1],
        key + "A",
        key.upper(),
        "rnd_k_" + "a" * 8 + "_" + "A" * 43 + "_000000",
        "x" * 2000,
    ]
    for token in wrong:
        with refused(Reason.BAD_TOKEN):
            await first(client, bearer(token), HELLO)
    for header in (key, f"bearer {key}", f"Basic {key}", f"Bearer {key} {key}"):
        with refused(Reason.BAD_TOKEN):
            await first(client, (("authorization", header),), HELLO)


async def test_a_key_that_is_sound_but_of_another_server_is_refused(
    client: Client, key: str
) -> None:
    swapped = "b" if key[6] != "b" else "c"
    assert not is_api_key(key[:6] + swapped + key[7:])  # its checksum says so
    _, other = Keys(b"k" * 32).api_key(b"request")
    assert is_api_key(other)
    with refused(Reason.BAD_TOKEN):
        await first(client, bearer(other), HELLO)


def test_a_key_has_the_form_that_scanners_find() -> None:
    key_id, key = Keys(b"k" * 32).api_key(b"request")
    assert re.fullmatch(rf"rnd_k_{key_id}_[A-Za-z0-9_-]{{43}}_[0-9A-Za-z]{{6}}", key)
    assert len(key_id) == 8


async def test_a_key_that_is_revoked_ends_its_streams_at_once_and_opens_none(
    admin: Admin, client: Client, key: str
) -> None:
    other = await admin.new_key()
    one = await Remote(client, key).open()
    two = await Remote(client, key, name="near").open()
    kept = await Remote(client, other, name="kept").open()
    await client.create("far", "greedy")
    await one.next("decision")
    revoked = await admin.call("RevokeKey", key_id=key.split("_")[2])
    assert revoked.key.revoke_time.ToMicroseconds() > 0
    assert [await one.ended(), await two.ended()] == [Ended.REASON_KEY_REVOKED] * 2
    with refused(Reason.BAD_TOKEN):
        await first(client, bearer(key), HELLO)
    await client.create("kept", "greedy", rules="arabic")
    assert await kept.play_out()
    again = await admin.call("RevokeKey", key_id=key.split("_")[2])
    assert again == revoked
    back = await Remote(client, other).open()  # the account's other key, and the match goes on
    assert await back.next("decision")


async def test_a_revoked_key_stays_revoked_after_a_restart(
    start: Any, admin: Admin, client: Client, key: str
) -> None:
    other = await admin.new_key("bob")
    await admin.call("RevokeKey", key_id=key.split("_")[2])
    await Remote(client, other).open()
    client.stopped = True
    await client.server.stop()
    after: Client = await start()
    with refused(Reason.BAD_TOKEN):
        await first(after, bearer(key), HELLO)
    await Remote(after, other).open()


@pytest.mark.parametrize("name", ["greedy", "careful", "random"])
async def test_a_name_of_an_installed_bot_is_taken(client: Client, key: str, name: str) -> None:
    hello = pb.Hello(name=name, version="9.9.9")
    with refused(Reason.BOT_NAME_TAKEN, "hello.name"):
        await first(client, bearer(key), pb.ConnectRequest(hello=hello))


async def test_the_first_account_that_used_a_name_keeps_it_in_every_version(
    start: Any, admin: Admin, client: Client, key: str
) -> None:
    bob = await admin.new_key("bob")
    bot = await Remote(client, key).open()
    bot.hang_up()
    for version in ("1.0.0", "2.0.0"):
        hello = pb.Hello(name="far", version=version)
        with refused(Reason.BOT_NAME_TAKEN, "hello.name"):
            await first(client, bearer(bob), pb.ConnectRequest(hello=hello))
    client.stopped = True
    await client.server.stop()
    after: Client = await start()
    with refused(Reason.BOT_NAME_TAKEN, "hello.name"):
        await first(after, bearer(bob), HELLO)
    assert (await Remote(after, key).open()).welcome.account == "ann"


async def test_a_second_stream_of_the_same_bot_takes_over_and_the_first_is_told(
    client: Client, key: str
) -> None:
    one = await Remote(client, key).open()
    await client.create("far", "greedy", rules="arabic")
    decision = await one.next("decision")
    two = await Remote(client, key).open()
    assert await one.ended() == Ended.REASON_TAKEN_OVER
    again = await two.next("decision")
    assert again.decision_id == decision.decision_id
    assert again.deadline == decision.deadline
    started = two.of("match_started")[0]
    started.sequence = one.of("match_started")[0].sequence  # more has happened since
    assert started == one.of("match_started")[0]
    await two.decide(again)
    assert await two.play_out()


async def test_a_bot_that_reconnects_is_told_every_match_again_and_no_clock_is_set_back(
    client: Client, key: str
) -> None:
    one = await Remote(client, key).open()
    for _ in range(3):
        await client.create("far", "greedy", rules="arabic")
    decisions = [await one.next("decision") for _ in range(3)]
    one.hang_up()
    await until(lambda: not client.server.host.remotes.ready)
    two = await Remote(client, key).open()
    again = [await two.next("decision") for _ in range(3)]
    assert {one.decision_id: one.deadline.ToMicroseconds() for one in again} == {
        one.decision_id: one.deadline.ToMicroseconds() for one in decisions
    }
    for decision in again:
        await two.decide(decision)
    assert len(await two.play_out(3)) == 3


async def test_two_versions_of_one_bot_are_two_bots(client: Client, key: str) -> None:
    old = await Remote(client, key, version="1.0.0").open()
    new = await Remote(client, key, version="1.1.0").open()
    await client.create("far@1.0.0", "far@1.1.0", rules="arabic")
    assert len(await asyncio.gather(old.play_out(), new.play_out())) == 2


async def test_a_stream_that_was_taken_over_answers_nothing_any_more(
    client: Client, key: str
) -> None:
    one = await Remote(client, key).open()
    created = await client.create("far", "greedy", rules="arabic")
    decision = await one.next("decision")
    two = await Remote(client, key).open()
    assert await one.ended() == Ended.REASON_TAKEN_OVER
    with pytest.raises((grpc.aio.AioRpcError, asyncio.InvalidStateError)):
        await one.decide(decision)
    again = await two.next("decision")
    assert (await Table(client, created).game()).sequence == decision.view.sequence
    await two.decide(again)
    assert await two.play_out()


BAD_HELLOS: dict[str, tuple[dict[str, Any], str]] = {
    "no name": ({"name": ""}, "hello.name"),
    "a long name": ({"name": "x" * 65}, "hello.name"),
    "a name with a dot": ({"name": "a.b"}, "hello.name"),
    "a name with an at": ({"name": "far@1"}, "hello.name"),
    "a name in Arabic": ({"name": "بعيد"}, "hello.name"),
    "a name with a line": ({"name": "far\n"}, "hello.name"),
    "no version": ({"version": ""}, "hello.version"),
    "a version with an at": ({"version": "1@2"}, "hello.version"),
    "a long description": ({"description": "x" * 201}, "hello.description"),
    "a description that moves a cursor": ({"description": "\x1b[2J"}, "hello.description"),
    "many presets": ({"plays": [pb.Playable(rules="cafe")] * 17}, "hello.plays"),
    "a long preset": ({"plays": [pb.Playable(rules="x" * 65)]}, "hello.plays"),
}


@pytest.mark.parametrize("kind", BAD_HELLOS)
async def test_a_hello_that_no_bot_may_say_is_refused(client: Client, key: str, kind: str) -> None:
    fields, field = BAD_HELLOS[kind]
    hello = pb.Hello(**{"name": "far", "version": "1.0.0"} | fields)
    with refused(Reason.REQUEST_INVALID, field):
        await first(client, bearer(key), pb.ConnectRequest(hello=hello))


@pytest.mark.parametrize(
    "message", [pb.ConnectRequest(ready=pb.Ready()), pb.ConnectRequest(answer=pb.Answer())]
)
async def test_a_stream_that_does_not_begin_with_hello_is_refused(
    client: Client, key: str, message: pb.ConnectRequest
) -> None:
    with refused(Reason.REQUEST_INVALID, "hello"):
        await first(client, bearer(key), message)


async def test_a_stream_that_says_nothing_is_refused_for_now_and_one_that_never_will_for_good(
    client: Client, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ronda_server.services.bots._HELLO_SECONDS", 0.01)
    with refused(Reason.HELLO_TIMEOUT) as refusal:
        await first(client, bearer(key))
    assert refusal.error.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    call = client.bots.Connect(metadata=bearer(key))
    await call.done_writing()
    with refused(Reason.REQUEST_INVALID, "hello"):
        await call.read()


async def test_a_second_hello_ends_the_stream(client: Client, key: str) -> None:
    bot = await Remote(client, key).open()
    await bot.call.write(HELLO)
    with refused(Reason.REQUEST_INVALID, "message"):
        await bot.next("ended")


async def test_a_bot_is_not_seated_before_it_is_ready(client: Client, key: str) -> None:
    bot = await Remote(client, key).open(ready=False)
    with refused(Reason.BOT_NOT_FOUND, "seats"):
        await client.create("far", "greedy")
    await bot.be_ready()
    assert (await client.create("far", "greedy")).match.seats[0].identity == "far@1.0.0"


async def test_a_bot_has_no_more_seats_than_it_wants_and_new_ones_when_a_match_is_over(
    client: Client, key: str
) -> None:
    bot = await Remote(client, key, max_seats=3).open()
    assert bot.welcome.max_seats == 3
    await client.create("far", "far", rules="arabic")
    with refused(Reason.TOO_MANY_MATCHES) as refusal:
        await client.create("far", "far", rules="arabic")
    assert refusal.info.metadata["limit"] == "bot_seats"
    assert "seats" in str(refusal.error.details())
    assert refusal.retry_seconds > 0
    await client.create("far", "greedy", rules="arabic")
    await bot.play_out(3)
    await client.create("far", "far", rules="arabic")


async def test_a_server_gives_no_more_seats_than_it_may(start: Any, tmp_path: Path) -> None:
    client = await start(admin_listen="127.0.0.1:0", max_bot_seats=2, max_bots=1)
    admin = Admin(client, tmp_path)
    key = await admin.new_key()
    bot = await Remote(client, key, max_seats=100).open()
    assert bot.welcome.max_seats == 2
    with refused(Reason.TOO_MANY_STREAMS) as refusal:
        await first(client, bearer(key), pb.ConnectRequest(hello=pb.Hello(name="b", version="1")))
    assert refusal.info.metadata["limit"] == "bots"
    assert "remote bots" in str(refusal.error.details())
    again = await Remote(client, key).open()  # to take over needs no more room
    assert await bot.ended() == Ended.REASON_TAKEN_OVER
    again.hang_up()
    await until(lambda: not client.server.host.remotes.ready)
    await Remote(client, key, name="b").open()
    await admin.channel.close()


async def test_one_account_connects_so_many_bots_and_leaves_room_for_others(
    start: Any, tmp_path: Path
) -> None:
    client = await start(admin_listen="127.0.0.1:0", max_account_bots=2, max_bots=3)
    admin = Admin(client, tmp_path)
    ann, bob = await admin.new_key("ann"), await admin.new_key("bob")
    for version in ("1", "2"):
        await Remote(client, ann, version=version).open()
    with refused(Reason.TOO_MANY_STREAMS) as refusal:
        await first(client, bearer(ann), pb.ConnectRequest(hello=pb.Hello(name="far", version="3")))
    assert refusal.info.metadata["limit"] == "account_bots"
    await Remote(client, ann, version="2").open()  # to take over needs no more room
    await Remote(client, bob, name="near").open()
    await admin.channel.close()


async def test_a_revoked_key_frees_its_places_though_nobody_reads(
    start: Any, tmp_path: Path
) -> None:
    client = await start(admin_listen="127.0.0.1:0", max_bots=1)
    admin = Admin(client, tmp_path)
    ann, bob = await admin.new_key("ann"), await admin.new_key("bob")
    await Remote(client, ann).open()  # and it reads no more
    await admin.call("RevokeKey", key_id=ann.split("_")[2])
    assert not client.server.host.remotes.ready
    await Remote(client, bob, name="near").open()
    await admin.channel.close()


@pytest.mark.parametrize(
    ("plays", "fit"),
    [
        ([], {("cafe", 2), ("cafe", 3), ("arabic", 2), ("playtash", 4)}),
        ([pb.Playable(rules="cafe")], {("cafe", 2), ("cafe", 3)}),
        ([pb.Playable(rules="cafe", players=[3])], {("cafe", 3)}),
        (
            [pb.Playable(rules="chess"), pb.Playable(rules="arabic", players=[2, 9])],
            {("arabic", 2)},
        ),
    ],
)
async def test_a_bot_is_seated_where_it_plays_and_nowhere_else(
    client: Client, key: str, plays: list[pb.Playable], fit: set[tuple[str, int]]
) -> None:
    await Remote(client, key, plays=plays).open()
    for rules, players in [("cafe", 2), ("cafe", 3), ("arabic", 2), ("playtash", 4)]:
        assert players in PRESETS[rules].players
        seats = ["far", *["greedy"] * (players - 1)]
        if (rules, players) in fit:
            await client.create(*seats, rules=rules)
        else:
            with refused(Reason.BOT_DECLINES, "seats"):
                await client.create(*seats, rules=rules)


async def test_a_match_that_was_made_is_answered_again_when_its_bot_has_left(
    client: Client, key: str
) -> None:
    bot = await Remote(client, key).open()
    same = request_id()
    made = await client.create("far", "open", request_id=same)
    bot.hang_up()
    await until(lambda: not client.server.host.remotes.ready)
    assert await client.create("far", "open", request_id=same) == made
    with refused(Reason.BOT_NOT_FOUND, "seats"):
        await client.create("far", "open")


async def test_a_rematch_seats_the_same_remote_bot(client: Client, key: str) -> None:
    bot = await Remote(client, key).open()
    table = Table(client, await client.create("far", "open", rules="arabic"))
    table.tokens[1] = (await client.join(table.id)).seat_token
    await table.act("Resign", 1)
    await bot.next("match_over")
    again = await table.act("Rematch", 1)
    started = await bot.next("match_started")
    assert (started.match_id, started.seat) == (again.match_id, 0)


async def test_a_match_of_a_remote_bot_that_never_began_is_not_told(
    client: Client, key: str
) -> None:
    bot = await Remote(client, key).open()
    table = Table(client, await client.create("far", "open"))
    await client.matches.CancelMatch(
        matches_pb.CancelMatchRequest(match_id=table.id, request_id=request_id()),
        metadata=bearer(table.owner),
    )
    await client.create("far", "greedy", rules="arabic")
    [over] = await bot.play_out()
    assert over.match_id != table.id
    assert {one.match_id for one in bot.of("match_started")} == {over.match_id}
