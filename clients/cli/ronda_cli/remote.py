"""Watching a match of a server, and sitting in one."""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, NamedTuple

from ronda_cli import asking
from ronda_cli.asking import LeftError, PuzzledError
from ronda_cli.client import Client, new_request_id
from ronda_cli.fold import advance
from ronda_cli.follow import Patience, Place, follow, insist
from ronda_cli.output import is_terminal
from ronda_cli.picture import Picture
from ronda_cli.stage import Stage
from ronda_cli.story import Cast, tell
from ronda_cli.typed import Line, read_lines
from ronda_cli.updates import Happened, RefusedError, Seen, Update
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


class _Stopped(NamedTuple):
    """The stream is over, by an error or by the end of the match."""

    error: BaseException | None


_Item = Update | Line | _Stopped


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
        self._sits = False
        self._asks = False
        self._typed: deque[str | None] = deque()
        self.picture: Picture | None = None

    async def watch(self, known: Picture) -> None:
        """Show the match to its end; `known` says who sits where until a view does."""
        self.picture = known
        updates = follow(self._client, self._place, self._stage.say, self._patience)
        pump = asyncio.create_task(self._pump(updates))
        try:
            while not isinstance(item := await self._next(), _Stopped):
                if isinstance(item, Line):
                    self._typed.append(item.text)
                    await self._read()
                elif item is None:
                    self._show()  # the time that is left
                else:
                    await self._take(item)
            if item.error:
                raise item.error
        finally:
            pump.cancel()
            await asyncio.wait([pump])  # which keeps its cancellation apart from one of ours

    async def sit(self, known: Picture) -> None:
        """Show the match and ask the person at the terminal."""
        self._sits = True
        read_lines(self._queue.put, asyncio.get_running_loop())
        await self.watch(known)

    async def _next(self) -> _Item | None:
        """Return what comes next, or None when it is time to draw the clock again."""
        try:
            async with asyncio.timeout(1.0):  # not wait_for(): see follow
                return await self._queue.get()
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
            told = tell(update.happening, Cast(self.picture.names))
            if told:
                self._stage.tell(told)
            self.picture = advance(self.picture, update.happening, update.sequence)
            if self._asks and self._decision() != self._asked:  # it was made, by whom ever
                self._asks = False
                self._stage.answered()
            if isinstance(update.happening, CardPlayed):
                await self._look(update.happening.play.seat)
        elif isinstance(update, Seen):
            self.picture = update.picture
            decision = self._decision()
            if decision and decision != self._asked:
                self._asked = decision
                self._ask()
                await self._read()
            else:
                if not decision:
                    self._asks = False
                    self._stage.answered()
                self._show()

    async def _look(self, seat: int) -> None:
        """Let a play of somebody else be looked at, where no clock runs."""
        assert self.picture is not None
        if self._pace and seat != self.picture.seat and self.picture.deadline is None:
            self._show()
            await asyncio.sleep(self._pace)  # to be looked at

    def _decision(self) -> tuple[str, int, int] | None:
        """Return what names the decision that is the viewer's to make now."""
        seen = self.picture
        if seen is None or not self._sits or not asking.question(seen):
            return None
        return seen.phase, seen.hand_number, seen.batch * 100 + 36 - len(seen.hand)

    def _ask(self) -> None:
        self._asks = True
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

    async def _read(self) -> None:
        """Take what was typed: as an answer while something is asked, else only to leave."""
        while self._typed:
            line = self._typed[0]
            if line is not None and asking.leaves(line):
                raise LeftError
            if not self._asks:
                if is_terminal(sys.stdin):  # an impatient Enter is no answer to what comes next
                    self._typed.popleft()
                return
            self._typed.popleft()
            if line is None:  # the end of the input: nobody is there to answer any more
                raise LeftError
            await self._answer(line)

    async def _answer(self, line: str) -> None:
        seen = self.picture
        assert seen is not None
        try:
            command = self._command(line, seen)
        except PuzzledError as error:
            self._stage.say(str(error))
            self._ask()
            return
        self._asks = False
        self._stage.answered()
        try:
            await insist(command, self._client.target, self._stage.say, self._patience)
        except RefusedError as error:
            if error.why.reason not in _ASKED_AGAIN | _OVERTAKEN:
                raise error.why.failure(self._client.target) from None
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
