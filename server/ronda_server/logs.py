"""Logs: one JSON object a line, of events and not of calls, with every secret taken out."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import MutableMapping
from typing import Any, Final

import structlog

from ronda_core.cards import Card

_SECRET_KEYS: Final = frozenset(
    {
        "authorization",
        "card",
        "cards",
        "content",
        "data",
        "deck",
        "entropy",
        "hand",
        "hands",
        "invitation",
        "key",
        "master",
        "owner",
        "private",
        "request",
        "request_id",
        "seed",
        "stock",
        "table",
        "token",
        "tokens",
        "view",
    }
)
_TOKEN: Final = re.compile(r"rnd_[a-z]_[A-Za-z0-9_-]+")
_HIDDEN: Final = "•"


def redact(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Take out what no log may hold, by its name, its type or its form."""
    for key, value in event.items():
        event[key] = _HIDDEN if key in _SECRET_KEYS else _clean(value)
    return event


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return _TOKEN.sub(_HIDDEN, value)
    if isinstance(value, Card | bytes):
        return _HIDDEN
    if isinstance(value, dict):
        return {
            str(_clean(key)): _HIDDEN if key in _SECRET_KEYS else _clean(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list | tuple | set | frozenset):
        return [_clean(inner) for inner in value]
    return value


def configure(level: str = "info") -> None:
    """Send the logs of this process to standard error."""
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            redact,
            structlog.processors.JSONRenderer(default=lambda value: f"<{type(value).__name__}>"),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        # Events are few; a logger that keeps its settings could not be told others.
        cache_logger_on_first_use=False,
    )


class Libraries(logging.Handler):
    """Says that a library has complained, and of what kind.

    Its own words are left out: they quote exceptions and requests, and who knows what is in those.
    """

    def emit(self, record: logging.LogRecord) -> None:
        kind = record.exc_info[0] if record.exc_info else None
        structlog.get_logger(record.name).log(
            record.levelno,
            "a library complains",
            library=record.name,
            at=f"{record.module}:{record.lineno}",
            problem=kind.__name__ if kind else "",
        )
