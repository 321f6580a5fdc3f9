"""What the service under test is to its callers, wherever it runs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, Final, NamedTuple

import prometheus_client
from google.protobuf.message import Message
from prometheus_client.samples import Sample

from ronda_server import app

EPOCH: Final = 1_800_000_000_000_000
"""When every run begins, in microseconds since 1970."""
STEP: Final = 0.001
"""Seconds that pass with everything that is asked."""


class Answer(NamedTuple):
    """What a caller gets: a message, or a status with its details and trailing metadata."""

    code: str
    details: str
    trailing: tuple[tuple[str, str | bytes], ...]
    body: bytes

    @property
    def ok(self) -> bool:
        """The call was taken."""
        return self.code == "OK"


class Stream:
    """What came over one stream, and how it ended."""

    def __init__(self, match_id: str, views: bool) -> None:
        self.match_id = match_id
        self.views = views
        """It asked for a view after every step."""
        self.frames: list[tuple[int, bytes]] = []
        self.end: Answer | None = None
        self.open = asyncio.Event()
        """While it is clear the reader reads nothing."""
        self.open.set()
        self.task: asyncio.Task[None]

    async def close(self) -> None:
        """Hang up."""
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):  # it was asked to
            await self.task


class Service:
    """A server under test, as its callers see it."""

    simulated: bool
    """Time can be made to pass."""

    def __init__(self, server: app.Server) -> None:
        self.server = server

    def now(self) -> int:
        """Return the time in microseconds that the server goes by."""
        raise NotImplementedError

    async def unary(self, method: str, request: Message, token: str) -> Answer:
        """Call a method."""
        raise NotImplementedError

    def frames(self, method: str, request: Message, token: str) -> AsyncIterator[bytes]:
        """Open a stream."""
        raise NotImplementedError

    async def settle(self, opened: Sequence[Stream]) -> None:
        """Let everything happen that follows from what was asked, and a little time pass."""
        raise NotImplementedError

    async def restart(self) -> None:
        """Stop the server and start it again on what it has stored."""
        raise NotImplementedError

    async def advance(self, seconds: float) -> None:
        """Let time pass."""
        raise NotImplementedError

    def metrics(self) -> str:
        """Return what the metrics port would answer, in full."""
        return prometheus_client.generate_latest(self.server.metrics.registry).decode()

    def samples(self) -> str:
        """Return the numbers of the metrics, a sample a line: quicker, and as telling."""
        return "\n".join(
            f"{sample.name} {sample.labels} {sample.value}"
            for family in self.server.metrics.registry.collect()
            for sample in family.samples
            if not is_wall_time(sample)
        )

    def watch(self, method: str, request: Any, token: str) -> Stream:
        """Open a stream and read it as it comes."""
        stream = Stream(request.match_id, request.include_views)
        frames = self.frames(method, request, token)

        async def read() -> None:
            try:
                while True:
                    await stream.open.wait()
                    frame = await anext(frames, None)
                    if frame is None:
                        stream.end = Answer("OK", "", (), b"")
                        return
                    stream.frames.append((self.now(), frame))
            except RefusedError as refused:
                stream.end = refused.answer

        stream.task = asyncio.get_running_loop().create_task(read())
        return stream


class RefusedError(Exception):
    """A stream ended with a status."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.code)
        self.answer = answer


def is_wall_time(sample: Sample) -> bool:
    """Say whether a sample is wall time by nature: how long calls took, when a counter was made."""
    name = sample.name
    return name.endswith(("_created", "_seconds_sum")) or (
        name.endswith("_seconds_bucket") and sample.labels.get("le") != "+Inf"
    )
