"""A run on one screen of a terminal: the answer, its tables, a line of proof and of each caveat.

Forty lines of 80 columns hold what `tlstax run` finds unasked. Everything else that the long form has
(`terminal.py`) is one command away, which is named below: no caveat is dropped without being counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import RenderableType

from tlstax.findings.core.wording import capitalised, percent
from tlstax.records.trial import OTHERS_RAN, StoredRun
from tlstax.report.formats import terminal
from tlstax.report.formats.terminal import (
    Cells,
    beside_labels,
    change_cells,
    section_parts,
    tight,
    value_cells,
)
from tlstax.report.formats.topics import after_groups_on_screen, before_groups_on_screen
from tlstax.report.overview import notes_of_statements, where_the_rest_is
from tlstax.results.document import RunDocument
from tlstax.support.text import counted, enumerated, some_of
from tlstax.topics import hello_retry
from tlstax.topics.answer.caveats import NOT_REACHED
from tlstax.topics.answer.headline import headline
from tlstax.topics.core import facts, figures
from tlstax.topics.core.groups import Cell, Column, Group, cell, main_columns
from tlstax.topics.core.outcome_names import title
from tlstax.topics.core.printed import bullets, pairs, printed, styled
from tlstax.topics.core.section import Section
from tlstax.topics.core.table import GAP, Table
from tlstax.topics.published import notes as published_notes

MOST_TABLES = 2
"""More groups of cases than this share one table."""

MOST_NOTES = 3
"""So many things to bear in mind have a line; the last line counts the others."""

NOTE = "Note"
HELLO_RETRY_PAGE, READING_PAGE = "docs/hello-retry.md", "docs/reading-results.md"


def screen(
    stored: StoredRun, document: RunDocument, *, width: int = 80, colour: bool = False, report_path: str = ""
) -> str:
    """The text, at most `width` (from 40 on) columns wide, with ANSI colours where `colour` is true.

    `report_path` is where the full report was written.
    """
    width = max(width, terminal.NARROWEST)
    return printed(_parts(stored, document, width, report_path), width=width, colour=colour)


def _parts(
    stored: StoredRun, document: RunDocument, width: int, report_path: str
) -> Iterable[RenderableType]:
    yield styled(stored.header.study.title, style="bold")
    yield ""
    answer = headline(document) if document.findings else [facts.nothing_to_show(stored)]
    yield from bullets(some_of([*map(capitalised, answer)], terminal.MOST_ITEMS))
    if precision := precision_words(document):
        yield styled(precision, style="dim")
    yield from _sections(before_groups_on_screen(document), width)
    groups = terminal.shown_groups(stored, document) if document.findings else ()
    if len(groups) > MOST_TABLES:
        yield from section_parts(Section((_together(groups),)), width)
    else:
        for group in groups:
            yield from _group(group, width)
    if document.findings and not groups:
        yield ""
        yield styled(where_the_rest_is(document))
    yield from _sections(after_groups_on_screen(document), width)
    yield ""
    yield from _last_lines(stored, document, groups, width, report_path)


def _sections(sections: Iterable[Section], width: int) -> Iterator[RenderableType]:
    for section in sections:
        yield from section_parts(section, width)


def precision_words(document: RunDocument) -> str:
    """How well the worst known ratio is known beside how well was wanted, and what ended the run."""
    outcome = document.design.deciding_outcome
    compared = [f for f in document.findings if f.outcome == outcome and f.role != "baseline"]
    widths = [found.ratio.half_width for found in compared]
    known = [width for width in widths if width is not None]
    if not compared or document.design.maximum_blocks is not None:
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


def _group(group: Group, width: int) -> Iterator[RenderableType]:
    yield ""
    floors = [floor for outcome in group.answers()[:1] if (floor := group.noise_floor(outcome)) is not None]
    noise = f" (noise floor ±{percent(floors[0])})" if floors else ""
    yield styled(f"{capitalised(group.label)}{noise}", style="bold")
    columns = main_columns(group) if group.found() else ()
    room = width - min(terminal.width_of([styled(row.label) for row in group.rows]), width // 2)
    yield from beside_labels(group, _chosen(columns, group, room) if columns else [], width)
    yield from terminal.why_empty(group)


def _chosen(columns: Sequence[Column], group: Group, room: int) -> list[list[Cells]]:
    """What was asked for, and of the rest what there is room for beside it, in the order of the columns.

    What does not fit beside each other comes below, the values of an outcome beside its changes.
    """
    answers = [column for column in columns if column.is_answer]
    asked: list[list[Cells]] = [
        [value_cells(column), change_cells(column, group.baseline_label)] for column in answers
    ]
    if _taken(asked) > room:
        asked = [[value, [tight(text) for text in change]] for value, change in asked]
        return asked if _taken(asked) > room else [[cells for bundle in asked for cells in bundle]]
    left = room - _taken(asked)
    others = [column for column in columns if not column.is_answer]
    kept: dict[str, Cells] = {}
    for column in sorted(others, key=_rank):
        cells = _other_cells(column, group)
        if _taken([[cells]]) <= left:
            kept[column.outcome] = cells
            left -= _taken([[cells]])
    beside = [kept[column.outcome] for column in others if column.outcome in kept]
    return [[*(cells for bundle in asked for cells in bundle), *beside]]


def _rank(column: Column) -> int:
    """Which other columns are wanted most: the server's CPU time, the tail of latencies, then all others."""
    wanted = ("server_cpu_us_per_op", "latency_p99_us", "latency_p50_us", "client_cpu_us_per_op")
    return wanted.index(column.outcome) if column.outcome in wanted else len(wanted)


def _other_cells(column: Column, group: Group) -> Cells:
    """CPU time by its changes, everything else by its values."""
    if not column.outcome.endswith("_cpu_us_per_op") or not any(cell.change for cell in column.cells):
        return value_cells(column)
    above, _, below = column.head.rpartition(" ")
    heads = [styled(above, style="bold"), styled(below, style="bold")]
    return [*heads, *change_cells(column, group.baseline_label)[len(heads) :]]


def _taken(bundles: Iterable[Sequence[Cells]]) -> int:
    return sum(GAP + terminal.width_of(cells) for bundle in bundles for cells in bundle)


def _together(groups: Sequence[Group]) -> Table:
    """One table of what was asked for in each group, a line a group, where they are many."""
    outcome = groups[0].answers()[0]
    rows = [row for group in groups for row in group.rows if row.case.role == "treatment"]
    heads = tuple(dict.fromkeys(row.label for row in rows))
    lines = []
    for group in groups:
        cells = {row.label: cell(row, outcome) for row in group.rows}
        lines.append((capitalised(group.label), *(_in_short(cells.get(head)) for head in heads)))
    baselines = enumerated(sorted({group.baseline_label for group in groups}))
    return Table(f"{title(outcome)} against {baselines}", heads, tuple(lines), (), literal=True)


def _in_short(found: Cell | None) -> str:
    if found is None or not found.change:
        return figures.NOTHING
    return f"{found.change} {found.mark}".rstrip()


def _last_lines(
    stored: StoredRun, document: RunDocument, groups: Sequence[Group], width: int, report_path: str
) -> Iterator[RenderableType]:
    """What the tables rest on, what bears on them, and where everything else is; a line each."""
    bears = notes(stored, document)
    lines = [
        ("Marks", marks_words(groups, document.design.alike_within)),
        ("Proof", proof_words(document)),
        ("Server", facts.server_words(stored)),
        ("Machine", _machine_words(stored)),
        ("TLS 1.3", retries_words(document)),
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


def marks_words(groups: Sequence[Group], within: float) -> str:
    """What the marks of the tables mean, of those that are there; `within` is the factor of what is alike."""
    marks = {figures.ALIKE: f"alike within {percent(within - 1)}", figures.UNKNOWN: "inconclusive"}
    found = [(group, finding) for group in groups for row in group.rows for finding in row.findings.values()]
    shown = {figures.mark(each.judgement) for group, each in found if _shows_change(each.outcome, group)}
    said = [f"{mark} {words}" for mark, words in marks.items() if mark in shown]
    return f"{', '.join(said)} ({READING_PAGE})" if said else ""


def _shows_change(outcome: str, group: Group) -> bool:
    return outcome in group.answers() or outcome.endswith("_cpu_us_per_op")


def proof_words(document: RunDocument) -> str:
    """How many trials were proved to be what they claim to be, and what they negotiated."""
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
    return f"{counts.valid:,} of {counted(f'{number:,}', 'trial')} valid{left_out}{seen}"


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


def retries_words(document: RunDocument) -> str:
    """That handshakes met a HelloRetryRequest, and the page that says what it is; empty where none did."""
    if hello_retry.is_answer(document) or "hello_retry" not in document.topics:
        return ""
    kinds = document.topics["hello_retry"].of(role=hello_retry.KIND)
    made = round(sum(kind.baseline_value or 0.0 for kind in kinds))
    retried = round(sum(kind.value or 0.0 for kind in kinds))
    how_many = hello_retry.share(retried, made)
    return f"HelloRetryRequest in {how_many} handshakes ({HELLO_RETRY_PAGE})" if retried else ""


def notes(stored: StoredRun, document: RunDocument) -> list[str]:
    """What to bear in mind, but for the precision, which stands with the answer."""
    machines = stored.header.all_machines.values()
    return [
        *(text for text in document.caveats if not text.startswith(NOT_REACHED)),
        *notes_of_statements(document),
        *published_notes(document),
        *(note for machine in machines for note in machine.notes if note.startswith(OTHERS_RAN)),
    ]


def _clipped(text: str, room: int) -> str:
    """The text if it fits a line of this room, else its beginning."""
    if len(text) <= room:
        return text
    kept = text[: room - 1].rpartition(" ")[0].rstrip(" ,;:(")
    return f"{kept}…"
