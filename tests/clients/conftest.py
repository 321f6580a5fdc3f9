"""Clients in other languages: built once, and played against a real service."""

from __future__ import annotations

from tests.cli.conftest import installed, nobodys_settings

__all__ = ["installed", "nobodys_settings"]
