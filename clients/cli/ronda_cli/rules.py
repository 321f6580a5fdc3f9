"""`ronda rules`: the game in a minute, and what its presets change."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from typing import Final

import click

from ronda_cli import options
from ronda_cli import output as out
from ronda_cli.look import look
from ronda_cli.text import one_line
from ronda_core.rules import PRESETS, Preset

_GAME: Final = """
Ronda is played with the forty cards of the Spanish pack: the suits oros (O), copas (C), espadas (E)
and bastos (B), each with 1 to 7, then 10, 11 and 12. The 10 follows the 7. A card is written as its
rank and its suit: 7O, 12E.

Three cards are dealt to each seat and four to the table; when they are played, three more, until
the pack is empty. The seat after the dealer begins; the dealer plays last.

You play one card a turn. If a card of its rank lies on the table you take it, and with it every
card that goes on upward without a gap: a 5 takes 5, 6, 7 and 10. If not, your card stays. What is
left at the end goes to the side that took last. With four players, seats 0 and 2 are partners, and
seats 1 and 3.
"""
_FOUR: Final = "Four published descriptions disagree, so the rules are four presets:"
_POINTS: Final = (
    ("ronda", "a pair among your three cards", "1"),
    ("tringa", "three of a rank among them", "5"),
    ("este", "a card of the rank just played", "1"),
    ("", "the third such card in a row", "5"),
    ("", "the fourth", "10"),
    ("missa", "a capture that sweeps the table", "1"),
    ("cards", "each card taken over your fair share", "1"),
)


@click.command()
@click.argument("preset", required=False, metavar="[PRESET]")
@options.output("table", "json")
@options.plain
def rules(preset: str | None, output: str, plain: bool) -> None:
    """Explain the game and its four presets: playtash, cafe, arabic and pagat.

    With a PRESET only what that one says, with -o json as data.
    """
    if preset is not None and preset not in PRESETS:
        known = ", ".join(PRESETS)
        raise click.BadParameter(f"there is no preset {one_line(preset, 40)!r}; there are: {known}")
    chosen = [PRESETS[preset]] if preset else list(PRESETS.values())
    if output == "json":
        data = [asdict(one) for one in chosen]
        out.line(out.as_json(data[0] if preset else {"presets": data}))
        return
    width = min(look(plain).width, 88)
    if not preset:
        _game(width)
    for one in chosen:
        _preset(one, width)


def facts(preset: Preset) -> dict[str, str]:
    """Return what a preset says, in words."""
    targets = ", ".join(map(str, preset.targets))
    length = f"to {targets} points" if targets else "one hand of all forty cards"
    first = ": the first is the default" if len(preset.targets) > 1 else ""
    now = "the moment a side is there, ahead of all others"
    takes = "must take the card just laid"
    same = "the rank of the card before, whether it takes or not"
    back = ", and take back what the card before gained" if preset.reclaims else ""
    silent = "; kept silent, they pay the others" if preset.penalties else ""
    bonus = "the dealer's: a 12 that takes is +5, a 1 or taking nothing +5 to the other"
    share = "a point for each card over 20" + (", over 13 of 3" if 3 in preset.players else "")
    return {
        "players": ", ".join("4 in two teams" if n == 4 else str(n) for n in preset.players),
        "the match": length + first,
        "it ends": now if preset.immediate else "when a hand is over",
        "este": takes if preset.este_takes else same,
        "3rd and 4th": ("always" if preset.long_chain_at_two else "with 3 or 4 players") + back,
        "sets": _SETS[preset.sets] + silent,
        "missa": "also on the last card" if preset.missa_on_last else "not on the last card",
        "last card": bonus if preset.closing else "as any other",
        "count": "every card is a point" if preset.every_card else share,
    }


_SETS: Final = {
    "automatic": "paid as soon as they are dealt",
    "declared": "declared in secret, or lost",
    "none": "not in the game",
}


def _game(width: int) -> None:
    for paragraph in _GAME.strip().split("\n\n"):
        out.line(textwrap.fill(paragraph, width))
        out.line()
    out.line("Points")
    for name, what, points in _POINTS:
        first = f"  {name:<8}{points:>2}  "
        out.line(textwrap.fill(what, width, initial_indent=first, subsequent_indent=" " * 14))
    out.line()
    out.line(textwrap.fill(_FOUR, width))


def _preset(preset: Preset, width: int) -> None:
    out.line()
    out.line(preset.name)
    for name, what in facts(preset).items():
        first = f"  {name:<13}"
        out.line(textwrap.fill(what, width, initial_indent=first, subsequent_indent=" " * 15))
