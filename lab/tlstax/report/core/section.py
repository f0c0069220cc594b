"""What a topic says, in blocks that know no markup: topics return sections, formats loop over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tlstax.report.core.marks import Style
from tlstax.report.core.panel import Panel
from tlstax.report.core.table import Table

Detail = Literal["short", "whole", "page"]
"""For a terminal, for whoever has room, and with charts and what can be folded away."""


@dataclass(frozen=True)
class Items:
    """Sentences below each other, under a heading of their own where they have one.

    Where room is short, of very many only the first are shown, unless `all_of_them` matter. `more` says how
    to see more, right below them.
    """

    texts: tuple[str, ...]
    heading: str = ""
    all_of_them: bool = False
    more: str = ""


@dataclass(frozen=True)
class Words:
    """A paragraph; an `aside`, such as how to read what is above it, steps back."""

    text: str
    aside: bool = False


@dataclass(frozen=True)
class Pairs:
    """Names, and what is said of each."""

    heading: str
    rows: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Dump:
    """Lines as they are, under a title: one frame's bytes."""

    title: str
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Chart:
    """A panel, and the signs of its lines."""

    panel: Panel
    styles: tuple[Style, ...] = ()


@dataclass(frozen=True)
class Folded:
    """Blocks that are shown when they are asked for."""

    summary: str
    blocks: tuple[Items | Words | Dump | Table, ...]
    is_open: bool = False


Block = Items | Words | Pairs | Dump | Table | Chart | Folded


@dataclass(frozen=True)
class Section:
    """Blocks in their order, under the topic's title where it has one."""

    blocks: tuple[Block, ...]
    title: str = ""
