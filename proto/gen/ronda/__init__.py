"""What clients and servers of Ronda say to each other, generated from proto/ronda."""

from __future__ import annotations
