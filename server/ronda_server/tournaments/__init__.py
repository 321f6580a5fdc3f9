"""Hosted tournaments: which there are, where they are played, and who watches them.

What a tournament is, how it is played and what it comes to is the arena's alone.
"""

from __future__ import annotations
