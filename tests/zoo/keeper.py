"""Plays the bots of the zoo, and sees from outside what became of it."""

from __future__ import annotations

import ctypes
import hashlib
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.zoo import entrance

from ronda_arena.clock import Clock
from ronda_arena.fault import BotFaultError
from ronda_arena.isolation import Level, Limits, WorkerLostError
from ronda_arena.seat import Seat
from ronda_arena.table import OnStep, play_match
from ronda_arena.trusted import TrustedSeat
from ronda_arena.worker.nursery import Nursery
from ronda_arena.worker.seat import WorkerSeat
from ronda_bots.api import SeatInfo
from ronda_bots.greedy import Greedy
from ronda_bots.registry import BotInfo
from ronda_core.record import Record
from ronda_core.rules import settings

MASTER: Final = bytes(range(32))
LIMITS: Final = Limits(start_seconds=10.0, last_words_seconds=0.2)
IMPATIENT: Final = Limits(start_seconds=0.4, template_seconds=1.5, last_words_seconds=0.2)
_LONG: Final = Clock(20.0)
_SHORT: Final = Clock(0.2)
_RULES: Final = settings("cafe", 2, length=1)
HONEST: Final = BotInfo("greedy", Greedy.version, "ronda", "0", "", Greedy)

_WAITED_FOR: Final = ("slow-start", "sleeps-on-import", "stops-the-template")
_NEVER_ANSWER: Final = (
    "hangs",
    "hangs-in-declare",
    "hangs-in-c",
    "busy-loop",
    "busy-threads",
    "ignores-signals",
    "late-answer",
    "stops-itself",
    "drips-past-its-time",
    "half-an-answer",
    "forks-and-hangs",
)
HONEST_BOTS: Final = ("diligent", "ponders", "secretive", "sleeps-most-of-its-time")


class Outcome(NamedTuple):
    """How a match with a bot ended, and whether its attack achieved what it is for."""

    ended: str
    """`plays on`, or the cause of its forfeit; `lost`: no result, it has to be played again."""
    attack: str
    """`held`, `leak`, or nothing where there was none."""
    told: str = ""
    """What its log says, for whoever wonders."""
    survivors: tuple[int, ...] = ()
    """Processes that it has left behind."""

    def __str__(self) -> str:
        parts = (self.ended, self.attack, "survivors" if self.survivors else "")
        return ", ".join(filter(None, parts))


class Cage:
    """Seats everybody of the zoo in workers of one nursery, and ronda's own here."""

    def __init__(self, level: Level, nursery: Nursery) -> None:
        self.sat: list[WorkerSeat] = []
        self._level = level
        self._nursery = nursery

    def level(self, info: BotInfo) -> Level:
        return self._level if info.origin else Level.TRUSTED

    def sit(
        self, info: BotInfo, seat: SeatInfo, seed: int, level: Level, clock: Clock | None = None
    ) -> Seat:
        if level is Level.TRUSTED:
            return TrustedSeat(info, seat, seed)
        made = WorkerSeat(info, seat, seed, self._nursery, level, clock)
        self.sat.append(made)
        return made

    def logs(self) -> list[bytes]:
        """Return what the bots of ended matches have printed."""
        remains = [seat._worker.remains for seat in self.sat]
        return [one.log for one in remains if one is not None]


class Zoo:
    """The zoo, installed, with what its bots are after."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.token = f"ronda-zoo-{secrets.token_hex(8)}"
        self._shm = secrets.randbits(30)
        self._doors = ExitStack()
        self.drop = folder / "drop"
        self.drop.mkdir()
        self.drop.chmod(0o777)
        self.prey = folder / "prey"
        self._refill()
        (folder / "key").write_text("the key of the service", encoding="utf-8")
        self.site = folder / "site"
        entrance.write(self.site, self._where())
        self.bots = entrance.infos(self.site)
        self._rival = (self.site / "ronda_rival.py").read_text("utf-8")
        self.before = self.seen()

    def close(self) -> None:
        """Close what the bots could reach, and remove what they left."""
        self._doors.close()
        self.tidy()

    def names(self) -> list[str]:
        """Return the names of all that attack or are broken."""
        return sorted(set(self.bots) - {*HONEST_BOTS, "rival"})

    def seen(self) -> str:
        """Return a digest of every file that the bots could have changed."""
        digest = hashlib.sha256()
        for path in sorted(self.folder.rglob("*")):
            if "__pycache__" not in path.parts:
                digest.update(f"{path} {path.lstat().st_mode}\n".encode())
                digest.update(path.read_bytes() if path.is_file() else b"")
        left = [str(path) for path in self._outside() if path.exists()]
        return f"{digest.hexdigest()} {left}"

    def tidy(self) -> None:
        """Undo what a bot has done."""
        for path in self._outside():
            path.unlink(missing_ok=True)
        for path in self.drop.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        self._refill()
        (self.site / "ronda_rival.py").write_text(self._rival, encoding="utf-8")
        libc = ctypes.CDLL(None)
        left = libc.shmget(self._shm, 0, 0)
        if left >= 0:
            libc.shmctl(left, 0, None)
        for path in (self.site / "planted.pth", self.site / "ronda_zoo" / "notes"):
            path.unlink(missing_ok=True)

    def _refill(self) -> None:
        self.prey.write_text("what others live on", encoding="utf-8")
        self.prey.chmod(0o644)

    def _outside(self) -> list[Path]:
        return [Path(place, self.token) for place in ("/tmp", "/dev/shm", "/")]

    def _where(self) -> dict[str, Any]:
        path, datagrams = str(self.folder / "service"), str(self.folder / "datagrams")
        return {
            "server": os.getpid(),
            "token": self.token,
            "drop": str(self.drop),
            "prey": str(self.prey),
            "key": str(self.folder / "key"),
            "tcp": self._door(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))[1],
            "udp": self._door(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))[1],
            "unix": self._door(socket.AF_UNIX, socket.SOCK_STREAM, path),
            "datagrams": self._door(socket.AF_UNIX, socket.SOCK_DGRAM, datagrams),
            "abstract": self._door(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.token}")[
                1:
            ].decode(),
            "shm": self._shm,
        }

    def _door(self, family: int, kind: int, address: Any) -> Any:
        sock = self._doors.enter_context(socket.socket(family, kind))
        sock.bind(address)
        if kind == socket.SOCK_STREAM:
            sock.listen(64)
        return sock.getsockname()


class Keeper:
    """Plays bots of the zoo at one level."""

    record: Record | None = None
    """Of the last match."""

    def __init__(self, zoo: Zoo, level: Level, nursery: Nursery, impatient: Nursery) -> None:
        self.zoo = zoo
        self.level = level
        self.nursery = nursery
        self._impatient = impatient

    def play(self, name: str, on_step: OnStep | None = None) -> Outcome:
        """Play one match of a bot; two of one that remembers; return what came of it."""
        nursery = self._impatient if name in _WAITED_FOR else self.nursery
        cage = Cage(self.level, nursery)
        faults: list[BotFaultError] = []
        ended = "plays on"
        for number in range(2 if name.startswith("remembers") else 1):
            try:
                self.record = self._match(f"{name}-{number}", name, cage, faults, on_step)
            except WorkerLostError:
                ended = "lost"
                break
            fault = self.record.fault
            ended = str(fault.cause) if fault else "plays on"
        told = b"".join([*(fault.log for fault in faults), *cage.logs()])
        survivors = tuple(_survivors(nursery, self.zoo.drop))
        return Outcome(ended, _verdict(told), told.decode("utf-8", "replace"), survivors)

    def start(self) -> None:
        """Start what it would start when it is needed."""
        self.nursery.start()
        self._impatient.start()

    def left(self) -> list[int]:
        """Return what runs still, though no match does."""
        return [
            *_survivors(self.nursery, self.zoo.drop),
            *_survivors(self._impatient, self.zoo.drop),
        ]

    def _match(
        self,
        match_id: str,
        name: str,
        cage: Cage,
        faults: list[BotFaultError],
        on_step: OnStep | None,
    ) -> Record:
        clock = _SHORT if name in _NEVER_ANSWER else _LONG
        return play_match(
            match_id,
            _RULES,
            self._company(name),
            MASTER,
            now=lambda: "2026-01-01T00:00:00Z",
            seating=cage,
            clock=clock,
            on_step=on_step,
            on_fault=lambda _, fault: faults.append(fault),
        )

    def _company(self, name: str) -> Sequence[BotInfo]:
        bots = self.zoo.bots
        bot = bots[name]
        if name.startswith("conspires"):
            return bot, bot
        if name == "thinks-on-others-time":
            return bot, bots["ponders"]
        if name == "siblings-memory":
            return bots["secretive"], bot
        return bot, HONEST


@contextmanager
def keeper(zoo: Zoo, level: Level, limits: Limits = LIMITS) -> Iterator[Keeper]:
    """Yield somebody who plays bots at `level`."""
    with Nursery(limits) as nursery, Nursery(IMPATIENT) as impatient:
        yield Keeper(zoo, level, nursery, impatient)


@contextmanager
def open_zoo() -> Iterator[Zoo]:
    """Yield a zoo in a folder that anybody may enter, as workers of another user have to."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        zoo = Zoo(Path(folder))
        try:
            yield zoo
        finally:
            zoo.close()


def _verdict(told: bytes) -> str:
    if b"[zoo] leak" in told:
        return "leak"
    return "held" if b"[zoo] tried" in told else ""


def _survivors(nursery: Nursery, drop: Path) -> list[int]:
    """Return what bots have left running."""
    left = []
    with suppress(OSError):  # the template may have been killed
        told = Path(f"/proc/{nursery.pid}/task/{nursery.pid}/children").read_text("ascii")
        left = [int(pid) for pid in told.split()]
    with suppress(OSError):  # it has left none
        daemon = int((drop / "daemon").read_text("ascii"))
        os.kill(daemon, 0)
        left.append(daemon)
    return left
