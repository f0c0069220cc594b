"""What a trial's record says in numbers: one value for each outcome that it yields; what processors did."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Final, Literal

from tlstax.contract import Done, PhaseWire
from tlstax.plan.order import cases
from tlstax.records.trial import TrialRecord
from tlstax.records.window import LOCKS, CpuSlice, CpuTicks
from tlstax.stats import histograms, slices
from tlstax.stats.histograms import Histogram
from tlstax.study import Level, Study
from tlstax.study.client_kinds import FLOOR
from tlstax.study.outcomes import (
    COUNTED_WORDS,
    OUTCOMES,
    PERCENTILES,
    PHASE_WORDS,
    PROCESSOR_WORDS,
    UNITS,
    WIRE_PHASES,
    Outcome,
    percentile_name,
)

Whose = Literal["machine", "server"]


@dataclass(frozen=True)
class Shares:
    """Per cent of the processors' time, in the columns of `sar -u`: together they are 100."""

    user: float
    nice: float
    system: float
    iowait: float
    steal: float
    idle: float


def shares(ticks: CpuTicks) -> Shares | None:
    """The ticks in per cent; None where there are none. System includes interrupts (sar(1))."""
    if ticks.total == 0:
        return None
    per_cent = 100 / ticks.total
    return Shares(
        user=ticks.user * per_cent,
        nice=ticks.nice * per_cent,
        system=(ticks.system + ticks.irq + ticks.softirq) * per_cent,
        iowait=ticks.iowait * per_cent,
        steal=ticks.steal * per_cent,
        idle=ticks.idle * per_cent,
    )


def together(slices: Iterable[CpuSlice], whose: Whose = "machine") -> CpuTicks | None:
    """The ticks of all these slices; None where there are none."""
    found = [ticks for part in slices if (ticks := getattr(part, whose)) is not None]
    if not found:
        return None
    return CpuTicks(**{name: sum(getattr(t, name) for t in found) for name in CpuTicks.model_fields})


def window_slices(records: Iterable[TrialRecord]) -> tuple[CpuSlice, ...]:
    """Every slice that was seen in these trials."""
    return tuple(part for record in records if record.window for part in record.window.cpus)


@dataclass(frozen=True)
class Stretch:
    """A stretch of the window, over some trials: from when to when, of how many, and what was done."""

    from_s: float
    to_s: float
    trials: int
    ticks: CpuTicks


def series(records: Sequence[TrialRecord], every_s: int, whose: Whose = "machine") -> tuple[Stretch, ...]:
    """The window in stretches of this many seconds, each summed up over all these trials.

    A trial's last second, of which only a part belongs to the window, goes to the stretch that it begins in.
    """
    stretches: dict[int, list[tuple[int, CpuSlice]]] = {}
    for number, record in enumerate(records):
        for part in record.window.cpus if record.window else ():
            stretches.setdefault(round(part.at_s) // every_s, []).append((number, part))
    found = []
    for place in sorted(stretches):
        parts = [part for _, part in stretches[place]]
        ticks = together(parts, whose)
        if ticks is not None and ticks.total:
            found.append(
                Stretch(
                    from_s=place * every_s,
                    to_s=max(part.at_s + part.took_s for part in parts),
                    trials=len({number for number, _ in stretches[place]}),
                    ticks=ticks,
                )
            )
    return tuple(found)


__all__ = [
    "OUTCOMES",
    "UNITS",
    "Outcome",
    "log_ratio_between",
    "merged",
    "outcome",
    "outcomes",
    "phases_together",
    "storm_rates",
]

MINIMUM_SAMPLES = {50.0: 1, 99.0: 100, 99.9: 10_000}
"""A percentile is told only from this many samples: below 100 the 99th is just the largest value, and the
99.9th, which few samples decide, needs ten beyond it. What is left is scatter, which the interval over
blocks shows."""


PERCENTILE_NAMES: Final = {
    phase: tuple(percentile_name(phase, percentile) for percentile in PERCENTILES) for phase in PHASE_WORDS
}

WHOSE: Final[tuple[tuple[Whose, str], ...]] = (("machine", "machine"), ("server", "server_cpus"))
"""Whose processors are told apart, and how the names of their outcomes begin."""


def outcomes(record: TrialRecord, phases: Collection[str] | None = None) -> dict[str, float]:
    """Every outcome that this trial yields, in the units of `UNITS`; none where it has no result.

    With `phases`, percentiles of these phases alone: decoding histograms is what takes the time.
    What cannot be told is left out: a phase that did not occur, a percentile of too few samples, CPU
    and memory of a server out of reach, bytes where the client does not count them, segments where TCP_INFO
    is not available. What slices have is the median slice's. Raises MachineFault where a histogram cannot be
    decoded.
    """
    done = record.done
    if done is None:
        return {}
    found = {**_counted(record, done), **_latencies(done, phases=phases)}
    return {name: found[name] for name in OUTCOMES if name in found}


def outcome(record: TrialRecord, name: str) -> float | None:
    """One outcome of a trial, or None; decodes no more than it needs. Raises MachineFault."""
    done = record.done
    if done is None:
        return None
    counted = _counted(record, done)
    return counted[name] if name in counted else _latencies(done, only=name).get(name)


def log_ratio_between(
    record: TrialRecord, other: TrialRecord, name: str, control: TrialRecord | None = None
) -> float | None:
    """Ln of the ratio of an outcome of two trials of one block, as `slices.log_ratio` takes it.

    `control` is the other's, where it is a baseline and the ratio is to both. None where one of them does not
    have it above zero. Raises MachineFault.
    """
    found = slices.log_ratio_of_neighbours(name, (slices.turns(record), slices.turns(other, control)))
    if found is not None:
        return found
    return slices.log_ratio(name, outcome(record, name), outcome(other, name), (None, None))


def merged(records: Iterable[TrialRecord], phase: str) -> Histogram | None:
    """The histogram of a phase over all these trials; None where it occurred in none of them."""
    return histograms.merge(
        record.done.histograms_ns[phase]
        for record in records
        if record.done is not None and phase in record.done.histograms_ns
    )


def _known(amounts: Mapping[str, float | None], *, each: float = 1.0) -> dict[str, float]:
    """Those of the amounts that are known, for each of the N."""
    return {name: amount / each for name, amount in amounts.items() if amount is not None}


def _copy(done: Done) -> dict[str, float]:
    copy = done.streamed
    if copy is None:
        return {}
    return _known({"copy_bytes": copy.copy_bytes, "copy_wire_bytes": copy.received_bytes})


def _counted(record: TrialRecord, done: Done) -> dict[str, float]:
    return {
        **_throughput(done),
        **_rounds(record, done),
        **_total(record, done),
        **_statements(record),
        **_warmup(record),
        **_cpu(record, done),
        **_path(record, done),
        **_outside_client(record, done),
        **_events(record),
        **_memory(record),
        **_wire(done),
        **_copy(done),
        **_phases_on_the_wire(done),
        **_processors(record),
        **_observers(record),
        **_locks(record),
        **slices.values(record),
    }


def storm_rates(done: Done) -> tuple[float, ...]:
    """Connections a second in each round of a storm; none where there was no storm.

    A round's closing is not in its time. Connections that failed count in no round.
    """
    if not done.rounds_s:
        return ()
    each = done.operations / len(done.rounds_s)
    return tuple(each / round_s for round_s in done.rounds_s)


def _throughput(done: Done) -> dict[str, float]:
    """Operations a second; of a storm those of the time that is counted, which closing is not in.

    The mean over a storm's rounds is that of their rates, as it was published: each round is a run.
    """
    rates = storm_rates(done)
    if not rates:
        return {"ops_per_s": done.operations / done.elapsed_s}
    found = {"ops_per_s": done.operations / sum(done.rounds_s), "connections_per_s": fmean(rates)}
    return {**found, "connections_per_s_sd": stdev(rates)} if len(rates) > 1 else found


def _rounds(record: TrialRecord, done: Done) -> dict[str, float]:
    """How long a round took on average: the client's own word for it, or its share of the window.

    A trial that did not finish its first round has none.
    """
    job = record.job
    if done.rounds_s:
        return {"round_s": fmean(done.rounds_s)}
    if job is None or job.operations is None:
        return {}
    if "average" in done.reported_s:
        return {"round_s": done.reported_s["average"]}
    rounds = done.operations / (job.operations / job.rounds)
    return {"round_s": done.elapsed_s / rounds} if rounds >= 1 else {}


def _total(record: TrialRecord, done: Done) -> dict[str, float]:
    """How long all operations of a trial took that ends with their number; nothing where some are missing."""
    job = record.job
    if job is None or job.operations is None or job.workload.storm or done.operations < job.operations:
        return {}
    return {"total_s": done.elapsed_s}


def _statements(record: TrialRecord) -> dict[str, float]:
    """What a driver made of each operation, by the server's own count of commands over the window.

    More than the operation has are the driver's own; fewer were put together. Told of drivers alone, and not
    of a server that others use too.
    """
    job, operations = record.job, record.watched_operations
    if job is None or job.driver is None or record.guest or not operations:
        return {}
    counted = sum(record.commands_in_window.values())
    return {"statements_per_op": counted / operations} if counted > 0 else {}


def _warmup(record: TrialRecord) -> dict[str, float]:
    """How long a client took to become steady, and what it used in the first slice of that time.

    One that was not steady in the end has only the latter: when it would have been is not known.
    """
    ready = record.ready
    if ready is None or not ready.warmup:
        return {}
    first, last = ready.warmup[0], ready.warmup[-1]
    found = {"warmup_s": last.elapsed_s} if ready.steady else {}
    return {**found, "cold_us_per_op": first.cpu_us / first.operations} if first.operations else found


def _latencies(
    done: Done, only: str | None = None, phases: Collection[str] | None = None
) -> dict[str, float]:
    found: dict[str, float] = {}
    for phase in PHASE_WORDS if phases is None else phases:
        names = PERCENTILE_NAMES[phase]
        if phase not in done.histograms_ns or (only is not None and only not in names):
            continue
        count, values = histograms.summary(done.histograms_ns[phase], PERCENTILES)
        found |= {
            name: value
            for name, percentile, value in zip(names, PERCENTILES, values, strict=bool(count))
            if name in OUTCOMES and count >= MINIMUM_SAMPLES[percentile]
        }
    return found


def _cpu(record: TrialRecord, done: Done) -> dict[str, float]:
    found = {"client_cpu_share": _busiest_thread_us(record, done) / (done.elapsed_s * 1e6)}
    if done.overhead is not None:
        found["client_overhead_us_per_op"] = done.overhead.cpu_us_per_op
    server = record.server.cpu if record.server is not None else None
    if server is not None:
        found["server_cpu_share"] = server.total_us / (done.elapsed_s * 1e6)
    for side, cpu in (("client", done.cpu), ("server", server)):
        if cpu is not None and done.operations:
            found[f"{side}_cpu_us_per_op"] = cpu.total_us / done.operations
            found[f"{side}_cpu_user_us_per_op"] = cpu.user_us / done.operations
            found[f"{side}_cpu_system_us_per_op"] = cpu.system_us / done.operations
    return found


def _path(record: TrialRecord, done: Done) -> dict[str, float]:
    """What the programs between client and server used, and the whole, where paths are compared."""
    window, server = record.window, record.server
    between = window.path if window is not None else None
    used_us = between.cpu_total_us if between is not None else None
    is_known = "path" in record.trial.case.levels and (record.path is None or used_us is not None)
    operations = record.watched_operations
    if not done.operations or not operations or not is_known:
        return {}
    found = {} if used_us is None else {"path_cpu_us_per_op": used_us / operations}
    if server is not None and server.cpu is not None:
        both_us = done.cpu.total_us + server.cpu.total_us
        found["all_cpu_us_per_op"] = both_us / done.operations + (used_us or 0.0) / operations
    return found


def _outside_client(record: TrialRecord, done: Done) -> dict[str, float]:
    """What an operation takes less the client's CPU, where one waits for the other: on one connection.

    With more of them a client works on one operation while the server works on another, and the times of an
    operation do not add up. Nothing where the two overlapped so far that nothing is left.
    """
    job = record.job
    if job is None or job.connections != 1 or job.schedule.mode != "closed" or not done.operations:
        return {}
    outside_us = (done.elapsed_s * 1e6 - done.cpu.total_us) / done.operations
    return {"outside_client_us_per_op": outside_us} if outside_us > 0 else {}


def _events(record: TrialRecord) -> dict[str, float]:
    """What was counted per operation. Older stores have no windows, but the server's instructions."""
    window, found = record.window, dict[str, float]()
    sides = {"server": window.server, "client": window.client} if window is not None else {}
    for side, use in sides.items():
        counters = use.counters if use is not None else {}
        for name in COUNTED_WORDS:
            times = _whole(counters, name)
            if times is not None:
                found[f"{side}_{name}_per_op"] = times
    read = _read_bytes(record)
    if read is not None:
        found["client_read_bytes_per_op"] = read
    if window is None and record.server is not None and record.server.instructions is not None:
        found["server_instructions_per_op"] = record.server.instructions
    operations = record.watched_operations
    return {name: times / operations for name, times in found.items()} if operations else {}


def _read_bytes(record: TrialRecord) -> int | None:
    client = record.window.client if record.window is not None else None
    return client.counters.get("read_bytes") if client is not None else None


def _whole(counters: Mapping[str, int], name: str) -> int | None:
    """How often an event happened; of one counted in two parts, both or nothing."""
    user, kernel = counters.get(f"{name}_user"), counters.get(f"{name}_kernel")
    return counters.get(name) if user is None or kernel is None else user + kernel


def _processors(record: TrialRecord) -> dict[str, float]:
    """What the processors did over the window; those of the server alone where it is pinned."""
    found: dict[str, float] = {}
    for whose, stem in WHOSE:
        ticks = together(record.window.cpus, whose) if record.window is not None else None
        share = shares(ticks) if ticks is not None else None
        if share is not None:
            found |= {f"{stem}_{name}_percent": per_cent for name, per_cent in vars(share).items()}
    return {name: per_cent for name, per_cent in found.items() if name in PROCESSOR_WORDS}


def _observers(record: TrialRecord) -> dict[str, float]:
    window = record.window
    return _known({"observers_cpu_us": window.observers_cpu_us}) if window is not None else {}


def _busiest_thread_us(record: TrialRecord, done: Done) -> float:
    """CPU time of the busiest load thread; of an average one where the client does not tell them apart."""
    threads = record.job.threads if record.job is not None else 1
    return max(done.threads_cpu_us, default=done.cpu.total_us / threads)


def _memory(record: TrialRecord) -> dict[str, float]:
    """What both sides held at the end; what takes counting pages only where a trial by itself did that."""
    window, server = record.window, record.server
    sizes: dict[str, int | None] = {"server_rss_bytes": None if server is None else server.rss_bytes}
    if window is not None and window.server is not None:
        sizes |= {"server_pss_bytes": window.server.pss_bytes, "server_threads": window.server.threads}
    if window is not None and window.client is not None and window.client.threads is not None:
        sizes["client_rss_bytes"] = window.client.rss_bytes
    return _known(sizes)


def _wire(done: Done) -> dict[str, float]:
    wire, operations = done.wire, done.operations
    if wire is None or not operations:
        return {}
    counts: dict[str, float | None] = {
        "bytes_per_op": wire.bytes_sent + wire.bytes_received,
        "bytes_sent_per_op": wire.bytes_sent,
        "bytes_received_per_op": wire.bytes_received,
        "records_sent_per_op": wire.records_sent,
        "records_received_per_op": wire.records_received,
    }
    if wire.segments_sent is not None and wire.segments_received is not None:
        counts["segments_per_op"] = wire.segments_sent + wire.segments_received
    return _known(counts, each=operations)


def phases_together(done: Done, phases: Collection[str]) -> PhaseWire | None:
    """What crossed the wire in all occurrences of these phases, summed; None where none was counted."""
    counted = [done.phase_wire[phase] for phase in phases if phase in done.phase_wire]
    if not counted:
        return None
    return PhaseWire(
        times=sum(wire.times for wire in counted),
        round_trips=sum(wire.round_trips for wire in counted),
        bytes_sent=sum(wire.bytes_sent for wire in counted),
        bytes_received=sum(wire.bytes_received for wire in counted),
    )


def _phases_on_the_wire(done: Done) -> dict[str, float]:
    """Round trips and bytes of a connect, of a TLS handshake and of a query: means, of whole numbers."""
    found: dict[str, float] = {}
    for name, (phases, _) in WIRE_PHASES.items():
        wire = phases_together(done, phases)
        if wire is not None:
            for amount in ("round_trips", "bytes_sent", "bytes_received"):
                found[f"{amount}_per_{name}"] = getattr(wire, amount) / wire.times
    return found


def _locks(record: TrialRecord) -> dict[str, float]:
    """What the server took of locks for an operation, where they were counted."""
    locks = record.locks
    if locks is None or not locks.operations:
        return {}
    taken = locks.of_kinds(*LOCKS)
    counts = {
        "server_locks_per_op": sum(site.calls for site in taken),
        "server_locks_moved_per_op": sum(site.moved for site in taken),
        "server_locks_contended_per_op": sum(site.contended for site in taken),
        "server_lock_waits_per_op": sum(site.calls for site in locks.of_kinds("wait")),
        **{
            f"server_{whose}_locks_per_op": sum(site.calls for site in own)
            for whose in ("libssl", "libcrypto")
            if (own := [site for site in taken if site.library.startswith(whose)])
        },
    }
    return _known(counts, each=locks.operations)


MOST_GROUPS = 12
"""A study with more groups than this is told as an overview; a section for each would bury the answer."""

OVERVIEW_PHASES = ("operation", "connect", "tls_handshake")
"""The phases whose percentiles such a study has: a histogram takes a millisecond to decode, and there are
ten thousands of them. The others are in the export."""


def groups(study: Study) -> tuple[dict[str, Level], ...]:
    """What the cases of each comparison share, in the plan's order."""
    found = {tuple(study.group_of(case.levels).items()): None for case in cases(study)}
    return tuple(dict(group) for group in found)


def is_large(study: Study) -> bool:
    """Whether the study has too many groups for a section each."""
    return len(groups(study)) > MOST_GROUPS


def asks_for_counts(study: Study) -> bool:
    """Whether the study's question is how many round trips there are."""
    return study.deciding_outcome.startswith("round_trips_")


def is_of_load_client(study: Study) -> bool:
    """Whether clients are compared, one of them the least that one can do: the question is what they cost."""
    return "client" in study.baseline and FLOOR in study.levels_of()["client"]


def phases(study: Study) -> tuple[str, ...] | None:
    """The phases whose percentiles are told; None for all."""
    return OVERVIEW_PHASES if is_large(study) else None
