"""Who counts as there: whoever is back soon has never been away."""

from __future__ import annotations

import pytest

from ronda_arena.ladder.guests import Guest
from ronda_server.ladders.attendance import Attendance

FAR, NEAR = Guest("ann", 2), Guest("bob", 1)
AWAY = FAR._replace(blocks=0)


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_who_is_away_for_a_moment_counts_as_there_and_is_seated_no_more(clock: Clock) -> None:
    attendance = Attendance(60, clock)
    assert (attendance.there(), attendance.wait()) == ({}, None)
    attendance.come({"far@1": FAR, "near@1": NEAR})
    assert attendance.there() == {"far@1": FAR, "near@1": NEAR}
    attendance.come({"near@1": NEAR})
    assert attendance.there() == {"far@1": AWAY, "near@1": NEAR}
    clock.now += 59
    assert attendance.wait() == 1
    attendance.look()
    attendance.come({"far@1": FAR, "near@1": NEAR})
    assert attendance.there() == {"far@1": FAR, "near@1": NEAR}
    assert attendance.wait() is None
    # The next absence is another one.
    clock.now += 30
    attendance.come({})
    clock.now += 59
    attendance.look()
    assert attendance.there() == {"far@1": AWAY, "near@1": NEAR._replace(blocks=0)}
    clock.now += 1
    assert attendance.wait() == 0
    attendance.look()
    assert (attendance.there(), attendance.wait()) == ({}, None)


def test_who_was_there_when_the_server_was_ended_is_waited_for(clock: Clock) -> None:
    attendance = Attendance(60, clock)
    attendance.expect({"far@1": "ann", "near@1": "bob"})
    assert attendance.there() == {"far@1": AWAY, "near@1": NEAR._replace(blocks=0)}
    clock.now += 10
    attendance.come({"near@1": NEAR})
    clock.now += 50
    attendance.look()
    assert attendance.there() == {"near@1": NEAR}


def test_who_came_before_it_was_asked_who_is_waited_for_is_there(clock: Clock) -> None:
    attendance = Attendance(60, clock)
    attendance.come({"far@1": FAR})
    attendance.expect({"far@1": "ann"})
    assert attendance.there() == {"far@1": FAR}


def test_as_long_as_nothing_is_new_the_same_is_told(clock: Clock) -> None:
    attendance = Attendance(60, clock)
    attendance.come({"far@1": FAR})
    told = attendance.there()
    attendance.come({"far@1": FAR})
    attendance.look()
    assert attendance.there() is told
    attendance.come({"far@1": FAR._replace(blocks=1)})
    assert attendance.there() is not told


def test_without_patience_who_leaves_is_gone_at_the_next_look(clock: Clock) -> None:
    attendance = Attendance(0, clock)
    attendance.come({"far@1": FAR})
    attendance.come({})
    assert attendance.wait() == 0
    attendance.look()
    assert attendance.there() == {}
