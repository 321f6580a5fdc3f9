"""Pages of lists."""

from __future__ import annotations

from typing import Final

from ronda_server.errors import Reason, ServiceError

_DEFAULT: Final = 50
_MOST: Final = 200


def page_size(asked: int) -> int:
    """Return how many to list: 0 means 50, above 200 means 200."""
    if asked < 0:
        raise ServiceError(Reason.BAD_PAGE_SIZE, field="page_size")
    return min(asked or _DEFAULT, _MOST)
