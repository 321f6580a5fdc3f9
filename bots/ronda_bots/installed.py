"""Which bots are installed: the entry points of the group `ronda.bots`, read and not imported.

Built-in bots are found the way everybody's are. One bad plugin is named and left out; the rest
goes on.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution, EntryPoint, distributions
from pathlib import Path
from typing import Final

from ronda_bots.about import said
from ronda_bots.grants import GROUP, OURS, Site, elsewhere, key, metadata, name_of, reads
from ronda_bots.registry import BrokenBot, Origin

__all__ = ["GROUP", "OURS", "Plugin", "entry_problem", "installed"]

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_MOST_POINTS: Final = 256
"""Bots of one distribution."""
_MOST_BYTES: Final = 64 << 20
"""Of a distribution whose digest is taken."""
_VALUE: Final = re.compile(r"(\w+(?:\.\w+)*):(\w+(?:\.\w+)*)")


@dataclass(frozen=True, slots=True)
class Plugin:
    """An entry point that names a bot, as its metadata tells it."""

    name: str
    distribution: str
    distribution_version: str
    origin: Origin
    digest: str
    """Of all the files of its distribution; empty where they may change at any time."""

    @property
    def is_ours(self) -> bool:
        """Whether it comes with ronda."""
        return self.distribution == OURS and self.origin.module.startswith("ronda_bots.")

    @property
    def value(self) -> str:
        """What the entry point names."""
        return f"{self.origin.module}:{self.origin.attribute}"


def installed(path: Sequence[str] | None = None) -> tuple[list[Plugin], list[BrokenBot]]:
    """Return what is installed on `path`, `sys.path` if None, and what cannot be a bot.

    It reads the disk: call it before an event loop runs.
    """
    every = list(_each_once(path))
    site = Site(every)
    plugins: list[Plugin] = []
    broken: list[BrokenBot] = []
    for distribution in every:
        name = name_of(distribution)
        try:
            points = _entry_points(distribution)
        except Exception as error:  # noqa: BLE001 -- metadata of others: any fault is named, none stops us
            told = f"its entry points cannot be read: {said(error)}"
            broken.append(BrokenBot("?", name, told))
            continue
        for point in points[:_MOST_POINTS]:
            problem = entry_problem(point)
            try:
                if not problem:
                    plugins.append(_plugin(point, distribution, site, path is None))
            except Exception as error:  # noqa: BLE001 -- as above
                problem = f"what it is made of cannot be read: {said(error)}"
            if problem:
                broken.append(BrokenBot(point.name, name, problem))
        if len(points) > _MOST_POINTS:
            told = f"a distribution has at most {_MOST_POINTS} bots: the rest is left out"
            broken.append(BrokenBot("?", name, told))
    ours = {plugin.name for plugin in plugins if plugin.is_ours}
    for plugin in [plugin for plugin in plugins if plugin.name in ours and not plugin.is_ours]:
        plugins.remove(plugin)
        told = f"{plugin.name} is the name of a bot of ronda: choose another"
        broken.append(BrokenBot(plugin.name, plugin.distribution, told))
    return plugins, broken


def entry_problem(point: EntryPoint) -> str:
    """Return why an entry point can be no bot; empty where it can."""
    if not _NAME.fullmatch(point.name):
        return "a bot's name has 1 to 64 letters, digits, - and _"
    if not _VALUE.fullmatch(point.value.strip()):
        return f"{point.value} is no module:class"
    return ""


def _plugin(point: EntryPoint, distribution: Distribution, site: Site, own: bool) -> Plugin:
    """Return a plugin; `own` where it is installed for this interpreter."""
    found = _VALUE.fullmatch(point.value.strip())
    assert found
    name, version = name_of(distribution), metadata(distribution, "Version")
    if name == OURS and found[1].startswith("ronda_bots."):  # every worker has ronda
        return Plugin(point.name, name, version, Origin(found[1], found[2]), "")
    home = Path(str(distribution.locate_file(""))).resolve()
    away = elsewhere(distribution, home) if own else []
    may_read = [*away, *reads(distribution, site)]
    if distribution.files is None:  # it does not say what it brought: its own module, then
        top = home / found[1].partition(".")[0]
        places = (top, top.with_suffix(".py"))
        may_read += [str(one) for one in places if one.exists() and not one.is_symlink()]
    origin = Origin(
        found[1],
        found[2],
        path=(*away, str(home)),
        reads=tuple(dict.fromkeys(may_read)),
        listed=(str(home),),
    )
    digest = "" if away else _digest(distribution, home)
    return Plugin(point.name, name, version, origin, digest)


def _digest(distribution: Distribution, home: Path) -> str:
    """Return a digest of the content of all files of a distribution.

    It is empty where one cannot be read, is no plain file, or where it is too much.
    """
    if distribution.files is None:
        return ""
    digest = hashlib.sha256()
    room = _MOST_BYTES
    for file in sorted(map(str, distribution.files)):
        place = home / file
        if file.endswith(".pyc") or not place.resolve().is_relative_to(home):
            continue
        room -= place.stat().st_size if place.is_file() else room + 1
        if room < 0:
            return ""
        content = hashlib.sha256(place.read_bytes()).hexdigest()
        digest.update(json.dumps([file, content]).encode())
    return digest.hexdigest()


def _each_once(path: Sequence[str] | None) -> Iterator[Distribution]:
    """Yield each distribution once: of one that is found twice the first is what gets imported."""
    seen: set[str] = set()
    for distribution in distributions() if path is None else distributions(path=list(path)):
        name = key(name_of(distribution))
        if name not in seen:
            yield distribution
        if name != "?":
            seen.add(name)


def _entry_points(distribution: Distribution) -> list[EntryPoint]:
    """Return the entry points of our group; a line that stands there twice counts once."""
    found = (point for point in distribution.entry_points if point.group == GROUP)
    return list({(point.name, point.value): point for point in found}.values())
