"""The end of the socket that has the bot: asked, it answers; nothing else ever comes of itself.

All of it runs beside a stranger's code, which can change anything here. It needs no trust: the
other end believes nothing but the number of a card, and that only where it fits.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import sys
import traceback
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Final, NoReturn

from ronda_arena.worker import source, wire
from ronda_arena.worker.wire import ASK, SAY, Ask, Say
from ronda_bots.about import UnfitError, about, said
from ronda_bots.api import SeatInfo
from ronda_core.cards import CARDS, Card

SOCKET: Final = 3
STAGES: Final = (
    "it was imported",
    "it was made",
    "it was told an event",
    "it was asked to declare",
    "it was asked to play",
)
"""Where a bot may crash, by the first byte of a crash's body."""
HASH_SEED: Final = "PYTHONHASHSEED"
"""What the chance of a worker's process follows, beside what its bot is given."""
_IMPORT, _MAKE, _OBSERVE, _DECLARE, _PLAY = range(5)
_READ: Final = 1 << 16


class _CrashError(Exception):
    def __init__(self, stage: int) -> None:
        super().__init__(stage)
        self.stage = stage


def serve() -> NoReturn:
    """Answer what is asked until nobody asks any more."""
    seat = _Seat()
    buffer = b""
    while True:
        while len(buffer) < ASK.size:
            buffer += _more()
        length, kind, number = ASK.unpack_from(buffer)
        while len(buffer) < ASK.size + length:
            buffer += _more()
        body, buffer = buffer[ASK.size : ASK.size + length], buffer[ASK.size + length :]
        os.write(SOCKET, _answer(seat, kind, number, body))


def _more() -> bytes:
    data = os.read(SOCKET, _READ)
    if not data:
        os._exit(0)
    return data


def _answer(seat: _Seat, kind: int, number: int, body: bytes) -> bytes:
    try:
        what, value = _ANSWERS[kind](seat, body)
    except _CrashError as crash:
        error = crash.__cause__
        assert error is not None
        traceback.print_exception(error.with_traceback(_own_frames(error)))
        name = type(error).__name__.encode("ascii", "replace")[:40]
        what, value = Say.CRASH, bytes([crash.stage]) + name
    if isinstance(value, bytes):
        return SAY.pack(what, number, len(value)) + value
    return SAY.pack(what, number, value)


def _own_frames(error: BaseException) -> TracebackType | None:
    """Return the traceback of an error from the bot's own code on."""
    trace = error.__traceback__
    while trace:
        name = str(trace.tb_frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] not in ("ronda_arena", "importlib"):
            break
        trace = trace.tb_next
    return trace


class _Seat:
    """The bot, once it is made, and what it does."""

    info: SeatInfo
    _play: Callable[[Any], object]
    _declare: Callable[[Any], object] | None
    _observe: Callable[[Any], object] | None

    def make(self, body: bytes) -> tuple[Say, int]:
        """Import the class and make the bot."""
        path, module, attribute, seat, seed = wire.unpack(body)
        bot_class = _load(path, module, attribute)
        self.info = wire.unpack_seat(seat)
        seed = int.from_bytes(seed, "big")
        # So that even what uses the module's own chance repeats.
        random.seed(seed + int(os.environ.get(HASH_SEED, "0")))
        try:
            bot = bot_class(self.info, random.Random(seed))
            self._play = bot.play
            self._declare = _method(bot, "declare")
            self._observe = _method(bot, "observe")
        except BaseException as error:
            raise _CrashError(_MAKE) from error
        observes = wire.OBSERVES if self._observe else 0
        return Say.DONE, observes | (wire.DECIDES if self._declare else 0)

    def play(self, body: bytes) -> tuple[Say, int]:
        """Ask for a card."""
        view, events = wire.unpack_decision(body, self.info)
        self._tell(events)
        try:
            answer = self._play(view)
        except BaseException as error:
            raise _CrashError(_PLAY) from error
        if type(answer) is Card:
            return Say.CARD, answer
        if isinstance(answer, int) and not isinstance(answer, bool) and 0 < answer < len(CARDS):
            return Say.CARD, int(answer)
        _complain("play()", answer)
        return Say.NONSENSE, 0

    def declare(self, body: bytes) -> tuple[Say, int]:
        """Ask whether to declare."""
        view, events = wire.unpack_decision(body, self.info)
        self._tell(events)
        assert self._declare is not None
        try:
            answer = self._declare(view)
        except BaseException as error:
            raise _CrashError(_DECLARE) from error
        if answer is True or answer is False:
            return Say.ANSWER, int(answer)
        _complain("declare()", answer)
        return Say.NONSENSE, 0

    def tell(self, body: bytes) -> tuple[Say, int]:
        """Tell the bot the last events."""
        self._tell([wire.unpack_event(event) for event in wire.unpack(body)])
        return Say.DONE, 0

    def _tell(self, events: Sequence[Any]) -> None:
        if self._observe is None:
            return
        try:
            for event in events:
                self._observe(event)
        except BaseException as error:
            raise _CrashError(_OBSERVE) from error


def _method(bot: object, name: str) -> Callable[[Any], object] | None:
    method = getattr(bot, name, None)
    return method if callable(method) else None


def _load(path: Sequence[str], module: str, attribute: str) -> Any:
    # Before others: what a bot has brought itself is meant, whatever else is installed here.
    sys.path[:0] = [folder for folder in path if folder not in sys.path]
    if path:  # else it comes with ronda
        source.only(module.partition(".")[0])
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except BaseException as error:
        raise _CrashError(_IMPORT) from error
    return found


def _complain(method: str, answer: object) -> None:
    """Tell the bot's author, who alone reads this, what was answered."""
    try:
        told = f"{answer!s} ({type(answer).__name__})"[:500]
    except BaseException:  # noqa: BLE001 -- it is a stranger's
        told = "something that cannot be shown"
    print(f"{method} answered {told}", file=sys.stderr)  # noqa: T201 -- its log


def _about(_seat: _Seat, body: bytes) -> tuple[Say, bytes]:
    path, module, attribute = wire.unpack(body)
    try:
        version, description = about(_load(path, module, attribute))
    except UnfitError as unfit:
        told = {"problem": str(unfit)}
    except BaseException as error:  # noqa: BLE001 -- it may even call sys.exit(): that is told
        told = {"problem": f"cannot be imported: {said(error.__cause__ or error)}"}
    else:
        told = {"version": version, "description": description[:200]}
    return Say.TEXT, json.dumps(told).encode()


def _canaries(_seat: _Seat, _body: bytes) -> tuple[Say, bytes]:
    from ronda_arena.worker import canaries  # noqa: PLC0415 -- only a probe has them

    return Say.TEXT, json.dumps(canaries.sing()).encode()


_ANSWERS: Final[dict[int, Callable[[_Seat, bytes], tuple[Say, int | bytes]]]] = {
    Ask.ABOUT: _about,
    Ask.MAKE: _Seat.make,
    Ask.PLAY: _Seat.play,
    Ask.DECLARE: _Seat.declare,
    Ask.TELL: _Seat.tell,
    Ask.CANARIES: _canaries,
}
