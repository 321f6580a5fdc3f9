"""The bots that are kept, for discovery: by their notes, without importing or running anything."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ronda_arena.home.seal import seal
from ronda_arena.home.shelf import HomeError, Installation, KeptBot, Note, installations
from ronda_arena.home.standing import Standing, standings
from ronda_arena.isolation import IsolationError
from ronda_bots.grants import OURS, Site, reads
from ronda_bots.registry import BotInfo, BrokenBot, Origin, RestingBot

if TYPE_CHECKING:
    from importlib.metadata._meta import SimplePath  # what the library's own types are made of


class Found(NamedTuple):
    """What a home holds."""

    bots: list[BotInfo]
    resting: list[RestingBot]
    broken: list[BrokenBot]
    passed: list[str]
    """Identities of bots that were not named, and not looked at."""


def found(place: Path, taken: Sequence[str] = (), *, names: Collection[str] | None = None) -> Found:
    """Return the bots that are kept in `place`; `taken` are names that are ronda's own.

    Every byte of what may play is held against what was installed. Where `names` are given, each
    with `@version` or without, that is done for the directories of these bots, and of no others.
    """
    there, damaged = installations(place)
    every = Found([], [], [BrokenBot("?", one.place.name, one.problem) for one in damaged], [])
    if names is not None:
        passed = [one for one in there if not _is_named(one, names)]
        every.passed.extend(bot.identity for one in passed for bot in one.note.bots)
        there = [one for one in there if _is_named(one, names)]
    try:
        standing = standings(place)
    except HomeError as error:  # who may play nobody knows: then nobody does
        every.broken.extend(_all_broken(there, str(error)))
        return every
    for one in there:
        playing = [bot for bot in one.note.bots if not _standing(bot, standing).reason("")]
        sealed, problem = _looked_at(one) if playing else ("", "")
        if problem:
            every.broken.extend(_all_broken([one], f"{problem}: uninstall it, and install it anew"))
            continue
        for bot in one.note.bots:
            info = _info(one, bot, sealed)
            reason = _standing(bot, standing).reason(bot.identity)
            if bot.name in taken:
                told = f"{bot.name} is the name of a bot of ronda: choose another"
                every.broken.append(BrokenBot(bot.name, one.place.name, told))
            elif reason:
                state = _standing(bot, standing).state
                every.resting.append(RestingBot(info, state, reason))
            else:
                every.bots.append(info)
    return every


def check_seal(info: BotInfo) -> None:
    """Raise `IsolationError` where the files of a bot are not those that were found.

    It reads what the file system notes, and the bytes only if that is not what it was.
    """
    if info.origin is None or not info.origin.seal:
        return
    place = Path(info.origin.installation)
    try:
        if seal(place) == info.origin.seal:
            return
    except OSError:
        problem = "its directory is gone"
    else:
        there = next((one for one in installations(place.parent)[0] if one.place == place), None)
        problem = there.damage() if there else "its directory tells nothing of it any more"
    if problem:
        raise IsolationError(f"{info.identity} is not run: {problem}")


def origin(place: Path, note: Note, module: str, attribute: str, sealed: str = "") -> Origin:
    """Return how a bot is imported from an installation, and what it may read for that."""
    path = tuple(str(place / folder) for folder in note.path)
    brought = _of_ronda(note.extras) if note.extras else ()
    return Origin(
        module,
        attribute,
        path=path,
        reads=(*path, *brought),
        listed=tuple(dict.fromkeys(str(Path(one).parent) for one in brought)),
        installation=str(place),
        seal=sealed,
    )


def _is_named(one: Installation, names: Collection[str]) -> bool:
    return any(bot.name in names or bot.identity in names for bot in one.note.bots)


def _looked_at(one: Installation) -> tuple[str, str]:
    """Return the seal of an installation, and what has changed in it."""
    try:
        # In this order: what changes while the bytes are read has another seal afterwards.
        return seal(one.place), one.damage()
    except OSError as error:  # it is being taken away, or may not be read
        return "", f"it cannot be read: {error.strerror or error}"


def _info(one: Installation, bot: KeptBot, sealed: str) -> BotInfo:
    return BotInfo(
        bot.name,
        bot.version,
        one.note.distribution,
        one.note.version,
        bot.description,
        None,
        origin(one.place, one.note, bot.module, bot.attribute, sealed),
    )


def _standing(bot: KeptBot, standing: dict[str, Standing]) -> Standing:
    return standing.get(bot.identity, Standing())


def _all_broken(there: Sequence[Installation], problem: str) -> Iterator[BrokenBot]:
    for one in there:
        yield from (BrokenBot(bot.name, one.place.name, problem) for bot in one.note.bots)


class _Wanting(Distribution):
    """What requires some extras of ronda, and nothing else."""

    def __init__(self, extras: Sequence[str]) -> None:
        self._wanted = f"Requires-Dist: {OURS}[{','.join(extras)}]\n"

    def read_text(self, filename: str) -> str | None:
        """Return its metadata; it has brought no files."""
        return self._wanted if filename == "METADATA" else None

    def locate_file(self, path: str | os.PathLike[str]) -> SimplePath:
        """Return a place; nothing lies there."""
        return Path("/nonexistent", path)


def _of_ronda(extras: Sequence[str]) -> tuple[str, ...]:
    """Return what extras of ronda have brought into the environment, as other bots may read it."""
    return tuple(dict.fromkeys(reads(_Wanting(extras), Site(distributions()))))
