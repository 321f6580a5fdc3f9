"""How bots are run on this machine, as the flags of a command say it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from ronda_cli import output
from ronda_cli.output import ExitCode, Failure

if TYPE_CHECKING:
    from ronda_arena.clock import Clock
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


@contextmanager
def seating(
    bots: Sequence[BotInfo], isolation: str = AUTO, clock: Clock | None = None
) -> Iterator[Seating]:
    """Yield what seats `bots`, and end all that it has started."""
    from ronda_arena.isolation import IsolationError, Level  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.seating import InProcess, Isolated  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.worker.nursery import Nursery  # noqa: PLC0415 -- not for `--help`
    from ronda_bots.installed import OURS  # noqa: PLC0415 -- not for `--help`

    def ours(info: BotInfo) -> bool:
        return isolation == AUTO and clock is None and info.distribution == OURS

    if isolation == Level.TRUSTED:
        if clock is not None:
            raise Failure(
                "--clock and --isolation trusted exclude each other: a bot in this process cannot"
                " be stopped",
                ExitCode.USAGE,
            )
        yield InProcess()
        return
    if all(map(ours, bots)):
        yield InProcess()
        return
    want = Level.SANDBOX if isolation == AUTO else Level(isolation)
    weak = isolation == AUTO or bool(os.environ.get(_WEAK))
    with Nursery() as nursery:
        try:
            made = Isolated(
                nursery, want=want, minimum=Level.PROCESS if weak else want, trusted=ours
            )
        except IsolationError as problem:
            advice = f"give --isolation process, or set {_WEAK}=1"
            raise Failure(f"{problem}; {advice}", ExitCode.REFUSED) from None
        if made.granted.weaker(want):
            output.note(
                f"bots run as {made.granted.value}, which is less than {want.value}:"
                f" {made.report.problem}"
            )
        yield made
