"""The planted leaks: what the detector must find, each a mistake that a programmer could make."""

from __future__ import annotations

from typing import Final

from tests.hidden import planted_deals, planted_edges, planted_flow, planted_views
from tests.hidden.planting import Leak

_ROOMS: Final = (planted_deals, planted_views, planted_flow, planted_edges)

LEAKS: Final = tuple(
    value for room in _ROOMS for value in vars(room).values() if isinstance(value, Leak)
)
