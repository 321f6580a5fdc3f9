"""What tournament is asked for, as flags and a file say it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from ronda_cli import wishes
from ronda_cli.output import ExitCode, Failure

if TYPE_CHECKING:
    from ronda_arena.tournament.spec import Spec

_F = TypeVar("_F", bound=Callable[..., Any])

_FORMATS: Final = ("round-robin", "gauntlet", "swiss", "knockout", "list")

key_file: Final = click.option(
    "--key-file",
    type=click.Path(dir_okay=False),
    help="The file that holds the API key of your account on the server.",
)

_OPTIONS: Final = (
    click.option(
        "--bots", metavar="BOT,BOT,...", help="Who takes part; at four players also teams: a+b."
    ),
    click.option(
        "--format",
        "form",
        type=click.Choice(_FORMATS),
        metavar="FORMAT",
        help=f"Who meets whom: {', '.join(_FORMATS[:-1])} or {_FORMATS[-1]}"
        "  [default: round-robin]",
    ),
    click.option("--rules", metavar="PRESET", help="See `ronda rules`  [default: playtash]"),
    click.option("--players", type=click.IntRange(2, 4), help="How many seats  [default: 2]"),
    wishes.target,
    wishes.hands,
    click.option(
        "--blocks",
        type=click.IntRange(1),
        help="Deals for each pairing, each played in every rotation of the seats  [default: 20]",
    ),
    click.option("--rounds", type=click.IntRange(1), help="Of swiss."),
    click.option(
        "--challengers",
        type=click.IntRange(1),
        help="Of a gauntlet: the first so many meet all others  [default: 1]",
    ),
    click.option(
        "--name",
        help="Begins the ids of its games  [default: tournament-, and what tells it from others]",
    ),
    click.option("--seed", type=int, help="Make it repeatable; then nothing of it is rated."),
    click.option(
        "--clock", metavar="SECONDS[+BANK]", help="Time for a decision, and a bank a match."
    ),
    click.option(
        "--isolation",
        type=click.Choice(["auto", "trusted", "process", "sandbox"]),
        help="How bots are run  [default: auto]",
    ),
    click.option(
        "--rated/--unrated",
        default=None,
        help="Sandbox everybody, and say in the records that it counts.",
    ),
    wishes.owners("Whose a bot is: what one does for another of its owner is told."),
    click.option(
        "--luck/--no-luck",
        default=None,
        help="Play each deal with a reference bot too, to tell what was luck  [default: luck]",
    ),
    click.option(
        "--precision",
        type=click.FloatRange(0, min_open=True),
        metavar="POINTS",
        help="Stop when every rating is known to within so many points.",
    ),
    click.option(
        "--sequential",
        type=click.FloatRange(0, 0.5, min_open=True, max_open=True),
        metavar="ALPHA",
        help="Of two: stop when one is shown to be stronger; wrongly in ALPHA of runs of equals.",
    ),
    click.option(
        "--sprt",
        metavar="ELO0,ELO1[,ALPHA,BETA]",
        help="Of two: stop when the first is shown to be ELO1 ahead rather than ELO0, or the other"
        " way round  [errors: 0.05,0.05]",
    ),
)


def asked(command: _F) -> _F:
    """Give a command every option that says what is to be played."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def wanted(file: str | None, asked: dict[str, Any], begun: str) -> Spec | None:
    """Return what the flags and the file ask for; None if they ask for nothing.

    `begun` is the folder of a tournament that was begun, or nothing.
    """
    from ronda_arena.tournament import spec  # noqa: PLC0415 -- not for `--help`

    data: dict[str, Any] = {}
    try:
        if file:
            data = spec.data(Path(file).read_text(encoding="utf-8"))
        written = bool(data)
        data |= _flags(asked)
        if file and not written and "bots" not in data:
            raise _empty(file)
        if not data:
            return None
        if "bots" not in data and not file and data.get("format") != "list":
            if begun:
                raise click.UsageError(
                    f"what was begun in {begun} stays as it is: go on with --out alone, or with"
                    " more --blocks, or take another folder and name who takes part, with --bots"
                )
            raise click.UsageError("name who takes part: --bots random,greedy,careful")
        return spec.of(data)
    except UnicodeDecodeError:
        raise Failure(f"{file} is no TOML", ExitCode.USAGE) from None
    except spec.SpecError as problem:
        raise Failure(f"{file or 'the flags'}: {problem}", ExitCode.USAGE) from None


def _empty(file: str) -> Failure:
    told = 'it is empty: bots = ["random", "greedy"] says who takes part'
    return Failure(f"{file}: {told}", ExitCode.USAGE)


def more_blocks(file: str | None, asked: dict[str, Any]) -> int | None:
    """Return how many blocks what was begun is to have, where nothing else is asked for."""
    flags = _flags(asked)
    blocks = flags.pop("blocks", None)
    return None if file or flags else blocks


def _flags(asked: dict[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in asked.items() if value not in (None, {})}
    if form := given.pop("form", None):
        given["format"] = form
    if bots := given.pop("bots", None):
        given["bots"] = [name.strip() for name in bots.split(",") if name.strip()]
    return given
