"""How a ladder stands, at terminals of every width."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from rich.cells import cell_len

from ronda_arena.ladder.rows import Row
from ronda_cli import ladder_told

Told = Callable[[list[Row], int], list[str]]
AT = 1_795_982_400  # 2026-11-29 20:00 UTC


def row(bot: str, rating: float = 30.0, **more: object) -> Row:
    told: dict[str, object] = {
        "bot": bot,
        "owner": "ronda",
        "rating": rating,
        "low": rating - 2.5,
        "high": rating + 2.5,
        "conservative": rating - 3.7,
        "blocks": 1200,
        "games": 2400,
        "won": 1400,
        "drawn": 12,
        "lost": 988,
        "faults": {},
        "opponents": 3,
        "state": "active",
        "note": "",
        "provisional": False,
        "last": AT,
    }
    return Row(**{**told, **more})  # type: ignore[arg-type] # the fields above


BUILT_IN = [
    row("solver@1.0.0", 33.4),
    row("careful@1.0.0", 31.0, state="anchor"),
    row("greedy@1.0.0", 27.0, state="anchor"),
    row("random@1.0.0", 18.0, state="anchor"),
]


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Told:
    def tell(found: list[Row], width: int) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(width))
        ladder_told.standings({}, found, "table", False)
        return capsys.readouterr().out.splitlines()

    return tell


@pytest.mark.parametrize(("provisional", "faults"), [(False, {}), (True, {"crash": 2})])
def test_the_bots_of_ronda_are_a_table_at_eighty_columns(
    told: Told, provisional: bool, faults: dict[str, int]
) -> None:
    found = told([row("mine@1", provisional=provisional, faults=faults), *BUILT_IN], 80)
    assert max(map(cell_len, found)) <= 80
    [head] = [line for line in found if "rating" in line]
    assert len(found) <= 1 + 5 + 1
    for column in ("bot", "rating", "95 %", "games", "last", "state"):
        assert f" {column} " in f"{head} "
    assert "provisional" in found[1] if provisional else "active" in found[1]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_long_name_is_cut_and_keeps_its_version(told: Told, width: int) -> None:
    found = told([row("a" * 60 + "@1.0"), *BUILT_IN], width)
    assert max(map(cell_len, found)) <= width
    assert sum("rating" in line for line in found) == 1
    [long] = [line for line in found if "aaaa" in line]
    assert "@1.0 " in long


@pytest.mark.parametrize("width", [40, 50])
def test_below_sixty_columns_each_bot_is_a_block_of_its_own(told: Told, width: int) -> None:
    found = told([row("a" * 60 + "@1.0"), *BUILT_IN], width)
    assert max(map(cell_len, found)) <= width
    assert sum(line.startswith("rating") for line in found) == 5


def test_no_share_of_wins_is_told_without_an_interval(told: Told) -> None:
    found = told(BUILT_IN, 120)
    assert "W-D-L" in found[0]
    assert "1,400-12-988" in found[1]
    assert "%" not in "".join(found[1:])


def test_it_says_when_a_bot_last_played(told: Told) -> None:
    found = told([row("new@1", last=0, games=0), *BUILT_IN], 120)
    assert "never" in found[1]
    assert all("11-29 20:00" in line for line in found[2:6])
