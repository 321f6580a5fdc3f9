"""What the store has taken is there after any death, once, and nothing else is."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine
from sqlalchemy.exc import OperationalError
from tests.arena.tournament.plans import plan

from ronda_arena.tournament.results import Game
from ronda_arena.tournament.store import Folder, Store, StoreError, UnreadableError, claim
from ronda_arena.tournament.tasks import Contract, Played, Task, Thought
from ronda_core.fair import commitment

MASTER = bytes(range(32))


def contract(**asked: Any) -> Contract:
    return Contract(plan(3, **asked), MASTER)


def played(block: int, rotation: int, attempt: int = 0, *, lost: bool = False) -> Played:
    task = Task(block, (0, 1), rotation, attempt)
    if lost:
        return Played(task, None, None, "the worker is gone", seconds=0.5)
    game = Game(rotation, 1, 4, (41, 12 + attempt), 0)
    return Played(task, game, record(task, game), None, (Thought("a@1", 3, 0.1, 0.2),), 1.0)


def record(task: Task, game: Game) -> str:
    """Return as much of a game's record as the store reads."""
    told = {
        "tournament": contract().plan.id,
        "block": task.block,
        "rotation": task.rotation,
        "seats": ["bot0@1", "bot1@1"][:: -1 if task.rotation else 1],
        "score": game.scores,
        "winner": game.winner,
        "fair": {"commitment": commitment(MASTER, contract().plan.id), "master": None},
    }
    return json.dumps(told)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Folder]:
    with claim(tmp_path / "t") as held:
        yield held


def all_of(store: Store) -> list[tuple[Task, Game]]:
    return list(store.games())


def test_what_was_added_is_found_again_in_schedule_order(folder: Folder) -> None:
    store = folder.begin(contract())
    store.add([played(1, 1), played(0, 0)])
    store.add([played(0, 1)])
    assert list(store.done()) == [(0, 0), (0, 1), (1, 1)]
    assert list(store.done(1)) == [(1, 1)]
    assert [block.number for block in store.blocks()] == [0]
    told = [(block, json.loads(line)["rotation"]) for block, line in store.records()]
    assert told == [(0, 0), (0, 1), (1, 1)]
    found = folder.find()
    assert found is not None
    assert all_of(found) == all_of(store)
    assert found.contract == store.contract


def test_a_page_of_results_is_as_good_as_all_at_once(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = folder.begin(contract())
    store.add([played(block, rotation) for block in range(5) for rotation in (0, 1)])
    whole = all_of(store)
    for page in range(1, 12):
        monkeypatch.setattr("ronda_arena.tournament.store._PAGE", page)
        assert all_of(store) == whole


def test_a_game_counts_once_whoever_hands_it_in_again(folder: Folder) -> None:
    store = folder.begin(contract())
    first = [played(0, 0), played(0, 1)]
    assert store.add(first) == first
    new = played(1, 0)
    again = [played(0, 0), new, played(0, 1, 1)]  # the last is another attempt at what is over
    assert store.add(again) == [new]
    assert list(store.done()) == [(0, 0), (0, 1), (1, 0)]
    assert [game.scores for _, game in store.games()] == [(41, 12)] * 3


def test_attempts_that_were_lost_are_known_until_the_game_is_over(folder: Folder) -> None:
    store = folder.begin(contract())
    store.add([played(0, 0, lost=True), played(0, 0, 1, lost=True), played(2, 1, lost=True)])
    assert store.attempts() == {(0, 0): 2, (2, 1): 1}
    store.add([played(0, 0, 2)])
    assert store.attempts() == {(2, 1): 1}
    assert store.lost() == 3
    assert [task.attempt for task, _ in store.games()] == [2]


def test_a_statement_that_fails_at_any_point_leaves_what_was_there(tmp_path: Path) -> None:
    """Every statement of a group, and of the beginning, fails once."""
    for point in range(1, 200):
        with claim(tmp_path / str(point)) as folder:
            failing = _Failing(point)
            store: Store | None = None
            kept: list[Played] = []
            with failing, suppress(StoreError):  # the point of it
                store = folder.begin(contract())
                for block in range(2):
                    kept += store.add([played(block, 0), played(block, 1, lost=True)])
            if not failing.fired:
                assert point > 5
                return
        with claim(tmp_path / str(point)) as folder:
            found = folder.find()
            if found is None:
                assert store is None
                continue
            over = [one.task for one in kept if one.game]
            assert [task for task, _ in found.games()] == over
            assert found.lost() == len(kept) - len(over)
    pytest.fail("the statements have no end")


class _Failing:
    """The database fails at its nth statement."""

    def __init__(self, point: int) -> None:
        self._left = point
        self.fired = False

    def __enter__(self) -> None:
        event.listen(Engine, "before_cursor_execute", self._fail)

    def __exit__(self, *_: object) -> None:
        event.remove(Engine, "before_cursor_execute", self._fail)

    def _fail(self, _connection: object, _cursor: object, statement: str, *_: object) -> None:
        self._left -= 1
        if not self._left:
            self.fired = True
            raise OperationalError(statement, None, sqlite3.OperationalError("disk I/O error"))


def test_a_log_that_was_torn_anywhere_is_a_state_that_once_was(tmp_path: Path) -> None:
    with claim(tmp_path / "t") as folder:
        store = folder.begin(contract())
        states = [[]]
        for block in range(4):
            store.add([played(block, rotation) for rotation in (0, 1)])
            states.append(list(store.done()))
        files = {path.name: path.read_bytes() for path in folder.path.iterdir()}
    wal = files["state.db-wal"]
    seen = set()
    for at in (*range(0, len(wal), 997), len(wal)):
        torn = tmp_path / "torn"
        torn.mkdir()
        (torn / "state.db").write_bytes(files["state.db"])
        (torn / "state.db-wal").write_bytes(wal[:at])
        with claim(torn) as folder:
            found = folder.find()
            done = list(found.done()) if found else []
            assert done in states
            seen.add(len(done))
        shutil.rmtree(torn)
    assert len(seen) == len(states)


@pytest.mark.parametrize(
    "change",
    [
        "game = replace(game, '[41,', '[52,')",
        "game = replace(game, '[41,12]', '[41,12,3]')",
        "game = replace(game, '\"winner\":0', '\"winner\":1')",
        "game = 'nonsense'",
        "rotation = 1 - rotation",
        "block = 7",
        "entrants = '[0,2]'",
        "entrants = '[0,9]'",
        "record = replace(record, 'bot0', 'bot2')",
        "record = replace(record, 'commitment\": \"', 'commitment\": \"0')",
        "record = 'nonsense'",
    ],
)
def test_what_was_changed_by_hand_is_noticed_before_it_is_told(folder: Folder, change: str) -> None:
    store = folder.begin(contract())
    store.add([played(0, 0)])
    assert all_of(store)
    database = sqlite3.connect(folder.state)
    database.execute(
        f"UPDATE game SET {change.replace('replace(game', 'replace(CAST(game AS TEXT)')}"
    )
    database.commit()
    database.close()
    with pytest.raises(StoreError, match=r"rotation [01] is not what its record says"):
        all_of(store)


@pytest.mark.parametrize(
    "change",
    [
        'plan = replace(CAST(plan AS TEXT), \'"rules":"playtash"\', \'"rules":"cafe"\')',
        "plan = replace(CAST(plan AS TEXT), '\"blocks\":20', '\"blocks\":1')",
        "plan = replace(CAST(plan AS TEXT), '\"rated\":false', '\"rated\":true')",
        'plan = replace(CAST(plan AS TEXT), \'"clock":null\', \'"clock":"9"\')',
        "plan = replace(CAST(plan AS TEXT), 'bot2@1', 'bot3@1')",
        "digest = 'ff'",
        "id = 'another'",
    ],
)
def test_a_plan_that_was_changed_by_hand_is_refused(folder: Folder, change: str) -> None:
    begun = folder.begin(contract()).plan
    database = sqlite3.connect(folder.state)
    kept = database.execute("SELECT * FROM tournament").fetchone()
    database.execute(f"UPDATE tournament SET {change}")
    assert database.execute("SELECT * FROM tournament").fetchone() != kept
    database.commit()
    with pytest.raises(UnreadableError, match="is not the one that was begun: put back a copy"):
        folder.find()
    database.execute("UPDATE tournament SET id = ?, plan = ?, digest = ?", kept[:3])
    database.commit()
    database.close()
    found = folder.find()
    assert found is not None
    assert found.plan == begun


def test_another_secret_in_its_place_is_noticed(folder: Folder) -> None:
    folder.begin(contract()).add([played(0, 0)])
    database = sqlite3.connect(folder.state)
    database.execute("UPDATE tournament SET master = x'00'")
    database.commit()
    database.close()
    found = folder.find()
    assert found is not None
    with pytest.raises(StoreError, match="not what its record says"):
        all_of(found)


def test_a_second_process_is_refused(folder: Folder) -> None:
    with pytest.raises(StoreError, match="another process"), claim(folder.path):
        pytest.fail("two have it")


def test_what_is_no_tournament_is_refused_in_words(tmp_path: Path) -> None:
    with claim(tmp_path) as folder:
        folder.state.write_bytes(b"something else, and longer than a header of SQLite would be" * 9)
        with pytest.raises(StoreError, match="cannot be read"):
            folder.find()
    with claim(tmp_path / "newer") as folder:
        folder.begin(contract())
        database = sqlite3.connect(folder.state)
        database.execute("PRAGMA user_version = 999")
        database.close()
        with pytest.raises(StoreError, match="another version"):
            folder.find()


def test_an_empty_folder_holds_nothing_and_the_state_is_for_its_owner_alone(folder: Folder) -> None:
    assert folder.find() is None
    folder.begin(contract())
    assert folder.state.stat().st_mode & 0o077 == 0


def test_no_error_or_repr_tells_the_secret(folder: Folder) -> None:
    made = contract()
    store = folder.begin(made)
    assert MASTER.hex() not in repr(made).replace("\\x", "")
    assert "\\x0b" not in repr(made)
    with pytest.raises(StoreError) as raised:
        folder.begin(made)
    assert "\\x0b" not in str(raised.value)
    assert "record" not in repr(played(0, 0))
    assert store.plan == made.plan
