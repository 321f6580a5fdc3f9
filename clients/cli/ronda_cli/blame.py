"""What went wrong in a bot, for its author: on stderr, and nowhere else.

Here, on the author's own machine, may be told what no record and no log of a server holds.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ronda_arena.whereabouts import frames, place_in, place_of
from ronda_cli import output, text

if TYPE_CHECKING:
    from ronda_arena.fault import BotFaultError
    from ronda_bots.registry import BotInfo


class Blame:
    """Tells each kind of fault of each bot once."""

    def __init__(self, bots: Sequence[BotInfo], whole: bool, before: Callable[[], None]) -> None:
        self._bots = bots
        self._whole = whole
        self._before = before
        self._told: set[tuple[str, str, str]] = set()

    def tell(self, game: str, seat: int, fault: BotFaultError) -> None:
        """Write who broke where and why, if that is news."""
        error = fault.__cause__
        kind = type(error).__name__ if error else fault.detail
        news = self._bots[seat].identity, fault.cause.value, kind
        if news in self._told:
            return
        self._told.add(news)
        self._before()
        who = text.name(self._bots[seat].identity)
        place = place_in(fault)
        where = f", at {place}" if place else ""
        took = "" if fault.seconds is None else f", after {fault.seconds:.3f} s"
        more = "" if self._whole else "; --traceback shows more"
        told = f"{who} in seat {seat} forfeits {game}: {fault.cause.value}: {fault.detail}"
        output.note(text.one_line(f"{told}{took}{where}{_advice(fault, self._bots[seat])}{more}"))
        if self._whole:
            for line in told_of(fault):
                output.note(text.indented(line))


def elsewhere(who: str, game: str, seat: int, fault: BotFaultError) -> list[str]:
    """Return who broke where and why, of a bot that plays on a server from here.

    A crash comes with its traceback, all else with what the bot answered.
    """
    error = fault.__cause__
    lines = [text.indented(line) for line in told_of(fault)]
    where = f"in {text.name(game)}, seat {seat}"
    if error is None:
        broken = f"broke its contract ({fault.cause.value})"
        return [f"{text.name(who)} {broken} {where}: {fault.detail}", *lines]
    place = place_of(error)
    at = f" at {place}" if place else ""
    return [
        *lines,
        text.one_line(f"{text.name(who)} crashed {where}: {type(error).__name__}{at}"),
    ]


def _advice(fault: BotFaultError, bot: BotInfo) -> str:
    """Say what a sandbox refuses, where a bot ran into it: it may be all that is wrong."""
    from ronda_arena.advice import about_fault  # noqa: PLC0415 -- only where it is told

    advice = about_fault(fault, bot)
    return f"; {advice}" if advice else ""


def told_of(fault: BotFaultError) -> list[str]:
    """Return the traceback of a crash, or the answer that was none."""
    error = fault.__cause__
    if fault.seconds is not None:  # it ran in a process of its own: what is known is its log
        told = fault.log.decode("utf-8", "backslashreplace").splitlines()
        if fault.answer is not None:
            told.append(f"  it answered {_shown(fault.answer)}")
        return told or ["  it printed nothing"]
    if error is None:
        return [f"  it answered {_shown(fault.answer)}"]
    own = frames(error)
    skipped = sum(1 for _ in traceback.walk_tb(error.__traceback__)) - len(own)
    start = error.__traceback__
    for _ in range(skipped):
        start = start.tb_next if start else None
    lines = traceback.format_exception(type(error), error, start)
    return "".join(lines).splitlines()


def _shown(answer: object) -> str:
    """Return an answer as text, whatever it does when it is asked for one."""
    try:
        return f"{answer!s} ({type(answer).__name__})"
    except Exception:  # noqa: BLE001 -- it is a stranger's
        return f"something that cannot be shown ({type(answer).__name__})"
