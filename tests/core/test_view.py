"""A view holds what its viewer may know and nothing else: in every phase, for every viewer."""

from __future__ import annotations

import random
from collections.abc import Iterator
from copy import copy
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

import pytest
from tests.referee.biased import biased_deck
from tests.referee.duel import NUMBER, uniform_deck

from ronda_core import match as matches
from ronda_core.cards import CARDS, PACK, RANKS, STEP, Card, by_rank
from ronda_core.hand import Answered, Dealt, Hand, Phase
from ronda_core.match import Cause, Fault, Match, MatchEvent
from ronda_core.rules import settings
from ronda_core.view import (
    CardPlayed,
    CardsDealt,
    DeclarationAnswered,
    DeclarationsRevealed,
    Event,
    HandEnded,
    PublicView,
    View,
    private,
    public,
    story,
    view,
)

from .positions import TABLES, deck_with, position

MATCHES = 50
"""Of one or two hands, for each preset and number of players."""

Viewer = int | None


class Told(NamedTuple):
    """One step: the input, what it did, and what each viewer was told of it."""

    step: tuple[Any, ...]
    events: tuple[MatchEvent, ...]
    stories: dict[Viewer, list[Event]]


class Course:
    """A match with everything that happened in it and was told of it."""

    def __init__(self, rules: str, players: int, dealer: int) -> None:
        length = 0 if rules == "arabic" else 2
        self.match = Match(settings(rules, players, None, length), dealer)
        self.viewers: list[Viewer] = [None, *range(players)]
        self.told: list[Told] = []
        self.start = 0
        """The step that dealt the hand in play."""
        self._before = self.match

    def since(self, viewer: Viewer) -> Course:
        """Return the same match before the hand in play was dealt, told to one viewer only."""
        made = copy(self)
        made.match, made.viewers, made.told = matches.copy(self._before), [viewer], []
        return made

    @property
    def hand(self) -> Hand:
        assert self.match.hand is not None
        return self.match.hand

    def take(self, *step: Any) -> None:
        if step[0] == "deal":
            self.start, self._before = len(self.told), matches.copy(self.match)
        act = {"deal": matches.deal, "declare": matches.declare, "play": matches.play}[step[0]]
        events = act(self.match, *step[1:])
        stories = {viewer: story(self.match, events, viewer) for viewer in self.viewers}
        self.told.append(Told(step, events, stories))

    def views(self) -> dict[Viewer, PublicView]:
        return {viewer: self.view_of(viewer) for viewer in self.viewers}

    def view_of(self, viewer: Viewer) -> PublicView:
        return public(self.match) if viewer is None else view(self.match, viewer)


def courses(
    rules: str, players: int, count: int = MATCHES
) -> Iterator[tuple[random.Random, Course]]:
    """Random matches after each of their steps."""
    for number in range(count):
        rng = random.Random(f"{rules} {players} {number}")
        course = Course(rules, players, rng.randrange(players))
        while not course.match.result:
            if course.match.needs_deck:
                deck = rng.choice([biased_deck, uniform_deck])(rng, players)
                course.take("deal", tuple(NUMBER[card] for card in deck))
            elif course.hand.phase is Phase.DECLARE:
                silent = [seat for seat, answer in enumerate(course.hand.answers) if answer is None]
                seat = rng.choice(silent)
                course.take("declare", seat, course.hand.strengths[seat] > 0 and rng.random() < 0.7)
            else:
                turn = course.hand.turn
                course.take("play", turn, rng.choice(course.hand.hands[turn]))
            yield rng, course


def facts(event: MatchEvent, viewer: Viewer) -> object:
    """An event of the engine without what the rules hide from a viewer."""
    if isinstance(event, Dealt):
        own = () if viewer is None else frozenset(event.hands[viewer])
        return event._replace(hands=own)  # type: ignore[arg-type] # as the mutation wants it
    if isinstance(event, Answered) and event.seat != viewer:
        return event._replace(declares=False)
    return event


def twin_of(course: Course, viewer: Viewer, rng: random.Random) -> Course | None:
    """The same public history and the same own cards, over other hidden cards.

    Cards that the viewer has not seen change places in the deck; answers of others that nobody
    knows yet may change too. The hands before are the same, and left out. None where the hidden
    cards show in what the rules make public: who was paid for a set, or what set a seat has
    declared.
    """
    hand = course.hand
    players = course.match.settings.players
    deck = list(hand.deck)
    seen = {*hand.plays, *deck[3 * players : 3 * players + 4]}
    seen |= set() if viewer is None else set(hand.hands[viewer])
    places = [place for place, card in enumerate(deck) if card not in seen]
    moved = rng.sample(places, min(len(places), rng.choice([2, 3, 5, 40])))
    for place, card in zip(
        moved, rng.sample([deck[place] for place in moved], len(moved)), strict=True
    ):
        deck[place] = card
    twin = course.since(viewer)
    for told in course.told[course.start :]:
        step = ("deal", tuple(deck)) if told.step[0] == "deal" else told.step
        if step[0] == "declare":
            _, seat, declares = step
            holds = twin.hand.strengths[seat] > 0
            open_ = hand.phase is Phase.DECLARE and twin.hand.batch == hand.batch
            if open_ and seat != viewer:
                declares = holds and rng.random() < 0.5
            if declares and not holds:
                return None
            step = ("declare", seat, declares)
        twin.take(*step)
        for mine, other in zip(told.events, twin.told[-1].events, strict=True):
            if facts(mine, viewer) != facts(other, viewer):
                return None
    return twin


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_hidden_cards_change_places_and_no_other_viewer_can_tell(rules: str, players: int) -> None:
    twins = changed = 0
    phases = set()
    for rng, course in courses(rules, players):
        if rng.random() > 0.12:
            continue
        for viewer in course.viewers:
            twin = twin_of(course, viewer, rng)
            if twin is None:
                continue
            twins += 1
            phases.add(course.hand.phase)
            others = [seat for seat in range(players) if seat != viewer]
            mine, other = course.hand.hands, twin.hand.hands
            changed += any({*mine[seat]} != {*other[seat]} for seat in others)
            assert course.view_of(viewer) == twin.view_of(viewer)
            for told, twin_told in zip(course.told[course.start :], twin.told, strict=True):
                assert told.stories[viewer] == twin_told.stories[viewer]
    assert twins > 300
    assert changed > twins / 5
    assert phases == {Phase.PLAY, Phase.OVER} | (
        {Phase.DECLARE} if rules in {"cafe", "pagat"} else set()
    )


def cards_in(value: object) -> Iterator[Card]:
    """Every card that can be reached from a view or an event."""
    if isinstance(value, Card):
        yield value
    elif isinstance(value, tuple | list):
        for part in value:
            yield from cards_in(part)
    elif is_dataclass(value):
        for field in fields(value):
            yield from cards_in(getattr(value, field.name))


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_every_card_in_a_view_or_a_story_is_known_to_its_viewer(rules: str, players: int) -> None:
    for _, course in courses(rules, players, 12):
        hand = course.hand
        turned_up = hand.deck[3 * players : 3 * players + 4]
        for viewer, seen in course.views().items():
            known = {*hand.plays, *turned_up}
            if viewer is not None:
                known |= {*hand.hands[viewer]}
            assert set(cards_in(seen)) <= known
            assert set(cards_in(course.told[-1].stories[viewer])) <= known


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_a_view_accounts_for_all_forty_cards(rules: str, players: int) -> None:
    for _, course in courses(rules, players, 12):
        for seat in range(players):
            seen = view(course.match, seat)
            held = sum(seen.hand_sizes)
            assert held + len(seen.table) + sum(seen.pile_counts) + seen.stock == 40
            assert len(seen.unseen) == held - len(seen.hand) + seen.stock
            assert {*seen.unseen, *seen.hand, *seen.plays, *seen.first_table} == set(PACK)
            assert {*seen.table} <= {*seen.plays, *seen.first_table}
            assert seen.hand_sizes[seat] == len(seen.hand)
            assert [*seen.hand] == sorted(seen.hand, key=lambda card: (card.rank, card))
            assert len(seen.plays) + held == min(seen.batch * 3 * players, 36)


@pytest.mark.parametrize(
    ("players", "unseen"), [(2, [33, 27, 21, 15, 9, 3]), (3, [33, 24, 15, 6]), (4, [33, 21, 9])]
)
def test_so_many_cards_are_unseen_when_a_batch_starts(players: int, unseen: list[int]) -> None:
    for rules, count in TABLES:
        if count == players:
            starts: dict[int, set[int]] = {}
            for _, course in courses(rules, players, 3):
                if any(isinstance(event, Dealt) for event in course.told[-1].events):
                    for seat in range(players):
                        seen = view(course.match, seat)
                        starts.setdefault(seen.batch, set()).add(len(seen.unseen))
            assert starts == {batch: {number} for batch, number in enumerate(unseen, 1)}


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_a_view_says_the_phase_the_turn_and_who_may_declare(rules: str, players: int) -> None:
    match = Match(settings(rules, players), 1)
    sides = match.settings.sides
    empty = public(match)
    assert (empty.phase, empty.turn, empty.hand_number, empty.batch) == ("waiting", None, 0, 0)
    assert (empty.dealer, empty.stock, empty.scores) == (1, 40, (0,) * sides)
    assert [view(match, seat).hand for seat in range(players)] == [()] * players

    pair = [["7O", "7C", "1E"], ["2O", "4C", "6E"], ["3E", "5B", "12O"], ["1B", "3B", "12C"]]
    matches.deal(match, deck_with(players, 1, pair[:players]))
    first = 2 % players
    seen = [view(match, seat) for seat in range(players)]
    if match.settings.declares:
        assert {(one.phase, one.turn, one.answered) for one in seen} == {("declare", None, ())}
        assert [one.may_declare for one in seen] == [True] + [False] * (players - 1)
        for answered in range(players):
            matches.declare(match, answered, answered == 0)
            seen = [view(match, seat) for seat in range(players)]
            assert not any(one.may_declare for one in seen)
            if answered < players - 1:
                assert {one.answered for one in seen} == {tuple(range(answered + 1))}
                assert {one.declared for one in seen} == {()}
        assert {one.declared for one in seen} == {((1, 0, "ronda"),)}
    assert {(one.phase, one.turn, one.answered) for one in seen} == {("play", first, ())}
    assert not any(one.may_declare for one in seen)

    matches.forfeit(match, Fault(0, Cause.TIME))
    over = public(match)
    assert (over.phase, over.turn, over.pack, over.chain_rank) == ("over", None, (), 0)
    assert over.hand_sizes == (3,) * players


def test_a_match_that_ends_before_its_first_deal_is_over() -> None:
    match = Match(settings("cafe", 3), 2)
    matches.forfeit(match, Fault(0, Cause.NO_SHOW))
    seen = view(match, 1)
    assert (seen.phase, seen.turn, seen.hand, seen.may_declare) == ("over", None, (), False)


def chain(match: Match) -> tuple[int, int, int]:
    seen = public(match)
    return seen.chain_rank, seen.chain_link, len(seen.pack)


def after(match: Match, *cards: str) -> list[tuple[int, int, int]]:
    """What the view says of the chain after each of these plays."""
    assert match.hand is not None
    found = []
    for card in cards:
        matches.play(match, match.hand.turn, NUMBER[card])
        found.append(chain(match))
    return found


def test_the_chain_in_a_view_is_what_the_next_play_must_be_to_be_a_link() -> None:
    for rules in ("arabic", "playtash"):
        hands = [["6O", "6E", "1O"], ["6C", "6B", "1C"]]
        match = position(rules, 2, hands, ["2O"], dealer=1, turn=0)
        assert chain(match) == (0, 0, 0)
        packs = [0, 2, 3, 0, 0] if rules == "arabic" else [0] * 5
        told = [(6, 0), (6, 1), (6, 2), (0, 0), (1, 0)]
        expected = [(*one, pack) for one, pack in zip(told, packs, strict=True)]
        assert after(match, "6O", "6C", "6E", "6B", "1O") == expected
        match = position(rules, 2, hands, ["2O", "6B"], dealer=1, turn=0)
        assert after(match, "6O") == [(6, 0, 0)]  # what took a card may be followed by an equal one


def test_where_an_este_takes_a_capture_starts_no_chain() -> None:
    for rules in ("cafe", "pagat"):
        hands = [["6O", "6E", "1O"], ["6C", "6B", "1C"]]
        match = position(rules, 2, hands, ["2O"], dealer=1, turn=0)
        told = [(6, 0, 0), (0, 0, 0), (6, 0, 0), (0, 0, 0), (1, 0, 0)]
        assert after(match, "6O", "6C", "6E", "6B", "1O") == told
        three = [["6O", "6B"], ["6C", "1C"], ["6E", "1E"]]
        match = position(rules, 3, three, ["2O"], dealer=2, turn=0)
        told = [(6, 0, 0), (6, 1, 2), (6, 2, 3), (0, 0, 0), (1, 0, 0)]
        assert after(match, "6O", "6C", "6E", "6B", "1C") == told
        match = position(rules, 3, three, ["2O", "6B"], dealer=2, turn=0)
        assert after(match, "6O") == [(0, 0, 0)]


def test_a_new_batch_and_the_end_of_a_hand_close_the_pack_in_a_view() -> None:
    match = position("arabic", 2, [["6O"], ["6C"]], ["2O"], dealer=1, turn=0)
    assert after(match, "6O", "6C") == [(6, 0, 0), (0, 0, 0)]
    match = position("arabic", 2, [["6O"], ["6C"]], ["2O"], dealer=1, turn=0, final=True)
    assert after(match, "6O", "6C") == [(6, 0, 0), (0, 0, 0)]


def test_the_chain_and_the_pack_follow_from_the_public_plays_alone() -> None:
    """Fold the plays of a story and say what a viewer could have said."""
    for rules, players in TABLES:
        made = settings(rules, players)
        for _, course in courses(rules, players, 10):
            told = course.told[-1]
            if told.step[0] != "play" or len(told.events) > 1:
                assert chain(course.match) == (0, 0, 0)
                continue
            seen = public(course.match)
            last = seen.last_play
            assert last is not None
            goes_on = 0 < last.link < made.links
            starts = last.link == 0 and not (made.este_takes and last.captured)
            rank = last.card.rank if goes_on or starts else 0
            taken = {*last.captured, *last.reclaimed}
            pack = by_rank({last.card, *taken}) if goes_on and taken and made.reclaims else ()
            assert (seen.chain_rank, seen.chain_link) == (rank, last.link if rank else 0)
            assert seen.pack == pack


class Follower:
    """A viewer who knows the public view from the story alone."""

    def __init__(self, course: Course) -> None:
        self.made = course.match.settings
        self.last = -1  # the side that captured last, which is the side of a pack

    def hear(self, event: Event) -> None:
        if isinstance(event, CardsDealt):
            if event.batch == 1:
                self.first_table = event.table
                self.table = list(event.table)
                self.plays: list[Card] = []
                self.piles = [0] * self.made.sides
                self.declared: tuple[Any, ...] = ()
            assert (len(event.table) == 4) == (event.batch == 1)
            self.number, self.batch, self.stock = event.hand_number, event.batch, event.stock
            self.sizes, self.turn = list(event.hand_sizes), event.turn
        elif isinstance(event, DeclarationsRevealed):
            self.declared += event.declared
            self.turn = event.turn
        elif isinstance(event, CardPlayed):
            self.play(event)
        elif isinstance(event, HandEnded):
            assert event.leftovers == by_rank(self.table)
            assert event.leftovers_side == self.last
            self.piles[self.last] += len(self.table)
            self.table = []
            assert event.pile_counts == tuple(self.piles)
        self.scores = getattr(event, "scores", None) or self.scores

    def play(self, event: CardPlayed) -> None:
        play = event.play
        side = self.made.side_of[play.seat]
        self.plays.append(play.card)
        self.sizes[play.seat] -= 1
        self.turn = event.turn
        if play.captured or play.reclaimed:
            assert [card.rank for card in play.captured] == sorted(
                card.rank for card in play.captured
            )
            self.piles[self.last if play.reclaimed else side] -= len(play.reclaimed)
            self.piles[side] += len(play.captured) + len(play.reclaimed) + 1
            self.table = [card for card in self.table if card not in play.captured]
            self.last = side
        else:
            self.table.append(play.card)
        assert event.pile_counts == tuple(self.piles)

    def agree(self, seen: PublicView) -> None:
        assert (seen.hand_number, seen.batch, seen.stock) == (self.number, self.batch, self.stock)
        assert (seen.first_table, seen.table) == (self.first_table, by_rank(self.table))
        assert (seen.plays, seen.declared) == (tuple(self.plays), self.declared)
        assert (seen.pile_counts, seen.scores) == (tuple(self.piles), self.scores)
        assert (seen.hand_sizes, seen.turn) == (tuple(self.sizes), self.turn)


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_the_public_view_follows_from_the_story(rules: str, players: int) -> None:
    last = None
    for _, course in courses(rules, players, 6):
        if course is not last:
            last, follower = course, Follower(course)
        told = course.told[-1].stories[None]
        for event in told:
            follower.hear(event)
            if isinstance(event, CardPlayed):  # the next turn is told by what follows, if anything
                assert (event.turn is None) == (event is not told[-1])
        follower.agree(public(course.match))


def test_a_story_is_as_long_as_its_events_and_tells_each_seat_its_own_cards() -> None:
    for rules, players in TABLES:
        for _, course in courses(rules, players, 4):
            told = course.told[-1]
            assert {len(lines) for lines in told.stories.values()} == {len(told.events)}
            for at, event in enumerate(told.events):
                for viewer, lines in told.stories.items():
                    line = lines[at]
                    if isinstance(event, Dealt):
                        assert isinstance(line, CardsDealt)
                        own = () if viewer is None else by_rank(event.hands[viewer])
                        assert line.hand == own
                    elif isinstance(event, Answered):
                        assert line == DeclarationAnswered(event.seat)
                    else:
                        assert line == told.stories[None][at]


def test_the_views_of_a_match_differ_between_seats_in_nothing_but_the_hand() -> None:
    for rules, players in TABLES:
        for _, course in courses(rules, players, 3):
            shared = public(course.match)
            for seat in range(players):
                own = view(course.match, seat)
                names = [field.name for field in fields(PublicView)]
                assert [getattr(own, name) for name in names] == [
                    getattr(shared, name) for name in names
                ]
                assert (own.seat, own.hand, own.may_declare) == private(course.match, seat)


def test_what_a_view_prints_holds_no_card() -> None:
    for _, course in courses("cafe", 3, 2):
        for seen in course.views().values():
            assert repr(seen) == f"<{type(seen).__name__} 0>"
        for value in (
            course.match,
            course.hand,
            *course.told[-1].events,
            *private(course.match, 0),
        ):
            shown = repr(value)
            assert all(str(card) not in shown for card in PACK)


def test_a_view_takes_its_sequence_and_clock_from_its_caller() -> None:
    match = Match(settings("playtash", 2), 0)
    matches.deal(match, deck_with(2, 0))
    seen = view(match, 1, 7, 2.5)
    assert (seen.sequence, seen.clock, seen.side, seen.side_of(0)) == (7, 2.5, 1, 0)
    assert replace(seen, sequence=8) != seen
    assert isinstance(seen, View)
    assert seen.hand == by_rank(match.hand.hands[1] if match.hand else ())
    assert all(CARDS[card].rank == RANKS[STEP[card]] for card in seen.hand)
