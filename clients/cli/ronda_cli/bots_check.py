"""`ronda bots check`: whether a bot is fit to play."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import click

from ronda_cli import isolating, options, tables, text
from ronda_cli import output as out
from ronda_cli.look import Look, look
from ronda_cli.output import ExitCode

if TYPE_CHECKING:
    from pathlib import Path

    from ronda_arena.checkup import Findings, Trouble
    from ronda_arena.clock import Clock

_EDGES: Final = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
"""Seconds: where the rows of a histogram end."""


@click.command()
@click.argument("bot", metavar="NAME")
@click.option(
    "--hands",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Hands of each preset, shared by its numbers of players.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    help="Play no longer than this, and fewer hands if need be, but for the decision that is"
    " waited for; 0: as long as it takes.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Of the first game.")
@isolating.isolation
@isolating.clock
@isolating.like_server
@options.bots_dir
@options.output("table", "json")
@options.plain
def check(
    bot: str,
    hands: int,
    seconds: float,
    seed: int,
    isolation: str,
    clock: Clock | None,
    like_server: bool,
    bots_dir: Path | None,
    output: str,
    plain: bool,
) -> int:
    """Find out whether the bot NAME is fit to play.

    It plays `random` and `greedy` at every table of every preset, in a sandbox: every card must be
    legal, every method answer well, and the same seed give the same plays. What its decisions take,
    its start and its memory are told. What is wrong is told with the command that shows it again.

    Exit code: 0 if it is fit, 1 if not, or if there was no time to see it at every table.
    """
    if like_server:
        clock = isolating.server_clock(isolation, clock)
    from ronda_arena.checkup import Checkup  # noqa: PLC0415 -- not for `--help`
    from ronda_arena.discovery import discover  # noqa: PLC0415 -- not for `--help`
    from ronda_cli.local import find_bots, now  # noqa: PLC0415 -- not for `--help`

    with out.aside():
        registry = discover(names=[bot], home=bots_dir)
    name = bot.partition("@")[0]
    broken = next((one for one in registry.broken if one.name == name), None)
    if broken and not any(known.name == name for known in registry.bots):
        _tell_broken(bot, broken.problem, output)
        return ExitCode.NO
    subject, *rivals = find_bots([bot, "random", "greedy"], registry)
    trusted = isolation == "trusted"
    with ExitStack() as stack, out.aside():
        seatings = [
            stack.enter_context(
                isolating.seating(
                    [subject], isolation, clock, trusted=isolating.nobody, hash_seed=hash_seed
                )
            )
            for hash_seed in ((0,) if trusted else (0, 1))
        ]
        how = seatings[0].level(subject).value
        total = hands * _PRESETS
        progress = out.Progress("hands", total)
        checkup = Checkup(subject, rivals, seatings, called=bot, clock=clock, seed=seed, now=now)
        try:
            found = checkup.run(hands, seconds, lambda done: progress.step(min(done, total)))
        finally:
            progress.close()
    flags = (*_flags(isolation, clock, like_server), *options.bots_dir_again())
    if output == "json":
        out.line(out.as_json(_data(found, how, clock, flags)))
    else:
        shown = look(plain)
        for line in _told(found, how, clock, flags, shown):
            out.line(line)
    return ExitCode.DONE if found.fit else ExitCode.NO


_PRESETS: Final = 4


def _flags(isolation: str, clock: Clock | None, like_server: bool) -> tuple[str, ...]:
    """Return the flags with which `ronda match` runs the bot in the same way."""
    if like_server:
        return ("--like-server",)
    how = () if isolation == isolating.AUTO else ("--isolation", isolation)
    timed = ("--clock", f"{clock.per_decision:g}+{clock.bank:g}") if clock else ()
    return (*how, *timed)


def _tell_broken(bot: str, problem: str, output: str) -> None:
    if output == "json":
        trouble = {
            "problem": problem,
            "advice": None,
            "hand": 0,
            "play": 0,
            "times": 1,
            "command": None,
        }
        out.line(out.as_json({"bot": bot, "fit": False, "troubles": [trouble]}))
    else:
        out.line(text.one_line(f"{bot} is not fit to play: {problem}"))


def _told(
    found: Findings, how: str, clock: Clock | None, flags: tuple[str, ...], shown: Look
) -> Iterator[str]:
    watch, who = found.watch, text.name(found.bot.identity)
    timed = f"with {clock.per_decision:g} s a decision" if clock else "without a clock"
    if clock and clock.bank:
        timed += f" and {clock.bank:g} s more"
    yield from _wrapped(f"{who}: {', '.join(watch.methods)}", shown)
    where = {"trusted": "in this process", "process": "in a process of its own"}
    yield from _wrapped(f"run {where.get(how, 'in a sandbox')}, {timed}", shown)
    yield ""
    rows = [{key: str(value) for key, value in one._asdict().items()} for one in found.played]
    yield from tables.lines(rows, shown.width, left=("preset",), plain=shown.plain)
    yield ""
    for kind, seconds in (("play", watch.plays), ("declare", watch.declarations)):
        if seconds:
            yield from _histogram(kind, sorted(seconds), shown)
            yield ""
    if watch.starts:
        later = f", later {_time(median(watch.starts[1:]))}" if watch.starts[1:] else ""
        yield from _wrapped(f"start: {_time(watch.starts[0])} the first time{later}", shown)
    if watch.memory:
        yield from _wrapped(_memory(watch.memory), shown)
    if found.repeated:
        yield f"repeated: {found.repeated} games, each three times"
    else:
        yield from _wrapped("repeated: no game, there was no time to end one", shown)
    yield ""
    for trouble in found.troubles:
        yield from _trouble(trouble, found, flags, shown)
    yield from _unended(found, shown)
    if all(trouble.cause != "time" for trouble in found.troubles) and (slow := _slow(found)):
        yield from _wrapped(slow, shown)
    most = min(found.hands_of(one.preset) for one in found.played)
    if most < found.wanted and not found.troubles:
        yield from _wrapped(
            f"only {most} of {found.wanted} hands of each preset were played: --seconds says how"
            " long there is",
            shown,
        )
    many = sum(one.hands for one in found.played)
    games = sum(one.games for one in found.played)
    yield from _wrapped(f"{many} hands in {games} games, {found.seconds:.0f} s", shown)
    if found.fit:
        yield f"{who} is fit to play"
    elif found.troubles:
        yield f"{who} is not fit to play"
    else:
        yield from _wrapped(
            f"nothing is wrong so far, but {who} was not seen at every table", shown
        )


def _unended(found: Findings, shown: Look) -> Iterator[str]:
    """Say of the games that were left for want of time how far the last came."""
    if found.stops:
        game, hand, play = found.stops[-1]
        many = len(found.stops)
        games = "1 game was" if many == 1 else f"{many} games were"
        table = f"{game.rules.preset.name}, {game.rules.players} players"
        told = f"{games} left when the time was over, the last in hand {hand}, play {play}"
        yield from _wrapped(f"{told} ({table})", shown)


def _histogram(kind: str, seconds: list[float], shown: Look) -> Iterator[str]:
    """Draw how long decisions took: a bar for each range, with how many there are."""
    yield f"{kind}: {len(seconds)} decisions"
    points = ("p50", 0.5), ("p95", 0.95), ("max", 1.0)
    yield "  " + "  ".join(f"{name} {_time(_at(seconds, share))}" for name, share in points)
    counts = [sum(low < one <= high for one in seconds) for low, high in _ranges()]
    used = [at for at, count in enumerate(counts) if count]
    room = max(shown.width - 28, 10)
    bar = "=" if shown.plain else shown.glyphs.bar
    for at in range(used[0], used[-1] + 1):
        high = _ranges()[at][1]
        label = f"to {_time(high)}" if high < float("inf") else "more"
        drawn = bar * -(-counts[at] * min(room, 40) // max(counts))
        yield f"  {label:<10}{counts[at]:>8}  {drawn}".rstrip()


def _ranges() -> list[tuple[float, float]]:
    return list(zip((-1.0, *_EDGES), (*_EDGES, float("inf")), strict=True))


def _at(ordered: list[float], share: float) -> float:
    """Return the value below which a share of all is."""
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


def _time(seconds: float) -> str:
    """Return a time with two digits that say something, in a unit that fits it."""
    if seconds < 1:
        return f"{seconds * 1000:.2g} ms" if seconds < 0.0995 else f"{seconds * 1000:.0f} ms"
    return f"{seconds:.2g} s" if seconds < 99.5 else f"{seconds:.0f} s"


def _memory(memory: list[int]) -> str:
    first, last, most = memory[0], memory[-1], max(memory)
    grown = f"{(last - first) / 2**20:+.1f} MiB over a long match"
    return f"memory: {first / 2**20:.1f} MiB when made, {most / 2**20:.1f} at most, {grown}"


def _trouble(
    trouble: Trouble, found: Findings, flags: tuple[str, ...], shown: Look
) -> Iterator[str]:
    game = trouble.game
    times = f", {trouble.times} times" if trouble.times > 1 else ""
    table = f"{game.rules.preset.name}, {game.rules.players} players, seat {game.seat}"
    yield from _wrapped(f"{trouble.problem}{times}", shown)
    if trouble.cause == "time" and (slow := _slow(found, trouble.decisions)):
        yield from _wrapped(slow, shown, "  ")
    if trouble.advice:
        yield from _wrapped(trouble.advice, shown, "  ")
    yield from _wrapped(f"first in {table}, {_place(trouble)}; to see it again:", shown, "  ")
    for line in _commands(trouble, flags):
        yield f"    {line}"
    for line in trouble.log.decode("utf-8", "backslashreplace").splitlines()[-6:]:
        yield f"    | {text.indented(line)}"
    yield ""


def _slow(found: Findings, asked: int = 0) -> str:
    """Say what decisions take and what they have, of a bot that is too slow for its clock.

    `asked` is how many decisions it came to in the game that it lost by it; 0: it lost none yet.
    """
    clock, thinking = found.clock, found.watch.plays + found.watch.declarations
    if clock is None or not thinking:
        return ""
    usual = median(thinking)
    told = f"decisions take {_time(usual)} (median); the clock gives {_time(clock.per_decision)}"
    if asked and clock.bank:
        many = "1 decision" if asked == 1 else f"{asked} decisions"
        return f"{told} and a bank of {_time(clock.bank)}, which ran out after {many}"
    if asked or usual <= clock.per_decision:
        return told if asked else ""
    lasts = int(clock.bank / (usual - clock.per_decision))
    return f"{told} and a bank of {_time(clock.bank)}, which lasts for about {lasts} of them"


def _place(trouble: Trouble) -> str:
    if not trouble.hand:
        return "before the first deal"
    return f"hand {trouble.hand}" + (f", play {trouble.play}" if trouble.play else "")


def _commands(trouble: Trouble, flags: tuple[str, ...]) -> list[str]:
    """Return the commands that play a game again and ask for the decision in question."""
    words = (*trouble.game.command()[:-2], *flags)
    if not trouble.hand:
        return [out.command(*words, "--traceback")]
    where = ("--hand", str(trouble.hand), "--play", str(trouble.play or 1))
    again = ("ronda", "bots", "debug", "again.jsonl", *where, *options.bots_dir_again())
    return [
        out.command(*words, "--records", "again.jsonl"),
        out.command(*again, "--repeat", "20"),
    ]


def _wrapped(told: str, shown: Look, indent: str = "") -> Iterator[str]:
    yield from text.wrapped(text.one_line(told), shown.width, indent)


def _data(found: Findings, how: str, clock: Clock | None, flags: tuple[str, ...]) -> dict[str, Any]:
    watch = found.watch
    thinking = {"play": sorted(watch.plays), "declare": sorted(watch.declarations)}
    return {
        "bot": found.bot.identity,
        "fit": found.fit,
        "isolation": how,
        "clock": clock and clock.to_json(),
        "methods": watch.methods,
        "hands": found.wanted,
        "played": [one._asdict() for one in found.played],
        "repeated": found.repeated,
        "thinking": {kind: _summary(ordered) for kind, ordered in thinking.items()},
        "start": {
            "first": round(watch.starts[0], 6) if watch.starts else None,
            "later": round(median(watch.starts[1:]), 6) if watch.starts[1:] else None,
        },
        "memory": watch.memory,
        "stopped": [
            {
                "preset": game.rules.preset.name,
                "players": game.rules.players,
                "hand": hand,
                "play": play,
            }
            for game, hand, play in found.stops
        ],
        "troubles": [
            {
                "problem": one.problem,
                "advice": one.advice or None,
                "hand": one.hand,
                "play": one.play,
                "times": one.times,
                "command": out.command(*one.game.command(), *flags),
            }
            for one in found.troubles
        ],
        "seconds": round(found.seconds, 3),
    }


def _summary(ordered: list[float]) -> dict[str, Any]:
    counts = [
        {"to": None if high == float("inf") else high, "count": count}
        for low, high in _ranges()
        if (count := sum(low < one <= high for one in ordered))
    ]
    shares = {"p50": 0.5, "p95": 0.95, "max": 1.0}
    told = {name: round(_at(ordered, share), 6) for name, share in shares.items() if ordered}
    return {"count": len(ordered), **told, "histogram": counts}
