"""A gRPC server on one address that gets up again when it falls.

grpc.aio ends its accepting loop for good at a request whose path is not UTF-8: one frame from a
stranger would close the door for everybody while the process seems well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import grpc
import structlog

from ronda_server.errors import ConfigError

_log = structlog.get_logger(__name__)

_LOOK_SECONDS: Final = 0.05
"""Between looks at whether it still accepts, and between attempts to accept again."""

AddTo = Callable[[grpc.aio.Server], object]
"""Adds services to a server."""


class Listener:
    """A gRPC server, and whatever follows it on the same address.

    `add_to` adds its services; `ConfigError` if the address cannot be had.
    """

    def __init__(
        self,
        address: str,
        add_to: AddTo,
        interceptors: Sequence[grpc.aio.ServerInterceptor],
        options: Sequence[tuple[str, Any]],
    ) -> None:
        def build() -> grpc.aio.Server:
            server = grpc.aio.server(interceptors=interceptors, options=options)
            add_to(cast("grpc.aio.Server", _ByName(server)))
            return server

        self._build = build
        self._server = build()
        self.port = _bind(self._server, address)
        if not self.port:
            raise ConfigError(cannot_listen(address))
        host, _, _ = address.rpartition(":")
        self._address = f"{host}:{self.port}"
        self._watch: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Accept calls."""
        await self._server.start()
        self._watch = asyncio.get_running_loop().create_task(self._stand())

    async def stop(self, grace: float) -> None:
        """Accept no more, and give the calls that run `grace` seconds."""
        if self._watch:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
        await self._server.stop(grace)

    async def _stand(self) -> None:
        """Put a new server in the place of one that accepts no more."""
        while True:
            try:
                await self._server.wait_for_termination(_LOOK_SECONDS)
            except Exception as problem:  # noqa: BLE001 # whatever it fell over
                _log.error("a listener fell", problem=type(problem).__name__)
                # Nobody stops the one that fell: its calls go on, and to destroy it under them
                # would end the process.
                self._server = self._build()
                while not _bind(self._server, self._address):  # noqa: ASYNC110 # not let go of yet
                    await asyncio.sleep(_LOOK_SECONDS)  # it is being let go of
                await self._server.start()


class _ByName:
    """What generated code adds its services to, so that every method is looked up by its name.

    Methods known to the core one by one are called past the accepting loop: of one that has fallen
    a last call would wait for ever.
    """

    def __init__(self, server: grpc.aio.Server) -> None:
        self._server = server

    def add_generic_rpc_handlers(self, handlers: Sequence[grpc.GenericRpcHandler]) -> None:
        self._server.add_generic_rpc_handlers(handlers)

    def add_registered_method_handlers(self, *_: object) -> None:
        """Leave it at their names."""


def _bind(server: grpc.aio.Server, address: str) -> int:
    """Return the port that `server` listens on, 0 if it cannot."""
    try:
        return server.add_insecure_port(address)
    except RuntimeError:
        return 0


def cannot_listen(address: str) -> str:
    """Return what is said of an address that cannot be had."""
    return f"cannot listen on {address}: is it in use?"
