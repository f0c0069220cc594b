"""What keeping connections saves, in a sentence for each server."""

from __future__ import annotations

from math import ceil, floor, log10

from tlstax.findings.core.wording import alike, percent, subject_label, tls_label
from tlstax.results.document import (
    PoolSaving,
    RunDocument,
)
from tlstax.results.interval import Interval
from tlstax.study import workloads
from tlstax.study.server_words import key_of
from tlstax.support.grouping import grouped
from tlstax.support.text import enumerated


def pool_sentences(document: RunDocument) -> list[str]:
    """For each server and TLS version: what a connection is worth, and from when on that is little."""
    # Twins are for the noise floor; they tell nothing of their own.
    first = (found for found in document.pool if found.case.get("instance", 1) == 1)
    return [_sentence(side, several) for side, several in grouped(first, _side).items()]


def _side(found: PoolSaving) -> str:
    return f"{found.case.get('server', 'the server')}, {tls_label(found.case)}"


def saving_label(found: PoolSaving, document: RunDocument) -> str:
    """The case of a row: "mysql-9.7, RSA 4096 certificate, TLS 1.3"."""
    parts = (subject_label(found.case, document.design), tls_label(found.case))
    return ", ".join(part for part in parts if part)


def rounded(ratio: Interval) -> str:
    """A number of operations and its interval: "12.3 (11.8 to 12.9)"."""
    if ratio.low is None or ratio.high is None:
        return f"{alike(ratio.point)[0]} in one block alone"
    if not ratio.is_telling:
        return "not known to a factor of ten"
    point, low, high = alike(ratio.point, ratio.low, ratio.high)
    return f"{point} ({low} to {high})"


def whole(operations: float) -> str:
    """A number of operations that is enough, to two digits and never too few: 437 is "440"."""
    unit = 10 ** max(0, floor(log10(operations)) - 1) if operations >= 1 else 1
    return f"{ceil(round(operations / unit, 6)) * unit:,}"


def _sentence(side: str, several: list[PoolSaving]) -> str:
    kept = workloads.in_words(several[0].kept)
    worth = enumerated([f"{rounded(found.operations_worth)}{_with_key(found)}" for found in several])
    enough = enumerated([_enough(found.operations_needed) for found in several])
    return (
        f"{side}: to make one connection costs the server as much CPU time as {worth} of {kept} on a "
        f"connection that is kept; with more than {enough} on each, making it is less than "
        f"{percent(several[0].share)} of what the server spends"
    )


def _enough(needed: Interval) -> str:
    """How many are enough for certain: the upper end of the interval."""
    return whole(needed.point if needed.high is None or not needed.is_telling else needed.high)


def _with_key(found: PoolSaving) -> str:
    if found.case.get("tls", "off") == "off" or "certificate" not in found.case:
        return ""
    return f" with {key_of(found.case['certificate'])}"
