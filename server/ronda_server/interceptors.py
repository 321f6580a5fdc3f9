"""The edge of every call: what it is counted as, and what an exception becomes.

One interceptor holds both, so that a call passes one frame and its code is known where it is
counted. An unknown exception is answered with a bare INTERNAL: grpc would send its text.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

import grpc
import structlog
from google.protobuf.message import DecodeError

from ronda_server.errors import DETAILS_KEY, Reason, ServiceError, to_status
from ronda_server.metrics import Metrics, code_label

_log = structlog.get_logger(__name__)

_Context = grpc.aio.ServicerContext[Any, Any]


class Edge(grpc.aio.ServerInterceptor):
    """Counts calls and translates what they raise."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._handlers: dict[str, Any] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Wrap the handler of a method, once."""
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        method: str = handler_call_details.method
        if method not in self._handlers:
            self._handlers[method] = self._wrap(method, handler)
        return self._handlers[method]

    def _wrap(self, method: str, handler: Any) -> Any:
        _, service, name = method.split("/")
        if handler.unary_unary:
            call = self._unary(handler.unary_unary, ("unary", service, name))
            return grpc.unary_unary_rpc_method_handler(
                call, _reader(handler.request_deserializer), handler.response_serializer
            )
        if handler.unary_stream:
            # Some handlers yield what they send; those of the health service write it.
            writes = inspect.iscoroutinefunction(handler.unary_stream)
            wrap = self._writing if writes else self._stream
            return grpc.unary_stream_rpc_method_handler(
                wrap(handler.unary_stream, ("server_stream", service, name)),
                _reader(handler.request_deserializer),
                _serializer(handler.response_serializer),
            )

        def talk(requests: AsyncIterator[Any], context: _Context) -> AsyncIterator[Any]:
            talking: AsyncIterator[Any] = handler.stream_stream(_all_whole(requests), context)
            return talking

        return grpc.stream_stream_rpc_method_handler(
            self._stream(talk, ("bidi_stream", service, name)),
            _reader(handler.request_deserializer),
            _serializer(handler.response_serializer),
        )

    def _unary(
        self, behaviour: Callable[[Any, _Context], Awaitable[Any]], labels: tuple[str, str, str]
    ) -> Callable[[Any, _Context], Awaitable[Any]]:
        metrics = self._metrics
        started = metrics.started.labels(*labels)
        seconds = metrics.seconds.labels(*labels)
        handled = metrics.handled
        ok = handled.labels(*labels, "OK")

        async def call(request: Any, context: _Context) -> Any:
            started.inc()
            began = time.perf_counter()
            try:
                response = await behaviour(_whole(request), context)
            except BaseException as problem:  # counted and raised again
                code = code_label(self._code(problem, labels[2]))
                handled.labels(*labels, code).inc()
                seconds.observe(time.perf_counter() - began)
                await _refuse(problem, context)
                raise
            ok.inc()
            seconds.observe(time.perf_counter() - began)
            return response

        return call

    def _stream(
        self,
        behaviour: Callable[[Any, _Context], AsyncIterator[Any]],
        labels: tuple[str, str, str],
    ) -> Callable[[Any, _Context], AsyncIterator[Any]]:
        metrics = self._metrics
        started = metrics.started.labels(*labels)
        sent = metrics.sent.labels(*labels)

        async def stream(request: Any, context: _Context) -> AsyncIterator[Any]:
            started.inc()
            code = "OK"
            try:
                async for response in behaviour(_whole(request), context):
                    yield response
                    sent.inc()
            except BaseException as problem:  # counted and raised again
                code = code_label(self._code(problem, labels[2]))
                await _refuse(problem, context)
                raise
            finally:
                metrics.handled.labels(*labels, code).inc()

        return stream

    def _writing(
        self, behaviour: Callable[[Any, _Context], Awaitable[None]], labels: tuple[str, str, str]
    ) -> Callable[[Any, _Context], Awaitable[None]]:
        metrics = self._metrics
        started = metrics.started.labels(*labels)

        async def stream(request: Any, context: _Context) -> None:
            started.inc()
            code = "OK"
            try:
                await behaviour(_whole(request), context)
            except BaseException as problem:  # counted and raised again
                code = code_label(self._code(problem, labels[2]))
                await _refuse(problem, context)
                raise
            finally:
                metrics.handled.labels(*labels, code).inc()

        return stream

    def _code(self, problem: BaseException, method: str) -> grpc.StatusCode:
        if isinstance(problem, ServiceError):
            return problem.code
        if isinstance(problem, NotImplementedError):  # of a standard service, by its library
            return grpc.StatusCode.UNIMPLEMENTED
        if isinstance(problem, asyncio.CancelledError | GeneratorExit):
            return grpc.StatusCode.CANCELLED
        if isinstance(problem, grpc.aio.AbortError):
            return grpc.StatusCode.UNKNOWN
        self._metrics.errors.inc()
        # The type and the place say enough for a developer; the text may hold a card.
        _log.error(
            "unknown exception", method=method, problem=type(problem).__name__, at=_place(problem)
        )
        return grpc.StatusCode.INTERNAL


async def _refuse(problem: BaseException, context: _Context) -> None:
    """Abort the call with what its caller may know; what grpc itself handles passes by."""
    if isinstance(problem, asyncio.CancelledError | GeneratorExit | grpc.aio.AbortError):
        return
    if isinstance(problem, NotImplementedError):
        await context.abort(grpc.StatusCode.UNIMPLEMENTED, "there is no such method")
    error = problem if isinstance(problem, ServiceError) else ServiceError(Reason.INTERNAL)
    details = ((DETAILS_KEY, to_status(error).SerializeToString()),)
    await context.abort(error.code, error.message, details)


def _place(problem: BaseException) -> str:
    frame = problem.__traceback__
    while frame and frame.tb_next:
        frame = frame.tb_next
    return (
        f"{frame.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{frame.tb_lineno}" if frame else ""
    )


_MOST_BYTES: Final = 16 * 1024
"""Of a request. The transport takes more, so that what is somewhat larger is told the reason."""


def _reader(read: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """Return a deserializer that never fails: grpc would answer with the parser's words.

    Instead of a request it returns why there is none.
    """

    def reading(data: bytes) -> Any:
        if len(data) > _MOST_BYTES:
            return Reason.MESSAGE_TOO_LARGE
        try:
            return read(data)
        except DecodeError:
            return Reason.REQUEST_INVALID

    return reading


def _whole(request: Any) -> Any:
    if isinstance(request, Reason):
        raise ServiceError(request)
    return request


async def _all_whole(requests: AsyncIterator[Any]) -> AsyncIterator[Any]:
    async for request in requests:
        yield _whole(request)


def _serializer(serialize: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    """Return a serializer that lets through what is serialised already."""

    def through(message: Any) -> bytes:
        return message if isinstance(message, bytes) else serialize(message)

    return through
