"""A seat's view as numbers, an action as an answer to it, and both as functions of nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from ronda_core.cards import CARDS, RANKS, Card, cards_text
from ronda_core.rules import PRESETS
from ronda_core.view import View

SILENT: Final = 40
"""The action of a seat that declares nothing. Actions 0 to 39 play the cards 1 to 40."""
DECLARE: Final = 41
"""The action of a seat that declares the set it holds."""

Action = int | np.integer[Any]
"""A number below `actions`."""

Observation = dict[str, Any]
"""`observation`, an array of `SIZE` float32, and `action_mask`, 1 for each legal action."""

_RULES: Final = tuple(PRESETS)
_PLAYERS: Final = (2, 3, 4)
_PHASES: Final = ("waiting", "declare", "play", "over")
_KINDS: Final = ("ronda", "tringa")
_BATCHES: Final = 6

_MARKED: Final = 0
_FIELDS: Final = (
    ("rules", len(_RULES), _MARKED),
    ("players", len(_PLAYERS), _MARKED),
    ("target", 1, 41),
    ("length", 1, 100),
    ("seat", 4, _MARKED),
    ("dealer", 4, _MARKED),
    ("turn", 4, _MARKED),
    ("phase", len(_PHASES), _MARKED),
    ("hand_number", 1, 10),
    ("batch", _BATCHES, _MARKED),
    ("hand", 40, _MARKED),
    ("may_declare", 1, _MARKED),
    ("table", 40, _MARKED),
    ("first_table", 40, _MARKED),
    ("unseen", 40, _MARKED),
    ("plays", 40, 36),
    ("last_seat", 4, _MARKED),
    ("last_card", 40, _MARKED),
    ("last_captured", 40, _MARKED),
    ("last_reclaimed", 40, _MARKED),
    ("last_link", 1, 3),
    ("chain_rank", len(RANKS), _MARKED),
    ("chain_link", 1, 3),
    ("pack", 40, _MARKED),
    ("hand_sizes", 4, 3),
    ("stock", 1, 40),
    ("pile_counts", 3, 40),
    ("scores", 3, 41),
    ("last_capturer", 3, _MARKED),
    ("declared", 4 * _BATCHES * len(_KINDS), _MARKED),
    ("answered", 4, _MARKED),
    ("sequence", 1, 1000),
    ("limited", 1, _MARKED),
    ("clock", 1, 60),
)
"""Name, places, and what the numbers in them are divided by; marked places are 0 or 1."""

_UNBOUNDED: Final = ("hand_number", "scores", "sequence", "clock")


def _layout() -> tuple[dict[str, slice], int]:
    at, layout = 0, {}
    for name, places, _ in _FIELDS:
        layout[name] = slice(at, at + places)
        at += places
    return layout, at


_LAYOUT, _SIZE = _layout()

LAYOUT: Final[Mapping[str, slice]] = MappingProxyType(_LAYOUT)
"""Where each field stands in an observation, the same for every preset and number of players."""
UNITS: Final[Mapping[str, int]] = MappingProxyType({name: unit or 1 for name, _, unit in _FIELDS})
"""What the numbers of each field are divided by."""
SIZE: Final = _SIZE
"""Places of an observation."""


def actions(rules: str) -> int:
    """Return how many actions there are: one a card, and two more where a preset declares."""
    return 42 if PRESETS[rules].sets == "declared" else 40


def space(rules: str) -> spaces.Dict:
    """Return the space of what `encode` makes of views by `rules`."""
    high = np.ones(SIZE, np.float32)
    for name in _UNBOUNDED:
        high[_LAYOUT[name]] = np.inf
    return spaces.Dict(
        {
            "observation": spaces.Box(np.zeros(SIZE, np.float32), high, dtype=np.float32),
            "action_mask": spaces.Box(0, 1, (actions(rules),), np.int8),
        }
    )


def encode(view: View) -> Observation:
    """Return all that a view says, as numbers; the mask is what its seat may do now.

    Seats are told as places after the own one in playing order, sides after the own side, and
    cards in the order of their numbers.
    """
    numbers = np.zeros(SIZE, np.float32)
    numbers[[_LAYOUT[name].start + at for name, places in _marks(view) for at in places]] = 1
    for name, values in _counts(view):
        start = _LAYOUT[name].start
        numbers[start : start + len(values)] = np.divide(values, UNITS[name])
    return {"observation": numbers, "action_mask": _mask(view)}


def decode(action: Action, view: View) -> Card:
    """Return the card that `action` plays, for `Bot.play`, or raise `ValueError`."""
    if not 0 <= action < SILENT or CARDS[action + 1] not in view.hand:
        raise ValueError("the action plays no card of this hand: choose by action_mask")
    return CARDS[action + 1]


def declares(action: Action, view: View) -> bool:
    """Return what `action` says of a set, for `Bot.declare`, or raise `ValueError`."""
    if action != SILENT and not (action == DECLARE and view.may_declare):
        raise ValueError("the action declares nothing that is held: choose by action_mask")
    return bool(action == DECLARE)


def text(view: View) -> str:
    """Return a view as lines of text."""
    turn = "" if view.turn is None else f", seat {view.turn} to play"
    piles = f"cards taken {_dashed(view.pile_counts)}, {view.stock} in the stock"
    lines = [
        f"{view.rules}, hand {view.hand_number}, batch {view.batch}: {view.phase}{turn}",
        f"scores {_dashed(view.scores)}, {piles}",
        f"table: {cards_text(view.table) or 'empty'}",
        f"seat {view.seat} holds: {cards_text(view.hand) or 'nothing'}",
    ]
    if view.last_play:
        took = cards_text((*view.last_play.captured, *view.last_play.reclaimed))
        last = f"seat {view.last_play.seat} played {view.last_play.card}"
        lines.append(f"{last} and took {took}" if took else last)
    lines += [f"seat {told.seat} declared a {told.kind}" for told in view.declared]
    return "\n".join(lines)


def _marks(view: View) -> Iterable[tuple[str, Iterable[int]]]:
    """Yield the places that are 1, by field."""
    players = view.players
    sides = len(view.scores)
    last = view.last_play

    def seats(*numbers: int | None) -> list[int]:
        return [(number - view.seat) % players for number in numbers if number is not None]

    yield "rules", [_RULES.index(view.rules)]
    yield "players", [_PLAYERS.index(players)]
    yield "seat", [view.seat]
    yield "dealer", seats(view.dealer)
    yield "turn", seats(view.turn)
    yield "phase", [_PHASES.index(view.phase)]
    yield "batch", [view.batch - 1] if view.batch else []
    yield "hand", _places(view.hand)
    yield "may_declare", [0] if view.may_declare else []
    yield "table", _places(view.table)
    yield "first_table", _places(view.first_table)
    yield "unseen", _places(view.unseen)
    if last:
        yield "last_seat", seats(last.seat)
        yield "last_card", _places([last.card])
        yield "last_captured", _places(last.captured)
        yield "last_reclaimed", _places(last.reclaimed)
    yield "chain_rank", [RANKS.index(view.chain_rank)] if view.chain_rank else []
    yield "pack", _places(view.pack)
    if view.last_capturer is not None:
        yield "last_capturer", [(view.last_capturer - view.side) % sides]
    for batch, seat, kind in view.declared:
        sets = seats(seat)[0] * _BATCHES + batch - 1
        yield "declared", [sets * len(_KINDS) + _KINDS.index(kind)]
    yield "answered", seats(*view.answered)
    yield "limited", [] if view.clock is None else [0]


def _counts(view: View) -> Iterable[tuple[str, Sequence[float]]]:
    """Yield the numbers that are no marks, by field, before they are divided."""
    seat, side = view.seat, view.side
    when = [0] * 40
    for number, card in enumerate(view.plays, 1):
        when[card - 1] = number
    yield "target", [view.target]
    yield "length", [view.length]
    yield "hand_number", [view.hand_number]
    yield "plays", when
    yield "last_link", [view.last_play.link if view.last_play else 0]
    yield "chain_link", [view.chain_link]
    yield "hand_sizes", view.hand_sizes[seat:] + view.hand_sizes[:seat]
    yield "stock", [view.stock]
    yield "pile_counts", view.pile_counts[side:] + view.pile_counts[:side]
    yield "scores", view.scores[side:] + view.scores[:side]
    yield "sequence", [view.sequence]
    yield "clock", [view.clock or 0]


def _mask(view: View) -> NDArray[np.int8]:
    mask = np.zeros(actions(view.rules), np.int8)
    if view.phase == "play" and view.turn == view.seat:
        mask[_places(view.hand)] = 1
    elif view.phase == "declare" and view.seat not in view.answered:
        mask[SILENT] = 1
        mask[DECLARE] = view.may_declare
    return mask


def _places(cards: Iterable[Card]) -> list[int]:
    return [card - 1 for card in cards]


def _dashed(numbers: Sequence[int]) -> str:
    return "-".join(map(str, numbers))
