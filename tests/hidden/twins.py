"""Twin deals: matches that differ only in what one viewer may not see.

A twin is drawn by moving unseen cards and is taken only if the rules (`obs`) tell that viewer the
same story of both, word for word, while another seat holds a different hand.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from tests.hidden.obs import Mirror, Playout, Step, replay
from tests.referee.naive_rules import PRESETS, RONDA_POINTS, rank_of, set_in, side_of

Deck = tuple[str, ...]


class Tally(Counter[str]):
    """How many twins there were, and why candidates were not taken."""

    def __str__(self) -> str:
        twins = self["twin"]
        rejected = {why: self[why] for why in ("awards", "same hands", "observed") if self[why]}
        share = 100 * self["differs"] / twins if twins else 0.0
        return (
            f"{twins} twins in {self['run']} runs, {share:.1f} % differ in a hidden hand"
            f" ({_told(self.styles())}); candidates rejected: {_told(rejected)};"
            f" no twin as nothing is hidden: {self['nothing hidden']},"
            f" as none was found: {self['none found']}"
        )

    def styles(self) -> dict[str, int]:
        """Return how the twins were drawn."""
        return {name: self[name] for name in STYLES if self[name]}


class Fixed(NamedTuple):
    """What a twin must leave alone beyond what its viewer sees."""

    hands: frozenset[int] = frozenset()
    """Seats whose decisions are not scripted: their hands stay."""
    holding: Mapping[int, bool] = {}
    """Seats of which it is told (to themselves) whether they hold a set in this batch."""


_NOTHING: Final = Fixed()


class _Place(NamedTuple):
    """A hidden place in the deck of the hand in play."""

    at: int
    batch: int
    seat: int


def twin(
    playout: Playout,
    mirror: Mirror,
    viewer: int | None,
    rng: random.Random,
    tally: Tally,
    fixed: Fixed = _NOTHING,
) -> Playout | None:
    """Return a twin of `playout`, which `mirror` has played, for `viewer`; None if there is none.

    Coarse ones are tried first, or now and then a fine one; where none fits, the next way is.
    """
    places = list(_hidden(playout, mirror, viewer, fixed))
    if not any(place.batch == mirror.referee.batch for place in places):
        tally["nothing hidden"] += 1
        return None
    first = rng.choices(list(STYLES), _WEIGHTS)[0]
    before = [_dealt(playout, mirror, seat) for seat in range(playout.setup.players)]
    if _sets_told(mirror, before) and rng.random() < 0.5:
        first = "whole hands"  # shuffled, sets that were told of are hardly ever what they were
    for style in dict.fromkeys([first, *STYLES]):
        for _ in range(_TRIES):
            made = _candidate(playout, mirror, viewer, rng, STYLES[style], places)
            why = _unfit(playout, mirror, viewer, made, fixed)
            if not why:
                tally["twin"] += 1
                tally["differs"] += _differs(playout, mirror, viewer, made)
                tally[style] += 1
                return made
            tally[why] += 1
    tally["none found"] += 1
    return None


def _differs(playout: Playout, mirror: Mirror, viewer: int | None, made: Playout) -> bool:
    """Say whether another seat holds another hand at the end."""
    seen = mirror.events[-1].public
    others = (seat for seat in range(playout.setup.players) if seat != viewer)
    return any(
        _dealt(playout, mirror, seat) - seen != _dealt(made, mirror, seat) - seen for seat in others
    )


def another_deal(playout: Playout, viewer: int | None, rng: random.Random) -> Playout | None:
    """Return a twin of a match that has only just been dealt."""
    mirror = replay(playout)
    return twin(playout, mirror, viewer, rng, Tally())


_TRIES: Final = 6

_Style = Callable[[random.Random, Playout, Mirror, list[_Place]], dict[int, str]]
"""Returns new cards by place in the deck."""


def _everything(
    rng: random.Random, playout: Playout, mirror: Mirror, places: list[_Place]
) -> dict[int, str]:
    """Shuffle all that is hidden."""
    return _shuffled(rng, playout, [place.at for place in places])


def _two_cards(
    rng: random.Random, playout: Playout, mirror: Mirror, places: list[_Place]
) -> dict[int, str]:
    """Exchange one card of a hidden hand for one that lies elsewhere, and nothing else."""
    held = rng.choice([place for place in places if place.batch == mirror.referee.batch])
    others = [place for place in places if (place.batch, place.seat) != held[1:]]
    if not others:
        return {}
    other = rng.choice(others)
    deck = playout.decks[-1]
    return {held.at: deck[other.at], other.at: deck[held.at]}


def _whole_hands(
    rng: random.Random, playout: Playout, mirror: Mirror, places: list[_Place]
) -> dict[int, str]:
    """Let two hidden hands change seats, one that was dealt a set where there is one."""
    hands: dict[int, list[int]] = {}
    for place in places:
        if place.batch == mirror.referee.batch:
            hands.setdefault(place.seat, []).append(place.at)
    if len(hands) < 2:
        return {}
    one = rng.choice([seat for seat in hands if seat in mirror.referee.dealt_sets] or [*hands])
    other = rng.choice([seat for seat in hands if seat != one])
    deck = playout.decks[-1]
    pairs = list(zip(hands[one], hands[other], strict=False))
    return {a: deck[b] for a, b in pairs} | {b: deck[a] for a, b in pairs}


def _suits(
    rng: random.Random, playout: Playout, mirror: Mirror, places: list[_Place]
) -> dict[int, str]:
    """Exchange hidden cards for others of their rank: every set keeps its rank."""
    deck = playout.decks[-1]
    moved: dict[int, str] = {}
    for rank in {rank_of(deck[place.at]) for place in places}:
        same = [place.at for place in places if rank_of(deck[place.at]) == rank]
        moved |= _shuffled(rng, playout, same)
    return moved


def _stock_and_one_seat(
    rng: random.Random, playout: Playout, mirror: Mirror, places: list[_Place]
) -> dict[int, str]:
    """Give one seat another hand out of the stock; the others keep theirs."""
    now = mirror.referee.batch
    seat = rng.choice([place.seat for place in places if place.batch == now])
    some = [place.at for place in places if place.batch != now or place.seat == seat]
    return _shuffled(rng, playout, some)


STYLES: Final[dict[str, _Style]] = {
    "everything": _everything,
    "one seat": _stock_and_one_seat,
    "whole hands": _whole_hands,
    "two cards": _two_cards,
    "suits": _suits,
}
_WEIGHTS: Final = (50, 18, 14, 12, 6)
"""How often each is the first to be tried."""


def _shuffled(rng: random.Random, playout: Playout, at: Sequence[int]) -> dict[int, str]:
    deck = playout.decks[-1]
    cards = [deck[place] for place in at]
    rng.shuffle(cards)
    return dict(zip(at, cards, strict=True))


def _packet(players: int, batch: int, position: int) -> range:
    """Return where in the deck a packet lies: batches from 1, positions from after the dealer."""
    start = 3 * players * (batch - 1) + 3 * position + (4 if batch > 1 else 0)
    return range(start, start + 3)


def _seat_at(playout: Playout, mirror: Mirror, position: int) -> int:
    assert mirror.referee.dealer is not None
    return (mirror.referee.dealer + 1 + position) % playout.setup.players


def _hidden(playout: Playout, mirror: Mirror, viewer: int | None, fixed: Fixed) -> Iterator[_Place]:
    """Yield the places of cards that the viewer has not seen and that may move."""
    players = playout.setup.players
    deck = playout.decks[-1]
    known = mirror.events[-1].known(viewer)
    kept = {card for seat in fixed.hands for card in mirror.referee.hands[seat]}
    for batch in range(mirror.referee.batch, 36 // (3 * players) + 1):
        for position in range(players):
            seat = _seat_at(playout, mirror, position)
            for at in _packet(players, batch, position):
                if deck[at] not in known and deck[at] not in kept:
                    yield _Place(at, batch, seat)


def _candidate(
    playout: Playout,
    mirror: Mirror,
    viewer: int | None,
    rng: random.Random,
    style: _Style,
    places: list[_Place],
) -> Playout:
    moved = style(rng, playout, mirror, places)
    deck = tuple(moved.get(at, card) for at, card in enumerate(playout.decks[-1]))
    decks = (*playout.decks[:-1], deck)
    if style is not _two_cards:  # a fine twin leaves every order as it is
        decks = tuple(_other_order(deck, playout.setup.players, rng) for deck in decks)
    made = playout._replace(decks=decks)
    return made._replace(steps=tuple(_answers(made, mirror, viewer, rng)))


def _other_order(deck: Deck, players: int, rng: random.Random) -> Deck:
    """Return a deck of the same hands and the same table, each in another order."""
    first = 3 * players
    groups = [deck[at : at + 3] for at in range(0, first, 3)]
    groups.append(deck[first : first + 4])
    groups += [deck[at : at + 3] for at in range(first + 4, 40, 3)]
    return tuple(card for group in groups for card in rng.sample(group, len(group)))


def _answers(
    made: Playout, mirror: Mirror, viewer: int | None, rng: random.Random
) -> Iterator[Step]:
    """Yield the steps with other answers where nobody but the seat itself knows them yet."""
    referee = mirror.referee
    secret = len(referee.answers) if referee.phase == "declare" else 0
    steps = made.steps
    yield from steps[: len(steps) - secret]
    for word, seat, answer in steps[len(steps) - secret :]:
        hand = _dealt(made, mirror, seat)
        if seat == viewer:
            yield word, seat, answer
        else:
            yield word, seat, set_in(hand) is not None and rng.random() < 0.5


def _dealt(playout: Playout, mirror: Mirror, seat: int) -> set[str]:
    """Return what `seat` was dealt in the batch in play."""
    assert mirror.referee.dealer is not None
    players = playout.setup.players
    position = (seat - mirror.referee.dealer - 1) % players
    return {playout.decks[-1][at] for at in _packet(players, mirror.referee.batch, position)}


def _unfit(
    playout: Playout, mirror: Mirror, viewer: int | None, made: Playout, fixed: Fixed
) -> str:
    """Return why a candidate is no twin, or nothing."""
    seats = range(playout.setup.players)
    before = [_dealt(playout, mirror, seat) for seat in seats]
    after = [_dealt(made, mirror, seat) for seat in seats]
    if all(before[seat] == after[seat] for seat in seats if seat != viewer):
        return "same hands"
    if any((set_in(after[seat]) is not None) != holds for seat, holds in fixed.holding.items()):
        return "awards"
    if _sets_told(mirror, before) != _sets_told(mirror, after):
        return "awards"
    try:
        other = replay(made)
    except ValueError:
        return "observed"
    return "" if other.learned(viewer) == mirror.learned(viewer) else "observed"


def _sets_told(mirror: Mirror, hands: Collection[set[str]]) -> tuple[object, ...]:
    """Return what everybody has been told of the sets of this batch: quick, and no last word."""
    referee = mirror.referee
    how = PRESETS[referee.rules].sets
    if how == "none" or referee.phase == "declare":
        return ()
    found = {seat: held for seat, hand in enumerate(hands) if (held := set_in(hand))}
    if how == "declared":
        declared = referee.declared.get(referee.batch, {})
        found = {seat: held for seat, held in found.items() if seat in declared}
    if not found:
        return ()
    best = max(found.values(), key=lambda held: (held[0] == "tringa", held[1]))
    sides = {side_of(seat, referee.players) for seat, held in found.items() if held == best}
    total = sum(RONDA_POINTS[kind] for kind, _ in found.values())
    kinds = tuple((seat, kind) for seat, (kind, _) in sorted(found.items()))
    return best[0], total, tuple(sorted(sides)), kinds if how == "declared" else ()


def _told(numbers: dict[str, int]) -> str:
    return ", ".join(f"{name} {number}" for name, number in numbers.items()) or "none"
