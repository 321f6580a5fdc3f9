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

from ronda_arena.database import UnreadableError
from ronda_arena.ladder import store as ladders
from ronda_arena.tournament import store as tournaments
from ronda_arena.tournament.tasks import Contract


class Thing(NamedTuple):
    """What is kept in a folder."""

    what: str
    claim: Callable[[Path], AbstractContextManager[Any]]
    begin: Callable[[Any], Any]


THINGS = (
    Thing("tournament", tournaments.claim, lambda held: held.begin(Contract(plan(2), bytes(32)))),
    Thing("ladder", ladders.claim, lambda held: held.begin(ladder_plan())),
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
