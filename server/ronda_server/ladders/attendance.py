"""Which remote bots are there, as a ladder sees it: a short reconnect is no absence."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ronda_arena.ladder.guests import Guest


class _Missed(NamedTuple):
    """A bot that is away, and when nobody waits for it any more."""

    guest: Guest
    until: float


class Attendance:
    """Told on one thread, asked on another."""

    def __init__(self, absence: float, clock: Callable[[], float]) -> None:
        self._absence = absence
        self._clock = clock
        self._lock = threading.Lock()
        self._here: dict[str, Guest] = {}
        self._missed: dict[str, _Missed] = {}
        self._told: Mapping[str, Guest] = {}

    def expect(self, owners: Mapping[str, str]) -> None:
        """Wait for bots that were there when the one before was ended, but for those that are."""
        with self._lock:
            away = {bot: Guest(owner, 0) for bot, owner in owners.items() if bot not in self._here}
            self._miss(away)
            self._tell()

    def come(self, here: Mapping[str, Guest]) -> None:
        """Take in who is there now."""
        with self._lock:
            gone = {bot: guest for bot, guest in self._here.items() if bot not in here}
            self._here = dict(here)
            self._missed = {bot: one for bot, one in self._missed.items() if bot not in here}
            self._miss(gone)
            self._tell()

    def there(self) -> Mapping[str, Guest]:
        """Return who counts as there: the same object as long as nothing is new."""
        return self._told

    def wait(self) -> float | None:
        """Return the seconds until somebody has been away for too long; None: nobody is away."""
        with self._lock:
            if not self._missed:
                return None
            return max(0.0, min(one.until for one in self._missed.values()) - self._clock())

    def look(self) -> None:
        """Wait no more for those who have been away for too long."""
        with self._lock:
            now = self._clock()
            self._missed = {bot: one for bot, one in self._missed.items() if now < one.until}
            self._tell()

    def _miss(self, guests: Mapping[str, Guest]) -> None:
        until = self._clock() + self._absence
        for bot, guest in guests.items():
            self._missed[bot] = _Missed(guest._replace(blocks=0), until)

    def _tell(self) -> None:
        told = {bot: one.guest for bot, one in self._missed.items()} | self._here
        if told != self._told:
            self._told = told
