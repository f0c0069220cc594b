"""From what was observed of held connections to their document."""

from __future__ import annotations

from collections.abc import Iterator

from tlstax.contract import Done
from tlstax.findings.core import histograms
from tlstax.selfbench import proof
from tlstax.selfbench.hold_records import (
    Delay,
    Held,
    HeldFigures,
    HeldPair,
    HeldServer,
    HoldDocument,
    HoldHeader,
    HoldRun,
    ServerFigures,
)
from tlstax.selfbench.outcomes import outcomes
from tlstax.selfbench.words import TLS_WORDS
from tlstax.topics.answer.caveats import BESIDE_ANOTHER

BUSY_SHARE = 0.9
"""A side that is busier than this has no time to spare for keeping a schedule."""

MANY = 1000
"""An engine's memory varies by some 100 KiB from start to start, which fewer connections show."""


def hold_document(run: HoldRun) -> HoldDocument:
    """What a hold shows. Raises MachineFault where a histogram cannot be decoded."""
    return HoldDocument(
        **{name: getattr(run.header, name) for name in HoldHeader.model_fields},
        status=run.status,
        servers=tuple(_figures(held, run.header) for held in run.servers),
        not_held=run.not_held,
        caveats=tuple(_caveats(run)),
    )


def _figures(held: HeldServer, header: HoldHeader) -> ServerFigures:
    levels = tuple(_level(pair, held, header) for pair in held.pairs)
    memory = {level.tls: level.client_rss_bytes_per_connection for level in levels}
    encrypted, plain = memory.get("1.3"), memory.get("off")
    return ServerFigures(
        specimens=held.specimens,
        server=held.server,
        pooled=held.pooled,
        levels=levels,
        tls_rss_bytes_per_connection=None if encrypted is None or plain is None else encrypted - plain,
        caveats=tuple(dict.fromkeys(caveat for level in levels for caveat in _caveats_of(level))),
    )


def _level(pair: HeldPair, server: HeldServer, header: HoldHeader) -> HeldFigures:
    held = pair.all
    done, memory = held.seen.done, held.memory
    shares = outcomes(held.seen, done, header.machine) if done is not None and done.operations else {}
    return HeldFigures(
        tls=pair.tls,
        connected=held.connected,
        client_rss_bytes=memory.client_rss_bytes if memory is not None else None,
        client_rss_bytes_per_connection=_per_connection(pair, "client_rss_bytes"),
        server_rss_bytes_per_connection=_per_connection(pair, "server_rss_bytes"),
        server_threads=memory.server_threads if memory is not None else None,
        scheduled=done.scheduled if done is not None else 0,
        operations=done.operations if done is not None else 0,
        skipped=done.skipped if done is not None else 0,
        errors=sum(error.count for error in done.errors) if done is not None else 0,
        start_delay_us=_delay(done, "start_delay"),
        latency_us=_delay(done, "operation"),
        client_cpu_share=shares.get("client_cpu_share"),
        server_cpu_share=shares.get("server_cpu_share"),
        doubts=_doubts(pair, server),
    )


def _per_connection(pair: HeldPair, what: str) -> float | None:
    """Resident bytes that each connection adds: (all - one) / (their number - 1)."""
    if pair.all.memory is None or pair.one.memory is None:
        return None
    added: int = getattr(pair.all.memory, what) - getattr(pair.one.memory, what)
    return added / (_many(pair.all) - _many(pair.one))


def _many(held: Held) -> int:
    return held.seen.trial.cell.connections


def _delay(done: Done | None, phase: str) -> Delay | None:
    if done is None or phase not in done.histograms_ns:
        return None
    count, values = histograms.summary(done.histograms_ns[phase], (50.0, 99.0, 100.0))
    return Delay(p50=values[0], p99=values[1], max=values[2]) if count else None


def _doubts(pair: HeldPair, server: HeldServer) -> tuple[str, ...]:
    """What speaks against the level: the proof of any trial, and that all connections were there."""
    found = [*proof.doubts(pair.one.seen, server.server), *proof.doubts(pair.all.seen, server.server)]
    if not found and pair.all.connected < _many(pair.all):
        found.append(f"the server had {pair.all.connected} connections, not {_many(pair.all)}")
    return tuple(dict.fromkeys(found))


def _caveats(run: HoldRun) -> Iterator[str]:
    if run.status == "interrupted":
        yield "the run was interrupted: levels that were not complete are missing"
    if run.beside_another:
        yield BESIDE_ANOTHER
    if run.header.connections < MANY:
        yield f"memory per connection is known to some KiB only, with fewer than {MANY:,} connections"
    yield from run.header.machine.notes


def _caveats_of(level: HeldFigures) -> Iterator[str]:
    words = TLS_WORDS[level.tls]
    for side, share in (("client", level.client_cpu_share), ("server", level.server_cpu_share)):
        if share is not None and share > BUSY_SHARE:
            busy = f"the {side}'s CPU was busy {share:.0%} of the time"
            yield f"{words} {busy}, with little to spare for the schedule"
    if level.client_rss_bytes_per_connection is None and not level.doubts:
        yield f"{words} the memory could not be read while the connections were held"
    if level.start_delay_us is None and not level.doubts:
        yield f"{words} this engine does not report how late operations were started"
