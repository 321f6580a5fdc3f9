"""Whose tournaments a server plays when it cannot play all at once."""

from __future__ import annotations

from typing import Any

from tests.server.tournaments.callers import LONG, STATE, Caller, caller, counts, read_until


async def begun(who: Caller, tournament: str) -> None:
    """Return when a tournament is played."""
    stream = who.watch(tournament)
    await read_until(stream, lambda one: one.standings.state == STATE.STATE_RUNNING or counts(one))
    stream.cancel()


async def states(who: Caller, *tournaments: str) -> list[int]:
    return [(await who.get(one)).state for one in tournaments]


async def test_accounts_take_turns_whoever_came_first(start: Any) -> None:
    client = await start(tournaments_at_once=1)
    ann, bob = await caller(client, "ann"), await caller(client, "bob")
    first, second, third = [(await ann.create(blocks=LONG)).id for _ in range(3)]
    other = (await bob.create(blocks=LONG)).id
    await begun(ann, first)
    await ann.cancel(first)
    await begun(bob, other)
    assert await states(ann, second, third) == [STATE.STATE_WAITING] * 2
    again = (await bob.create(blocks=LONG)).id
    await bob.cancel(other)
    await begun(ann, second)
    assert await states(ann, third, again) == [STATE.STATE_WAITING] * 2


async def test_an_account_with_several_makes_room_for_one_that_has_none(start: Any) -> None:
    client = await start(tournaments_at_once=2)
    ann, bob = await caller(client, "ann"), await caller(client, "bob")
    older, younger = [(await ann.create(blocks=LONG)).id for _ in range(2)]
    for one in (older, younger):
        await begun(ann, one)
    short = (await bob.create(blocks=2)).id
    await begun(bob, short)
    await bob.watched(short)
    assert (await bob.get(short)).state == STATE.STATE_FINISHED
    await begun(ann, younger)  # it goes on
    one = await client.server.hall.find(younger)
    assert not one.failures
    assert (await ann.get(older)).state == STATE.STATE_RUNNING
