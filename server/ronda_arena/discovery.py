"""Which bots can play: what is installed, and what each says of itself when it is asked.

Ronda's own are imported here. Everybody else's are never imported into this process: a worker
imports them once, as shut in as this machine can, and the answer is kept by the digest of all
their files.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Final

import msgspec

from ronda_arena.advice import about_import
from ronda_arena.fault import BotFaultError
from ronda_arena.isolation import IsolationError, Level, WorkerLostError
from ronda_arena.worker import wire
from ronda_arena.worker.nursery import Cradle, Nursery
from ronda_arena.worker.wire import Ask, Say
from ronda_arena.worker.worker import Worker
from ronda_bots.about import UnfitError, about, is_version
from ronda_bots.installed import Plugin, installed
from ronda_bots.registry import BotInfo, BrokenBot, Registry, assemble, load

_LONGEST: Final = 200


class _Said(msgspec.Struct, forbid_unknown_fields=True):
    """What a worker says of a bot: a stranger's words, so they are bounded."""

    version: Annotated[str, msgspec.Meta(max_length=64)] = ""
    description: Annotated[str, msgspec.Meta(max_length=_LONGEST)] = ""
    problem: Annotated[str, msgspec.Meta(max_length=2000)] = ""


def discover(
    path: Sequence[str] | None = None,
    nursery: Nursery | None = None,
    level: Level = Level.SANDBOX,
) -> Registry:
    """Return what is installed on `path`, `sys.path` if None, asking plugins in `nursery`.

    They are asked in a sandbox, as far as there is one, unless a weaker `level` is given: never in
    this process. It reads the disk and may start workers: call it before an event loop runs.
    """
    if nursery is None:
        with Nursery() as own:
            return discover(path, own, level)
    plugins, broken = installed(path)
    bots: list[BotInfo] = []
    for plugin in plugins:
        try:
            bots.append(_ours(plugin) if plugin.is_ours else _theirs(plugin, nursery, level))
        except UnfitError as unfit:
            broken.append(BrokenBot(plugin.name, plugin.distribution, str(unfit)))
    return assemble(bots, broken)


def _ours(plugin: Plugin) -> BotInfo:
    bot_class = load(_info(plugin, "", ""))
    version, description = about(bot_class)
    info = _info(plugin, version, description)
    return BotInfo(
        info.name,
        version,
        info.distribution,
        info.distribution_version,
        description,
        bot_class,
        plugin.origin,
    )


def _theirs(plugin: Plugin, nursery: Nursery, level: Level) -> BotInfo:
    kept = _kept(plugin)
    said = _read(kept)
    if said is None or not is_version(said.version):
        said = _ask(plugin, nursery, level)
        if said.problem:
            raise UnfitError(f"{plugin.value} {said.problem}")
        if not is_version(said.version):
            raise UnfitError(f"{plugin.value} says a version that is none")
        _keep(kept, said)
    return _info(plugin, said.version, _printed(said.description))


def _printed(text: str) -> str:
    """Return a stranger's line without what steers a terminal or a page."""
    return "".join(letter for letter in text if letter.isprintable())


def _info(plugin: Plugin, version: str, description: str) -> BotInfo:
    return BotInfo(
        plugin.name,
        version,
        plugin.distribution,
        plugin.distribution_version,
        description,
        None,
        plugin.origin,
    )


def _ask(plugin: Plugin, nursery: Nursery, level: Level) -> _Said:
    """Import a plugin in a worker; whatever goes wrong there is a problem of the plugin."""
    nursery.start()
    origin = plugin.origin
    if nursery.problem or level.weaker(Level.SANDBOX):
        level = Level.PROCESS
    worker = Worker(nursery, Cradle(level, origin.reads, origin.listed))
    try:
        question = wire.pack((origin.path, origin.module, origin.attribute))
        said, body = worker.ask(Ask.ABOUT, question, nursery.limits.start_seconds)
        if said != Say.TEXT or not isinstance(body, bytes):
            raise UnfitError(f"{plugin.value} answered what it was not asked")
        answer = msgspec.json.decode(body, type=_Said)
    except BotFaultError as fault:
        raise UnfitError(f"{plugin.value} cannot be imported: {fault.detail}") from None
    except msgspec.MsgspecError:
        raise UnfitError(f"{plugin.value} answered with something but its version") from None
    except WorkerLostError as lost:
        raise IsolationError("the workers cannot be kept alive here") from lost
    finally:
        with suppress(WorkerLostError):  # told above
            worker.end()
    advice = about_import(answer.problem, plugin.distribution, origin.reads)
    if level is Level.SANDBOX and advice:
        return _Said(problem=f"{answer.problem}; {advice}")
    return answer


def _kept(plugin: Plugin) -> Path | None:
    """Return where the answer of a plugin is kept; None where its files may change at any time."""
    if not plugin.digest:
        return None
    of = f"{sys.version} {plugin.value} {plugin.digest}"
    base = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(base, "ronda", "bots", f"{hashlib.sha256(of.encode()).hexdigest()}.json")


def _read(kept: Path | None) -> _Said | None:
    if kept is None:
        return None
    try:
        return msgspec.json.decode(kept.read_bytes(), type=_Said)
    except (OSError, msgspec.MsgspecError):
        return None  # not there, or damaged: it is asked again


def _keep(kept: Path | None, said: _Said) -> None:
    if kept is None:
        return
    with suppress(OSError):  # nothing depends on it: it is asked again next time
        kept.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        whole = kept.with_suffix(f".{os.getpid()}")
        whole.write_bytes(msgspec.json.encode(said))
        whole.replace(kept)
