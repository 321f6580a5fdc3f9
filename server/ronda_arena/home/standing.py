"""Which of the kept bots may play: a small file that says what is not so by itself.

A bot that is not in it may. It is read whole and written whole.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from ronda_arena.home.faults import Quarantine
from ronda_arena.home.shelf import HomeError, locked, write

STATE: Final = "state.json"


class Standing(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Whether a bot may play."""

    enabled: bool = True
    quarantine: Quarantine | None = None

    @property
    def state(self) -> str:
        """In a word."""
        if not self.enabled:
            return "disabled"
        return "quarantined" if self.quarantine else "enabled"

    def reason(self, identity: str) -> str:
        """Say why it does not play and what changes that; empty where it does."""
        if not self.enabled:
            return f"is disabled: `ronda bots enable {identity}` lets it play"
        if self.quarantine:
            return (
                f"is in quarantine since {self.quarantine.since}: {self.quarantine.reason};"
                f" `ronda bots quarantine --release {identity}` lets it play"
            )
        return ""


class _State(msgspec.Struct, forbid_unknown_fields=True):
    bots: dict[str, Standing] = {}
    """By identity."""
    format: int = 1


def standings(place: Path) -> dict[str, Standing]:
    """Return what is said of bots, by identity; `HomeError` where it cannot be read."""
    try:
        state = msgspec.json.decode((place / STATE).read_bytes(), type=_State)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        raise HomeError(f"{place / STATE} cannot be read: {error}") from None
    if state.format != 1:
        raise HomeError(f"{place / STATE} was written by another version of ronda")
    return state.bots


def enable(place: Path, identity: str, *, enabled: bool = True) -> None:
    """Let a bot play, or not; a quarantine stays what it is."""
    with locked(place):
        every = standings(place)
        was = every.get(identity, Standing())
        _write(place, {**every, identity: Standing(enabled, was.quarantine)})


def quarantine(place: Path, identity: str, quarantine: Quarantine | None) -> None:
    """Put a bot into quarantine, or release it."""
    with locked(place):
        every = standings(place)
        was = every.get(identity, Standing())
        _write(place, {**every, identity: Standing(was.enabled, quarantine)})


def forget(place: Path, *identities: str) -> None:
    """Say nothing of bots any more; for who has the home locked."""
    every = standings(place)
    left = {identity: one for identity, one in every.items() if identity not in identities}
    if left != every:
        _write(place, left)


def _write(place: Path, every: dict[str, Standing]) -> None:
    told = {identity: one for identity, one in sorted(every.items()) if one != Standing()}
    data = msgspec.json.encode(_State(told))
    write(place / STATE, msgspec.json.format(data, indent=2) + b"\n")
