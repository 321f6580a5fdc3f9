"""A clock is a time for each decision, and a bank that pays for what goes beyond."""

from __future__ import annotations

import pytest

from ronda_arena.clock import CEILING_SECONDS, Clock, SeatClock


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("1", Clock(1.0)),
        ("0.5", Clock(0.5)),
        ("0.5+10", Clock(0.5, 10.0)),
        ("3600+86400", Clock(3600.0, 86_400.0)),
        ("0.001", Clock(0.001)),
    ],
)
def test_a_clock_is_read_from_its_text(text: str, clock: Clock) -> None:
    assert Clock.parse(text) == clock


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0",
        "-1",
        "1e3",
        "nan",
        "inf",
        "3601",
        "1+86401",
        "1+",
        "+1",
        "1 + 2",
        ".5",
        "1+2+3",
        "1s",
        "\u0661",
    ],
)
def test_what_is_no_clock_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="second"):
        Clock.parse(text)


@pytest.mark.parametrize(
    ("clock", "told"),
    [
        (Clock(0.5), {"per_decision": 0.5}),
        (Clock(0.5, 10.0), {"per_decision": 0.5, "bank": 10.0}),
    ],
)
def test_a_clock_is_told_in_records(clock: Clock, told: dict[str, float]) -> None:
    assert clock.to_json() == told


@pytest.mark.parametrize(
    ("clock", "spent", "left"),
    [
        (Clock(1.0), [], 1.0),
        (Clock(1.0), [0.25], 1.0),  # what is left of a decision is lost
        (Clock(1.0), [0.25, 0.25, 0.75], 1.0),
        (Clock(1.0, 2.0), [], 3.0),
        (Clock(1.0, 2.0), [1.0], 3.0),
        (Clock(1.0, 2.0), [0.5, 0.5], 3.0),  # and fills no bank
        (Clock(1.0, 2.0), [1.5], 2.5),
        (Clock(1.0, 2.0), [1.5, 1.25], 2.25),
        (Clock(1.0, 2.0), [3.0], 1.0),
        (Clock(1.0, 2.0), [2.0, 2.0, 0.5], 1.0),
    ],
)
def test_a_bank_pays_for_what_a_decision_takes_beyond_its_time(
    clock: Clock, spent: list[float], left: float
) -> None:
    seat = SeatClock(clock)
    for seconds in spent:
        seat.spend(seconds)
    assert seat.left == pytest.approx(left)
    assert seat.limit == seat.left


def test_without_a_clock_nothing_is_told_and_a_decision_still_ends() -> None:
    seat = SeatClock(None)
    seat.spend(1e9)
    assert seat.left is None
    assert seat.limit == CEILING_SECONDS
