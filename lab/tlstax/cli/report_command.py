"""`tlstax report`: a stored run in any format."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from tlstax.cli.flame_program import draw
from tlstax.cli.kept import open_store
from tlstax.cli.output_file import check_writable, write_text
from tlstax.cli.streams import colourful, show, show_json, show_page, terminal_width
from tlstax.findings.answer.document import document
from tlstax.report.formats.render import Format, render
from tlstax.support.collector import put_off
from tlstax.support.errors import UserMistake


def report_command(run_name: str, format_name: str, output: Path | None) -> int:
    """Print a stored run, or write it to a file; the exit status."""
    formats: tuple[Format, ...] = get_args(Format)
    chosen = next((known for known in formats if known == format_name), None)
    if chosen is None:
        raise UserMistake(
            f"--format: {format_name!r} is not a format", remedy=f"choose one of {', '.join(formats)}"
        )
    if output is not None:
        check_writable(output)
    colour = output is None and colourful()
    with put_off(), open_store() as store:
        stored = store.load(run_name)
        text = render(stored, document(stored), chosen, width=terminal_width(), colour=colour, draw=draw)
    whole = text if text.endswith("\n") else text + "\n"
    if output is not None:
        write_text(output, whole)
    elif chosen == "json":
        show_json(whole)
    elif chosen == "html":
        show_page(whole)
    else:
        show(whole, coloured=colour and chosen == "terminal")
    return 0
