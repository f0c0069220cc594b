"""What TLS costs a server on a new connection, split: the library's part, and what the server adds. Pure.

A run has what a reconnecting case costs a server more than plaintext does, a bench what the same handshake
costs the library alone. What is left is what the server adds: memory, caches, locks, reads and writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import hypot

from tlstax.results.document import Finding, RunDocument
from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.stats.wording import each, percent, with_ends
from tlstax.study.level_names import CERTIFICATES, GROUPS, key_of
from tlstax.support.errors import UserMistake
from tlstax.support.grouping import grouped
from tlstax.support.text import counted
from tlstax.tools.librarybench.subjects import Subject
from tlstax.topics.core.columns import Column
from tlstax.topics.core.figures import quantity

SPLIT, DIFFERENCE = "split", "difference"

LIBRARY = "tls_library"
OUTCOME = "server_cpu_us_per_op"
USUAL_KEY = "rsa-2048"
"""A server's certificate where a study says nothing of it."""


def libraries_of(run: RunDocument) -> tuple[str, ...]:
    """The TLS libraries by name that the run's servers had under connections that can be split.

    UserMistake where there are none.
    """
    names = tuple(dict.fromkeys(str(finding.case[LIBRARY]) for finding, _ in _split(run)))
    if not names:
        raise UserMistake(
            f"run {run.run} has no reconnecting case under TLS over a TLS library by name, of which the "
            "server's CPU time is known",
            remedy="take one with `study run tax --set workload=reconnect --set tls_library=openssl-3.5.5`",
        )
    return names


def subjects_of(run: RunDocument) -> tuple[Subject, ...]:
    """The handshakes that the run's connections made."""
    return tuple(dict.fromkeys(subject for _, subject in _split(run)))


def beside(run: RunDocument, costs: Mapping[tuple[str, str], Interval]) -> Iterator[Row]:
    """A row for each case of the run that is over one of the libraries, then one for each difference.

    `costs` are those of the server's side of a handshake, by its label and the library.
    """
    splits = [
        _row(run, finding, subject, alone)
        for finding, subject in _split(run)
        if (alone := costs.get((subject.label, str(finding.case[LIBRARY])))) is not None
    ]
    yield from splits
    yield from _differences(splits)


def _row(run: RunDocument, finding: Finding, subject: Subject, alone: Interval) -> Row:
    """How much more than plaintext: the ratio's interval, on the plaintext's own figure."""
    added = finding.ratio.each(lambda ratio: finding.baseline_value * (ratio - 1))
    return Row(
        role=SPLIT,
        outcome=OUTCOME,
        unit="us",
        label=", ".join(_words(run, finding, subject)),
        case=finding.case,
        baseline=finding.baseline,
        interval=added,
        of="difference",
        more={"library_us": alone.point, "server_us": added.point - alone.point},
    )


def _differences(splits: Sequence[Row]) -> Iterator[Row]:
    """Of splits that differ in the library alone, each against the first of them."""
    alike = grouped(splits, lambda split: tuple((k, v) for k, v in split.case.items() if k != LIBRARY))
    for first, *others in alike.values():
        for other in others:
            library_us = (other.number("library_us") or 0.0) - (first.number("library_us") or 0.0)
            yield Row(
                role=DIFFERENCE,
                outcome=OUTCOME,
                unit="us",
                label=other.label,
                case=other.case,
                baseline=first.case,
                interval=_minus(other.difference, first.difference),
                of="difference",
                more={"library_us": library_us},
            )


def sentences(_: object, rows: Sequence[Row]) -> Iterator[str]:
    """How much of what one library costs more or less than another under the same server is the library's."""
    return (_sentence(row) for row in rows if row.role == DIFFERENCE)


def _sentence(row: Row) -> str:
    added, library_us = row.difference, row.number("library_us") or 0.0
    more = "more" if added.point > 0 else "less"
    size = added if added.point > 0 else -added
    costs = with_ends(size, each(_us), f" {more}")
    beginning = f"{row.label} costs {costs} than over {row.baseline[LIBRARY]}"
    if not added.excludes_zero:
        return f"{beginning}, which cannot be told from nothing"
    share = library_us / added.point
    alone = f"the library alone costs {_us(abs(library_us))} {'more' if library_us > 0 else 'less'}"
    if share <= 0:
        return f"{beginning}: {alone}, so that it is the server's"
    return f"{beginning}: {alone}, so that {percent(min(share, 1.0))} of it is the library's"


_us = partial(quantity, unit="us")


def _minus(own: Interval, other: Interval) -> Interval:
    """The difference of two that were measured beside each other, as if they scattered independently."""
    point = own.point - other.point
    ends = [(each.low, each.high) for each in (own, other)]
    if any(low is None or high is None for low, high in ends):
        return own.model_copy(update={"point": point, "low": None, "high": None})
    half = hypot(*((high - low) / 2 for low, high in ends if low is not None and high is not None))
    return own.model_copy(update={"point": point, "low": point - half, "high": point + half})


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
    case, baseline = finding.case, finding.baseline
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
    case = finding.case
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


SPLIT_COLUMNS = (
    Column("library_us", "REAL", "of what TLS adds, or of a difference, the library alone", "microseconds"),
    Column("server_us", "REAL", "what the server makes of it: what TLS adds, less that", "microseconds"),
)
