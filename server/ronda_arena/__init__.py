"""Bots against bots: seats, tables, rounds and what their results say."""

from __future__ import annotations
