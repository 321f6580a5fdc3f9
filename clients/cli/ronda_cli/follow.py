"""A stream that goes on: it comes back after any loss, and nothing is told twice."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

import grpc

from ronda_cli.channel import Target
from ronda_cli.client import Client
from ronda_cli.output import ExitCode, Failure
from ronda_cli.refusal import Refusal
from ronda_cli.updates import Ended, Happened, RefusedError, Seen, Update
from ronda_core.view import MatchEnded

_T = TypeVar("_T")

_RESUMED: Final = {"draining": "the server restarts", "too_slow": "fell behind"}
_ENDS: Final = {
    "taken_over": "another stream of the same seat has taken over",
    "match_expired": "the server no longer keeps the match",
}


@dataclass(slots=True)
class Patience:
    """How long to go on trying, and how to wait between two attempts."""

    seconds: float = 120.0
    first: float = 0.25
    longest: float = 8.0
    quiet: float = 25.0
    """Without any message for so long a stream is taken for dead; heartbeats come every 10 s."""
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _since: float | None = field(default=None, init=False)
    _wait: float = field(default=0.0, init=False)

    def succeeded(self) -> None:
        """Start afresh: something was heard."""
        self._since = None
        self._wait = 0.0

    async def failed(self) -> bool:
        """Wait before the next attempt; false when it is enough."""
        now = self.clock()
        self._since = now if self._since is None else self._since
        if now - self._since >= self.seconds:
            return False
        self._wait = min(self._wait * 2 or self.first, self.longest)
        await self.sleep(self._wait * random.uniform(0.5, 1.0))  # between attempts
        return True


@dataclass(slots=True)
class Place:
    """Where a viewer is in a match: what to go on from."""

    match_id: str
    sequence: int = 0


class _GapError(Exception):
    """An event was left out."""


async def follow(
    client: Client, place: Place, say: Callable[[str], None], patience: Patience | None = None
) -> AsyncIterator[Update]:
    """Yield the updates of a match to its end, each event once and in order."""
    patience = patience or Patience()
    lost = ""
    gap_after = -1
    while True:
        reason = "the stream broke off"
        problem = Refusal(grpc.StatusCode.UNAVAILABLE, "", "the stream ends again and again")
        try:
            async for update in _stream(client, place, patience, gap_after):
                patience.succeeded()
                if lost:
                    say("connected again")
                    lost = ""
                if not isinstance(update, Ended):
                    yield update
                elif update.why == "match_over":
                    return
                else:
                    reason = _why(update.why)
        except RefusedError as error:
            if not error.why.retried:
                raise error.why.failure(client.target) from None
            reason = f"the connection to {client.target.given} is lost"
            problem = error.why
        except _GapError:
            gap_after = place.sequence  # once more: if it is missing again, it is not to be had
            continue
        if not lost:
            lost = reason
            say(f"{reason}: trying again")
        if not await patience.failed():
            raise problem.failure(client.target)


def _why(ended: str) -> str:
    """Return why a stream ended that is to be taken up again, or raise where it is not."""
    if ended in _RESUMED:
        return _RESUMED[ended]
    why = _ENDS.get(ended, f"the server ended the stream: {ended}")
    raise Failure(why, ExitCode.REFUSED)


async def _stream(
    client: Client, place: Place, patience: Patience, gap_after: int
) -> AsyncGenerator[Update, None]:
    """Yield the updates of one stream; it moves `place` on, and passes over what was seen."""
    over = False
    async with contextlib.aclosing(client.watch(place.match_id, place.sequence)) as stream:
        while True:
            try:
                # Not wait_for(): Python 3.11's swallows a cancellation that comes with a message.
                async with asyncio.timeout(patience.quiet):
                    update = await anext(stream)
            except StopAsyncIteration:
                break
            except TimeoutError:
                why = "nothing was heard for too long"
                raise RefusedError(Refusal(grpc.StatusCode.UNAVAILABLE, "", why)) from None
            if isinstance(update, Happened):
                if update.sequence <= place.sequence:
                    continue
                if place.sequence not in (0, update.sequence - 1, gap_after):
                    raise _GapError
                over = over or isinstance(update.happening, MatchEnded)
            elif isinstance(update, Seen):
                if update.sequence < place.sequence:
                    continue
                over = over or bool(update.picture.result)
            if isinstance(update, Happened | Seen):
                place.sequence = update.sequence
            yield update
    if over:
        yield Ended(place.sequence, "match_over")


async def unbroken(
    begin: Callable[[], AsyncGenerator[_T, None]],
    where: Target,
    say: Callable[[str], None],
    patience: Patience,
) -> AsyncGenerator[_T, None]:
    """Yield what streams bring, one after the other; `begin` opens one from where it stands."""
    lost = False
    while True:
        problem = Refusal(grpc.StatusCode.UNAVAILABLE, "", "the stream ends again and again")
        try:
            async with contextlib.aclosing(begin()) as stream:
                while True:
                    # Not wait_for(): Python 3.11's swallows a cancellation with a message.
                    async with asyncio.timeout(patience.quiet):
                        news = await anext(stream)
                    patience.succeeded()
                    if lost:
                        lost = False
                        say("connected again")
                    yield news
        except (StopAsyncIteration, TimeoutError):
            pass  # it broke off without a word: see below
        except RefusedError as error:
            if not error.why.retried:
                raise
            problem = error.why
        if not lost:
            lost = True
            say(f"the stream of {where.given} broke off: trying again")
        if not await patience.failed():
            raise problem.failure(where)


async def insist(
    act: Callable[[], Awaitable[_T]],
    where: Target,
    say: Callable[[str], None],
    patience: Patience,
) -> _T:
    """Do one command that is safe to repeat, until the server `where` it goes answers it."""
    told = False
    while True:
        try:
            done = await act()
        except RefusedError as error:
            if not error.why.retried:
                raise
            if not told:
                told = True
                say(error.why.waiting(where))
            if not await patience.failed():
                raise
        else:
            patience.succeeded()
            return done
