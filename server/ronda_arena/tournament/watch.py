"""Notices when nothing comes any more, however the one who waits for it is held up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Self


class Watch:
    """Calls `stalled` once, in a thread of its own, if nothing was heard for so many seconds."""

    def __init__(self, seconds: float, stalled: Callable[[], None]) -> None:
        """Start nothing yet."""
        self._seconds = seconds
        self._stalled = stalled
        self._over = threading.Event()
        self._until = 0.0
        self._thread = threading.Thread(target=self._look, name="watch", daemon=True)

    def __enter__(self) -> Self:
        """Begin to wait."""
        self.heard()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Wait for nothing more."""
        self._over.set()

    def heard(self) -> None:
        """Wait again from now on."""
        self._until = time.monotonic() + self._seconds

    def _look(self) -> None:
        while not self._over.wait(max(0.0, self._until - time.monotonic())):
            if time.monotonic() >= self._until:
                self._stalled()
                return
