"""From what was observed of held connections to their document."""

from __future__ import annotations

from tlstax.contract import Done
from tlstax.findings.answer.machine_caveats import BESIDE_ANOTHER
from tlstax.findings.core import histograms
from tlstax.selfbench import proof
from tlstax.selfbench.hold_records import (
    Delay,
    Held,
    HeldFigures,
    HeldPair,
    HoldDocument,
    HoldHeader,
    HoldRun,
)
from tlstax.selfbench.outcomes import outcomes
from tlstax.selfbench.words import TLS_WORDS

BUSY_SHARE = 0.9
"""A side that is busier than this has no time to spare for keeping a schedule."""

MANY = 1000
"""An engine's memory varies by some 100 KiB from start to start, which fewer connections show."""


def hold_document(run: HoldRun) -> HoldDocument:
    """What a hold shows. Raises MachineFault where a histogram cannot be decoded."""
    levels = tuple(_level(pair, run.header) for pair in run.pairs)
    memory = {level.tls: level.client_rss_bytes_per_connection for level in levels}
    encrypted, plain = memory.get("1.3"), memory.get("off")
    return HoldDocument(
        **{name: getattr(run.header, name) for name in HoldHeader.model_fields},
        status=run.status,
        levels=levels,
        tls_rss_bytes_per_connection=None if encrypted is None or plain is None else encrypted - plain,
        caveats=tuple(_caveats(run, levels)),
    )


def _level(pair: HeldPair, header: HoldHeader) -> HeldFigures:
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
        doubts=_doubts(pair, header),
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


def _doubts(pair: HeldPair, header: HoldHeader) -> tuple[str, ...]:
    """What speaks against the level: the proof of any trial, and that all connections were there."""
    found = [*proof.doubts(pair.one.seen, header.server), *proof.doubts(pair.all.seen, header.server)]
    if not found and pair.all.connected < _many(pair.all):
        found.append(f"the server had {pair.all.connected} connections, not {_many(pair.all)}")
    return tuple(dict.fromkeys(found))


def _caveats(run: HoldRun, levels: tuple[HeldFigures, ...]) -> list[str]:
    found = ["the run was interrupted: levels that were not complete are missing"]
    found = found if run.status == "interrupted" else []
    if run.beside_another:
        found = [*found, BESIDE_ANOTHER]
    if run.header.connections < MANY:
        found.append(f"memory per connection is known to some KiB only, with fewer than {MANY:,} connections")
    for level in levels:
        for side, share in (("client", level.client_cpu_share), ("server", level.server_cpu_share)):
            if share is not None and share > BUSY_SHARE:
                busy = f"the {side}'s CPU was busy {share:.0%} of the time"
                found.append(f"{TLS_WORDS[level.tls]} {busy}, with little to spare for the schedule")
        if level.client_rss_bytes_per_connection is None and not level.doubts:
            found.append(
                f"{TLS_WORDS[level.tls]} the memory could not be read while the connections were held"
            )
        if level.start_delay_us is None and not level.doubts:
            found.append(
                f"{TLS_WORDS[level.tls]} this engine does not report how late operations were started"
            )
    return [*dict.fromkeys(found), *run.header.machine.notes]
