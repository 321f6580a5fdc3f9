"""The composition: a configuration in, a running server out. Tests build it the same way."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import grpc
import structlog
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from prometheus_client import start_http_server

from ronda.admin.v1 import admin_service_pb2
from ronda.admin.v1.admin_service_pb2_grpc import add_AdminServiceServicer_to_server
from ronda.v1 import (
    bot_service_pb2,
    ladder_service_pb2,
    match_service_pb2,
    tournament_service_pb2,
)
from ronda.v1.bot_service_pb2_grpc import add_BotServiceServicer_to_server
from ronda.v1.ladder_service_pb2_grpc import add_LadderServiceServicer_to_server
from ronda.v1.match_service_pb2_grpc import add_MatchServiceServicer_to_server
from ronda.v1.tournament_service_pb2_grpc import add_TournamentServiceServicer_to_server
from ronda_arena.customs import is_quick
from ronda_arena.discovery import discover
from ronda_arena.isolation import Level
from ronda_arena.seating import Isolated, Seating
from ronda_arena.tournament.spec import Isolation
from ronda_arena.worker import confine
from ronda_arena.worker.nursery import Nursery
from ronda_bots.registry import Registry
from ronda_server import database, logs
from ronda_server.accounts import Accounts
from ronda_server.bots import end_threads
from ronda_server.clock import Offset
from ronda_server.commitments import TOURNAMENT, Promises
from ronda_server.config import Config, at, check_address, is_loopback, split
from ronda_server.errors import ConfigError
from ronda_server.hosting import Host
from ronda_server.identity import ACCESS, Keys, load_admin_key, load_key
from ronda_server.interceptors import Edge
from ronda_server.ladders import opening as ladder_opening
from ronda_server.ladders.hosted import Ladders
from ronda_server.listening import Listener, cannot_listen
from ronda_server.log import SqliteLog
from ronda_server.metrics import Metrics
from ronda_server.opening import Opening
from ronda_server.reflection import add_reflection
from ronda_server.services.admin import AdminService
from ronda_server.services.bots import BotService
from ronda_server.services.ladders import LadderService
from ronda_server.services.matches import MatchService
from ronda_server.services.tournaments import TournamentService
from ronda_server.tables.room import Limits as TableLimits
from ronda_server.tables.tables import Tables
from ronda_server.tournaments.hall import Hall, Limits

_log = structlog.get_logger(__name__)

_SCRAPE_SECONDS: Final = 10.0
"""How long the metrics port waits for what a scraper has to say."""
_LEAVE_SECONDS: Final = 1.0
"""How long bots that think are waited for when the server leaves."""
_SERVED: Final = {
    service.full_name: service
    for module in (
        match_service_pb2,
        bot_service_pb2,
        tournament_service_pb2,
        ladder_service_pb2,
        admin_service_pb2,
    )
    for service in module.DESCRIPTOR.services_by_name.values()
}
_ADMIN: Final = "ronda.admin.v1.AdminService"
_SERVICES: Final = tuple(name for name in _SERVED if name != _ADMIN)
_OPTIONS: Final = (
    ("grpc.so_reuseport", 0),  # two servers must never share a port in silence
    # Calls beyond these, waiting to be looked at, are refused by lot, whoever has sent so many: no
    # connection can fill them alone.
    ("grpc.server_max_pending_requests", 10_000),
    ("grpc.server_max_pending_requests_hard_limit", 20_000),
    ("grpc.max_receive_message_length", 64 * 1024),  # the edge refuses from 16 KiB on, by reason
    ("grpc.max_metadata_size", 8 * 1024),
    ("grpc.absolute_max_metadata_size", 16 * 1024),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.server_handshake_timeout_ms", 5_000),
    ("grpc.max_connection_idle_ms", 600_000),
)


class Server:
    """A running server."""

    def __init__(self, config: Config, registry: Registry, seating: Seating) -> None:
        self._config = config
        self._registry = registry
        self._seating = seating
        self._stack = contextlib.AsyncExitStack()
        self.metrics = Metrics()
        self.addresses: dict[str, str] = {}
        self.host: Host
        self.tables: Tables
        self.hall: Hall
        self.ladders: Ladders
        self.accounts: Accounts
        self.leaving = asyncio.Event()
        """Somebody has asked the server to drain and leave."""
        self._health = health.aio.HealthServicer()

    async def start(self) -> None:
        """Open the log, take up its matches, and listen."""
        config = self._config
        for address in (config.listen, config.health_listen, config.metrics_listen):
            check_address(address, config.allow_plaintext)
        if config.admin_listen:
            check_address(config.admin_listen, allow_plaintext=False)
        path = database.sqlite_path(config.database)
        try:
            real = await asyncio.to_thread(path.resolve)
            self._stack.enter_context(database.claim(real))
            await asyncio.to_thread(database.upgrade, config.database)
            keys = Keys(await asyncio.to_thread(load_key, Path(config.key_file or f"{path}.key")))
            log = SqliteLog(path, self.metrics.committed)
            await log.open()
            self._stack.push_async_callback(log.close)
            self.accounts = accounts = Accounts(log, keys, config.now, config.max_bot_names)
            await accounts.open()
            self.host = Host(
                log,
                keys,
                self._registry,
                self._seating,
                self.metrics,
                config.now,
                config.bot_delay,
                config.max_bots,
                config.max_account_bots,
                config.max_bot_seats,
            )
            promises = Promises(log)
            await promises.open()
            hall = await self._hall(log, path)
            opening = Opening(self.host, promises, config.max_matches, config.max_workers)
            self._stack.push_async_callback(self.host.close)
            await self.host.open()
            self._stack.push_async_callback(hall.close)
            await hall.open()
            ladders = await self._open_ladders()
            isolation: Isolation = "auto" if config.isolation == "sandbox" else "process"
            await self._listen(
                MatchService(self.host, opening, promises),
                BotService(self.host, accounts),
                TournamentService(self.host, accounts, hall, isolation),
                LadderService(self.host, ladders),
            )
            if config.admin_listen:
                key_file = Path(config.admin_key_file or f"{path}.admin-key")
                admin_key = await asyncio.to_thread(load_admin_key, key_file)
                await self._listen_to_admins(
                    AdminService(self.host, accounts, admin_key, self.leaving.set)
                )
        except BaseException:  # whatever it is, nothing stays open
            await self._stack.aclose()
            raise
        _log.info("ready", matches=len(self.host), **self.addresses)

    async def _hall(self, log: SqliteLog, database_path: Path) -> Hall:
        """Return the tournaments, which are kept beside the database."""
        config = self._config
        promises = Promises(log, TOURNAMENT)
        await promises.open()
        limits = Limits(
            config.max_tournaments,
            config.max_account_tournaments,
            config.tournaments_at_once,
            config.tournament_workers,
            config.max_tournament_games,
        )
        root = database_path.with_name(f"{database_path.name}.tournaments")
        hosted = TableLimits(config.hosted_games, config.hosted_workers, config.bot_absence)
        self.tables = Tables(self.host, hosted)
        self.hall = Hall(self.host, promises, root, limits, self.tables)
        return self.hall

    async def _open_ladders(self) -> Ladders:
        """Return the ladders, which are played from now on, each in a folder of its own."""
        files = tuple(map(Path, self._config.ladders))
        orders = await asyncio.to_thread(
            ladder_opening.orders,
            files,
            lambda name: self._registry.find(name).identity,
            _home(self._config),
            self._config.bot_absence,
            resting={
                name for one in self._registry.resting for name in (one.bot.name, one.bot.identity)
            },
        )
        self.ladders = Ladders(self.host, self.tables, orders)
        self._stack.push_async_callback(self.ladders.close)
        self.ladders.open()
        return self.ladders

    async def _listen(
        self,
        matches: MatchService,
        bots: BotService,
        tournaments: TournamentService,
        ladders: LadderService,
    ) -> None:
        config = self._config
        edge = Edge(self.metrics)
        options = (*_OPTIONS, ("grpc.max_concurrent_streams", config.max_streams))

        def front(server: grpc.aio.Server) -> None:
            add_MatchServiceServicer_to_server(matches, server)
            add_BotServiceServicer_to_server(bots, server)
            add_TournamentServiceServicer_to_server(tournaments, server)
            add_LadderServiceServicer_to_server(ladders, server)
            health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
            if is_loopback(config.listen):
                add_reflection(server, _SERVICES)

        def probe(server: grpc.aio.Server) -> None:
            health_pb2_grpc.add_HealthServicer_to_server(self._health, server)

        check_access()
        listener = Listener(config.listen, front, [edge], options)
        self.addresses["listen"] = at(config.listen, listener.port)
        probed = Listener(config.health_listen, probe, [edge], options)
        self.addresses["health_listen"] = at(config.health_listen, probed.port)
        host, port = split(config.metrics_listen)
        try:
            http, _ = await asyncio.to_thread(start_http_server, port, host, self.metrics.registry)
        except OSError:
            raise ConfigError(cannot_listen(config.metrics_listen)) from None
        vars(http)["RequestHandlerClass"].timeout = _SCRAPE_SECONDS
        self._stack.push_async_callback(asyncio.to_thread, http.server_close)
        self._stack.push_async_callback(asyncio.to_thread, http.shutdown)
        self.addresses["metrics_listen"] = at(config.metrics_listen, http.server_port)
        await probed.start()
        self._stack.push_async_callback(probed.stop, 0)
        await listener.start()
        self._stack.push_async_callback(listener.stop, config.drain_seconds)
        for service in ("", *_SERVICES):
            await self._health.set(service, health_pb2.HealthCheckResponse.SERVING)

    async def _listen_to_admins(self, admin: AdminService) -> None:
        config = self._config

        def back(server: grpc.aio.Server) -> None:
            add_AdminServiceServicer_to_server(admin, server)
            add_reflection(server, (_ADMIN,))

        options = (*_OPTIONS, ("grpc.max_concurrent_streams", config.max_streams))
        listener = Listener(config.admin_listen, back, [Edge(self.metrics)], options)
        self.addresses["admin_listen"] = at(config.admin_listen, listener.port)
        await listener.start()
        self._stack.push_async_callback(listener.stop, config.drain_seconds)

    async def stop(self) -> None:
        """Drain: say so to health checks, end streams with where to resume, finish, and close."""
        await self._health.enter_graceful_shutdown()
        self.host.drain()
        # At once: what is played is not waited for.
        await asyncio.gather(self.hall.close(), self.ladders.close())
        await self._stack.aclose()
        _log.info("stopped")


async def serve(
    config: Config,
    registry: Registry,
    seating: Isolated,
    ready: Callable[[dict[str, str]], None],
) -> None:
    """Run a server until SIGTERM or SIGINT."""
    server = Server(config, registry, seating)
    server.metrics.isolated(seating.granted)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, server.leaving.set)
    await server.start()
    offset = Offset(config.now, server.metrics.clock_offset)
    watching = [loop.create_task(offset.watch()), loop.create_task(server.host.held_up.watch())]
    try:
        ready(server.addresses)
        await server.leaving.wait()
    finally:
        for task in watching:
            task.cancel()
        await server.stop()


def run(config: Config, ready: Callable[[dict[str, str]], None]) -> None:
    """Run a server on the fastest loop there is; returns after a drain."""
    logs.configure(config.log_level)
    logging.basicConfig(level=logging.WARNING, handlers=[logs.Libraries()])
    confine.hide()
    # Each caller is an open file.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    # What is loaded by now stays: to look through it again and again is a tenth of all work.
    gc.freeze()
    gc.set_threshold(50_000, 50, 50)
    with Nursery() as nursery, asyncio.Runner(loop_factory=_fast_loop()) as runner:
        registry, seating = _bots(config, nursery)
        runner.run(serve(config, registry, seating, ready))
    # A bot that never comes back would keep the process; it has nothing more to say.
    if not end_threads(_LEAVE_SECONDS):
        sys.stdout.flush()
        os._exit(0)


def _bots(config: Config, nursery: Nursery) -> tuple[Registry, Isolated]:
    """Return the bots that can be seated, and how they are run; what is less than asked is told."""
    registry = discover(nursery=nursery, home=_home(config))
    for broken in registry.broken:
        _log.warning("bot is left out", bot=broken.name, problem=broken.problem)
    for resting in registry.resting:
        _log.info("bot may not play", bot=resting.bot.identity, state=resting.state)
    want = Level(config.isolation)
    seating = Isolated(nursery, want=want, minimum=Level.PROCESS, trusted=is_quick)
    if seating.granted.weaker(want):
        granted, problem = seating.granted.value, seating.report.problem
        _log.warning("bots are isolated less than asked", level=granted, problem=problem)
    return registry, seating


def _home(config: Config) -> Path | None:
    """Return where bots are kept beside the environment; None: in the usual place."""
    return Path(config.bots_dir) if config.bots_dir else None


def check_access() -> None:
    """Refuse to start while a method has no entry in the table of rights."""
    for full_name, service in _SERVED.items():
        for method in service.methods:
            if f"/{full_name}/{method.name}" not in ACCESS:
                raise ConfigError(f"{full_name}/{method.name} has no entry in identity.ACCESS")


def _fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415 # an extra
    except ImportError:
        return None
    make: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return make
