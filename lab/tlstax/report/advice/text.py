"""An advice for a terminal: what is unsafe, what to change and what that saves, and how it is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tlstax.findings.core.wording import capitalised
from tlstax.report.advice.words import RANKED, end_words, nothing_words, reason_words, saving_lines, use_words
from tlstax.results.advice import Advice, Advised
from tlstax.results.inspection import Concern, Step
from tlstax.topics.core.printed import Pasted, grid, printed, styled


def advice_text(found: Advice, *, width: int, colour: bool) -> str:
    """The advice, `width` columns wide."""
    parts: list[RenderableType] = [styled(f"{found.inspected.server}: what would be cheaper", "bold")]
    parts += [styled(use_words(found.use), "dim"), Text(), *_concerns(found.inspected.concerns)]
    parts += [
        *_changes(found),
        *(styled(words) for words in end_words(found)),
    ]
    return printed(parts, width=width, colour=colour)


def _concerns(found: Sequence[Concern]) -> Iterator[RenderableType]:
    grave = [own for own in found if own.danger != "weak"]
    weak = [own for own in found if own.danger == "weak"]
    for title, some in (("Unsafe: mend first", grave), ("Weak", weak)):
        if some:
            yield styled(title, "bold red" if some is grave else "bold")
            yield from _marked(
                [("•", (own.what, f"{own.why}; {own.remedy}", *_steps(own.steps))) for own in some]
            )
            yield Text()


def _changes(found: Advice) -> Iterator[RenderableType]:
    if not found.advised:
        yield styled(f"{capitalised(nothing_words(found))}.")
        yield Text()
    if found.changes:
        yield styled(RANKED, "bold")
        yield from _marked([(str(place), tuple(_lines(own))) for place, own in enumerate(found.changes, 1)])
        yield Text()


def _lines(own: Advised) -> Iterator[str | Pasted]:
    yield own.what
    yield from saving_lines(own.saving)
    if reason := reason_words(own):
        yield reason
    if not own.why_not:
        yield from _steps(own.steps)


def _steps(steps: Sequence[Step]) -> Iterator[str | Pasted]:
    for step in steps:
        yield f"{step.where}:"
        yield Pasted(step.lines, indent=7)


def _marked(rows: Sequence[tuple[str, tuple[str | Pasted, ...]]]) -> Iterator[RenderableType]:
    """Each thing behind its mark: its first line plain, and what follows below it dimmed."""
    for mark, (first, *rest) in rows:
        table = _hanging()
        table.add_row(styled(mark), first if isinstance(first, Pasted) else styled(first))
        for line in rest:
            if isinstance(line, Pasted):
                yield from (table, line)
                table = _hanging()
            else:
                table.add_row(Text(), styled(line, "dim"))
        if table.rows:
            yield table


def _hanging() -> Table:
    table = grid()
    table.add_column(no_wrap=True, min_width=1)
    table.add_column(overflow="fold")
    return table
