"""The detector finds every planted leak, and nothing where none is planted."""

from __future__ import annotations

import pytest
from tests.hidden.detect import leaks
from tests.hidden.planted import LEAKS
from tests.hidden.planting import Leak, Told

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("leak", [pytest.param(one, id=one.plant.__name__) for one in LEAKS])
def test_a_planted_leak_is_found(leak: Leak, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Told, "times", 0)
    leak.plant(monkeypatch)
    found = leaks()
    assert Told.times, f"the detector never came where it shows that {leak.name}"
    assert found, leak.name


def test_nothing_is_found_where_nothing_is_planted() -> None:
    assert leaks() == []


def test_the_leaks_are_many_and_different() -> None:
    assert len(LEAKS) >= 70
    assert len({leak.name for leak in LEAKS}) == len(LEAKS)
