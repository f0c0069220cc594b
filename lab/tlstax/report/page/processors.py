"""The page's tables of processors and processes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tlstax.findings.core.outcomes import series, shares, together, window_slices
from tlstax.findings.core.wording import subject_label
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.records.window import CpuTicks
from tlstax.results.document import RunDocument
from tlstax.study.factors import SERVER_FACTORS
from tlstax.study.level_words import changed_words
from tlstax.support.grouping import grouped
from tlstax.topics.core.evidence import distinct, mapped_files
from tlstax.topics.core.figures import NOTHING
from tlstax.topics.core.groups import Row
from tlstax.topics.core.section import Folded, Heading, Words
from tlstax.topics.core.table import Table

SECONDS = (1, 5)
"""The lengths of the stretches that a window is shown in, where it is longer than one of them."""

COLUMNS = ("user", "nice", "system", "iowait", "steal", "idle")

HEADS = (
    "Window",
    "Trials",
    *(f"%{name}" for name in COLUMNS),
    "%system on the server\N{RIGHT SINGLE QUOTATION MARK}s CPUs",
)


def processors(rows: Sequence[Row]) -> Iterator[Folded]:
    """What is known of these cases' valid trials; nothing where nobody watched."""
    lines = tuple(line for row in rows for line in _case(row))
    ticks = {record.window.ticks_per_s for row in rows for record in row.valid if record.window}
    if lines and ticks:
        reading = (
            f"The kernel counts in ticks of {1000 / min(ticks):g} ms, so a short window alone tells little: "
            "each line is the sum over the case's valid trials. %system includes interrupts, as sar has it."
        )
        table = Table("", HEADS, lines, (), of_words=True, literal=True)
        yield Folded("What the processors did, second by second", (Words(reading, aside=True), table))


def _case(row: Row) -> Iterator[tuple[str, ...]]:
    """The lines of one case, which the first one names: every second, every five, and all together."""
    for place, line in enumerate(_lines(row.valid)):
        yield ("" if place else row.label, *line)


def _lines(records: Sequence[TrialRecord]) -> Iterator[tuple[str, ...]]:
    slices = window_slices(records)
    everything = together(slices)
    average = shares(everything) if everything is not None else None
    if average is None:
        return
    longest_s = max(part.at_s + part.took_s for part in slices)
    watched = sum(1 for record in records if record.window and record.window.cpus)
    for every_s in SECONDS:
        if longest_s > every_s:
            own = {stretch.from_s: stretch.ticks for stretch in series(records, every_s, "server")}
            for stretch in series(records, every_s):
                words = f"{stretch.from_s:g} to {min(stretch.from_s + every_s, stretch.to_s):.3g} s"
                yield _line(words, stretch.trials, stretch.ticks, own.get(stretch.from_s))
    yield _line("average", watched, everything, together(slices, "server"))


def _line(words: str, trials: int, machine: CpuTicks | None, server: CpuTicks | None) -> tuple[str, ...]:
    """Shares of the machine, and the kernel's on the server's processors where it has some of its own."""
    all_of_it, own = (shares(ticks) if ticks is not None else None for ticks in (machine, server))
    cells = (NOTHING if all_of_it is None else f"{getattr(all_of_it, name):.2f}" for name in COLUMNS)
    return words, f"{trials}", *cells, NOTHING if own is None else f"{own.system:.2f}"


PROCESS_HEADS = (
    "Valid trials",
    "Meant",
    "The server said",
    "As meant",
    "Mapped",
    "The client\N{RIGHT SINGLE QUOTATION MARK}s library",
)
READING = (
    "“As meant” counts the trials in which the files mapped into the answering process had the wanted "
    "checksums, and no other TLS library was mapped beside them."
)


def processes(stored: StoredRun, document: RunDocument) -> tuple[Heading, Words, Table]:
    """Every server over every library, each process by itself, by name, over the run's valid trials."""

    def label(record: TrialRecord) -> str:
        levels = {n: v for n, v in record.trial.case.levels.items() if n in SERVER_FACTORS}
        return subject_label(levels, document.design)

    found = grouped(stored.measured, label)
    rows = tuple(_process(label, found[label]) for label in sorted(found))
    table = Table("", PROCESS_HEADS, rows, (), of="process", of_words=True, literal=True)
    return Heading("Which TLS library ran under which server"), Words(READING, aside=True), table


def _process(label: str, records: list[TrialRecord]) -> tuple[str, ...]:
    valid = [record for record in records if record.verdict.value == "valid"]
    seen = [record.server for record in valid if record.server]
    loaded = (record.ready.tls_library for record in valid if record.ready)
    return (
        label,
        f"{len(valid)} of {len(records)}",
        distinct(map(_meant, valid)),
        distinct(map(_said, valid)),
        _as_meant(valid),
        mapped_files(file for s in seen for file in (*s.mapped_tls_libraries, *(s.mapped_faults or ()))),
        distinct(library.version for library in loaded if library),
    )


def _meant(record: TrialRecord) -> str:
    claim = record.claim
    if claim is None:
        return ""
    library, fault = claim.tls_library, claim.planted
    over = f"{library.name} ({library.version})" if library else "its own"
    return f"{claim.name} with {over}{f', {changed_words(fault.name)}' if fault else ''}"


def _said(record: TrialRecord) -> str:
    if record.server is None:
        return ""
    return " with ".join(word for word in (record.server.version, record.server.tls_library_version) if word)


def _as_meant(records: list[TrialRecord]) -> str:
    """In how many trials the files mapped into the answering process had the wanted checksums."""
    meant = [record for record in records if record.claim and record.claim.tls_library]
    if not meant:
        return NOTHING
    return f"{sum(_is_as_meant(record) for record in meant):,} of {len(meant):,}"


def _is_as_meant(record: TrialRecord) -> bool:
    if record.claim is None or record.claim.tls_library is None or record.server is None:
        return False
    wanted = {record.claim.tls_library.libssl_sha256, record.claim.tls_library.libcrypto_sha256}
    answers = record.server.answering_pid in {None, record.claim.pid}
    return answers and wanted == {library.sha256 for library in record.server.mapped_tls_libraries}
