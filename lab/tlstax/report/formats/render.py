"""Which formats a run and a bench can be read in, and the functions that give any of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from pydantic import BaseModel

from tlstax.records.trial import StoredRun
from tlstax.report.formats.markdown import markdown, of_sections
from tlstax.report.formats.terminal import printed_sections, terminal
from tlstax.report.run_tables import bench_table, csv_table
from tlstax.results.document import BenchDocument, RunDocument
from tlstax.support.untrusted import escaped_json
from tlstax.topics.core.topic import TopicOf
from tlstax.topics.flames import Draw


class Look(TypedDict, total=False):
    """What else is asked for.

    `width`, `colour`, `report_path` and `verbose` (all of it, not what fits a screen) are for the terminal.
    `draw` draws the flame graphs of the HTML page, which has none without it.
    """

    width: int
    colour: bool
    report_path: str
    verbose: bool
    draw: Draw | None


@dataclass(frozen=True)
class Format:
    """A format: what writes it, and the suffixes of files that are in it."""

    write: Callable[[StoredRun, RunDocument, Look], str]
    suffixes: tuple[str, ...]


def render(stored: StoredRun, document: RunDocument, name: str, **look: Unpack[Look]) -> str:
    """The run in the format of that name. MachineFault where a stored histogram cannot be decoded."""
    return FORMATS[name].write(stored, document, look)


def json_document(document: BaseModel) -> str:
    """One JSON document, indented, with a line break at its end."""
    return escaped_json(document.model_dump_json(by_alias=True, indent=2) + "\n")


def _terminal(stored: StoredRun, document: RunDocument, look: Look) -> str:
    return terminal(
        stored,
        document,
        brief=not look.get("verbose", False),
        width=look.get("width", 80),
        colour=look.get("colour", False),
        report_path=look.get("report_path", ""),
    )


def _html(stored: StoredRun, document: RunDocument, look: Look) -> str:
    from tlstax.report.page.html import html  # noqa: PLC0415 - drawing takes a second to import

    return html(stored, document, look.get("draw"))


FORMATS: Mapping[str, Format] = {
    "terminal": Format(_terminal, (".txt",)),
    "html": Format(_html, (".html", ".htm")),
    "md": Format(lambda stored, document, _: markdown(stored, document), (".md",)),
    "csv": Format(lambda _, document, __: csv_table(document), (".csv",)),
    "json": Format(lambda _, document, __: json_document(document), (".json",)),
}

BenchTopic = TopicOf[Any, BenchDocument]
"""A topic of what is measured without being a run."""

OF_BENCHES = ("terminal", "md", "csv", "json")
"""The formats of a bench: its sections for a terminal and in Markdown, its rows as CSV, all of it as JSON."""


def bench_report(
    topic: BenchTopic, document: BenchDocument, form: str, *, width: int = 80, colour: bool = False
) -> str:
    """The document in one of OF_BENCHES; `width` (from 40 on) and `colour` are for the terminal."""
    if form == "json":
        return json_document(document)
    if form == "csv":
        return bench_table(document, topic.columns)
    sections = topic.sections(document.told, document)
    if form == "md":
        return "\n\n".join(part for part in of_sections(sections) if part) + "\n"
    return printed_sections(sections, width=width, colour=colour)
