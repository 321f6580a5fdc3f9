"""What Alembic runs: the connection comes from `ronda_server.database`, never from a file."""

from __future__ import annotations

from alembic import context

from ronda_server.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
