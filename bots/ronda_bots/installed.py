"""Which bots are installed: the entry points of the group `ronda.bots`, read and not imported.

Built-in bots are found the way everybody's are. One bad plugin is named and left out; the rest
goes on.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import Distribution, EntryPoint, distributions
from pathlib import Path, PurePath
from typing import Final, cast

from ronda_bots.registry import BrokenBot, Origin

GROUP: Final = "ronda.bots"
OURS: Final = "ronda"
"""The distribution of the bots that come with ronda."""

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}", re.ASCII)
_VALUE: Final = re.compile(r"(\w+(?:\.\w+)*):(\w+(?:\.\w+)*)")
_NEEDED: Final = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?")
_ONLY_WITH: Final = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")
_PTH: Final = ".pth"


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


class _Site:
    """All that is installed, seen together."""

    def __init__(self, every: Iterable[Distribution]) -> None:
        self.by_name = {_key(_name(distribution)): distribution for distribution in every}

    @cached_property
    def owners(self) -> Counter[str]:
        """How many distributions have something in a top-level folder."""
        return Counter(top for one in self.by_name.values() for top in _tops(one))


def installed(path: Sequence[str] | None = None) -> tuple[list[Plugin], list[BrokenBot]]:
    """Return what is installed on `path`, `sys.path` if None, and what cannot be a bot.

    It reads the disk: call it before an event loop runs.
    """
    every = list(_each_once(path))
    site = _Site(every)
    plugins: list[Plugin] = []
    broken: list[BrokenBot] = []
    for distribution in every:
        name = _name(distribution)
        try:
            points = _entry_points(distribution)
        except Exception as error:  # noqa: BLE001 -- metadata of others: any fault is named, none stops us
            told = f"its entry points cannot be read: {_said(error)}"
            broken.append(BrokenBot("?", name, told))
            continue
        for point in points:
            problem = _problem(point)
            if problem:
                broken.append(BrokenBot(point.name, name, problem))
            else:
                plugins.append(_plugin(point, distribution, site, path is None))
    return plugins, broken


def _problem(point: EntryPoint) -> str:
    if not _NAME.fullmatch(point.name):
        return "a bot's name has 1 to 64 letters, digits, - and _"
    if not _VALUE.fullmatch(point.value.strip()):
        return f"{point.value} is no module:class"
    return ""


def _plugin(point: EntryPoint, distribution: Distribution, site: _Site, own: bool) -> Plugin:
    """Return a plugin; `own` where it is installed for this interpreter."""
    found = _VALUE.fullmatch(point.value.strip())
    assert found
    name, version = _name(distribution), _metadata(distribution, "Version")
    if name == OURS:  # every worker has ronda
        return Plugin(point.name, name, version, Origin(found[1], found[2]), "")
    home = str(Path(str(distribution.locate_file(""))).resolve())
    elsewhere = _elsewhere(distribution, home) if own else []
    reads: list[str] = list(elsewhere)
    for needed in _with_what_it_needs(distribution, site):
        reads += _own_places(needed, site)
    if distribution.files is None:  # it does not say what it brought: its own module, then
        top = Path(home, found[1].partition(".")[0])
        reads += [str(one) for one in (top, top.with_suffix(".py")) if one.exists()]
    origin = Origin(
        found[1],
        found[2],
        path=(*elsewhere, home),
        reads=tuple(dict.fromkeys(reads)),
        listed=(home,),
    )
    digest = "" if elsewhere else _digest(distribution)
    return Plugin(point.name, name, version, origin, digest)


def _elsewhere(distribution: Distribution, home: str) -> list[str]:
    """Return the folders that an editable installation leads to by its .pth files.

    Only who installs for this interpreter may do that: any other package could name any folder.
    """
    if not _is_editable(distribution):
        return []
    folders = []
    for file in distribution.files or ():
        if str(file).endswith(_PTH) and len(file.parts) == 1:
            with suppress(OSError, UnicodeError):  # then it leads nowhere
                lines = (Path(home) / file).read_text(encoding="utf-8").splitlines()
                folders += [line for line in lines if Path(line).is_absolute()]
    return [folder for folder in folders if Path(folder).is_dir()]


def _is_editable(distribution: Distribution) -> bool:
    """Say whether the installer has noted that the code stays where it is written (PEP 660)."""
    try:
        noted = json.loads(distribution.read_text("direct_url.json") or "{}")
        return noted["dir_info"]["editable"] is True
    except (OSError, ValueError, LookupError, TypeError):
        return False  # nothing of the kind is noted


def _with_what_it_needs(distribution: Distribution, site: _Site) -> Iterator[Distribution]:
    """Yield a distribution and those it requires, and so on; other bots' are not among them."""
    waiting: list[tuple[Distribution, frozenset[str]]] = [(distribution, frozenset())]
    seen = {(_key(_name(distribution)), frozenset[str]())}
    while waiting:
        one, extras = waiting.pop()
        if _name(one) != OURS:  # ronda itself is there for everybody
            yield one
        for line in one.requires or ():
            only_with = _ONLY_WITH.search(line)
            wanted = _NEEDED.match(line)
            if not wanted or (only_with and _key(only_with[1]) not in extras):
                continue
            if _name(one) == OURS and not only_with:
                continue  # what a server needs; a bot has what of it is loaded for everybody
            key = _key(wanted[1])
            asked = frozenset(_key(extra.strip()) for extra in (wanted[2] or "").split(","))
            needed = site.by_name.get(key)
            if needed is None or (key, asked) in seen:
                continue
            seen.add((key, asked))
            # A rival's code is not to be read by requiring it.
            if key == OURS or not _has_bots(needed):
                waiting.append((needed, asked))


def _has_bots(distribution: Distribution) -> bool:
    try:
        return bool(_entry_points(distribution))
    except Exception:  # noqa: BLE001 -- metadata of others: what cannot be read may be anything
        return True


def _own_places(distribution: Distribution, site: _Site) -> Iterator[str]:
    """Yield the top-level files and folders of a distribution.

    Of a folder that others share, such as that of a namespace, it has its own files only.
    """
    home = Path(str(distribution.locate_file(""))).resolve()
    tops = _tops(distribution)
    for file in distribution.files or ():
        if _is_inside(file) and site.owners[file.parts[0]] > 1:
            tops.discard(file.parts[0])
            tops.add(str(file))
    for top in sorted(tops):
        if (home / top).exists():
            yield str(home / top)


def _tops(distribution: Distribution) -> set[str]:
    files = distribution.files or ()
    return {file.parts[0] for file in files if _is_inside(file)} - {"__pycache__"}


def _is_inside(file: PurePath) -> bool:
    """Say whether a file that a distribution names is in the folder where it is installed."""
    return not file.is_absolute() and ".." not in file.parts and len(file.parts) > 0


def _digest(distribution: Distribution) -> str:
    """Return a digest of the content of all files of a distribution; empty if one is unreadable."""
    if distribution.files is None:
        return ""
    digest = hashlib.sha256()
    home = Path(str(distribution.locate_file("")))
    for file in sorted(map(str, distribution.files)):
        if file.endswith(".pyc"):
            continue
        try:
            content = (home / file).read_bytes()
        except OSError:
            return ""
        digest.update(json.dumps([file, hashlib.sha256(content).hexdigest()]).encode())
    return digest.hexdigest()


def _each_once(path: Sequence[str] | None) -> Iterator[Distribution]:
    """Yield each distribution once: of one that is found twice the first is what gets imported."""
    seen: set[str] = set()
    for distribution in distributions() if path is None else distributions(path=list(path)):
        name = _key(_name(distribution))
        if name not in seen:
            yield distribution
        if name != "?":
            seen.add(name)


def _key(name: str) -> str:
    """Return a name as PEP 503 compares them: ronda_bot.echo is ronda-bot-echo."""
    return re.sub(r"[-_.]+", "-", name).lower()


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


def _said(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:200] if text else type(error).__name__
