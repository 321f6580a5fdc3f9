"""The bots of one moment, and how one of them is found by name.

What is installed is read by `installed`, without importing anything; what the classes say of
themselves is asked where they can do no harm, by the arena's `discovery`.
"""

from __future__ import annotations

import difflib
import importlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import cast

from ronda_bots.api import BotClass


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the class of a bot comes from, and what it takes to import it."""

    module: str
    attribute: str
    """Names in the module, with dots between."""
    path: tuple[str, ...] = ()
    """Folders to put on `sys.path`."""
    reads: tuple[str, ...] = ()
    """Files and folders of its distribution and of those that this one needs."""
    listed: tuple[str, ...] = ()
    """Folders of which names must be seen to import it."""
    installation: str = ""
    """The directory of its own that it is installed in; empty: the environment's packages."""
    seal: str = ""
    """Of that directory, as it was when all of it was looked at."""


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
    bot_class: BotClass | None = None
    """The class, where it has been imported into this process."""
    origin: Origin | None = field(default=None, repr=False)
    """Where its class comes from; None where there is nothing but the class."""

    @property
    def identity(self) -> str:
        """`name@version`: what records, ratings and deals call it."""
        return f"{self.name}@{self.version}"


@dataclass(frozen=True, slots=True)
class RestingBot:
    """An installed bot that could play and may not."""

    bot: BotInfo
    state: str
    """`disabled` or `quarantined`."""
    reason: str
    """Why, and what lets it play again."""


@dataclass(frozen=True, slots=True)
class BrokenBot:
    """An entry point that names no bot that can play."""

    name: str
    distribution: str
    problem: str


class BotNotFoundError(LookupError):
    """No installed bot answers to what was asked for."""


@dataclass(frozen=True, slots=True)
class Registry:
    """The bots of one moment."""

    bots: tuple[BotInfo, ...]
    """By name, then from the oldest version to the newest."""
    broken: tuple[BrokenBot, ...]
    unasked: tuple[str, ...] = ()
    """Names of installed bots that nobody has looked at; with `@version` where that is known."""
    resting: tuple[RestingBot, ...] = ()

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
        for resting in self.resting:
            if wanted in (resting.bot.identity, resting.bot.name):
                return f"bot {resting.bot.identity} {resting.reason}"
        for broken in self.broken:
            if broken.name == name:
                return f"bot {name!r} of {broken.distribution} cannot play: {broken.problem}"
        known = [bot.identity for bot in self.bots if bot.name == name]
        known += [unasked for unasked in self.unasked if unasked.startswith(f"{name}@")]
        if not known:
            names = {one.partition("@")[0] for one in self.unasked}
            names |= {bot.name for bot in self.bots}
            known = difflib.get_close_matches(name, sorted(names), n=3)
        hint = f"; did you mean {' or '.join(known)}?" if known else ""
        return f"no bot {wanted!r} is installed{hint}"


def assemble(
    bots: Sequence[BotInfo],
    broken: Sequence[BrokenBot],
    *,
    unasked: Iterable[str] = (),
    resting: Sequence[RestingBot] = (),
) -> Registry:
    """Return the registry of `bots`; those that nobody could tell apart are broken too."""
    clashes = [
        identity for identity, count in Counter(bot.identity for bot in bots).items() if count > 1
    ]
    broken = [*broken, *_refuse(clashes, bots)]
    playing = [bot for bot in bots if bot.identity not in clashes]
    return Registry(
        tuple(in_order(playing)),
        tuple(sorted(broken, key=lambda bot: (bot.name, bot.distribution, bot.problem))),
        tuple(sorted(unasked)),
        tuple(sorted(resting, key=lambda one: (one.bot.name, _age(one.bot.version)))),
    )


def in_order(bots: Iterable[BotInfo]) -> list[BotInfo]:
    """Return bots by name, then from the oldest version to the newest."""
    return sorted(bots, key=lambda bot: (bot.name, _age(bot.version), bot.version))


def load(info: BotInfo) -> BotClass:
    """Return the class of a bot, importing it into this process if it is not here yet."""
    if info.bot_class is not None:
        return info.bot_class
    origin = origin_of(info)
    if origin.installation:
        raise ValueError(f"{info.identity} is installed apart: it is never imported here")
    found: object = importlib.import_module(origin.module)
    for part in origin.attribute.split("."):
        found = getattr(found, part)
    return cast("BotClass", found)


def origin_of(info: BotInfo) -> Origin:
    """Return where a bot's class comes from; `ValueError` if it is of this process alone."""
    if info.origin is None:
        raise ValueError(f"{info.identity} is no installed bot: it can only run in this process")
    return info.origin


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
