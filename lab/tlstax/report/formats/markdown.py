"""A run as Markdown with GitHub's tables, short enough to paste into an issue."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tlstax.findings.core.outcomes import asks_for_counts, is_large, is_of_load_client
from tlstax.findings.core.wording import capitalised
from tlstax.records.trial import StoredRun
from tlstax.report.formats.topics import after_groups, before_groups, last_section
from tlstax.report.overview import where_the_rest_is
from tlstax.results.document import RunDocument
from tlstax.topics.answer.headline import headline
from tlstax.topics.core import facts
from tlstax.topics.core.groups import Cell, Column, Group, arranged, main_columns
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
from tlstax.topics.core.table import Table
from tlstax.topics.core.untrusted import printable

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~!])")


def markdown(stored: StoredRun, document: RunDocument) -> str:
    """The answer, a table for each group, and what a reader needs to judge it."""
    parts = [
        f"## {escaped(stored.header.study.title)}",
        _bullets(facts.shortened([*map(capitalised, headline(document))], document.design)),
    ]
    parts += _sections(before_groups(document))
    if document.findings:
        parts += _cases(stored, document)
    else:
        parts.append(escaped(facts.nothing_to_show(stored)))
    parts += _sections(after_groups(document))
    parts += ["**What ran**", _bullets(f"{fact.name}: {fact.text}" for fact in facts.facts(stored, document))]
    parts += _sections([last_section(stored, document, shortened=True)])
    return "\n\n".join(part for part in parts if part) + "\n"


def _cases(stored: StoredRun, document: RunDocument) -> list[str]:
    """The groups of cases, or where to find them."""
    told_whole = asks_for_counts(document.design) or is_of_load_client(document.design)
    if is_large(document.design) or told_whole:
        return [escaped(where_the_rest_is(document))]
    return [part for group in arranged(stored, document) for part in _group(group, document)]


def _sections(sections: Iterable[Section]) -> list[str]:
    parts = []
    for section in sections:
        own = [part for block in opened(section.blocks, roomy=True) for part in _block(block)]
        parts += [f"### {escaped(section.title)}"] if section.title and any(own) else []
        parts += own
    return parts


def _block(block: Block) -> Iterator[str]:
    match block:
        case Table():
            yield from _text_table(block)
        case Heading(text):
            yield f"**{text}**"
        case Items(texts, heading):
            yield from [f"**{heading}**"] if heading and texts else []
            yield _bullets(texts)
        case Words(text):
            yield escaped(text)
        case Pairs(heading, rows):
            yield escaped(heading)
            yield _bullets(f"{name}: {words}" for name, words in rows)
        case Dump(title, lines):
            yield escaped(title)
            yield "\n".join(("```", *lines, "```"))
        case _:
            return  # the page alone has it


def escaped(text: str) -> str:
    """Text in which nothing is taken for Markdown or HTML, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(printable(text).split()))


def _text_table(table: Table) -> list[str]:
    rows = ([escaped(cell) for cell in row] for row in table.lines(roomy=True))
    heads = [table.of, *(escaped(head) for head in table.heads)]
    title = [f"### {escaped(table.title)}"] if table.title else []
    return [*title, _table(heads, rows), escaped(" ".join(table.notes))]


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
    noise = facts.noise_words(group, document.design.deciding_outcome, document.design.alike_within)
    said = (f"{row.label}: {row.treatment_seen}" for row in group.rows if row.treatment_seen)
    title = f"### {escaped(capitalised(group.label))}"
    return [title, _table(heads, rows), escaped(noise), _bullets(said)]


def _cells(columns: Sequence[Column], place: int) -> list[str]:
    return [_cell(column.cells[place], with_interval=column.is_answer) for column in columns]


def _cell(cell: Cell, *, with_interval: bool) -> str:
    """The value and its change; what was asked for also shows the interval."""
    if not cell.change:
        return cell.value
    interval = f" [{cell.interval}]" if with_interval and cell.interval else ""
    mark = f" {cell.mark}" if cell.mark else ""
    return f"{cell.value} ({cell.change}{interval}{mark})"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rules = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rules, *rows))


def _bullets(texts: Iterable[str]) -> str:
    return "\n".join(f"- {escaped(text)}" for text in texts)
