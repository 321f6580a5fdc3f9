"""Scribe and replay: a match played, recorded, proven and played again; and tournaments."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest
from tests.core.records import END, START, TABLES, TRUE, played

from ronda_core import fair, hand, match, rules, verify
from ronda_core.cards import PACK, parse_cards
from ronda_core.match import Cause, Fault, Match
from ronda_core.record import RecordError, Scribe, read, write

# --- scribe and replay -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "players", "length"),
    [
        (*table, length)
        for table in TABLES
        for length in (0, 1, 3)
        if table[0] != "arabic" or not length
    ],
)
def test_a_match_played_at_random_is_recorded_and_proven(
    name: str, players: int, length: int
) -> None:
    for seed in range(4):
        record, steps = played(name, players, random.Random(seed), length=length)
        assert verify.verify(record) == verify.Verdict(True)
        assert read(write(record)) == record
        assert {len(told.deck) for told in record.hands} == {40}
        assert sum(len(told.plays) for told in record.hands) == sum(
            isinstance(event, hand.Played) for step in steps for event in step.events
        )


@pytest.mark.parametrize(("name", "players"), TABLES)
@pytest.mark.parametrize("cause", [None, *Cause])
def test_a_match_that_is_stopped_at_any_step_is_recorded_and_proven(
    name: str, players: int, cause: Cause | None
) -> None:
    rng = random.Random(f"{name}{players}{cause}")
    stops = [*range(2 * players + 4), *rng.sample(range(10, 80), 6)]
    for stop in stops:
        fault = Fault(rng.randrange(players), cause, "as it was") if cause else None
        length = 0 if name == "arabic" else rng.choice((0, 2))
        record, _ = played(
            name, players, random.Random(stop % 3), length=length, stop=stop, fault=fault
        )
        assert verify.verify(record) == verify.Verdict(True)
        assert read(write(record)) == record
        if record.outcome in ("forfeit", "cancelled"):
            assert record.fault == fault
            assert {len(told.deck) for told in record.hands} <= {40}
        elif cause is None:
            assert record.fault is None


def test_answers_of_a_declaring_step_that_was_not_finished_are_in_no_record() -> None:
    """The seats' answers are secret until the last one, and a match may end before it."""
    game = Match(rules.settings("cafe", 3), 0)
    scribe = Scribe("m", game.settings, "abc", start=START)
    ranks = parse_cards("1O 1C 1E 2O 2C 2E 3O 3C 3E 4O 6O 10O 12O")
    deck = (*ranks, *(card for card in PACK if card not in ranks))
    scribe.take(game, match.deal(game, deck))
    scribe.take(game, match.declare(game, 2, True))
    scribe.take(game, match.declare(game, 0, True))
    scribe.take(game, match.forfeit(game, Fault(1, Cause.TIME)))
    record = scribe.record(END)
    assert record.hands[0].declared == {}
    assert record.hands[0].points == ()
    assert record.score == (0, 0, 0)
    assert verify.verify(record).unproven
    assert [len(step.events) for step in verify.replay(record)] == [1, 1]


def test_a_match_that_goes_on_has_no_record() -> None:
    game = Match(rules.settings("playtash", 2), 0)
    scribe = Scribe("m", game.settings, "ab", start=START)
    scribe.take(game, match.deal(game, fair.deal(b"k", 2)[0]))
    with pytest.raises(RecordError):
        scribe.record(END)


def test_a_scribe_may_follow_copies_of_a_match() -> None:
    """A service may keep old states: what a scribe noted does not change with them."""
    rng = random.Random(2)
    game = Match(rules.settings("arabic", 2), 1)
    scribe = Scribe("m", game.settings, "ab", start=START)
    scribe.take(game, match.deal(game, fair.deal(b"k", 2)[0]))
    while not game.result:
        game = match.copy(game)
        assert game.hand
        scribe.take(
            game, match.play(game, game.hand.turn, rng.choice(game.hand.hands[game.hand.turn]))
        )
    assert verify.verify(scribe.record(END)).unproven


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_a_replay_takes_the_steps_of_the_match(name: str, players: int) -> None:
    record, steps = played(name, players, random.Random(11))
    again = [verify.Step(match.copy(step.match), step.events) for step in verify.replay(record)]
    assert len(again) == len(steps)
    for one, two in zip(again, steps, strict=True):
        assert state(one.match)[1:] == state(two.match)[1:]
        if not isinstance(one.events[0], hand.Answered):  # seats answer in another order
            assert one.events == two.events
            assert state(one.match) == state(two.match)


def state(game: Match) -> tuple[object, ...]:
    now = game.hand
    assert now
    return (
        now.answers if now.phase is not hand.Phase.DECLARE else None,
        now.number,
        now.batch,
        now.hands,
        now.table,
        now.plays,
        now.piles,
        now.scores,
        game.result,
    )


def test_a_replay_says_where_it_cannot_go_on() -> None:
    record = read(TRUE[0])
    broken = replace(record.hands[2], plays=(*record.hands[2].plays[:11], record.hands[2].plays[0]))
    record = replace(record, hands=(*record.hands[:2], broken, *record.hands[3:]))
    steps = verify.replay(record)
    taken = 0
    with pytest.raises(verify.ReplayError) as caught:
        for _ in steps:
            taken += 1
    assert caught.value.where == "hand 3, play 12"
    assert "did not hold" in caught.value.problem
    assert taken == 37 + 37 + 1 + 11


def test_a_record_without_a_proof_can_be_replayed() -> None:
    record = replace(read(TRUE[2]), fair=None)
    *_, last = verify.replay(record)
    assert last.match.result
    assert last.match.scores == record.score


# --- tournaments -----------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "players"), TABLES)
def test_a_tournament_commits_once_and_deals_by_block(name: str, players: int) -> None:
    record, _ = played(name, players, random.Random(players), tournament="cup-2026")
    assert record.fair
    assert verify.verify(record) == verify.Verdict(True)
    assert read(write(record)) == record
    moved = replace(record, block=8)
    assert verify.verify(moved).where == "fair, scope"
    elsewhere = replace(
        record, tournament="cup-2027", fair=replace(record.fair, scope="cup-2027/7")
    )
    assert verify.verify(elsewhere).where == "fair, commitment"
    assert verify.verify(replace(record, tournament=None)).where == "block"


def test_a_rotation_may_have_a_deal_of_its_own() -> None:
    """A block with a remote bot or a person is not paired."""
    record, _ = played("cafe", 2, random.Random(1), tournament="cup")
    assert record.fair
    own = replace(record, fair=replace(record.fair, scope="cup/7-1"))
    assert verify.verify(own).where.startswith("hand 1, d")  # the scope is fine, the deck is not
    assert verify.verify(replace(own, rotation=0)).where == "fair, scope"


@pytest.mark.parametrize(
    "names",
    [
        ["bot1@1.0.0", "bot0@1.0.0", "other@2.0"],
        ["bot0@1.0.0", "bot0@1.0.0", "bot1@1.0.0"],
        ["bot0@1.0.0", "other@2.0"],
        [],
    ],
)
def test_the_entries_of_a_tournament_are_its_roster(names: list[str]) -> None:
    record, _ = played("cafe", 2, random.Random(1), tournament="cup")
    assert record.fair
    entries = tuple(fair.Entry(name) for name in names)
    changed = replace(record, fair=replace(record.fair, entries=entries))
    assert verify.verify(changed).where == "fair, entries"
    entries = tuple(entry._replace(entropy=b"0" * 16) for entry in record.fair.entries)
    changed = replace(record, fair=replace(record.fair, entries=entries))
    assert verify.verify(changed).where == "fair, entries"


@pytest.mark.parametrize(("block", "rotation"), [(None, 0), (0, None), (-1, 0), (0, -1), (0, 2)])
def test_block_and_rotation_are_in_range(block: int | None, rotation: int | None) -> None:
    record, _ = played("cafe", 2, random.Random(1), tournament="cup")
    verdict = verify.verify(replace(record, block=block, rotation=rotation))
    assert verdict.where in {"block", "rotation"}


def test_a_sealed_block_is_unproven_until_its_master_is_revealed() -> None:
    record, _ = played("pagat", 3, random.Random(4), tournament="cup", sealed=True)
    assert verify.verify(record).unproven
    assert json.loads(write(record))["fair"]["master"] is None
    assert read(write(record)) == record
    opened, _ = played("pagat", 3, random.Random(4), tournament="cup")
    assert opened.fair
    assert record.fair
    revealed = replace(record, fair=replace(record.fair, master=opened.fair.master))
    assert verify.verify(revealed).proven
    assert write(revealed) == write(opened)


def test_names_that_are_too_long_for_the_scheme_are_refused_not_crashed_on() -> None:
    record = read(TRUE[0])
    assert record.fair
    name = "x" * 70_000
    seats = (name, *record.seats[1:])
    entries = (fair.Entry(name), *record.fair.entries[1:])
    long_seat = replace(record, seats=seats, fair=replace(record.fair, entries=entries))
    assert verify.verify(long_seat).where == "fair, entries"
    long_id = replace(record, id=name, fair=replace(record.fair, scope=name))
    assert verify.verify(long_id).where == "fair, scope"
