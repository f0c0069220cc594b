"""Proof by what crossed the wire: a tap saw the connections that there were, encrypted as the case has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tlstax.checks.complete import Complete, Doubt
from tlstax.checks.treatment import is_of_level
from tlstax.contract import Job, TlsUnset
from tlstax.contract.job import PostgreSqlServer
from tlstax.records.capture import Capture


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
    if job is not None:
        yield from _spoken(job, capture)
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


def _spoken(job: Job, capture: Capture) -> Iterator[Doubt]:
    """The protocol is the server's, TLS begins as the job has it, and all that follows is within it."""
    for spoken, count in Counter(one.spoken for one in capture.conversations).items():
        if spoken not in {None, job.server.kind}:
            yield Doubt("invalid", f"{count} connections spoke the protocol of {spoken} on the wire")
    direct = isinstance(job.server, PostgreSqlServer) and job.server.ssl_negotiation == "direct"
    others = sum(one.tls is not None and one.is_direct != direct for one in capture.conversations)
    if others:
        how = "after a question to the server" if direct else "at once"
        yield Doubt("invalid", f"{others} of the handshakes on the wire were begun {how}")
    early = sum(one.before_hello_bytes for one in capture.conversations)
    if early:
        yield Doubt(
            "invalid",
            f"the server sent {early} bytes in the clear after it agreed to TLS, before the ClientHello; a "
            "client must not take them (CVE-2021-23222)",
        )
