"""The engine and the second referee play the same matches and are compared after every step.

A step is one input: a deck, an answer, a card, a refused input or a forfeit. Everything that an
input did and everything that each viewer may see afterwards must be equal.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, NoReturn

from ronda_core import match as engine
from ronda_core.cards import TEXT, parse_card
from ronda_core.events import Dealt, Ended, Played, new_answered, new_revealed
from ronda_core.hand import IllegalMoveError, Phase
from ronda_core.match import Cause, Fault, Finished, Match
from ronda_core.rules import ESTE_POINTS, settings
from ronda_core.view import Private, PublicView, private, public, view

from .biased import biased_deck, biased_declare, biased_play
from .naive import Referee
from .naive_rules import FULL_PACK, PRESETS, Award, is_legal_first_table, rank_of

NUMBER = {text: parse_card(text) for text in FULL_PACK}
TABLES = [(rules, players) for rules, preset in PRESETS.items() for players in preset.players]
_PUBLIC = attrgetter(*(field.name for field in fields(PublicView)))
_PRIVATE = attrgetter(*Private._fields)
_PHASES = {"play": Phase.PLAY, "declare": Phase.DECLARE, "deal": Phase.OVER, "over": Phase.OVER}

Step = tuple[Any, ...]
"""("deal", deck), ("declare", seat, answer), ("play", card), ("forfeit", seat), or the name of
an input that must be refused."""


@dataclass(frozen=True)
class Script:
    """A match as it was played: enough to play it again."""

    rules: str
    players: int
    target: int
    length: int
    dealer: int
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        head = f"{self.rules} players={self.players} target={self.target} length={self.length}"
        return "\n".join([f"{head} first dealer={self.dealer}", *map(_told, self.steps)])


def _told(step: Step) -> str:
    return f"deal {' '.join(step[1])}" if step[0] == "deal" else " ".join(map(str, step))


class DisagreementError(AssertionError):
    """The two referees differ after the last step of a script."""

    def __init__(self, script: Script, what: str) -> None:
        super().__init__(f"{what}\n{script}")
        self.script = script
        self.what = what


class Duel:
    """One match on both referees."""

    def __init__(self, rules: str, players: int, target: int, length: int, dealer: int) -> None:
        self.referee = Referee(rules, players, target, length)
        self.match = Match(settings(rules, players, target, length), dealer)
        self.dealer = dealer
        self.steps: list[Step] = []
        self.seen: Counter[str] = Counter()
        """How often what happened: so that a test can tell a hard match from a dull one."""

    @property
    def script(self) -> Script:
        referee = self.referee
        return Script(
            referee.rules,
            referee.players,
            referee.target,
            referee.length,
            self.dealer,
            tuple(self.steps),
        )

    def differ(self, what: str, engine_says: object, referee_says: object) -> NoReturn:
        says = f"{what}: the engine says {engine_says!r}, the referee {referee_says!r}"
        raise DisagreementError(self.script, says)

    def same(self, what: str, engine_says: object, referee_says: object) -> None:
        if engine_says != referee_says:
            self.differ(what, engine_says, referee_says)

    def take(self, step: Step) -> None:
        """Give one input to both and compare everything."""
        self.steps.append(step)
        try:
            getattr(self, f"_{step[0]}")(*step[1:])
            self._state()
        except DisagreementError:
            raise
        except Exception as error:  # a crash is a disagreement
            raise DisagreementError(self.script, f"{type(error).__name__}: {error}") from error

    def _deal(self, deck: list[str]) -> None:
        first = self.dealer if self.referee.dealer is None else None
        self.referee.deal(deck, first)
        (event,) = engine.deal(self.match, [NUMBER[card] for card in deck])
        self._dealt(event)

    def _declare(self, seat: int, declares: bool) -> None:
        referee = self.referee
        awards = referee.declare(seat, declares)
        self._note(awards)
        answered, *more = engine.declare(self.match, seat, declares)
        self.same("answer", answered, new_answered((seat, declares)))
        if len(referee.answers) < referee.players:
            self.same("events", more, [])
            return
        kinds = tuple(sorted(referee.declared.get(referee.batch, {}).items()))
        turn = -1 if referee.turn is None else referee.turn
        revealed = new_revealed((referee.batch, kinds, awards, tuple(referee.scores), turn))
        self.same("revealed", more[0], revealed)
        self._finished(more[1:])

    def _play(self, card: str) -> None:
        referee = self.referee
        batch, lying = referee.batch, referee.table.copy()
        referee.hand_counts = None
        told = referee.play(card)
        assert self.match.hand is not None
        played, *more = engine.play(self.match, self.match.hand.turn, NUMBER[card])
        assert isinstance(played, Played)
        captured = [TEXT[taken] for taken in played.captured]
        self.same("seat and card", (played.seat, TEXT[played.card]), (told.seat, told.card))
        self.same("captured", (len(captured), {*captured}), (len(told.captured), told.captured))
        self.same("order of the captured", captured, sorted(captured, key=rank_of))
        reclaimed = {TEXT[taken] for taken in played.reclaimed}
        self.same("reclaimed", reclaimed, told.reclaimed)
        self.same("number of reclaimed", len(played.reclaimed), len(told.reclaimed))
        count = [award for award in told.awards if award.reason == "cards"]
        self.same("awards", played.awards, told.awards[: len(told.awards) - len(count)])
        self._note(told.awards)
        self.seen["reclaim"] += bool(told.reclaimed)
        link = {award.points for award in told.awards if award.reason == "este"}
        self.same("link", {ESTE_POINTS[played.link]} if played.link else set(), link)
        scores = [*referee.scores]
        for award in [*count, *referee.last_deal_awards]:
            scores[award.side] -= award.points
        self.same("scores told", played.scores, tuple(scores))
        if referee.hand_counts is not None:
            lying = lying - told.captured if told.captured or told.reclaimed else {*lying, card}
            self._ended(more.pop(0), lying, count)
        if referee.batch != batch:
            self._dealt(more.pop(0))
        self._finished(more)

    def _forfeit(self, seat: int) -> None:
        self.referee.forfeit(seat)
        fault = Fault(seat, Cause.TIME)
        events = engine.forfeit(self.match, fault)
        self._finished(list(events))
        self.same("fault", self.match.result and self.match.result.fault, fault)

    def _refuse(self, name: str, *values: Any) -> None:
        """Neither takes the input, and nothing changes."""
        self.seen[f"refused {name}"] += 1
        acts: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
            "play": (
                self.referee.play,
                lambda card: engine.play(self.match, self.referee.turn or 0, NUMBER[card]),
            ),
            "declare": (
                self.referee.declare,
                lambda seat, declares: engine.declare(self.match, seat, declares),
            ),
            "deal": (
                self.referee.deal,
                lambda deck: engine.deal(self.match, [NUMBER[card] for card in deck]),
            ),
        }
        for who, act in zip(("referee", "engine"), acts[name], strict=True):
            try:
                act(*values)
            except (ValueError, IllegalMoveError):
                continue
            self.differ(f"refusal of {name} {values}", f"taken by the {who}", "refused")

    def _dealt(self, event: object) -> None:
        referee = self.referee
        assert isinstance(event, Dealt)
        hands = [{TEXT[card] for card in hand} for hand in event.hands]
        self.same("dealt hands", hands, referee.hands)
        table = {TEXT[card] for card in event.table}
        self.same("dealt table", table, referee.table if referee.batch == 1 else set())
        self.same("awards of the deal", event.awards, referee.last_deal_awards)
        self._note(referee.last_deal_awards)
        rest = (event.hand, event.batch, event.dealer, event.stock, event.scores, event.turn)
        turn = -1 if referee.turn is None else referee.turn
        told = (referee.hand_number, referee.batch, referee.dealer, len(referee.stock))
        self.same("dealt", rest, (*told, tuple(referee.scores), turn))

    def _ended(self, event: object, lying: set[str], count: list[Award]) -> None:
        referee = self.referee
        assert isinstance(event, Ended)
        self.same("leftovers", {TEXT[card] for card in event.leftovers}, lying)
        self.same("count", [*event.awards], count)
        told = (event.hand, event.side, [*event.piles], [*event.scores])
        last = referee.last_capturer
        self.same("ended", told, (referee.hand_number, last, referee.hand_counts, referee.scores))

    def _finished(self, events: list[Any]) -> None:
        referee, result = self.referee, self.match.result
        if referee.phase != "over":
            self.same("events after the last", events, [])
            return
        winner = -1 if referee.winner is None else referee.winner
        assert referee.outcome is not None
        fault = result.fault if result else None
        finished = Finished(engine.Outcome(referee.outcome), winner, tuple(referee.scores), fault)
        self.same("end", events, [finished])
        self.same("result", result, finished)
        self.seen[f"ended by {referee.outcome}"] += 1
        self.seen["nobody won"] += referee.winner is None

    def _note(self, awards: Sequence[Award]) -> None:
        for award in awards:
            self.seen[award.reason] += 1
            self.seen[f"{award.reason} {award.points}"] += award.reason == "este"
        sets = [award for award in awards if award.reason in {"ronda", "tringa"}]
        self.seen["tie of sets"] += len(sets) > 1

    def _state(self) -> None:
        referee, hand = self.referee, self.match.hand
        self.same("over", self.match.result is not None, referee.phase == "over")
        if hand is None or referee.dealer is None:
            return
        if referee.outcome != "forfeit":
            self.same("phase", hand.phase, _PHASES[referee.phase])
            self.same("turn", hand.turn, -1 if referee.turn is None else referee.turn)
        self.same("needs a deck", self.match.needs_deck > 0, referee.phase == "deal")
        self.same("scores", self.match.scores, tuple(referee.scores))
        table = {TEXT[card] for card in hand.table if card}
        self.same("table", table, referee.table)
        hands = [{TEXT[card] for card in held} for held in hand.hands]
        self.same("hands", hands, referee.hands)
        self.same("cards held", [*map(len, hand.hands)], [*map(len, referee.hands)])
        self.same("piles", [*hand.piles], [*map(len, referee.piles)])
        self.same("plays", len(hand.plays), referee.plays_made)
        self._views()

    def _views(self) -> None:
        referee, match = self.referee, self.match
        seen = public(match)
        told = referee.view(None)
        rank = self._chain_rank()
        mine = {
            "hand": None,
            "hand_sizes": [*seen.hand_sizes],
            "table": sorted(TEXT[card] for card in seen.table),
            "stock": seen.stock,
            "pile_counts": [*seen.pile_counts],
            "scores": [*seen.scores],
            "turn": seen.turn,
            "phase": "deal" if match.needs_deck else seen.phase,
            "batch": seen.batch,
            "hand_number": seen.hand_number,
            "dealer": seen.dealer,
            "last_capturer": seen.last_capturer,
            "pack": sorted(TEXT[card] for card in seen.pack),
            "declared": _by_batch(seen),
        }
        self.same("view of a spectator", mine, told)
        self.same(
            "chain", (seen.chain_rank, seen.chain_link), (rank, referee.links - 1 if rank else 0)
        )
        answered = tuple(sorted(referee.answers)) if referee.phase == "declare" else ()
        self.same("answered", seen.answered, answered)
        for seat in range(referee.players):
            own = private(match, seat)
            hand = {TEXT[card] for card in own.hand}
            self.same("own hand", (len(own.hand), hand), (len(hand), referee.hands[seat]))
            waits = referee.phase == "declare" and seat not in referee.answers
            self.same("may declare", own.may_declare, waits and seat in referee.dealt_sets)
        # A whole view costs as much as the rest together: every step makes one, seat after seat.
        seat = len(self.steps) % referee.players
        whole = view(match, seat)
        self.same("public part of a view", _PUBLIC(whole), _PUBLIC(seen))
        self.same("private part of a view", _PRIVATE(whole), private(match, seat))
        told["hand"] = sorted(TEXT[card] for card in whole.hand)
        self.same("view of a seat", told, referee.view(seat))

    def _chain_rank(self) -> int:
        """The rank whose next card would be an este, read from the referee's chain."""
        referee = self.referee
        if referee.phase != "play" or referee.last_card is None or referee.links == 4:
            return 0
        running = referee.links >= 2 and referee.players in referee.preset.chain_players
        if referee.preset.este_form == "positional" or referee.last_was_laid or running:
            return rank_of(referee.last_card)
        return 0


def _by_batch(seen: PublicView) -> dict[int, dict[int, str]]:
    told: dict[int, dict[int, str]] = {}
    for batch, seat, kind in seen.declared:
        told.setdefault(batch, {})[seat] = kind
    return told


def random_settings(rng: random.Random, rules: str, players: int) -> tuple[int, int]:
    """A target and a length that the rules allow."""
    if rules != "arabic" and rng.random() < 0.3:
        return 0, rng.randint(1, 4)
    return rng.choice(PRESETS[rules].targets), 0


def play_match(
    rng: random.Random, rules: str, players: int, *, forfeits: float = 0.06, refusals: float = 0.02
) -> Duel:
    """Play one random match on both referees, mostly biased to hard hands, to its end."""
    duel = Duel(rules, players, *random_settings(rng, rules, players), rng.randrange(players))
    referee = duel.referee
    gives_up = rng.randrange(1, 200) if rng.random() < forfeits else 0
    while referee.phase != "over":
        if len(duel.steps) + 1 == gives_up:
            duel.take(("forfeit", rng.randrange(players)))
            break
        if rng.random() < refusals:
            duel.take(_refusable(rng, referee))
        if referee.phase == "deal":
            biased = rng.random() < 0.8
            duel.take(("deal", biased_deck(rng, players) if biased else uniform_deck(rng, players)))
        elif referee.phase == "declare":
            for seat in rng.sample(range(players), players):
                holds = seat in referee.dealt_sets
                duel.take(("declare", seat, biased_declare(rng, holds)))
        else:
            assert referee.turn is not None
            hand = sorted(referee.hands[referee.turn])
            if biased:
                last_rank = rank_of(referee.last_card) if referee.last_card else None
                card = biased_play(rng, hand, referee.table, last_rank)
            else:
                card = rng.choice(hand)
            duel.take(("play", card))
    return duel


def uniform_deck(rng: random.Random, players: int) -> list[str]:
    """A deck that is uniform over the legal ones."""
    while True:
        deck = rng.sample(FULL_PACK, 40)
        if is_legal_first_table(deck[3 * players : 3 * players + 4]):
            return deck


def _refusable(rng: random.Random, referee: Referee) -> Step:
    """An input that the rules or the state forbid now."""
    if referee.phase == "declare" and rng.random() < 0.7:
        seat = rng.randrange(referee.players)
        # It must be false, or come from a seat that has answered.
        answered = seat in referee.answers
        if answered:
            return ("refuse", "declare", seat, rng.random() < 0.5)
        if seat not in referee.dealt_sets:
            return ("refuse", "declare", seat, True)
    if referee.phase != "deal" and rng.random() < 0.3:
        return ("refuse", "deal", uniform_deck(rng, referee.players))
    if referee.phase == "deal" and rng.random() < 0.5:
        return ("refuse", "deal", _bad_deck(rng, referee.players))
    if referee.phase != "declare" and rng.random() < 0.2:
        return ("refuse", "declare", rng.randrange(referee.players), False)
    held = referee.hands[referee.turn] if referee.turn is not None else set()
    return ("refuse", "play", rng.choice([card for card in FULL_PACK if card not in held]))


def _bad_deck(rng: random.Random, players: int) -> list[str]:
    """A deck with a card twice, or with a first table that may not lie."""
    deck = uniform_deck(rng, players)
    if rng.random() < 0.5:
        one, other = rng.sample(range(40), 2)
        deck[one] = deck[other]
        return deck
    while is_legal_first_table(deck[3 * players : 3 * players + 4]):
        rng.shuffle(deck)
    return deck


def replay(script: Script) -> None:
    """Play a script again; raises where the referees differ."""
    duel = Duel(script.rules, script.players, script.target, script.length, script.dealer)
    for step in script.steps:
        duel.take(step)


def shortest(error: DisagreementError) -> DisagreementError:
    """The shortest script found that still makes the referees differ."""
    found = error
    hands = [at for at, step in enumerate(error.script.steps) if step[0] == "deal"]
    script = error.script
    for skipped, at in enumerate(hands):
        dealer = (script.dealer + skipped) % script.players
        length = max(script.length - skipped, 1) if script.length else 0
        steps = script.steps[at:]
        for kept in (tuple(step for step in steps if step[0] != "refuse"), steps):
            try:
                replay(Script(script.rules, script.players, script.target, length, dealer, kept))
            except DisagreementError as shorter:
                if len(shorter.script.steps) < len(found.script.steps):
                    found = shorter
    return found
