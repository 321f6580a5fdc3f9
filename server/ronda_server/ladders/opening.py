"""How the server takes up a ladder's folder before anybody plays there, or says why it does not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from ronda_arena.database import StoreError
from ronda_arena.ladder import begin, store
from ronda_arena.ladder.plan import LadderError, LadderPlan
from ronda_bots.registry import BotNotFoundError
from ronda_server.claiming import patiently
from ronda_server.errors import ConfigError
from ronda_server.ladders.asked import Wanted, read
from ronda_server.ladders.told import Orders


def orders(
    files: Sequence[Path], identity: Callable[[str], str], home: Path | None
) -> tuple[Orders, ...]:
    """Return the ladders that files ask for, begun where there is none; `ConfigError` else.

    It reads the disk, and waits some seconds for a driver whose server was killed.
    """
    found = tuple(_taken_up(file, identity, home) for file in files)
    names = [one.plan.id for one in found]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"two ladders are called {name}: give one another name")
    return found


def _taken_up(file: Path, identity: Callable[[str], str], home: Path | None) -> Orders:
    wanted = read(file)
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
    )


def _plan(wanted: Wanted, identity: Callable[[str], str]) -> LadderPlan:
    with patiently(lambda: store.claim(wanted.folder)) as held:
        return begin.kept(held, lambda: wanted.plan(identity), given=wanted.given).plan
