"""Every layer that keeps a bot in, and the bot that gets out where that one layer is missing.

A layer is taken away in the template before it starts, by a line of code; in this process; or by
limits that are none. `python -m tests.zoo.layers` prints what came of each, as JSON.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, Final
from unittest.mock import patch

from tests.zoo.keeper import LIMITS, Zoo, keeper, open_zoo

from ronda_arena.isolation import Level, Limits
from ronda_arena.worker import confine, nursery
from ronda_arena.worker.worker import Worker

ROOT, USER = "root", "user"
_PROCESS, _SANDBOX = Level.PROCESS, Level.SANDBOX
_IMPORTS: Final = "import os; from ronda_arena.worker import confine, template"
_NOTHING: Final = "lambda *_: None"

Context = Callable[[Zoo], AbstractContextManager[object]]


@dataclass(frozen=True)
class Layer:
    """One layer, and what a bot does without it; what it does with it, the golden table says."""

    name: str
    bot: str
    level: Level
    without: str = "plays on, leak"
    prelude: str = ""
    """Takes it away in the template."""
    limits: Limits = LIMITS
    """Take it away."""
    missing: Context = lambda _: nullcontext()
    """Takes it away in this process."""
    only: str = ""
    """Whose alone it is: root's, or of users, since nothing is hidden from root."""


@contextmanager
def _hidden() -> Iterator[None]:
    """Hide this process, as a server does when it starts."""
    confine.hide()
    try:
        yield
    finally:
        confine.prctl(confine._SET_DUMPABLE, 1)


def _numbered(_zoo: Zoo) -> AbstractContextManager[object]:
    """Number questions one after the other."""
    made = Worker.__init__

    def init(worker: Worker, *arguments: Any) -> None:
        made(worker, *arguments)
        numbers = count(1)
        worker._number = lambda _bits: next(numbers)

    return patch.object(Worker, "__init__", init)


def _never_stopped(_zoo: Zoo) -> AbstractContextManager[object]:
    return patch.object(Worker, "_signal", lambda *_: None)


@contextmanager
def _all_installed(zoo: Zoo) -> Iterator[None]:
    """Let the bots read everything that is installed beside them."""
    bots = zoo.bots
    zoo.bots = {
        name: replace(bot, origin=replace(bot.origin, reads=(str(zoo.site),)))
        for name, bot in bots.items()
        if bot.origin
    }
    try:
        yield
    finally:
        zoo.bots = bots


LAYERS: Final = (
    Layer("Landlock", "key-file", _SANDBOX, prelude=f"confine.see_only = {_NOTHING}"),
    Layer(
        "seccomp",
        "sends-a-datagram",
        _SANDBOX,
        prelude="confine.seccomp_filter = lambda: type('', (), dict(load=lambda _: None))()",
    ),
    Layer("only its own distribution", "rivals-code", _SANDBOX, missing=_all_installed),
    Layer("limit of memory", "memory-bomb", _SANDBOX, limits=replace(LIMITS, memory=1 << 45)),
    Layer("limit of files' size", "big-file", _PROCESS, limits=replace(LIMITS, file_size=1 << 30)),
    Layer("limit of open files", "many-files", _SANDBOX, limits=replace(LIMITS, open_files=4096)),
    Layer(
        "limit of threads",
        "many-threads",
        _SANDBOX,
        limits=replace(LIMITS, threads=4096),
    ),
    Layer(
        "limit of output",
        "prints-for-a-while",
        _SANDBOX,
        without="plays on",
        limits=replace(LIMITS, log_most=1 << 40),
    ),
    Layer("closed descriptors", "own-descriptors", _SANDBOX, prelude=f"os.closerange = {_NOTHING}"),
    Layer(
        "an input of its own",
        "remembers-in-its-input",
        _SANDBOX,
        prelude=f"confine.own_input = {_NOTHING}",
    ),
    Layer("stopped off turn", "thinks-on-others-time", _SANDBOX, missing=_never_stopped),
    Layer("unguessable numbers", "predicts-numbers", _SANDBOX, missing=_numbered),
    Layer(
        "sweeping what is left",
        "daemonises",
        _PROCESS,
        without="plays on, held, survivors",
        prelude=f"template._Template._sweep = {_NOTHING}",
    ),
    Layer(
        "adopting orphans",
        "daemonises",
        _PROCESS,
        without="plays on, held, survivors",
        prelude=f"confine.adopt_orphans = {_NOTHING}",
    ),
    Layer(
        "no rights of root",
        "changes-its-root",
        _PROCESS,
        prelude=f"confine.drop_rights = {_NOTHING}",
        only=ROOT,
    ),
    Layer(
        "hidden workers",
        "siblings-memory",
        _PROCESS,
        prelude=(
            "limit = confine.limit;"
            "confine.limit = lambda limits: (limit(limits), confine.prctl(4, 1))"
        ),
    ),
    Layer(
        "hidden template",
        "templates-environment",
        _PROCESS,
        prelude=f"confine.hide = {_NOTHING}",
        only=USER,
    ),
    Layer("hidden server", "servers-environment", _PROCESS, only=USER),
)


def needed(layer: Layer) -> bool:
    """Return whether it is that layer which keeps the bots of whoever runs this."""
    return layer.only in ("", ROOT if os.getuid() == 0 else USER)


def hidden_server() -> str:
    """Return what comes of it where the arena has hidden itself, as servers do."""
    with open_zoo() as zoo, _hidden(), keeper(zoo, Level.PROCESS) as host:
        return str(host.play("servers-environment"))


def without_in_template(prelude: str) -> AbstractContextManager[object]:
    """Run a line of code in every template that is started, before anything else of it."""
    boot = nursery._BOOT.replace("main(int(", f"{_IMPORTS}; {prelude}\nmain(int(")
    return patch.object(nursery, "_BOOT", boot)


def without(layer: Layer) -> str:
    """Return what the bot of a layer does where only that layer is missing."""
    with (
        open_zoo() as zoo,
        layer.missing(zoo),
        without_in_template(layer.prelude),
        keeper(zoo, layer.level, layer.limits) as host,
    ):
        outcome = host.play(layer.bot)
        for pid in outcome.survivors:
            os.kill(pid, 9)
        return str(outcome)


if __name__ == "__main__":
    seen = {one.name: without(one) for one in LAYERS if one.only == USER}
    json.dump({"without": seen, "hidden server": hidden_server()}, sys.stdout)
