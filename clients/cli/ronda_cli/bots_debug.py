"""`ronda bots debug`: one recorded decision, asked of a bot again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from ronda_cli import isolating, lines, options, text
from ronda_cli import output as out
from ronda_cli.look import Look, look
from ronda_cli.output import Failure
from ronda_cli.pick import pick

if TYPE_CHECKING:
    from pathlib import Path

    from ronda_arena.decisions import Decision, Lived
    from ronda_arena.seating import Seating
    from ronda_bots.registry import BotInfo, Registry
    from ronda_core.record import Record

_STRONGEST: Final = ("solver", "sampler", "counter", "careful")
"""Of the bots that come with ronda, from the strongest on."""
_LOG_KEPT: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class Answers:
    """What came of asking."""

    bot: BotInfo
    lived: Sequence[Lived]
    printed: str
    """At this decision only, where that can be told apart."""
    adviser: str
    advice: object


@click.command()
@click.argument("file", metavar="RECORD")
@click.option("--hand", type=int, help="The hand, from 1.")
@click.option(
    "--play",
    metavar="N|CARD",
    help="The play of that hand, from 1, or its card, such as 7O; 0: the first declaration.",
)
@click.option("--declare", is_flag=True, help="The declaration of the batch of --play instead.")
@click.option("--seat", type=int, help="Whose decision; without --play its first of the hand.")
@click.option(
    "--game",
    help="Which record: its number, or its id. Without it and without --hand, --play and --seat it"
    " is the first that a bot has forfeited, else the first.",
)
@click.option("--bot", metavar="NAME", help="Ask this bot, not the one that sat there.")
@click.option(
    "--repeat", type=click.IntRange(1, 10_000), default=1, show_default=True, help="Ask so often."
)
@isolating.isolation
@options.bots_dir
@options.output("table", "json")
@options.plain
def debug(
    file: str,
    hand: int | None,
    play: str | None,
    declare: bool,
    seat: int | None,
    game: str | None,
    bot: str | None,
    repeat: int,
    isolation: str,
    bots_dir: Path | None,
    output: str,
    plain: bool,
) -> None:
    """Ask a bot again what it decided in a record, and show what it saw.

    The bot is made afresh with the chance that it was given, and lives the match up to there. Told
    are what it sees, what it chose then and chooses now, what it prints, how long it thinks, and
    what the strongest bot of ronda would do. Without --hand and --play it is the decision by which
    a bot has forfeited. RECORD may be - for stdin.

    With --isolation trusted the bot is in this process: a breakpoint() in it opens the debugger at
    this decision, and is passed by before.
    """
    from ronda_arena.discovery import discover  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.isolation import Level  # noqa: PLC0415 -- not for `--help`

    record = _record(file, game, forfeit=hand is None and play is None and seat is None)
    made = _decisions(record)
    at = pick(made, hand, play, declare=declare, seat=seat, forfeit=record.fault is not None)
    asked = [one for one in made[: made.index(at) + 1] if one.seat == at.seat]
    level = Level.SANDBOX if isolation == isolating.AUTO else Level(isolation)
    wanted = bot or record.seats[at.seat]
    with out.aside():
        registry = discover(level=level, names=[wanted], home=bots_dir)
    subject = _subject(wanted, registry, given=bot is not None)
    answers = _ask(subject, record, asked, isolation, repeat, registry)
    if output == "json":
        _write_json(record, at, answers)
        return
    shown = look(plain)
    for line in [*_seen(record, at, shown), "", *_told(record, at, answers)]:
        out.line(line)
    if record.fair is None or record.fair.master is None:
        out.note("the record shows no master: the bot was given other chance than it had then")


def _record(file: str, game: str | None, *, forfeit: bool) -> Record:
    """Return one record of a file, by its number or its id.

    Without either it is the first, or with `forfeit` the first in which a bot has forfeited.
    """
    try:
        if game is None and forfeit:
            line, _, count = lines.first_fault(file)
        else:
            line, _, count = lines.one(file, game or "1")
    except Failure as failure:
        raise Failure(f"{file}: {failure}") from None
    if line is None:
        many = "1 record" if count == 1 else f"{count} records"
        raise Failure(f"{file} holds {many}: there is no --game {game or 1}")
    if line.record is None:
        raise Failure(f"{file}:{line.number}: {line.problem}")
    return line.record


def _decisions(record: Record) -> list[Decision]:
    from ronda_arena.decisions import decisions  # noqa: PLC0415 -- not for `--help`
    from ronda_core.verify import ReplayError  # noqa: PLC0415 -- not for `--help`

    if len(record.seats) != record.players:
        raise Failure(f"seats: {len(record.seats)} names for {record.players} players")
    found: list[Decision] = []
    try:
        found.extend(decisions(record, _time_left(record)))
    except ReplayError as error:
        raise Failure(f"{error}; run `ronda verify` on it") from None
    if not found:
        raise Failure("nothing was decided in this record")
    return found


def _time_left(record: Record) -> float | None:
    """Return what a clock began with: what was left later, a record does not tell."""
    clock = record.clock if isinstance(record.clock, dict) else {}
    parts = [clock.get("per_decision"), clock.get("bank", 0.0)]
    numbers = [float(part) for part in parts if isinstance(part, int | float)]
    return sum(numbers) if len(numbers) == 2 else None


def _subject(name: str, registry: Registry, *, given: bool) -> BotInfo:
    from ronda_cli.local import find_bots  # noqa: PLC0415 -- not for `--help`

    try:
        (found,) = find_bots([name], registry)
    except Failure as failure:
        advice = "" if given else "; --bot NAME asks another"
        raise Failure(f"{failure}{advice}") from None
    return found


def _ask(
    subject: BotInfo,
    record: Record,
    asked: Sequence[Decision],
    isolation: str,
    repeat: int,
    registry: Registry,
) -> Answers:
    from ronda_arena.decisions import advise, live  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.isolation import Limits  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.seating import InProcess  # noqa: PLC0415 -- not for `--help`

    # Asked often, it is asked under two hash seeds: a bot may not depend on the order of a set.
    seeds = (0,) if repeat == 1 or isolation == "trusted" else (0, 1)
    lived: list[Lived] = []
    with ExitStack() as stack:
        seatings = [
            stack.enter_context(
                isolating.seating(
                    [subject],
                    isolation,
                    trusted=isolating.nobody,
                    hash_seed=seed,
                    limits=Limits(log_kept=_LOG_KEPT),
                )
            )
            for seed in seeds
        ]
        progress = out.Progress("times", repeat)
        for number in range(repeat):
            lived.append(live(subject, record, asked, seatings[number % len(seeds)]))
            progress.step(number + 1)
        progress.close()
        printed = _printed(subject, record, asked, seatings[0], lived[0])
    ours = [bot for bot in registry.bots if bot.distribution == "ronda"]
    by_name = {bot.name: bot for bot in ours}
    adviser = next((by_name[name] for name in _STRONGEST if name in by_name), None)
    advice = advise(adviser, record, asked, InProcess()) if adviser else None
    return Answers(subject, lived, printed, adviser.identity if adviser else "", advice)


def _printed(
    subject: BotInfo,
    record: Record,
    asked: Sequence[Decision],
    seating: Seating,
    lived: Lived,
) -> str:
    """Return what the bot prints at the last decision: what it has not printed until then."""
    from ronda_arena.decisions import live  # noqa: PLC0415 -- not for `--help`

    log = lived.log
    if log and lived.reached is asked[-1]:
        before = live(subject, record, asked, seating, last=False).log
        log = log.removeprefix(before)
    return log.decode("utf-8", "backslashreplace")


def _seen(record: Record, at: Decision, shown: Look) -> Iterator[str]:
    """Show what the bot saw, as `ronda play` shows it to a person."""
    from ronda_cli.picture import describe, of_view  # noqa: PLC0415 -- not for `--help`

    picture = of_view(at.view, record.seats, match=text.name(record.id))
    if not shown.screen:
        yield from describe(picture)
        return
    from ronda_cli.render import picture_lines  # noqa: PLC0415 -- rich is for those who see it
    from ronda_cli.stage import ansi  # noqa: PLC0415 -- the same

    yield from ansi(picture_lines(picture, shown), shown)


def _told(record: Record, at: Decision, answers: Answers) -> Iterator[str]:
    who = text.name(answers.bot.identity)
    seated = text.name(record.seats[at.seat])
    instead = "" if who == seated else f" instead of {seated}"
    yield f"{at.place}: {who}{instead}"
    rows = [("then", _shown(at.chosen) if at.chosen is not None else "no answer: it forfeited")]
    rows += [("now", told) for told in _choices(answers.lived)]
    if answers.adviser:
        rows.append((text.name(answers.adviser), _shown(answers.advice)))
    width = max(len(label) for label, _ in rows)
    for label, told in rows:
        yield f"  {label:<{width}}  {told}"
    first = answers.lived[0]
    yield from _earlier(first, at, instead=bool(instead))
    if first.fault is not None and first.fault.answer is not None:
        yield f"it answered {text.printable(str(first.fault.answer))[:200]}"
    if first.fault is not None:
        from ronda_arena.advice import about_fault  # noqa: PLC0415 -- only where it broke

        if advice := about_fault(first.fault, answers.bot):
            yield advice
    if answers.printed.strip():
        yield "it printed:"
        for line in answers.printed.splitlines():
            yield f"  {text.indented(line)}"


def _choices(lived: Sequence[Lived]) -> Iterator[str]:
    """Yield each answer, how often it came and how long it took at most."""
    counts = Counter(_outcome(one) for one in lived)
    for told, count in counts.most_common():
        times = [one.seconds for one in lived if _outcome(one) == told]
        often = f", {count} of {len(lived)} times" if len(lived) > 1 else ""
        most = "at most " if count > 1 else ""
        yield f"{told}{often}, in {most}{max(times) * 1000:.3g} ms"
    if len(counts) > 1:
        yield "which is not always the same: it is not deterministic"


def _outcome(one: Lived) -> str:
    if one.fault is not None:
        return f"{one.fault.cause.value}: {one.fault.detail}"
    return _shown(one.choice)


def _earlier(lived: Lived, at: Decision, *, instead: bool) -> Iterator[str]:
    if lived.reached is not at:
        yield f"it came only to {lived.reached.place}"
    elif lived.differed and not instead:
        yield f"it decided otherwise already at {lived.differed[0].place}"
        if len(lived.differed) > 1:
            yield f"and at {len(lived.differed) - 1} more of its earlier decisions"


def _shown(choice: object) -> str:
    if isinstance(choice, bool):
        return "declares" if choice else "declares nothing"
    return str(choice)


def _write_json(record: Record, at: Decision, answers: Answers) -> None:
    def data(choice: object) -> object:
        return choice if isinstance(choice, bool) or choice is None else str(choice)

    def told(one: Lived) -> dict[str, Any]:
        fault = one.fault
        return {
            "choice": data(one.choice),
            "fault": fault and {"cause": fault.cause.value, "detail": fault.detail},
            "seconds": round(one.seconds, 6),
            "reached": {"hand": one.reached.hand, "play": one.reached.play},
            "differed": len(one.differed),
        }

    out.line(
        out.as_json(
            {
                "id": record.id,
                "hand": at.hand,
                "batch": at.batch,
                "play": at.play,
                "declares": at.declares,
                "seat": at.seat,
                "bot": answers.bot.identity,
                "seated": record.seats[at.seat],
                "holds": [str(card) for card in at.view.hand],
                "table": [str(card) for card in at.view.table],
                "then": data(at.chosen),
                "now": [told(one) for one in answers.lived],
                "printed": answers.printed,
                "strongest": {"bot": answers.adviser, "choice": data(answers.advice)},
            }
        )
    )
