"""What is written: the rows of the log, and those of matches. All of it inside a transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from ronda_server.errors import ConflictError
from ronda_server.facts import Fact


class Rows(list[tuple[Any, ...]]):
    """Events that a piece of work leaves to be appended, by one statement with all others'.

    The writing thread yields to the loop at every statement, and waits for its turn after it: a
    statement for each play would cost more than the flush to disk.
    """

    def __call__(self, _connection: sqlite3.Connection) -> Rows:
        """Be a piece of work that does nothing but leave these rows."""
        return self

    def __repr__(self) -> str:
        return f"<{len(self)} rows>"


def rows_of(match_id: str, facts: Sequence[Fact]) -> Rows:
    """Return `facts` as they are appended to a match."""
    return Rows(
        (match_id, fact.sequence, fact.time, fact.kind, _dump(fact.data), *fact[4:])
        for fact in facts
    )


def append_all(connection: sqlite3.Connection, values: Sequence[Any]) -> None:
    """Append the rows among what pieces of work have returned; `ConflictError` if one is taken."""
    rows = [row for value in values if isinstance(value, Rows) for row in value]
    for start in range(0, len(rows), _ROWS):
        some = rows[start : start + _ROWS]
        flat = [field for row in some for field in row]
        connection.execute(_insertion(len(some)), flat)


def is_one_statement(work: Sequence[Any]) -> bool:
    """Say whether pieces of work leave rows and do nothing else, as many as one statement takes.

    Such a statement needs no transaction around it: it is one.
    """
    return all(isinstance(one, Rows) for one in work) and sum(map(len, work)) <= _ROWS


_ROWS: Final = 256
"""Rows of one statement."""


_COLUMNS: Final = "match_id, sequence, time, kind, data, request, content"


@lru_cache(_ROWS)
def _insertion(rows: int) -> str:
    places = ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * rows)
    return f"INSERT INTO event ({_COLUMNS}) VALUES {places}"  # noqa: S608 # nothing from outside


def insert_match(
    connection: sqlite3.Connection,
    match_id: str,
    visibility: str,
    created: int,
    request: bytes | None,
    content: bytes | None,
) -> None:
    """Add a match that waits for its seats."""
    connection.execute(
        "INSERT INTO match (id, state, visibility, created, request, content)"
        " VALUES (?, 'waiting', ?, ?, ?, ?)",
        (match_id, visibility, created, request, content),
    )


def set_running(connection: sqlite3.Connection, match_id: str) -> None:
    """Say that a match has begun."""
    connection.execute("UPDATE match SET state = 'running' WHERE id = ?", (match_id,))


def set_ended(
    connection: sqlite3.Connection, match_id: str, state: str, ended: int, result: dict[str, Any]
) -> None:
    """Say that a match is over."""
    connection.execute(
        "UPDATE match SET state = ?, ended = ?, result = ? WHERE id = ?",
        (state, ended, _dump(result), match_id),
    )


def set_rematch(connection: sqlite3.Connection, match_id: str, rematch_id: str) -> None:
    """Say which match follows one; `ConflictError` if one follows already."""
    changed = connection.execute(
        "UPDATE match SET rematch_id = ? WHERE id = ? AND rematch_id IS NULL",
        (rematch_id, match_id),
    )
    if changed.rowcount != 1:
        raise ConflictError("another match follows already")


_dump: Final[Callable[[dict[str, Any]], str]] = json.JSONEncoder(separators=(",", ":")).encode
