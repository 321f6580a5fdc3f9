"""Whatever comes out of a worker's socket is an answer that fits, or a fault with its cause."""

from __future__ import annotations

import random

import pytest
from tests.arena.peers import HUNG_UP, MADE, NUMBER, Cot, Told, frame, mutations, seated
from tests.bots.tables import seat_info, uniform_deck

from ronda_arena.clock import Clock
from ronda_arena.fault import BotFaultError
from ronda_arena.isolation import WorkerLostError
from ronda_arena.worker import seat as seats
from ronda_arena.worker import worker as workers
from ronda_arena.worker.nursery import Remains
from ronda_arena.worker.wire import MOST_BODY, Say
from ronda_core import match as matches
from ronda_core.cards import CARDS, Card
from ronda_core.match import Cause, Match
from ronda_core.rules import settings
from ronda_core.view import View, view

RULES = settings("cafe", 2)
ABOUT = seat_info(RULES, 0)
FUZZ = 4000


@pytest.fixture(autouse=True)
def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seats, "Worker", Told)


def seen() -> View:
    match = Match(RULES, 1)
    matches.deal(match, uniform_deck(random.Random(5), 2))
    return view(match, 0)


SEEN = seen()
HELD = int(SEEN.hand[0])
NOT_HELD = int(SEEN.unseen[0])


def asked(reply: bytes, *, closes: bool = True, remains: Remains = HUNG_UP) -> Card:
    """Return what a seat gets that asks for a card when `reply` is what comes."""
    cot = Cot(MADE, closes=False, remains=remains)
    sitting = seated(cot, ABOUT, Clock(5.0 if closes else 0.02))
    cot.say(reply)
    if closes:
        cot.hang_up()
    try:
        return sitting.play(SEEN)
    except BotFaultError:
        assert len(cot.buried) == 1
        raise
    finally:
        sitting.close()
        cot.close()


def test_a_card_that_is_held_is_taken() -> None:
    assert asked(frame(Say.CARD, HELD), closes=False) is CARDS[HELD]


BAD = {
    "a card not held": (frame(Say.CARD, NOT_HELD), Cause.ILLEGAL),
    "card 0": (frame(Say.CARD, 0), Cause.PROTOCOL),
    "card 41": (frame(Say.CARD, 41), Cause.PROTOCOL),
    "card 65535": (frame(Say.CARD, 0xFFFF), Cause.PROTOCOL),
    "another number": (frame(Say.CARD, HELD, NUMBER + 1), Cause.PROTOCOL),
    "number 0": (frame(Say.CARD, HELD, 0), Cause.PROTOCOL),
    "a whole answer and a byte": (frame(Say.CARD, HELD) + b"\0", Cause.PROTOCOL),
    "two answers": (frame(Say.CARD, HELD) * 2, Cause.PROTOCOL),
    "a thousand answers": (frame(Say.CARD, HELD) * 1000, Cause.PROTOCOL),
    "an answer to declare": (frame(Say.ANSWER, 1), Cause.PROTOCOL),
    "done": (frame(Say.DONE, 1), Cause.PROTOCOL),
    "nonsense": (frame(Say.NONSENSE), Cause.PROTOCOL),
    "a text": (frame(Say.TEXT, b"{}"), Cause.PROTOCOL),
    "an empty text": (frame(Say.TEXT, b""), Cause.PROTOCOL),
    "the longest text": (frame(Say.TEXT, bytes(MOST_BODY)), Cause.PROTOCOL),
    "a text too long": (frame(Say.TEXT, bytes(MOST_BODY + 1)), Cause.PROTOCOL),
    "only the head of a long text": (frame(Say.TEXT, bytes(0xFFFF))[:7], Cause.PROTOCOL),
    "a text and a byte": (frame(Say.TEXT, b"{}") + b"\0", Cause.PROTOCOL),
    "kind 0": (frame(0, HELD), Cause.PROTOCOL),
    "kind 255": (frame(255, HELD), Cause.PROTOCOL),
    "all ones": (b"\xff" * 7, Cause.PROTOCOL),
    "a crash without a place": (frame(Say.CRASH, b""), Cause.PROTOCOL),
    "a crash where there is no place": (frame(Say.CRASH, b"\x05Error"), Cause.PROTOCOL),
    "a crash": (frame(Say.CRASH, b"\x04KeyError"), Cause.CRASH),
    "a crash without a name": (frame(Say.CRASH, b"\x04"), Cause.CRASH),
    "a crash by an odd name": (frame(Say.CRASH, b"\x04\x1b[31m\n\xff"), Cause.CRASH),
    "another's crash": (frame(Say.CRASH, b"\x04KeyError", 1), Cause.PROTOCOL),
    "nothing": (b"", Cause.CRASH),
    "six bytes": (frame(Say.CARD, HELD)[:6], Cause.CRASH),
    "half a text": (frame(Say.TEXT, b"{}")[:8], Cause.CRASH),
}


@pytest.mark.parametrize("what", BAD)
def test_what_is_no_answer_is_a_fault_with_its_cause(what: str) -> None:
    reply, cause = BAD[what]
    with pytest.raises(BotFaultError) as caught:
        asked(reply)
    assert caught.value.cause is cause
    assert caught.value.log == b"its log"
    assert caught.value.seconds is not None
    assert caught.value.detail.isprintable()
    assert caught.value.detail.isascii()


@pytest.mark.parametrize("reply", [b"", frame(Say.CARD, HELD)[:6], frame(Say.TEXT, b"{}")[:8]])
def test_an_answer_that_is_not_whole_in_time_is_late(reply: bytes) -> None:
    with pytest.raises(BotFaultError) as caught:
        asked(reply, closes=False)
    assert caught.value.cause is Cause.TIME


@pytest.mark.parametrize("answered", [True, False])
def test_a_clock_that_ran_on_while_we_were_stopped_is_nobodys_fault(
    answered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-Z, a frozen container: whoever waits is woken at the limit, unless it was stopped."""
    cot = Cot(MADE, closes=False)
    sitting = seated(cot, ABOUT, Clock(0.02))
    if answered:
        cot.say(frame(Say.CARD, HELD))
    now = iter([100.0, 103.0, 103.0, 103.0])
    monkeypatch.setattr(workers.time, "monotonic", lambda: next(now))
    with pytest.raises(WorkerLostError, match="held up"):
        sitting.play(SEEN)
    monkeypatch.undo()
    assert len(cot.buried) == 1
    sitting.close()
    cot.close()


@pytest.mark.parametrize(
    ("remains", "cause", "detail"),
    [
        (HUNG_UP, Cause.CRASH, "it hung up"),
        (Remains(3, 0.0, 0, b"", ""), Cause.CRASH, "it ended with exit status 3"),
        (Remains(0, 0.0, 0, b"", ""), Cause.CRASH, "it ended with exit status 0"),
        (Remains(-11, 0.0, 0, b"", ""), Cause.CRASH, "it was ended by SIGSEGV"),
        (Remains(-9, 0.0, 0, b"", ""), Cause.CRASH, "it was ended by SIGKILL"),
        (Remains(-40, 0.0, 0, b"", ""), Cause.CRASH, "it was ended by signal 40"),
        (Remains(-9, 0.0, 0, b"", "too much"), Cause.PROTOCOL, "too much"),
    ],
)
def test_who_hangs_up_is_told_by_how_it_ended(remains: Remains, cause: Cause, detail: str) -> None:
    with pytest.raises(BotFaultError) as caught:
        asked(b"", remains=remains)
    assert (caught.value.cause, caught.value.detail) == (cause, detail)


def test_who_takes_too_much_is_blamed_for_that_whatever_it_said_besides() -> None:
    with pytest.raises(BotFaultError) as caught:
        asked(frame(Say.NONSENSE), remains=Remains(None, 0.0, 0, b"", "too much"))
    assert (caught.value.cause, caught.value.detail) == (Cause.PROTOCOL, "too much")


def test_only_who_hangs_up_is_given_a_moment_to_end() -> None:
    for reply, ending in ((b"", True), (MADE * 2, False), (frame(Say.CARD), False)):
        cot = Cot(reply)
        with pytest.raises(BotFaultError):
            seated(cot, ABOUT)
        assert [one[1] for one in cot.buried] == [ending]
        cot.close()


@pytest.mark.parametrize(
    ("reply", "cause"),
    [
        (frame(Say.CARD, 1), Cause.PROTOCOL),
        (frame(Say.TEXT, b"{}"), Cause.PROTOCOL),
        (MADE * 2, Cause.PROTOCOL),
        (b"", Cause.CRASH),
        (frame(Say.CRASH, b"\x00ImportError"), Cause.CRASH),
    ],
)
def test_a_bot_that_cannot_be_made_has_its_cause(reply: bytes, cause: Cause) -> None:
    cot = Cot(reply)
    with pytest.raises(BotFaultError) as caught:
        seated(cot, ABOUT)
    assert caught.value.cause is cause
    cot.close()


def outcome(reply: bytes) -> Card | BotFaultError:
    try:
        return asked(reply)
    except BotFaultError as fault:
        return fault


def test_no_bytes_at_all_make_anything_but_a_held_card_or_a_fault() -> None:
    rng = random.Random(2026)
    whole = [reply for reply, _ in BAD.values()] + [
        frame(Say.CARD, int(card)) for card in SEEN.hand
    ]
    taken = 0
    for _ in range(FUZZ):
        reply = rng.randbytes(rng.randrange(20)) if rng.random() < 0.2 else mutations(whole, rng)
        came = outcome(reply)
        if isinstance(came, BotFaultError):
            assert came.detail.isprintable()
            assert len(str(came)) < 200
        else:
            assert came in SEEN.hand
            taken += 1
    assert 0 < taken < FUZZ
