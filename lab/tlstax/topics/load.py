"""Where a run's load came from, and whether it was the server or the load that had no room for more."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from statistics import median

from tlstax.plan import order as plan_order
from tlstax.records.trial import LoadMachines, TrialRecord
from tlstax.records.window import BUSY, Load
from tlstax.results.document import RunDocument
from tlstax.results.rows import Row, Told
from tlstax.stats.outcomes import is_large, outcome
from tlstax.stats.wording import capitalised
from tlstax.study.labels import full_label
from tlstax.support.grouping import grouped
from tlstax.support.text import counted, enumerated
from tlstax.topics.core import columns
from tlstax.topics.core.columns import Column
from tlstax.topics.core.section import Items, Roomy, Section
from tlstax.topics.core.table import Number, Table
from tlstax.topics.core.topic import Run, Topic

SLOW = 0.5
"""A machine that sent less than this share of what each would have sent of equal ones is said to be slow."""

LOAD, PILOT, MACHINE, TOGETHER = "load", "load pilot", "load machine", "load machines"
SKEW, CLOCK_ERROR, OFFERED = "skew_us", "clock_error_us", "machines_offered"
NAME, OF_EQUAL, NUMBER = "machine", "share_of_equal", "machines_together"

SHARE_OF_TIME = "of the CPUs' time"

LIMITS = {
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
"""By whose processors had no room for more; unknown where the server's are out of reach."""


def rows(run: Run) -> Iterator[Row]:
    """How busy both sides were with each case; before that the machines. Nothing of a run without any.

    `load` has the share of their CPUs' time that worked, medians over trials, of the busiest client (value)
    and of the server (baseline_value); the judgement is whose processors had no room for more. Each `load
    machine` has its part of all operations. `skew_us` is how far apart the beginnings of a slice lay, the
    median over trials, and `clock_error_us` how exactly that is known; one machine alone begins together with
    no other. `load pilot` is what was seen before the first block of some machines together.
    """
    known = run.stored.header.load
    if known is None:
        return
    valid = plan_order.in_order(run.stored.valid, run.study)
    shared = [(record, record.load) for record in valid if record.load is not None]
    if not shared:
        return
    loads = [load for _, load in shared]
    yield from _machines(known, loads)
    yield Row(role=TOGETHER, outcome=OFFERED, unit="1", value=known.offered)
    several = [load for load in loads if len(load.parts) > 1]
    if several:
        skew_us, error_us = (median(getattr(load, name) for load in several) for name in (SKEW, CLOCK_ERROR))
        yield Row(role=TOGETHER, outcome=SKEW, unit="us", value=skew_us)
        yield Row(role=TOGETHER, outcome=CLOCK_ERROR, unit="us", value=error_us)
    for step in known.steps:
        busy, number = step.server_busy, step.machines
        yield Row(role=PILOT, outcome="busy", unit=SHARE_OF_TIME, baseline_value=busy, more={NUMBER: number})
    cpus = len(run.stored.header.machine.server_cpus)
    for label, trials in grouped(shared, lambda both: full_label(both[0].trial.case, run.study)).items():
        yield _busy(label, trials, cpus)


def _machines(known: LoadMachines, loads: Sequence[Load]) -> Iterator[Row]:
    """What each machine sent, of all and of what each would have sent of equal ones in its own trials."""
    sent: Counter[str] = Counter()
    equal: dict[str, float] = defaultdict(float)
    for load in loads:
        each = sum(part.operations for part in load.parts) / len(load.parts)
        for part in load.parts:
            sent[part.machine] += part.operations
            equal[part.machine] += each
    for name in known.machines:
        of_equal = sent[name] / equal[name] if equal.get(name) else None
        yield Row(
            role=MACHINE,
            outcome="operations",
            unit="of all",
            value=round(sent[name] / sent.total(), 4),
            more={NAME: name, OF_EQUAL: of_equal, "server_address": known.server_address},
        )


def _busy(label: str, trials: Sequence[tuple[TrialRecord, Load]], cpus: int) -> Row:
    """How busy both sides were with a case, on a server of this many CPUs; 0 where they are not known.

    Of the clients it is the share of its CPUs' time that the busiest load machine's used.
    """
    used = [outcome(record, "server_cpu_share") for record, _ in trials]
    of_server = [share / cpus for share in used if share is not None and cpus]
    server = round(median(of_server), 3) if of_server else None
    busiest = [
        max(part.cpu_us / part.cpus for part in load.parts) / (record.done.elapsed_s * 1e6)
        for record, load in trials
        if record.done is not None
    ]
    clients = round(median(busiest), 3)
    limit = "unknown" if server is None else "neither"
    if server is not None and server >= BUSY:
        limit = "server"
    elif clients >= BUSY:
        limit = "clients"
    return Row(
        role=LOAD,
        outcome="busy",
        unit=SHARE_OF_TIME,
        label=label,
        case=trials[0][0].trial.case.levels,
        value=clients,
        baseline_value=server,
        judgement=limit,
    )


def sentences(_: Run, shown: Sequence[Row]) -> Iterator[str]:
    """Who sent how much, how exactly together, how many were needed, what the limit was, and who is slow."""
    machines = [row for row in shown if row.role == MACHINE]
    names = enumerated([row.word(NAME) for row in machines])
    shares = ", ".join(f"{row.word(NAME)} {row.amount:.0%}" for row in machines).replace("%", " %")
    alone = len(machines) == 1
    yield f"all load came from {names}" if alone else f"the load came from {names} at once ({shares})"
    numbers = {row.outcome: row.amount for row in shown if row.role == TOGETHER}
    if SKEW in numbers:
        yield (
            f"they began each slice {numbers[SKEW]:.0f} µs apart in the median, clocks known to "
            f"{numbers[CLOCK_ERROR]:.0f} µs; a slice of which more than a twentieth lay between is left out"
        )
    if numbers[OFFERED] > len(machines):
        busy = next((row.baseline_value for row in reversed(shown) if row.role == PILOT), None)
        kept = f", which kept {busy:.0%} of the server's CPUs busy".replace("%", " %") if busy else ""
        offered = counted(round(numbers[OFFERED]), "machine")
        yield f"{offered} were offered, and {len(machines)} enough{kept}"
    cases = [row for row in shown if row.role == LOAD]
    for limit, own in grouped(cases, lambda row: row.judgement).items():
        where = "" if len(own) == len(cases) else f" ({'; '.join(row.label for row in own)})"
        server, clients = _range([row.baseline_value for row in own]), _range([row.value for row in own])
        yield LIMITS[limit].format(server=server, clients=clients) + where
    for row in machines:
        of_equal = row.number(OF_EQUAL)
        if of_equal is not None and of_equal < SLOW:
            yield (
                f"{row.word(NAME)} is slow: it sent less than half of what each machine would have sent of "
                "equal ones, and a slice lasts until all have sent enough"
            )


def _range(shares: Sequence[float | None]) -> str:
    known = [share for share in shares if share is not None]
    if not known:
        return "an unknown share"
    low, high = round(min(known) * 100), round(max(known) * 100)
    return f"{low} %" if low == high else f"{low} to {high} %"


def sections(told: Told, document: RunDocument) -> Iterator[Section]:
    """What is said of the load; where there is room, how busy both sides were with each case."""
    said = Items(tuple(map(capitalised, told.sentences)), all_of_them=True)
    lines = [
        (row.label, _percent(row.baseline_value), _percent(row.value), row.judgement)
        for row in told.of(role=LOAD)
    ]
    heads = ("server's CPUs", "busiest client's CPUs", "limit")
    table = Roomy((Table("How busy both sides were", heads, lines, ()),))
    yield Section((said,) if is_large(document.design) else (said, table), told.title)


def _percent(share: float | None) -> Number:
    return Number(share, said=lambda share: f"{share * 100:.0f} %")


COLUMNS = (
    columns.MACHINE,
    Column(OF_EQUAL, "REAL", "what a load machine sent, of what each would have sent of equal ones", "1"),
    Column("server_address", "TEXT", "where clients on load machines reach the server"),
    Column(NUMBER, "INTEGER", "how many load machines there were together"),
)

TOPIC = Topic("load", "Where the load came from", rows, sections, sentences, COLUMNS)
