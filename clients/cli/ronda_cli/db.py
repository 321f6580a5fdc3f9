"""`ronda db`: look after the service's database."""

from __future__ import annotations

import click

from ronda_cli import options, output
from ronda_cli.lazy import ConfiguredGroup
from ronda_cli.output import ExitCode, Failure


@click.group(cls=ConfiguredGroup)
def db() -> None:
    """Look after the service's database."""


@db.command()
@options.database
def upgrade(database: str | None) -> None:
    """Bring the database to the schema of this version.

    `ronda serve` does it by itself on a database of its own; run this first where several
    servers share one.
    """
    from sqlalchemy.exc import OperationalError, SQLAlchemyError  # noqa: PLC0415 -- heavy

    from ronda_server import database as databases  # noqa: PLC0415 -- a heavy import

    if not database:
        raise click.UsageError("name the database: --database ronda.db (or RONDA_DATABASE)")
    try:
        revision = databases.upgrade(database)
    except ValueError as error:
        raise Failure(str(error)) from None
    except (SQLAlchemyError, OSError) as error:
        reason = str(getattr(error, "orig", None) or error)
        away = isinstance(error, OperationalError | OSError)
        code = ExitCode.UNREACHABLE if away else ExitCode.USAGE
        raise Failure(f"the database {database} cannot be opened: {reason}", code) from None
    output.line(revision)
