"""Bots that tell what they are told: the bundled ones, each with an ear at its door."""

from __future__ import annotations

import dataclasses
import functools
import random
from collections.abc import Callable
from typing import Any

from ronda_arena import discovery
from ronda_bots.registry import BotInfo, Registry
from ronda_core.cards import Card

Heard = Callable[[int, str, Any], None]
"""Called with the seat, what kind of thing it was told or answered, and that."""

Decided = Callable[[tuple[Any, ...]], None]
"""Called with what a bot decided, as a step."""


@functools.cache
def bundled() -> Registry:
    """Return the bots that are installed."""
    return discovery.discover()


def spied_on(heard: Heard, decided: Decided) -> Registry:
    """Return the same bots, with all they hear and say passed on."""
    return Registry(tuple(_spy(info, heard, decided) for info in bundled().bots), ())


def _spy(info: BotInfo, heard: Heard, decided: Decided) -> BotInfo:
    class Spy:
        version = info.version

        def __init__(self, seat: Any, rng: random.Random) -> None:
            self._seat: int = seat.seat
            heard(self._seat, "made", (seat, rng.getstate()))
            self._bot: Any = info.bot_class(seat, rng)

        def declare(self, view: Any) -> bool:
            heard(self._seat, "asked to declare", view)
            theirs = getattr(self._bot, "declare", None)
            answer = bool(theirs(view) if theirs else view.may_declare)
            decided(("declare", self._seat, answer))
            heard(self._seat, "declared", answer)
            return answer

        def play(self, view: Any) -> Any:
            heard(self._seat, "asked to play", view)
            card = self._bot.play(view)
            decided(("play", self._seat, int(card)))
            heard(self._seat, "played", card)
            return card

        def observe(self, event: Any) -> None:
            heard(self._seat, "told", event)
            theirs = getattr(self._bot, "observe", None)
            if theirs:
                theirs(event)

    made: Any = Spy
    return dataclasses.replace(info, bot_class=made)


def plain(value: Any) -> str:
    """Return all that a value holds as text, in the order in which it is told."""
    if value is None or isinstance(value, bool | float):
        return repr(value)
    if isinstance(value, int):  # a card says nothing of itself
        return int.__repr__(value)
    if isinstance(value, str | bytes):
        return repr(value[:])
    held: list[str] = []
    if dataclasses.is_dataclass(value):
        held += [
            f"{one.name}={plain(getattr(value, one.name))}" for one in dataclasses.fields(value)
        ]
    elif isinstance(value, dict):
        held += [f"{plain(key)}: {plain(inner)}" for key, inner in value.items()]
    elif isinstance(value, tuple | list | set | frozenset):
        held += [plain(inner) for inner in value]
    held += [f"{name}={plain(inner)}" for name, inner in vars_of(value).items()]
    if hasattr(value, "unseen"):
        held.append(f"unseen={plain(value.unseen)}")
    return f"{type(value).__name__}({', '.join(held)})"


def vars_of(value: Any) -> dict[str, Any]:
    """Return what somebody may have hung on a value."""
    found: dict[str, Any] = getattr(value, "__dict__", {})
    return found


def cards_in(value: Any) -> tuple[int, ...]:
    """Return all cards that a value shows."""
    if isinstance(value, Card):
        return (int(value),)
    held: list[Any] = list(vars_of(value).values())
    if dataclasses.is_dataclass(value):
        held += [getattr(value, one.name) for one in dataclasses.fields(value)]
    elif isinstance(value, dict):
        held += [*value, *value.values()]
    elif isinstance(value, tuple | list | set | frozenset):
        held += value
    return tuple(card for inner in held for card in cards_in(inner))
