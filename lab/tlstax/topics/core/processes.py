"""What really ran in which process: what was meant, what was mapped into it, what the server said."""

from __future__ import annotations

from tlstax.findings.core.naming import subject_label
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.results.document import RunDocument
from tlstax.study.case_levels import SERVER_FACTORS
from tlstax.study.server_words import changed_words
from tlstax.support.grouping import grouped
from tlstax.topics.core.evidence import distinct, mapped_files
from tlstax.topics.core.figures import NOTHING
from tlstax.topics.core.section import Heading, Words
from tlstax.topics.core.table import Table

HEADS = (
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
    table = Table("", HEADS, rows, (), of="process", of_words=True, literal=True)
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
