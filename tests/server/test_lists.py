"""Lists: pages that neither lose nor repeat, and commitments that nobody can drop unseen."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.server.conftest import Client, stop
from tests.server.tables import Table, refused, seat_all

from ronda.v1 import bot_service_pb2, match_pb2
from ronda.v1 import match_service_pb2 as pb
from ronda_bots.registry import Registry
from ronda_core import fair
from ronda_core.record import read
from ronda_server import fold
from ronda_server.errors import Reason, ServiceError
from ronda_server.identity import Keys

State = match_pb2.Match
KEYS = Keys(b"k" * 32)


async def pages(ask: Callable[[str], Any], size: int) -> list[list[Any]]:
    """Return every page of a list, in order."""
    found: list[list[Any]] = []
    token = ""
    while token or not found:
        page = await ask(token)
        items = next(iter([*page.ListFields(), (None, [])]))[1]
        found.append([] if isinstance(items, str) else list(items))
        assert len(found[-1]) <= size
        token = page.next_page_token
    return found


def matches(client: Client, size: int, state: int = 0) -> Callable[[str], Any]:
    """Return what asks for a page of matches."""
    return lambda token: client.matches.ListMatches(
        pb.ListMatchesRequest(page_size=size, page_token=token, state=state)  # type: ignore[arg-type] # a number is what goes over the wire
    )


def commitments(client: Client, size: int) -> Callable[[str], Any]:
    """Return what asks for a page of commitments."""
    return lambda token: client.matches.ListCommitments(
        pb.ListCommitmentsRequest(page_size=size, page_token=token)
    )


def bots(client: Client, size: int) -> Callable[[str], Any]:
    """Return what asks for a page of bots."""
    return lambda token: client.bots.ListBots(
        bot_service_pb2.ListBotsRequest(page_size=size, page_token=token)
    )


LISTS = {"matches": matches, "commitments": commitments, "bots": bots}
each_list = pytest.mark.parametrize("ask", LISTS.values(), ids=LISTS)


async def all_commitments(client: Client) -> list[Any]:
    """Return the whole list of commitments."""
    return [entry for page in await pages(commitments(client, 200), 200) for entry in page]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8])
async def test_pages_of_matches_hold_each_match_once_the_newest_first(
    client: Client, size: int
) -> None:
    made = [(await client.create("open", "open")).match.id for _ in range(7)]
    listed = await pages(matches(client, size), size)
    assert [match.id for page in listed for match in page] == made[::-1]
    assert all(len(page) == size for page in listed[:-1])


async def test_a_match_made_between_two_pages_neither_moves_nor_repeats_the_others(
    client: Client,
) -> None:
    made = [(await client.create("open", "open")).match.id for _ in range(4)]
    first = await matches(client, 2)("")
    await client.create("open", "open")
    second = await matches(client, 2)(first.next_page_token)
    assert [match.id for match in (*first.matches, *second.matches)] == made[::-1]
    assert not second.next_page_token


@pytest.mark.parametrize("state", ["WAITING", "RUNNING", "FINISHED", "CANCELLED", "UNSPECIFIED"])
async def test_a_state_filters_the_matches_and_each_is_listed_as_get_match_tells_it(
    client: Client, state: str
) -> None:
    waiting = Table(client, await client.create("open", "open"))
    running, finished, cancelled = [await seat_all(client) for _ in range(3)]
    await finished.act("Resign", 0)
    await cancelled.act("CancelMatch", cancelled.owner)
    by_state = {
        "WAITING": [waiting],
        "RUNNING": [running],
        "FINISHED": [finished],
        "CANCELLED": [cancelled],
        "UNSPECIFIED": [cancelled, finished, running, waiting],
    }
    listed = await pages(matches(client, 3, getattr(State, f"STATE_{state}")), 3)
    expected = [await table.match() for table in by_state[state]]
    assert [match for page in listed for match in page] == expected


async def test_lists_are_the_same_after_a_restart(start: Any) -> None:
    before = await start()
    for _ in range(3):
        table = await seat_all(before)
        await table.act("Resign", 1)
    first = await matches(before, 2)("")
    told = [match for page in await pages(matches(before, 2), 2) for match in page]
    entries = await all_commitments(before)
    await stop(before)
    after = await start()
    assert [match for page in await pages(matches(after, 2), 2) for match in page] == told
    assert (await all_commitments(after))[: len(entries)] == entries
    second = await matches(after, 2)(first.next_page_token)  # a token outlives its server
    assert list(second.matches) == told[2:]


@each_list
@pytest.mark.parametrize("size", [-1, -(2**31)])
async def test_a_negative_page_size_is_refused(client: Client, ask: Any, size: int) -> None:
    with refused(Reason.BAD_PAGE_SIZE, "page_size"):
        await ask(client, size)("")


async def test_a_page_size_of_zero_means_fifty_and_of_many_two_hundred(
    client: Client,
) -> None:
    for _ in range(5):
        await client.server.host.log.submit(lambda _: None)
    listed = await commitments(client, 0)("")
    assert len(listed.commitments) == 50
    for _ in range(70):
        await client.create("open", "open")
    for _ in range(70):
        await client.create("open", "open")
    most = await commitments(client, 2**31 - 1)("")
    assert len(most.commitments) == len((await commitments(client, 200)("")).commitments)
    assert len((await matches(client, 2**31 - 1)("")).matches) == 140


@each_list
@pytest.mark.parametrize(
    "token", ["x", "AAAA", "A" * 512, "A" * 10_000, "!!!!", "é", "MQ==", "\0", "../..", " "]
)
async def test_a_page_token_that_was_never_given_is_refused(
    client: Client, ask: Any, token: str
) -> None:
    with refused(Reason.BAD_PAGE_TOKEN, "page_token"):
        await ask(client, 1)(token)


async def test_a_page_token_is_of_its_list_and_of_its_filter(client: Client) -> None:
    for _ in range(2):
        await client.create("open", "open")
    tokens = {name: (await ask(client, 1)("")).next_page_token for name, ask in LISTS.items()}
    assert all(tokens.values())
    for given_by, token in tokens.items():
        for asked, ask in LISTS.items():
            if asked == given_by:
                await ask(client, 1)(token)
            else:
                with refused(Reason.BAD_PAGE_TOKEN, "page_token"):
                    await ask(client, 1)(token)
    with refused(Reason.BAD_PAGE_TOKEN, "page_token"):
        await matches(client, 1, State.STATE_WAITING)(tokens["matches"])


async def test_a_page_token_of_another_server_is_refused(start: Any, tmp_path: Any) -> None:
    first = await start()
    second = await start(database=str(tmp_path / "other.db"))
    token = (await commitments(first, 1)("")).next_page_token
    with refused(Reason.BAD_PAGE_TOKEN, "page_token"):
        await commitments(second, 1)(token)


@given(st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_page_token_changed_in_one_place_is_refused(data: st.DataObject) -> None:
    token = KEYS.page("matches::12")
    at = data.draw(st.integers(0, len(token) - 1))
    kind = data.draw(st.sampled_from(["replace", "insert", "drop"]))
    letter = data.draw(st.characters(codec="ascii"))
    changed = {
        "replace": token[:at] + letter + token[at + 1 :],
        "insert": token[:at] + letter + token[at:],
        "drop": token[:at] + token[at + 1 :],
    }[kind]
    if changed != token:
        with pytest.raises(ServiceError) as refusal:
            KEYS.read_page(changed)
        assert refusal.value.reason is Reason.BAD_PAGE_TOKEN


@given(st.text(max_size=600))
@settings(max_examples=300, deadline=None)
def test_a_page_token_of_any_text_is_refused(text: str) -> None:
    with pytest.raises(ServiceError) as refusal:
        KEYS.read_page(text)
    assert refusal.value.reason is Reason.BAD_PAGE_TOKEN


@given(st.from_regex(r"[a-z]{1,20}:[a-z]{0,10}:[0-9]{1,15}", fullmatch=True))
def test_a_page_token_reads_back_and_fits_the_limit(text: str) -> None:
    token = KEYS.page(text)
    assert KEYS.read_page(token) == text
    assert len(token) <= 512
    assert text not in token


async def test_bots_are_listed_by_name_and_version_and_found_as_listed(
    start: Any, registry: Registry
) -> None:
    newer = [replace(bot, version="1.10.0") for bot in registry.bots]
    both = tuple(sorted([*registry.bots, *newer], key=lambda bot: bot.name))
    client = await start(Registry(both, ()))
    for size in (1, 2, 50):
        listed = [bot for page in await pages(bots(client, size), size) for bot in page]
        assert [(bot.name, bot.version) for bot in listed] == [
            (bot.name, bot.version) for bot in both
        ]
    for bot in listed:
        made = await client.create("open", f"{bot.name}@{bot.version}")
        assert made.match.seats[1].identity == f"{bot.name}@{bot.version}"
    assert (await client.create("open", "greedy")).match.seats[1].identity == "greedy@1.10.0"


async def test_a_long_description_of_a_bot_is_cut(start: Any, registry: Registry) -> None:
    wordy = replace(registry.bots[0], description="é" * 1000)
    client = await start(Registry((wordy,), ()))
    [[bot]] = await pages(bots(client, 1), 1)
    assert bot.description == "é" * 200


# Commitments.


def entry_hash(entry: Any) -> str:
    """Return the hash of an entry as the documents define it, written anew."""
    digest = hashlib.sha256()
    for part in (
        "ronda-fair/1/entry",
        str(entry.number),
        entry.scope,
        entry.commitment,
        entry.ending,
        entry.previous_hash,
    ):
        digest.update(len(part.encode()).to_bytes(2, "big") + part.encode())
    return digest.hexdigest()


def check_chain(entries: list[Any]) -> None:
    """Check that a list is whole and that nothing in it was changed."""
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    previous = "0" * 64
    for entry in entries:
        assert entry.previous_hash == previous
        assert entry.hash == entry_hash(entry)
        previous = entry.hash


async def test_the_commitments_are_a_chain_of_hashes_that_anyone_can_follow(
    client: Client,
) -> None:
    for ending in ("CancelMatch", "Resign"):
        table = await seat_all(client)
        await table.act(ending, 0 if ending == "Resign" else table.owner)
    for size in (1, 13, 200):
        entries = [entry for page in await pages(commitments(client, size), size) for entry in page]
        check_chain(entries)


async def test_every_match_takes_the_oldest_commitment_which_is_older_than_the_match(
    client: Client,
) -> None:
    for _ in range(4):
        before = await all_commitments(client)
        used = {match.id for page in await pages(matches(client, 200), 200) for match in page}
        unused = [entry for entry in before if not entry.ending and entry.scope not in used]
        created = (await client.create("open", "open")).match
        assert created.id == unused[0].scope
        assert created.commitment == unused[0].commitment


async def test_scopes_are_made_ahead_so_that_none_is_announced_for_the_match_that_asks(
    client: Client,
) -> None:
    for _ in range(150):
        announced = {entry.scope for entry in await all_commitments(client)}
        assert (await client.create("open", "open")).match.id in announced


async def test_how_a_match_ended_is_appended_once_and_nothing_else_changes(
    client: Client,
) -> None:
    tables = [await seat_all(client, "arabic") for _ in range(3)]
    before = await all_commitments(client)
    assert not any(entry.ending for entry in before)
    await tables[1].act("Resign", 0)
    await tables[0].act("CancelMatch", tables[0].owner)
    await tables[2].play_out()
    entries = await all_commitments(client)
    assert entries[: len(before)] == before
    ended = [(entry.scope, entry.ending) for entry in entries[len(before) :] if entry.ending]
    assert ended == [
        (tables[1].id, "forfeited"),
        (tables[0].id, "cancelled"),
        (tables[2].id, "finished"),
    ]
    check_chain(entries)


async def test_the_commitment_in_the_record_is_the_listed_one_and_the_master_opens_it(
    client: Client,
) -> None:
    table = await seat_all(client, "arabic")
    await table.play_out()
    got = await client.matches.GetRecord(pb.GetRecordRequest(match_id=table.id))
    record = read(got.record.decode())
    assert record.fair
    assert record.fair.master
    entries = [entry for entry in await all_commitments(client) if entry.scope == table.id]
    assert {entry.commitment for entry in entries} == {record.fair.commitment}
    assert [entry.ending for entry in entries] == ["", "finished"]
    assert fair.commitment(record.fair.master, table.id) == record.fair.commitment


async def test_the_list_goes_on_after_a_restart_and_unused_scopes_are_taken_in_order(
    start: Any,
) -> None:
    before = await start()
    first = (await before.create("open", "open")).match.id
    entries = await all_commitments(before)
    await stop(before)
    after = await start()
    assert await all_commitments(after) == entries
    second = (await after.create("open", "open")).match.id
    scopes = [entry.scope for entry in entries]
    assert scopes.index(second) == scopes.index(first) + 1
    check_chain(await all_commitments(after))


async def test_no_master_and_no_token_is_in_any_list(client: Client) -> None:
    table = await seat_all(client)
    master = (await table.game()).master
    told = b"".join(
        page.SerializeToString()
        for page in [
            await matches(client, 200)(""),
            await commitments(client, 200)(""),
            await bots(client, 200)(""),
        ]
    )
    secrets = [table.owner, *table.tokens.values(), master.hex()]
    assert not [secret for secret in secrets if secret.encode() in told]
    assert master not in told
    assert base64.b64encode(master) not in told


ENDINGS = ("hand", "forfeit", "cancelled", "cancelled before the deal", "ready, then cancelled")


async def _end(client: Client, ending: str, players: int) -> Table:
    if ending == "cancelled before the deal":
        table = Table(client, await client.create(*["open"] * players, rules="cafe"))
        table.tokens[0] = (await client.join(table.id, name="Amina")).seat_token
        await table.act("CancelMatch", table.owner)
        return table
    if ending == "ready, then cancelled":
        table = Table(client, await client.create(*["open"] * players, rules="cafe"))
        entropy = b"an entropy of its own"
        for seat in range(players):
            promise = fair.client_commitment(entropy, table.id, seat)
            joined = await client.join(table.id, seat=seat, client_commitment=promise)
            table.tokens[seat] = joined.seat_token
        await table.act("ReadySeat", 0, entropy=entropy)
        await table.act("CancelMatch", table.owner)
        return table
    table = await seat_all(client, "arabic" if ending == "hand" else "cafe", players)
    if ending == "hand":
        await table.play_out()
    elif ending == "forfeit":
        await table.act("Resign", players - 1)
    else:
        await table.act("CancelMatch", table.owner)
    return table


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("players", [2, 3, 4])
async def test_a_match_that_is_over_is_listed_as_it_is_shown_without_a_replay(
    start: Any, monkeypatch: pytest.MonkeyPatch, ending: str, players: int
) -> None:
    before = await start()
    table = await _end(before, ending, 2 if ending == "hand" else players)
    shown = await table.match()
    await stop(before)
    client = await start()

    def replayed(*_: object) -> None:
        raise AssertionError("a list replays a match")

    with monkeypatch.context() as patch:
        patch.setattr(fold, "latest", replayed)
        listed = await client.matches.ListMatches(pb.ListMatchesRequest())
    assert list(listed.matches) == [shown]
    assert await table.again(client).match() == shown


SPOILT = {
    "events that are no JSON": "UPDATE event SET data = '{' WHERE match_id = ?",
    "events that are null": "UPDATE event SET data = 'null' WHERE match_id = ?",
    "no commitment": "DELETE FROM commitment WHERE scope = ?",
    "no events": "DELETE FROM event WHERE match_id = ?",
}
UNTRUE = {
    "an end that is no JSON": "UPDATE match SET result = '{' WHERE id = ?",
    "an end that is a list": "UPDATE match SET result = '[1]' WHERE id = ?",
    "an end without an outcome": "UPDATE match SET result = '{\"winner\":0}' WHERE id = ?",
    "an end of no known outcome": 'UPDATE match SET result = \'{"outcome":"x"}\' WHERE id = ?',
}


async def _spoilt(start: Any, folder: Path, statement: str) -> tuple[Client, Table, list[Any]]:
    """Return a server that restarts over two matches that are over, the first of them spoilt."""
    before = await start()
    tables = [await _end(before, "forfeit", 2) for _ in range(2)]
    shown = [await table.match() for table in tables]
    await stop(before)

    def spoil() -> None:
        with sqlite3.connect(folder / "ronda.db") as connection:
            connection.execute(statement, (tables[0].id,))
        connection.close()

    await asyncio.to_thread(spoil)
    client = await start()
    return client, tables[0], shown


@pytest.mark.parametrize("statement", SPOILT.values(), ids=SPOILT)
async def test_a_match_that_is_over_and_damaged_does_not_hide_the_others(
    start: Any, tmp_path: Path, statement: str
) -> None:
    client, _, shown = await _spoilt(start, tmp_path, statement)
    listed = await client.matches.ListMatches(pb.ListMatchesRequest())
    assert list(listed.matches) == [shown[1]]


@pytest.mark.parametrize("statement", UNTRUE.values(), ids=UNTRUE)
async def test_of_an_end_that_cannot_be_read_lists_are_told_by_the_log(
    start: Any, tmp_path: Path, statement: str
) -> None:
    client, _, shown = await _spoilt(start, tmp_path, statement)
    listed = await client.matches.ListMatches(pb.ListMatchesRequest())
    assert list(listed.matches) == shown[::-1]
