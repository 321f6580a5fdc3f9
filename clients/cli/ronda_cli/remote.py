"""Watching a match of a server, and sitting in one."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Final, NamedTuple

from ronda_cli import asking
from ronda_cli.asking import LeftError, PuzzledError
from ronda_cli.client import Client, Happened, RefusedError, Seen, Update, new_request_id
from ronda_cli.follow import Patience, Place, follow, insist
from ronda_cli.output import Interrupted
from ronda_cli.picture import Picture
from ronda_cli.stage import Stage
from ronda_cli.story import Cast, tell
from ronda_core.view import CardPlayed

_ASKED_AGAIN: Final = frozenset({"CARD_NOT_HELD", "FALSE_DECLARATION"})
_OVERTAKEN: Final = frozenset(
    {
        "ALREADY_DECLARED",
        "DECLARATION_CLOSED",
        "DECLARATION_PENDING",
        "MATCH_OVER",
        "NOT_YOUR_TURN",
        "STALE_SEQUENCE",
    }
)
"""What the stream explains: the state has moved on."""


class _Line(NamedTuple):
    """What a person has typed; None at the end of the input."""

    text: str | None


class _Stopped(NamedTuple):
    """The stream is over, by an error or by the end of the match."""

    error: BaseException | None


_Item = Update | _Line | _Stopped


class Sitting:
    """One viewer at one match: shows what comes, and asks where there is somebody to ask."""

    def __init__(
        self,
        client: Client,
        place: Place,
        stage: Stage,
        *,
        pace: float = 0.0,
        patience: Patience | None = None,
    ) -> None:
        self._client = client
        self._place = place
        self._stage = stage
        self._pace = pace
        self._patience = patience or Patience()
        self._queue: asyncio.Queue[_Item] = asyncio.Queue(1000)
        self._asked: tuple[str, int, int] | None = None
        self._played = False
        self.picture: Picture | None = None

    async def watch(self, known: Picture) -> None:
        """Show the match to its end; `known` says who sits where until a view does."""
        self.picture = known
        updates = follow(self._client, self._place, self._stage.say, self._patience)
        pump = asyncio.create_task(self._pump(updates))
        try:
            while not isinstance(item := await self._next(), _Stopped):
                if isinstance(item, _Line):
                    await self._answer(item)
                elif item is None:
                    self._show()
                else:
                    await self._take(item)
            if item.error:
                raise item.error
        finally:
            pump.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await pump

    async def sit(self, known: Picture) -> None:
        """Show the match and ask the person at the terminal."""
        read_lines(self._queue, asyncio.get_running_loop())
        await self.watch(known)

    async def _next(self) -> _Item | None:
        """Return what comes next, or None when it is time to draw the clock again."""
        try:
            return await asyncio.wait_for(self._queue.get(), 1.0)
        except TimeoutError:
            return None

    async def _pump(self, updates: AsyncIterator[Update]) -> None:
        error: BaseException | None = None
        try:
            async for update in updates:
                await self._queue.put(update)
        except asyncio.CancelledError:
            raise
        except Exception as found:  # noqa: BLE001 -- raised again where it is waited for
            error = found
        await self._queue.put(_Stopped(error))

    async def _take(self, update: Update) -> None:
        assert self.picture is not None
        if isinstance(update, Happened):
            self._played = isinstance(update.happening, CardPlayed)
            told = tell(update.happening, Cast(self.picture.names))
            if told:
                self._stage.tell(told)
        elif isinstance(update, Seen):
            self.picture = update.picture
            decision = self._decision()
            if decision and decision != self._asked:
                self._asked = decision
                self._ask()
            else:
                if not decision:
                    self._stage.answered()
                self._show()
                if self._played and self.picture.deadline is None:
                    await asyncio.sleep(self._pace)

    def _decision(self) -> tuple[str, int, int] | None:
        """Return what names the decision that is the viewer's to make now."""
        seen = self.picture
        if seen is None or not asking.question(seen):
            return None
        return seen.phase, seen.hand_number, seen.batch * 100 + 36 - len(seen.hand)

    def _ask(self) -> None:
        assert self.picture is not None
        self._stage.ask(self.picture, asking.question(self.picture))

    def _show(self) -> None:
        if self.picture is not None:
            self._stage.show(self.picture, self._bottom(self.picture))

    def _bottom(self, seen: Picture) -> str:
        waited = ", ".join(seen.names[seat] for seat in seen.waits_for)
        left = ""
        if seen.deadline is not None and waited:
            left = f", {max(seen.deadline - time.time(), 0):.0f} s left"
        return f"waiting for {waited}{left}" if waited else ""

    async def _answer(self, line: _Line) -> None:
        """Take what was typed: it counts only while something is asked."""
        seen = self.picture
        if line.text is None:
            raise Interrupted
        if asking.leaves(line.text):
            raise LeftError
        if seen is None or not self._decision():
            return
        try:
            command = self._command(line.text, seen)
        except PuzzledError as error:
            self._stage.say(str(error))
            self._ask()
            return
        self._stage.answered()
        try:
            await insist(command, self._stage.say, self._patience)
        except RefusedError as error:
            if error.why.reason not in _ASKED_AGAIN | _OVERTAKEN:
                raise error.why.failure(self._client.target.given) from None
            self._stage.say(error.why.text)
            if error.why.reason in _ASKED_AGAIN:
                self._ask()
            else:
                self._asked = None

    def _command(self, answer: str, seen: Picture) -> Callable[[], Awaitable[None]]:
        """Return the call that an answer means, the same however often it is made."""
        request_id = new_request_id()
        match_id, sequence = self._place.match_id, seen.sequence
        if seen.phase == "declare":
            declares = asking.declares(answer, seen)
            return lambda: self._client.declare(match_id, declares, sequence, request_id)
        card = asking.card_of(answer, seen.hand)
        return lambda: self._client.play(match_id, card, sequence, request_id)


def read_lines(queue: asyncio.Queue[_Item], loop: asyncio.AbstractEventLoop) -> None:
    """Put each line of stdin into a queue, from a thread that nobody has to wait for."""

    def read() -> None:
        for line in _lines():
            try:
                asyncio.run_coroutine_threadsafe(queue.put(_Line(line)), loop).result()
            except RuntimeError:  # the loop is closed: nobody listens
                return

    threading.Thread(target=read, daemon=True, name="stdin").start()


def _lines() -> Iterator[str | None]:
    """Yield the lines of stdin, then None.

    They are read below Python's buffer: its lock would be held while the interpreter ends.
    """
    try:
        fd = sys.stdin.fileno()
    except (OSError, ValueError):  # no file behind it
        yield from sys.stdin
        yield None
        return
    rest = b""
    while data := os.read(fd, 4096):
        *whole, rest = (rest + data).split(b"\n")
        for line in whole:
            yield line.decode("utf-8", "replace")
        rest = rest[-4096:]
    yield None
