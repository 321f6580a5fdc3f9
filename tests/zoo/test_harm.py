"""A hostile bot harms no match but its own; `make zoo` plays hundreds."""

from __future__ import annotations

import random

import pytest
from tests.zoo import harm
from tests.zoo.keeper import Keeper, Zoo

pytestmark = pytest.mark.outside  # it needs Landlock and libseccomp: more than Python

MATCHES = 40
GROWTH = 4096
"""Kibibytes: what a template may take more, which is no part of it for each match."""


def test_hostile_bots_harm_no_match_beside_theirs(zoo: Zoo, sandbox: Keeper) -> None:
    names = harm.harmful(zoo)
    chosen = random.Random(2026).sample(names, MATCHES)
    seen = harm.run(zoo, sandbox, chosen)
    assert seen.faults == []
    assert seen.hostile.total() == MATCHES
    assert len(seen.hostile) > 3
    assert seen.honest > 0
    assert seen.descriptors[1] == seen.descriptors[0]
    assert seen.memory[1] - seen.memory[0] < GROWTH
