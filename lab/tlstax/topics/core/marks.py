"""What a chart is drawn from: plain marks with their style, free of any drawing library."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Style:
    """How one level is drawn, everywhere in a report; `hollow` sets the control apart."""

    label: str
    colour: str
    shape: str
    hollow: bool = False


@dataclass(frozen=True)
class RatioMark:
    """One level's ratio to the baseline; `low` and `high` equal `point` where there is no interval."""

    style: Style
    point: float
    low: float
    high: float
    text: str
    description: str


@dataclass(frozen=True)
class Point:
    """What a line goes through; `low` to `high` is the interval of `y`, where it has one that is drawn."""

    x: float
    y: float
    description: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Line:
    """One level over something that grows to the right."""

    style: Style
    points: tuple[Point, ...]


@dataclass(frozen=True)
class Segment:
    """A part of the bar of row `label`, from `start_us` to `end_us`; a faint one is drawn pale."""

    label: str
    start_us: float
    end_us: float
    colour: str
    description: str
    faint: bool = False


@dataclass(frozen=True)
class BlockPoint:
    """One level's ratio in one block, counted from 1; None where the block has no valid pair."""

    block: int
    ratio: float | None
    description: str


@dataclass(frozen=True)
class BlockStrip:
    """One level's ratios block after block; `low` to `high` is the interval of the whole run."""

    style: Style
    points: tuple[BlockPoint, ...]
    middle: float
    low: float
    high: float
