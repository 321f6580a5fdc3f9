"""A person against bots in this process: the person is a bot that asks."""

from __future__ import annotations

import secrets
import time
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, TypeVar, cast

from ronda_arena.discovery import discover
from ronda_arena.isolation import Level
from ronda_arena.table import play_match
from ronda_bots.api import BotClass, SeatInfo, View
from ronda_bots.installed import GROUP
from ronda_bots.registry import BotInfo, BotNotFoundError, Registry
from ronda_cli import asking, isolating, output, typed
from ronda_cli.asking import LeftError, PuzzledError
from ronda_cli.output import Failure
from ronda_cli.picture import Picture, of_view
from ronda_cli.stage import Stage
from ronda_cli.story import Cast, end, tell
from ronda_cli.text import labels
from ronda_core import view as views
from ronda_core.cards import Card
from ronda_core.fair import seeded_master
from ronda_core.match import Match, MatchEvent
from ronda_core.rules import Settings

_T = TypeVar("_T")

SEAT = 0


def find_bots(
    names: Sequence[str],
    registry: Registry | None = None,
    isolation: str = isolating.AUTO,
    home: Path | None = None,
) -> list[BotInfo]:
    """Return the bots of these names, or say what is wrong."""
    level = Level.SANDBOX if isolation == isolating.AUTO else Level(isolation)
    with output.aside():
        registry = registry or discover(level=level, names=names, home=home)
    return [_found(name, registry) for name in names]


def _found(name: str, registry: Registry) -> BotInfo:
    try:
        return registry.find(name)
    except BotNotFoundError as error:
        advice = _not_installed(name) or " (see `ronda bots list`)"
        raise Failure(f"{error.args[0]}{advice}") from None


def _not_installed(name: str) -> str:
    """Say what to do where a name is that of a folder with a bot's package."""
    folder = Path(name)
    try:
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        points = dict(project["entry-points"][GROUP])
    except (OSError, ValueError, LookupError, TypeError):
        return ""  # it is no such folder
    shown = str(folder) if folder.is_absolute() or folder.parts[:1] == ("..",) else f"./{folder}"
    if not points:
        return ""
    called = "" if folder.name in points else f" (its bots: {', '.join(sorted(points))})"
    install = output.command("pip", "install", "-e", shown)
    return f"; {shown} is a bot's package: {install}{called}"


def play_here(
    settings: Settings,
    bots: Sequence[BotInfo],
    stage: Stage,
    *,
    seed: int | None = None,
    pace: float = 0.0,
) -> Picture:
    """Play a match against `bots`; return how it ended."""
    person = _Person(stage, ["you", *(bot.identity for bot in bots)], pace)
    master = secrets.token_bytes(32) if seed is None else seeded_master(seed, 0)
    try:
        with isolating.seating(bots) as seating:
            play_match(
                "local-0",
                settings,
                [person.info(), *bots],
                master,
                now=now,
                seating=seating,
                on_step=person.tell,
            )
    except LeftError:
        if person.broken:  # what a bot may not raise reaches the caller this way
            raise person.broken from None
        raise
    assert person.last is not None
    return person.last


def now() -> str:
    """Return the time, as records tell it."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class _Person:
    """What sits at the table for the person at the terminal."""

    version: ClassVar[str] = "1"

    def __init__(self, stage: Stage, names: Sequence[str], pace: float) -> None:
        self._stage = stage
        self._names = names
        self._pace = pace
        self._cast = Cast(labels(names, SEAT))
        self.last: Picture | None = None
        self.broken: Exception | None = None

    def info(self) -> BotInfo:
        """Return what the table takes for a bot."""

        def sit(_seat: SeatInfo, _rng: object) -> _Person:
            return self

        return BotInfo("person", "1", "ronda", "", "", cast("BotClass", sit))

    def play(self, view: View) -> Card:
        """Ask for a card until one is named."""
        picture = of_view(view, self._names)
        return self._ask(picture, lambda answer: asking.card_of(answer, picture.hand))

    def declare(self, view: View) -> bool:
        """Ask whether to declare, where there is something: bots do not read the time it takes."""
        if not view.may_declare:
            return False
        picture = of_view(view, self._names)
        return self._ask(picture, lambda answer: asking.declares(answer, picture))

    def _ask(self, picture: Picture, understand: Callable[[str], _T]) -> _T:
        try:
            while True:
                typed.forget()
                self._stage.ask(picture, asking.question(picture))
                answer = typed.line()
                self._stage.answered()
                try:
                    return understand(answer)
                except PuzzledError as error:
                    self._stage.say(str(error))
        except Exception as error:  # told where the match is played
            self.broken = error
            raise LeftError from error

    def tell(self, match: Match, events: tuple[MatchEvent, ...]) -> None:
        """Tell the person what happened, and let it be looked at."""
        story = views.story(match, events, SEAT)
        result = ""
        for event in story:
            if told := tell(event, self._cast):
                self._stage.tell(told)
            if isinstance(event, views.MatchEnded):
                result = end(event, self._cast)
        self.last = of_view(views.view(match, SEAT), self._names, result=result)
        played = [event for event in story if isinstance(event, views.CardPlayed)]
        if self._pace and played:
            self._stage.show(self.last)
            if played[0].play.seat != SEAT:
                time.sleep(self._pace)  # to be looked at
