"""Games played on Dask: a scheduler and workers that are processes of their own, anywhere.

`dask_worker` starts both. Only these two modules know Dask; it is the extra `dask`.

- A worker that dies: Dask has what it was given done again by another one. What has ended four
  workers comes back as lost.
- A scheduler that is gone is waited for, at the same address. What was under way is then handed
  out again: nobody can know what became of it, and a game is the same however often it is played.
- Workers say what they offer when they start: a version of ronda, and bots. Dask gives games only
  to those that offer all that is needed; of any other the driver says what it lacks.

Keys are random, and what is sent shows no more of itself than how much it is: the secret of the
deals is in no log and on no dashboard. It is on the wire, and with whoever is at the other end, so
a scheduler and its workers must be trusted like the driver: see `distributed`'s TLS for networks
that are not.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import uuid
from collections.abc import Callable, Coroutine, Generator, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack, suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, TypeVar

from ronda_arena.code import code
from ronda_arena.discovery import discover
from ronda_arena.isolation import IsolationError
from ronda_arena.tournament.codes import check
from ronda_arena.tournament.executors import ExecutorError
from ronda_arena.tournament.executors.chunks import Chunks, Losses, Pace, alone, fault_words
from ronda_arena.tournament.play import Play, table
from ronda_arena.tournament.spec import SHOWN_CODE
from ronda_arena.tournament.tasks import Contract, Played, Task
from ronda_bots.installed import OURS
from ronda_bots.registry import BotNotFoundError, Registry

try:
    from distributed import Client, KilledWorker
except ImportError as missing:
    message = f"games on Dask need the extra dask ({missing.name} is missing): "
    raise ImportError(message + "pip install 'ronda[dask]'") from None

_T = TypeVar("_T")

_SECONDS: Final = 0.5
"""Of games of a chunk."""
_DEPTH: Final = 2
"""Chunks under way for each worker."""
_LOOK_SECONDS: Final = 2.0
"""Between looks at who is there."""
_ONE_TRY_SECONDS: Final = 5.0
"""For the scheduler to answer, each time it is asked."""
_CODE: Final = " of code "
"""Between a bot and the digest of its code, in what workers offer."""
_TABLES: Final = 4
"""Tournaments that a worker keeps a table for."""


class Order:
    """Games for a worker, and what they are played under. It shows nothing of that."""

    __slots__ = ("contract", "tasks")

    def __init__(self, contract: Contract, tasks: tuple[Task, ...]) -> None:
        self.contract = contract
        self.tasks = tasks

    def __repr__(self) -> str:
        return f"<Order of {len(self.tasks)} games>"


class Answer(NamedTuple):
    """What a worker says to an order."""

    played: list[Played]
    seconds: float
    refusal: Exception | None = None
    """Why it cannot be played, which is no fault of a bot."""

    def __repr__(self) -> str:
        return f"<Answer of {len(self.played)} games>"


class Dask:
    """Plays on the workers of a Dask scheduler."""

    def __init__(
        self,
        address: str,
        contract: Contract,
        registry: Registry,
        *,
        patience: float = 600.0,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Connect to nothing yet.

        `BotNotFoundError` if a bot of the plan is not installed here as it was.

        `patience`: seconds for which a scheduler that does not answer is waited for. `note` is
        called, in any thread, with a sentence about what is waited for and who is left out.
        """
        check(contract.plan, {name: registry.find(name) for name in contract.plan.installed})
        self._contract = contract
        self._cluster = _Cluster(address, needs(contract), patience, note)
        self._pace = Pace(_SECONDS)
        self._under_way: set[Future[Any]] = set()
        self._loop: asyncio.AbstractEventLoop
        self._thread: threading.Thread

    def __enter__(self) -> Self:
        """Connect; `ExecutorError` if nobody answers, or nobody who answers can play."""
        # What it would log of a scheduler that is gone, `note` and the errors here say in words.
        logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="dask", daemon=True)
        self._thread.start()
        try:
            self._start(self._cluster.look()).result()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Hang up. What a worker plays just now it plays to its end, for nobody."""
        self._end()

    @property
    def width(self) -> int:
        """How many workers there are just now, as far as is known."""
        return max(1, self._cluster.workers)

    def play(self, tasks: Iterator[Task]) -> Generator[Sequence[Played]]:
        """Yield what came of the tasks, a chunk at a time, as they are done.

        `BotNotFoundError`, `IsolationError` as `play.table` raises them on a worker.
        """
        losses = Losses()
        chunks = Chunks(tasks)
        done: SimpleQueue[Future[Answer]] = SimpleQueue()
        under_way: dict[Future[Answer], tuple[Task, ...]] = {}
        watch = self._start(self._cluster.watch())
        watch.add_done_callback(done.put)
        try:
            while True:
                depth = 1 if any(map(alone, under_way.values())) else _DEPTH
                while len(under_way) < depth * self.width:
                    chunk = chunks.take(self._pace.size)
                    if not chunk:
                        break
                    future = self._start(self._cluster.play(Order(self._contract, chunk)))
                    under_way[future] = chunk
                    future.add_done_callback(done.put)
                if not under_way:
                    return
                future = done.get()
                answer = future.result()  # the watch ends only by raising
                chunk = under_way.pop(future)
                if answer.refusal is not None:
                    raise answer.refusal
                if answer.seconds and not alone(chunk):
                    self._pace.took(len(chunk), answer.seconds)
                yield answer.played
                losses.over(answer.played)
        finally:
            for future in (watch, *under_way):
                future.cancel()

    def _start(self, work: Coroutine[Any, Any, _T]) -> Future[_T]:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)
        return future

    def _end(self) -> None:
        for future in tuple(self._under_way):
            future.cancel()
        with suppress(TimeoutError):  # a scheduler that is gone takes no leave
            self._start(self._hang_up()).result(2 * _ONE_TRY_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _hang_up(self) -> None:
        """Hang up, and let everything that was under way end."""
        await self._cluster.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others, timeout=_ONE_TRY_SECONDS)


class _Cluster:
    """A scheduler and who works for it, as the driver's event loop has them."""

    def __init__(
        self,
        address: str,
        needed: frozenset[str],
        patience: float,
        note: Callable[[str], None],
    ) -> None:
        self.workers = 0
        """That can play."""
        self._address = address
        self._needed = needed
        self._patience = patience
        self._note = note
        self._client: Client | None = None
        self._connecting = asyncio.Lock()
        self._left_out: set[str] = set()
        self._alone = False

    async def look(self) -> None:
        """Connect, and look who is there."""
        while True:
            client = await self._connected()
            try:
                return await self._look_with(client)
            except (CancelledError, OSError):  # the scheduler is gone again
                await self._lost(client)

    async def close(self) -> None:
        """Hang up."""
        if self._client is not None:
            await self._leave(self._client)

    async def watch(self) -> Answer:
        """Look who is there, again and again; it ends only by raising."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            await self.look()

    async def play(self, order: Order) -> Answer:
        """Have an order played, however often the scheduler is lost meanwhile."""
        while True:
            client = await self._connected()
            try:
                return await self._submit(client, order)
            except KilledWorker as killed:
                why = f"{killed.allowed_failures + 1} workers ended while they played it"
                return Answer([Played(task, None, None, why) for task in order.tasks], 0.0)
            except (CancelledError, OSError):  # the scheduler is gone, and with it all it knew
                await self._lost(client)

    async def _submit(self, client: Client, order: Order) -> Answer:
        future = client.submit(
            play,
            order,
            key=f"ronda-{uuid.uuid4().hex}",
            pure=False,
            retries=0,
            resources=dict.fromkeys(self._needed, 1),
        )
        answer: Answer = await future
        return answer

    async def _look_with(self, client: Client) -> None:
        """Count who can play, and say who cannot; `ExecutorError` if there are only such."""
        offers: dict[str, list[str]] = await client.run_on_scheduler(_offered)
        lacking = {at: lacks(self._needed, has) for at, has in sorted(offers.items())}
        for worker, words in lacking.items():
            if words and worker not in self._left_out:
                self._note(f"the worker at {worker} is left out: {words}")
        self._left_out = {worker for worker, words in lacking.items() if words}
        self.workers = len(offers) - len(self._left_out)
        if self._left_out and not self.workers:
            worker = min(self._left_out)
            message = f"no worker of {self._address} can play; the one at {worker}: "
            raise ExecutorError(message + lacking[worker])
        if self.workers:
            self._alone = False
        elif not self._alone:
            self._alone = True
            self._note(
                f"{self._address} has no workers: start some with"
                f" `ronda tournament worker --scheduler {self._address}`"
            )

    async def _connected(self) -> Client:
        """Return a connection, waiting for the scheduler as long as there is patience."""
        async with self._connecting:
            if self._client is not None and self._client.status != "running":
                await self._leave(self._client)
                self._client = None
            if self._client is None:
                self._client = await self._connect()
            return self._client

    async def _connect(self) -> Client:
        until = time.monotonic() + self._patience
        told = False
        while True:
            left = until - time.monotonic()
            client = Client(
                self._address,
                asynchronous=True,
                set_as_default=False,
                timeout=max(0.1, min(left, _ONE_TRY_SECONDS)),
                name="ronda",
            )
            try:
                await self._entered(client)
            except (OSError, TimeoutError) as problem:
                silent = f"no Dask scheduler answers at {self._address}"
                if not told:
                    told = True
                    self._note(f"{silent}: waiting up to {self._patience:g} s")
                if time.monotonic() >= until:
                    raise ExecutorError(f"{silent}: waited {self._patience:g} s") from problem
                continue
            if told:
                self._note(f"the scheduler at {self._address} answers")
            return client

    async def _entered(self, client: Client) -> None:
        """Connect; a connection that was not made is closed, so that nobody else tries to."""
        try:
            await client
        except BaseException:
            await self._leave(client)
            raise

    async def _lost(self, client: Client) -> None:
        """Give up a connection, once for all who had it."""
        async with self._connecting:
            if self._client is client:
                self._client = None
                await self._leave(client)

    async def _leave(self, client: Client) -> None:
        try:
            with suppress(OSError, TimeoutError, CancelledError):  # it is gone anyway
                await asyncio.wait_for(client.close(), _ONE_TRY_SECONDS)
        finally:
            client.status = "closed"  # else it would close itself when the loop is gone


def needs(contract: Contract) -> frozenset[str]:
    """Return what a worker must offer to play these games."""
    plan = contract.plan
    codes = {_with_code(bot, of) for bot, of in plan.code if of}
    return frozenset({_ronda(), *plan.installed, *codes})


def offers(registry: Registry) -> frozenset[str]:
    """Return what a worker with these bots offers."""
    bots = [bot.identity for bot in registry.bots]
    codes = {_with_code(bot.identity, code(bot)) for bot in registry.bots}
    return frozenset({_ronda(), *bots, *codes})


def lacks(needed: frozenset[str], offered: Sequence[str]) -> str:
    """Return in words what a worker lacks; empty if nothing."""
    missing = sorted(needed - set(offered))
    if not missing:
        return ""
    theirs = [one for one in offered if one.startswith(f"{OURS} ")]
    if not theirs:
        return "it was not started by `ronda tournament worker`"
    if _ronda() in missing:
        return f"it has {theirs[0]}, and this is {_ronda()}"
    bots = [one for one in missing if _CODE not in one]
    if bots:
        return f"it lacks {', '.join(bots)}"
    changed = [one.partition(_CODE)[0] for one in missing]
    return f"it has {', '.join(changed)} with other code than the tournament was begun with"


def _with_code(identity: str, of: str) -> str:
    return f"{identity}{_CODE}{of[:SHOWN_CODE]}"


def _ronda() -> str:
    return f"{OURS} {version(OURS)}"


def _offered(dask_scheduler: Any) -> dict[str, list[str]]:
    """Return what every worker offers; run by the scheduler."""
    return {at: list(state.resources) for at, state in dask_scheduler.workers.items()}


# What a worker does --------------------------------------------------------------------------


@cache
def installed_bots(home: Path | None) -> Registry:
    """Return the bots that a worker has with those that are kept in `home`; looked for once."""
    return discover(home=home)


class _Tables:
    """The tables of a worker, the last used last: each has a nursery with a template."""

    def __init__(self) -> None:
        self.home: Path | None = None
        """Where bots are kept beside the environment; None: in the usual place."""
        self._open: dict[Contract, tuple[Play, ExitStack]] = {}

    def play(self, contract: Contract) -> Play:
        """Return what plays under a contract."""
        if contract not in self._open:
            if len(self._open) >= _TABLES:
                _, eldest = self._open.pop(next(iter(self._open)))
                eldest.close()
            closing = ExitStack()
            playing = closing.enter_context(table(contract, installed_bots(self.home)))
            self._open[contract] = playing, closing
        self._open[contract] = self._open.pop(contract)
        return self._open[contract][0]


tables: Final = _Tables()
"""Of this process, if it is a worker."""


def play(order: Order) -> Answer:
    """Play the games of an order; run by a worker, in its one thread.

    It raises nothing: Dask would log the text of what is raised.
    """
    try:
        playing = tables.play(order.contract)
        began = time.perf_counter()
        played = [playing(task) for task in order.tasks]
        return Answer(played, time.perf_counter() - began)
    except (BotNotFoundError, IsolationError) as refused:
        return Answer([], 0.0, refused)
    except Exception as fault:  # noqa: BLE001 -- a fault of ours: named where somebody reads it
        return Answer([], 0.0, ExecutorError(fault_words(fault)))
