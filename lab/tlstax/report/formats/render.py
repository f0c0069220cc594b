"""Which formats a run can be read in, and the one function that gives any of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypedDict, Unpack

from pydantic import BaseModel

from tlstax.records.trial import StoredRun
from tlstax.report.formats.markdown import markdown
from tlstax.report.formats.terminal import terminal
from tlstax.report.run_tables import csv_table
from tlstax.results.document import RunDocument
from tlstax.topics.core.untrusted import escaped_json
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
