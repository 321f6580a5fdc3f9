"""What a stop rule decided, as data."""

from __future__ import annotations

from dataclasses import dataclass

from ronda_arena.statistics.estimate import Estimate


@dataclass(frozen=True, slots=True)
class SprtTold:
    """How an SPRT stands: the first entrant is `elo0` ahead of the second, or `elo1`."""

    elo0: float
    """Of H0."""
    elo1: float
    """Of H1."""
    llr: float
    """The logarithm of how much likelier H1 makes what was seen than H0."""
    lower: float
    """The LLR at which H0 is accepted."""
    upper: float
    """That at which H1 is."""
    accepted: str | None
    """`H0` or `H1`; None: neither, yet or in all blocks."""
    elo: Estimate
    """Points of Elo that the first is ahead: median-unbiased, with an interval that knows of the
    looks. Unknown while the test goes on."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a stop rule decided, once and for all."""

    rule: str
    """`precision`, `sequential` or `sprt`."""
    decision: str
    """In words: what was decided, or that all blocks were played without a decision. Of an SPRT
    also that it goes on."""
    block: int | None
    """The number, from 0, of the block that decided it, in schedule order; None: no decision."""
    estimate: Estimate
    """By how much the first entrant is ahead of the second: of a sequential test the
    median-unbiased one, with an interval that knows of the looks; else unknown."""
    sprt: SprtTold | None = None
    """Of an SPRT alone."""
