"""What the bots of the zoo have in common: an honest game, and a way to tell what they achieved."""

from __future__ import annotations

import ctypes
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from ronda_bots.api import Card, SeatInfo, View

WHERE: dict[str, Any] = json.loads(Path(__file__).with_name("where.json").read_text("utf-8"))
"""What an attacker would find out or guess: places, ports, and the process of the arena."""


class Visitor:
    """Plays its lowest card."""

    version: ClassVar[str] = "1.0.0"

    def __init__(self, seat: SeatInfo, rng: random.Random) -> None:
        self.info = seat

    def play(self, view: View) -> Card:
        return view.hand[0]


class Prying(Visitor):
    """Attacks while it is made, then plays on as if nothing had been."""

    def __init__(self, seat: SeatInfo, rng: random.Random) -> None:
        super().__init__(seat, rng)
        attempt(self.attack)

    def attack(self) -> object:
        """Return what it got; nothing: it was in vain."""
        raise NotImplementedError


def attempt(attack: Callable[[], object]) -> bool:
    """Try an attack, and tell whether it achieved what it is for."""
    tell("tried")
    try:
        got = attack()
    except (OSError, MemoryError, ValueError, RuntimeError, ImportError, SystemError) as refusal:
        tell("held", f"{type(refusal).__name__}: {refusal}")
        return False
    tell("leak" if got else "held", repr(got)[:80])
    return bool(got)


def tell(word: str, detail: str = "") -> None:
    """Say in the log how it went."""
    os.write(1, f"[zoo] {word} {detail}\n".encode("ascii", "replace"))


def syscall(number: int, *arguments: Any) -> int:
    """Call the kernel as no library would, by the numbers of x86-64; `OSError` if it refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    words = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result = int(libc.syscall(ctypes.c_long(number), *words))
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def call(name: str, *arguments: Any) -> int:
    """Call a function of the C library; `OSError` where it fails."""
    libc = ctypes.CDLL(None, use_errno=True)
    result = int(getattr(libc, name)(*arguments))
    if result == -1:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def server() -> int:
    """The process of the arena, which has started the template."""
    return int(WHERE["server"])


def template() -> int:
    """The process that this one was forked from."""
    return os.getppid()


def drop(name: str) -> Path:
    """Where anybody may write, and the tests look."""
    return Path(WHERE["drop"], name)
