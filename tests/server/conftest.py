"""A real server on free loopback ports, with its own database, for every test that asks."""

from __future__ import annotations

import socketserver
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from blockbuster import blockbuster_ctx

from ronda.v1 import match_service_pb2 as pb
from ronda.v1.bot_service_pb2_grpc import BotServiceStub
from ronda.v1.match_service_pb2_grpc import MatchServiceStub
from ronda_arena.discovery import discover
from ronda_arena.seating import InProcess, Seating
from ronda_bots.registry import Registry
from ronda_server.app import Server
from ronda_server.config import Config

HERE = InProcess()

if TYPE_CHECKING:
    from tests.server.made_bots import Gate
    from tests.server.remotes import Admin


@pytest.fixture(scope="session")
def registry() -> Registry:
    """Return the bots that are installed; reading the disk is for before the loop."""
    return discover()


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Return a fresh folder, in memory where there is such: a commit then waits for no disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture(scope="session", autouse=True)
def _quick_end_of_metrics() -> Iterator[None]:
    """Let the metrics port see at once that it is to close; it looks every half second."""
    serve_forever: Any = socketserver.BaseServer.serve_forever
    before = serve_forever.__defaults__
    serve_forever.__defaults__ = (0.005,)
    yield
    serve_forever.__defaults__ = before


@pytest.fixture(autouse=True)
def no_blocking_in_the_loop() -> Iterator[None]:
    """Let a call of ours that blocks the event loop fail where it is made."""
    ours = ["ronda_core", "ronda_bots", "ronda_arena", "ronda_server"]
    with blockbuster_ctx(scanned_modules=ours) as guard:
        # An engine is made once, before the server listens: it makes its path absolute.
        guard.functions["os.path.abspath"].can_block_in("pysqlite.py", "create_connect_args")
        # grpc joins the thread that all channels share when the last one is collected: anywhere.
        guard.functions["threading.Lock.acquire"].can_block_in("threading.py", "join")
        yield


class Client:
    """A caller: stubs over one channel, and the words that tests repeat."""

    def __init__(self, server: Server, channel: grpc.aio.Channel) -> None:
        self.server = server
        self.channel = channel
        self.matches = MatchServiceStub(channel)
        self.bots = BotServiceStub(channel)
        self.stopped = False
        self.faults = 0
        """Unknown exceptions that the test has planted."""

    async def create(self, *seats: str, **fields: Any) -> pb.CreateMatchResponse:
        """Create a match: each seat is "open", "invited" or a bot's name."""
        return await self.matches.CreateMatch(
            pb.CreateMatchRequest(
                rules=fields.pop("rules", "playtash"),
                seats=[offer(seat) for seat in seats],
                request_id=fields.pop("request_id", request_id()),
                **fields,
            )
        )

    async def join(self, match_id: str, token: str = "", **fields: Any) -> pb.JoinMatchResponse:
        """Take a seat."""
        fields.setdefault("request_id", request_id())
        return await self.matches.JoinMatch(
            pb.JoinMatchRequest(match_id=match_id, **fields), metadata=bearer(token)
        )

    async def view(self, match_id: str, token: str = "") -> Any:
        """Return the view that a stream begins with."""
        call = self.matches.WatchMatch(
            pb.WatchMatchRequest(match_id=match_id), metadata=bearer(token)
        )
        first = await call.read()
        call.cancel()
        return first.view


def offer(seat: str) -> pb.SeatOffer:
    """Return the offer of a seat."""
    if seat == "open":
        return pb.SeatOffer(open=pb.OpenSeat())
    if seat == "invited":
        return pb.SeatOffer(invited=pb.InvitedSeat())
    return pb.SeatOffer(bot=seat)


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    """Return the metadata that carries a token."""
    return (("authorization", f"Bearer {token}"),) if token else ()


def request_id() -> str:
    """Return a fresh request id."""
    return str(uuid.uuid4())


def config(folder: Path, **changes: Any) -> Config:
    """Return a configuration on free ports, with its database in `folder`."""
    defaults: dict[str, Any] = {
        "listen": "127.0.0.1:0",
        "health_listen": "127.0.0.1:0",
        "metrics_listen": "127.0.0.1:0",
        "database": str(folder / "ronda.db"),
        "drain_seconds": 1.0,
    }
    return Config(**defaults | changes)


@pytest.fixture
async def start(tmp_path: Path, registry: Registry) -> AsyncIterator[Callable[..., Any]]:
    """Return a function that starts a server (again, on the same database) and a client of it."""
    running: list[Client] = []

    async def begin(bots: Registry = registry, seating: Seating = HERE, **changes: Any) -> Client:
        server = Server(config(tmp_path, **changes), bots, seating)
        await server.start()
        channel = grpc.aio.insecure_channel(server.addresses["listen"])
        client = Client(server, channel)
        running.append(client)
        return client

    yield begin
    for client in running:
        if not client.stopped:
            await client.channel.close()
            await client.server.stop()
    unknown = [client.server.metrics.errors._value.get() - client.faults for client in running]
    assert unknown == [0.0] * len(running), "the server met exceptions that it does not know"


async def stop(client: Client) -> None:
    """Stop a server as SIGTERM does, with its client still there."""
    client.stopped = True
    await client.server.stop()
    await client.channel.close()


@pytest.fixture
async def client(start: Callable[..., Any]) -> Client:
    """Return a client of a fresh server."""
    made: Client = await start()
    return made


@pytest.fixture
async def admin(start: Callable[..., Any], tmp_path: Path) -> AsyncIterator[Admin]:
    """Return whoever runs a fresh server, with its client."""
    from tests.server.remotes import Admin  # noqa: PLC0415 -- which needs the client above

    made = Admin(await start(admin_listen="127.0.0.1:0"), tmp_path)
    yield made
    await made.channel.close()


@pytest.fixture
async def key(admin: Admin) -> str:
    """Return an API key of the account `ann`."""
    return await admin.new_key()


@pytest.fixture
def gate() -> Iterator[Gate]:
    """Return a gate that is open in the end, whatever happens."""
    from tests.server.made_bots import Gate  # noqa: PLC0415 -- which needs the client above

    made = Gate()
    yield made
    made.open()
