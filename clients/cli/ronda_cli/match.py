"""`ronda match`: bots against bots on this machine."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import click

from ronda_cli import isolating, options, sink, tables, text, wishes
from ronda_cli import output as out
from ronda_cli.blame import Blame
from ronda_cli.look import Look, look
from ronda_cli.output import Interrupted
from ronda_cli.sink import Sink

if TYPE_CHECKING:
    from pathlib import Path

    from ronda_arena.clock import Clock
    from ronda_arena.local import Summary
    from ronda_core.record import Record
    from ronda_core.rules import Settings


@click.command()
@click.argument("bots", nargs=-1, required=True, metavar="BOT...")
@wishes.rules
@wishes.players
@wishes.target
@wishes.hands
@click.option("--games", type=click.IntRange(1), default=1, show_default=True, help="How many.")
@click.option("--seed", type=int, help="Make the deals, and so the result, repeatable.")
@click.option(
    "--records",
    type=click.Path(dir_okay=False, allow_dash=True),
    help="Write the record of each game to a file, in the place of what is in it; - is stdout.",
)
@click.option(
    "--traceback", is_flag=True, help="Show all of it when a bot breaks, with what it has printed."
)
@isolating.isolation
@isolating.clock
@isolating.like_server
@options.bots_dir
@options.output()
@options.plain
def match(
    bots: tuple[str, ...],
    rules: str,
    players: int | None,
    target: int | None,
    hands: int | None,
    games: int,
    seed: int | None,
    records: str | None,
    traceback: bool,
    isolation: str,
    clock: Clock | None,
    like_server: bool,
    bots_dir: Path | None,
    output: str,
    plain: bool,
) -> None:
    """Let bots play each other, one BOT a seat, as name or name@version.

    Every game has deals of its own. A share of wins comes with a range for what luck did: in 95 of
    100 such runs the range holds the share that would come of playing for ever. With --seed the
    same command gives the same result; in its records only the times differ.

    Bots that do not come with ronda run in a sandbox: own processes that see their seat's view and
    nothing else. One that breaks loses its game, and stderr tells where; --traceback shows what
    that one has printed, too. What a bot prints at any decision `ronda bots debug` shows.
    """
    if players not in (None, len(bots)):
        raise click.UsageError(f"--players {players} needs {players} bots, one a seat")
    table = wishes.wished(rules, len(bots), target, hands, bots=True)
    sink.refuse_a_mixture(records, output)
    if like_server:
        clock = isolating.server_clock(isolation, clock)
    from ronda_arena.customs import is_quick  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.local import games as play_games  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.local import summarise  # noqa: PLC0415 -- not for `--help`
    from ronda_cli.local import find_bots, now  # noqa: PLC0415 -- not for `--help`

    seated = find_bots(bots, isolation=isolation, home=bots_dir)
    tally = _Tally(games, output)
    blame = Blame(seated, traceback, tally.make_room)
    try:
        with ExitStack() as stack:
            seating = stack.enter_context(
                isolating.seating(
                    seated, isolation, clock, trusted=is_quick if like_server else None
                )
            )
            levels = [seating.level(bot).value for bot in seated]
            file = stack.enter_context(Sink(records)) if records else None
            played = play_games(
                seated,
                table,
                games,
                seed,
                now=now,
                secret=lambda: secrets.token_bytes(32),
                seating=seating,
                clock=clock,
                on_fault=lambda seat, fault: blame.tell(tally.game, seat, fault),
            )
            summary = summarise(tally.each(_quietly(played), file))
    except KeyboardInterrupt:
        where = f"; the records of these are in {records}" if records and tally.done else ""
        out.note(f"{tally.done} of {games} games were played{where}")
        raise Interrupted from None
    if output == "json":
        timed = clock and clock.to_json()
        about = {**_about(table), "games": games, "seed": seed, "clock": timed}
        seats = _seats(summary, levels)
        data = {**about, "forfeits": summary.forfeits, "seats": seats, "records": records}
        out.line(out.as_json(data))
    elif output == "table":
        # Records on stdout are the data then, and this is for whoever looks on.
        write = out.note if records == sink.STDOUT else out.line
        for line in _told(table, summary, tally.last, look(plain)):
            write(line)


def _quietly(played: Iterator[Record]) -> Iterator[Record]:
    """Yield the records again; what bots print meanwhile is no data, and goes to stderr."""
    while True:
        with out.aside():
            record = next(played, None)
        if record is None:
            return
        yield record


class _Tally:
    """Lets every record pass: to the file, to stdout, and to the progress."""

    def __init__(self, games: int, output: str) -> None:
        self._progress = out.Progress("games", games)
        self._games = games
        self._form = output
        self.done = 0
        self.last: Record | None = None

    @property
    def game(self) -> str:
        """Name the game that is played now."""
        return f"game {self.done + 1} of {self._games}"

    def make_room(self) -> None:
        """Take the progress away for a line of something else."""
        self._progress.close()

    def each(self, played: Iterator[Record], file: Sink | None) -> Iterator[Record]:
        """Yield the records again."""
        from ronda_core.record import write  # noqa: PLC0415 -- not for `--help`

        for record in played:
            if file:
                file.write(write(record))
            self.done += 1
            self.last = record
            if self._form == "jsonl":
                self.make_room()
                out.line(out.as_json(_game(record)))
            self._progress.step(self.done)
            yield record
        self._progress.close()


def _about(table: Settings) -> dict[str, Any]:
    return {
        "rules": table.preset.name,
        "players": table.players,
        "target": table.target,
        "length": table.length,
    }


def _game(record: Record) -> dict[str, Any]:
    fault = record.fault
    return {
        "id": record.id,
        "seats": record.seats,
        "hands": len(record.hands),
        "score": record.score,
        "winner": record.winner,
        "outcome": record.outcome,
        "fault": fault and {"seat": fault.seat, "cause": str(fault.cause), "detail": fault.detail},
    }


def _seats(summary: Summary, levels: Sequence[str]) -> list[dict[str, Any]]:
    seats = []
    for seat, level in zip(summary.seats, levels, strict=True):
        data: dict[str, Any] = {**seat.to_json(), "isolation": level}
        mean = seat.margin.to_json()
        known = seat.margin.value is not None
        margin = {"mean": mean["value"], "low": mean["low"], "high": mean["high"]}
        data["margin"] = margin if known else None
        seats.append(data)
    return seats


def _told(table: Settings, summary: Summary, last: Record | None, shown: Look) -> Iterator[str]:
    """Yield what the games came to: a table, or where that has no room a block for each seat."""
    rules = table.preset.name
    if table.target:
        rules += f" to {table.target}"
    elif table.length:
        rules += f", {table.length} hands"
    games = "1 game" if summary.games == 1 else f"{summary.games} games"
    yield f"{rules}, {games}"
    if summary.games == 1 and last:
        told = _told_one(last)
        yield from text.wrapped(told, shown.width) if shown.screen else [told]
        return
    rows = []
    for seat in summary.seats:
        share = seat.win_share
        between = f"{text.percent(share.low)} to {text.percent(share.high)}" if share else ""
        margin = str(seat.margin) if shown.unicode else str(seat.margin).replace("±", "+-")
        rows.append(
            {
                "seat": str(seat.seat),
                "wins": str(seat.wins),
                "draws": str(seat.draws),
                "losses": str(seat.losses),
                "won": text.percent(seat.wins / summary.games, 1),
                "95 % between": between,
                "margin": margin,
                "faults": ", ".join(f"{n} {cause}" for cause, n in seat.faults.items()),
                "bot": text.name(seat.bot),
            }
        )
    yield from tables.lines(rows, shown.width, left=("bot", "faults"), plain=shown.plain)


def _told_one(record: Record) -> str:
    from ronda_cli.story import Cast, end  # noqa: PLC0415 -- not for `--help`
    from ronda_core.view import MatchEnded  # noqa: PLC0415 -- not for `--help`

    fault = record.fault
    ended = MatchEnded(
        record.outcome,
        record.winner,
        record.score,
        fault.seat if fault else None,
        str(fault.cause) if fault else None,
    )
    return end(ended, Cast(text.labels(record.seats)))
