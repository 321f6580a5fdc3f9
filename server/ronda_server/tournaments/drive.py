"""A driver's process as the server has it: started, listened to on a thread, and ended at once."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import signal
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final

from ronda_arena.tournament.executors.processes import end_with_parent, interrupts_held
from ronda_arena.worker import confine
from ronda_server.tournaments.told import Halted, Orders

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

_CONTEXT: Final = multiprocessing.get_context("spawn")


def settle() -> None:
    """Let the process be one of the server: it ends with it, and shows itself to nobody."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the server judges it
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=end_with_parent, daemon=True).start()
    confine.hide()


def _live(link: Connection, orders: Orders) -> None:
    """Drive: the life of the process."""
    settle()
    from ronda_server.tournaments import driver  # noqa: PLC0415 -- heavy, and for this process alone

    driver.drive(link, orders)


class Drive:
    """One driver, from its start to its end."""

    def __init__(
        self,
        orders: Any,
        hear: Callable[[Any], None],
        live: Callable[[Connection, Any], None] | None = None,
    ) -> None:
        """Start it; `hear` is told on the loop what it says.

        Its life is that of a tournament's driver, unless it is given another.
        """
        self._live = live or _live
        self._orders = orders
        self._hear = hear
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._process: SpawnProcess | None = None
        self._ended = False
        self._to_say: SimpleQueue[Any] = SimpleQueue()
        self.done: asyncio.Future[None] = self._loop.create_future()
        """When the process is gone."""
        threading.Thread(target=self._follow, name="driver", daemon=True).start()

    def say(self, word: object) -> None:
        """Tell it something, such as what came of a game that it wanted hosted."""
        self._to_say.put(word)

    async def end(self) -> None:
        """End it at once, and wait until it is gone."""
        await asyncio.to_thread(self._kill)
        await asyncio.shield(self.done)

    @property
    def pid(self) -> int:
        """The number of the process; 0 while there is none."""
        process = self._process
        return process.pid or 0 if process else 0

    def _kill(self) -> None:
        with self._lock:
            self._ended = True
            if self._process:
                self._process.kill()

    def _follow(self) -> None:
        try:
            link = self._start()
            if link:
                speaking = threading.Thread(target=self._speak, args=(link,), daemon=True)
                speaking.start()
                with link:
                    self._listen(link)
                    self._to_say.put(None)
                    speaking.join()
                assert self._process
                self._process.join()
        except OSError as problem:
            self._on_loop(self._hear, Halted("workers", f"no driver starts: {problem.strerror}"))
        finally:
            self._on_loop(self._leave)

    def _start(self) -> Connection | None:
        with self._lock:
            if self._ended:
                return None
            link, its = _CONTEXT.Pipe()
            with its:
                process = _CONTEXT.Process(
                    target=self._live, args=(its, self._orders), name="ronda-driver"
                )
                try:
                    with interrupts_held():
                        process.start()
                except BaseException:
                    link.close()
                    raise
            self._process = process
            return link

    def _listen(self, link: Connection) -> None:
        while True:
            try:
                told = link.recv()
            except (EOFError, OSError):  # it is gone, whatever it was about to say
                return
            self._on_loop(self._hear, told)

    def _speak(self, link: Connection) -> None:
        """Say what there is to say, on a thread: a driver that is slow to read holds up nobody."""
        while (word := self._to_say.get()) is not None:
            with contextlib.suppress(OSError):  # it is gone: the next one asks again
                link.send(word)

    def _on_loop(self, call: Callable[..., None], *told: object) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call, *told)

    def _leave(self) -> None:
        if not self.done.done():
            self.done.set_result(None)
