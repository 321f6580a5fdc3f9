"""The service: it deals, referees and streams each viewer exactly what it may know."""

from __future__ import annotations
