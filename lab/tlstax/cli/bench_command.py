"""How every bench goes, whatever it measures: its format is known first, then measured, shown and written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.options import BenchOptions
from tlstax.cli.output_file import check_writable, format_of_name, write_text
from tlstax.cli.progress import ProgressLine
from tlstax.cli.streams import colourful, show, show_json, terminal_width
from tlstax.report.formats.render import FORMATS, OF_BENCHES, BenchTopic, bench_report
from tlstax.results.bench import BenchDocument
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.support.text import closest

BY_SUFFIX = {suffix: name for name in OF_BENCHES for suffix in FORMATS[name].suffixes}


def bench_command(
    topic: BenchTopic, options: BenchOptions, measure: Callable[[ProgressLine], BenchDocument]
) -> int:
    """Measure, show it, and write it where that was asked for; the exit status.

    UserMistake for a format that there is not, or a file that cannot be written, before anything is measured.
    MachineFault where it failed before its end; what there is has been shown then.
    """
    form = format_of(options.format_name, json=options.json)
    written = format_of_output(options.output)
    line = ProgressLine(quiet=form == "json")
    try:
        document = measure(line)
    finally:
        line.close()
    try:
        show_bench(topic, document, form)
    finally:
        if options.output is not None:
            text = bench_report(topic, document, written, width=terminal_width())
            write_text(options.output, text)
    if document.status == "failed":
        raise MachineFault(document.stopped_because)
    return INTERRUPTED if document.status == "interrupted" else 0


def format_of(named: str, *, json: bool) -> str:
    """The format that was asked for, by --format or by --json. UserMistake for one that there is not."""
    if named not in OF_BENCHES:
        raise UserMistake(
            f"--format: there is no format {named!r}{closest(named, OF_BENCHES)}",
            remedy=f"the formats are {', '.join(OF_BENCHES)}",
        )
    return "json" if json else named


def format_of_output(output: Path | None) -> str:
    """The format that --output is written in: by its name, else JSON. UserMistake where it cannot be."""
    if output is None:
        return "json"
    form = format_of_name(output, BY_SUFFIX, "json", what="a bench")
    check_writable(output)
    return form


def show_bench(topic: BenchTopic, document: BenchDocument, form: str) -> None:
    """Write it to standard output, in colours where that is a terminal."""
    colour = form == "terminal" and colourful()
    text = bench_report(topic, document, form, width=terminal_width(), colour=colour)
    if form == "json":
        show_json(text)
    else:
        show(text, coloured=colour)
