"""`tlstax library-bench`: its options into a request, what is shown meanwhile, and how it ends."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tlstax.cli import quantities
from tlstax.cli.bench_formats import format_of, format_of_output
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.kept import open_store
from tlstax.cli.output_file import write_text
from tlstax.cli.progress import ProgressLine
from tlstax.cli.streams import colourful, show, show_json, terminal_width
from tlstax.librarybench import session
from tlstax.librarybench.document import LibraryBenchDocument
from tlstax.librarybench.estimate import document
from tlstax.librarybench.measure import Contestant
from tlstax.librarybench.order import Sitting
from tlstax.librarybench.split import beside, libraries_of, subjects_of
from tlstax.librarybench.subjects import Asked, Subject, subjects
from tlstax.librarybench.table import markdown, terminal
from tlstax.results.document import RunDocument
from tlstax.specimens import shelf
from tlstax.specimens.catalogue import RECIPES
from tlstax.specimens.resolve import named_fault, named_tls_library
from tlstax.study.level_names import COUNT_LOCKS
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.topics.answer.document import document as document_of_run
from tlstax.topics.core.untrusted import escaped_json

DEFAULT_BUDGET_S = 60.0

MACHINES_OWN = "machine"
"""The name under which the machine's own libssl takes part."""

_SIZE = re.compile(r"(?P<number>[1-9][0-9]{0,8})(?P<kilo>k|K|KiB)?")
_LARGEST_BYTES = 16384
"""A record holds no more (RFC 8446, section 5.1)."""


@dataclass(frozen=True)
class LibraryBenchOptions:
    """The options of `tlstax library-bench` as they were typed."""

    library: str | None = None
    measure: str | None = None
    tls: str | None = None
    resumption: str | None = None
    certificate: str | None = None
    group: str | None = None
    cipher: str | None = None
    size: str | None = None
    context: str | None = None
    instructions: bool = False
    count: str | None = None
    budget: str | None = None
    seed: int | None = None
    output: Path | None = None
    format_name: str = "terminal"
    json: bool = False
    client_cpus: str | None = None
    beside_run: str | None = None
    beside_others: bool = False


class LibraryBenchProgress:
    """The progress line with the bench's own words for a sitting."""

    def __init__(self, line: ProgressLine) -> None:
        self._line = line
        self.step, self.warn, self.close = line.step, line.warn, line.close

    def sitting(self, sitting: Sitting, subject: Subject, share: float, left_s: float) -> None:
        """Libraries take turns at a subject; so much of the budget is spent, so much left."""
        self._line.now(f"block {sitting.block + 1}: {subject.label}", share=share, left_s=left_s)


def library_bench_command(options: LibraryBenchOptions) -> int:
    """Compare the libraries, and show it. The exit status. MachineFault where nothing could be measured."""
    form = format_of(options.format_name, json=options.json)
    format_of_output(options.output)
    if options.count not in {None, "locks"}:
        raise UserMistake(f"--count: {options.count!r} cannot be counted", remedy="locks can be")
    asked, run_beside = _asked(options), _run_beside(options)
    wanted = subjects(asked) if run_beside is None else subjects_of(run_beside)
    line = ProgressLine(quiet=form == "json")
    request = session.Request(
        contestants=_contestants(_libraries(options, run_beside), line),
        subjects=wanted,
        budget_s=quantities.seconds(options.budget, "--budget") if options.budget else DEFAULT_BUDGET_S,
        seed=options.seed,
        instructions=options.instructions,
        lock_counter=named_fault(COUNT_LOCKS, line.step) if options.count is not None else None,
        cpus=quantities.asked_cpus(None, options.client_cpus),
        beside_others=options.beside_others,
    )
    run = session.run(request, LibraryBenchProgress(line))
    found = document(run)
    if run_beside is not None:
        found = beside(run_beside, found)
    try:
        _show(found, form)
    finally:
        if options.output is not None:
            write_text(options.output, _text(found, format_of_output(options.output)))
    if found.status == "interrupted":
        return INTERRUPTED
    if found.status == "failed":
        raise MachineFault(run.why)
    return 0


def _asked(options: LibraryBenchOptions) -> Asked:
    def listed(text: str | None, option: str) -> tuple[str, ...] | None:
        return quantities.names(text, option) if text is not None else None

    sizes = listed(options.size, "--size")
    return Asked(
        kinds=listed(options.measure, "--measure"),
        versions=listed(options.tls, "--tls"),
        resumptions=listed(options.resumption, "--resumption"),
        certificates=listed(options.certificate, "--certificate"),
        groups=listed(options.group, "--group"),
        ciphers=listed(options.cipher, "--cipher"),
        sizes_bytes=tuple(_bytes(size) for size in sizes) if sizes else None,
        contexts=listed(options.context, "--context"),
    )


def _bytes(text: str) -> int:
    match = _SIZE.fullmatch(text)
    size = int(match["number"]) * (1024 if match["kilo"] else 1) if match else 0
    if not 1 <= size <= _LARGEST_BYTES:
        raise UserMistake(
            f"--size: {text!r} is not the size of a record",
            remedy="write it like 16, 1k or 16k; the most is 16k",
        )
    return size


def _run_beside(options: LibraryBenchOptions) -> RunDocument | None:
    """The run that the libraries are set beside, if there is one. UserMistake beside options of its own."""
    if options.beside_run is None:
        return None
    for option in ("measure", "tls", "resumption", "certificate", "group", "cipher", "size", "context"):
        if getattr(options, option) is not None:
            raise UserMistake(
                f"--{option} does not go with --beside, which measures what the run's connections did",
                remedy="leave one of them out",
            )
    with open_store() as store:
        return document_of_run(store.load(options.beside_run))


def _libraries(options: LibraryBenchOptions, run_beside: RunDocument | None) -> tuple[str, ...]:
    """Those that were named or that the run's servers had; else the machine's own and all that are there."""
    if options.library is not None:
        return quantities.names(options.library, "--library")
    if run_beside is not None:
        return libraries_of(run_beside)
    there = (
        name for name, recipe in RECIPES.items() if recipe.kind == "tls_library" and shelf.present(recipe)
    )
    return (MACHINES_OWN, *there)


def _contestants(names: Sequence[str], line: ProgressLine) -> tuple[Contestant, ...]:
    """The libraries of these names, fetched where they must be."""
    return tuple(
        Contestant(name, None if name == MACHINES_OWN else named_tls_library(name, line.step))
        for name in names
    )


def _show(found: LibraryBenchDocument, form: str) -> None:
    if form == "json":
        show_json(_text(found, form))
    else:
        show(_text(found, form, colour=colourful()), coloured=form == "terminal" and colourful())


def _text(found: LibraryBenchDocument, form: str, *, colour: bool = False) -> str:
    if form == "json":
        return escaped_json(found.model_dump_json(indent=2) + "\n")
    return markdown(found) if form == "md" else terminal(found, width=terminal_width(), colour=colour)
