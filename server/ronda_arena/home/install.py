"""A wheel becomes a directory, or nothing; a directory goes, or stays.

All of a wheel is looked at before anything is written. It is unpacked beside its place, its bots
are asked there who they are, and one renaming makes it installed: whatever ends this before leaves
what is swept away the next time, and whatever ends it later leaves a bot.

It is unpacked here and not by pip: what is written are the very bytes that were looked at, no code
but this runs, and an environment without pip can do it.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from ronda_arena.home.archive import WheelError
from ronda_arena.home.found import origin
from ronda_arena.home.needs import sort_out
from ronda_arena.home.shelf import (
    NOTE,
    REMOVED,
    STAGED,
    HomeError,
    Installation,
    KeptBot,
    Note,
    directory,
    installations,
    locked,
    remove,
    settle,
    write,
)
from ronda_arena.home.standing import forget
from ronda_arena.home.wheel import Wheel, read_wheel
from ronda_bots.installed import Plugin

_FILE: Final = 0o444
_FOLDER: Final = 0o555

Ask = Callable[[Plugin], tuple[str, str]]
"""Returns version and description of a bot, or raises `UnfitError`."""


class Installed(NamedTuple):
    """What has become of a wheel."""

    installation: Installation
    new: bool
    """It was not there already."""


def install(
    place: Path,
    files: Sequence[Path],
    ask: Ask,
    *,
    now: Callable[[], str],
    taken: Sequence[str] = (),
) -> Installed:
    """Install a bot's wheel, and those that it requires, in `place`.

    `ask` imports a bot where it can do no harm; `taken` are names of bots that nobody else's may
    have. `WheelError`, `HomeError` or `UnfitError` where it is not installed, and why.
    """
    bot, needs, extras = sort_out([read_wheel(file) for file in files])
    for point in bot.bots:
        if point.name in taken:
            raise WheelError(f"{point.name} is the name of a bot of ronda: choose another")
    wheels = {wheel.file: wheel.archive.sha256 for wheel in (bot, *needs)}
    name = directory(bot.name, str(bot.version), bot.archive.sha256)
    with locked(place):
        there, _ = installations(place)
        for one in there:
            if one.place.name == name:
                return _again(one, wheels)
            if (one.note.distribution, one.note.version) == (bot.name, str(bot.version)):
                raise HomeError(
                    f"{bot.name} {bot.version} is installed already, from another wheel"
                    f" ({one.place.name}): give this one another version, or uninstall that"
                )
        if (place / name).exists():
            remove(place / name)  # it tells nothing of itself any more: this is what it was
        stage = place / f"{STAGED}{secrets.token_hex(8)}"
        try:
            note = _unpack(stage, bot, needs, extras, wheels, now())
            note = msgspec.structs.replace(note, bots=_told(stage, note, bot, ask))
            _refuse_namesakes(note, there)
            _write_note(stage, note)
            forget(place, *(one.identity for one in note.bots))  # of what was there before it
            stage.rename(place / name)
            settle(place)
        finally:
            with suppress(FileNotFoundError):  # it has its place now, or was never made
                remove(stage)
        return Installed(Installation(place / name, note), new=True)


def uninstall(place: Path, name: str) -> tuple[str, ...]:
    """Take an installation away, by the name of its directory; return the bots that went with it.

    What was said of these is forgotten. Of a damaged one nobody knows who they were.
    """
    with locked(place):
        there, damaged = installations(place)
        if name not in [*(one.place.name for one in there), *(one.place.name for one in damaged)]:
            raise HomeError(f"there is no {name} in {place}")
        went = tuple(
            bot.identity for one in there if one.place.name == name for bot in one.note.bots
        )
        gone = place / f"{REMOVED}{secrets.token_hex(8)}"
        (place / name).rename(gone)
        settle(place)
        forget(place, *went)
        remove(gone)
        return went


def _again(there: Installation, wheels: dict[str, str]) -> Installed:
    uninstalling = f"`ronda bots uninstall {there.place.name}` first"
    if sorted(there.note.wheels.values()) != sorted(wheels.values()):
        raise HomeError(
            f"{there.place.name} is installed with other wheels of what it requires: {uninstalling}"
        )
    if damage := there.damage():
        raise HomeError(f"{there.place.name} is installed and damaged, {damage}: {uninstalling}")
    return Installed(there, new=False)


def _unpack(
    stage: Path,
    bot: Wheel,
    needs: Sequence[Wheel],
    extras: tuple[str, ...],
    wheels: dict[str, str],
    now: str,
) -> Note:
    """Write every file, read-only and to the disk."""
    stage.mkdir()
    folders = {"bot": bot} | {f"needs/{wheel.folder}": wheel for wheel in needs}
    digests: dict[str, str] = {}
    for folder, wheel in folders.items():
        for path in sorted(wheel.archive.files):
            file = stage / folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            digest = hashlib.sha256()
            with file.open("xb") as stream:
                for chunk in wheel.archive.content(path):
                    digest.update(chunk)
                    stream.write(chunk)
                stream.flush()
                os.fsync(stream.fileno())
            file.chmod(_FILE)
            digests[f"{folder}/{path}"] = digest.hexdigest()
    for inside, _, _ in os.walk(stage):
        if Path(inside) != stage:
            Path(inside).chmod(_FOLDER)
            settle(Path(inside))
    return Note(bot.name, str(bot.version), wheels, now, tuple(folders), extras, (), digests)


def _told(stage: Path, note: Note, bot: Wheel, ask: Ask) -> tuple[KeptBot, ...]:
    """Ask every bot who it is: that is what it is called from now on."""
    told: list[KeptBot] = []
    for point in bot.bots:
        where = origin(stage, note, point.module, point.attr)
        plugin = Plugin(point.name, note.distribution, note.version, where, "")
        version, description = ask(plugin)
        told.append(KeptBot(point.name, version, description, point.module, point.attr))
    return tuple(told)


def _refuse_namesakes(note: Note, there: Sequence[Installation]) -> None:
    known = {bot.identity: one for one in there for bot in one.note.bots}
    for bot in note.bots:
        if other := known.get(bot.identity):
            raise HomeError(
                f"{bot.identity} is installed already, by {other.place.name}: a bot that decides"
                " otherwise says another version"
            )


def _write_note(stage: Path, note: Note) -> None:
    write(stage / NOTE, msgspec.json.format(msgspec.json.encode(note), indent=2) + b"\n")
    (stage / NOTE).chmod(_FILE)
    stage.chmod(_FOLDER)
    settle(stage)
