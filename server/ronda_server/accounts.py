"""Accounts: the API keys they hold, and the names of bots that are theirs.

Both are few and wanted at every connection, so all of them are in memory; the database is written
first. A key itself is kept nowhere: it is derived again for whoever repeats the request it was made
by, and known by its digest.
"""

from __future__ import annotations

import asyncio
import hmac
import sqlite3
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from ronda_server.errors import Reason, ServiceError
from ronda_server.identity import Keys, is_api_key
from ronda_server.log import SqliteLog

_COLUMNS: Final = "number, id, account, label, digest, created, revoked"


class ApiKey(NamedTuple):
    """An API key, without what makes it work."""

    number: int
    id: str
    account: str
    label: str
    digest: bytes
    created: int
    revoked: int | None

    def __repr__(self) -> str:
        return f"ApiKey({self.id})"


class Accounts:
    """The keys of accounts, and whose bots' names are."""

    def __init__(
        self, log: SqliteLog, keys: Keys, now: Callable[[], int], max_names: int = 100
    ) -> None:
        self._log = log
        self._keys = keys
        self._now = now
        self._max_names = max_names
        self._by_digest: dict[bytes, ApiKey] = {}
        self._owners: dict[str, str] = {}

    async def open(self) -> None:
        """Read what the database holds."""
        for key in await self._log.submit(_all_keys):
            self._by_digest[key.digest] = key
        self._owners = await self._log.submit(_all_names)

    @property
    def keys(self) -> list[ApiKey]:
        """All keys, the oldest first."""
        return sorted(self._by_digest.values())

    def holder(self, token: str) -> ApiKey:
        """Return the key that a caller brings; refuse one that is none, or no longer."""
        digest = self._keys.digest(token) if is_api_key(token) else b""
        key = self._by_digest.get(digest)
        if key is None or not hmac.compare_digest(key.digest, digest) or key.revoked:
            raise ServiceError(Reason.BAD_TOKEN)
        return key

    def revoked(self, key: ApiKey) -> bool:
        """Say whether a key that was good has been revoked meanwhile."""
        return self._by_digest[key.digest].revoked is not None

    async def create(self, account: str, label: str, request: bytes) -> tuple[ApiKey, str]:
        """Make a key and return it with its text; the same request again returns the same."""
        key_id, token = self._keys.api_key(request)
        row = (key_id, account, label, self._keys.digest(token), request, self._now())

        def work(connection: sqlite3.Connection) -> ApiKey:
            connection.execute(
                "INSERT INTO api_key (id, account, label, digest, request, created)"
                " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (request) DO NOTHING",
                row,
            )
            return _key(connection, "request", request)

        key = await self._log.submit(work)
        if (key.account, key.label) != (account, label):
            raise ServiceError(Reason.REQUEST_ID_REUSED)
        self._by_digest[key.digest] = key
        return key, token

    async def revoke(self, key_id: str) -> ApiKey:
        """Make a key void for good."""
        if not any(key.id == key_id for key in self._by_digest.values()):
            raise ServiceError(Reason.KEY_NOT_FOUND, field="key_id")
        now = self._now()

        def work(connection: sqlite3.Connection) -> ApiKey:
            connection.execute(
                "UPDATE api_key SET revoked = coalesce(revoked, ?) WHERE id = ?", (now, key_id)
            )
            return _key(connection, "id", key_id)

        key = await self._log.submit(work)
        self._by_digest[key.digest] = key
        return key

    async def claim(self, name: str, account: str) -> None:
        """Let a name of a bot be an account's, if it is not another's and there is room for it."""
        if name not in self._owners:
            row = {"name": name, "account": account, "now": self._now(), "most": self._max_names}

            def work(connection: sqlite3.Connection) -> str | None:
                connection.execute(
                    "INSERT OR IGNORE INTO bot_name SELECT :name, :account, :now"
                    " WHERE (SELECT count(*) FROM bot_name WHERE account = :account) < :most",
                    row,
                )
                found = connection.execute("SELECT account FROM bot_name WHERE name = ?", (name,))
                return next((str(owner) for (owner,) in found), None)

            owner = await asyncio.shield(self._log.submit(work))
            if owner is None:
                limit = {"limit": "bot_names"}
                raise ServiceError(Reason.TOO_MANY_NAMES, field="hello.name", metadata=limit)
            self._owners[name] = owner
        if self._owners[name] != account:
            raise ServiceError(Reason.BOT_NAME_TAKEN, field="hello.name")

    async def free(self, name: str, account: str, left: Callable[[str], bool]) -> None:
        """Let a name of an account's bot be nobody's again.

        `left` says that no bot of it is there. Between that and its being free nobody can come:
        whoever claims it from then on is written down after it.
        """
        if self._owners.get(name) != account:
            raise ServiceError(Reason.BOT_NOT_FOUND, field="name")
        if not left(name):
            raise ServiceError(Reason.BOT_NAME_IN_USE, field="name")
        del self._owners[name]

        def work(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM bot_name WHERE name = ?", (name,))

        try:
            await self._log.submit(work)
        except BaseException:
            self._owners.setdefault(name, account)
            raise


def _all_keys(connection: sqlite3.Connection) -> list[ApiKey]:
    found = connection.execute(f"SELECT {_COLUMNS} FROM api_key")  # noqa: S608 # nothing from outside
    return [ApiKey(*row) for row in found]


def _all_names(connection: sqlite3.Connection) -> dict[str, str]:
    return dict(connection.execute("SELECT name, account FROM bot_name"))


def _key(connection: sqlite3.Connection, column: str, value: Any) -> ApiKey:
    query = f"SELECT {_COLUMNS} FROM api_key WHERE {column} = ?"  # noqa: S608 # nothing from outside
    return ApiKey(*connection.execute(query, (value,)).fetchone())
