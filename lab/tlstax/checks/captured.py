"""Proof by what crossed the wire: a tap saw the connections that there were, encrypted as the case has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tlstax.checks.complete import Complete, Doubt
from tlstax.checks.treatment import is_of_level
from tlstax.contract import TlsUnset


def crossed(trial: Complete) -> Iterator[Doubt]:
    """Every connection of a captured trial went through the tap, encrypted as the case has it."""
    if not trial.evidence.trial.captured:
        return
    capture, job = trial.evidence.capture, trial.evidence.job
    if capture is None:
        yield Doubt("unknown", "no tap saw what crossed the wire")
        return
    made = trial.done.lifetime.connections
    if capture.connections != made:
        yield Doubt(
            "invalid", f"{capture.connections} connections went through the tap, where the client made {made}"
        )
    if job is None or isinstance(job.tls, TlsUnset):
        return
    wanted = trial.case.tls
    expected = 0 if wanted == "off" else capture.connections
    if capture.encrypted != expected:
        yield Doubt(
            "invalid",
            f"{capture.encrypted} of {capture.connections} connections were encrypted where they crossed the "
            f"wire, and {expected or 'none'} must be",
        )
    versions = Counter(seen.tls.version for seen in capture.conversations if seen.tls is not None)
    for version, count in versions.items():
        if version is not None and wanted != "off" and not is_of_level(version, wanted):
            yield Doubt("invalid", f"{count} of the handshakes on the wire chose {version}")
