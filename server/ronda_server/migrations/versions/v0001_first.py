"""The first tables: matches, their events, and the commitments."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "match",
        sa.Column("number", _NUMBER, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("visibility", sa.String(16), nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("ended", sa.BigInteger),
        sa.Column("result", sa.Text),
        sa.Column("rematch_id", sa.String(64)),
        sa.Column("request", sa.LargeBinary),
        sa.Column("content", sa.LargeBinary),
        sa.UniqueConstraint("id", name="match_id_unique"),
        sa.UniqueConstraint("request", name="match_request_unique"),
    )
    op.create_index("match_by_state", "match", ["state", "number"])
    op.create_table(
        "event",
        sa.Column("match_id", sa.String(64), nullable=False),
        sa.Column("sequence", sa.Integer, nullable=False),
        sa.Column("time", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.Column("request", sa.LargeBinary),
        sa.Column("content", sa.LargeBinary),
        sa.PrimaryKeyConstraint("match_id", "sequence", name="event_key"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "commitment",
        sa.Column("number", _NUMBER, primary_key=True, autoincrement=False),
        sa.Column("scope", sa.String(64), nullable=False),
        sa.Column("commitment", sa.String(64), nullable=False),
        sa.Column("ending", sa.String(16), nullable=False),
        sa.Column("previous_hash", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_index("commitment_by_scope", "commitment", ["scope"])
    op.create_table(
        "secret",
        sa.Column("scope", sa.String(64), primary_key=True),
        sa.Column("master", sa.LargeBinary, nullable=False),
    )


def downgrade() -> None:
    """Drop the tables, and with them every match."""
    for table in ("secret", "commitment", "event", "match"):
        op.drop_table(table)
