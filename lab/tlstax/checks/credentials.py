"""Proof of what both sides proved themselves by: the server's chain, the client's trust and certificate.

The client's library says how many certificates came, how many authorities it had loaded to verify them, and
whether it signed the handshake itself; the server says whether it lets the account in without. A driver says
none of it: it was given these files and no others.
"""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.checks.complete import Complete, Doubt
from tlstax.contract import TlsView
from tlstax.study.client_kinds.known import kind_of
from tlstax.study.level_names import EACH
from tlstax.study.level_words import chain_words, trust_words


def chain(trial: Complete) -> Iterator[Doubt]:
    """The server sent as many certificates as the case has it; a resumed session shows none."""
    wanted = trial.case.chain
    if wanted is None or not trial.case.is_encrypted:
        return
    views = _views(trial)
    sent = {view.certificates_sent for view in views if view.certificates_sent is not None}
    for count in sorted(sent - {wanted}):
        yield Doubt(
            "invalid", f"the server sent {chain_words(count)}, where the case has {chain_words(wanted)}"
        )
    if not sent and not any(view.resumed for view in views):
        yield _unseen(trial, f"the server sent {chain_words(wanted)}")


def trust(trial: Complete) -> Iterator[Doubt]:
    """The client had loaded as many authorities as the case has it."""
    wanted = trial.case.trust
    if wanted is None or not trial.case.is_encrypted:
        return
    loaded = {view.authorities for view in _views(trial) if view.authorities is not None}
    for count in sorted(loaded - {wanted}):
        yield Doubt(
            "invalid", f"the client trusted {trust_words(count)}, where the case has {trust_words(wanted)}"
        )
    if not loaded:
        yield _unseen(trial, f"the client trusted {trust_words(wanted)}")


LEAST_PEM_BYTES, FEWEST_READ = 300, 16
"""A certificate with the shortest key and signature (Ed25519) has more bytes than that as PEM. With
fewer than so many authorities, what a client reads otherwise may be as much."""


def context(trial: Complete) -> Iterator[Doubt]:
    """The client read its authorities for each connect exactly where the case has a TLS context for each.

    The kernel counts what a process reads from files.
    """
    count, window = trial.case.trust, trial.evidence.window
    connects = trial.evidence.watched_operations
    if "tls_context" not in trial.case or not trial.case.is_encrypted or not trial.case.reconnects:
        return
    read = None if window is None or window.client is None else window.client.counters.get("read_bytes")
    if count is None or count < FEWEST_READ or not connects:
        return
    if read is None:
        yield Doubt("unknown", "it is not known how often the client read its authorities")
        return
    wanted, each = trial.case.tls_context == EACH, read / connects >= count * LEAST_PEM_BYTES
    if wanted != each:
        how = "for each connect" if each else "fewer times than it connected"
        yield Doubt("invalid", f"the client read its authorities {how}, where the case has it otherwise")


def client_certificate(trial: Complete) -> Iterator[Doubt]:
    """The client proved itself by a certificate exactly where the case has it, and the server demanded it.

    A session that is resumed stands for the proof of the one before (RFC 8446, 4.6.1).
    """
    if "client_certificate" not in trial.case or not trial.case.is_encrypted:
        return
    wanted, demanded = trial.case.proves_client, trial.server.demands_certificate
    if demanded is None:
        yield Doubt("unknown", "it is not known whether the server demanded a client certificate")
    elif demanded != wanted:
        how = "demanded a" if demanded else "demanded no"
        yield Doubt("invalid", f"the server {how} client certificate, where the case has it otherwise")
    full = [view for view in _views(trial) if not view.resumed]
    shown = {view.client_certificate for view in full if view.client_certificate is not None}
    if wanted not in shown and shown:
        which = (
            "no client proved itself by a certificate"
            if wanted
            else "a client proved itself by a certificate"
        )
        yield Doubt("invalid", f"{which}, where the case has it otherwise")
    elif len(shown) > 1:
        yield Doubt("invalid", "some connections proved themselves by a certificate, and others did not")
    elif not shown and full:
        yield _unseen(
            trial, "a client certificate was shown" if wanted else "no client certificate was shown"
        )


def _views(trial: Complete) -> list[TlsView]:
    return [seen.client for seen in trial.ready.negotiated if seen.client is not None]


def _unseen(trial: Complete, what: str) -> Doubt:
    """What the client does not report: taken on trust of drivers, whose files the laboratory made."""
    if kind_of(trial.case.client).is_driver:
        return Doubt("note", f"the driver does not report that {what}; it was given no other files")
    return Doubt("unknown", f"it is not known whether {what}")
