"""The rows of hosted tournaments: who has asked for what, and how it ended.

The one room that knows how they are stored; their games are kept by the arena, one folder each.
"""

from __future__ import annotations

import asyncio
import sqlite3
from typing import Any, Final, NamedTuple

import msgspec

from ronda_arena.tournament.formats.choice import format_of
from ronda_arena.tournament.spec import Plan
from ronda_core.commitments import CANCELLED, FINISHED
from ronda_server.commitments import append
from ronda_server.live import Request
from ronda_server.log import SqliteLog

OPEN: Final = "open"

_COLUMNS: Final = "number, id, name, account, state, created, ended, commitment, plan, progress"


class Progress(NamedTuple):
    """How far a tournament has come."""

    blocks: int = 0
    """That count."""
    planned: int | None = None
    games: int = 0
    lost: int = 0


def before_the_first(plan: Plan) -> Progress:
    """Return how far a tournament is that nobody has played of."""
    return Progress(planned=format_of(plan).planned)


class Row(NamedTuple):
    """A tournament as the database knows it."""

    number: int
    id: str
    name: str
    account: str
    state: str
    """`open`, `finished`, `stopped` or `cancelled`."""
    created: int
    ended: int | None
    commitment: str
    plan: Plan
    progress: Progress | None
    """Where it ended."""

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self.state != OPEN


class Book:
    """The tournaments of one server, as far as the database knows of them."""

    def __init__(self, log: SqliteLog) -> None:
        self._log = log

    async def open_ones(self) -> list[Row]:
        """Return the tournaments that are not over, the oldest first."""
        return await self._read("state = ? ORDER BY number", OPEN)

    async def find(self, tournament_id: str) -> Row | None:
        """Return one tournament."""
        rows = await self._read("id = ?", tournament_id)
        return rows[0] if rows else None

    async def listed(self, below: int, count: int) -> list[Row]:
        """Return tournaments with numbers under `below` (0: all), the newest first."""
        below = below or 1 << 62
        return await self._read("number < ? ORDER BY number DESC LIMIT ?", below, count)

    async def requested(self, account: str, request: bytes) -> tuple[bytes, str] | None:
        """Return what a request of an account has asked for, and the id of its tournament."""

        def work(connection: sqlite3.Connection) -> tuple[bytes, str] | None:
            query = "SELECT content, tournament_id FROM tournament_request"
            found = connection.execute(
                f"{query} WHERE account = ? AND request = ?", (account, request)
            )
            row = found.fetchone()
            return (bytes(row[0]), str(row[1])) if row else None

        return await self._log.submit(work)

    async def insert(
        self, name: str, account: str, created: int, commitment: str, plan: Plan, request: Request
    ) -> Row:
        """Add a tournament together with the request that makes it."""
        values = (plan.id, name, account, OPEN, created, commitment, _dump(plan))

        def work(connection: sqlite3.Connection) -> tuple[Any, ...]:
            connection.execute(
                "INSERT INTO tournament (id, name, account, state, created, commitment, plan)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                values,
            )
            _keep(connection, account, plan.id, request)
            return _rows(connection, "id = ?", (plan.id,))[0]

        return _row(await self._log.submit(work))

    async def end(
        self, row: Row, state: str, ended: int, progress: Progress, request: Request | None = None
    ) -> Row:
        """Say how a tournament ended, here and in the list of commitments; return its row.

        One that has ended already stays as it is.
        """
        ending = CANCELLED if state == "cancelled" else FINISHED

        def work(connection: sqlite3.Connection) -> tuple[Any, ...]:
            changed = connection.execute(
                "UPDATE tournament SET state = ?, ended = ?, progress = ?"
                " WHERE id = ? AND state = ?",
                (state, ended, _dump(progress), row.id, OPEN),
            )
            if changed.rowcount:
                append(connection, row.id, row.commitment, ending)
                if request:
                    _keep(connection, row.account, row.id, request)
            return _rows(connection, "id = ?", (row.id,))[0]

        return _row(await self._log.submit(work))

    async def _read(self, where: str, *values: Any) -> list[Row]:
        found = await self._log.submit(lambda connection: _rows(connection, where, values))
        return await asyncio.to_thread(lambda: [_row(one) for one in found])  # plans may be long


def _keep(
    connection: sqlite3.Connection, account: str, tournament_id: str, request: Request
) -> None:
    connection.execute(
        "INSERT INTO tournament_request (account, request, content, tournament_id)"
        " VALUES (?, ?, ?, ?)",
        (account, request.key, request.content, tournament_id),
    )


def _rows(
    connection: sqlite3.Connection, where: str, values: tuple[Any, ...]
) -> list[tuple[Any, ...]]:
    query = f"SELECT {_COLUMNS} FROM tournament WHERE {where}"  # noqa: S608 # nothing from outside
    return connection.execute(query, values).fetchall()


def _row(found: tuple[Any, ...]) -> Row:
    values = list(found)
    values[8] = msgspec.json.decode(values[8], type=Plan)
    values[9] = values[9] and msgspec.json.decode(values[9], type=Progress)
    return Row(*values)


def _dump(value: object) -> str:
    return msgspec.json.encode(value).decode()
