"""What is stored, at one moment."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from ronda_server.facts import Fact

from .inside import quick_folder


class Row(NamedTuple):
    """An event as it is stored."""

    sequence: int
    time: int
    kind: str
    data: str
    request: bytes | None
    content: bytes | None


class MatchState(NamedTuple):
    """A match as the lists know it."""

    id: str
    state: str
    created: int
    ended: int | None
    result: str | None
    rematch_id: str | None
    request: bytes | None


@dataclass
class Database:
    """All that is stored, at one moment."""

    matches: dict[str, MatchState] = field(default_factory=dict)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    masters: dict[str, bytes] = field(default_factory=dict)
    commitments: list[tuple[int, str, str, str, str, str]] = field(default_factory=list)


def read_database(path: Path) -> Database:
    """Return what a database holds, from a copy: opening it must not mend what we judge."""
    with quick_folder() as folder:
        copy = folder / "copy.db"
        for suffix in ("", "-wal"):
            if path.with_name(path.name + suffix).exists():
                shutil.copyfile(path.with_name(path.name + suffix), f"{copy}{suffix}")
        connection = sqlite3.connect(copy)
        try:
            return _read(connection)
        finally:
            connection.close()


def _read(connection: sqlite3.Connection) -> Database:
    found = Database()
    if not connection.execute("SELECT 1 FROM sqlite_master").fetchone():
        return found  # killed before there was a table
    for row in connection.execute(
        "SELECT id, state, created, ended, result, rematch_id, request FROM match ORDER BY number"
    ):
        found.matches[row[0]] = MatchState(*row)
        found.rows[row[0]] = []
    for match, *row in connection.execute(
        "SELECT match_id, sequence, time, kind, data, request, content FROM event"
        " ORDER BY match_id, sequence"
    ):
        found.rows.setdefault(match, []).append(Row(*row))
    found.masters = dict(connection.execute("SELECT scope, master FROM secret"))
    found.commitments = connection.execute(
        "SELECT number, scope, commitment, ending, previous_hash, hash FROM commitment"
        " ORDER BY number"
    ).fetchall()
    return found


def row_to_fact(row: Row) -> Fact:
    """Return a row as the server reads it."""
    return Fact(row.sequence, row.time, row.kind, json.loads(row.data), row.request, row.content)


def fingerprint(rows: Mapping[str, Iterable[Row]]) -> str:
    """Return a digest of logs, to compare and to print."""
    digest = hashlib.sha256()
    for match in sorted(rows):
        for row in rows[match]:
            digest.update(repr((match, row)).encode())
    return digest.hexdigest()
