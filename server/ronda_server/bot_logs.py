"""What bots in workers have printed, for whoever runs the server and for nobody else.

It may tell cards, and be anything: it stays in memory, and no log, metric or record holds it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from ronda_arena.fault import BotFaultError
from ronda_core.match import Cause

_EACH: Final = 20
"""Logs that are kept of a bot."""
_MOST_BYTES: Final = 8 * 1024 * 1024
"""That are kept of all bots."""
_BESIDE: Final = 512
"""Bytes that a log takes beside what was printed."""


class BotLog(NamedTuple):
    """What a bot has printed in one seat of one match, and what it did wrong there."""

    identity: str
    match_id: str
    seat: int
    ended: int
    """In microseconds since 1970."""
    cause: Cause | None
    detail: str
    seconds: float | None
    output: bytes

    def __repr__(self) -> str:
        return f"BotLog({self.match_id}, seat={self.seat})"


class BotLogs:
    """The last logs of each bot, the oldest forgotten first."""

    def __init__(self, now: Callable[[], int], most_bytes: int = _MOST_BYTES) -> None:
        self._now = now
        self._most = most_bytes
        self._kept: OrderedDict[int, BotLog] = OrderedDict()
        """By number, the oldest first."""
        self._by_bot: dict[str, list[int]] = {}
        self._next = 0
        self._bytes = 0

    def keep(
        self, match_id: str, identity: str, seat: int, fault: BotFaultError | None, output: bytes
    ) -> None:
        """Keep the log of a bot that has left its seat."""
        cause, detail, seconds = (
            (fault.cause, fault.detail, fault.seconds) if fault else (None, "", None)
        )
        self._kept[self._next] = BotLog(
            identity, match_id, seat, self._now(), cause, detail, seconds, output
        )
        numbers = self._by_bot.setdefault(identity, [])
        numbers.append(self._next)
        self._next += 1
        self._bytes += _BESIDE + len(output)
        if len(numbers) > _EACH:
            self._forget(numbers[0])
        while self._bytes > self._most:
            self._forget(next(iter(self._kept)))

    def of(self, bot: str) -> list[BotLog]:
        """Return the logs of `name@version`, or of all versions of `name`; the newest first."""
        numbers = [
            number
            for identity, kept in self._by_bot.items()
            if bot in (identity, identity.partition("@")[0])
            for number in kept
        ]
        return [self._kept[number] for number in sorted(numbers, reverse=True)]

    def _forget(self, number: int) -> None:
        log = self._kept.pop(number)
        self._bytes -= _BESIDE + len(log.output)
        numbers = self._by_bot[log.identity]
        numbers.remove(number)
        if not numbers:
            del self._by_bot[log.identity]
