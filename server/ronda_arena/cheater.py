"""Players that see hidden cards: the bound of what play can be worth, and never bots to rate.

They know the hands or the pack, which no seat may, so they are no entry points and no server can
seat them: whoever plays a match here hands them the true state by `on_step`. What they win
against a bot is what that bot's blindness and judgement cost together.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import ClassVar

from ronda_bots import points
from ronda_bots.api import Card, Event, SeatInfo, View
from ronda_bots.ending import Ending
from ronda_bots.moves import TABLE, last_moves, moves
from ronda_bots.search import Batch, winning
from ronda_bots.solver import Solver
from ronda_bots.worlds import Evidence, Hand, World
from ronda_core.cards import STEP
from ronda_core.hand import Hand as TrueHand
from ronda_core.match import Match, MatchEvent
from ronda_core.rules import PLAYS


class Cheater:
    """Searches this batch with all cards open, and plays every later one out as it will be dealt.

    The others are taken to play by their rates, which need not see anything: what a cheater wins
    is won by knowing, not by their folly.
    """

    version = "1.0.0"

    pack: ClassVar[bool] = True
    """Whether it sees the pack, beside the hands."""

    def __init__(self, seat: SeatInfo, rng: Random) -> None:  # noqa: ARG002 -- leaves nothing to chance
        self._rules = points.settings_of(seat)
        self._ending = Ending(self._rules)
        self._match: Match | None = None

    def see(self, match: Match, _events: tuple[MatchEvent, ...] = ()) -> None:
        """Look at the true state: an `OnStep` of `play_match`."""
        self._match = match

    def play(self, view: View) -> Card:
        """Return the best card, all cards being known."""
        if len(view.hand) == 1:
            return view.hand[0]
        wins = winning(self._rules, view)
        if wins is not None:
            return wins
        if self._rules.players == 2 and not view.stock:
            return self._ending.best(view)
        assert self._match is not None
        true = self._match.hand
        assert true is not None
        evidence = Evidence(self._rules, view, None)
        future = _Future(self._rules.batch_plays, true, view)
        known = self.pack and view.stock
        batch = Batch(self._rules, view, evidence, future.worth if known else None)
        future.batch = batch
        world = World(1.0, tuple(_steps(true.hands[seat]) for seat in evidence.seats))
        values = batch.values([world], few=0)
        return max(view.hand, key=lambda card: values[STEP[card]])


class Peeker(Cheater):
    """Sees the hands, and of the pack no more than anybody."""

    pack = False


class Glimpser(Peeker):
    """Is `solver` with three cards in hand, and sees the hands with two: half a cheat."""

    def __init__(self, seat: SeatInfo, rng: Random) -> None:
        super().__init__(seat, rng)
        self._blind = Solver(seat, rng)

    def observe(self, event: Event) -> None:
        """Tell the blind half what everybody sees."""
        self._blind.observe(event)

    def play(self, view: View) -> Card:
        """Return the best card that is known of: by guess at first, then by sight."""
        return super().play(view) if len(view.hand) < 3 else self._blind.play(view)


class _Future:
    """The batches still to be dealt, played out by everybody's rates."""

    def __init__(self, batch_plays: int, true: TrueHand, view: View) -> None:
        self.batch: Batch | None = None
        self._rules = true.settings
        self._batch_plays = batch_plays
        self._view = view
        self._batches = [
            [_steps(true.deck[at : at + 3]) for at in packets]
            for packets in self._rules.packets[view.dealer][view.batch :]
        ]
        self._known: dict[tuple[int, bool], float] = {}

    def worth(self, spot: int, took: bool) -> float:
        """Return the margin of all that follows the spot at the end of this batch."""
        key = spot & TABLE, took
        if key not in self._known:
            self._known[key] = self._play_out(*key)
        return self._known[key]

    def _play_out(self, spot: int, took: bool) -> float:
        batch = self.batch
        assert batch is not None
        rules, me = self._rules, self._view.seat
        gain, made = 0.0, self._view.batch * self._batch_plays
        for packets in self._batches:
            hands = list(packets)
            seat = rules.next_seat[self._view.dealer]
            spot &= TABLE
            for _ in range(self._batch_plays):
                held = hands[seat]
                place = batch.rates.choose(spot, held) if len(held) > 1 else 0
                hands[seat] = held[:place] + held[place + 1 :]
                made += 1
                known = last_moves(rules) if made == PLAYS else moves(rules)
                paid, cards, spot = known[spot << 4 | held[place]]
                ahead = (seat - me - 1) % rules.players
                mine = seat == me
                sign, price = (
                    (1.0, batch.price) if mine else (batch.signs[ahead], batch.prices[ahead])
                )
                gain += sign * (paid + price * cards)
                if cards:
                    took = mine or batch.friends[ahead]
                seat = rules.next_seat[seat]
        return gain + batch.leftovers(spot, took)


def _steps(cards: Sequence[int]) -> Hand:
    return tuple(sorted(STEP[card] for card in cards))
