"""Which bots can play: what is installed, and what each says of itself when it is asked.

Ronda's own are imported here. Everybody else's are never imported into this process: a worker
imports them once, as shut in as this machine can, and the answer is kept by the digest of all
their files.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from ronda_arena import hearsay
from ronda_arena.advice import about_import
from ronda_arena.fault import BotFaultError
from ronda_arena.hearsay import Said
from ronda_arena.home.found import Found, found
from ronda_arena.home.shelf import home as usual_home
from ronda_arena.isolation import IsolationError, Level, WorkerLostError
from ronda_arena.worker import wire
from ronda_arena.worker.nursery import Cradle, Nursery
from ronda_arena.worker.wire import Ask, Say
from ronda_arena.worker.worker import Worker
from ronda_bots.about import UnfitError, about, is_version
from ronda_bots.installed import Plugin, installed
from ronda_bots.registry import BotInfo, BrokenBot, Registry, assemble, load

if TYPE_CHECKING:
    from ronda_arena.home.install import Ask as Asking

_SIDE_BY_SIDE: Final = max(4, os.cpu_count() or 1)
"""Plugins that are asked at once: most of what is slow waits, and the others have to share."""


def discover(
    path: Sequence[str] | None = None,
    nursery: Nursery | None = None,
    level: Level = Level.SANDBOX,
    *,
    names: Collection[str] | None = None,
    home: Path | None = None,
) -> Registry:
    """Return what is installed on `path`, `sys.path` if None, asking plugins in `nursery`.

    They are asked in a sandbox, as far as there is one, unless a weaker `level` is given: never in
    this process. It reads the disk and may start workers: call it before an event loop runs.

    Beside those are the bots that are kept in `home`; if it is None in the usual one, but for a
    `path`, which then is all there is. Nobody asks these: they have told when they were installed.

    Where `names` are given, each with `@version` or without, nobody else's plugin is asked, and
    nobody else's directory in the home is looked through: they are only known by name. Who is named
    is asked again if it could not play a moment ago.
    """
    if nursery is None:
        with Nursery() as own:
            return discover(path, own, level, names=names, home=home)
    plugins, broken = installed(path)
    wanted = None if names is None else {name.partition("@")[0] for name in names}
    asked = [one for one in plugins if one.is_ours or wanted is None or one.name in wanted]
    theirs = [one for one in asked if not one.is_ours]
    heard = _hear(theirs, nursery, level, again=names is not None)
    bots: list[BotInfo] = []
    for plugin in asked:
        try:
            bots.append(_ours(plugin) if plugin.is_ours else _theirs(plugin, heard[plugin]))
        except UnfitError as unfit:
            broken.append(BrokenBot(plugin.name, plugin.distribution, str(unfit)))
    if home is None and path is None:
        home = usual_home()
    ours = sorted({plugin.name for plugin in plugins if plugin.is_ours})
    kept = found(home, ours, names=names) if home else Found([], [], [], [])
    unasked = {one.name for one in plugins} - {one.name for one in asked} | {*kept.passed}
    return assemble(
        [*bots, *kept.bots], [*broken, *kept.broken], unasked=unasked, resting=kept.resting
    )


def asking(nursery: Nursery, level: Level = Level.SANDBOX) -> Asking:
    """Return what asks a bot that is being installed for its version and description.

    It is asked like a plugin, in a worker; `UnfitError` where it is none.
    """

    def ask(plugin: Plugin) -> tuple[str, str]:
        nursery.start()
        info = _theirs(plugin, _ask(plugin, nursery, level))
        return info.version, info.description

    return ask


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


def _theirs(plugin: Plugin, said: Said) -> BotInfo:
    if said.problem:
        raise UnfitError(f"{plugin.value} {said.problem}")
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


def _hear(
    plugins: Sequence[Plugin], nursery: Nursery, level: Level, *, again: bool
) -> dict[Plugin, Said]:
    """Return what each plugin says of itself; `again`: ask also who could not say it of late."""
    heard: dict[Plugin, Said] = {}
    for plugin in plugins:
        said = hearsay.recall(plugin, level)
        if said is not None and not (again and said.problem):
            heard[plugin] = said
    silent = [plugin for plugin in plugins if plugin not in heard]
    if not silent:
        return heard
    nursery.start()
    with _asking(nursery) as pool:
        asked = {pool.submit(_ask, one, nursery, level): one for one in silent}
        for answer in as_completed(asked):
            plugin = asked[answer]
            heard[plugin] = answer.result()
            hearsay.keep(plugin, level, heard[plugin])
    return heard


@contextmanager
def _asking(nursery: Nursery) -> Iterator[ThreadPoolExecutor]:
    """Lend threads to ask in; whoever is interrupted need not wait for those who are asked."""
    with ThreadPoolExecutor(_SIDE_BY_SIDE, thread_name_prefix="asks-a-plugin") as pool:
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            nursery.close()  # it ends their workers, and so their threads
            raise


def _ask(plugin: Plugin, nursery: Nursery, level: Level) -> Said:
    """Import a plugin in a worker; whatever goes wrong there is a problem of the plugin."""
    origin = plugin.origin
    if nursery.problem or level.weaker(Level.SANDBOX):
        level = Level.PROCESS
    worker = Worker(nursery, Cradle(level, origin.reads, origin.listed))
    try:
        question = wire.pack((origin.path, origin.module, origin.attribute))
        said, body = worker.ask(Ask.ABOUT, question, nursery.limits.start_seconds)
        if said != Say.TEXT or not isinstance(body, bytes):
            return Said(problem="answered what it was not asked")
        answer = msgspec.json.decode(body, type=Said)
    except BotFaultError as fault:
        return Said(problem=f"cannot be imported: {fault.detail}")
    except msgspec.MsgspecError:
        return Said(problem="answered with something but its version")
    except WorkerLostError as lost:
        raise IsolationError("the workers cannot be kept alive here") from lost
    finally:
        with suppress(WorkerLostError):  # told above
            worker.end()
    if not answer.problem and not is_version(answer.version):
        return Said(problem="says a version that is none")
    advice = about_import(answer.problem, plugin.distribution, origin.reads)
    if level is Level.SANDBOX and advice:
        return Said(problem=f"{answer.problem}; {advice}")
    return answer
