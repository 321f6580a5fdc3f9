"""What must not work in a sandbox: each canary tries one thing, and tells whether it did."""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Final


def _read_password_file() -> None:
    Path("/etc/passwd").read_bytes()


def _read_parent_environment() -> None:
    Path(f"/proc/{os.getppid()}/environ").read_bytes()


def _list_processes() -> None:
    list(Path("/proc").iterdir())


def _write_a_file() -> None:
    fd = os.open(f"/tmp/ronda-canary-{os.getpid()}", os.O_CREAT | os.O_WRONLY, 0o600)  # noqa: S108 -- as below
    os.close(fd)
    Path(f"/tmp/ronda-canary-{os.getpid()}").unlink()  # noqa: S108 -- where anybody may write


def _make_a_stream_socket() -> None:
    socket.socket(socket.AF_INET, socket.SOCK_STREAM).close()


def _make_a_datagram_socket() -> None:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()


def _make_a_unix_socket() -> None:
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).close()


def _fork() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _start_a_program() -> None:
    os.posix_spawn("/bin/true", ["true"], {})


def _signal_the_parent() -> None:
    os.kill(os.getppid(), 0)


def _share_memory() -> None:
    _call("shmget", 0, 4096, 0o1600)


def _make_memory_file() -> None:
    os.close(os.memfd_create("canary"))


def _trace_the_parent() -> None:
    _call("ptrace", 16, os.getppid(), 0, 0)


def _allocate_a_lot() -> None:
    bytearray(1 << 30)


def _call(name: str, *arguments: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


_CANARIES: Final[tuple[Callable[[], None], ...]] = (
    _read_password_file,
    _read_parent_environment,
    _list_processes,
    _write_a_file,
    _make_a_stream_socket,
    _make_a_datagram_socket,
    _make_a_unix_socket,
    _fork,
    _start_a_program,
    _signal_the_parent,
    _share_memory,
    _make_memory_file,
    _trace_the_parent,
    _allocate_a_lot,
)
NAMES: Final = tuple(one.__name__.strip("_").replace("_", " ") for one in _CANARIES)


def sing() -> list[tuple[str, bool, str]]:
    """Return of each canary its name, whether it was held, and by what."""
    told = []
    for name, canary in zip(NAMES, _CANARIES, strict=True):
        try:
            canary()
        except (OSError, MemoryError) as refusal:
            why = os.strerror(refusal.errno or 0) if isinstance(refusal, OSError) else "no memory"
            told.append((name, True, why))
        else:
            told.append((name, False, ""))
    return told
