"""The one command, `ronda`: play, watch, match, replay, verify and serve from a terminal."""

from __future__ import annotations

__version__ = "0.1.0"  # equal to pyproject's by test: asking the metadata costs as much as click
