"""A folder that a process of a killed server may still have for a moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final, TypeVar

from ronda_arena.database import StoreError

_T = TypeVar("_T")

_LEAVE_SECONDS: Final = 10.0
"""For the process that had the folder before, whose server was killed."""


@contextmanager
def patiently(claim: Callable[[], AbstractContextManager[_T]]) -> Iterator[_T]:
    """Have a folder, once whoever had it for a server that was killed has left."""
    until = time.monotonic() + _LEAVE_SECONDS
    while True:
        claimed = claim()
        try:
            held = claimed.__enter__()
        except StoreError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)  # it ends with its server, and nothing tells when
            continue
        break
    try:
        yield held
    finally:
        claimed.__exit__(None, None, None)
