"""Where a run's load came from, and whether it was the server or the load that had no room for more. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from statistics import median

from tlstax.findings.core.outcomes import outcome
from tlstax.records.load import Load
from tlstax.records.trial import LoadMachines, StoredRun, TrialRecord
from tlstax.results.load import Limit, LoadFound, LoadLimit, LoadShare
from tlstax.study.labels import full_label
from tlstax.support.grouping import grouped
from tlstax.support.text import counted, enumerated

BUSY = 0.9
"""CPUs that work for this share of the time have no room for more: work comes in bursts."""

SLOW = 0.5
"""A machine that sent less than this share of what each would have sent of equal ones is said to be slow."""


def load(stored: StoredRun) -> LoadFound | None:
    """What a run shows of its load machines; None where it has none, or no valid trial."""
    known, study = stored.header.load, stored.header.study
    valid = [record for record in stored.measured if record.verdict.value == "valid"]
    shared = [(record, record.load) for record in valid if record.load is not None]
    if known is None or not shared:
        return None
    parts = Counter[str]()
    for _, one in shared:
        parts.update({part.machine: part.operations for part in one.parts})
    by_case = grouped(shared, lambda both: full_label(both[0].trial.case, study))
    cpus = len(stored.header.machine.server_cpus)
    limits = tuple(_limit(label, trials, cpus) for label, trials in by_case.items())
    # One machine alone, where the others were lost, begins together with nobody.
    several = [one for _, one in shared if len(one.parts) > 1]
    skew_us = median(one.skew_us for one in several) if several else 0.0
    clock_error_us = median(one.clock_error_us for one in several) if several else 0.0
    return LoadFound(
        server_address=known.server_address,
        machines=tuple(
            LoadShare(name=name, machine=machine, share=round(parts[name] / parts.total(), 4))
            for name, machine in known.machines.items()
        ),
        offered=known.offered,
        steps=known.steps,
        skew_us=skew_us,
        clock_error_us=clock_error_us,
        limits=limits,
        sentences=(
            *_sentences(known, parts, limits, (skew_us, clock_error_us) if several else None),
            *_slow([one for _, one in shared], parts),
        ),
    )


def _slow(loads: Sequence[Load], sent: Counter[str]) -> Iterator[str]:
    """A sentence for each machine that `sent` far less than others, in the trials in which it took part."""
    equal = Counter[str]()
    for one in loads:
        each = sum(part.operations for part in one.parts) / len(one.parts)
        equal.update({part.machine: each for part in one.parts})
    for name in sent:
        if sent[name] < SLOW * equal[name]:
            yield (
                f"{name} is slow: it sent less than half of what each machine would have sent of equal ones, "
                "and a slice lasts until all have sent enough"
            )


def _limit(label: str, trials: Sequence[tuple[TrialRecord, Load]], cpus: int) -> LoadLimit:
    """How busy both sides were with a case, on a server of so many CPUs; 0 where they are not known."""
    used = [outcome(record, "server_cpu_share") for record, _ in trials]
    of_server = [share / cpus for share in used if share is not None and cpus]
    server_busy = round(median(of_server), 3) if of_server else None
    clients_busy = round(median(_busiest(record, one) for record, one in trials), 3)
    return LoadLimit(
        case=dict(trials[0][0].trial.case.levels),
        label=label,
        server_busy=server_busy,
        clients_busy=clients_busy,
        limit=_who(server_busy, clients_busy),
    )


def _busiest(record: TrialRecord, shared: Load) -> float:
    """The share of its CPUs' time that the busiest load machine's client used in a valid trial."""
    elapsed_us = record.done.elapsed_s * 1e6 if record.done is not None else inf
    return max(part.cpu_us / part.cpus for part in shared.parts) / elapsed_us


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
    names, in_all = enumerated(list(known.machines)), parts.total()
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
