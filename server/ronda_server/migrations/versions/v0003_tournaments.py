"""Hosted tournaments, and the requests that made or ended them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "tournament",
        sa.Column("number", _NUMBER, primary_key=True, autoincrement=True),
        sa.Column("id", sa.String(64), nullable=False),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("account", sa.String(64), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("created", sa.BigInteger, nullable=False),
        sa.Column("ended", sa.BigInteger),
        sa.Column("commitment", sa.String(64), nullable=False),
        sa.Column("plan", sa.Text, nullable=False),
        sa.Column("progress", sa.Text),
        sa.UniqueConstraint("id", name="tournament_id_unique"),
    )
    op.create_index("tournament_by_state", "tournament", ["state", "number"])
    op.create_table(
        "tournament_request",
        sa.Column("account", sa.String(64), nullable=False),
        sa.Column("request", sa.LargeBinary, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("tournament_id", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("account", "request", name="tournament_request_key"),
    )


def downgrade() -> None:
    """Drop the tables, and with them every tournament."""
    op.drop_table("tournament_request")
    op.drop_table("tournament")
