"""What TLS costs a server on a new connection, split: the library's part, and what the server adds. Pure.

A run has what a reconnecting case costs a server more than plaintext does, a bench what the same handshake
costs the library alone. What is left is what the server adds: memory, caches, locks, reads and writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import hypot

from tlstax.librarybench.document import Difference, LibraryBenchDocument, Split
from tlstax.librarybench.subjects import Subject
from tlstax.results.document import Finding, RunDocument
from tlstax.results.interval import Interval
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import CERTIFICATES, GROUPS
from tlstax.study.level_words import key_of
from tlstax.support.errors import UserMistake
from tlstax.support.grouping import grouped
from tlstax.support.text import counted

LIBRARY = "tls_library"
OUTCOME = "server_cpu_us_per_op"
USUAL_KEY = "rsa-2048"
"""A server's certificate where a study says nothing of it."""


def libraries_of(run: RunDocument) -> tuple[str, ...]:
    """The TLS libraries by name that the run's servers had under connections that can be split.

    UserMistake where there are none.
    """
    found = tuple(dict.fromkeys(str(finding.case[LIBRARY]) for finding, _ in _split(run)))
    if not found:
        raise UserMistake(
            f"run {run.run} has no reconnecting case under TLS over a TLS library by name, of which the "
            "server's CPU time is known",
            remedy="take one with `study run tax --set workload=reconnect --set tls_library=openssl-3.5.5`",
        )
    return found


def subjects_of(run: RunDocument) -> tuple[Subject, ...]:
    """The handshakes that the run's connections made."""
    return tuple(dict.fromkeys(subject for _, subject in _split(run)))


def beside(run: RunDocument, bench: LibraryBenchDocument) -> LibraryBenchDocument:
    """The bench's document with what it tells of the run: cases over its libraries, and differences."""
    each = (_beside(run, finding, subject, bench) for finding, subject in _split(run))
    found = tuple(split for splits in each for split in splits)
    told = {"run_beside": run.run, "splits": found, "differences": tuple(_differences(found))}
    return bench.model_copy(update=told)


def _differences(found: Sequence[Split]) -> Iterator[Difference]:
    """Of splits that differ in the library alone, each against the first of them."""
    alike = grouped(found, lambda split: tuple((k, v) for k, v in split.case.items() if k != LIBRARY))
    for first, *others in alike.values():
        for other in others:
            yield Difference(
                label=other.label,
                against=str(first.case[LIBRARY]),
                added_us=_minus(other.added_us, first.added_us),
                library_us=other.library_us.point - first.library_us.point,
            )


def _minus(one: Interval, other: Interval) -> Interval:
    """The difference of two that were measured beside each other, as if they scattered independently."""
    point = one.point - other.point
    ends = [(each.low, each.high) for each in (one, other)]
    if any(low is None or high is None for low, high in ends):
        return one.model_copy(update={"point": point, "low": None, "high": None})
    half = hypot(*((high - low) / 2 for low, high in ends if low is not None and high is not None))
    return one.model_copy(update={"point": point, "low": point - half, "high": point + half})


def _words(run: RunDocument, finding: Finding, subject: Subject) -> Iterator[str]:
    """Such as "mysql-9.7 over openssl-3.5.5", "8 connections" where that varies, "TLS 1.3 resumed"."""
    case, varied = finding.case, {name for name, levels in run.design.levels_of().items() if len(levels) > 1}
    yield f"{case.get('server', 'the server')} over {case[LIBRARY]}"
    if "connections" in varied:
        yield counted(int(case["connections"]), "connection")
    if int(case.get("instance", 1)) > 1:
        yield f"twin {case['instance']}"
    if "certificate" in varied:
        yield key_of(subject.certificate or USUAL_KEY)
    if "group" in varied:
        yield str(subject.group)
    yield f"TLS {subject.version}{' resumed' if subject.resumed else ''}"


def _split(run: RunDocument) -> Iterator[tuple[Finding, Subject]]:
    """The findings that can be split, each with its handshake."""
    for finding in run.findings:
        subject = _handshake_of(finding) if _is_to_be_split(finding) else None
        if subject is not None:
            yield finding, subject


def _is_to_be_split(finding: Finding) -> bool:
    case, baseline = CaseLevels.of(finding.case), CaseLevels.of(finding.baseline)
    library = finding.case.get(LIBRARY, "own")
    return (
        finding.outcome == OUTCOME
        and finding.role == "treatment"
        and case.workload == "reconnect"
        and baseline.tls == "off"
        and library != "own"
        and finding.case.get("cpu_features", "own") == "own"
        and finding.case.get("fault", "none") == "none"
        and finding.ratio.point > 1
    )


def _handshake_of(finding: Finding) -> Subject | None:
    """The handshake that was negotiated; None where a library alone is not asked for such a one.

    A finding says "TLSv1.3 TLS_AES_128_GCM_SHA256 secp256r1"; a resumed session of TLS 1.2 has no group.
    """
    case = CaseLevels.of(finding.case)
    version = case.tls
    key = str(finding.case.get("certificate", USUAL_KEY))
    words = finding.negotiated.replace(",", " ").split()
    group = next((name for name, registered in GROUPS.items() if registered in words), None)
    if version not in {"1.2", "1.3"} or key not in CERTIFICATES:
        return None
    if group is None:
        group = case.group if case.group in GROUPS else "P-256"
    return Subject.model_validate(
        {"kind": "handshake", "version": version, "certificate": key, "group": group, "resumed": case.resumes}
    )


def _beside(
    run: RunDocument, finding: Finding, subject: Subject, bench: LibraryBenchDocument
) -> Sequence[Split]:
    library = str(finding.case[LIBRARY])
    alone = next(
        (
            figures.server_cpu_us
            for measured in bench.subjects
            if measured.subject == subject
            for figures in measured.libraries
            if figures.library == library
        ),
        None,
    )
    if alone is None:
        return ()
    added = _added(finding)
    return (
        Split(
            case=finding.case,
            label=", ".join(_words(run, finding, subject)),
            added_us=added,
            library_us=alone,
            server_us=added.point - alone.point,
        ),
    )


def _added(finding: Finding) -> Interval:
    """How much more than plaintext: the ratio's interval, on the plaintext's own figure."""
    return finding.ratio.each(lambda ratio: finding.baseline_value * (ratio - 1))
