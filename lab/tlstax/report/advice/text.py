"""An advice for a terminal: what is unsafe, what to change and what that saves, and how it is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from tlstax.report.advice.words import end_words, little_words, saving_lines, use_words
from tlstax.report.core.printed import grid, printed, styled
from tlstax.results.advice import Advice, Advised
from tlstax.results.inspection import Concern


def advice_text(found: Advice, *, width: int, colour: bool) -> str:
    """The advice, `width` columns wide."""
    parts: list[RenderableType] = [styled(f"{found.inspected.server}: what would be cheaper", "bold")]
    parts += [styled(use_words(found.use), "dim"), Text(), *_concerns(found.inspected.concerns)]
    parts += [
        *_advised(found.advised),
        *_little(found.little),
        *(styled(words) for words in end_words(found)),
    ]
    return printed(parts, width=width, colour=colour)


def _concerns(found: Sequence[Concern]) -> Iterator[RenderableType]:
    grave = [own for own in found if own.danger != "weak"]
    weak = [own for own in found if own.danger == "weak"]
    for title, some in (("Unsafe: mend first", grave), ("Weak", weak)):
        if some:
            yield styled(title, "bold red" if some is grave else "bold")
            yield _marked([("•", (own.what, f"{own.why}; {own.remedy}")) for own in some])
            yield Text()


def _advised(found: Sequence[Advised]) -> Iterator[RenderableType]:
    if not found:
        yield styled("Nothing to change: what was seen costs no more than it needs to.")
        yield Text()
        return
    yield styled("Worth changing", "bold")
    yield _marked([(str(place), tuple(_lines(own))) for place, own in enumerate(found, 1)])
    yield Text()


def _lines(own: Advised) -> Iterator[str | Padding]:
    yield own.what
    yield from saving_lines(own.saving)
    if own.seen:
        yield f"seen: {own.seen}"
    for step in own.steps:
        yield f"{step.where}:"
        yield from (Padding(styled(line, "dim"), (0, 0, 0, 4)) for line in step.lines)


def _marked(rows: Sequence[tuple[str, tuple[str | Padding, ...]]]) -> RenderableType:
    """Each thing behind its mark: its first line plain, and what follows below it dimmed."""
    table = grid()
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for mark, (first, *rest) in rows:
        table.add_row(styled(mark), first if isinstance(first, Padding) else styled(first))
        for line in rest:
            table.add_row(Text(), line if isinstance(line, Padding) else styled(line, "dim"))
    return table


def _little(found: Sequence[Advised]) -> Iterator[RenderableType]:
    if found:
        yield styled("Possible, and of little or unknown worth here", "bold")
        yield _marked([("•", (little_words(own),)) for own in found])
        yield Text()
