"""What was negotiated, in words: the proof of a case's treatment as a reader wants to see it."""

from __future__ import annotations

from collections.abc import Iterable

from tlstax.contract import Handshakes, Negotiated, TlsView
from tlstax.records.trial import TrialRecord
from tlstax.study.path_exclusions import is_of_client


def negotiated(records: Iterable[TrialRecord]) -> str:
    """What these trials negotiated: "plaintext", or "TLSv1.3 TLS_AES_128_GCM_SHA256 secp256r1, resumed".

    A HelloRetryRequest is part of it: it makes a handshake cost a round trip more (RFC 8446, 4.1.4).
    Handshakes of the measured window say it where there were any, else the connections that were asked
    before. Trials that differ are all named; "" where no trial says anything.
    """
    said = dict.fromkeys(words for record in records for words in _of_trial(record))
    return "; ".join(said)


def always_hello_retry(records: Iterable[TrialRecord]) -> bool:
    """Whether these trials made handshakes and all met a HelloRetryRequest (RFC 8446, 4.1.4)."""
    handshakes = [h for record in records if record.done for h in record.done.lifetime.handshakes]
    return bool(handshakes) and all(handshake.hello_retry for handshake in handshakes)


def _of_trial(record: TrialRecord) -> list[str]:
    way = _on_the_way(record)
    if record.done is not None and record.done.window.handshakes:
        return [_words(handshakes) + way for handshakes in record.done.window.handshakes]
    if record.ready is None:
        return []
    return [_side(told_by(seen)) + way for seen in record.ready.negotiated]


def told_by(seen: Negotiated) -> TlsView | None:
    """What a connection negotiated: the client's word, or the server's where the client has none."""
    return seen.client if seen.client_tells else seen.server


def _on_the_way(record: TrialRecord) -> str:
    """What a path protected the bytes with, in its own word, or what the server saw where a path ends TLS."""
    if record.path is None:
        return ""
    if record.path.protection is not None:
        return f", within {record.path.protection} ({record.path.specimen})"
    if is_of_client(record.trial.case.typed) or record.ready is None:
        return ""
    at_server = dict.fromkeys(_side(seen.server) for seen in record.ready.negotiated)
    return f", and {' and '.join(at_server)} at the server" if at_server else ""


def _side(view: TlsView | None) -> str:
    return _words(view) if view else "plaintext"


def _words(seen: TlsView | Handshakes) -> str:
    words = " ".join(part for part in (seen.version, seen.cipher, seen.group) if part)
    resumed = ", resumed" if seen.resumed else ""
    return f"{words}{resumed}{', after a HelloRetryRequest' if seen.hello_retry else ''}"
