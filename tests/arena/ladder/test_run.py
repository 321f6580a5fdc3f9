"""A ladder goes on after any death, forgives what is ours, and its log alone says how it stands."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.arena.ladder.games import (
    BOTS,
    CAREFUL,
    GREEDY,
    RANDOM,
    Clock,
    Drawn,
    ladder_plan,
    refolded,
    registry,
    run,
    told,
)
from tests.arena.tournament.plans import DiedError, Scripted
from tests.bots.tables import info

from ronda_arena.ladder.facts import Joined, Over, Seated, Void
from ronda_arena.ladder.plan import LadderError
from ronda_arena.ladder.run import MOST_LOST, Run
from ronda_arena.ladder.store import Store, claim
from ronda_arena.tournament.executors import Executor, ExecutorError
from ronda_arena.tournament.executors.here import Here
from ronda_arena.tournament.tasks import Contract
from ronda_bots.greedy import Greedy
from ronda_bots.registry import Registry
from ronda_core.commitments import CANCELLED, FINISHED, Commitments, read_entry
from ronda_core.record import read
from ronda_core.verify import verify


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with claim(tmp_path / "ladder", Drawn()) as folder:
        yield folder.begin(ladder_plan())


def scripted(**asked: Any) -> Any:
    def make(contract: Contract, bots: Registry) -> Executor:
        return Scripted(contract, bots, **asked)

    return make


def chain(store: Store) -> tuple[Commitments, dict[str, list[str]]]:
    """Return the list of commitments, every link checked, and what it tells of each block."""
    listed, endings = Commitments(), dict[str, list[str]]()
    for line in store.commitments():
        entry = read_entry(line)
        listed.append(entry)
        endings.setdefault(entry.scope, []).append(entry.ending)
    return listed, endings


@pytest.mark.parametrize(("rules", "players"), [("arabic", 2), ("cafe", 3), ("playtash", 4)])
def test_the_log_alone_gives_the_running_standings_to_the_last_byte(
    rules: str, players: int, tmp_path: Path
) -> None:
    with claim(tmp_path, Drawn()) as folder:
        hands = 0 if rules == "arabic" else 1
        store = folder.begin(ladder_plan(rules, players, hands))
        running = run(store)
        running.play(scripted(ahead=7, loses=0.1, random_=random.Random(1)), 60)
        assert running.ladder.games >= 60
        assert running.ladder.void > 0
        assert told(refolded(store)) == told(running.ladder)
        found = folder.find()
        assert found is not None
        assert told(refolded(found)) == told(running.ladder)


def test_it_goes_on_after_a_death_at_any_game_and_counts_every_block_once(
    tmp_path: Path,
) -> None:
    secrets, clock = Drawn(), Clock()
    with claim(tmp_path, secrets) as folder:
        folder.begin(ladder_plan())
    games = lives = 0
    while games < 40:
        with claim(tmp_path, secrets) as folder:
            store = folder.find()
            assert store is not None
            lives += 1
            running = run(store, now=clock)
            assert told(refolded(store)) == told(running.ladder)
            assert not running.ladder.open
            assert running.ladder.games >= games
            try:
                running.play(scripted(ahead=3, dies_after=lives % 7), 40)
            except DiedError:
                assert told(refolded(store)) == told(running.ladder)
            games = running.ladder.games
    assert lives > 8
    with claim(tmp_path, secrets) as folder:
        store = folder.find()
        assert store is not None
        facts = list(store.facts())
        over = [fact.block for fact in facts if isinstance(fact, Over)]
        void = [fact.block for fact in facts if isinstance(fact, Void)]
        seated = [fact.block for fact in facts if isinstance(fact, Seated)]
        assert len({*over, *void}) == len(over) + len(void) == len(seated)
        assert 2 * len(over) == games == len(list(store.records()))
        _, endings = chain(store)
        for block in over:
            assert endings[block] == ["", FINISHED]
        for block in void:
            assert endings[block] == ["", CANCELLED]


def test_a_block_that_is_lost_is_played_again_under_another_id_by_the_same_bots(
    store: Store,
) -> None:
    running = run(store)
    running.play(scripted(loses=0.2, random_=random.Random(5)), 60)
    facts = list(store.facts())
    seated = {fact.block: fact for fact in facts if isinstance(fact, Seated)}
    void = [fact.block for fact in facts if isinstance(fact, Void)]
    again = {fact.again: fact for fact in seated.values() if fact.again}
    assert len(void) > 5
    unsettled = [block for block, _ in running.ladder.lost]
    for block in void:
        if block not in unsettled:
            assert again[block].entrants == seated[block].entrants
            assert again[block].block != block
    assert sum(bot.void for bot in running.ladder.bots) == 2 * len(void)


def test_every_record_is_proven_and_was_committed_to_before_it_was_known_who_sits(
    store: Store,
) -> None:
    running = run(store)
    running.play(Here, 30)
    listed, endings = chain(store)
    order = [line.scope for line in map(read_entry, store.commitments()) if not line.ending]
    seated = [fact.block for fact in store.facts() if isinstance(fact, Seated)]
    assert order[: len(seated)] == seated
    assert len(endings) > len(seated)
    lines = list(store.records())
    assert len(lines) == running.ladder.games >= 30
    masters = set()
    for line in lines:
        record = read(line)
        assert verify(record, listed).proven
        assert record.fair is not None
        masters.add(record.fair.master)
        assert record.tournament in seated
    assert len(masters) == running.ladder.blocks


def test_records_are_sealed_as_they_are_kept(store: Store) -> None:
    running = run(store)
    with pytest.raises(DiedError):
        running.play(scripted(ahead=2, dies_after=9), 30)
    with store._engine.connect() as connection:
        kept = connection.exec_driver_sql("SELECT block FROM record").all()
    ended = {fact.block for fact in store.facts() if isinstance(fact, Over)}
    assert {row.block for row in kept} == ended
    assert len(ended) < len([fact for fact in store.facts() if isinstance(fact, Seated)])


def test_bots_that_come_and_go_while_it_runs_are_noticed(store: Store) -> None:
    newer = replace(info(Greedy), version="99")
    pool = [BOTS]
    ticks = iter(range(10**6))

    def tell(ladder: Any) -> None:
        if ladder.games > 100:
            pool[0] = registry([RANDOM, CAREFUL, newer])
        elif ladder.games > 40:
            pool[0] = registry([RANDOM, GREEDY, CAREFUL, newer])

    running = Run(
        store,
        lambda: pool[0],
        now=Clock(),
        clock=lambda: float(next(ticks)),
        look_every=3.0,
        tell=tell,
    )
    running.play(scripted(ahead=4), 160)
    new, old = running.ladder.find(newer.identity), running.ladder.find(GREEDY.identity)
    assert new is not None
    assert old is not None
    assert new.blocks > 5
    assert new.owner == old.owner
    assert not old.present
    assert running.ladder.pool.met[new.number, old.number] == 0
    assert told(refolded(store)) == told(running.ladder)


def test_the_log_says_what_code_played_and_notices_another(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = {RANDOM.identity: "r", GREEDY.identity: "g", CAREFUL.identity: "g"}
    monkeypatch.setattr("ronda_arena.ladder.arrivals.code", lambda bot: codes[bot.identity])
    running = run(store)
    running.play(Here, 20)
    greedy, careful = running.ladder.find(GREEDY.identity), running.ladder.find(CAREFUL.identity)
    assert greedy is not None
    assert careful is not None
    assert running.ladder.pool.met[greedy.number, careful.number] == 0
    joined = [fact for fact in store.facts() if isinstance(fact, Joined)]
    assert {fact.bot: fact.code for fact in joined} == codes
    for code, changed in (("", 0), ("g2", 1), ("g2", 1)):
        codes[GREEDY.identity] = code
        again = run(store)
        again.play(Here, again.ladder.games + 10)
        found = again.ladder.find(GREEDY.identity)
        assert found is not None
        assert (found.code, found.changed) == (code or "g", changed)
        assert told(refolded(store)) == told(again.ladder)
    joined = [fact for fact in store.facts() if isinstance(fact, Joined)]
    assert len(joined) == 4  # nothing is written down twice, and what cannot be read is no news


def test_only_those_that_are_asked_for_play_and_anchors_always(store: Store) -> None:
    running = run(store, wanted=["careful"], owners={"careful": "ann"})
    running.play(Here, 10)
    assert [bot.identity for bot in running.ladder.bots] == [CAREFUL.identity, RANDOM.identity]
    assert running.ladder.bots[0].owner == "ann"


def test_a_ladder_whose_bots_may_not_meet_says_so(store: Store) -> None:
    owned = dict.fromkeys(("random", "greedy", "careful"), "ann")
    with pytest.raises(LadderError, match="no 2 bots of different owners"):
        run(store, owners=owned).play(Here, 10)
    with pytest.raises(LadderError, match="1 bot is there"):
        run(store, registry([RANDOM])).play(Here, 10)
    with pytest.raises(LadderError, match="is not in quarantine"):
        run(store).release(GREEDY.identity)


def test_blocks_that_are_always_lost_end_the_run_and_are_never_rated(store: Store) -> None:
    running = run(store)
    with pytest.raises(ExecutorError, match="by no fault of a bot"):
        running.play(scripted(loses=1.1), 10)
    assert running.ladder.games == 0
    assert running.ladder.void >= MOST_LOST
    assert all(bot.blocks == 0 for bot in running.ladder.bots)


def test_no_secret_stands_in_what_is_told(store: Store) -> None:
    running = run(store)
    with pytest.raises(DiedError):
        running.play(scripted(ahead=2, dies_after=9), 30)
    running.seat(None)
    tasks = [*running.ready]
    assert tasks[0].deal is not None
    shown = repr(tasks) + repr(store) + "".join(store.commitments()) + repr(list(store.facts()))
    for secret in (store.secret, *(task.deal.master for task in tasks if task.deal)):
        assert secret.hex() not in shown
        assert repr(secret) not in shown
