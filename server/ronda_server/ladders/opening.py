"""How the server takes up a ladder's folder before anybody plays there, or says why it does not."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path

import structlog

from ronda_arena.database import StoreError
from ronda_arena.ladder import begin, store
from ronda_arena.ladder.plan import LadderError, LadderPlan
from ronda_bots.registry import BotNotFoundError
from ronda_server.claiming import patiently
from ronda_server.errors import ConfigError
from ronda_server.ladders.asked import Asked, Wanted, read
from ronda_server.ladders.told import Orders
from ronda_server.tables.told import LEAST_SECONDS, holds

_log = structlog.get_logger(__name__)


def orders(
    files: Sequence[Path],
    identity: Callable[[str], str],
    home: Path | None,
    absence: float = 60.0,
    *,
    resting: Collection[str] = (),
) -> tuple[Orders, ...]:
    """Return the ladders that files ask for, begun where there is none; `ConfigError` else.

    `identity` finds the name@version that a name means, and `resting` are the names of bots that
    are put aside: these may be asked for, since they join when they are released. It reads the
    disk, and waits some seconds for a driver whose server was killed.
    """
    wanted = [(file, read(file)) for file in files]
    _check_folders(wanted)
    for file, one in wanted:
        _check_bots(file, one.asked.bots, identity, resting)
    found = tuple(_taken_up(file, one, identity, home, absence) for file, one in wanted)
    names = [one.plan.id for one in found]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"two ladders are called {name}: give one another name")
    return found


def _check_folders(wanted: Sequence[tuple[Path, Wanted]]) -> None:
    """Raise `ConfigError` where two files are about one folder."""
    known: dict[Path, Path] = {}
    for file, one in wanted:
        folder = one.folder.resolve()
        if folder in known:
            raise ConfigError(f"{known[folder]} and {file} are about one folder, {folder}")
        known[folder] = file


def _check_bots(
    file: Path, bots: Sequence[str], identity: Callable[[str], str], resting: Collection[str]
) -> None:
    """Raise `ConfigError` where one is asked for that is not there."""
    try:
        for bot in bots:
            if bot not in resting:
                identity(bot)
    except BotNotFoundError as problem:
        raise ConfigError(f"{file}: bots: {problem}") from None


def _taken_up(
    file: Path,
    wanted: Wanted,
    identity: Callable[[str], str],
    home: Path | None,
    absence: float,
) -> Orders:
    try:
        plan = _plan(wanted, identity)
    except (StoreError, LadderError, BotNotFoundError) as problem:
        raise ConfigError(f"{file}: {problem}") from None
    asked = wanted.asked
    return Orders(
        plan,
        wanted.folder,
        home,
        asked.bots,
        dict(asked.owners),
        asked.look_every,
        asked.workers,
        _remote(file, asked, plan),
        absence,
    )


def _remote(file: Path, asked: Asked, plan: LadderPlan) -> bool:
    """Say whether remote bots play; `ConfigError` where they cannot and are asked for."""
    can = holds(plan.clock)
    if not can and asked.remote is not False:
        words = f"{plan.clock} seconds" if plan.clock else "no clock"
        why = (
            f"remote bots cannot play on a ladder with {words}: they need {LEAST_SECONDS:g} seconds"
            " a decision at least, and no bank"
        )
        if asked.remote:
            raise ConfigError(f'{file}: {why}. Begin another ladder, such as with clock = "10"')
        _log.info(why, ladder=plan.id)
    return can and asked.remote is not False


def _plan(wanted: Wanted, identity: Callable[[str], str]) -> LadderPlan:
    with patiently(lambda: store.claim(wanted.folder)) as held:
        return begin.kept(held, partial(wanted.plan, identity), wanted.given).plan
