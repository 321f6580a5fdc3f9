"""What a card takes and earns where it is played: pure arithmetic on what everyone can see.

A bot may use the engine's facts about the rules (`Settings`) but never its state, which holds
what the bot may not know. So a position is told here in five public numbers, a `Spot`, and one
function says what any rank would gain there and what spot it would leave. The tests hold it
against the engine, play by play, in every preset and at every number of players.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from ronda_bots.api import SeatInfo
from ronda_core.cards import RANKS, STEP
from ronda_core.rules import ESTE_POINTS, PLAYS, Settings, settings
from ronda_core.view import View


class Spot(NamedTuple):
    """What the next card meets. A step is a place on the ladder 1..7, 10..12, from 0 to 9."""

    table: int
    """A bit for the step of each card on the table: there are never two of a rank."""
    chain: int
    """The step that would be the next link; -1: none."""
    links: int
    """Links of that chain so far."""
    pack: int
    """How many cards the next link would take back, where the rules let it."""
    made: int
    """Plays made in this hand."""


class Gain(NamedTuple):
    """What one play brings to whoever makes it."""

    este: int
    missa: int
    closing: int
    """5 for the dealer, -5 where it is the opponent who gets 5."""
    taken: int
    """Cards taken from the table."""
    reclaimed: int
    """Cards taken back from the player before: they leave the other pile as well."""

    @property
    def points(self) -> int:
        """Points paid for the play itself."""
        return self.este + self.missa + self.closing

    @property
    def cards(self) -> int:
        """Cards that join the pile, the one played among them if it took any."""
        took = self.taken + self.reclaimed
        return took + 1 if took else 0


def settings_of(seat: SeatInfo) -> Settings:
    """Return the rules' facts for the match that a bot was made for."""
    return settings(seat.rules, seat.players, seat.target or None, seat.length)


def spot(view: View) -> Spot:
    """Return what the next card meets in `view`."""
    table = 0
    for card in view.table:
        table |= 1 << STEP[card]
    made = len(view.plays)
    if not view.chain_rank or view.chain_link == 3:  # there is no fifth card of a rank
        return Spot(table, -1, 0, 0, made)
    return Spot(table, RANKS.index(view.chain_rank), view.chain_link, len(view.pack), made)


def play(rules: Settings, at: Spot, step: int) -> tuple[Gain, Spot]:
    """Return what a card of the rank at `step` gains in the spot `at`, and the spot it leaves.

    What a batch's end pays for silence and a hand's end for cards is not counted here, and the
    match is taken to go on: where the este wins it at once, no missa is paid.
    """
    table, chain, links, pack, made = at
    made += 1
    link = links + 1 if step == chain else 0
    taken = reclaimed = 0
    if link > 1 and pack:
        reclaimed = pack
        pack += 1
    elif table >> step & 1:
        taken = RUN[table >> step]
        table -= (1 << taken) - 1 << step
        pack = taken + 1 if link and rules.reclaims else 0
    else:
        table |= 1 << step
        pack = 0
    took = taken or reclaimed
    missa = 1 if took and not table and (made < PLAYS or rules.preset.missa_on_last) else 0
    closing = 0
    if made == PLAYS and rules.preset.closing:
        closing = -5 if not took or step == 0 else 5 if step == 9 else 0
    gain = Gain(ESTE_POINTS[link], missa, closing, taken, reclaimed)
    # The longest chain is over; where an este must take, a capture that is no link starts none;
    # and a new batch breaks the chain and closes the pack.
    over = link == rules.links if link else rules.este_takes and took
    if over or made % rules.batch_plays == 0:
        return gain, Spot(table, -1, 0, 0, made)
    return gain, Spot(table, step, link, pack, made)


RUN: Final = tuple((~bits & bits + 1).bit_length() - 1 for bits in range(1024))
"""How many of the lowest bits are set without a gap: the cards that a run takes."""
