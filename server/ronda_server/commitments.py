"""Promises made ahead: ids of matches and tournaments, their secrets, and the public list of both.

Each takes the oldest unused scope of its kind, so its secret is older than any of its seats. The
list is a chain: every entry holds the hash of the one before, and a later entry tells how a scope
ended, so that an unlucky match cannot be dropped unseen.
"""

from __future__ import annotations

import base64
import os
import sqlite3
from collections import deque
from typing import Final

from ronda_core import fair
from ronda_core.commitments import NO_HASH, entry_hash
from ronda_server.log import SqliteLog

__all__ = ["NO_HASH", "Promises", "append", "entry_hash"]

MATCH: Final = "m-"
TOURNAMENT: Final = "t-"
"""What the scopes of a kind begin with."""

_AHEAD: Final = {MATCH: 64, TOURNAMENT: 16}
"""Scopes made at a time, and kept in store at least by half."""


class Promises:
    """The store of unused scopes of one server, of one kind."""

    def __init__(self, log: SqliteLog, kind: str = MATCH) -> None:
        self._log = log
        self._kind = kind
        self._ahead = _AHEAD[kind]
        self._unused: deque[tuple[str, str]] = deque()

    async def open(self) -> None:
        """Read what is unused, and fill up."""
        self._unused.extend(await self._log.unused_scopes(self._kind))
        await self.refill()

    async def take(self) -> tuple[str, str]:
        """Return the oldest unused scope and its commitment."""
        await self.refill()
        return self._unused.popleft()

    def give_back(self, scope: str, commitment: str) -> None:
        """Return one that was taken for what was not created."""
        self._unused.appendleft((scope, commitment))

    async def refill(self) -> None:
        """Make scopes ahead, if fewer than half are left."""
        if len(self._unused) > self._ahead // 2:
            return
        made = [(_new_scope(self._kind), os.urandom(32)) for _ in range(self._ahead)]
        self._unused.extend(await self._log.submit(lambda connection: _announce(connection, made)))


def _new_scope(kind: str) -> str:
    return kind + base64.b32encode(os.urandom(10)).decode().lower()


def _announce(
    connection: sqlite3.Connection, made: list[tuple[str, bytes]]
) -> list[tuple[str, str]]:
    """Keep the secrets and publish their commitments."""
    announced = []
    for scope, master in made:
        commitment = fair.commitment(master, scope)
        connection.execute("INSERT INTO secret (scope, master) VALUES (?, ?)", (scope, master))
        append(connection, scope, commitment, "")
        announced.append((scope, commitment))
    return announced


def append(connection: sqlite3.Connection, scope: str, commitment: str, ending: str) -> None:
    """Append an entry to the public list."""
    last = connection.execute(
        "SELECT number, hash FROM commitment ORDER BY number DESC LIMIT 1"
    ).fetchone()
    number, previous = (last[0] + 1, last[1]) if last else (1, NO_HASH)
    connection.execute(
        "INSERT INTO commitment (number, scope, commitment, ending, previous_hash, hash)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (
            number,
            scope,
            commitment,
            ending,
            previous,
            entry_hash(number, scope, commitment, ending, previous),
        ),
    )
