"""Proof that connections were compressed as the case says: what both sides say of them, and the bytes."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.checks.complete import Complete, Doubt
from tlstax.contract import CompressedBytes, CompressionAgreed
from tlstax.study.client_kinds import kind_of

PACKED = 0.8
"""Parts of a copy's length: what crosses the wire is less where it is compressed, and more where it is not.

The digits of the laboratory's table take half of their length (log2(10) of 8 bits, and what a code of whole
bits loses); rows take 0.96 of the text that a dump makes of them, and files and logs travel as they are.
"""


def compressed(trial: Complete) -> Iterator[Doubt]:
    """Client and server say of the asked connections what the case says, and the client counted so.

    Only a client that knows compression reports it; others cannot have any case of it, but for those that
    copy a server: what one of their copies took on the wire was counted on the way.
    """
    if kind_of(trial.case.client).copies is not None:
        yield from _copied(trial)
        return
    wanted = trial.case.compression
    said = {seen.compression for seen in trial.ready.negotiated}
    for agreed in sorted(said - {None}, key=str):
        yield from _disagrees(agreed, wanted)
    if trial.case.is_compressed and (None in said or not said):
        yield Doubt("unknown", "no connection was asked whether it compresses")
    yield from _bytes(trial)


def _copied(trial: Complete) -> Iterator[Doubt]:
    """A copy was shorter on the wire than it is exactly where it was to be compressed."""
    streamed, wanted = trial.done.streamed, trial.case.compression
    if streamed is None or streamed.received_bytes is None:
        if trial.case.is_compressed:
            yield Doubt("unknown", "how many bytes of a copy crossed the wire is not known")
        return
    length, crossed = streamed.copy_bytes, streamed.received_bytes
    if (crossed < PACKED * length) is not trial.case.is_compressed:
        words = f"{crossed:,} bytes crossed the wire for a copy of {length:,}, where the case has"
        yield Doubt("invalid", f"{words} compression = {wanted}")


def _disagrees(agreed: CompressionAgreed | None, wanted: str) -> Iterator[Doubt]:
    if agreed is None:
        return
    if agreed.client != wanted:
        yield Doubt("invalid", f"the client says compression = {agreed.client} where the case has {wanted}")
    # A server that does not name the algorithm knows zlib alone.
    server = "zlib" if agreed.server == "on" else agreed.server
    if server is None and wanted != "off":
        yield Doubt("unknown", "the server does not say whether it compresses")
    elif server not in {None, wanted}:
        yield Doubt("invalid", f"the server says compression = {agreed.server} where the case has {wanted}")


def _bytes(trial: Complete) -> Iterator[Doubt]:
    """The client counted compressed packets exactly where there are to be some, and they crossed the wire."""
    counted, wire = trial.done.compression, trial.done.wire
    if not trial.case.is_compressed:
        if counted is not None:
            yield Doubt("invalid", "the client counted compressed packets where there must be none")
        return
    if counted is None or not counted.packed_received:
        yield Doubt("invalid", "the client counted no compressed packet")
        return
    if wire is None:
        yield Doubt("unknown", "how many bytes crossed the wire is not known")
        return
    for way, packed, crossed in _ways(counted, wire.bytes_sent, wire.bytes_received):
        if packed > crossed:
            words = f"{packed:,} bytes of compressed packets were {way}, and only {crossed:,} on the wire"
            yield Doubt("invalid", words)


def _ways(counted: CompressedBytes, sent: int, received: int) -> Iterator[tuple[str, int, int]]:
    yield "sent", counted.packed_sent, sent
    yield "received", counted.packed_received, received
