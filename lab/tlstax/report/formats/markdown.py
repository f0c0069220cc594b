"""A run as Markdown with GitHub's tables, short enough to paste into an issue."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tlstax.records.trial import StoredRun
from tlstax.report.overview import (
    after_groups,
    before_groups,
    last_section,
    leaves_groups_out,
    where_the_rest_is,
)
from tlstax.results.document import RunDocument
from tlstax.stats.wording import capitalised
from tlstax.support.untrusted import printable
from tlstax.topics.answer.headline import headline
from tlstax.topics.core import facts
from tlstax.topics.core.groups import Column, Group, arranged, main_columns
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

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~!])")


def markdown(stored: StoredRun, document: RunDocument) -> str:
    """The answer, a table for each group, and what a reader needs to judge it."""
    parts = [
        f"## {escaped(stored.header.study.title)}",
        _bullets(facts.shortened([*map(capitalised, headline(document))], document.design)),
    ]
    parts += of_sections(before_groups(document))
    if not document.findings:
        parts.append(escaped(facts.nothing_to_show(stored)))
    elif leaves_groups_out(document):
        parts.append(escaped(where_the_rest_is(document)))
    else:
        parts += [part for group in arranged(stored, document) for part in _group(group, document)]
    parts += of_sections(after_groups(document))
    known = facts.facts(stored, document).items()
    parts += ["**What ran**", _bullets(f"{name}: {text}" for name, text in known)]
    parts += of_sections([last_section(stored, document, shortened=True)])
    return "\n\n".join(part for part in parts if part) + "\n"


def of_sections(sections: Iterable[Section]) -> list[str]:
    """Their titles and blocks; nothing of one whose blocks say nothing here."""
    parts = []
    for section in sections:
        own = [part for block in opened(section.blocks, roomy=True) for part in _block(block)]
        parts += [f"### {escaped(section.title)}"] if section.title and any(own) else []
        parts += own
    return parts


def _block(block: Block) -> Iterator[str]:
    match block:
        case Table():
            yield from [f"### {escaped(block.title)}"] if block.title else []
            rows = ([escaped(cell) for cell in row] for row in block.lines(roomy=True))
            yield _table([block.of, *map(escaped, block.heads)], rows)
            yield escaped(" ".join(block.notes))
        case Heading(text):
            yield f"**{text}**"
        case Items(texts, heading):
            yield from [f"**{heading}**"] if heading and texts else []
            yield _bullets(texts)
        case Words(text):
            yield escaped(text)
        case Pairs(heading, pairs):
            yield escaped(heading)
            yield _bullets(f"{name}: {words}" for name, words in pairs)
        case Dump(title, lines):
            yield escaped(title)
            yield "\n".join(("```", *lines, "```"))
        case _:
            return  # the page alone has it


def escaped(text: str) -> str:
    """Text in which nothing is taken for Markdown or HTML, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(printable(text).split()))


def _group(group: Group, document: RunDocument) -> list[str]:
    columns = main_columns(group)
    heads = [
        "case",
        *(f"{column.head} ({column.unit})" if column.unit else column.head for column in columns),
    ]
    rows = [
        [escaped(row.label), *(_cell(own, place) for own in columns)] if row.findings or row.unpaired else
        [escaped(row.label), escaped(row.why_empty()), *[""] * (len(columns) - 1)]
        for place, row in enumerate(group.rows)
    ]  # fmt: skip
    noise = facts.noise_words(group, document.design.deciding_outcome, document.design.alike_within)
    said = (f"{row.label}: {row.treatment_seen}" for row in group.rows if row.treatment_seen)
    title = f"### {escaped(capitalised(group.label))}"
    return [title, _table(heads, rows), escaped(noise), _bullets(said)]


def _cell(column: Column, place: int) -> str:
    """A value and its change; what was asked for also shows the interval."""
    cell = column.cells[place]
    if not cell.change:
        return cell.value
    interval = f" {cell.interval}" if column.is_answer and cell.interval else ""
    mark = f" {cell.mark}" if cell.mark else ""
    return f"{cell.value} ({cell.change}{interval}{mark})"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rules = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, rules, *rows))


def _bullets(texts: Iterable[str]) -> str:
    return "\n".join(f"- {escaped(text)}" for text in texts)
