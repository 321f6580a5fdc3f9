"""How to reach a server: its address, and the file with the token of a seat."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final, NamedTuple

import click
import grpc

from ronda_cli import output
from ronda_cli.config import home
from ronda_cli.output import ExitCode, Failure
from ronda_cli.text import one_line

_ADDRESS: Final = re.compile(
    r"(?:(https?)://)?((?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5}))/?"
)
_LOOPBACK: Final = re.compile(r"(localhost|127(\.[0-9]+){3}|\[::1\]):[0-9]+")
_LONGEST_TOKEN: Final = 4096
_OPTIONS: Final = (
    ("grpc.keepalive_time_ms", 20_000),  # the server's floor is 10 s
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 5_000),
    ("grpc.enable_retries", 0),
)


class Target(NamedTuple):
    """Where a server is, and whether the way there is encrypted."""

    address: str
    tls: bool
    given: str
    """As it was written, for commands that resume."""


def target(server: str | None) -> Target:
    """Return the server that a person means."""
    if not server:
        raise click.UsageError("name the server: --server HOST:PORT (or RONDA_SERVER)")
    found = _ADDRESS.fullmatch(server)
    if not found or not 0 < int(found[3]) < 65536:
        raise click.UsageError(f"--server is HOST:PORT, not {one_line(server, 60)!r}")
    scheme, address = found[1], found[2]
    tls = scheme == "https" if scheme else not _LOOPBACK.fullmatch(address)
    return Target(address, tls, server)


def channel(where: Target) -> grpc.aio.Channel:
    """Open a channel; nothing is sent before the first call."""
    if where.tls:
        return grpc.aio.secure_channel(where.address, grpc.ssl_channel_credentials(), _OPTIONS)
    return grpc.aio.insecure_channel(where.address, _OPTIONS)


def read_token(file: Path, what: str = "token", hint: str = "") -> str:
    """Return the token, or `what` it is, in a file, and warn where others may read it.

    `hint` says what to do where the file cannot be read.
    """
    try:
        with file.open("rb") as opened:
            raw = opened.read(_LONGEST_TOKEN + 1)
            mode = os.fstat(opened.fileno()).st_mode
    except OSError as error:
        why = f"the {what} file {file} cannot be read: {error.strerror}"
        raise Failure(f"{why}; {hint}" if hint else why) from None
    token = raw.strip()
    if not token or len(raw) > _LONGEST_TOKEN or not re.fullmatch(rb"[\x21-\x7e]+", token):
        raise Failure(f"{file} holds no {what}")
    if os.name == "posix" and mode & 0o077:
        output.note(f"others may read {file}: run chmod 600 on it")
    return token.decode("ascii")


def keep_token(file: Path, token: str) -> None:
    """Write a token where only its owner reads it."""
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as opened:
            if hasattr(os, "fchmod"):
                os.fchmod(opened.fileno(), 0o600)
            opened.write(token + "\n")
    except OSError as error:
        raise Failure(
            f"the token cannot be kept in {file}: {error.strerror}; name another --token-file",
            ExitCode.USAGE,
        ) from None


def token_path(match_id: str) -> Path:
    """Return where the token of a match is kept if nobody says otherwise."""
    base = os.environ.get("XDG_STATE_HOME")
    state = Path(base) if base else home() / ".local" / "state"
    safe = re.sub(r"[^A-Za-z0-9_-]", "_", match_id)[:80]
    return state / "ronda" / f"{safe}.token"
