"""What really ran in which process: what was meant, what was mapped into it, what the server said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tlstax.findings.core.naming import subject_label
from tlstax.records.trial import MappedLibrary, StoredRun, TrialRecord
from tlstax.results.document import RunDocument
from tlstax.study.case_levels import SERVER_FACTORS
from tlstax.study.server_words import changed_words


@dataclass(frozen=True)
class Process:
    """One server process of a run, over the run's valid trials; texts list what differed among them."""

    label: str
    valid: int
    trials: int
    meant: tuple[str, ...]
    said: tuple[str, ...]
    mapped: tuple[MappedLibrary, ...]
    as_meant: str
    clients: tuple[str, ...]


def processes(stored: StoredRun, document: RunDocument) -> tuple[Process, ...]:
    """Every server over every library, each process by itself, by name."""
    found: dict[str, list[TrialRecord]] = {}
    for record in stored.measured:
        levels = {n: v for n, v in record.trial.case.levels.items() if n in SERVER_FACTORS}
        found.setdefault(subject_label(levels, document.design), []).append(record)
    return tuple(_process(label, found[label]) for label in sorted(found))


def _process(label: str, records: list[TrialRecord]) -> Process:
    valid = [record for record in records if record.verdict.value == "valid"]
    seen = [record.server for record in valid if record.server]
    mapped = {file: None for s in seen for file in (*s.mapped_tls_libraries, *(s.mapped_faults or ()))}
    return Process(
        label=label,
        valid=len(valid),
        trials=len(records),
        meant=_distinct(_meant(record) for record in valid),
        said=_distinct(_said(record) for record in valid),
        mapped=tuple(sorted(mapped, key=lambda library: library.path)),
        as_meant=_as_meant(valid),
        clients=_distinct(
            record.ready.tls_library.version for record in valid if record.ready and record.ready.tls_library
        ),
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
        return ""
    return f"{sum(_is_as_meant(record) for record in meant):,} of {len(meant):,}"


def _is_as_meant(record: TrialRecord) -> bool:
    if record.claim is None or record.claim.tls_library is None or record.server is None:
        return False
    wanted = {record.claim.tls_library.libssl_sha256, record.claim.tls_library.libcrypto_sha256}
    answers = record.server.answering_pid in {None, record.claim.pid}
    return answers and wanted == {library.sha256 for library in record.server.mapped_tls_libraries}


def _distinct(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(text for text, _ in Counter(text for text in texts if text).most_common())
