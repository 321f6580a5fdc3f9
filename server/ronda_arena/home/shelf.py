"""Where bots are kept: a directory for each installed wheel, and what is noted of it there."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final, NamedTuple

import msgspec

from ronda_arena.home import seal

NOTE: Final = "install.json"
STAGED: Final = ".installing-"
REMOVED: Final = ".removing-"
_WRITTEN: Final = ".writing-"
_LOCK: Final = ".lock"
_FORMAT: Final = 1
_SHOWN: Final = 16
"""Letters of the wheel's SHA-256 in the name of its directory: 64 bits."""


class HomeError(Exception):
    """What was asked of the home of bots is not done, and why."""


class KeptBot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bot of a wheel, as its class has told of itself when it was installed."""

    name: str
    version: str
    description: str
    module: str
    attribute: str

    @property
    def identity(self) -> str:
        """`name@version`."""
        return f"{self.name}@{self.version}"


_Folder = Annotated[str, msgspec.Meta(pattern=r"^(bot|needs/[A-Za-z0-9][A-Za-z0-9._+!-]*)\Z")]


class Note(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an installation brought."""

    distribution: str
    version: str
    wheels: dict[str, str]
    """SHA-256 by file name, the bot's own first."""
    installed: str
    path: tuple[_Folder, ...]
    """Folders that its modules are looked for in."""
    extras: tuple[str, ...]
    """Of ronda, that it wants."""
    bots: tuple[KeptBot, ...]
    files: dict[str, str]
    """SHA-256 by path."""
    format: int = _FORMAT


class Installation(NamedTuple):
    """A directory with a bot's wheel, and what it requires."""

    place: Path
    note: Note

    def damage(self) -> str:
        """Say what has changed in it; empty where nothing has. It reads all of it."""
        try:
            return seal.changed(self.place, self.note.files, NOTE)
        except OSError as error:
            return f"it cannot be read: {error.strerror or error}"


class Damaged(NamedTuple):
    """A directory that tells nothing of what was installed there."""

    place: Path
    problem: str


def home() -> Path:
    """Return where bots are kept if nothing else is said: `RONDA_BOTS_DIR`, or the user's data."""
    if named := os.environ.get("RONDA_BOTS_DIR"):
        return Path(named)
    if base := os.environ.get("XDG_DATA_HOME"):
        return Path(base, "ronda", "bots")
    try:
        return Path.home() / ".local/share/ronda/bots"
    except RuntimeError:  # in a container there may be none
        return Path("/nonexistent/ronda/bots")


def directory(distribution: str, version: str, sha256: str) -> str:
    """Return the name of the directory that a wheel is installed in."""
    return f"{distribution.replace('-', '_')}-{version}-{sha256[:_SHOWN]}"


def installations(place: Path) -> tuple[list[Installation], list[Damaged]]:
    """Return what is installed, and what only looks so, by name. It reads a file of each."""
    found: list[Installation] = []
    damaged: list[Damaged] = []
    try:
        folders = sorted(one for one in place.iterdir() if not one.name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return [], []
    except OSError as error:
        return [], [Damaged(place, f"it cannot be read: {error.strerror or error}")]
    for folder in folders:
        if folder.is_symlink() or not folder.is_dir():
            continue  # the state, or what somebody else keeps here
        try:
            found.append(Installation(folder, _read(folder)))
        except (OSError, msgspec.MsgspecError, ValueError):
            damaged.append(Damaged(folder, f"its {NOTE} cannot be read: install its wheel again"))
    return found, damaged


def _read(folder: Path) -> Note:
    note = msgspec.json.decode((folder / NOTE).read_bytes(), type=Note)
    sha256 = next(iter(note.wheels.values()), "")
    if note.format != _FORMAT or folder.name != directory(note.distribution, note.version, sha256):
        raise ValueError(folder)
    return note


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Be the only one who changes anything there; what others left half done is taken away."""
    place.mkdir(parents=True, exist_ok=True)
    with (place / _LOCK).open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in place.iterdir():
            if left.name.startswith((STAGED, REMOVED, _WRITTEN)):
                remove(left)
        yield


def remove(folder: Path) -> None:
    """Delete a directory in which nothing may be written, or a file."""
    if folder.is_symlink() or not folder.is_dir():
        folder.unlink()
        return
    for inside, _, _ in os.walk(folder):  # from the top: nothing is seen in one that is closed
        Path(inside).chmod(0o700)
    shutil.rmtree(folder)


def write(file: Path, content: bytes) -> None:
    """Put a file there, whole or not at all, and on the disk."""
    beside = file.with_name(f"{_WRITTEN}{os.getpid()}")
    with beside.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    beside.replace(file)
    settle(file.parent)


def settle(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    number = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)
