"""Which bots are installed: the entry points of the group `ronda.bots`.

Built-in bots are found the way everybody's are. One bad plugin is named and left out; the rest
goes on. Importing a plugin runs its code, so this is for bots that are trusted.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, distributions
from typing import Final, cast

from ronda_bots.api import BotClass

GROUP: Final = "ronda.bots"

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_VERSION: Final = re.compile(r"[A-Za-z0-9.+_-]{1,64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class BotInfo:
    """A bot that can play."""

    name: str
    version: str
    distribution: str
    """The installed package that it comes from."""
    distribution_version: str
    description: str
    """The first line of its class's docstring."""
    bot_class: BotClass

    @property
    def identity(self) -> str:
        """`name@version`: what records, ratings and deals call it."""
        return f"{self.name}@{self.version}"


@dataclass(frozen=True, slots=True)
class BrokenBot:
    """An entry point that names no bot that can play."""

    name: str
    distribution: str
    problem: str


class BotNotFoundError(LookupError):
    """No installed bot answers to what was asked for."""


class _UnfitError(Exception):
    """Something that an entry point names is no bot."""


@dataclass(frozen=True, slots=True)
class Registry:
    """The bots of one moment."""

    bots: tuple[BotInfo, ...]
    """By name, then from the oldest version to the newest."""
    broken: tuple[BrokenBot, ...]

    def find(self, wanted: str) -> BotInfo:
        """Return the bot `name@version`, or the newest version of `name`."""
        name, at, version = wanted.partition("@")
        found = [
            bot for bot in self.bots if bot.name == name and (not at or bot.version == version)
        ]
        if found:
            return found[-1]
        raise BotNotFoundError(self._not_found(wanted, name))

    def _not_found(self, wanted: str, name: str) -> str:
        for broken in self.broken:
            if broken.name == name:
                return f"bot {name!r} of {broken.distribution} cannot play: {broken.problem}"
        known = [bot.identity for bot in self.bots if bot.name == name]
        if not known:
            known = difflib.get_close_matches(name, sorted({bot.name for bot in self.bots}), n=3)
        hint = f"; did you mean {' or '.join(known)}?" if known else ""
        return f"no bot {wanted!r} is installed{hint}"


def discover(path: Sequence[str] | None = None) -> Registry:
    """Return what is installed on `path`, `sys.path` if None.

    What `path` leads to must be importable too. It reads the disk and imports every plugin: call
    it before an event loop runs.
    """
    bots: list[BotInfo] = []
    broken: list[BrokenBot] = []
    for distribution in _each_once(path):
        name = _name(distribution)
        try:
            points = _entry_points(distribution)
        except Exception as error:  # noqa: BLE001 -- metadata of others: any fault is named, none stops us
            broken.append(BrokenBot("?", name, f"its entry points cannot be read: {_said(error)}"))
            continue
        for point in points:
            try:
                bots.append(_load(point, distribution))
            except _UnfitError as error:
                broken.append(BrokenBot(point.name, name, str(error)))
    clashes = [
        identity for identity, count in Counter(bot.identity for bot in bots).items() if count > 1
    ]
    broken += _refuse(clashes, bots)
    playing = [bot for bot in bots if bot.identity not in clashes]
    return Registry(
        tuple(sorted(playing, key=lambda bot: (bot.name, _age(bot.version), bot.version))),
        tuple(sorted(broken, key=lambda bot: (bot.name, bot.distribution, bot.problem))),
    )


def _each_once(path: Sequence[str] | None) -> Iterator[Distribution]:
    """Yield each distribution once: of one that is found twice the first is what gets imported."""
    seen: set[str] = set()
    for distribution in distributions() if path is None else distributions(path=list(path)):
        # Names are compared as PEP 503 says: ronda_bot.echo is ronda-bot-echo.
        name = re.sub(r"[-_.]+", "-", _name(distribution)).lower()
        if name not in seen:
            yield distribution
        if name != "?":
            seen.add(name)


def _name(distribution: Distribution) -> str:
    return _metadata(distribution, "Name") or "?"


def _metadata(distribution: Distribution, key: str) -> str:
    # A folder without a METADATA file is no reason to stop.
    metadata = cast("object", distribution.metadata)
    return "" if metadata is None else str(distribution.metadata[key] or "")


def _entry_points(distribution: Distribution) -> list[EntryPoint]:
    """Return the entry points of our group; a line that stands there twice counts once."""
    found = (point for point in distribution.entry_points if point.group == GROUP)
    return list({(point.name, point.value): point for point in found}.values())


def _load(point: EntryPoint, distribution: Distribution) -> BotInfo:
    """Return the bot that `point` names, or raise `_UnfitError` with what is wrong with it."""
    if not _NAME.fullmatch(point.name):
        raise _UnfitError("a bot's name has 1 to 64 letters, digits, - and _")
    try:
        bot_class = point.load()
        version, description = _about(bot_class)
    except KeyboardInterrupt:
        raise
    except _UnfitError as error:
        raise _UnfitError(f"{point.value} {error}") from error
    except BaseException as error:  # a plugin may even call sys.exit()
        raise _UnfitError(f"{point.value} cannot be imported: {_said(error)}") from error
    return BotInfo(
        name=point.name,
        version=version,
        distribution=_name(distribution),
        distribution_version=_metadata(distribution, "Version"),
        description=description,
        bot_class=cast("BotClass", bot_class),
    )


def _about(bot_class: object) -> tuple[str, str]:
    """Return version and description of a bot class, or raise `_UnfitError`."""
    if not isinstance(bot_class, type):
        raise _UnfitError("is no class")
    if not callable(getattr(bot_class, "play", None)):
        raise _UnfitError("has no method play(self, view)")
    version = getattr(bot_class, "version", None)
    if not isinstance(version, str):
        raise _UnfitError('has no version: a class attribute such as version = "1.0.0"')
    if not _VERSION.fullmatch(version):
        raise _UnfitError("has a version of other than 1 to 64 letters, digits and . + - _")
    lines = (bot_class.__doc__ or "").strip().splitlines()
    return version, lines[0].strip() if lines else ""


def _refuse(clashes: Iterable[str], bots: Sequence[BotInfo]) -> Iterator[BrokenBot]:
    """Yield every bot that shares name and version with another: which is meant nobody can say."""
    for identity in clashes:
        rivals = [bot for bot in bots if bot.identity == identity]
        packages = " and ".join(sorted({bot.distribution for bot in rivals}))
        for bot in rivals:
            yield BrokenBot(bot.name, bot.distribution, f"{identity} comes twice: from {packages}")


def _age(version: str) -> tuple[tuple[int, ...], bool, tuple[int, ...]]:
    """Return what sorts versions by their numbers: 1.10 after 1.9, and 2.0rc1 before 2.0."""
    release = re.match(r"[0-9.]*", version)
    text = release.group() if release else ""
    numbers = [int(part) for part in text.split(".") if part]
    while numbers and not numbers[-1]:
        numbers.pop()
    rest = version[len(text) :]
    final = not re.match(r"[-_]?[A-Za-z]", rest)
    return tuple(numbers), final, tuple(int(part) for part in re.findall(r"[0-9]+", rest))


def _said(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:200] if text else type(error).__name__
