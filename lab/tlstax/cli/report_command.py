"""`tlstax report`: a stored run in any format, for people or for tools that follow its figures."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

from tlstax.cli.asked_outcomes import asked_outcomes
from tlstax.cli.flames_command import draw
from tlstax.cli.options import MeasuringOptions
from tlstax.cli.streams import (
    check_writable,
    colourful,
    format_of_name,
    show,
    show_json,
    show_page,
    terminal_width,
    write_text,
)
from tlstax.records.trial import StoredRun
from tlstax.report.formats.render import FORMATS, render
from tlstax.results.document import RunDocument
from tlstax.store import Store, open_store, row_tables
from tlstax.store.store import put_off
from tlstax.support.directories import reports_dir
from tlstax.support.errors import UserMistake
from tlstax.support.text import closest
from tlstax.topics.answer.document import document
from tlstax.topics.tracked import TrackedFormat, tracked

TRACKED: tuple[TrackedFormat, ...] = get_args(TrackedFormat)
"""What other tools read; only these have outcomes that are chosen."""

BY_SUFFIX: dict[str, str] = {
    **{suffix: name for name, form in FORMATS.items() for suffix in form.suffixes},
    ".prom": "openmetrics",
}
"""The format of a report by the name of its file, where --format does not say."""


def report_command(
    run_name: str,
    format_name: str | None,
    output: Path | None,
    outcomes: str | None = None,
    *,
    verbose: bool = False,
) -> int:
    """Print a stored run, or write it to a file; the exit status.

    Without `format_name` the file's suffix says the format. `outcomes` are the names of those that a tool is
    to follow, with commas between; None: the deciding one, and the server's CPU time. In a terminal it is all
    of the run if `verbose`, else what fits a screen.
    """
    format_name = format_name or ("terminal" if output is None else format_of_report(output, "terminal"))
    _check_format(format_name, outcomes)
    if verbose and format_name != "terminal":
        raise UserMistake("-v is for --format terminal alone", remedy="leave it out: other formats have all")
    if output is not None:
        check_writable(output)
    colour = output is None and colourful()
    with put_off(), open_store() as store:
        stored = store.load(run_name)
        text = rendered(
            stored, document(stored), format_name, outcomes=outcomes, colour=colour, verbose=verbose
        )
    whole = text if text.endswith("\n") else text + "\n"
    if output is not None:
        write_text(output, whole)
    elif format_name in JSON:
        show_json(whole)
    elif format_name == "html":
        show_page(whole)
    else:
        show(whole, coloured=colour and format_name == "terminal")
    return 0


def report_measured(store: Store, stored: StoredRun, options: MeasuringOptions) -> None:
    """Show a run that has just ended, as options ask for it, and write its report and its rows.

    What was found comes first and then its file, which is written even if nobody can be shown anything: the
    one that was named, or one beside the store unless it is shown as JSON.
    """
    found, run_name = document(stored), stored.header.run
    path = options.report or (None if options.json else reports_dir() / f"{run_name}.html")
    colour = not options.json and colourful()
    try:
        text = render(
            stored,
            found,
            "json" if options.json else "terminal",
            width=terminal_width(),
            colour=colour,
            report_path=str(path or ""),
            verbose=options.verbose,
        )
        kept = f"run {run_name} is kept, and `tlstax report {run_name}` shows it"
        if options.json:
            show_json(text, remedy=kept)
        else:
            show(text, coloured=colour, remedy=kept)
    finally:
        try:
            if path is not None:
                format_name = format_of_report(path, "html")
                again = f"`tlstax report {run_name} --format {format_name} -o FILE` writes it elsewhere"
                write_text(path, rendered(stored, found, format_name), remedy=again)
        finally:
            row_tables.write(store, run_name, row_tables.rows_of(stored, found))


def format_of_report(output: Path, otherwise: str) -> str:
    """The format by the name of the file, if that says one. UserMistake for an unknown suffix."""
    return format_of_name(
        output,
        BY_SUFFIX,
        otherwise,
        what="a report",
        remedy="`tlstax runs export --format parquet` has its tables"
        if output.suffix.lower() == ".parquet"
        else f"name a file that ends with {' or '.join(BY_SUFFIX)}, or give --format",
    )


JSON = frozenset({"json", "smaller-is-better", "bigger-is-better", "bencher"})


def _check_format(name: str, outcomes: str | None) -> None:
    known = (*FORMATS, *TRACKED)
    if name not in known:
        raise UserMistake(
            f"--format: {name!r} is not a format{closest(name, known)}",
            remedy=f"choose one of {', '.join(known)}",
        )
    if outcomes is not None and name not in TRACKED:
        raise UserMistake(f"--outcomes is for --format {', '.join(TRACKED)} alone")


def rendered(
    stored: StoredRun,
    found: RunDocument,
    name: str,
    *,
    outcomes: str | None = None,
    colour: bool = False,
    verbose: bool = False,
) -> str:
    """The run in the format of this name, which is one of them."""
    for form in TRACKED:
        if form == name:
            return tracked(stored, asked_outcomes(outcomes, stored.header.study), form)
    return render(stored, found, name, width=terminal_width(), colour=colour, verbose=verbose, draw=draw)
