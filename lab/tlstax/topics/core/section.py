"""What a topic says, in blocks that know no markup: topics return sections, formats loop over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tlstax.stats.wording import percent
from tlstax.topics.core.charts import Panel, Style
from tlstax.topics.core.figures import NOTHING
from tlstax.topics.core.table import Lines, Table


@dataclass(frozen=True)
class Heading:
    """What is above the blocks that follow, where they are more than items or charts."""

    text: str


@dataclass(frozen=True)
class Items:
    """Sentences below each other, under a heading of their own where they have one; without any, nothing.

    Where room is short, of very many only the first are shown, unless `all_of_them` matter. `more` says how
    to see more, right below them.
    """

    texts: tuple[str, ...]
    heading: str = ""
    all_of_them: bool = False
    more: str = ""


@dataclass(frozen=True)
class Words:
    """A paragraph, and a command that ends it; an `aside`, such as how to read what is above, steps back."""

    text: str
    aside: bool = False
    command: str = ""


def reading(text: str, confidence: float, **more: object) -> Words:
    """How to read what is above: a text with a place for the confidence of its intervals."""
    return Words(text.format(confidence=percent(confidence), **more), aside=True)


INTERVALS = "In brackets: the {confidence} interval."


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
class GridCell:
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


GridLine = tuple[str, tuple[GridCell, ...]]
"""A line's name and its cells."""


@dataclass(frozen=True)
class Grid:
    """A table of pooled ratios, or where it `is_map` a heat map over the numbers of connections.

    `parts` are lines by the heading that they stand under.
    """

    title: str
    reading: str
    heads: tuple[str, ...]
    parts: Mapping[str, Sequence[GridLine]]
    notes: tuple[str, ...] = ()
    is_map: bool = False


@dataclass(frozen=True)
class Shades:
    """What the shades of the heat maps below stand for: from which factors on there is another one."""

    steps: tuple[float, ...]


@dataclass(frozen=True)
class Charts:
    """Panels that are read together, and the signs of their lines; `small` ones stand beside each other."""

    panels: tuple[Panel, ...]
    title: str = ""
    styles: tuple[Style, ...] = ()
    small: bool = False


@dataclass(frozen=True)
class Roomy:
    """Blocks for whoever has room: a terminal has what is there `otherwise` in their place."""

    blocks: tuple[Block, ...]
    otherwise: tuple[Block, ...] = ()


@dataclass(frozen=True)
class OnPage:
    """Blocks for the page alone, such as charts, which are not made before it asks for them.

    Other formats have in their place what is there `otherwise`.
    """

    make: Callable[[], Iterable[Block]]
    otherwise: tuple[Block, ...] = ()


def tabulated(lines: Lines, most: int | None) -> OnPage:
    """A table, whole on the page; elsewhere one for each group, of at most N lines together."""
    return OnPage(lambda: (lines.whole(),), otherwise=tuple(lines.by_group(most)))


@dataclass(frozen=True)
class Folded:
    """Blocks that are shown when they are asked for."""

    summary: str
    blocks: tuple[Block, ...]
    is_open: bool = False


@dataclass(frozen=True)
class Claim:
    """Something that is judged: what is said and by whom, the verdict, and what that rests on."""

    says: str
    verdict: str
    lines: tuple[str, ...] = ()
    source: str = ""
    blocks: tuple[Block, ...] = ()


@dataclass(frozen=True)
class Claims:
    """Claims beside each other, or each in the `whole_width` of the page."""

    claims: tuple[Claim, ...]
    whole_width: bool = False


Block = (
    Heading | Items | Words | Pairs | Dump | Table | Grid | Shades | Charts | Roomy | OnPage | Folded | Claims
)


def opened(blocks: Iterable[Block], *, roomy: bool) -> Iterator[Block]:
    """The blocks that a format other than the page has, one with room or without."""
    for block in blocks:
        if isinstance(block, Roomy) and roomy:
            yield from opened(block.blocks, roomy=roomy)
        elif isinstance(block, Roomy | OnPage):
            yield from opened(block.otherwise, roomy=roomy)
        else:
            yield block


@dataclass(frozen=True)
class Section:
    """Blocks in their order, under the topic's title where it has one; the page may have it `folded`."""

    blocks: tuple[Block, ...]
    title: str = ""
    folded: bool = False
