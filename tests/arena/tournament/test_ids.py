"""How tournaments are called: apart where they have other deals, and never by a seed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.arena.tournament.plans import TABLES, plan

BASE: dict[str, Any] = {"bots": 3, "rules": "cafe"}


@pytest.mark.parametrize(("rules", "players"), TABLES)
def test_seeded_tournaments_of_others_or_by_other_rules_have_other_ids(
    rules: str, players: int
) -> None:
    ids = {
        plan(bots, rules=rules, players=players, format=form).id
        for bots in (3, 5, ["a", "c", "b"])
        for form in ("round-robin", "knockout")
    }
    assert len(ids) == 6
    assert all(one.startswith("tournament-") for one in ids)


@pytest.mark.parametrize("changed", [{"rules": "arabic"}, {"target": 21}, {"bots": 4}])
def test_what_is_played_is_in_the_id(changed: dict[str, Any]) -> None:
    assert plan(**BASE).id != plan(**{**BASE, **changed}).id


@pytest.mark.parametrize(
    "changed",
    [
        {"seed": 6},
        {"blocks": 7},
        {"isolation": "process"},
        {"luck": False},
        {"clock": "1"},
        {"stop": {"precision": 1.0}},
    ],
)
def test_no_seed_is_in_an_id_and_nothing_that_leaves_the_deals_as_they_are(
    changed: dict[str, Any],
) -> None:
    assert plan(**BASE).id == plan(**{**BASE, **changed}).id


def test_a_name_is_the_id_where_there_is_a_seed_and_begins_it_where_there_is_none() -> None:
    assert plan(**BASE, name="spring").id == "spring"
    assert plan(**BASE, name="spring", seed=None).id == "spring-x"
    assert plan(**BASE, seed=None).id == "tournament-x"
