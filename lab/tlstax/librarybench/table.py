"""The document as text for a terminal, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from tlstax.findings.core.wording import percent
from tlstax.librarybench.document import Difference, Figures, LibraryBenchDocument, Split, SubjectFigures
from tlstax.librarybench.subjects import DONE_BY, Side
from tlstax.report.formats.markdown import escaped
from tlstax.results.interval import Interval
from tlstax.support.text import counted
from tlstax.topics.core.facts import machine_words
from tlstax.topics.core.figures import NOTHING, change, change_with_interval, quantity, significant
from tlstax.topics.core.printed import bullets, printed
from tlstax.topics.core.untrusted import printable

TITLE = "TLS libraries alone: CPU time of one operation, both sides in one process"


def terminal(document: LibraryBenchDocument, *, width: int, colour: bool = False) -> str:
    """A table a subject, a line a library; then what ran. Nothing is said by colour alone."""
    return printed(_parts(document, wide=width >= WIDE), width=width, colour=colour)


def _parts(document: LibraryBenchDocument, *, wide: bool) -> Iterable[RenderableType]:
    yield Text(TITLE, style="bold")
    heads = _counted(document)
    for subject in document.subjects:
        if not _is_known(subject):
            continue
        yield ""
        yield Text(printable(subject.label), style="bold")
        yield _table(subject, wide=wide)
        yield from _counts_table(subject, heads)
        yield from bullets(_takers(subject))
    if document.splits:
        yield ""
        yield Text(f"What TLS costs the server of a new connection, run {document.run_beside}", style="bold")
        yield _splits(document.splits)
        yield from bullets(sentences(document))
    yield ""
    yield from bullets((*_facts(document), *document.caveats))


def _is_known(subject: SubjectFigures) -> bool:
    """Whether anything was measured of it: a run that was interrupted may not have come to it."""
    return any(figures.server_cpu_us is not None for figures in subject.libraries)


def markdown(document: LibraryBenchDocument) -> str:
    """One Markdown table, a line for each subject and library, and what ran below it."""
    counted_too = _counted(document)
    heads = ["subject", "library", "server", "change", "client", "change"]
    heads += counted_too
    rules = ["---", "---", *("---:" for _ in heads[2:])]
    rows = [
        [
            subject.label,
            figures.library,
            *(_costs(figures, SIDES_IN_MARKDOWN) if not figures.refused else [NOTHING] * 4),
            *_counts(figures, counted_too),
        ]
        for subject in document.subjects
        if _is_known(subject)
        for figures in subject.libraries
    ]
    table = "\n".join(f"| {' | '.join(map(escaped, row))} |" for row in (heads, rules, *rows))
    takers = (f"{subject.label}: {text}" for subject in document.subjects for text in _takers(subject))
    said = (*sentences(document), *takers, *_facts(document), *document.caveats)
    items = "\n".join(f"- {escaped(text)}" for text in said)
    return "\n\n".join(filter(None, (table, _splits_in_markdown(document), items))) + "\n"


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
    size = found.added_us if found.added_us.point > 0 else -found.added_us
    ends = "" if size.low is None or size.high is None else f" ({_us(size.low)} to {_us(size.high)})"
    beginning = f"{found.label} costs {_us(size.point)} {more}{ends} than over {found.against}"
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


COUNTED = {
    "instructions": "instructions",
    "atomic": "atomic_instructions",
    "server's locks": "server_locks",
    "client's locks": "client_locks",
}
"""What is counted besides, by its head in the table: the figure."""


def _counted(document: LibraryBenchDocument) -> tuple[str, ...]:
    """The heads of what was counted of anything."""
    every = [figures for subject in document.subjects for figures in subject.libraries]
    return tuple(
        head for head, name in COUNTED.items() if any(getattr(each, name) is not None for each in every)
    )


WIDE = 96
"""From this width on there is room for both ends of every interval."""

SIDES_IN_MARKDOWN: tuple[Side, ...] = ("server", "client")


def _table(subject: SubjectFigures, *, wide: bool) -> Table:
    """What an operation costs over each library, side by side."""
    sides = subject.subject.sides
    heads = [head for side in sides for head in (DONE_BY[subject.subject.kind][side], "change")]
    rows = [(figures.library, _costs(figures, sides, wide=wide)) for figures in subject.libraries]
    return _of_libraries(heads, rows)


def _counts_table(subject: SubjectFigures, heads: Sequence[str]) -> Iterator[Table]:
    """What was counted of an operation, over each library of which something was."""
    rows = [(figures.library, _counts(figures, heads)) for figures in subject.libraries]
    known = [(library, counts) for library, counts in rows if any(count != NOTHING for count in counts)]
    if known:
        yield _of_libraries(heads, known)


def _of_libraries(heads: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="left", no_wrap=True)
    for _ in heads:
        table.add_column(justify="right", no_wrap=True)
    table.add_row("", *(Text(head) for head in heads))
    for library, cells in rows:
        table.add_row(Text(printable(library)), *(Text(printable(cell)) for cell in cells))
    return table


def _costs(figures: Figures, sides: Iterable[Side], *, wide: bool = True) -> list[str]:
    if figures.refused:
        return [NOTHING]
    found = []
    for side in sides:
        cost: Interval | None = getattr(figures, f"{side}_cpu_us")
        found.append(NOTHING if cost is None else quantity(cost.point, "us"))
        found.append(_change(getattr(figures, f"{side}_ratio"), wide=wide))
    return found


def _counts(figures: Figures, heads: Iterable[str]) -> list[str]:
    values: list[float | None] = [getattr(figures, COUNTED[head]) for head in heads]
    return [NOTHING if value is None else significant(value, 4) for value in values]


def _change(figure: Interval | None, *, wide: bool) -> str:
    """With its interval or, where there is no room for that, with half of its width."""
    if figure is None:
        return ""
    if wide or figure.half_width is None:
        return change_with_interval(figure)
    return f"{change(figure)} ±{percent(figure.half_width)}"


def _takers(subject: SubjectFigures) -> Iterator[str]:
    """Who takes most of the counted locks: "openssl-3.0.2, client: ossl_lib_ctx_get_data 543, …"."""
    for figures in subject.libraries:
        for side, takers in figures.lock_takers.items():
            named = (
                f"{taker.function or taker.library} {significant(taker.per_operation)}" for taker in takers
            )
            if takers:
                yield f"{figures.library}, {DONE_BY[subject.subject.kind][side]}: {', '.join(named)}"


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
    yield "changes are taken between neighbouring slices, so they are not exactly those of the figures here"
