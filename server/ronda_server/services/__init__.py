"""One thin servicer for each service: convert, call, convert."""

from __future__ import annotations
