"""The judge is judged: it finds what is planted, in a true history and in the server itself."""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ronda_bots.registry import Registry
from ronda_server.facts import Fact
from ronda_server.identity import Keys
from ronda_server.live import Live
from ronda_server.loading import Loading
from ronda_server.log import SqliteLog
from ronda_server.statements import Rows
from ronda_server.streams import Audience

from .crashes import Crashes, Picture, prepare
from .history import Answered, Ended, Entry, Opened, Refused, Sent, Stopped, Told
from .inside import DATABASE, KEY, Probe
from .judge import Report, check
from .scenarios import SCENARIOS
from .stored import Database, read_database
from .table import Table, life


class History(NamedTuple):
    journal: list[Entry]
    database: Database
    keys: Keys

    def judged(self) -> Report:
        return check(self.journal, self.database, self.keys)


@pytest.fixture(scope="module")
def true_history(registry: Registry, tmp_path_factory: pytest.TempPathFactory) -> History:
    """Return the history of two persons, in which nothing went wrong."""
    folder = tmp_path_factory.mktemp("true")
    prepare(folder, registry)
    journal: list[Entry] = []
    asyncio.run(life(folder, registry, journal, SCENARIOS["two persons"], Probe()))
    keys = Keys((folder / KEY).read_bytes())
    return History(journal, read_database(folder / DATABASE), keys)


def _places(history: History, form: type[Any], /, **wanted: Any) -> list[int]:
    return [
        at
        for at, entry in enumerate(history.journal)
        if isinstance(entry, form)
        and all(getattr(entry, name) == value for name, value in wanted.items())
    ]


def _lose(history: History) -> None:
    del history.journal[_places(history, Told)[20]]


def _double(history: History) -> None:
    at = _places(history, Told)[20]
    history.journal.insert(at, history.journal[at])


def _alter(history: History) -> None:
    at = _places(history, Told)[25]
    told: Any = history.journal[at]
    history.journal[at] = told._replace(event=told.event[:-1] + bytes([told.event[-1] ^ 1]))


def _shift(history: History) -> None:
    at = _places(history, Answered)[9]
    answered: Any = history.journal[at]
    history.journal[at] = answered._replace(sequence=answered.sequence + 1)


def _deny(history: History) -> None:
    at = _places(history, Answered)[9]
    answered: Any = history.journal[at]
    history.journal[at] = Refused(answered.request_id, "NOT_YOUR_TURN")


def _excuse(history: History) -> None:
    at = _places(history, Refused, reason="STALE_SEQUENCE")[0]
    refused: Any = history.journal[at]
    history.journal[at] = refused._replace(reason="CARD_NOT_HELD")


def _answer_twice(history: History) -> None:
    at = _places(history, Answered)[9]
    answered: Any = history.journal[at]
    history.journal.insert(at + 5, answered._replace(answer=b"otherwise"))


def _foresee(history: History) -> None:
    """Let a command go out after its own event was told."""
    at = _places(history, Sent, kind="played")[5]
    sent: Any = history.journal.pop(at)
    answered = _places(history, Answered, request_id=sent.request_id)[0]
    later = next(place for place in _places(history, Told) if place > answered)
    history.journal[later + 1 : later + 1] = [sent, history.journal[answered]]
    del history.journal[answered]


def _invent(history: History) -> None:
    request = next(
        entry.request_id
        for entry in history.journal
        if isinstance(entry, Sent) and entry.kind == "played"
    )
    history.journal[:] = [
        entry for entry in history.journal if getattr(entry, "request_id", "") != request
    ]


def _forget_the_end(history: History) -> None:
    del history.journal[_places(history, Ended)[0]]


def _resume_elsewhere(history: History) -> None:
    at = _places(history, Opened)[1]
    opened: Any = history.journal[at]
    history.journal.append(opened._replace(after=12))


def _lose_at_a_kill(history: History) -> None:
    left = copy.deepcopy(history.database)
    rows = next(iter(left.rows.values()))
    del rows[20:]
    history.journal.insert(len(history.journal) - 5, Stopped(left))


def _rewrite_after_a_kill(history: History) -> None:
    left = copy.deepcopy(history.database)
    rows = next(iter(left.rows.values()))
    rows[20] = rows[20]._replace(time=1)
    history.journal.append(Stopped(left))


def _draw_a_new_secret(history: History) -> None:
    left = copy.deepcopy(history.database)
    left.masters[next(iter(left.rows))] = bytes(32)
    history.journal.append(Stopped(left))


def _drop_the_last_row(history: History) -> None:
    next(iter(history.database.rows.values())).pop()


def _swap_cards(history: History) -> None:
    rows = next(iter(history.database.rows.values()))
    first, second = [at for at, row in enumerate(rows) if row.kind == "played"][:2]
    one, other = rows[first], rows[second]
    rows[first], rows[second] = one._replace(data=other.data), other._replace(data=one.data)


def _store_twice(history: History) -> None:
    rows = next(iter(history.database.rows.values()))
    played = [at for at, row in enumerate(rows) if row.kind == "played"]
    rows[played[1]] = rows[played[1]]._replace(request=rows[played[0]].request)


def _end_twice(history: History) -> None:
    history.database.commitments.append(history.database.commitments[-1])


PLANTED: list[Callable[[History], None]] = [
    _lose,
    _double,
    _alter,
    _shift,
    _deny,
    _excuse,
    _answer_twice,
    _foresee,
    _invent,
    _forget_the_end,
    _resume_elsewhere,
    _lose_at_a_kill,
    _rewrite_after_a_kill,
    _draw_a_new_secret,
    _drop_the_last_row,
    _swap_cards,
    _store_twice,
    _end_twice,
]


def test_a_true_history_is_found_true(true_history: History) -> None:
    assert true_history.judged().faults == []


@pytest.mark.parametrize("plant", PLANTED)
def test_what_is_planted_in_a_history_is_found(
    plant: Callable[[History], None], true_history: History
) -> None:
    history = History(
        list(true_history.journal), copy.deepcopy(true_history.database), true_history.keys
    )
    plant(history)
    assert history.judged().faults != []


@pytest.fixture(scope="module")
def pictures(
    registry: Registry, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Crashes, list[Picture]]:
    """Return a scenario and the states that crashes leave, all of an honest server."""
    crashes = Crashes(registry, SCENARIOS["two persons"], tmp_path_factory.mktemp("pictures"))
    return crashes, crashes.shoot()


def _forget_requests(patch: pytest.MonkeyPatch) -> None:
    load = Loading._load

    async def forgetful(self: Loading, match_id: str) -> Live:
        live = await load(self, match_id)
        live.requests.clear()
        return live

    patch.setattr(Loading, "_load", forgetful)


def _resume_late(patch: pytest.MonkeyPatch) -> None:
    watch = Audience.watch
    patch.setattr(Audience, "watch", lambda self, seat, at, views: watch(self, seat, at + 1, views))


def _resume_early(patch: pytest.MonkeyPatch) -> None:
    watch = Audience.watch
    patch.setattr(
        Audience, "watch", lambda self, seat, at, views: watch(self, seat, max(1, at - 1), views)
    )


def _stamp_anew(patch: pytest.MonkeyPatch) -> None:
    read = SqliteLog._read

    def anew(self: SqliteLog, match_id: str, after: int) -> list[Fact]:
        return [fact._replace(time=fact.time + 1) for fact in read(self, match_id, after)]

    patch.setattr(SqliteLog, "_read", anew)


def _deal_anew(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SqliteLog, "_master", lambda self, scope: os.urandom(32))


FAULTY: list[Callable[[pytest.MonkeyPatch], None]] = [
    _forget_requests,
    _resume_late,
    _resume_early,
    _stamp_anew,
    _deal_anew,
]


@pytest.mark.parametrize("plant", FAULTY)
def test_what_is_planted_in_recovery_is_found(
    plant: Callable[[pytest.MonkeyPatch], None],
    pictures: tuple[Crashes, list[Picture]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crashes, states = pictures
    plant(monkeypatch)
    assert any(_found(crashes, state) for state in states[40:60])


def _found(crashes: Crashes, state: Picture) -> bool:
    before = len(crashes.tally.report.faults)
    try:
        crashes.recover(state)
    except Exception:  # noqa: BLE001 -- so wrong that the clients could not even go on
        return True
    return len(crashes.tally.report.faults) > before


def test_an_answer_before_the_commit_is_found(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit = SqliteLog.submit

    def hasty(self: SqliteLog, work: Callable[..., Any]) -> asyncio.Future[Any]:
        real = submit(self, work)
        if not isinstance(work, Rows) and "_advance" not in work.__qualname__:
            return real
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done

    async def unrecorded(table: Table) -> None:
        made = await table.create("hasty", "arabic", "open", "open")
        match = made.match.id
        tokens = {seat: await table.join(f"person {seat}", match, seat) for seat in (0, 1)}
        await table.play_out(match, tokens)

    crashes = Crashes(registry, unrecorded, tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(SqliteLog, "submit", hasty)
        states = crashes.shoot()
    assert any(_found(crashes, state) for state in states)
