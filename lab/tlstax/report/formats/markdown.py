"""A run as Markdown with GitHub's tables, short enough to paste into an issue."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tlstax.findings.answer.headline import headline
from tlstax.findings.connect.words import asks_for_counts
from tlstax.findings.core.scope import is_large
from tlstax.findings.core.wording import capitalised
from tlstax.findings.explain.rank import by_rank
from tlstax.records.trial import StoredRun
from tlstax.report.agreement import lines as agreements
from tlstax.report.connect import captures
from tlstax.report.connect.round_trips import short_tables
from tlstax.report.connect.storms import short_storm_tables
from tlstax.report.core import facts
from tlstax.report.core.figures import ALIKE
from tlstax.report.core.groups import Group, arranged
from tlstax.report.core.table import Table
from tlstax.report.core.tables import Cell, Column, main_columns
from tlstax.report.core.untrusted import printable
from tlstax.report.distance.tables import distance_sentences, distance_tables
from tlstax.report.distance.tunnels import tunnel_tables
from tlstax.report.drivers.tables import driver_tables
from tlstax.report.explain.tables import component_groups, component_text
from tlstax.report.hello_retry import section as hello_retry
from tlstax.report.overview.grids import wants_overview
from tlstax.report.overview.text import notes_of_statements, tables, where_the_rest_is
from tlstax.report.published import figures as published_figures
from tlstax.report.published import text as table_text
from tlstax.results.document import RunDocument
from tlstax.results.published_tables import Tables

MOST_ITEMS = 12

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~!])")


def markdown(stored: StoredRun, document: RunDocument) -> str:
    """The answer, a table for each group, and what a reader needs to judge it."""
    parts = [
        f"## {escaped(stored.header.study.title)}",
        _bullets(_first([capitalised(sentence) for sentence in headline(document)], document)),
    ]
    if document.tables is not None:
        parts += _tables(document.tables)
    if document.findings:
        parts += _compared(stored, document)
    else:
        parts.append(escaped(facts.nothing_to_show(stored)))
    parts += [*_hello_retries(document), *_captures(document)]
    for group in component_groups(document):
        parts += _overview_table(component_text(group))
        parts.append(_bullets(capitalised(found.sentences[0]) for found in by_rank(group.explanations)))
    parts += ["**What ran**", _bullets(f"{fact.name}: {fact.text}" for fact in facts.facts(stored, document))]
    failures = [failure.sentence() for failure in facts.failures(stored)]
    if failures:
        parts += ["**Trials that were not used**", _bullets(_first(failures, document))]
    caveats = [*notes_of_statements(document), *published_figures.notes(document), *document.caveats]
    if caveats:
        parts += ["**Bear in mind**", _bullets(_first(caveats, document))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _compared(stored: StoredRun, document: RunDocument) -> list[str]:
    """What has valid trials to be compared: at a glance, beside what was published, group by group."""
    parts = []
    if wants_overview(document.design):
        parts += [part for table in tables(document) for part in _overview_table(table)]
    if document.published:
        parts += _published(document)
    if document.agreements:
        parts += _agreements(document)
    parts.append(_bullets(capitalised(said) for said in distance_sentences(document.distances)))
    reached = (
        *distance_tables(document.distances),
        *tunnel_tables(document.tunnels),
        *driver_tables(document.drivers),
    )
    parts += [part for table in reached for part in _overview_table(table)]
    counted = (*short_storm_tables(document), *short_tables(document))
    parts += [part for table in counted for part in _overview_table(table)]
    if is_large(document.design) or asks_for_counts(document):
        return [*parts, escaped(where_the_rest_is(document))]
    return [*parts, *(part for group in arranged(stored, document) for part in _group(group, document))]


def escaped(text: str) -> str:
    """Text in which nothing is taken for Markdown or HTML, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(printable(text).split()))


def _first(texts: list[str], document: RunDocument) -> list[str]:
    """All of them, but of a large study only the first, and how many more there are."""
    more = len(texts) - MOST_ITEMS
    return [*texts[:MOST_ITEMS], f"and {more} more"] if is_large(document.design) and more > 0 else texts


def _overview_table(table: Table) -> list[str]:
    rows = ([escaped(cell) for cell in row] for row in table.rows)
    heads = [table.of, *(escaped(head) for head in table.heads)]
    return [f"### {escaped(table.title)}", _table(heads, rows), escaped(" ".join(table.notes))]


def _published(document: RunDocument) -> list[str]:
    heads = ["figure", *published_figures.HEADS]
    rows = ([escaped(line.label), *map(escaped, line.cells)] for line in published_figures.lines(document))
    return [
        f"### {escaped(published_figures.TITLE)}",
        _table(heads, rows),
        escaped(published_figures.sources(document)),
    ]


def _tables(tables: Tables) -> list[str]:
    """Published tables beside ours, whole."""
    parts = [
        f"### {escaped(table_text.TITLE)}",
        _bullets(capitalised(said) for said in table_text.verdicts(tables)),
        "**What the text says of its tables**",
        _bullets(table_text.every_claim(tables)),
        "**What is wrong with the tables by themselves**",
        _bullets(table_text.every_fault(tables)) or "Nothing was found.",
        "**Parts**",
        _bullets([*table_text.parts_words(tables), *table_text.readings(tables)]),
    ]
    for table in (*table_text.time_tables(tables), *table_text.whole_tables(tables)):
        parts += _overview_table(table)
    return parts


def _agreements(document: RunDocument) -> list[str]:
    rows = (
        [escaped(f"{line.quantity}: {line.case}"), escaped(cell.client), escaped(cell.words)]
        for line in agreements.lines(document)
        for cell in line.cells
    )
    return [
        f"### {escaped(agreements.TITLE)}",
        _table(["case", "client", "measured"], rows),
        _bullets(capitalised(sentence) for sentence in agreements.differences(document)),
        escaped(agreements.READING),
    ]


def _hello_retries(document: RunDocument) -> list[str]:
    found = document.hello_retries
    if found is None:
        return []
    parts = [f"### {escaped(hello_retry.TITLE)}", _bullets(hello_retry.sentences(document))]
    if found.remedy:
        parts += [f"**{hello_retry.AVOIDED}**", _bullets(map(capitalised, hello_retry.advice(found)))]
    tables = hello_retry.case_tables(found, document)
    return [*parts, *(part for table in tables for part in _overview_table(table))]


def _captures(document: RunDocument) -> list[str]:
    """What crossed the wire, with the first bytes as they are in a terminal."""
    parts = [part for table in captures.short_tables(document.captures) for part in _overview_table(table)]
    parts.append(_bullets(captures.notes(document.captures)))
    for case in captures.short_dumps(document.captures):
        parts.append(escaped(f"{capitalised(case.label)}: {case.says}"))
        for dump in case.dumps:
            parts += [escaped(dump.title), "\n".join(("```", *dump.lines, "```"))]
    return parts


def _group(group: Group, document: RunDocument) -> list[str]:
    columns = main_columns(group)
    heads = [
        "case",
        *(f"{column.head} ({column.unit})" if column.unit else column.head for column in columns),
    ]
    rows = [
        [escaped(row.label), *_cells(columns, place)] if row.findings or row.unpaired else
        [escaped(row.label), escaped(row.why_empty()), *[""] * (len(columns) - 1)]
        for place, row in enumerate(group.rows)
    ]  # fmt: skip
    noise = facts.noise_words(group, document.design.deciding_outcome)
    said = (f"{row.label}: {row.treatment_seen}" for row in group.rows if row.treatment_seen)
    title = f"### {escaped(capitalised(group.label))}"
    return [title, _table(heads, rows), escaped(noise), _bullets(said)]


def _cells(columns: Sequence[Column], place: int) -> list[str]:
    return [_cell(column.cells[place], first=column is columns[0]) for column in columns]


def _cell(cell: Cell, *, first: bool) -> str:
    """The value and its change; the first column, which decides, also shows the interval."""
    if not cell.change:
        return cell.value
    interval = f" [{cell.interval}]" if first and cell.interval else ""
    mark = f" {ALIKE}" if cell.alike else ""
    return f"{cell.value} ({cell.change}{interval}{mark})"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rules = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rules, *rows))


def _bullets(texts: Iterable[str]) -> str:
    return "\n".join(f"- {escaped(text)}" for text in texts)
