"""Records to test with: those of the data, and matches that are played at random."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings

from ronda_core import fair, hand, match, rules, verify
from ronda_core.match import Fault, Match
from ronda_core.record import FairRecord, Record, Scribe, read

DATA = Path(__file__).parent.parent / "data"

TRUE = (DATA / "record-vectors.jsonl").read_text(encoding="utf-8").splitlines()

FORGED = (DATA / "record-forged.jsonl").read_text(encoding="utf-8").splitlines()

TABLES = [(name, n) for name, preset in rules.PRESETS.items() for n in preset.players]

START, END = "2026-01-01T00:00:00Z", "2026-01-01T01:10:00.25+01:00"

Data = dict[str, Any]

quick = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def judge(data: Data) -> verify.Verdict:
    return verify.verify(read(json.dumps(data)))


def played(
    name: str,
    players: int,
    rng: random.Random,
    *,
    length: int = 0,
    stop: int = -1,
    fault: Fault | None = None,
    tournament: str | None = None,
    sealed: bool = False,
) -> tuple[Record, list[verify.Step]]:
    """Play a match at random; before step number `stop` it is forfeited or cancelled."""
    seats = [f"bot{seat}@1.0.0" for seat in range(players)]
    entries = tuple(fair.Entry(seat, rng.randbytes(rng.choice((0, 16, 64)))) for seat in seats)
    scope = "local-3"
    if tournament:
        entries = tuple(fair.Entry(name) for name in sorted({*seats, "other@2.0"}))
        rng.shuffle(seats)
        scope = f"{tournament}/7"
    master = rng.randbytes(32)
    dealer = fair.Dealer(master, scope, entries, players)
    how = rules.settings(name, players, length=length)
    game = Match(how, dealer.first_dealer())
    scribe = Scribe(
        "a-match" if tournament else scope,
        how,
        seats,
        start=START,
        fair=FairRecord(
            fair.SCHEME,
            scope,
            fair.commitment(master, tournament or scope),
            None if sealed else master,
            entries,
        ),
        tournament=tournament,
        block=7 if tournament else None,
        rotation=1 if tournament else None,
        isolation=["trusted"] * players,
        clock={"bank": 60.5, "increment": 1},
        rated=False,
    )
    steps: list[verify.Step] = []

    def take(events: tuple[match.MatchEvent, ...]) -> None:
        scribe.take(game, events)
        steps.append(verify.Step(match.copy(game), events))

    while not game.result:
        now = game.hand
        if len(steps) == stop:
            take(match.forfeit(game, fault) if fault else match.cancel(game))
        elif number := game.needs_deck:
            take(match.deal(game, dealer.deck(number)))
        elif now and now.phase is hand.Phase.DECLARE:
            seat = rng.choice([seat for seat, answer in enumerate(now.answers) if answer is None])
            take(match.declare(game, seat, bool(hand.set_kind(now, seat)) and rng.random() < 0.8))
        elif now:
            take(match.play(game, now.turn, rng.choice(now.hands[now.turn])))
    return scribe.record(END), steps


# --- lines -----------------------------------------------------------------------------------


def canonical(line: str) -> str:
    """The line with `declared` where most vectors have it: some hands that a forfeit cut short
    have it last."""
    data = json.loads(line)
    for told in data["hands"]:
        if "declared" in told:
            rest = {key: told.pop(key) for key in ("declared", "plays", "points")}
            told.update(rest)
    return json.dumps(data)


def changed(path: str, value: object) -> str:
    """The first true line that has a place `path`, with `value` there; ... takes the key away."""
    *way, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    for line in TRUE:
        data: Any = json.loads(line)
        place = data
        try:
            for key in way:
                place = place[key]
        except KeyError:
            continue
        if value is ...:
            del place[last]
        else:
            place[last] = value
        return json.dumps(data)
    raise AssertionError(path)
