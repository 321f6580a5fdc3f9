"""As much of HTTP/2 as it takes to be a rude client."""

from __future__ import annotations

import asyncio
import struct
from typing import Final, Self

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS = 0, 1, 3, 4
_END_STREAM, _END_HEADERS = 1, 4
_CANCEL: Final = struct.pack(">I", 8)


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return one frame."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + _int(stream) + payload


def call(stream: int, path: bytes) -> bytes:
    """Return the frames of a call without content."""
    return frame(_HEADERS, _END_HEADERS, stream, _headers(path)) + frame(
        _DATA, _END_STREAM, stream, bytes(5)
    )


def reset(stream: int) -> bytes:
    """Return the frame by which a client gives a call up."""
    return frame(_RESET, 0, stream, _CANCEL)


class Rude:
    """A connection that says what it likes."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._writer: asyncio.StreamWriter
        self._drained: asyncio.Task[bytes]

    async def __aenter__(self) -> Self:
        host, _, port = self._address.rpartition(":")
        reader, self._writer = await asyncio.open_connection(host, int(port))
        self._drained = asyncio.create_task(reader.read())
        await self.say(_PREFACE + frame(_SETTINGS, 0, 0))
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()
        await asyncio.gather(self._drained, self._writer.wait_closed(), return_exceptions=True)

    async def say(self, data: bytes) -> None:
        """Send bytes."""
        self._writer.write(data)
        await self._writer.drain()

    async def hung_up(self) -> None:
        """Wait until the server closes the connection."""
        await asyncio.wait_for(asyncio.shield(self._drained), 10)


def _headers(path: bytes) -> bytes:
    fields = [
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":path", path),
        (b":authority", b"ronda"),
        (b"content-type", b"application/grpc"),
        (b"te", b"trailers"),
    ]
    return b"".join(b"\x00" + _text(name) + _text(value) for name, value in fields)


def _text(value: bytes) -> bytes:
    return bytes([len(value)]) + value  # under 127 bytes


def _int(value: int) -> bytes:
    return struct.pack(">I", value)
