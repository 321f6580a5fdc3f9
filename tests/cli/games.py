"""Positions to draw and stories to tell: the same ones every time."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ronda_cli.picture import Picture, of_view
from ronda_cli.story import Cast, Told, end, tell
from ronda_cli.text import labels
from ronda_core import fair, rules
from ronda_core import match as matches
from ronda_core import view as views
from ronda_core.cards import PACK
from ronda_core.match import Cause, Fault, Match, MatchEvent

NAMES = ("greedy@1.0.0", "careful@1.0.0", "أمين", "漢字漢字漢字漢字漢字漢字漢字漢字漢字")


class Scene(NamedTuple):
    picture: Picture
    story: list[Told]


class Game:
    """A game in which everybody declares what they hold and plays the first card of the hand."""

    def __init__(
        self,
        preset: str,
        players: int,
        seed: int = 1,
        *,
        target: int | None = None,
        names: tuple[str, ...] = NAMES,
    ) -> None:
        self.settings = rules.settings(preset, players, target)
        master = fair.seeded_master(seed)
        self.dealer = fair.Dealer(master, "test", [fair.Entry("test")], players)
        self.match = Match(self.settings, self.dealer.first_dealer())
        self.names = names[:players]
        self.steps: list[tuple[MatchEvent, ...]] = []

    def step(self) -> tuple[MatchEvent, ...]:
        match = self.match
        if match.needs_deck:
            events = matches.deal(match, self.dealer.deck(match.needs_deck))
        else:
            assert match.hand is not None
            if match.hand.phase.value == "declare":
                seat = match.hand.answers.index(None)
                events = matches.declare(match, seat, views.private(match, seat).may_declare)
            else:
                seat = match.hand.turn
                events = matches.play(match, seat, views.private(match, seat).hand[0])
        self.steps.append(events)
        return events

    def scene(self, steps: int, seat: int | None = None, *, opened: bool = False) -> Scene:
        """Play on to `steps` steps, or to the end, and look at it."""
        cast = Cast(labels(self.names, seat))
        story: list[Told] = []
        result = ""
        while len(self.steps) < steps and not self.match.result:
            for event in views.story(self.match, self.step(), seat):
                story += [told] if (told := tell(event, cast)) else []
                if isinstance(event, views.MatchEnded):
                    result = end(event, cast)
        view = views.public(self.match) if seat is None else views.view(self.match, seat)
        hands = tuple(views.private(self.match, one).hand for one in range(len(self.names)))
        match_id = "" if seat is not None else "m-flmngzkhhn7lp5zo"
        picture = of_view(
            view, self.names, match=match_id, hands=hands if opened else (), result=result
        )
        return Scene(picture, story)

    def forfeit(self, seat: int, cause: Cause) -> Told:
        events = matches.forfeit(self.match, Fault(seat, cause))
        (told,) = [
            tell(event, Cast(labels(self.names))) for event in views.story(self.match, events)
        ]
        assert told is not None
        return told


def long_table(scene: Scene) -> Scene:
    """Put one card of every rank on the table: there can be no more."""
    table = tuple(PACK[10 * (rank % 4) + rank] for rank in range(10))
    return scene._replace(picture=replace(scene.picture, table=table))


SCENES = {
    "own hand of two": lambda: Game("playtash", 2).scene(15, 0),
    "declaring of two": lambda: Game("cafe", 2, 4).scene(1, 1),
    "watching three": lambda: Game("pagat", 3, 5).scene(22),
    "own hand in a team": lambda: Game("cafe", 4, 9).scene(20, 3),
    "open hands of a team": lambda: Game("cafe", 4, 9).scene(20, opened=True),
    "a long table": lambda: long_table(Game("cafe", 2, 14).scene(12, 0)),
    "over": lambda: Game("cafe", 3, 2, target=21).scene(10_000),
    "over in arabic": lambda: Game("arabic", 2, 3).scene(10_000, 1),
}
