"""The tables, as the newest migration leaves them; a test keeps both equal."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

# SQLite numbers rows by itself only where the key's type is exactly INTEGER.
_Number = BigInteger().with_variant(Integer, "sqlite")

match = Table(
    "match",
    metadata,
    Column("number", _Number, primary_key=True, autoincrement=True),
    Column("id", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("visibility", String(16), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("ended", BigInteger),
    Column("result", Text),
    Column("rematch_id", String(64)),
    Column("request", LargeBinary),
    Column("content", LargeBinary),
    UniqueConstraint("id", name="match_id_unique"),
    UniqueConstraint("request", name="match_request_unique"),
    Index("match_by_state", "state", "number"),
)
"""One row a match; times in microseconds since 1970. `result` is JSON, once it is over."""

event = Table(
    "event",
    metadata,
    Column("match_id", String(64), nullable=False),
    Column("sequence", Integer, nullable=False),
    Column("time", BigInteger, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("data", Text, nullable=False),
    Column("request", LargeBinary),
    Column("content", LargeBinary),
    PrimaryKeyConstraint("match_id", "sequence", name="event_key"),
    sqlite_with_rowid=False,
)
"""The log, and the truth: what happened in each match, numbered from 1."""

commitment = Table(
    "commitment",
    metadata,
    Column("number", _Number, primary_key=True, autoincrement=False),
    Column("scope", String(64), nullable=False),
    Column("commitment", String(64), nullable=False),
    Column("ending", String(16), nullable=False),
    Column("previous_hash", String(64), nullable=False),
    Column("hash", String(64), nullable=False),
    Index("commitment_by_scope", "scope"),
)
"""The public list of commitments, only ever appended to."""

api_key = Table(
    "api_key",
    metadata,
    Column("number", _Number, primary_key=True, autoincrement=True),
    Column("id", String(16), nullable=False),
    Column("account", String(64), nullable=False),
    Column("label", String(100), nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("request", LargeBinary, nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("revoked", BigInteger),
    UniqueConstraint("id", name="api_key_id_unique"),
    UniqueConstraint("digest", name="api_key_digest_unique"),
    UniqueConstraint("request", name="api_key_request_unique"),
)
"""The keys of accounts: digests only. Times in microseconds since 1970."""

bot_name = Table(
    "bot_name",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("account", String(64), nullable=False),
    Column("created", BigInteger, nullable=False),
)
"""Which account a remote bot's name belongs to: the first that used it."""

secret = Table(
    "secret",
    metadata,
    Column("scope", String(64), primary_key=True),
    Column("master", LargeBinary, nullable=False),
)
"""What the commitments commit to. Nothing that answers a client reads it."""

tournament = Table(
    "tournament",
    metadata,
    Column("number", _Number, primary_key=True, autoincrement=True),
    Column("id", String(64), nullable=False),
    Column("name", String(64), nullable=False),
    Column("account", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("ended", BigInteger),
    Column("commitment", String(64), nullable=False),
    Column("plan", Text, nullable=False),
    Column("progress", Text),
    UniqueConstraint("id", name="tournament_id_unique"),
    Index("tournament_by_state", "state", "number"),
)
"""One row a tournament: `open`, or how it ended. `plan` is JSON, and so is `progress`, once it is
over. Its games are kept apart, in a folder of its own beside the database."""

tournament_request = Table(
    "tournament_request",
    metadata,
    Column("account", String(64), nullable=False),
    Column("request", LargeBinary, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("tournament_id", String(64), nullable=False),
    PrimaryKeyConstraint("account", "request", name="tournament_request_key"),
)
"""The requests that have made or cancelled tournaments; a request id is its account's."""
