"""Round trips and bytes of every case, phase by phase, as the client counted them.

They are counts: what decides is not an interval but whether trials agree. Over a distance the counted number
stands beside how many round trip times a connect took.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import median

from tlstax.contract import PhaseWire
from tlstax.plan.order import cases
from tlstax.records.trial import TrialRecord
from tlstax.results.document import RunDocument
from tlstax.results.rows import Row, RowSet, Told, by_case
from tlstax.stats.outcomes import asks_for_counts, is_large, outcome, phases_together
from tlstax.stats.wording import negotiated
from tlstax.study import Case, Study
from tlstax.study.factors import CaseLevels
from tlstax.study.labels import group_label, label_levels
from tlstax.support.grouping import grouped
from tlstax.support.text import counted
from tlstax.topics.core import figures
from tlstax.topics.core.columns import GROUP, Column
from tlstax.topics.core.section import OnPage, Section, tabulated
from tlstax.topics.core.table import MOST_ROWS, Cell, Columns, Lines, Number
from tlstax.topics.core.topic import Run, Topic

CONNECT, TCP, GREETING, TLS, LOGIN, QUERY = "connect", "TCP", "greeting", "TLS", "login", "query"
PHASES: Mapping[str, tuple[str, ...]] = {
    CONNECT: ("connect",),
    TCP: ("tcp_connect",),
    GREETING: ("greeting",),
    TLS: ("tls_handshake",),
    LOGIN: ("authentication",),
    QUERY: ("first_query", "query"),
}
"""What is reported, and the client's phases that it is made of."""

IN_ORDER = (TCP, GREETING, TLS, LOGIN, CONNECT, QUERY)
"""The parts of a connect, the whole of it, and what follows."""

COUNTED, AT_DISTANCE = "counted", "connect at a distance"
TRIPS, SENT, RECEIVED = "round trips", "bytes sent", "bytes received"
PHASE, TIMES, AGREED, RETRIED = "phase", "times", "agreed", "hello_retry"
RTT, IN_TRIPS, EXTRA = "rtt_ms", "in_round_trips", "extra_ms"
CERTIFICATE, CONNECT_US = "certificate", "connect_p50_us"

OVER_DISTANCE = "Connecting over a distance: the time beside the round trips"
BYTES = "Bytes of TCP payload, sent / received"
DIFFERS = "~"
READING = (
    f"Counted by the client, not timed. {DIFFERS} marks a mean over connections that differ; bytes are of "
    "TCP payload, sent / received."
)
READING_POSTGRESQL = (
    "PostgreSQL's greeting is its answer to a client that asks for TLS (SSLRequest); plaintext and direct "
    "TLS have none."
)
READING_DISTANCE = (
    "The median connect beside the round trip time (RTT) measured before each trial. Extra is what it "
    "took beyond its counted round trips: work at both ends, and waiting for windows or acknowledgements."
)


def rows(run: Run) -> Iterator[Row]:
    """Every case whose client counted what a connect takes, in the study's order; controls are left out.

    For each phase that occurred there are a row of round trips and two of bytes, means over the `times` that
    it occurred. They `agreed` where every trial had the same whole number each time: then nothing suggests
    that any connection differed from the others. `hello_retry` is whether every full handshake met a
    HelloRetryRequest, None where some did or no handshake was made. A case over a distance has a row for how
    long connects took there.
    """
    ended = (record for record in run.stored.valid if record.done is not None)
    valid = grouped(ended, lambda record: record.trial.case.key())
    for case in cases(run.study):
        records = valid.get(case.key(), [])
        if case.role != "control" and _counted(records, CONNECT):
            yield from _case(case, records, run.study)


def _case(case: Case, records: Sequence[TrialRecord], study: Study) -> Iterator[Row]:
    shared = {name: level for name, level in study.group_of(case.levels).items() if name in study.varied}
    of_case = Row(
        label=_label(case, study),
        case=case.levels,
        blocks=len(records),
        negotiated=negotiated(records),
        more={GROUP.name: group_label(shared, study)},
    )
    ended = (record.done for record in records if record.done is not None)
    retries = {bool(handshakes.hello_retry) for done in ended for handshakes in done.window.handshakes}
    retried = retries.pop() if len(retries) == 1 else None
    trips_to_connect = 0.0
    for phase in PHASES:
        wires = _counted(records, phase)
        if not wires:
            continue
        times = sum(wire.times for wire in wires)
        bytes_agree = _agree(wires, "bytes_sent") and _agree(wires, "bytes_received")
        for what, field, agreed in (
            (TRIPS, "round_trips", _agree(wires, "round_trips")),
            (SENT, "bytes_sent", bytes_agree),
            (RECEIVED, "bytes_received", bytes_agree),
        ):
            mean = sum(getattr(wire, field) for wire in wires) / times
            if (phase, what) == (CONNECT, TRIPS):
                trips_to_connect = mean
            own = {PHASE: PHASES[phase][-1], TIMES: times, AGREED: agreed, RETRIED: retried}
            yield of_case.model_copy(
                update={
                    "role": COUNTED,
                    "outcome": f"{phase}: {what}",
                    "unit": "1" if what == TRIPS else "B",
                    "value": mean,
                    "more": {**of_case.more, **own},
                }
            )
    yield from _over_distance(of_case, records, trips_to_connect)


def _label(case: Case, study: Study) -> str:
    """What the case is called, without what it has in common with the baseline, but for TLS.

    Counts need no comparison, and such a name is short: "TLS 1.3, RSA 4096 certificate". The baseline of
    a study of something else than TLS has its whole name.
    """
    differs = any(level != study.baseline.get(name, level) for name, level in case.levels.items())
    if not differs and "tls" not in study.baseline:
        return label_levels(case.levels, study)
    return label_levels(_told_apart(case.levels, study), study)


def _told_apart(levels: CaseLevels, study: Study) -> CaseLevels:
    """TLS, and what differs from the baseline."""
    own = (name for name, level in levels.items() if level != study.baseline.get(name))
    return levels.only("tls", "resumption", *own)


def _counted(records: Sequence[TrialRecord], phase: str) -> list[PhaseWire]:
    """What the trials' clients counted in this phase, of those in which it occurred."""
    every = (phases_together(record.done, PHASES[phase]) for record in records if record.done is not None)
    return [wire for wire in every if wire is not None]


def _agree(counted: Sequence[PhaseWire], what: str) -> bool:
    """Whether all trials have the same whole number of it each time."""
    each = {divmod(getattr(wire, what), wire.times) for wire in counted}
    return len(each) == 1 and next(iter(each))[1] == 0


def _over_distance(of_case: Row, records: Sequence[TrialRecord], round_trips: float) -> Iterator[Row]:
    """How long connects took, in round trip times too; nothing without a distance, or of too few connects.

    The value is the median over trials of their medians, `rtt_ms` that of the round trip times measured
    before each. `extra_ms` is what a connect takes beyond its counted round trips: work, and waiting that
    is no turn (slow start, delayed acknowledgements).
    """
    away = [record for record in records if record.distance is not None and record.distance.before.median_ms]
    medians_us = [p50 for record in away if (p50 := outcome(record, CONNECT_US)) is not None]
    if not medians_us:
        return
    connect_us = median(medians_us)
    rtt_ms = median(record.distance.before.median_ms for record in away if record.distance is not None)
    own = {
        RTT: rtt_ms,
        IN_TRIPS: connect_us / 1e3 / rtt_ms,
        EXTRA: connect_us / 1e3 - round_trips * rtt_ms,
    }
    yield of_case.model_copy(
        update={
            "role": AT_DISTANCE,
            "outcome": CONNECT_US,
            "unit": "us",
            "value": connect_us,
            "more": {**of_case.more, **own},
        }
    )


def sentences(run: Run, shown: Sequence[Row]) -> Iterator[str]:
    """For each group and number "mysql-9.7, 4 round trips to connect: TLS 1.3 resumed; TLS 1.2 resumed".

    What every certificate has in common is said without the certificates. They are the answer of a study that
    asks for counts.
    """
    connects = [row for row in shown if row.outcome == f"{CONNECT}: {TRIPS}"]
    for group, of_group in grouped(connects, lambda row: row.word(GROUP.name)).items():
        names: dict[str, list[str]] = {}
        for number, name in sorted(_named(of_group, run.study), key=lambda one: one[0]):
            whole = number == int(number)
            many = counted(int(number), "round trip") if whole else f"{number:.2f} round trips"
            names.setdefault(many, []).append(name)
        of = f"{group}, " if group else ""
        for many, several in names.items():
            yield f"{of}{many} to connect: {'; '.join(dict.fromkeys(several))}"


def _named(connects: Iterable[Row], study: Study) -> Iterator[tuple[float, str]]:
    """Each case's round trips and its name; without its certificate where that makes no difference."""

    def without_certificate(row: Row) -> str:
        return label_levels(_told_apart(row.case, study).without(CERTIFICATE), study)

    for name, alike in grouped(connects, without_certificate).items():
        numbers = {row.amount for row in alike}
        for row in alike:
            yield row.amount, name if len(numbers) == 1 else row.label


def sections(told: Told, document: RunDocument) -> Iterator[Section]:
    """Round trips and bytes of a connect and of a query; phase by phase on the page, and where asked for."""
    asked = asks_for_counts(document.design)
    turns = [(phase, _turns(phase)) for phase in IN_ORDER]
    size = [(phase, _bytes(phase)) for phase in IN_ORDER if phase != TCP]
    few = [(CONNECT, _turns(CONNECT)), ("of it TLS", _turns(TLS)), (QUERY, _turns(QUERY))]
    shown = [*(turns if asked else few), ("bytes of\na connect", _bytes(CONNECT))]
    most = None if asked else MOST_ROWS
    notes = (READING, *_of_postgresql(told.rows), *_retried(told.rows, document.design))
    cases = by_case(told.of(role=COUNTED))
    every, of_bytes = Lines.of(TOPIC.title, turns, cases, *notes), Lines.of(BYTES, size, cases)
    short = Lines.of(TOPIC.title, shown, cases, *notes)
    page = OnPage(lambda: (every.whole(), of_bytes.whole()), otherwise=tuple(short.by_group(most)))
    yield Section((page,), TOPIC.title)
    away = [row.case for row in told.of(role=AT_DISTANCE)]
    if away:
        far = by_case(row for row in told.rows if row.case in away)
        distance = Lines.of(OVER_DISTANCE, _COLUMNS_OF_DISTANCE, far, READING_DISTANCE)
        yield Section((tabulated(distance, most),), OVER_DISTANCE)


def _turns(phase: str) -> Callable[[RowSet], Cell]:
    def cell(case: RowSet) -> Cell:
        row = case.row(f"{phase}: {TRIPS}")
        if row is None:
            return figures.NOTHING
        return Number(row.value, said="{:.0f}".format if row.more[AGREED] else f"{DIFFERS}{{:.2f}}".format)

    return cell


def _bytes(phase: str) -> Callable[[RowSet], Cell]:
    def cell(case: RowSet) -> Cell:
        sent, received = (case.row(f"{phase}: {what}") for what in (SENT, RECEIVED))
        if sent is None or received is None:
            return figures.NOTHING
        return f"{'' if sent.more[AGREED] else DIFFERS}{sent.value:,.0f} / {received.value:,.0f}"

    return cell


def _away(value: Callable[[Row], float | None], said: Callable[[float], str]) -> Callable[[RowSet], Cell]:
    def cell(case: RowSet) -> Cell:
        row = case.row(CONNECT_US)
        return figures.NOTHING if row is None else Number(value(row), said=said)

    return cell


def _ms(value: float) -> str:
    return figures.quantity(value * 1e3, "us")


_COLUMNS_OF_DISTANCE: Columns = (
    ("RTT", _away(lambda row: row.number(RTT), _ms)),
    ("connect", _away(lambda row: row.amount / 1e3, _ms)),
    ("in RTTs", _away(lambda row: row.number(IN_TRIPS), "{:.2f}".format)),
    ("counted", _turns(CONNECT)),
    ("extra", _away(lambda row: row.number(EXTRA), _ms)),
)


def _of_postgresql(shown: Sequence[Row]) -> Iterator[str]:
    """What else the phases of a connect mean where a case has such a server."""
    if any(str(row.case.get("server", "")).startswith("postgresql") for row in shown):
        yield READING_POSTGRESQL


def _retried(shown: Sequence[Row], study: Study) -> Iterator[str]:
    """Which cases met a HelloRetryRequest in every handshake."""
    connects = [row for row in shown if row.outcome == f"{CONNECT}: {TRIPS}"]
    retried = [row for row in connects if row.more[RETRIED]]
    if not retried:
        return
    if is_large(study) or len(retried) > MOST_ROWS:
        named = f"{len(retried)} cases"
    else:
        several = len({row.word(GROUP.name) for row in connects}) > 1
        named = "; ".join(
            f"{f'{group}: ' if several else ''}{'; '.join(row.label for row in of_group)}"
            for group, of_group in grouped(retried, lambda row: row.word(GROUP.name)).items()
        )
    yield f"Every handshake met a HelloRetryRequest, a round trip more: {named}."


COLUMNS = (
    GROUP,
    Column(PHASE, "TEXT", "the part of a connect, the whole of it, or a query, as the client calls it"),
    Column(TIMES, "INTEGER", "how often it occurred"),
    Column(AGREED, "INTEGER", "whether every trial had the same whole number each time"),
    Column(
        RETRIED, "INTEGER", "whether every full handshake met a HelloRetryRequest; empty: some, or none made"
    ),
    Column(RTT, "REAL", "the round trip time, the median over trials of that measured before each", "ms"),
    Column(IN_TRIPS, "REAL", "how many round trip times a connect took", "1"),
    Column(EXTRA, "REAL", "how much longer it took than its counted round trips alone", "ms"),
)

TOPIC = Topic(
    "round_trips",
    "Round trips: how often the client waits for the server",
    rows,
    sections,
    sentences,
    COLUMNS,
)
