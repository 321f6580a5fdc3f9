"""The tables that a ladder is kept in. Rows are added and never changed."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Index, Integer, LargeBinary, MetaData, Table, Text, text

VERSION: Final = 1
"""Of these tables; a database of another version is refused."""

metadata: Final = MetaData()

ladder: Final = Table(
    "ladder",
    metadata,
    Column("id", Text, primary_key=True),
    Column("plan", LargeBinary, nullable=False),  # JSON
    Column("secret", LargeBinary, nullable=False),  # what pairings are drawn with, for ever secret
)

fact: Final = Table(
    "fact",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("block", Text),
    Column("body", LargeBinary, nullable=False),  # JSON
)

# A block is seated once, and ends once.
one_seating: Final = Index(
    "one_seating",
    fact.c.block,
    unique=True,
    sqlite_where=text("kind = 'seated'"),
    postgresql_where=text("kind = 'seated'"),
)
one_end: Final = Index(
    "one_end",
    fact.c.block,
    unique=True,
    sqlite_where=text("kind IN ('over', 'void')"),
    postgresql_where=text("kind IN ('over', 'void')"),
)

secret: Final = Table(
    "secret",
    metadata,
    Column("scope", Text, primary_key=True),  # the id of a block
    Column("master", LargeBinary, nullable=False),  # secret until the block has ended
    sqlite_with_rowid=False,
)

commitment: Final = Table(
    "commitment",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("scope", Text, nullable=False),
    Column("commitment", Text, nullable=False),
    Column("ending", Text, nullable=False),  # empty: it is announced
    Column("previous_hash", Text, nullable=False),
    Column("hash", Text, nullable=False),
)

# A scope is announced once, and ends once.
one_promise: Final = Index(
    "one_promise",
    commitment.c.scope,
    text("(ending = '')"),
    unique=True,
)

record: Final = Table(
    "record",
    metadata,
    Column("block", Text, primary_key=True),
    Column("lines", LargeBinary, nullable=False),  # of JSON, sealed, deflated: one a rotation
    sqlite_with_rowid=False,
)
