"""Benchmarks: every figure is a ratio to a real reference run in the same program."""

from __future__ import annotations
