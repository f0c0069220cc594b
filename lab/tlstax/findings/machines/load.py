"""Where a run's load came from, and whether it was the server or the load that had no room for more. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from tlstax.findings.core.outcomes import outcome
from tlstax.records.load import Load
from tlstax.records.trial import LoadMachines, Machine, StoredRun, TrialRecord
from tlstax.results.load import Limit, LoadFound, LoadLimit, LoadShare
from tlstax.study.labels import full_label
from tlstax.support.grouping import grouped
from tlstax.support.text import counted, enumerated

BUSY = 0.9
"""CPUs that work for this share of the time have no room for more: work comes in bursts."""


def load(stored: StoredRun) -> LoadFound | None:
    """What a run shows of its load machines; None where it has none, or no valid trial."""
    header = stored.header
    valid = [record for record in stored.measured if record.verdict.value == "valid"]
    shared = [(record, record.load) for record in valid if record.load is not None]
    if header.load is None or not shared:
        return None
    parts = Counter[str]()
    for _, one in shared:
        parts.update({part.machine: part.operations for part in one.parts})
    by_case = grouped(
        (record for record, _ in shared), lambda record: full_label(record.trial.case, header.study)
    )
    limits = tuple(_limit(label, records, stored) for label, records in by_case.items())
    # One machine alone, where the others were lost, begins together with nobody.
    several = [one for _, one in shared if len(one.parts) > 1]
    skew_us = median(one.skew_us for one in several) if several else 0.0
    clock_error_us = median(one.clock_error_us for one in several) if several else 0.0
    return LoadFound(
        server_address=header.load.server_address,
        machines=tuple(_shares(header.load, parts)),
        offered=header.load.offered,
        steps=header.load.steps,
        skew_us=round(skew_us, 1),
        clock_error_us=round(clock_error_us, 1),
        limits=limits,
        sentences=tuple(
            _sentences(header.load, parts, limits, (skew_us, clock_error_us) if several else None)
        ),
    )


def _shares(known: LoadMachines, parts: Counter[str]) -> Iterator[LoadShare]:
    in_all = parts.total() or 1
    for name, machine in known.machines.items():
        yield LoadShare(name=name, machine=machine, share=round(parts[name] / in_all, 4))


def _limit(label: str, records: Sequence[TrialRecord], stored: StoredRun) -> LoadLimit:
    known = stored.header.load
    cpus = len(stored.header.machine.server_cpus)
    used = [outcome(record, "server_cpu_share") for record in records]
    of_server = [share / cpus for share in used if share is not None] if cpus else []
    server_busy = median(of_server) if of_server else None
    clients_busy = median(_busiest(record, known.machines if known else {}) for record in records)
    return LoadLimit(
        case=dict(records[0].trial.case.levels),
        label=label,
        server_busy=None if server_busy is None else round(server_busy, 3),
        clients_busy=round(clients_busy, 3),
        limit=_who(server_busy, clients_busy),
    )


def _busiest(record: TrialRecord, machines: dict[str, Machine]) -> float:
    """The share of its CPUs' time that the busiest load machine's client used in a trial."""
    if record.done is None or record.load is None:
        return 0.0
    return max(_shares_of_cpus(record.load, record.done.elapsed_s, machines), default=0.0)


def _shares_of_cpus(load: Load, elapsed_s: float, machines: dict[str, Machine]) -> Iterator[float]:
    for part in load.parts:
        cpus = len(machines[part.machine].client_cpus) if part.machine in machines else 1
        yield part.cpu_us / 1e6 / elapsed_s / max(1, cpus)


def _who(server_busy: float | None, clients_busy: float) -> Limit:
    if server_busy is not None and server_busy >= BUSY:
        return "server"
    if clients_busy >= BUSY:
        return "clients"
    return "unknown" if server_busy is None else "neither"


def _sentences(
    known: LoadMachines,
    parts: Counter[str],
    limits: Iterable[LoadLimit],
    exactly_us: tuple[float, float] | None,
) -> Iterator[str]:
    """`exactly_us` is how far apart machines began, and how exactly that is known; None of one machine."""
    names, in_all = enumerated(list(known.machines)), parts.total() or 1
    shares = ", ".join(f"{name} {parts[name] / in_all:.0%}" for name in known.machines).replace("%", " %")
    one = len(known.machines) == 1
    yield f"all load came from {names}" if one else f"the load came from {names} at once ({shares})"
    if exactly_us is not None:
        skew_us, error_us = exactly_us
        yield (
            f"they began each slice {skew_us:.0f} µs apart in the median, clocks known to {error_us:.0f} µs"
            "; a slice of which more than a twentieth lay between is left out"
        )
    if known.offered > len(known.machines):
        busy = known.steps[-1].server_busy if known.steps else None
        kept = f", which kept {busy:.0%} of the server's CPUs busy".replace("%", " %") if busy else ""
        yield f"{counted(known.offered, 'machine')} were offered, and {len(known.machines)} enough{kept}"
    yield from _limit_sentences(list(limits))


def _limit_sentences(limits: Sequence[LoadLimit]) -> Iterator[str]:
    """What the limit was, of all cases together where it is the same for all."""
    for limit, of_limit in grouped(limits, lambda one: one.limit).items():
        where = "" if len(of_limit) == len(limits) else f" ({'; '.join(one.label for one in of_limit)})"
        server = _range([one.server_busy for one in of_limit])
        clients = _range([one.clients_busy for one in of_limit])
        yield WORDS[limit].format(server=server, clients=clients) + where


WORDS: dict[Limit, str] = {
    "server": (
        "the limit was the server: its CPUs were {server} busy, those of the busiest client {clients}"
    ),
    "clients": (
        "the limit was the load: the CPUs of the busiest client were {clients} busy; more machines in "
        "--clients-on would ask more of the server, whose CPUs were {server} busy"
    ),
    "neither": (
        "neither side was the limit: the server's CPUs were {server} busy, those of the busiest client "
        "{clients}; connections wait for the other side, and more of them would fill what is left"
    ),
    "unknown": (
        "how busy the server was is not known from here; the CPUs of the busiest client were {clients} busy"
    ),
}


def _range(shares: Sequence[float | None]) -> str:
    known = [share for share in shares if share is not None]
    if not known:
        return "an unknown share"
    low, high = round(min(known) * 100), round(max(known) * 100)
    return f"{low} %" if low == high else f"{low} to {high} %"
