"""Migrations: from nothing to exactly the tables of the code, any number of times."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from tests.server.conftest import Client, stop
from tests.server.tables import seat_all

import ronda_server
from ronda_server import database
from ronda_server.schema import metadata

MIGRATIONS = Path(ronda_server.__file__).parent / "migrations"


def differences(path: Path) -> list[object]:
    """Return what a migration would have to change to reach the tables of the code."""
    engine = create_engine(f"sqlite:///{path}")
    try:
        with engine.connect() as connection:
            context = MigrationContext.configure(connection, opts={"compare_type": True})
            return list(compare_metadata(context, metadata))
    finally:
        engine.dispose()


def schema(path: Path) -> set[tuple[str, str, str]]:
    """Return the text of everything that a file defines, but for Alembic's own."""
    with sqlite3.connect(path) as connection:
        found = connection.execute("SELECT type, name, sql FROM sqlite_master").fetchall()
    connection.close()
    return {
        (kind, name, " ".join((text or "").replace('"', "").split()))
        for kind, name, text in found
        if "alembic" not in name
    }


def test_an_upgrade_from_nothing_gives_exactly_the_tables_of_the_code(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    database.upgrade(str(path))
    assert differences(path) == []
    direct = tmp_path / "direct.db"
    engine = create_engine(f"sqlite:///{direct}")
    metadata.create_all(engine)
    engine.dispose()
    assert schema(path) == schema(direct)


def test_the_comparison_would_find_a_column_that_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    database.upgrade(str(path))
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE match DROP COLUMN rematch_id")
    connection.close()
    assert len(differences(path)) == 1


def test_an_upgrade_of_what_is_new_already_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    first = database.upgrade(str(path))
    before = path.read_bytes()
    assert database.upgrade(f"sqlite:///{path}") == first
    assert path.read_bytes() == before


def test_every_change_has_one_parent_and_one_is_the_newest(tmp_path: Path) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    scripts = ScriptDirectory.from_config(config)
    [head] = scripts.get_heads()
    assert database.upgrade(str(tmp_path / "new.db")) == head
    assert len(list(scripts.walk_revisions())) == len(list((MIGRATIONS / "versions").glob("v*.py")))


@pytest.mark.thorough
async def test_an_upgrade_of_a_database_in_use_keeps_what_it_holds(
    start: object, tmp_path: Path
) -> None:
    client: Client = await start()  # type: ignore[operator] # a fixture that is a function
    table = await seat_all(client)
    await table.step()
    seen = await table.seen()
    await stop(client)
    path = tmp_path / "ronda.db"
    before = dump(path)
    await asyncio.to_thread(upgrade_elsewhere, path)
    assert dump(path) == before
    again = table.again(await start())  # type: ignore[operator] # a fixture
    assert await again.seen() == seen


def upgrade_elsewhere(path: Path) -> None:
    """Upgrade a file in a process of its own."""
    program = f"from ronda_server import database; print(database.upgrade({str(path)!r}))"
    told = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert told.stdout.strip()
    assert told.stderr == ""


def dump(path: Path) -> list[str]:
    """Return all that a file holds, as text."""
    with sqlite3.connect(path) as connection:
        lines = list(connection.iterdump())
    connection.close()
    return lines


@pytest.mark.parametrize("at", range(8))
def test_an_upgrade_that_was_cut_off_is_done_again_from_the_start(tmp_path: Path, at: int) -> None:
    path = tmp_path / "new.db"
    program = f"""
import os
from sqlalchemy import event
from ronda_server import database
made = database.engine
left = [{at}]
def engine(path):
    one = made(path)
    def cut(connection, cursor, statement, *rest):
        if statement.lstrip().startswith("CREATE"):
            if not left[0]:
                os._exit(9)
            left[0] -= 1
    event.listen(one, "before_cursor_execute", cut)
    return one
database.engine = engine
database.upgrade({str(path)!r})
"""
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True)
    assert done.returncode == 9, done.stderr
    database.upgrade(str(path))
    assert differences(path) == []


@pytest.mark.parametrize(
    "url",
    [
        "postgresql+asyncpg://localhost/ronda",
        "sqlite://",
        "sqlite:///:memory:",
        "://",
        "mysql://x",
    ],
)
def test_a_database_that_cannot_hold_the_log_is_refused_by_name(url: str) -> None:
    with pytest.raises(database.DatabaseError):
        database.sqlite_path(url)


@pytest.mark.parametrize(
    "name", ["ronda.db", "with space.db", "per%20cent.db", "q?uestion.db", "#.db"]
)
def test_a_path_is_taken_as_it_is_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    database.upgrade(str(path))
    assert path.exists()
    assert [file.name for file in tmp_path.glob("*.db*") if "-" not in file.name] == [name]
