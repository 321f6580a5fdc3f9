"""What the log holds of a match."""

from __future__ import annotations

from typing import Any, NamedTuple


class Fact(NamedTuple):
    """A row of the log: what happened, as little as a replay needs."""

    sequence: int
    time: int
    """Microseconds since 1970."""
    kind: str
    data: dict[str, Any]
    request: bytes | None = None
    content: bytes | None = None

    def __repr__(self) -> str:
        return f"Fact({self.sequence}, {self.kind})"
