"""The list of commitments: a chain that shows every change, and what it tells of a record."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.core.records import TABLES, TRUE, played

import ronda_server.commitments
from ronda_core import fair, match, rules, verify
from ronda_core.commitments import (
    NO_HASH,
    BrokenListError,
    Commitments,
    Listed,
    Promise,
    ending_of,
    entry_hash,
    read_entry,
)
from ronda_core.match import Cause, Fault, Outcome
from ronda_core.record import FairRecord, Record, RecordError, Scribe, read

quick = settings(max_examples=200, deadline=None)
each_table = pytest.mark.parametrize(("name", "players"), TABLES)
Told = tuple[str, str, str]


def chain(*told: Told) -> list[Listed]:
    """The entries of a list that tells these scopes, commitments and endings."""
    entries: list[Listed] = []
    previous = NO_HASH
    for number, (scope, commitment, ending) in enumerate(told, 1):
        own = entry_hash(number, scope, commitment, ending, previous)
        entries.append(Listed(number, scope, commitment, ending, previous, own))
        previous = own
    return entries


def read_all(entries: list[Listed]) -> Commitments:
    listed = Commitments()
    for entry in entries:
        listed.append(entry)
    return listed


def listing(record: Record, ending: str = "finished") -> Commitments:
    """A list in which a record's scope was announced and ended, among others."""
    assert record.fair
    scope, own = record.tournament or record.fair.scope, record.fair.commitment
    told = [("other", "0" * 64, ""), (scope, own, ""), ("third", "1" * 64, "")]
    told += [(scope, own, ending)] if ending else []
    return read_all(chain(*told))


@st.composite
def stories(draw: st.DrawFn) -> list[Told]:
    """What a list may tell: scopes announced once, of which some end."""
    scopes = draw(st.lists(st.from_regex(r"[A-Za-z0-9_-]{1,12}", fullmatch=True), unique=True))
    told: list[Told] = []
    waiting: list[tuple[str, str]] = []
    for scope in scopes:
        waiting.append((scope, draw(st.integers(0, 2**256 - 1)).to_bytes(32, "big").hex()))
        told.append((*waiting[-1], ""))
        if draw(st.booleans()):
            ended = waiting.pop(draw(st.integers(0, len(waiting) - 1)))
            told.append((*ended, draw(st.sampled_from(["finished", "cancelled", "unused"]))))
    return told


# --- the chain -------------------------------------------------------------------------------


def test_the_server_writes_what_is_checked_here() -> None:
    assert ronda_server.commitments.entry_hash is entry_hash
    assert ronda_server.commitments.NO_HASH is NO_HASH


@given(stories())
@quick
def test_a_list_tells_each_scope_what_was_promised_and_how_it_ended(told: list[Told]) -> None:
    entries = chain(*told)
    listed = read_all(entries)
    assert listed.length == len(told)
    assert listed.last_hash == (entries[-1].hash if entries else NO_HASH)
    for scope, own, _ in told:
        endings = [ending for other, _, ending in told if other == scope]
        assert listed.find(scope) == Promise(own, max(endings))
    assert listed.find("never announced") is None


@given(stories(), st.data())
@quick
def test_any_change_of_an_entry_breaks_the_list(told: list[Told], data: st.DataObject) -> None:
    assume(told)
    entries = chain(*told)
    at = data.draw(st.integers(0, len(entries) - 1))
    field = data.draw(st.sampled_from(Listed._fields))
    old = getattr(entries[at], field)
    new = old + 1 if isinstance(old, int) else data.draw(st.sampled_from([f"{old}x", "", "1" * 64]))
    assume(new != old)
    entries[at] = entries[at]._replace(**{field: new})
    with pytest.raises(BrokenListError):
        read_all(entries)


@given(stories(), st.data())
@quick
def test_an_entry_that_is_whole_in_itself_still_needs_its_number_and_the_hash_before(
    told: list[Told], data: st.DataObject
) -> None:
    assume(told)
    entries = chain(*told)
    at = data.draw(st.integers(0, len(entries) - 1))
    number, *texts, previous, _ = entries[at]
    if data.draw(st.booleans()):
        number += data.draw(st.sampled_from([-1, 1, 7]))
    else:
        previous = data.draw(st.sampled_from(["1" * 64, entries[at].hash]))
    own = entry_hash(number, *texts, previous)
    entries[at] = Listed(number, *texts, previous, own)
    with pytest.raises(BrokenListError):
        read_all(entries[: at + 1])


@given(stories(), st.data())
@quick
def test_an_entry_left_out_told_twice_or_moved_breaks_the_list(
    told: list[Told], data: st.DataObject
) -> None:
    assume(len(told) > 1)
    entries = chain(*told)
    at = data.draw(st.integers(0, len(entries) - 2))
    how = data.draw(st.sampled_from(["out", "twice", "moved", "first"]))
    if how == "out":
        del entries[at]
    elif how == "twice":
        entries.insert(at, entries[at])
    elif how == "first":
        del entries[: at + 1]
    else:
        entries[at], entries[at + 1] = entries[at + 1], entries[at]
    with pytest.raises(BrokenListError):
        read_all(entries)


@given(stories(), st.data())
@quick
def test_a_list_made_anew_is_another_one_by_its_last_hash(
    told: list[Told], data: st.DataObject
) -> None:
    """Nothing in a list tells that it is the true one: a hash that was kept does."""
    assume(told)
    at = data.draw(st.integers(0, len(told) - 1))
    scope = told[at][0]
    other = [(one, "e" * 64 if one == scope else own, end) for one, own, end in told]
    assume(other != told)
    assert read_all(chain(*other)).last_hash != read_all(chain(*told)).last_hash


@given(stories(), st.data())
@quick
def test_the_beginning_of_a_list_is_a_list(told: list[Told], data: st.DataObject) -> None:
    entries = chain(*told)
    kept = data.draw(st.integers(0, len(entries)))
    assert read_all(entries[:kept]).length == kept


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        ([("a", "1" * 64, ""), ("a", "1" * 64, "")], "was announced before"),
        ([("a", "1" * 64, ""), ("a", "2" * 64, "")], "was announced before"),
        ([("a", "1" * 64, "finished")], "not announced"),
        ([("a", "1" * 64, ""), ("a", "2" * 64, "finished")], "not announced"),
        (
            [("a", "1" * 64, ""), ("a", "1" * 64, "finished"), ("a", "1" * 64, "cancelled")],
            "had ended before",
        ),
        (
            [("a", "1" * 64, ""), ("a", "1" * 64, "finished"), ("a", "1" * 64, "")],
            "was announced before",
        ),
    ],
)
def test_a_scope_is_promised_once_and_ends_once(told: list[Told], problem: str) -> None:
    with pytest.raises(BrokenListError, match=problem):
        read_all(chain(*told))


# --- lines -----------------------------------------------------------------------------------

ENTRY = chain(("m-abc", "a" * 64, ""))[0]


def test_an_entry_is_read_as_it_was_saved_and_unknown_keys_do_not_matter() -> None:
    assert read_entry(json.dumps(ENTRY._asdict())) == ENTRY
    assert read_entry(json.dumps(ENTRY._asdict() | {"new": [1]})) == ENTRY


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("number", 0),
        ("number", -1),
        ("number", "1"),
        ("number", True),
        ("number", 1.0),
        ("number", ...),
        ("scope", ""),
        ("scope", "a/1"),
        ("scope", "m\n"),
        ("scope", "\u0661"),
        ("scope", "m" * 257),
        ("scope", ...),
        ("ending", "Finished"),
        ("ending", "\x1b[2J"),
        ("ending", "e" * 33),
        ("ending", None),
        ("ending", ...),
        *[
            (key, value)
            for key in ("commitment", "previous_hash", "hash")
            for value in ("", "a" * 63, "A" * 64, "g" * 64, "a" * 65, 7, None, ...)
        ],
    ],
)
def test_a_line_that_holds_no_entry_cannot_be_read(key: str, value: object) -> None:
    data: dict[str, Any] = ENTRY._asdict()
    if value is ...:
        del data[key]
    else:
        data[key] = value
    with pytest.raises(RecordError) as caught:
        read_entry(json.dumps(data))
    assert str(caught.value).split(":")[0] == key


@given(st.text())
@quick
def test_a_line_of_garbage_cannot_be_read(line: str) -> None:
    with pytest.raises(RecordError):
        read_entry(line)


# --- records ---------------------------------------------------------------------------------


@each_table
def test_a_record_whose_commitment_was_announced_and_ended_as_told_is_proven(
    name: str, players: int
) -> None:
    rng = random.Random(f"{name}{players}")
    fault = Fault(0, Cause.TIME)
    for record, ending in (
        (played(name, players, rng)[0], "finished"),
        (played(name, players, rng, stop=5, fault=fault)[0], "forfeited"),
        (played(name, players, rng, stop=0)[0], "cancelled"),
        (played(name, players, rng, stop=5)[0], "cancelled"),
    ):
        assert verify.verify(record, listing(record, ending)) == verify.Verdict(True)


@each_table
def test_a_match_that_was_played_is_never_shown_as_cancelled_nor_the_other_way_round(
    name: str, players: int
) -> None:
    record, _ = played(name, players, random.Random(1))
    hidden = replace(
        record,
        hands=(),
        score=(0,) * len(record.score),
        winner=None,
        outcome="cancelled",
    )
    assert verify.verify(hidden).proven  # alone it contradicts nothing
    verdict = verify.verify(hidden, listing(record))
    assert (verdict.where, verdict.unproven) == ("outcome", False)
    stopped, _ = played(name, players, random.Random(1), stop=9)
    shown = replace(stopped, outcome="forfeit", fault=Fault(0, Cause.CRASH))
    shown = replace(shown, winner=winner_of(shown))
    assert verify.verify(shown).proven
    assert verify.verify(shown, listing(stopped, "cancelled")).where == "outcome"


def winner_of(record: Record) -> int | None:
    """Who wins by the record's forfeit."""
    assert record.fault
    *_, last = verify.replay(record)
    assert last.match.result
    winner = last.match.result.winner
    return None if winner < 0 else winner


@each_table
def test_a_match_invented_under_the_id_of_a_real_one_is_refused_by_the_list(
    name: str, players: int
) -> None:
    real, _ = played(name, players, random.Random(1))
    invented, _ = played(name, players, random.Random(2))  # a master of its own, the same scope
    assert real.fair
    assert invented.fair
    assert real.id == invented.id
    assert verify.verify(invented).proven  # alone it contradicts nothing
    verdict = verify.verify(invented, listing(real))
    assert (verdict.where, verdict.unproven) == ("fair, commitment", False)
    assert verify.verify(real, listing(real)).proven


@each_table
def test_what_the_list_does_not_tell_is_unproven(name: str, players: int) -> None:
    record, _ = played(name, players, random.Random(1))
    verdict = verify.verify(record, Commitments())
    assert (verdict.where, verdict.unproven, verdict.proven) == ("fair, scope", True, False)
    verdict = verify.verify(record, listing(record, ""))
    assert (verdict.where, verdict.unproven, verdict.proven) == ("outcome", True, False)


@pytest.mark.parametrize("ending", ["unused", "cancelled", "lost"])
def test_a_scope_that_ended_otherwise_has_no_finished_match(ending: str) -> None:
    record, _ = played("cafe", 2, random.Random(1))
    verdict = verify.verify(record, listing(record, ending))
    assert (verdict.where, verdict.unproven) == ("outcome", False)


def test_a_false_record_is_not_saved_by_the_list() -> None:
    record, _ = played("cafe", 2, random.Random(1))
    false = replace(record, score=(0, 41))
    assert verify.verify(false, listing(record)) == verify.verify(false)
    sealed, _ = played("cafe", 2, random.Random(1), sealed=True)
    assert verify.verify(sealed, listing(sealed)).where == "fair, master"


def test_a_match_that_was_played_out_cannot_be_shown_as_a_forfeit_nor_the_other_way() -> None:
    record, _ = played("playtash", 2, random.Random(1))
    assert record.winner is not None
    shown = replace(
        record,
        hands=(),
        score=(0, 0),
        winner=1 - record.winner,
        outcome="forfeit",
        fault=Fault(record.winner, Cause.CRASH),
    )
    assert verify.verify(shown).proven
    assert verify.verify(shown, listing(record)).where == "outcome"
    assert verify.verify(shown, listing(record, "forfeited")).proven
    assert verify.verify(record, listing(record, "forfeited")).where == "outcome"


def test_a_tournament_is_promised_once_for_all_its_games() -> None:
    record, _ = played("cafe", 2, random.Random(1), tournament="cup")
    stopped, _ = played("cafe", 2, random.Random(1), tournament="cup", stop=4)
    for one in (record, stopped):
        for ending in ("finished", "cancelled"):
            assert verify.verify(one, listing(one, ending)).proven
        assert verify.verify(one, listing(one, "unused")).where == "outcome"
        assert verify.verify(one, listing(one, "")).unproven
    assert record.fair
    by_block = read_all(chain((record.fair.scope.replace("/", "-"), record.fair.commitment, "")))
    assert verify.verify(record, by_block).unproven


@pytest.mark.parametrize("line", TRUE, ids=[json.loads(line)["id"] for line in TRUE])
def test_the_vectors_are_proven_with_a_list_of_their_commitments(line: str) -> None:
    records = [read(one) for one in TRUE]
    told = [(one.id, one.fair.commitment, "") for one in records if one.fair]
    ends = [
        (one.id, one.fair.commitment, ending_of(Outcome(one.outcome)))
        for one in records
        if one.fair
    ]
    listed = read_all(chain(*told, *ends))
    assert verify.verify(read(line), listed).proven


def test_a_master_ground_for_a_good_deal_is_called_proven_only_without_a_list() -> None:
    """The attack: who invents the match chooses its master until the first deal suits him."""
    real, _ = played("playtash", 2, random.Random(1))
    seats, scope = real.seats, real.id
    entries = tuple(map(fair.Entry, seats))
    how = rules.settings("playtash", 2)
    rng = random.Random(3)
    while True:
        master = rng.randbytes(32)
        dealer = fair.Dealer(master, scope, entries, 2)
        if dealer.first_dealer() == 1 and len({card % 10 for card in dealer.deck(1)[:3]}) == 1:
            break
    game = match.Match(how, dealer.first_dealer())
    promise = fair.commitment(master, scope)
    proof = FairRecord(fair.SCHEME, scope, promise, master, entries)
    scribe = Scribe(scope, how, seats, start=real.start, fair=proof)
    while not game.result:
        if number := game.needs_deck:
            scribe.take(game, match.deal(game, dealer.deck(number)))
        else:
            assert game.hand
            turn = game.hand.turn
            scribe.take(game, match.play(game, turn, min(game.hand.hands[turn])))
    invented = scribe.record(real.end)
    assert invented.hands[0].points[0].reason == "tringa"
    assert verify.verify(invented).proven
    assert verify.verify(invented, listing(real)).where == "fair, commitment"
