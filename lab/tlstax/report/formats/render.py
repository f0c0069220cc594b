"""Which formats a run can be read in, and the one function that gives any of them."""

from __future__ import annotations

from typing import Literal, get_args

from tlstax.records.trial import StoredRun
from tlstax.report.formats.csv_table import csv_table
from tlstax.report.formats.markdown import markdown
from tlstax.report.formats.screen import screen
from tlstax.report.formats.terminal import terminal
from tlstax.results.document import RunDocument
from tlstax.topics.core.untrusted import escaped_json
from tlstax.topics.flames import Draw

Format = Literal["terminal", "html", "md", "csv", "json"]

FORMATS: tuple[Format, ...] = get_args(Format)


def render(  # noqa: PLR0913 (what a terminal needs is each a choice of its own, with a default)
    stored: StoredRun,
    document: RunDocument,
    format: Format,  # noqa: A002 - the option that users give is called so
    *,
    width: int = 80,
    colour: bool = False,
    report_path: str = "",
    verbose: bool = False,
    draw: Draw | None = None,
) -> str:
    """The run in that format.

    `width`, `colour`, `report_path` and `verbose` (all of it, not what fits a screen) are for the terminal.
    `draw` draws the flame graphs of the HTML page, which has none without it.

    Raises MachineFault where a stored histogram cannot be decoded.
    """
    match format:
        case "terminal":
            shown = terminal if verbose else screen
            return shown(stored, document, width=width, colour=colour, report_path=report_path)
        case "html":
            from tlstax.report.page.html import html  # noqa: PLC0415 - drawing takes a second to import

            return html(stored, document, draw)
        case "md":
            return markdown(stored, document)
        case "csv":
            return csv_table(document)
        case "json":
            return json_document(document)


def json_document(document: RunDocument) -> str:
    """One JSON document, indented, with a line break at its end."""
    return escaped_json(document.model_dump_json(by_alias=True, indent=2) + "\n")
