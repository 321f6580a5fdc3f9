"""A second referee of Ronda: slow, naive, written from rules.md alone.

It exists only so that tests can compare a fast engine with it.  Every step is written in
the order in which the rules tell it, and the docstrings quote the sentence they follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
from .naive_rules import (
    FULL_PACK,
    PLAYS_IN_A_HAND,
    PRESETS,
    RONDA_POINTS,
    Award,
    Play,
    Preset,
    captures,
    is_legal_first_table,
    rank_of,
    set_in,
    side_of,
    strength,
)


class Referee:
    """One match, from the first deal to its end."""

    def __init__(self, rules: str, players: int, target: int, length: int = 0) -> None:
        """Open a match; ValueError for what the first table of the rules does not allow."""
        if rules not in PRESETS:
            raise ValueError(f"no such preset: {rules}")
        preset = PRESETS[rules]
        if players not in preset.players:
            raise ValueError(f"{rules} is not played by {players}")
        if length < 0:
            raise ValueError("a number of hands is not negative")
        if length > 0:
            # As it says, "a match of a fixed number of hands (any preset but arabic) has target 0".
            if preset.single_hand:
                raise ValueError(f"{rules} is one hand and takes no length")
            if target != 0:
                raise ValueError("a fixed number of hands has target 0")
        elif target not in preset.targets:
            raise ValueError(f"{rules} has no target {target}")

        self.rules = rules
        self.players = players
        self.target = target
        self.length = length
        # "With 4 players, seats 0 and 2 are one side ...  Otherwise every seat is a side."
        self.sides = 2 if players == 4 else players

        # The match.
        self.hand_number = 0
        self.dealer: int | None = None
        self.scores: list[int] = [0] * self.sides
        self.phase = "deal"
        self.winner: int | None = None
        self.draw = False
        self.outcome: str | None = None
        self.hand_counts: list[int] | None = None

        # The hand.
        self.batch = 0
        self.plays_made = 0
        self.turn: int | None = None
        self.hands: list[set[str]] = [set() for _ in range(players)]
        self.table: set[str] = set()
        self.piles: list[set[str]] = [set() for _ in range(self.sides)]
        self.stock: list[str] = []
        self.last_capturer: int | None = None
        self.declared: dict[int, dict[int, str]] = {}
        self.awards: list[Award] = []
        self.last_deal_awards: tuple[Award, ...] = ()

        # The batch: what was dealt in it and who has answered, and the chain running in it.
        self.dealt_sets: dict[int, tuple[str, int]] = {}
        self.answers: dict[int, bool] = {}
        self.last_card: str | None = None  # the card played immediately before, in this batch
        self.last_was_laid = False  # whether that card stayed on the table
        self.links = 0  # equal cards in the running chain, the opener included
        self.pack: set[str] = set()

    @property
    def preset(self) -> Preset:
        """The column of the rules that this match follows."""
        return PRESETS[self.rules]

    def deal(self, deck: Sequence[str], dealer: int | None = None) -> tuple[Award, ...]:
        """Open the next hand with 40 cards in dealing order.

        "The first dealer comes from the match's master; the deal passes to the next seat every
        hand."  "An illegal layout is never shown and scores nothing": it is refused here.
        """
        if self.phase != "deal":
            raise ValueError(f"no deal in phase {self.phase}")
        if len(deck) != 40 or set(deck) != set(FULL_PACK):
            raise ValueError("a deck is the 40 cards, each once")
        if self.dealer is None:
            if dealer is None:
                raise ValueError("the first hand needs a dealer")
            if dealer not in range(self.players):
                raise ValueError(f"no seat {dealer}")
            new_dealer = dealer
        else:
            new_dealer = (self.dealer + 1) % self.players
            if dealer is not None and dealer != new_dealer:
                raise ValueError(f"the deal passes to seat {new_dealer}, not {dealer}")
        # The order is "three cards to each seat ...; then four face up".
        first_table = deck[3 * self.players : 3 * self.players + 4]
        if not is_legal_first_table(first_table):
            raise ValueError(f"illegal first table: {' '.join(first_table)}")

        self.dealer = new_dealer
        self.hand_number += 1
        self.batch = 0
        self.plays_made = 0
        self.table = set()
        self.piles = [set() for _ in range(self.sides)]
        self.stock = list(deck)
        self.last_capturer = None
        self.declared = {}
        self.awards = []
        self.last_deal_awards = ()
        self._deal_batch()
        return self.last_deal_awards

    def _deal_batch(self) -> None:
        """Deal three cards to each seat and, in batch 1, four to the table.

        "Three cards to each seat, a packet at a time, starting after the dealer and ending with
        the dealer; then four face up.  Later batches: three each, none to the table."
        """
        assert self.dealer is not None
        self.batch += 1
        for step in range(1, self.players + 1):
            seat = (self.dealer + step) % self.players
            self.hands[seat] = set(self.stock[:3])
            self.stock = self.stock[3:]
        if self.batch == 1:
            self.table = set(self.stock[:4])
            self.stock = self.stock[4:]

        # "Any other rank breaks it, and so does a new batch"; "a new batch closes the pack".
        self._break_chain()

        self.answers = {}
        self.dealt_sets = {}
        for seat in range(self.players):
            found = set_in(self.hands[seat])
            if found is not None:
                self.dealt_sets[seat] = found

        if self.preset.sets == "declared":
            self.phase = "declare"
            self.turn = None
            return
        self._open_play()
        if self.preset.sets == "automatic":
            before = len(self.awards)
            self._pay_sets(self.dealt_sets)
            self.last_deal_awards = tuple(self.awards[before:])

    def _open_play(self) -> None:
        """Start the plays: "the seat after the dealer plays first in every batch"."""
        assert self.dealer is not None
        self.phase = "play"
        self.turn = (self.dealer + 1) % self.players

    def _break_chain(self) -> None:
        self.last_card = None
        self.last_was_laid = False
        self.links = 0
        self.pack = set()

    def declare(self, seat: int, declares: bool) -> tuple[Award, ...]:
        """One seat's answer in the secret step after each deal.

        "Every seat answers, also those that hold nothing ...  Then the kinds (never the ranks)
        are published and scored at once."  "A false declaration is refused and changes nothing."
        """
        if self.phase != "declare":
            raise ValueError(f"no declaration in phase {self.phase}")
        if seat not in range(self.players):
            raise ValueError(f"no seat {seat}")
        if seat in self.answers:
            raise ValueError(f"seat {seat} has answered")
        if declares and seat not in self.dealt_sets:
            raise ValueError(f"seat {seat} holds no set")
        self.answers[seat] = declares
        if len(self.answers) < self.players:
            return ()

        announced = {
            holder: found for holder, found in self.dealt_sets.items() if self.answers[holder]
        }
        if announced:
            self.declared[self.batch] = {holder: kind for holder, (kind, _) in announced.items()}
        self._open_play()
        before = len(self.awards)
        self._pay_sets(announced)
        return tuple(self.awards[before:])

    def _pay_sets(self, sets: dict[int, tuple[str, int]]) -> None:
        """Pay the sets of one batch.

        "The best set takes the points of all sets: any tringa beats any ronda, then the higher
        rank.  Tied best sets of opposing sides split the total, halves dropped; partners share
        one total, a tie between them is no split."
        """
        if not sets:
            return
        total = sum(RONDA_POINTS[kind] for kind, _ in sets.values())
        best = max(sets.values(), key=strength)
        best_sides = {side_of(seat, self.players) for seat, found in sets.items() if found == best}
        shares = {}
        for side in best_sides:
            shares[side] = total // len(best_sides)
        self._pay(best[0], shares)

    def _pay_penalties(self) -> None:
        """Pay for the sets of this batch that were not declared.

        "At the end of the batch all of them are paid together, summed per side; each opposing
        side gets 1 or 5 per set (at 3 players each opponent)."
        """
        declared_now = self.declared.get(self.batch, {})
        shares = dict.fromkeys(range(self.sides), 0)
        for seat, (kind, _) in self.dealt_sets.items():
            if seat in declared_now:
                continue
            for side in range(self.sides):
                if side != side_of(seat, self.players):
                    shares[side] += RONDA_POINTS[kind]
        self._pay("penalty", shares)

    def play(self, card: str) -> Play:
        """Play one card of the seat whose turn it is.

        "One card a turn; every card in hand is legal; no pass."  "Order inside one play: este,
        missa, and when the batch is over penalties, and when the hand is over closing bonus,
        leftovers, count."  "Once it [the match check] succeeds nothing later is paid."
        """
        if self.phase != "play":
            raise ValueError(f"no play in phase {self.phase}")
        assert self.turn is not None
        seat = self.turn
        if card not in self.hands[seat]:
            raise ValueError(f"seat {seat} does not hold {card}")
        side = side_of(seat, self.players)
        paid_before = len(self.awards)
        self.last_deal_awards = ()

        self.hands[seat].remove(card)
        self.plays_made += 1
        self.turn = (seat + 1) % self.players
        batch_is_over = all(not hand for hand in self.hands)
        hand_is_over = self.plays_made == PLAYS_IN_A_HAND

        self.links = self._place_in_chain(card)
        este = self._este_points()
        captured, reclaimed = self._move_cards(side, card)

        self._pay("este", {side: este})

        # "1 point for a capture or a reclaim that leaves the table empty"; the 36th card differs.
        takes = bool(captured) or bool(reclaimed)
        missa_is_paid = self.preset.missa_on_the_last_card or not hand_is_over
        if self.phase != "over" and takes and not self.table and missa_is_paid:
            self._pay("missa", {side: 1})

        if self.phase != "over" and batch_is_over and self.preset.undeclared_are_paid:
            self._pay_penalties()

        if self.phase != "over" and hand_is_over:
            if self.preset.closing_bonus:
                self._pay_closing_bonus(side, card, takes)
            self._give_leftovers()
            self._pay_count()
            if self.phase != "over":
                self._end_hand()

        awards = tuple(self.awards[paid_before:])
        if self.phase == "play" and batch_is_over:
            self._deal_batch()
        return Play(seat, card, frozenset(captured), frozenset(reclaimed), awards)

    def _place_in_chain(self, card: str) -> int:
        """Which equal card of the running chain this card is (1: it only opens one).

        Positional form: "the play has the rank of the card played immediately before, whether or
        not anything is captured".  Capture form: "the first link must take the card just laid;
        links after it count by position".
        """
        if self.last_card is None:
            return 1
        if rank_of(card) != rank_of(self.last_card):
            return 1
        if self.preset.este_form == "positional":
            return self.links + 1
        if self.last_was_laid:
            # It lies on the table, so this card, being of its rank, takes it.
            return 2
        if self.links >= 2 and self.players in self.preset.chain_players:
            return self.links + 1
        # "An equal card that continues no chain and captures nothing scores nothing; it may
        # itself be taken for 1 by the next."
        return 1

    def _este_points(self) -> int:
        """The este 1; "third / fourth equal card in a row 5 / 10"."""
        if self.links == 2:
            return 1
        if self.links == 3:
            return 5
        if self.links == 4:
            return 10
        return 0

    def _move_cards(self, side: int, card: str) -> tuple[set[str], set[str]]:
        """Move the card and what it takes; returns what came from the table and from the pack.

        "Third and fourth take over everything the previous link gained, run included."  "A
        reclaim counts as a capture for missa, for who captured last, and for the closing bonus."
        """
        captured: set[str] = set()
        reclaimed: set[str] = set()
        if self.links >= 3 and self.pack:
            # "They land on an emptied spot and reclaim."
            reclaimed = set(self.pack)
            for pile in self.piles:
                pile.difference_update(reclaimed)
        else:
            captured = captures(card, self.table)
            self.table -= captured

        gained: set[str] = set()
        if captured or reclaimed:
            gained = captured | reclaimed | {card}
            self.piles[side] |= gained
            self.last_capturer = side
        else:
            self.table.add(card)
        self.last_card = card
        self.last_was_laid = not gained

        # "Only the chained rank can take them back, only on the very next play."
        self.pack = set()
        if self.links in (2, 3) and self.players in self.preset.reclaim_players:
            self.pack = gained
        return captured, reclaimed

    def _pay_closing_bonus(self, side: int, card: str, takes: bool) -> None:
        """The bonus on the 36th card, always the dealer's, judged by the card played.

        "Captures with a 12: dealer +5; captures with a 1, or captures nothing: opponent +5; else
        nothing; leftovers never count."
        """
        opponent = 1 - side
        if not takes or rank_of(card) == 1:
            self._pay("closing", {opponent: 5})
        elif rank_of(card) == 12:
            self._pay("closing", {side: 5})

    def _give_leftovers(self) -> None:
        """Clear the table: "leftovers go to the side that captured last, before the count"."""
        if self.table:
            assert self.last_capturer is not None, "a capture comes by the 7th play at the latest"
            self.piles[self.last_capturer] |= self.table
            self.table = set()
        self.hand_counts = [len(pile) for pile in self.piles]

    def _pay_count(self) -> None:
        """Count: "1 per card over 20; at 3 players 1 per card over 13"; or "every card 1"."""
        free = 20
        if self.players == 3:
            free = 13
        if self.preset.every_card_counts:
            free = 0
        shares = {}
        for side in range(self.sides):
            shares[side] = max(0, len(self.piles[side]) - free)
        self._pay("cards", shares)

    def _end_hand(self) -> None:
        """What follows a hand in which nobody won at once: the end of the match or a new deal."""
        self._break_chain()
        self.turn = None
        leader = self._sole_leader()
        if self.preset.single_hand:
            # It ends "after the single hand; equal totals are a draw".
            self._finish("hand", leader)
            self.draw = leader is None
        elif self.length > 0:
            # A fixed length "sums the hands, and equal is a draw".
            if self.hand_number == self.length:
                self._finish("length", leader)
                self.draw = leader is None
            else:
                self.phase = "deal"
        elif leader is not None and self.scores[leader] >= self.target:
            # The winner is "the higher total at or over the target".
            self._finish("target", leader)
        else:
            # "Nobody strictly ahead of all others at or over the target" means another hand.
            self.phase = "deal"

    def _pay(self, reason: str, shares: dict[int, int]) -> None:
        """Pay one award and look once whether it ends the match.

        "Points paid together are one award: added first, checked once, listed by side."
        "In cafe and pagat the match check follows every award"; "no immediate win" where a fixed
        number of hands is played.
        """
        paid = False
        for side in range(self.sides):
            points = shares.get(side, 0)
            if points > 0:
                self.scores[side] += points
                self.awards.append(Award(self.plays_made, side, reason, points))
                paid = True
        if paid and self.preset.wins_at_once and self.length == 0:
            leader = self._sole_leader()
            if leader is not None and self.scores[leader] >= self.target:
                self._finish("target", leader)

    def _sole_leader(self) -> int | None:
        """The side "strictly ahead of all others", if there is one."""
        for side in range(self.sides):
            others = [self.scores[other] for other in range(self.sides) if other != side]
            if all(self.scores[side] > score for score in others):
                return side
        return None

    def _finish(self, outcome: str, winner: int | None) -> None:
        self.phase = "over"
        self.turn = None
        self.outcome = outcome
        self.winner = winner
        self._break_chain()

    def forfeit(self, seat: int) -> None:
        """End the match by the fault of one seat.

        "Of two sides the other wins; of three the faulty one is last, the higher of the others
        wins, equal has no winner."
        """
        if self.phase == "over":
            raise ValueError("the match is over")
        if seat not in range(self.players):
            raise ValueError(f"no seat {seat}")
        faulty = side_of(seat, self.players)
        others = [side for side in range(self.sides) if side != faulty]
        best = max(self.scores[side] for side in others)
        highest = [side for side in others if self.scores[side] == best]
        winner = highest[0] if len(highest) == 1 else None
        self._finish("forfeit", winner)

    def view(self, viewer: int | None) -> dict[str, object]:
        """What a seat, or a spectator (None), may know.

        "Public: the table, whose turn it is, pile sizes, every play with what it captured, scores
        ..., how many cards remain in the pack, which seat declared what kind.  Private to a seat:
        its hand.  Secret from all: the undealt order."
        """
        if viewer is not None and viewer not in range(self.players):
            raise ValueError(f"no seat {viewer}")
        own_hand: list[str] | None = None
        if viewer is not None:
            own_hand = sorted(self.hands[viewer])
        return {
            "hand": own_hand,
            "hand_sizes": [len(hand) for hand in self.hands],
            "table": sorted(self.table),
            "stock": len(self.stock),
            "pile_counts": [len(pile) for pile in self.piles],
            "scores": list(self.scores),
            "turn": self.turn,
            "phase": self.phase,
            "batch": self.batch,
            "hand_number": self.hand_number,
            "dealer": self.dealer,
            "last_capturer": self.last_capturer,
            "pack": sorted(self.pack),
            "declared": {batch: dict(seats) for batch, seats in self.declared.items()},
        }
