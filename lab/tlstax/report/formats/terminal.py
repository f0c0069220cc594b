"""A run as text for a terminal: the answer, a table for each group, and what is needed to judge it.

Readable at 80 columns and without colour: nothing is said by colour alone, and columns that do not fit
beside each other come in a second table below.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest

from rich.cells import cell_len
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from tlstax.findings.answer.headline import headline
from tlstax.findings.connect.words import asks_for_counts
from tlstax.findings.core.scope import is_large
from tlstax.findings.core.wording import capitalised
from tlstax.records.trial import StoredRun
from tlstax.report.core import facts
from tlstax.report.core.figures import ALIKE, UNKNOWN
from tlstax.report.core.groups import Group, arranged
from tlstax.report.core.printed import bullets, grid, pairs, printed, styled
from tlstax.report.core.section import Block, Dump, Heading, Items, Pairs, Section, Words
from tlstax.report.core.table import GAP, Table, side_by_side
from tlstax.report.core.tables import Cell, Column, main_columns
from tlstax.report.distance import section as distance
from tlstax.report.formats.topics import after_groups, before_groups, last_section
from tlstax.report.overview.text import where_the_rest_is
from tlstax.results.document import RunDocument
from tlstax.study.outcomes import OUTCOMES
from tlstax.support.text import some_of

NARROWEST = 60
MOST_ITEMS = 12
MOST_FINDINGS = 400
"""With more findings, a study that has tables of distances or tunnels leaves its cases to the page."""

Cells = Sequence[Text]


def terminal(
    stored: StoredRun, document: RunDocument, *, width: int = 80, colour: bool = False, report_path: str = ""
) -> str:
    """The text, at most `width` (from 60 on) columns wide, with ANSI colours where `colour` is true.

    `report_path` is where the full report was written, named in the last line.
    """
    width = max(width, NARROWEST)
    return printed(_parts(stored, document, width, report_path), width=width, colour=colour)


def _parts(
    stored: StoredRun, document: RunDocument, width: int, report_path: str
) -> Iterable[RenderableType]:
    yield styled(stored.header.study.title, style="bold")
    yield ""
    answer = headline(document) if document.findings else [facts.nothing_to_show(stored)]
    yield from bullets(some_of([*map(capitalised, answer)], MOST_ITEMS))
    for section in before_groups(document, "short"):
        yield from _section(section, width)
    if document.findings:
        groups = _shown_groups(stored, document)
        yield from chain.from_iterable(_group(group, document, width) for group in groups)
        yield ""
        yield _negotiated(groups) if groups else styled(where_the_rest_is(document))
    for section in after_groups(document, "short"):
        yield from _section(section, width)
    yield ""
    yield _facts(facts.facts(stored, document))
    yield from _section(last_section(stored, document, "short"), width)
    if report_path:
        yield ""
        yield styled(f"Report: {report_path}", overflow="fold")


def _shown_groups(stored: StoredRun, document: RunDocument) -> tuple[Group, ...]:
    """The groups of cases, unless the study is shown as a whole."""
    many = len(document.findings) > MOST_FINDINGS and any(distance.sections(document, "short"))
    without = is_large(document.design) or asks_for_counts(document) or many
    return () if without else arranged(stored, document)


def _section(section: Section, width: int) -> Iterable[RenderableType]:
    if section.title:
        yield ""
        yield styled(section.title, style="bold")
    for block in section.blocks:
        yield from _block(block, width)


def _block(block: Block, width: int) -> Iterable[RenderableType]:
    match block:
        case Table():
            yield from _text_table(block, width)
        case Heading(text):
            yield ""
            yield styled(text, style="bold")
        case Items(texts, heading, all_of_them, more):
            if texts:
                yield ""
                yield from [styled(heading, style="bold")] if heading else []
                yield from bullets(some_of(texts, len(texts) if all_of_them else MOST_ITEMS))
            yield from [styled(more, style="dim")] if more else []
        case Words(text, aside):
            yield ""
            yield styled(text, style="dim" if aside else "")
        case Pairs(heading, rows):
            yield ""
            yield styled(heading)
            yield Padding(pairs((styled(name), styled(words)) for name, words in rows), (0, 0, 0, 2))
        case Dump(title, lines):
            yield styled(title, style="dim")
            yield from map(styled, lines)
        case _:
            return  # the page alone has it


def _text_table(table: Table, width: int) -> Iterable[RenderableType]:
    yield ""
    yield styled(table.title, style="bold")
    if table.where_it_fits and table.width() > width:
        return
    for columns in table.fitting(width):
        yield ""
        yield _columns(table, columns)
    if table.notes:
        yield Padding(styled(" ".join(table.notes), style="dim"), (1, 0, 0, 0))


def _columns(table: Table, columns: Sequence[int]) -> RichTable:
    """The names of a table's rows, and some of its columns."""
    above: list[tuple[str, ...]] = []
    shown = grid()
    shown.add_column(overflow="fold")
    for _ in columns:
        shown.add_column(justify="right", no_wrap=True)
    heads_of = [reversed(table.heads[column].split("\n")) for column in columns]
    for heads in zip_longest(*heads_of, fillvalue=""):
        above.insert(0, heads)
    for heads in above:
        shown.add_row(Text(""), *(styled(head, style="bold") for head in heads))
    for name, *every in table.rows:
        cells = (every[column] for column in columns)
        shown.add_row(
            styled(name),
            *(styled(cell, style="dim" if {ALIKE, UNKNOWN} & set(cell) else "") for cell in cells),
        )
    return shown


def _group(group: Group, document: RunDocument, width: int) -> Iterable[RenderableType]:
    yield ""
    yield styled(capitalised(group.label), style="bold")
    yield ""
    yield from _folded(group, width)
    yield Padding(
        styled(
            facts.noise_words(group, document.design.deciding_outcome, document.design.alike_within),
            style="dim",
        ),
        (1, 0, 0, 0),
    )


def _folded(group: Group, width: int) -> Iterable[RenderableType]:
    """The group's table; columns that have no room beside the others go to further tables below.

    None where no trial was valid: then each case has the reason alone.
    """
    labels = [Text(""), Text(""), *(styled(row.label) for row in group.rows)]
    room = width - min(_width(labels), width // 2)
    columns = [_columns_of(column, group) for column in main_columns(group)]
    bundles = side_by_side((sum(GAP + _width(cells) for cells in own) for own in columns), room)
    for place, bundle in enumerate(bundles if columns else ()):
        if place:
            yield ""
        yield _table(labels, [cells for column in bundle for cells in columns[column]], most=width - room)
    yield from (
        styled(f"{row.label}: {row.why_empty()}", style="yellow")
        for row in group.rows
        if not row.findings and not row.unpaired
    )


def _table(labels: Cells, bundle: Sequence[Cells], *, most: int) -> RichTable:
    """The columns beside the labels, which are broken into lines of at most so many characters."""
    table = grid()
    table.add_column(max_width=most)
    for _ in bundle:
        table.add_column(justify="right", no_wrap=True)
    for cells in zip(labels, *bundle, strict=True):
        table.add_row(*cells)
    return table


def _columns_of(column: Column, group: Group) -> list[Cells]:
    """An outcome's values, and beside them its changes; the deciding column shows their intervals too."""
    is_first = column.outcome == group.main_outcomes()[0]
    above, _, below = column.head.rpartition(" ")
    heads = [styled(above, style="bold"), styled(f"{below} {column.unit}".rstrip(), style="bold")]
    values = [*heads, *(styled(cell.value) for cell in column.cells)]
    changes = [_change(cell, column.outcome, with_interval=is_first) for cell in column.cells]
    if not (is_first or column.outcome.endswith("_cpu_us_per_op")) or not any(changes):
        return [values]
    heads = [styled("against", style="bold"), styled(group.baseline_label, style="bold")]
    if not is_first:
        heads = [Text(""), styled("change", style="bold")]
    return [values, [*heads, *changes]]


def _change(cell: Cell, outcome: str, *, with_interval: bool) -> Text:
    if not cell.change:
        return Text("")
    text = f"{cell.change} [{cell.interval}]" if with_interval and cell.interval else cell.change
    if cell.mark:
        return styled(f"{text} {cell.mark}", style="dim")
    known = OUTCOMES.get(outcome)
    if known is None or known.lower_is_better is None:
        return styled(f"{text}  ")
    is_worse = (cell.judgement == "higher") == known.lower_is_better
    return styled(f"{text}  ", style="red" if is_worse else "green")


def _width(cells: Iterable[Text]) -> int:
    return max((cell_len(cell.plain) for cell in cells), default=0)


def _negotiated(groups: Sequence[Group]) -> RichTable:
    """What each case negotiated, once for all groups in which it is the same."""
    rows: dict[tuple[str, str], None] = {}
    for group in groups:
        rows |= {(row.label, row.treatment_seen): None for row in group.rows if row.treatment_seen}
    return pairs((styled(label), styled(said, style="dim")) for label, said in rows)


def _facts(found: Iterable[facts.Fact]) -> RichTable:
    return pairs((styled(fact.name, style="bold"), styled(fact.text)) for fact in found)
