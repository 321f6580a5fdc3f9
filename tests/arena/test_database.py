"""The folder of a tournament and that of a ladder: one process has it, and it is what it says."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.arena.ladder.games import ladder_plan
from tests.arena.tournament.plans import plan

from ronda_arena.database import StoreError, UnreadableError
from ronda_arena.ladder import store as ladders
from ronda_arena.ladder.facts import Joined
from ronda_arena.tournament import store as tournaments
from ronda_arena.tournament.tasks import Contract, Played, Task


class Thing(NamedTuple):
    """What is kept in a folder."""

    what: str
    claim: Callable[[Path], AbstractContextManager[Any]]
    begin: Callable[[Any], Any]
    write: Callable[[Any], object]
    written: Callable[[Any], int]


THINGS = (
    Thing(
        "tournament",
        tournaments.claim,
        lambda held: held.begin(Contract(plan(2), bytes(32))),
        lambda kept: kept.add([Played(Task(kept.lost(), (0, 1), 0), None, None, "gone")]),
        lambda kept: kept.lost(),
    ),
    Thing(
        "ladder",
        ladders.claim,
        lambda held: held.begin(ladder_plan()),
        lambda kept: kept.note([Joined("a@1", "me", 0)]),
        lambda kept: len(list(kept.facts())),
    ),
)
every_thing = pytest.mark.parametrize("thing", THINGS, ids=[one.what for one in THINGS])


@every_thing
def test_an_empty_folder_and_an_empty_database_hold_nothing(thing: Thing, tmp_path: Path) -> None:
    with thing.claim(tmp_path) as held:
        assert held.find() is None
        held.state.touch()
        assert held.find() is None
        thing.begin(held)
        assert held.find() is not None


@every_thing
def test_what_is_something_else_is_refused_in_words(thing: Thing, tmp_path: Path) -> None:
    with thing.claim(tmp_path / "no database") as held:
        held.state.write_bytes(b"longer than the header of a database would be" * 9)
        with pytest.raises(UnreadableError, match="cannot be read: file is not a database"):
            held.find()
    with thing.claim(tmp_path / "another") as held:
        database = sqlite3.connect(held.state)
        database.execute("CREATE TABLE mine (x)")
        database.close()
        with pytest.raises(UnreadableError, match=f"is no {thing.what}'s: put back a copy"):
            held.find()
    with thing.claim(tmp_path / "newer") as held:
        thing.begin(held)
        database = sqlite3.connect(held.state)
        database.execute("PRAGMA user_version = 999")
        database.close()
        with pytest.raises(UnreadableError, match="by another version of ronda"):
            held.find()


def taken_away(lock: Path) -> None:
    lock.unlink()


def replaced(lock: Path) -> None:
    lock.rename(lock.with_name("old"))
    lock.touch()


@every_thing
@pytest.mark.parametrize("undo", [taken_away, replaced])
def test_two_that_were_let_in_do_not_both_write(
    thing: Thing, undo: Callable[[Path], None], tmp_path: Path
) -> None:
    with thing.claim(tmp_path) as first:
        one = thing.begin(first)
        thing.write(one)
        with pytest.raises(StoreError, match="another process"), thing.claim(tmp_path):
            pytest.fail("two have it")
        undo(tmp_path / "lock")
        with thing.claim(tmp_path) as second:
            other = second.find()
            with pytest.raises(StoreError, match=r"has begun to write .* since"):
                thing.write(one)
            thing.write(other)
            with pytest.raises(StoreError):
                thing.write(one)
            assert thing.written(other) == 2


@every_thing
def test_who_only_reads_takes_nothing_from_who_writes(thing: Thing, tmp_path: Path) -> None:
    with thing.claim(tmp_path) as held:
        kept = thing.begin(held)
        with type(held)(tmp_path) as read:
            thing.write(kept)
            assert thing.written(read.find()) == 1
        assert held.find() is not None
        thing.write(kept)


@every_thing
def test_a_database_of_two_names_is_refused(thing: Thing, tmp_path: Path) -> None:
    with thing.claim(tmp_path / "one") as held:
        thing.begin(held)
        state = held.state
    (tmp_path / "two").mkdir()
    (tmp_path / "two" / state.name).hardlink_to(state)
    for folder in ("one", "two"):
        with (
            pytest.raises(StoreError, match=r"has 2 names \(hard links\).*remove the others"),
            thing.claim(tmp_path / folder),
        ):
            pytest.fail("it can be opened by two names")
