"""The presets as data: what the engine reads instead of their names.

Source: the rules document of this project (docs/rules.md), table "What the presets change".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final

ESTE_POINTS: Final = (0, 1, 5, 10)
"""Points for the first, second, third and fourth equal card in a row."""

RONDA: Final = 1
TRINGA: Final = 5
"""Points of a pair and of three of a rank in the three cards dealt."""

PLAYS: Final = 36
"""Plays in a whole hand, at any number of players."""


class RulesError(ValueError):
    """Settings that no preset allows; `field` names the one that is wrong."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass(frozen=True, slots=True)
class Preset:
    """One published reading of Ronda."""

    name: str
    players: tuple[int, ...]
    targets: tuple[int, ...]
    """Allowed targets, the default first; empty: one hand, no target, no fixed length."""
    este_takes: bool
    """An este must take the card just laid; else equality with the card before is enough."""
    long_chain_at_two: bool
    """Third and fourth links exist at two players too."""
    reclaims: bool
    """Third and fourth links take over what the link before gained."""
    sets: str
    """"automatic", "declared" or "none"."""
    penalties: bool
    """Sets kept silent are paid to the opponents when the batch is over."""
    missa_on_last: bool
    """A missa on the 36th card counts."""
    closing: bool
    """The dealer's 36th card is judged."""
    every_card: bool
    """The count pays every card, not only those over the fair share."""
    immediate: bool
    """The match is checked after every award, not only after the count."""


PRESETS: Final = {
    preset.name: preset
    for preset in (
        Preset(
            name="playtash",
            players=(2, 4),
            targets=(41,),
            este_takes=False,
            long_chain_at_two=True,
            reclaims=False,
            sets="automatic",
            penalties=False,
            missa_on_last=False,
            closing=False,
            every_card=False,
            immediate=False,
        ),
        Preset(
            name="cafe",
            players=(2, 3, 4),
            targets=(41, 25, 21),
            este_takes=True,
            long_chain_at_two=False,
            reclaims=True,
            sets="declared",
            penalties=False,
            missa_on_last=False,
            closing=False,
            every_card=False,
            immediate=True,
        ),
        Preset(
            name="arabic",
            players=(2,),
            targets=(),
            este_takes=False,
            long_chain_at_two=True,
            reclaims=True,
            sets="none",
            penalties=False,
            missa_on_last=True,
            closing=True,
            every_card=True,
            immediate=False,
        ),
        Preset(
            name="pagat",
            players=(2, 3, 4),
            targets=(41, 25),
            este_takes=True,
            long_chain_at_two=False,
            reclaims=True,
            sets="declared",
            penalties=True,
            missa_on_last=False,
            closing=False,
            every_card=False,
            immediate=True,
        ),
    )
}


Reader = Callable[[tuple[int, ...]], tuple[tuple[int, ...], ...]]
"""Reads the packets of three of one batch, by seat, off a deck."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a match is played by: a preset at a number of players, to a target or a length.

    Make it with `settings`, which refuses what the rules do not allow.
    """

    preset: Preset
    players: int
    target: int
    """0: none."""
    length: int
    """Hands to play; 0: to the target, or the single hand of a preset without targets."""
    sides: int
    side_of: tuple[int, ...]
    """Side by seat."""
    next_seat: tuple[int, ...]
    """Seat after each seat, in playing order."""
    batches: int
    batch_plays: int
    """Plays in a batch: three a seat."""
    links: int
    """Most links after the first card of a chain: 1 or 3."""
    este_takes: bool
    reclaims: bool
    has_sets: bool
    declares: bool
    fair_share: int
    """Cards a side keeps without being paid for them."""
    immediate: bool
    """An award may win the match at once."""
    packets: tuple[tuple[tuple[int, ...], ...], ...]
    """Where in the deck each packet of three starts, by dealer, batch and seat."""
    readers: tuple[tuple[Reader, ...], ...] = field(compare=False, repr=False)
    """What reads all packets of a batch, by dealer and batch."""


def settings(rules: str, players: int, target: int | None = None, length: int = 0) -> Settings:
    """Return the settings of a match, or raise `RulesError`.

    `target` None (or 0 where a length is given) takes the preset's default; `length` plays a
    fixed number of hands, without a target.
    """
    preset = PRESETS.get(rules)
    if preset is None:
        raise RulesError("rules", f"rules are one of: {', '.join(PRESETS)}")
    if players not in preset.players:
        allowed = ", ".join(map(str, preset.players))
        raise RulesError("players", f"{preset.name} is played by {allowed} players")
    _check_length(preset, length)
    target = _target(preset, target, length)
    teams = players == 4
    packets = tuple(_packets(players, dealer) for dealer in range(players))
    return Settings(
        preset=preset,
        players=players,
        target=target,
        length=length,
        sides=2 if teams else players,
        side_of=tuple(seat % 2 if teams else seat for seat in range(players)),
        next_seat=tuple((seat + 1) % players for seat in range(players)),
        batches=PLAYS // (3 * players),
        batch_plays=3 * players,
        links=3 if players > 2 or preset.long_chain_at_two else 1,
        este_takes=preset.este_takes,
        reclaims=preset.reclaims,
        has_sets=preset.sets != "none",
        declares=preset.sets == "declared",
        fair_share=0 if preset.every_card else 13 if players == 3 else 20,
        immediate=preset.immediate and not length,
        packets=packets,
        readers=tuple(tuple(map(_reader, batches)) for batches in packets),
    )


def _packets(players: int, dealer: int) -> tuple[tuple[int, ...], ...]:
    """Return where each seat's packets start, by batch: from the seat after the dealer on.

    The four cards of the first table lie between batch 1 and batch 2.
    """
    return tuple(
        tuple(
            3 * (batch * players + (seat - dealer - 1) % players) + (4 if batch else 0)
            for seat in range(players)
        )
        for batch in range(PLAYS // (3 * players))
    )


def _reader(starts: tuple[int, ...]) -> Reader:
    return itemgetter(*[slice(at, at + 3) for at in starts])


def _check_length(preset: Preset, length: int) -> None:
    if not 0 <= length <= MAX_LENGTH:
        raise RulesError("length", f"a match has 1 to {MAX_LENGTH} hands, or 0 for a target")
    if length and not preset.targets:
        raise RulesError("length", f"{preset.name} is always one hand: leave the length out")


def _target(preset: Preset, target: int | None, length: int) -> int:
    if length or not preset.targets:
        if target:
            why = "a fixed number of hands" if length else f"{preset.name}"
            raise RulesError("target", f"{why} has no target: leave it out")
        return 0
    if target is None:
        return preset.targets[0]
    if target not in preset.targets:
        allowed = ", ".join(map(str, preset.targets))
        raise RulesError("target", f"{preset.name} is played to {allowed}")
    return target


MAX_LENGTH: Final = 100
"""Most hands of a match of fixed length."""
