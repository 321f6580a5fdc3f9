"""One module a change."""

from __future__ import annotations
