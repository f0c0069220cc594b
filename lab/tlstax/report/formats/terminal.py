"""A run as text for a terminal, all of it: the answer, every topic and group, and what is needed to judge it.

Readable at 80 columns and without colour: nothing is said by colour alone, and columns that do not fit
beside each other come in a second table below. `screen.py` has the short form.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest

from rich.cells import cell_len
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from tlstax.findings.core.outcomes import asks_for_counts, is_large
from tlstax.findings.core.wording import capitalised
from tlstax.records.trial import StoredRun
from tlstax.report.formats.topics import after_groups, before_groups, last_section
from tlstax.report.overview import where_the_rest_is
from tlstax.results.document import RunDocument
from tlstax.study.outcomes import OUTCOMES
from tlstax.support.text import some_of
from tlstax.topics import memory
from tlstax.topics.answer.headline import headline
from tlstax.topics.core import facts
from tlstax.topics.core.figures import ALIKE, UNKNOWN
from tlstax.topics.core.groups import Cell, Column, Group, arranged, main_columns
from tlstax.topics.core.printed import bullets, grid, pairs, printed, styled
from tlstax.topics.core.section import (
    Block,
    Dump,
    Heading,
    Items,
    Pairs,
    Section,
    Words,
    opened,
)
from tlstax.topics.core.table import GAP, Table, side_by_side

NARROWEST = 40
MOST_ITEMS = 12
MOST_FINDINGS = 400
"""With more findings, a study that has tables of distances or tunnels leaves its cases to the page."""

Cells = Sequence[Text]


def terminal(
    stored: StoredRun, document: RunDocument, *, width: int = 80, colour: bool = False, report_path: str = ""
) -> str:
    """The text, at most `width` (from 40 on) columns wide, with ANSI colours where `colour` is true.

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
    for section in before_groups(document):
        yield from section_parts(section, width)
    if document.findings:
        groups = shown_groups(stored, document)
        yield from chain.from_iterable(_group(group, document, width) for group in groups)
        yield ""
        yield _negotiated(groups) if groups else styled(where_the_rest_is(document))
    for section in after_groups(document):
        yield from section_parts(section, width)
    yield ""
    yield _facts(facts.facts(stored, document))
    yield from section_parts(last_section(stored, document), width)
    if report_path:
        yield ""
        yield styled(f"Report: {report_path}", overflow="fold")


def shown_groups(stored: StoredRun, document: RunDocument) -> tuple[Group, ...]:
    """The groups of cases, unless the study is shown as a whole."""
    many = len(document.findings) > MOST_FINDINGS and bool({"distance", "tunnels"} & document.topics.keys())
    of_memory = memory.TOPIC.name in document.topics
    without = is_large(document.design) or asks_for_counts(document.design) or of_memory or many
    return () if without else arranged(stored, document)


def section_parts(section: Section, width: int) -> Iterable[RenderableType]:
    """A topic's title and its blocks; nothing where these say nothing here."""
    parts: list[RenderableType] = []
    for block in opened(section.blocks, roomy=False):
        if isinstance(block, Items) and section.title and not (parts or block.heading):
            parts += bullets(_shortened(block))
        else:
            parts += _block(block, width)
    if section.title and parts:
        yield ""
        yield styled(section.title, style="bold")
    yield from parts


def printed_section(section: Section, *, width: int = 80, colour: bool = False) -> str:
    """A section by itself, at most `width` (from 40 on) columns wide."""
    width = max(width, NARROWEST)
    _, *parts = section_parts(section, width)
    return printed(parts, width=width, colour=colour)


def _shortened(items: Items) -> list[str]:
    return list(some_of(items.texts, len(items.texts) if items.all_of_them else MOST_ITEMS))


def _block(block: Block, width: int) -> Iterable[RenderableType]:
    match block:
        case Table():
            yield from _text_table(block, width)
        case Heading(text):
            yield ""
            yield styled(text, style="bold")
        case Items(texts, heading):
            if texts:
                yield ""
                yield from [styled(heading, style="bold")] if heading else []
                yield from bullets(_shortened(block))
            yield from [styled(block.more, style="dim")] if block.more else []
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
    if table.title:
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
    for name, *every in table.lines(roomy=False):
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
    columns = [columns_of(column, group) for column in main_columns(group)]
    yield from beside_labels(group, columns, width)
    yield from why_empty(group)


def beside_labels(group: Group, columns: Sequence[Sequence[Cells]], width: int) -> Iterable[RenderableType]:
    """The columns beside the names of the group's cases, in as many tables as it takes.

    Columns in one bundle stay beside each other; names give way to what is too wide even by itself.
    """
    labels = [Text(""), Text(""), *(styled(row.label) for row in group.rows)]
    room = width - min(width_of(labels), width // 2)
    fitted = [_fitted(bundle, room) for bundle in columns]
    tables = side_by_side((sum(GAP + width_of(cells) for cells in own) for own in fitted), room)
    for place, bundles in enumerate(tables if fitted else ()):
        if place:
            yield ""
        yield _table(labels, [cells for bundle in bundles for cells in fitted[bundle]], most=width - room)


def _fitted(bundle: Sequence[Cells], room: int) -> Sequence[Cells]:
    """The bundle; where it has no room, without the blanks within its intervals."""
    if sum(GAP + width_of(cells) for cells in bundle) <= room:
        return bundle
    return [[tight(cell) for cell in cells] for cells in bundle]


def tight(cell: Text) -> Text:
    """The cell without the blanks within its interval."""
    return Text(cell.plain.replace(" … ", "…"), style=cell.style)


def why_empty(group: Group) -> Iterable[Text]:
    """Why cases have no figures."""
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


def columns_of(column: Column, group: Group) -> list[Cells]:
    """An outcome's values, and beside them its changes; those that were asked for show their intervals."""
    values = value_cells(column)
    if not (column.is_answer or column.outcome.endswith("_cpu_us_per_op")):
        return [values]
    if not any(cell.change for cell in column.cells):
        return [values]
    return [values, change_cells(column, group.baseline_label)]


def value_cells(column: Column) -> list[Text]:
    """The outcome's name and unit, and below them its values."""
    above, _, below = column.head.rpartition(" ")
    heads = [styled(above, style="bold"), styled(f"{below} {column.unit}".rstrip(), style="bold")]
    return [*heads, *(styled(cell.value) for cell in column.cells)]


def change_cells(column: Column, baseline: str) -> list[Text]:
    """The changes against the baseline; with their intervals, and its name, where they were asked for."""
    heads = ("against", baseline) if column.is_answer else ("", "change")
    changes = (_change(cell, column.outcome, with_interval=column.is_answer) for cell in column.cells)
    return [*(styled(head, style="bold") for head in heads), *changes]


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


def width_of(cells: Iterable[Text]) -> int:
    """How many columns of characters the widest of these takes."""
    return max((cell_len(cell.plain) for cell in cells), default=0)


def _negotiated(groups: Sequence[Group]) -> RichTable:
    """What each case negotiated, once for all groups in which it is the same."""
    rows: dict[tuple[str, str], None] = {}
    for group in groups:
        rows |= {(row.label, row.treatment_seen): None for row in group.rows if row.treatment_seen}
    return pairs((styled(label), styled(said, style="dim")) for label, said in rows)


def _facts(found: Iterable[facts.Fact]) -> RichTable:
    return pairs((styled(fact.name, style="bold"), styled(fact.text)) for fact in found)
