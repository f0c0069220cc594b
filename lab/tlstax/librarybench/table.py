"""The document as text for a terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tlstax.findings.core.wording import percent
from tlstax.librarybench.document import Difference, Figures, LibraryBenchDocument, Split, SubjectFigures
from tlstax.librarybench.subjects import DONE_BY, Side
from tlstax.report.core.facts import machine_words
from tlstax.report.core.figures import NOTHING, change, change_with_interval, quantity, significant
from tlstax.report.core.printed import printed
from tlstax.report.core.untrusted import printable
from tlstax.report.formats.markdown import escaped
from tlstax.results.interval import Interval
from tlstax.support.text import counted

TITLE = "TLS libraries alone: CPU time of one operation, both sides in one process"


def terminal(document: LibraryBenchDocument, *, width: int, colour: bool = False) -> str:
    """A table a subject, a line a library; then what ran. Nothing is said by colour alone."""
    return printed(_parts(document, wide=width >= WIDE), width=width, colour=colour)


def _parts(document: LibraryBenchDocument, *, wide: bool) -> Iterable[RenderableType]:
    yield Text(TITLE, style="bold")
    for subject in document.subjects:
        yield ""
        yield Text(printable(subject.label), style="bold")
        yield _table(subject, has_instructions=bool(document.counted_by), wide=wide)
    if document.splits:
        yield ""
        yield Text(f"What TLS costs the server of a new connection, run {document.run_beside}", style="bold")
        yield _splits(document.splits)
        yield from map(_item, sentences(document))
    yield ""
    for fact in (*_facts(document), *document.caveats):
        yield _item(fact)


def markdown(document: LibraryBenchDocument) -> str:
    """One Markdown table, a line for each subject and library, and what ran below it."""
    has_instructions = bool(document.counted_by)
    heads = ["subject", "library", "server", "change", "client", "change"]
    heads += ["instructions"] if has_instructions else []
    rules = ["---", "---", *("---:" for _ in heads[2:])]
    rows = [
        [subject.label, *_cells(figures, SIDES_IN_MARKDOWN, has_instructions=has_instructions)]
        for subject in document.subjects
        for figures in subject.libraries
    ]
    table = "\n".join(f"| {' | '.join(map(escaped, row))} |" for row in (heads, rules, *rows))
    said = (*sentences(document), *_facts(document), *document.caveats)
    bullets = "\n".join(f"- {escaped(text)}" for text in said)
    return "\n\n".join(filter(None, (table, _splits_in_markdown(document), bullets))) + "\n"


def _splits_in_markdown(document: LibraryBenchDocument) -> str:
    if not document.splits:
        return ""
    rows = [SPLIT_HEADS, ("---", "---:", "---:", "---:"), *map(_split_cells, document.splits)]
    return "\n".join(f"| {' | '.join(map(escaped, row))} |" for row in rows)


def _splits(found: Sequence[Split]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(overflow="fold")
    for _ in range(3):
        table.add_column(justify="right", no_wrap=True)
    table.add_row(*(Text(head) for head in SPLIT_HEADS))
    for split in found:
        table.add_row(*(Text(printable(cell)) for cell in _split_cells(split)))
    return table


SPLIT_HEADS = ("", "TLS adds", "library alone", "the server")


def _split_cells(split: Split) -> tuple[str, ...]:
    share = percent(split.library_us.point / split.added_us.point)
    alone = f"{_us(split.library_us.point)} ({share})"
    return split.label, _us(split.added_us.point), alone, _us(split.server_us)


def sentences(document: LibraryBenchDocument) -> tuple[str, ...]:
    """How much of what one library costs more or less than another under the same server is the library's."""
    return tuple(map(_difference, document.differences))


def _difference(found: Difference) -> str:
    more = "more" if found.added_us.point > 0 else "less"
    beginning = f"{found.label} costs {_us(abs(found.added_us.point))} {more} than over {found.against}"
    if not found.added_us.excludes_zero:
        return f"{beginning}, which cannot be told from nothing"
    share = found.library_us / found.added_us.point
    alone = (
        f"the library alone costs {_us(abs(found.library_us))} {'more' if found.library_us > 0 else 'less'}"
    )
    if share <= 0:
        return f"{beginning}: {alone}, so that it is the server's"
    return f"{beginning}: {alone}, so that {percent(min(share, 1.0))} of it is the library's"


def _us(value: float) -> str:
    return quantity(value, "us")


WIDE = 96
"""From this width on there is room for both ends of every interval."""

SIDES_IN_MARKDOWN: tuple[Side, ...] = ("server", "client")


def _table(subject: SubjectFigures, *, has_instructions: bool, wide: bool) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    sides = subject.subject.sides
    table.add_column(justify="left", no_wrap=True)
    heads = [
        "",
        *(head for side in sides for head in (DONE_BY[subject.subject.kind][side], "change")),
    ]
    heads += ["instructions"] if has_instructions else []
    for _ in heads[1:]:
        table.add_column(justify="right", no_wrap=True)
    table.add_row(*(Text(head) for head in heads))
    for figures in subject.libraries:
        if figures.refused:
            table.add_row(Text(printable(figures.library)), Text(NOTHING))
            continue
        cells = _cells(figures, sides, has_instructions=has_instructions, wide=wide)
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def _cells(
    figures: Figures, sides: Iterable[Side], *, has_instructions: bool, wide: bool = True
) -> Iterator[str]:
    yield figures.library
    for side in sides:
        value: Interval | None = getattr(figures, f"{side}_cpu_us")
        yield NOTHING if value is None else quantity(value.point, "us")
        yield _change(getattr(figures, f"{side}_ratio"), wide=wide)
    if has_instructions:
        yield NOTHING if figures.instructions is None else significant(figures.instructions, 4)


def _change(figure: Interval | None, *, wide: bool) -> str:
    """With its interval or, where there is no room for that, with half of its width."""
    if figure is None:
        return ""
    if wide or figure.half_width is None:
        return change_with_interval(figure)
    return f"{change(figure)} ±{percent(figure.half_width)}"


def _item(text: str) -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(Text("\N{BULLET}"), Text(printable(text)))
    return table


def _facts(document: LibraryBenchDocument) -> Iterable[str]:
    """What ran, where and how often; what a library cannot do."""
    for library in document.libraries:
        sums = f"libssl {library.libssl_sha256[:8]}, libcrypto {library.libcrypto_sha256[:8]}"
        yield f"{library.name}: {library.version}, {sums}"
    for subject in document.subjects:
        for figures in subject.libraries:
            if figures.refused:
                yield f"{figures.library} cannot do {subject.label}: {figures.refused}"
    where = "" if document.cpu is None else f", on CPU {document.cpu}"
    yield machine_words(document.machine) + where
    yield (
        f"{counted(document.blocks, 'block')} in slices of {quantity(document.slice_s * 1e6, 'us')}; changes "
        f"are against the first library, at 95 %; seed {document.seed}, {document.started_at}"
    )
