"""`ronda bots serve` over broken streams: what it says again and forgets, and when it gives up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import grpc
import pytest
from tests.server.made_bots import Base, bot
from tests.server.tables import until

from ronda_bots.api import SeatInfo, View
from ronda_cli.bot_client import Asked, CaughtUp, Dropped, Over, SeatKey, Started
from ronda_cli.refusal import Refusal
from ronda_cli.serving import Player, Served, _may_pass
from ronda_core.fair import Dealer
from ronda_core.match import Match, deal
from ronda_core.rules import settings
from ronda_core.view import MatchEnded, view

KEY = SeatKey("m-1", 0)
INFO = SeatInfo(0, 0, 2, "playtash", 41, 0, ("mine@1", "other@1"))


class Heard:
    """A stream on which a bot's answers are kept."""

    def __init__(self) -> None:
        self.answers: list[tuple[str, dict[str, Any]]] = []

    def answer(self, decision_id: str, choice: dict[str, Any]) -> None:
        self.answers.append((decision_id, choice))


def served(**changes: Any) -> tuple[Served, list[str]]:
    said: list[str] = []
    return Served(bot("mine", Base), "far", 16, said.append, **changes), said


def stream(of: Served) -> Heard:
    """Let a new stream begin."""
    of._told.clear()
    for player in of.players.values():
        player.open = ""
    heard = Heard()
    of._stream = heard  # type: ignore[assignment] # all that is asked of it
    return heard


def shown() -> View:
    match = Match(settings("playtash", 2), 1)
    deal(match, Dealer(b"m" * 32, "m-1", [], 2).deck(1))
    return view(match, 0, 3)


async def test_an_answer_waits_until_its_decision_is_told_again_and_is_then_the_same() -> None:
    mine, _ = served()
    before = stream(mine)
    mine._take(Started(KEY, INFO, 1, 3))
    asked = Asked(KEY, "m-1-0-3", shown())
    mine._take(asked)
    await until(lambda: len(before.answers) == 1)
    player = mine.players[KEY]
    assert player.decided
    after = stream(mine)
    mine._answer(player.decided)  # found as the stream broke
    assert after.answers == []
    mine._take(Started(KEY, INFO, 1, 3))
    mine._take(asked)
    await until(lambda: len(after.answers) == 1)
    assert after.answers == before.answers
    player.leave()


async def test_seats_of_which_a_stream_has_told_nothing_when_it_has_caught_up_are_left() -> None:
    mine, said = served(matches=2)
    stream(mine)
    other = SeatKey("m-2", 1)
    for key in (KEY, other):
        mine._take(Started(key, INFO, 1, 3))
    mine._take(CaughtUp())
    assert set(mine.players) == {KEY, other}
    gone = mine.players[KEY]
    stream(mine)
    mine._take(Started(other, INFO, 1, 3))
    mine._take(CaughtUp())
    assert set(mine.players) == {other}
    assert "m-1: seat 0 is over: no more is told of it" in said
    await until(lambda: not gone.thread.is_alive())
    assert not mine._enough()
    mine._take(Over(other, MatchEnded("hand", 0, (41, 3), None, None)))
    assert mine._enough()


async def test_an_end_that_is_told_twice_counts_once() -> None:
    mine, said = served(matches=2)
    over = Over(KEY, MatchEnded("hand", 0, (41, 3), None, None))
    for _ in range(2):
        mine._take(over)
    assert mine.over == 1
    assert len(said) == 1


async def test_what_was_answered_twice_is_no_news_and_what_came_late_is() -> None:
    mine, said = served()
    mine._take(Dropped("m-1-0-3", "already_answered"))
    assert said == []
    mine._take(Dropped("m-1-0-3", "late"))
    assert said == ["an answer was dropped: late (m-1-0-3)"]


def test_a_phase_of_a_later_version_is_a_crash_that_holds_nobody_up() -> None:
    said: list[str] = []
    player = Player(bot("mine", Base), Started(KEY, INFO, 1, 3), lambda _: None, said.extend)
    later = Asked(KEY, "m-1-0-3", replace(shown(), phase="7"))
    assert player._decide(later) == {"crash": "UnknownPhase"}
    assert said == []


CODE = grpc.StatusCode


@pytest.mark.parametrize(
    ("code", "reason", "after", "again"),
    [
        (CODE.DEADLINE_EXCEEDED, "HELLO_TIMEOUT", None, True),
        (CODE.RESOURCE_EXHAUSTED, "TOO_MANY_STREAMS", 10.0, True),
        (CODE.RESOURCE_EXHAUSTED, "", None, True),
        (CODE.RESOURCE_EXHAUSTED, "TOO_MANY_NAMES", None, False),
        (CODE.RESOURCE_EXHAUSTED, "MESSAGE_TOO_LARGE", None, False),
        (CODE.INTERNAL, "INTERNAL", None, True),
        (CODE.UNKNOWN, "", None, True),
        (CODE.INVALID_ARGUMENT, "REQUEST_INVALID", None, False),
        (CODE.ALREADY_EXISTS, "BOT_NAME_TAKEN", None, False),
    ],
)
def test_it_tries_again_what_may_pass_and_gives_up_what_will_not(
    code: grpc.StatusCode, reason: str, after: float | None, again: bool
) -> None:
    assert _may_pass(Refusal(code, reason, "", {}, after)) is again


@pytest.mark.parametrize(
    ("limit", "word"), [("bot_seats", "seats"), ("workers", "processes"), ("matches", "matches")]
)
def test_a_limit_is_told_in_words(limit: str, word: str) -> None:
    refusal = Refusal(CODE.RESOURCE_EXHAUSTED, "TOO_MANY_MATCHES", "", {"limit": limit}, 10.0)
    assert word in refusal.text
