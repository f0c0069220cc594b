"""What a report shows of a topic, in one small document a study that is reviewed as a diff.

A test makes a fake run of a study and calls `check`. The document lies in tests/unit/topics/golden; all are
made anew by `./test unit topics --renew-golden`, and reviewed before they are committed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from tlstax.records.trial import StoredRun
from tlstax.report.formats.markdown import markdown, of_sections
from tlstax.report.formats.terminal import printed_sections, terminal
from tlstax.report.page.html import html
from tlstax.report.run_tables import csv_table
from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.results.rows import Row, Told, text_of
from tlstax.stats.series import Series
from tlstax.study import Level, Study
from tlstax.topics.answer.document import document
from tlstax.topics.core.section import Section
from tlstax.topics.core.topic import Topic
from told_runs import run_of, shown

FOLDER = Path(__file__).parents[1] / "unit" / "topics" / "golden"
MOST_LINES = 220
"""More than this nobody reviews: narrow the study instead."""

RENEW = False
"""Whether documents are made anew, as `--renew-golden` sets it."""


@dataclass(frozen=True)
class Shown:
    """What a run shows, as a document and as a page."""

    document: RunDocument
    page: str


def check(name: str, stored: StoredRun, topic: Topic) -> Shown:
    """Compares what this run shows of the topic with its golden document, and that every format has it."""
    found = document(stored)
    told = found.topics[topic.name]
    sections = tuple(topic.sections(told, found))
    compare(name, text_of_topic(told, sections, stored.header.study))
    page = html(stored, found)
    titles = [section.title for section in sections if section.title]
    in_every_format(found, topic.name, titles, (terminal(stored, found), markdown(stored, found), page))
    return Shown(found, page)


def check_series(name: str, series: Series, topic: Topic) -> None:
    """Compares what a run with this series shows of the topic with its golden document."""
    told = topic.told(run_of(series))
    compare(name, text_of_topic(told, shown(topic, told, series), series.study))


def text_of_topic(told: Told, sections: Sequence[Section], study: Study) -> str:
    """All that is shown of a topic but the charts."""
    parts = {
        "Sentences": "\n".join(f"- {sentence}" for sentence in told.sentences),
        "In a terminal of 80 columns": printed_sections(sections) if sections else "",
        "In Markdown": "\n\n".join(part for part in of_sections(sections) if part),
        "Rows": "\n".join(lines(told.rows, study)),
    }
    return "\n\n".join(f"== {title} ==\n{part.rstrip()}" for title, part in parts.items() if part) + "\n"


def compare(name: str, text: str) -> None:
    """Holds the text against the golden document of that name, or writes it where it is made anew."""
    assert text.count("\n") <= MOST_LINES, f"{name}: nobody reviews {text.count(chr(10))} lines"
    path = FOLDER / f"{name}.txt"
    if RENEW:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    golden = path.read_text() if path.is_file() else ""
    assert text.splitlines() == golden.splitlines(), "./test unit topics --renew-golden; then review the diff"


def in_every_format(found: RunDocument, topic: str, titles: Iterable[str], texts: Iterable[str]) -> None:
    """Each text has the topic's sections, the CSV all its rows; the JSON is read again as it was written."""
    for text in texts:
        flat = " ".join(text.split())
        assert [title for title in titles if title not in flat] == []
    rows = [row for row in csv.DictReader(StringIO(csv_table(found))) if row["topic"] == topic]
    assert [row["outcome"] for row in rows] == [row.outcome for row in found.topics[topic].rows]
    assert RunDocument.model_validate_json(found.model_dump_json(by_alias=True)) == found


def lines(rows: Iterable[Row], study: Study) -> Iterator[str]:
    """A line for each case beside another, and below it one for each of its outcomes.

    Of the case the levels that the study varies are told, of the other those that are not the case's.
    """
    varied = {name for name, own in study.levels_of().items() if len(own) > 1}
    last = ""
    for row in rows:
        case = levels({name: level for name, level in row.case.items() if name in varied})
        other = levels(dict(row.baseline.items() - row.case.items()))
        beside = " | ".join(text for text in (row.label, case, other and f"beside {other}") if text)
        title = f"{row.role or '-'}: {beside or '-'}"
        if title != last:
            yield title
        last = title
        yield f"  {' '.join(numbers(row))}"


def levels(of: Mapping[str, Level]) -> str:
    """The levels of a case."""
    return ", ".join(f"{name}={level}" for name, level in sorted(of.items()))


def numbers(row: Row) -> Iterator[str]:
    """All that a row knows but its case."""
    yield f"{row.outcome or '-'}{row.unit and f', {row.unit}'}:"
    if row.value is not None:
        yield f"{row.value:.6g}"
    if row.baseline_value is not None:
        yield f"beside {row.baseline_value:.6g}"
    if row.interval is not None:
        yield interval(row.interval, row.of)
    if row.noise_floor is not None:
        yield f"floor {row.noise_floor:.6g}"
    yield from (f"<{word}>" for word in (row.judgement, row.negotiated, *row.caveats) if word)
    if row.blocks is not None:
        yield f"{row.blocks} blocks"
    for name, value in row.more.items():
        if value not in (None, ""):
            yield f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={text_of(value)}"


def interval(known: Interval, of: str) -> str:
    """Point and ends; the point of a value is said already."""
    point = "" if of == "value" else f"{of} {known.point:.6g}"
    ends = "[?]" if known.low is None or known.high is None else f"[{known.low:.6g} … {known.high:.6g}]"
    return f"{point} {ends}".lstrip()
