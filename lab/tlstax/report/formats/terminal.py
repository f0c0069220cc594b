"""A run as text for a terminal: in brief on one screen, or all of it.

Forty lines of 80 columns hold what `tlstax run` finds unasked: the answer, its tables, a line of proof and of
each caveat. Everything else is one command away, which is named below: no caveat is dropped without being
counted. The long form has every topic and group, and what is needed to judge it. Both are readable without
colour: nothing is said by colour alone, and columns that do not fit beside each other come in a second table
below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from rich.cells import cell_len
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from tlstax.records.trial import OTHERS_RAN, StoredRun
from tlstax.report.overview import (
    after_groups,
    before_groups,
    last_section,
    leaves_groups_out,
    where_the_rest_is,
)
from tlstax.results.document import RunDocument
from tlstax.stats.wording import capitalised, percent
from tlstax.study.outcomes import OUTCOMES
from tlstax.support.text import counted, enumerated, some_of
from tlstax.topics import hello_retry, statements
from tlstax.topics.answer.caveats import NOT_REACHED
from tlstax.topics.answer.headline import headline
from tlstax.topics.core import facts, figures
from tlstax.topics.core.figures import ALIKE, UNKNOWN
from tlstax.topics.core.groups import Cell, Column, Group, arranged, cell, main_columns
from tlstax.topics.core.outcome_names import title
from tlstax.topics.core.printed import bullets, grid, pairs, printed, styled
from tlstax.topics.core.section import Block, Dump, Heading, Items, Pairs, Section, Words, opened
from tlstax.topics.core.table import GAP, Table, side_by_side
from tlstax.topics.published import notes as published_notes

NARROWEST = 40
MOST_ITEMS = 12
MOST_FINDINGS = 400
"""With more findings, a study that has tables of distances or tunnels leaves its cases to the page."""

MOST_TABLES = 2
"""In brief, more groups of cases than this share one table."""

MOST_NOTES = 3
"""In brief, this many things to bear in mind have a line; the last line counts the others."""

NOTE = "Note"
HELLO_RETRY_PAGE, READING_PAGE = "docs/hello-retry.md", "docs/reading-results.md"

Cells = Sequence[Text]


def terminal(  # noqa: PLR0913 (how it is to look, by name)
    stored: StoredRun,
    document: RunDocument,
    *,
    brief: bool = False,
    width: int = 80,
    colour: bool = False,
    report_path: str = "",
) -> str:
    """The text, at most `width` (from 40 on) columns wide, with ANSI colours where `colour` is true.

    `report_path` is where the full report was written, named at the end.
    """
    width = max(width, NARROWEST)
    parts = _parts(stored, document, width, report_path, brief=brief)
    return printed(parts, width=width, colour=colour)


def printed_sections(sections: Iterable[Section], *, width: int = 80, colour: bool = False) -> str:
    """Sections by themselves, at most `width` (from 40 on) columns wide."""
    width = max(width, NARROWEST)
    _, *parts = _sections(sections, width)
    return printed(parts, width=width, colour=colour)


def _parts(
    stored: StoredRun, document: RunDocument, width: int, report_path: str, *, brief: bool
) -> Iterator[RenderableType]:
    yield styled(stored.header.study.title, style="bold")
    yield ""
    answer = headline(document) if document.findings else [facts.nothing_to_show(stored)]
    yield from bullets(some_of([*map(capitalised, answer)], MOST_ITEMS))
    if brief and (precision := precision_words(document)):
        yield styled(precision, style="dim")
    yield from _sections(before_groups(document, brief=brief), width)
    groups = _shown_groups(stored, document) if document.findings else ()
    answers = [outcome for group in groups for outcome in group.answers()]
    if brief and len(groups) > MOST_TABLES and answers:
        yield from _sections([Section((_together(groups, answers[0]),))], width)
    else:
        yield from chain.from_iterable(_group(group, document, width, brief=brief) for group in groups)
    if document.findings and not (brief and groups):
        yield ""
        yield _negotiated(groups) if groups else styled(where_the_rest_is(document))
    yield from _sections(after_groups(document, brief=brief), width)
    yield ""
    if brief:
        yield from _last_lines(stored, document, groups, width, report_path)
        return
    known = facts.facts(stored, document).items()
    yield pairs((styled(name, style="bold"), styled(text)) for name, text in known)
    yield from _sections([last_section(stored, document)], width)
    if report_path:
        yield ""
        yield styled(f"Report: {report_path}", overflow="fold")


def _shown_groups(stored: StoredRun, document: RunDocument) -> tuple[Group, ...]:
    """The groups of cases, unless the study is shown as a whole."""
    many = len(document.findings) > MOST_FINDINGS and bool({"distance", "tunnels"} & document.topics.keys())
    return () if leaves_groups_out(document) or many else arranged(stored, document)


def _sections(sections: Iterable[Section], width: int) -> Iterator[RenderableType]:
    """The title and the blocks of each; nothing of one whose blocks say nothing here."""
    for section in sections:
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


def _shortened(items: Items) -> list[str]:
    return list(some_of(items.texts, len(items.texts) if items.all_of_them else MOST_ITEMS))


def _block(block: Block, width: int) -> Iterator[RenderableType]:
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


def _text_table(table: Table, width: int) -> Iterator[RenderableType]:
    if table.title:
        yield ""
        yield styled(table.title, style="bold")
    if table.where_it_fits and table.width() > width:
        return
    lines = table.lines(roomy=False)
    for columns in table.fitting(width):
        yield ""
        heads = [table.heads[column].split("\n") for column in columns]
        depth = max(map(len, heads), default=0)
        shown = grid()
        shown.add_column(overflow="fold")
        for _ in columns:
            shown.add_column(justify="right", no_wrap=True)
        for row in zip(*([""] * (depth - len(head)) + head for head in heads), strict=True):
            shown.add_row(Text(""), *(styled(head, style="bold") for head in row))
        for name, *every in lines:
            cells = (every[column] for column in columns)
            styles = (styled(text, style="dim" if {ALIKE, UNKNOWN} & set(text) else "") for text in cells)
            shown.add_row(styled(name), *styles)
        yield shown
    if table.notes:
        yield Padding(styled(" ".join(table.notes), style="dim"), (1, 0, 0, 0))


def _group(group: Group, document: RunDocument, width: int, *, brief: bool) -> Iterator[RenderableType]:
    """The group's table, and why cases have no figures.

    No table where no trial was valid: then each case has the reason alone.
    """
    design, columns = document.design, main_columns(group)
    labels = [Text(""), Text(""), *(styled(row.label) for row in group.rows)]
    room = width - min(_width_of(labels), width // 2)
    yield ""
    if brief:
        floors = [floor for own in group.answers()[:1] if (floor := group.noise_floor(own)) is not None]
        noise = f" (noise floor ±{percent(floors[0])})" if floors else ""
        yield styled(f"{capitalised(group.label)}{noise}", style="bold")
        bundles = _chosen(columns, group, room) if group.found() and columns else []
    else:
        yield styled(capitalised(group.label), style="bold")
        yield ""
        bundles = [_columns_of(column, group) for column in columns]
    yield from _beside_labels(labels, bundles, room, most=width - room)
    for row in group.rows:
        if not row.findings and not row.unpaired:
            yield styled(f"{row.label}: {row.why_empty()}", style="yellow")
    if not brief:
        words = facts.noise_words(group, design.deciding_outcome, design.alike_within)
        yield Padding(styled(words, style="dim"), (1, 0, 0, 0))


def _beside_labels(
    labels: Cells, bundles: Sequence[Sequence[Cells]], room: int, *, most: int
) -> Iterator[RenderableType]:
    """The columns beside the labels (broken into lines of at most `most`), in as many tables as it takes.

    Columns in one bundle stay beside each other. One that is too wide even by itself loses the blanks within
    its intervals.
    """
    fitted = [bundle if _taken(bundle) <= room else [*map(_tight, bundle)] for bundle in bundles]
    for place, own in enumerate(side_by_side(map(_taken, fitted), room) if fitted else ()):
        if place:
            yield ""
        columns = [cells for bundle in own for cells in fitted[bundle]]
        table = grid()
        table.add_column(max_width=most)
        for _ in columns:
            table.add_column(justify="right", no_wrap=True)
        for cells in zip(labels, *columns, strict=True):
            table.add_row(*cells)
        yield table


def _tight(cells: Cells) -> Cells:
    """The cells without the blanks within their intervals."""
    return [Text(cell.plain.replace(" … ", "…"), style=cell.style) for cell in cells]


def _chosen(columns: Sequence[Column], group: Group, room: int) -> list[list[Cells]]:
    """What was asked for, and of the rest what there is room for beside it, in the order of the columns.

    What does not fit beside each other comes below, the values of an outcome beside its changes.
    """
    asked = [
        [_value_cells(column), _change_cells(column, group.baseline_label)]
        for column in columns
        if column.is_answer
    ]
    shown: list[Cells] = [*chain.from_iterable(asked)]
    if _taken(shown) > room:
        bundles = [[*map(_tight, bundle)] for bundle in asked]
        shown = [*chain.from_iterable(bundles)]
        return bundles if _taken(shown) > room else [shown]
    left = room - _taken(shown)
    others = [column for column in columns if not column.is_answer]
    kept: dict[str, Cells] = {}
    for column in sorted(others, key=_rank):
        cells = _other_cells(column, group)
        if _taken([cells]) <= left:
            kept[column.outcome] = cells
            left -= _taken([cells])
    return [[*shown, *(kept[column.outcome] for column in others if column.outcome in kept)]]


def _rank(column: Column) -> int:
    """Which other columns are wanted most: the server's CPU time, the tail of latencies, then all others."""
    wanted = ("server_cpu_us_per_op", "latency_p99_us", "latency_p50_us", "client_cpu_us_per_op")
    return wanted.index(column.outcome) if column.outcome in wanted else len(wanted)


def _other_cells(column: Column, group: Group) -> Cells:
    """CPU time by its changes, everything else by its values."""
    if not _shows_change(column):
        return _value_cells(column)
    return [*_heads(column), *_change_cells(column, group.baseline_label)[2:]]


def _heads(column: Column, unit: str = "") -> list[Text]:
    """The outcome's name in two lines, the unit behind it."""
    above, _, below = column.head.rpartition(" ")
    return [styled(above, style="bold"), styled(f"{below} {unit}".rstrip(), style="bold")]


def _columns_of(column: Column, group: Group) -> list[Cells]:
    """An outcome's values, and beside them its changes; those that were asked for show their intervals."""
    values = _value_cells(column)
    return [values, _change_cells(column, group.baseline_label)] if _shows_change(column) else [values]


def _shows_change(column: Column) -> bool:
    wanted = column.is_answer or column.outcome.endswith("_cpu_us_per_op")
    return wanted and any(cell.change for cell in column.cells)


def _value_cells(column: Column) -> Cells:
    """The outcome's name and unit, and below them its values."""
    return [*_heads(column, column.unit), *(styled(cell.value) for cell in column.cells)]


def _change_cells(column: Column, baseline: str) -> Cells:
    """The changes against the baseline; with their intervals, and its name, where they were asked for."""
    heads = ("against", baseline) if column.is_answer else ("", "change")
    changes = (_change(cell, column) for cell in column.cells)
    return [*(styled(head, style="bold") for head in heads), *changes]


def _change(cell: Cell, column: Column) -> Text:
    if not cell.change:
        return Text("")
    text = f"{cell.change} {cell.interval}" if column.is_answer and cell.interval else cell.change
    if cell.mark:
        return styled(f"{text} {cell.mark}", style="dim")
    known = OUTCOMES.get(column.outcome)
    if known is None or known.lower_is_better is None:
        return styled(f"{text}  ")
    is_worse = (cell.judgement == "higher") == known.lower_is_better
    return styled(f"{text}  ", style="red" if is_worse else "green")


def _width_of(cells: Cells) -> int:
    """How many columns of characters the widest of these takes."""
    return max((cell_len(cell.plain) for cell in cells), default=0)


def _taken(bundle: Iterable[Cells]) -> int:
    """How many columns of characters these take beside each other."""
    return sum(GAP + _width_of(cells) for cells in bundle)


def _negotiated(groups: Sequence[Group]) -> RichTable:
    """What each case negotiated, once for all groups in which it is the same."""
    rows = dict.fromkeys(
        (row.label, row.treatment_seen) for group in groups for row in group.rows if row.treatment_seen
    )
    return pairs((styled(label), styled(said, style="dim")) for label, said in rows)


def _together(groups: Sequence[Group], outcome: str) -> Table:
    """One table of this outcome in each group, a line a group, where they are many."""
    rows = [row for group in groups for row in group.rows if row.case.role == "treatment"]
    heads = tuple(dict.fromkeys(row.label for row in rows))
    lines = []
    for group in groups:
        cells = {row.label: cell(row, outcome) for row in group.rows}
        changes = (f"{own.change} {own.mark}".rstrip() if (own := cells.get(head)) else "" for head in heads)
        lines.append((capitalised(group.label), *(change or figures.NOTHING for change in changes)))
    baselines = enumerated(sorted({group.baseline_label for group in groups}))
    return Table(f"{title(outcome)} against {baselines}", heads, tuple(lines), (), literal=True)


def precision_words(document: RunDocument) -> str:
    """How well the worst known ratio is known beside how well was wanted, and what ended the run.

    Empty for predictions: each mix is measured for as long as there is time.
    """
    outcome = document.design.deciding_outcome
    compared = [f for f in document.findings if f.outcome == outcome and f.role != "baseline"]
    widths = [found.ratio.half_width for found in compared]
    known = [width for width in widths if width is not None]
    if not compared or "validation" in document.topics:
        return ""
    wanted = f"±{percent(document.design.precision)} wanted"
    blocks = counted(max(found.ratio.blocks for found in compared), "block")
    why = document.stopped_because.partition(";")[0]
    ended = f"; {why}" if document.status == "complete" and why.startswith("the budget") else ""
    if len(known) < len(widths):
        return f"Precision: not known of one block, {wanted}{ended}"
    worst = max(known)
    reached = f"±{percent(worst)} reached" if worst <= 1 else "not even ±100 % reached"
    return f"Precision: {reached}, {wanted}, {blocks}{ended}"


def _last_lines(
    stored: StoredRun, document: RunDocument, groups: Sequence[Group], width: int, report_path: str
) -> Iterator[RenderableType]:
    """What the tables rest on, what bears on them, and where everything else is; a line each."""
    bears = notes(stored, document)
    lines = [
        ("Marks", _marks_words(groups, document.design.alike_within)),
        ("Proof", _proof_words(stored, document)),
        ("Server", facts.server_words(stored)),
        ("Machine", _machine_words(stored)),
        ("TLS 1.3", _retries_words(document)),
        *((NOTE, note) for note in bears[:MOST_NOTES]),
    ]
    known = [(name, text) for name, text in lines if text]
    room = width - GAP - max((len(name) for name, _ in known), default=0)
    yield pairs(
        (
            styled(name, style="bold"),
            styled(_clipped(text, room) if name == NOTE else text, overflow="fold"),
        )
        for name, text in known
    )
    left = len(bears) - MOST_NOTES
    more = f"{counted(left, 'more note')}, everything else" if left > 0 else "Everything else"
    if report_path:
        yield styled(f"Report: {report_path}", overflow="fold")
    yield styled(f"{more}: tlstax report {document.run} -v", style="dim")


def _marks_words(groups: Sequence[Group], within: float) -> str:
    """What the marks of the tables mean, of those that are there; `within` is the factor of what is alike."""
    marks = {ALIKE: f"alike within {percent(within - 1)}", UNKNOWN: "inconclusive"}
    shown = {
        figures.mark(finding.judgement)
        for group in groups
        for row in group.rows
        for finding in row.findings.values()
        if finding.outcome in group.answers() or finding.outcome.endswith("_cpu_us_per_op")
    }
    said = [f"{mark} {words}" for mark, words in marks.items() if mark in shown]
    return f"{', '.join(said)} ({READING_PAGE})" if said else ""


def _proof_words(stored: StoredRun, document: RunDocument) -> str:
    """How many trials were proved to be what they claim to be, and what they negotiated.

    Those in which locks were counted are not among them: how many of these were left out is said beside.
    """
    counts = document.trials
    number = counts.valid + counts.invalid + counts.unknown
    if not number:
        return ""
    every = (said for finding in document.findings for said in finding.negotiated.split("; "))
    negotiated = [said for said in dict.fromkeys(map(_version, every)) if said]
    seen = f"; negotiated: {', '.join(negotiated)}" if negotiated else ""
    out = [f"{counts.invalid:,} invalid"] if counts.invalid else []
    out += [f"{counts.unknown:,} unknown"] if counts.unknown else []
    left_out = f" ({enumerated(out)}, left out)" if out else ""
    valid = f"{counts.valid:,} of {counted(f'{number:,}', 'trial')} valid{left_out}"
    return f"{valid}{_counting_words(stored)}{seen}"


def _counting_words(stored: StoredRun) -> str:
    """How many of the trials in which locks were counted are not valid; empty where all are."""
    lost = sum(not record.is_valid for record in stored.counted)
    return f"; {lost:,} of {len(stored.counted):,} that counted locks left out" if lost else ""


def _version(negotiated: str) -> str:
    """The version of TLS, and whether sessions were resumed; empty in plaintext."""
    version = negotiated.partition(" ")[0]
    resumed = " resumed" if ", resumed" in negotiated else ""
    return f"{version}{resumed}" if version.startswith("TLSv") else ""


def _machine_words(stored: StoredRun) -> str:
    """The machine in few words, or how many there were."""
    header = stored.header
    if len(header.all_machines) > 1:
        return f"{len(header.all_machines)} machines"
    words = facts.machine_words(header.machine).split(", ")
    return ", ".join([*words[:2], *(word for word in words[2:] if "on CPU" in word)])


def _retries_words(document: RunDocument) -> str:
    """That handshakes met a HelloRetryRequest, and the page that says what it is; empty where none did."""
    if hello_retry.is_answer(document):
        return ""
    kinds = document.rows_of("hello_retry", role=hello_retry.KIND)
    made = round(sum(kind.baseline_amount for kind in kinds))
    retried = round(sum(kind.amount for kind in kinds))
    how_many = hello_retry.share(retried, made) if retried else ""
    return f"HelloRetryRequest in {how_many} handshakes ({HELLO_RETRY_PAGE})" if retried else ""


def notes(stored: StoredRun, document: RunDocument) -> list[str]:
    """What to bear in mind, but for the precision, which stands with the answer."""
    machines = stored.header.all_machines.values()
    return [
        *(text for text in document.caveats if not text.startswith(NOT_REACHED)),
        *statements.notes(document),
        *published_notes(document),
        *(note for machine in machines for note in machine.notes if note.startswith(OTHERS_RAN)),
    ]


def _clipped(text: str, room: int) -> str:
    """The text if it fits a line of this room, else its beginning."""
    if len(text) <= room:
        return text
    kept = text[: room - 1].rpartition(" ")[0].rstrip(" ,;:(")
    return f"{kept}…"
