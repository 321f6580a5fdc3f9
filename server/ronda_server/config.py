"""What a server is started with, and the addresses among it."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ronda_server.clock import SteadyClock
from ronda_server.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Config:
    """What a server is started with. Addresses are ``host:port``; port 0 takes a free one."""

    listen: str = "127.0.0.1:50051"
    health_listen: str = "127.0.0.1:50052"
    metrics_listen: str = "127.0.0.1:9464"
    admin_listen: str = ""
    """Empty: there is none. Loopback only, there is no TLS yet."""
    database: str = "ronda.db"
    key_file: str = ""
    """Where the server's key is kept; empty: beside the database."""
    admin_key_file: str = ""
    """Where the admin key is kept; empty: beside the database."""
    allow_plaintext: bool = False
    """Listen on other than loopback addresses without TLS."""
    max_matches: int = 10_000
    max_workers: int = 256
    """Processes of bots at once, one for each seat of a bot that is not run in this one."""
    max_streams: int = 256
    """Calls and streams at once on one connection."""
    max_account_bots: int = 100
    """Remote bots of one account connected at once."""
    max_bots: int = 1000
    """Remote bots connected at once."""
    max_bot_seats: int = 256
    """Seats that a remote bot has at once."""
    max_bot_names: int = 100
    """Names of remote bots that an account can have."""
    max_tournaments: int = 100
    """Tournaments that are open at once."""
    max_account_tournaments: int = 4
    """Tournaments of one account that are open at once."""
    max_tournament_games: int = 100_000
    """Games that one tournament may come to."""
    tournaments_at_once: int = 2
    """Tournaments that are played at once; the others wait."""
    tournament_workers: int = 1
    """Processes that play each of them."""
    ladders: tuple[str | Path, ...] = ()
    """Files, each of which says what a ladder is that the server plays."""
    hosted_games: int = 64
    """Games of tournaments and ladders at once in which remote bots play."""
    hosted_workers: int = 16
    """Processes of bots in all of these games together."""
    bot_absence: float = 60.0
    """Seconds for which games of a tournament or ladder wait for a remote bot that is away."""
    bot_delay: float = 0.0
    """Seconds that a hosted bot waits with each decision, so that people can follow."""
    drain_seconds: float = 10.0
    isolation: str = "sandbox"
    """How bots are run that others wrote, or that think long: `sandbox`, or only `process`."""
    bots_dir: str | Path = ""
    """Where bots are kept beside the environment; empty: in the usual place."""
    log_level: str = "info"
    now: Callable[[], int] = field(default_factory=SteadyClock, repr=False)
    """The server's one clock: all that is judged, stored and told is by this one."""


def at(address: str, port: int) -> str:
    """Return `address` with the port that it has come to."""
    return f"{address.rpartition(':')[0]}:{port}"


def split(address: str) -> tuple[str, int]:
    """Return host and port of an address; `ConfigError` if it is none."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit() or not 0 <= int(port) <= 65535:
        raise ConfigError("an address is host:port, such as 127.0.0.1:50051")
    return host.strip("[]"), int(port)


def is_loopback(address: str) -> bool:
    """Say whether only this machine reaches an address."""
    host, _ = split(address)
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):  # a name, not an address
        return ipaddress.ip_address(host).is_loopback
    return False


def check_address(address: str, allow_plaintext: bool) -> None:
    """Refuse an address that other machines reach, unless plaintext is allowed."""
    if not is_loopback(address) and not allow_plaintext:
        raise ConfigError(f"{address} is not loopback and there is no TLS: name it plaintext first")
