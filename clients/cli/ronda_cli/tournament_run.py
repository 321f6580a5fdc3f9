"""`ronda tournament run`: play a tournament, or go on with it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ronda_cli import options, places, text, tournament_told, tournament_wishes
from ronda_cli import output as out
from ronda_cli.output import ExitCode, Failure
from ronda_cli.stage import restoring

if TYPE_CHECKING:
    from ronda_arena.report.summary import Summary
    from ronda_arena.tournament.run import Run, Standing, Waited
    from ronda_arena.tournament.spec import Plan, Spec
    from ronda_arena.tournament.tasks import Broken, Task
    from ronda_cli.tournament_begin import Asked


@click.command()
@click.argument("spec", required=False, type=click.Path(dir_okay=False, exists=True))
@click.option(
    "--out",
    "folder",
    type=options.Folder(),
    help="Where it is kept; a folder in which one was begun goes on.",
)
@options.server
@tournament_wishes.key_file
@tournament_wishes.asked
@places.asked
@click.option(
    "--on-fault",
    type=click.Choice(["play-on", "stop"]),
    default="play-on",
    show_default=True,
    help="What a bot's fault does: lose it the game alone, or also end the run after its block.",
)
@options.stall
@options.bots_dir
@options.output("table", "json", "jsonl", "csv")
@options.plain
def run(
    spec: str | None,
    folder: str | None,
    server: str | None,
    key_file: str | None,
    executor: str | None,
    workers: int | None,
    scheduler: str | None,
    on_fault: str,
    stall: float,
    bots_dir: Path | None,
    output: str,
    plain: bool,
    **asked: Any,
) -> None:
    """Play a tournament on duplicate deals; what it shows is told with how sure it is.

    SPEC is a TOML file with the same words as the flags, which come first. With --out DIR it is
    played here, and DIR then holds records.jsonl for `ronda verify`, report.json, report.html and
    the state. Without, a server (--server, --key-file) plays it, and it is watched from here.

    The same command on the same folder goes on after any interruption, and --out alone does too;
    with more --blocks it goes on to so many.
    With a seed the results are the same however often it was interrupted, and wherever it ran.
    """
    if folder is None:
        local = {"--executor": executor, "--workers": workers, "--scheduler": scheduler}
        _on_a_server(
            server, key_file, tournament_wishes.wanted(spec, asked, ""), local, output, plain
        )
        return
    from ronda_arena.tournament.files import STATE  # noqa: PLC0415 -- not for `--help`
    from ronda_cli.tournament_begin import checked  # noqa: PLC0415 -- not for `--help`

    where = places.place_of(executor, workers, scheduler, stall)
    kept_there = folder if (Path(folder) / STATE).exists() else ""
    more = tournament_wishes.more_blocks(spec, asked) if kept_there else None
    wanted = None if more else tournament_wishes.wanted(spec, asked, kept_there)
    begun = checked(Path(folder), wanted, bots_dir, spec)._replace(blocks=more)
    stops = on_fault == "stop"
    again = out.command(
        *("ronda", "tournament", "run", "--out", folder, *where.words, *options.bots_dir_again()),
        *(["--on-fault=stop"] if stops else []),
    )
    _here(Path(folder), begun, where, again, stall, bots_dir, output, plain, stops=stops)


def _here(
    folder: Path,
    begun: Asked,
    where: places.Place,
    again: str,
    stall: float,
    bots_dir: Path | None,
    output: str,
    plain: bool,
    *,
    stops: bool,
) -> None:
    """Play it on this machine, or go on with it; `stops`: no further than to a bot's fault."""
    from ronda_arena.isolation import IsolationError  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.tournament import store  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.tournament.codes import BotChangedError  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.tournament.deliver import deliver  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.tournament.executors import ExecutorError  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.tournament.run import Run  # noqa: PLC0415 -- not for `--help`
    from ronda_bots.registry import BotNotFoundError  # noqa: PLC0415 -- not for `--help`
    from ronda_cli.tournament_begin import tournament_of  # noqa: PLC0415 -- not for `--help`

    try:
        with store.claim(folder) as held, restoring():
            kept, registry = tournament_of(held, begun, bots_dir)
            with out.resumed_by(again):
                told = _Told(kept.plan, held.path, again, stall)
                played = Run(
                    kept,
                    tell=told.progress,
                    patience=stall,
                    stalled=told.stalled,
                    blame=told.broken,
                    stop_on_fault=stops,
                )
                try:
                    if not played.ledger.over:
                        with out.aside(), where.make(kept.contract, registry) as place:
                            played.play(place)
                except IsolationError:
                    if held.is_new and not played.standing.games:  # the right one is not another
                        held.discard()
                    raise
                except KeyboardInterrupt:
                    told.close()
                    deliver(kept, played, held.path)
                    out.note(tournament_told.how_far(played.standing))
                    raise
                finally:
                    told.close()
                _tell(deliver(kept, played, held.path), played, again, output, plain)
    except store.UnreadableError as problem:
        raise Failure(str(problem), ExitCode.USAGE) from None
    except (store.StoreError, ExecutorError) as problem:
        raise Failure(f"{problem}; go on with: {again}", ExitCode.UNREACHABLE) from None
    except (BotChangedError, IsolationError) as problem:
        raise Failure(str(problem), ExitCode.REFUSED) from None
    except BotNotFoundError as problem:
        raise Failure(str(problem), ExitCode.USAGE) from None


def _tell(summary: Summary, played: Run, again: str, output: str, plain: bool) -> None:
    """Tell what it came to, or that it has stopped because of a bot's fault."""
    if played.halted is None:
        tournament_told.tell(summary, output, plain)
    else:
        out.note(tournament_told.how_far(played.standing))
    if faults := tournament_told.faults(summary):
        out.note(faults)
    if played.halted is not None:
        stopped = f"stopped after block {played.halted}, in which a bot had a fault"
        raise Failure(f"{stopped}; go on with: {again}", ExitCode.NO)


def _on_a_server(
    server: str | None,
    key_file: str | None,
    wanted: Spec | None,
    local: Mapping[str, object],
    output: str,
    plain: bool,
) -> None:
    """Let a server play what is wanted, and watch it."""
    from ronda_cli import tournament_served  # noqa: PLC0415 -- not for `--help`

    if not server:
        raise click.UsageError("say where it is kept, --out DIR, or who plays it, --server")
    if given := [flag for flag, value in local.items() if value is not None]:
        raise click.UsageError(f"{given[0]} is for what is played here, with --out")
    if wanted is None:
        raise click.UsageError("name who takes part: --bots random,greedy,careful")
    tournament_served.create(server, key_file, wanted, output, plain)


class _Told:
    """What is told while it is played: how far it is, and what goes wrong."""

    def __init__(self, plan: Plan, folder: Path, again: str, stall: float) -> None:
        self._plan = plan
        self._folder = folder
        self._again = again
        self._stall = stall
        self._bots = options.bots_dir_again()
        self._shown = out.Progress("blocks", paced=True)

    def progress(self, standing: Standing) -> None:
        """Tell how far it is, how fast it goes and how long it will take, if it is time to."""
        lost = f", {standing.lost} lost and played again" if standing.lost else ""
        rule = f", {standing.rule}" if standing.rule else ""
        games = text.counted(standing.games, "game")
        self._shown.step(standing.blocks, standing.planned, f" ({games}{lost}{rule})")

    def broken(self, task: Task, fault: Broken) -> None:
        """Tell of a bot's fault."""
        from ronda_arena.tournament.files import RECORDS  # noqa: PLC0415 -- not for `--help`

        self.close()
        shown = ("ronda", "bots", "debug", str(self._folder / RECORDS), *self._bots)
        out.note(tournament_told.broken(self._plan, task, fault, shown))

    def stalled(self, games: Sequence[Waited]) -> None:
        """Tell what is waited for, and end: what hangs would not let it end in another way."""
        self.close()
        words = tournament_told.stalled(self._plan, games, self._stall)
        out.fail(f"{words}; go on with: {self._again}")
        os._exit(ExitCode.UNREACHABLE)

    def close(self) -> None:
        """Take the line away."""
        self._shown.close()
