"""`ronda ladder run`: let bots play until somebody stops it, and go on from there."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import click

from ronda_cli import isolating, ladder_begin, options, places, text, wishes
from ronda_cli import output as out
from ronda_cli.ladder_begin import DECIDED, Wish, taken_up
from ronda_cli.output import ExitCode, Failure, TerminatedError

if TYPE_CHECKING:
    from ronda_arena.ladder.plan import LadderPlan
    from ronda_arena.ladder.standings import Ladder
    from ronda_arena.ladder.store import Store
    from ronda_arena.tournament.spec import Isolation
    from ronda_arena.tournament.tasks import Task
    from ronda_bots.registry import Registry

_ANCHORS: Final = "random,greedy,careful"


@click.command()
@click.option(
    "--dir",
    "folder",
    type=options.Folder(),
    required=True,
    help="Where it is kept; a folder in which one was begun goes on.",
)
@wishes.rules
@click.option(
    "--players", type=click.IntRange(2, 4), default=2, show_default=True, help="How many seats."
)
@wishes.target
@wishes.hands
@click.option(
    "--bots", metavar="BOT,BOT,...", help="Who plays, beside the anchors  [default: all installed]"
)
@click.option(
    "--anchors",
    metavar="BOT,BOT=RATING,...",
    default=_ANCHORS,
    show_default=True,
    help="Whose ratings are pinned, at what was measured or at RATING; empty: nobody's.",
)
@wishes.owners("Bots of one owner never meet.")
@click.option("--name", default="ladder", show_default=True, help="The ladder's id.")
@click.option(
    "--clock",
    metavar="SECONDS[+BANK]",
    help="Time for a decision, and a bank a match; none: without, for trusted bots"
    "  [default: 0.5+10]",
)
@click.option(
    "--isolation",
    type=click.Choice(["auto", "trusted", "process", "sandbox"]),
    default="auto",
    show_default=True,
    help="How bots are run: auto keeps ronda's own in this process and all others in a sandbox.",
)
@click.option("--rated", is_flag=True, help="Sandbox everybody, and say in the records it counts.")
@click.option(
    "--games",
    type=click.IntRange(1),
    help="Stop when there are so many, all in all  [default: never]",
)
@click.option(
    "--look-every",
    type=click.FloatRange(0.1, 86_400),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How often to look for bots that were installed or removed.",
)
@click.option(
    "--release", multiple=True, metavar="BOT@VERSION", help="Let one out of quarantine, and go on."
)
@places.asked
@options.stall
@options.bots_dir
def run(
    folder: str,
    rules: str,
    players: int,
    target: int | None,
    hands: int | None,
    bots: str | None,
    anchors: str,
    owners: dict[str, str],
    name: str,
    clock: str | None,
    isolation: str,
    rated: bool,
    games: int | None,
    look_every: float,
    release: tuple[str, ...],
    executor: str | None,
    workers: int | None,
    scheduler: str | None,
    stall: float,
    bots_dir: Path | None,
) -> None:
    """Let bots play for ever: who meets is decided by what it would tell, fairly and in secret.

    Bots that are installed while it runs join in, a new version beside the one before. Ctrl-C and
    SIGTERM end it, and so may anything else: the same command on the same folder goes on, and
    --dir alone does too. `ronda ladder show DIR` tells how it stands, also meanwhile.
    """
    from ronda_cli.local import find_bots  # noqa: PLC0415 -- not for `--help`

    where = places.place_of(executor, workers, scheduler, stall)
    wishes.wished(rules, players, target, hands)
    wish = Wish(
        rules,
        players,
        target,
        hands,
        ladder_begin.clock_of(clock, isolation),
        cast("Isolation", isolation),  # click has checked the choice
        rated,
        name,
        tuple(_listed(anchors)),
        frozenset(wishes.given(tuple(DECIDED))),
    )
    again = out.command(
        *("ronda", "ladder", "run", "--dir", folder, *_again(bots, owners)),
        *(*where.words, *options.bots_dir_again()),
    )
    looks = _Looks(bots_dir)
    wanted = _listed(bots or "")
    find_bots([*wanted, *owners], looks.first)  # who is not there is told
    asked = _Asked(
        Path(folder), wish, wanted, owners, release, games, look_every, stall, where, looks, again
    )
    _play(asked)


class _Asked(NamedTuple):
    """What is to be run."""

    folder: Path
    wish: Wish
    bots: Sequence[str]
    owners: Mapping[str, str]
    release: Sequence[str]
    games: int | None
    look_every: float
    stall: float
    where: places.Place
    looks: _Looks
    again: str
    """The command that goes on, once there is something to go on with."""


def _play(asked: _Asked) -> None:
    """Take up the ladder of the folder and play it."""
    from ronda_arena.database import (  # noqa: PLC0415 -- not for `--help`
        StoreError,
        TakenError,
        UnreadableError,
    )
    from ronda_arena.isolation import IsolationError  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.ladder import store  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.ladder.plan import LadderError  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.tournament.executors import ExecutorError  # noqa: PLC0415 -- not for `--help`
    from ronda_cli.stage import restoring  # noqa: PLC0415 -- not for `--help`

    try:
        with restoring(), store.claim(asked.folder) as held:
            kept = taken_up(held, asked.wish, asked.looks.first)
            try:
                with out.resumed_by(asked.again):
                    _play_on(kept, asked)
            except (LadderError, IsolationError):
                if held.is_new and not kept.blocks:  # so that the right command is not another one
                    held.discard()
                raise
    except UnreadableError as problem:
        raise Failure(str(problem), ExitCode.USAGE) from None
    except TakenError as problem:  # the same command is not what to do: it is played
        raise Failure(str(problem), ExitCode.UNREACHABLE) from None
    except (StoreError, ExecutorError) as problem:
        raise Failure(f"{problem}; go on with: {asked.again}", ExitCode.UNREACHABLE) from None
    except (LadderError, IsolationError) as problem:
        raise Failure(str(problem), ExitCode.REFUSED) from None


def _play_on(kept: Store, asked: _Asked) -> None:
    """Play a ladder until it is ended."""
    from ronda_arena.ladder.run import Run  # noqa: PLC0415 -- not for `--help`

    if kept.plan.isolation == "trusted":
        here = {bot.name for bot in asked.looks.first.bots}
        isolating.warn_together(here & {one.partition("@")[0] for one in asked.bots or here})
    progress = _Progress(asked.games)
    try:
        played = Run(
            kept,
            asked.looks,
            wanted=asked.bots,
            owners=asked.owners,
            tell=progress.step,
            look_every=asked.look_every,
            patience=asked.stall,
            stalled=lambda tasks: _stalled(kept.plan, played.ladder, tasks, asked),
        )
        for one in asked.release:
            played.release(one)
        with out.aside():
            played.play(asked.where.make, asked.games)
    except TerminatedError:
        progress.close()
        out.note(f"stopped; go on with: {asked.again}")
        return
    finally:
        progress.close()
    shown = out.command("ronda", "ladder", "show", str(asked.folder))
    out.note(f"{text.counted(played.ladder.games, 'game')}; see how it stands: {shown}")


def _stalled(plan: LadderPlan, ladder: Ladder, tasks: Sequence[Task], asked: _Asked) -> None:
    """Tell who is waited for, and end: what hangs would not let it end in another way."""
    games = [[ladder.bots[at].identity for at in task.entrants] for task in tasks]
    words = ladder_begin.stalled(plan, games, asked.stall)
    out.fail(f"{words}; go on with: {asked.again}")
    os._exit(ExitCode.UNREACHABLE)


class _Looks:
    """Looks who is installed; what was seen first counts for the first time it is asked."""

    def __init__(self, home: Path | None) -> None:
        self._home = home
        self.first = self._look()
        self._seen: Registry | None = self.first

    def __call__(self) -> Registry:
        seen, self._seen = self._seen, None
        return seen or self._look()

    def _look(self) -> Registry:
        from ronda_arena.discovery import discover  # noqa: PLC0415 -- not for `--help`

        with out.aside():
            return discover(home=self._home)


class _Progress:
    """How many games there are, and how fast."""

    def __init__(self, games: int | None) -> None:
        self._shown = out.Progress("games", games, paced=True)

    def step(self, ladder: Ladder) -> None:
        """Tell it, if it is time to."""
        lost = f", {ladder.void} blocks lost and played again" if ladder.void else ""
        playing = sum(bot.enabled for bot in ladder.bots)
        self._shown.step(ladder.games, None, f" of {playing} bots{lost}")

    def close(self) -> None:
        """Take the line away."""
        self._shown.close()


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def _again(bots: str | None, owners: dict[str, str]) -> list[str]:
    """Return the options that say who plays; refuse an owner of one version."""
    if any("@" in bot for bot in owners):
        raise click.UsageError("--owner: all versions of a bot have one owner, name none")
    words = [f"--owner={bot}={owner}" for bot, owner in owners.items()]
    return [f"--bots={bots}", *words] if bots else words
