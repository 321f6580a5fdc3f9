"""Pages of lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol, TypeVar

from ronda_server.errors import Reason, ServiceError
from ronda_server.identity import Keys

T = TypeVar("T")

_DEFAULT: Final = 50
_MOST: Final = 200


class PageRequest(Protocol):
    """What asks for a page."""

    page_size: int
    page_token: str


def page_size(asked: int) -> int:
    """Return how many to list: 0 means 50, above 200 means 200."""
    if asked < 0:
        raise ServiceError(Reason.BAD_PAGE_SIZE, field="page_size")
    return min(asked or _DEFAULT, _MOST)


def page_of(
    keys: Keys, kind: str, request: PageRequest, items: Sequence[T], name: Callable[[T], str]
) -> tuple[Sequence[T], str]:
    """Return a page of `items` and the token of the next; a token names the last that was shown.

    So what comes and goes between two pages moves nothing else. Of an item that is gone, `name`
    says where it stood.
    """
    size = page_size(request.page_size)
    start = 0
    if request.page_token:
        text = keys.read_page(request.page_token)
        if not text.startswith(f"{kind}:"):
            raise ServiceError(Reason.BAD_PAGE_TOKEN, field="page_token")
        last = text.removeprefix(f"{kind}:")
        names = [name(item) for item in items]
        if last in names:
            start = names.index(last) + 1
        else:
            start = next((at for at, one in enumerate(names) if one > last), len(names))
    shown = items[start : start + size]
    more = start + size < len(items)
    return shown, keys.page(f"{kind}:{name(shown[-1])}") if more else ""
