"""The tables that tournaments are kept in."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Float, Index, Integer, LargeBinary, MetaData, Table, Text, text

VERSION: Final = 2
"""Of these tables; a database of another version is refused."""

metadata: Final = MetaData()

tournament: Final = Table(
    "tournament",
    metadata,
    Column("id", Text, primary_key=True),
    Column("plan", LargeBinary, nullable=False),  # JSON
    Column("digest", Text, nullable=False),  # of the plan: whoever changes one has to change both
    Column("master", LargeBinary, nullable=False),  # secret until the last game is over
    Column("seed", Text),  # that the master is made of, and as secret; NULL: of none
)

game: Final = Table(
    "game",
    metadata,
    Column("tournament", Text, primary_key=True),
    Column("block", Integer, primary_key=True, autoincrement=False),
    Column("rotation", Integer, primary_key=True, autoincrement=False),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("entrants", LargeBinary, nullable=False),  # JSON: places in the plan
    Column("game", LargeBinary),  # JSON; null: lost by no fault of a bot
    Column("record", Text),  # a line of JSON, sealed
    Column("lost", Text),  # why there is no game
    Column("thoughts", LargeBinary, nullable=False),  # JSON
    Column("seconds", Float, nullable=False),
    sqlite_with_rowid=False,
)

# Whatever happens, a game of a block counts once.
one_game: Final = Index(
    "one_game",
    game.c.tournament,
    game.c.block,
    game.c.rotation,
    unique=True,
    sqlite_where=text("game IS NOT NULL"),
    postgresql_where=text("game IS NOT NULL"),
)
