"""`ronda replay`: a recorded match, play by play."""

from __future__ import annotations

from typing import Any, NamedTuple

import click

from ronda_cli import config, keys, lines, options, output, text
from ronda_cli.look import look
from ronda_cli.output import Failure
from ronda_cli.picture import Picture, of_view
from ronda_cli.stage import Screen
from ronda_cli.story import Cast, Told, end, tell
from ronda_core import view as views
from ronda_core.match import Match
from ronda_core.record import Record
from ronda_core.verify import ReplayError, Step
from ronda_core.verify import replay as steps

_HELP = "space next  left back  up/down hand  home/end  q leave"
_SHORT_HELP = "space next  left back  q leave"


class Scene(NamedTuple):
    """One step of a match: how it stands, and what has just happened."""

    picture: Picture
    told: tuple[Told, ...]
    hand: int
    plays: int
    """Plays made in this hand."""


class _Replay(click.Command):
    """`ronda replay FILE`, and what its first word can say instead of a file."""

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Read the words; a file that is called `export` is `./export`."""
        if args[:1] != ["export"]:
            return super().make_context(info_name, args, parent, **extra)
        from ronda_cli.replay_export import export  # noqa: PLC0415 -- gRPC is heavy

        export.context_class = self.context_class
        if parent is not None:
            extra["auto_envvar_prefix"] = f"{parent.auto_envvar_prefix}_REPLAY_EXPORT"
            extra["default_map"] = config.defaults(parent.default_map or {}, "", export)
        return export.make_context(f"{info_name} export", args[1:], parent, **extra)


@click.command(cls=_Replay)
@click.argument("file", metavar="FILE")
@click.option("--game", default="1", show_default=True, help="Which record: its number, or its id.")
@click.option("--hand", type=click.IntRange(1), help="Start at this hand.")
@click.option("--play", type=click.IntRange(0), help="Start after so many plays of it.")
@options.plain
def replay(file: str, game: str, hand: int | None, play: int | None, plain: bool) -> None:
    """Step through a recorded match, with every hand open.

    Plays are told by their number in the hand, as --play and `ronda bots debug` take it: 0 is the
    deal, 1 the first card.

    On a terminal space and the arrows step, up and down go from hand to hand, q leaves. Elsewhere,
    and with --plain, the whole story is written. FILE may be - for stdin.

    `ronda replay export MATCH --server HOST:PORT` gets the record of a match from a server.
    """
    record, place, games = _find(file, game)
    scenes = perform(record)
    if play is not None and hand is None:
        hand = 1
    start = _start(scenes, hand, play)
    shown = look(plain)
    if shown.screen and file != "-" and keys.available():
        _step(scenes, start)
    else:
        _recite(record, scenes, start, f"Game {place} of {games}, " if games > 1 else "")


def perform(record: Record) -> list[Scene]:
    """Return every scene of a record, or say where it breaks."""
    scenes: list[Scene] = []
    try:
        # An answer in the declaring step shows nothing: it is no scene of its own.
        scenes.extend(scene for step in steps(record) if (scene := _scene(record, step)).told)
    except ReplayError as error:
        if not scenes:
            raise Failure(f"{error}; run `ronda verify` on it") from None
        broken = Told((f"Here the record breaks: {error}.",), heading=True)
        last = scenes[-1]
        scenes.append(last._replace(told=(broken,)))
    if not scenes:
        raise Failure("the record holds no hand: there is nothing to replay")
    return scenes


def _find(file: str, game: str) -> tuple[Record, int, int]:
    """Return one record of a file, its place there, and how many the file holds."""
    try:
        line, place, count = lines.one(file, game)
    except Failure as failure:
        raise Failure(f"{file}: {failure}") from None
    if line is None:
        many = "1 record" if count == 1 else f"{count} records"
        raise Failure(f"{file} holds {many}: there is no --game {game}")
    where = f"{file}:{line.number}"
    if line.record is None:
        raise Failure(f"{where}: {line.problem}")
    names, players = len(line.record.seats), line.record.players
    if names != players:
        raise Failure(f"{where}: seats: {names} names for {players} players")
    return line.record, place, count


def _scene(record: Record, step: Step) -> Scene:
    match, events = step
    cast = Cast(text.labels(record.seats))
    story = views.story(match, events)
    hand = match.hand
    number, plays = (hand.number, len(hand.plays)) if hand else (0, 0)
    told = [_numbered(one, event, plays) for event in story if (one := tell(event, cast))]
    told += _opened(match, story, cast)
    result = next((end(event, cast) for event in story if isinstance(event, views.MatchEnded)), "")
    hands = tuple(views.private(match, seat).hand for seat in range(record.players))
    picture = of_view(
        views.public(match),
        record.seats,
        match=text.name(record.id),
        hands=hands,
        result=result,
    )
    return Scene(picture, tuple(told), number, plays)


def _numbered(told: Told, event: views.Event, plays: int) -> Told:
    """Say of a play which it is of its hand, by the number that `ronda bots debug` takes."""
    if not isinstance(event, views.CardPlayed):
        return told
    return told._replace(parts=(f"Play {plays}: ", *told.parts))


def _opened(match: Match, story: list[views.Event], cast: Cast) -> list[Told]:
    """Tell what each seat was dealt: nothing of a recorded match is secret."""
    if not any(isinstance(event, views.CardsDealt) for event in story):
        return []
    parts: list[object] = []
    for seat in range(cast.players):
        parts += ["; " if parts else "", f"{cast.who(seat)} holds"]
        parts += [part for card in views.private(match, seat).hand for part in (" ", card)]
    return [Told((*parts, "."))]  # type: ignore[arg-type] # words and cards


def _start(scenes: list[Scene], hand: int | None, play: int | None) -> int:
    if hand is None:
        return 0
    for at, scene in enumerate(scenes):
        if scene.hand == hand and scene.plays >= (play or 0):
            return at
    what = f"hand {hand}" + (f" with {play} plays" if play else "")
    last = scenes[-1]
    raise Failure(f"the match has no {what}: it ends in hand {last.hand} after {last.plays} plays")


def _recite(record: Record, scenes: list[Scene], start: int, place: str) -> None:
    first = scenes[0].picture
    rules = record.rules + (f" to {record.target}" if record.target else "")
    output.line(f"{place}{first.match}: {rules}, {', '.join(first.names)}.")
    for scene in scenes[start:]:
        for told in scene.told:
            output.line(told.linear)


def _step(scenes: list[Scene], at: int) -> None:
    screen = Screen()
    with screen.open(), keys.Keyboard().open() as keyboard:
        drawn = -1
        while True:
            if at != drawn or screen.resized:
                screen.story.clear()
                screen.story.extend(
                    told for scene in scenes[max(at - 60, 0) : at + 1] for told in scene.told
                )
                can = _HELP if look().width >= 66 else _SHORT_HELP
                screen.show(scenes[at].picture, f"{at + 1}/{len(scenes)}  {can}")
                drawn = at
            key = keyboard.read(0.25)
            if key == "quit":
                return
            at = _move(scenes, at, key)


def _move(scenes: list[Scene], at: int, key: str) -> int:
    last = len(scenes) - 1
    match key:
        case "next":
            return min(at + 1, last)
        case "back":
            return max(at - 1, 0)
        case "first":
            return 0
        case "last":
            return last
        case "hand next":
            later = (n for n in range(at, last + 1) if scenes[n].hand > scenes[at].hand)
            return next(later, last)
        case "hand back":
            own = next(n for n in range(last + 1) if scenes[n].hand == scenes[at].hand)
            before = scenes[at].hand - (own == at)
            return next((n for n in range(last + 1) if scenes[n].hand == before), 0)
    return at
