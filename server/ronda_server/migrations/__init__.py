"""Schema changes, in order, by Alembic."""

from __future__ import annotations
