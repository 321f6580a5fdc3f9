"""What whoever runs a server asks of it, generated from proto/ronda/admin."""

from __future__ import annotations
