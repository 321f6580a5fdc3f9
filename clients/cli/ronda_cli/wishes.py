"""What is to be played, as flags say it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import click

from ronda_core.rules import MAX_LENGTH, PRESETS, RulesError, Settings, settings

_F = TypeVar("_F", bound=Callable[..., Any])

_FLAGS: Final = {"rules": "--rules", "players": "--players", "target": "--target"}
DEFAULT_BOT: Final = "careful"

rules: Final = click.option(
    "--rules",
    default="playtash",
    show_default=True,
    metavar="|".join(PRESETS),
    help="The preset (see `ronda rules`).",
)
players: Final = click.option("--players", type=click.IntRange(2, 4), help="How many seats.")
target: Final = click.option("--target", type=click.IntRange(0), help="Points that win the match.")
hands: Final = click.option(
    "--hands",
    type=click.IntRange(1, MAX_LENGTH),
    help="Play so many hands instead, without a target.",
)


def owners(why: str) -> Callable[[_F], _F]:
    """Return the option `--owner`, which comes as owners by bot; `why` says what it is for."""
    return click.option(
        "--owner",
        "owners",
        multiple=True,
        metavar="BOT=OWNER",
        callback=lambda _, __, given: dict(map(_owner, given)),
        help=f"{why} May be given again  [default: each its own]",
    )


def _owner(text: str) -> tuple[str, str]:
    bot, given, owner = text.partition("=")
    if not (bot and given and owner):
        raise click.UsageError(f"--owner {text}: BOT=OWNER is expected")
    return bot, owner


pace: Final = click.option(
    "--pace",
    type=click.FloatRange(0, 10),
    default=0.6,
    show_default=True,
    help="Seconds to look at each play, on a screen and without a clock.",
)


def wished(
    rules: str, players: int, target: int | None, hands: int | None, *, bots: bool = False
) -> Settings:
    """Return the settings that the flags ask for, or say which flag is wrong.

    With `bots` the players are as many as bots were named.
    """
    ctx = click.get_current_context()
    if bots and (wrong := _wrong_number(rules, players)):
        raise click.UsageError(wrong, ctx)
    try:
        return settings(rules, players, target, hands or 0)
    except RulesError as error:
        flag = _FLAGS.get(error.field, "--hands")
        problem = str(error).replace("the length", flag)  # as the core calls it
        raise click.UsageError(f"{flag}: {problem}", ctx) from None


def _wrong_number(rules: str, bots: int) -> str:
    """Say how many bots are needed where that is not how many there are."""
    preset = PRESETS.get(rules)
    if preset is None or bots in preset.players:
        return ""
    *most, last = map(str, preset.players)
    needed = f"{', '.join(most)} or {last}" if most else last
    return f"{rules} is played by {needed}, one bot a seat: you named {bots}"


def opponents(bots: str | None, players: int | None) -> list[str]:
    """Return the bots beside a person: those named, the last of them in every further seat."""
    named = [name.strip() for name in (bots or DEFAULT_BOT).split(",") if name.strip()]
    if not named:
        raise click.UsageError("--bots: name at least one, such as greedy")
    others = (players or len(named) + 1) - 1
    if len(named) > others:
        many = f"{len(named)} bots have no room beside you in {others + 1} seats"
        raise click.UsageError(f"--bots: {many}")
    return named + named[-1:] * (others - len(named))


def given(names: Sequence[str]) -> list[str]:
    """Return those of `names` that were written on the command line."""
    ctx = click.get_current_context()
    written = click.core.ParameterSource.COMMANDLINE
    return [name for name in names if ctx.get_parameter_source(name) is written]
