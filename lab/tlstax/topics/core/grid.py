"""A table of ratios whose cells have shades: pooled ratios with their intervals, or a heat map."""

from __future__ import annotations

from dataclasses import dataclass

from tlstax.topics.core.figures import NOTHING


@dataclass(frozen=True)
class Cell:
    """A ratio as a cell: in words, as a figure, and its shade from -4 (worst) over 0 to 4 (best).

    `mark` is the sign of one that is not seen to be a difference (`figures.mark`).
    """

    figure: str = NOTHING
    change: str = ""
    half_width: str = ""
    interval: str = ""
    mark: str = ""
    shade: int = 0
    words: str = ""


@dataclass(frozen=True)
class Line:
    """A row of cells and its name."""

    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Part:
    """Rows under one heading."""

    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class Grid:
    """A table of pooled ratios, or where it `is_map` a heat map over the numbers of connections."""

    title: str
    reading: str
    heads: tuple[str, ...]
    parts: tuple[Part, ...]
    notes: tuple[str, ...] = ()
    is_map: bool = False


@dataclass(frozen=True)
class Shades:
    """What the shades of the heat maps below stand for: from which factors on there is another one."""

    steps: tuple[float, ...]
