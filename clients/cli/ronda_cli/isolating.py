"""How bots are run on this machine, as the flags of a command say it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from ronda_cli import output
from ronda_cli.output import ExitCode, Failure

if TYPE_CHECKING:
    from ronda_arena.clock import Clock
    from ronda_arena.isolation import Limits
    from ronda_arena.seating import Seating
    from ronda_bots.registry import BotInfo

AUTO: Final = "auto"
_WEAK: Final = "RONDA_ALLOW_WEAK_ISOLATION"


class _ClockType(click.ParamType[object]):
    name = "seconds"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Clock:
        from ronda_arena.clock import Clock  # noqa: PLC0415 -- not for `--help`

        if isinstance(value, Clock):
            return value
        try:
            return Clock.parse(str(value))
        except ValueError as problem:
            self.fail(str(problem), param, ctx)


isolation = click.option(
    "--isolation",
    type=click.Choice([AUTO, "trusted", "process", "sandbox"]),
    default=AUTO,
    show_default=True,
    help="How bots are run: auto keeps ronda's own in this process and all others in a sandbox.",
)
clock = click.option(
    "--clock",
    type=_ClockType(),
    metavar="SECONDS[+BANK]",
    help="Time for a decision, and a bank for the whole match; with it no bot is in this process.",
)


like_server = click.option(
    "--like-server",
    is_flag=True,
    help="Run bots as a server does: its isolation, half a second a decision and a bank of ten.",
)


def server_clock(isolation: str, clock: Clock | None) -> Clock:
    """Return the clock of --like-server, which says how bots are run all by itself."""
    from ronda_arena.customs import CLOCK  # noqa: PLC0415 -- not for `--help`

    if isolation != AUTO or clock is not None:
        raise click.UsageError(
            "--like-server says the isolation and the clock: leave --isolation and --clock out"
        )
    return CLOCK


def warn_together(names: Collection[str]) -> None:
    """Say what bots of these names can do in one process, where one is not ronda's own."""
    from ronda_arena.customs import OWN  # noqa: PLC0415 -- not for `--help`

    if not OWN.issuperset(names):
        output.note(
            "bots are run in one process, where one can remember the deals of a block and know the"
            " hands in its next rotation: --isolation trusted is for bots of one's own"
        )


def nobody(_info: BotInfo) -> bool:
    """Say of no bot that it may run in this process."""
    return False


@contextmanager
def seating(
    bots: Sequence[BotInfo],
    isolation: str = AUTO,
    clock: Clock | None = None,
    *,
    trusted: Callable[[BotInfo], bool] | None = None,
    hash_seed: int = 0,
    limits: Limits | None = None,
) -> Iterator[Seating]:
    """Yield what seats `bots`, and end all that it has started.

    `trusted` says who runs in this process; by default ronda's own, where nothing else was asked.
    """
    from ronda_arena.isolation import IsolationError, Level, Limits  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.seating import InProcess, Isolated  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.worker.nursery import Nursery  # noqa: PLC0415 -- not for `--help`
    from ronda_bots.installed import OURS  # noqa: PLC0415 -- not for `--help`

    def ours(info: BotInfo) -> bool:
        if trusted is not None:
            return trusted(info)
        here = info.bot_class is not None and info.distribution == OURS
        return isolation == AUTO and clock is None and here

    if isolation == Level.TRUSTED:
        if clock is not None:
            raise Failure(
                "--clock and --isolation trusted exclude each other: a bot in this process cannot"
                " be stopped",
                ExitCode.USAGE,
            )
        with _refusals():
            yield InProcess()
        return
    if all(map(ours, bots)):
        yield InProcess()
        return
    want = Level.SANDBOX if isolation == AUTO else Level(isolation)
    weak = isolation == AUTO or bool(os.environ.get(_WEAK))
    with Nursery(limits or Limits(), hash_seed) as nursery:
        try:
            made = Isolated(
                nursery, want=want, minimum=Level.PROCESS if weak else want, trusted=ours
            )
        except IsolationError as problem:
            advice = f"give --isolation process, or set {_WEAK}=1"
            raise Failure(f"{problem}; {advice}", ExitCode.REFUSED) from None
        if made.granted.weaker(want) and not hash_seed:  # with another one it is told already
            output.note(
                f"bots run as {made.granted.value}, which is less than {want.value}:"
                f" {made.report.problem}"
            )
        with _refusals():
            yield made


@contextmanager
def _refusals() -> Iterator[None]:
    """Say in a line why a bot may not be run as it would be."""
    from ronda_arena.isolation import IsolationError  # noqa: PLC0415 -- not for `--help`

    try:
        yield
    except IsolationError as problem:
        raise Failure(str(problem), ExitCode.REFUSED) from None
