"""Whole matches, read byte for byte: nobody is ever sent what it may not know at that time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.hidden import harness
from tests.hidden.harness import Result, in_simulated_time, on_loopback
from tests.hidden.obs import NUMBER, TEXT
from tests.hidden.plan import GROUPS, Plan, plan, plan_with_bots
from tests.hidden.scan import scan
from tests.hidden.spies import bundled
from tests.hidden.store import store
from tests.hidden.tape import Entry
from tests.referee.naive_rules import PRESETS

from ronda.v1 import card_pb2, event_pb2, match_service_pb2, view_pb2

each_group = pytest.mark.parametrize(
    ("rules", "players"), GROUPS, ids=[f"{rules}-{players}" for rules, players in GROUPS]
)


def whole(made: Plan) -> Plan:
    """Return a plan that goes on until the match is over."""
    setup = made.setup._replace(target=PRESETS[made.setup.rules].targets[0], length=0)
    return replace(made, setup=setup, steps=100_000, ending="none", clock=0.0)


def played(made: Plan) -> Result:
    result = in_simulated_time(made, harness.base_script(made))
    assert result.problem == ""
    assert result.mirrors["main"].referee.phase == "over"
    return result


@each_group
def test_a_whole_match_sends_nobody_a_card_before_it_is_known(rules: str, players: int) -> None:
    for number in range(3):
        made = whole(plan(f"whole/{rules}/{players}/{number}", rules, players))
        assert list(scan(played(replace(made, dealt_by_server=number > 0)))) == []


@each_group
def test_a_whole_match_shows_no_bot_a_card_before_it_is_known(rules: str, players: int) -> None:
    bots = tuple(bot.identity for bot in bundled().bots)
    made = whole(plan_with_bots(f"whole/bots/{rules}/{players}", rules, players, bots))
    result = played(made)
    assert list(scan(result)) == []
    shown = [entry for seat in made.bots for entry in result.tape.channels[f"seat {seat}"]]
    assert any(entry.cards and entry.known for entry in shown)


@pytest.mark.parametrize(("rules", "players"), [("pagat", 4), ("cafe", 3), ("playtash", 2)])
def test_a_match_over_grpc_sends_nobody_a_card_before_it_is_known(rules: str, players: int) -> None:
    made = replace(plan(f"grpc/{rules}", rules, players), steps=80, dealt_by_server=True)
    result = on_loopback(made, harness.base_script(made))
    assert result.problem == ""
    assert list(scan(result)) == []


@pytest.fixture(scope="module")
def result() -> Result:
    """Return a match that the server has dealt and that stopped in the middle."""
    made = replace(plan("scanned", "cafe", 3), steps=15, dealt_by_server=True, ending="none")
    found = in_simulated_time(made, harness.base_script(made))
    assert found.problem == ""
    assert list(scan(found)) == []
    return found


def with_entry(result: Result, channel: str, entry: Entry) -> list[str]:
    """Return what the scan finds with one more entry on a channel."""
    entries = result.tape.channels[channel]
    entries.append(entry)
    try:
        return list(scan(result))
    finally:
        entries.pop()


def hidden_card(result: Result) -> card_pb2.Card.ValueType:
    """Return a card that nobody has seen yet."""
    told = result.mirrors["main"].events[-1]
    seen = told.public.union(*told.own)
    return card_pb2.Card.ValueType(
        next(number for number in range(1, 41) if TEXT[number] not in seen)
    )


def test_all_cards_that_were_played_stand_on_the_wire(result: Result) -> None:
    mirror = result.mirrors["main"]
    public = {TEXT[card] for card in frames_cards(result, "stranger")}
    assert public == mirror.events[-1].public
    for seat in range(3):
        own = {TEXT[card] for card in frames_cards(result, f"seat {seat}")}
        assert own == mirror.events[-1].known(seat)


def frames_cards(result: Result, channel: str) -> set[int]:
    """Return the cards of all frames of a channel, read field by field."""
    found: set[int] = set()
    for entry in result.tape.channels[channel]:
        if entry.method == "frame":
            frame = match_service_pb2.WatchMatchResponse.FromString(entry.data)
            dealt, play = frame.event.cards_dealt, frame.event.card_played.play
            found |= {*dealt.hand, *dealt.table, *play.captured, *play.reclaimed, play.card}
            found |= {*frame.view.hand, *frame.view.plays, *frame.view.first_table}
    return found - {0}


def test_the_scan_finds_a_card_in_any_field(result: Result) -> None:
    number = result.mirrors["main"].sequence
    card = hidden_card(result)
    frames = [
        match_service_pb2.WatchMatchResponse(view=view_pb2.View(sequence=number, pack=[card])),
        match_service_pb2.WatchMatchResponse(
            view=view_pb2.View(sequence=number, last_play=event_pb2.Play(card=card))
        ),
    ]
    for frame in frames:
        data = frame.SerializeToString()
        entry = Entry(0, "planted", data, "frame", "main", number)
        assert any("not known yet" in problem for problem in with_entry(result, "stranger", entry))


def test_the_scan_finds_a_card_that_comes_too_early(result: Result) -> None:
    mirror = result.mirrors["main"]
    played_at = next(at for at, told in enumerate(mirror.events) if told.kind == "played")
    (card,) = mirror.events[played_at].public - mirror.events[played_at - 1].public
    for number, found in ((played_at, True), (played_at + 1, False)):
        view = view_pb2.View(sequence=number, plays=[card_pb2.Card.ValueType(NUMBER[card])])
        data = match_service_pb2.WatchMatchResponse(view=view).SerializeToString()
        entry = Entry(0, "planted", data, "frame", "main", number)
        assert bool(with_entry(result, "stranger", entry)) is found


@pytest.mark.parametrize(
    ("channel", "text"),
    [
        ("log", lambda result: TEXT[hidden_card(result)]),
        ("metrics", lambda result: f'ronda_x{{card="{TEXT[hidden_card(result)]}"}} 1'),
        (
            "stranger",
            lambda result: f"('INTERNAL', 'seat 0 holds {TEXT[hidden_card(result)]}', ())",
        ),
        ("seat 0", lambda result: result.secrets["token of seat 1 in main"]),
        ("log", lambda result: result.secrets["token of seat 0 in main"][6:]),
        ("metrics", lambda result: store().masters[0].hex()),
        ("stranger", lambda result: store().masters[result.plan.neighbour].hex().upper()),
    ],
    ids=["log", "metrics", "error", "other's token", "own token in the log", "master", "MASTER"],
)
def test_the_scan_finds_a_secret_in_a_text(
    result: Result, channel: str, text: Callable[[Result], str]
) -> None:
    entry = Entry(0, "planted", text(result).encode())
    assert with_entry(result, channel, entry) != []


def test_the_scan_finds_bytes_that_no_field_holds(result: Result) -> None:
    number = result.mirrors["main"].sequence
    beat = match_service_pb2.Heartbeat(sequence=number)
    data = match_service_pb2.WatchMatchResponse(heartbeat=beat).SerializeToString()
    padded = Entry(0, "planted", data + b"\xfa\x3f\x01\x07", "frame", "main", number)
    assert with_entry(result, "stranger", padded) != []
    twice = Entry(0, "planted", data + data, "frame", "main", number)
    assert with_entry(result, "stranger", twice) != []
    once = Entry(0, "not planted", data, "frame", "main", number)
    assert with_entry(result, "stranger", once) == []
