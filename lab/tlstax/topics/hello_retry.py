"""HelloRetryRequests: in which cases servers asked for a second ClientHello, what that costs, what avoids it.

A client sends key shares for the groups that it thinks likely; a server that takes none of these but another
that was offered asks for a second ClientHello (RFC 8446, section 4.1.4). That costs a round trip, and what it
costs else is measured: against the same case in the same blocks, in which the client offered a group that the
server takes, or the server, as a variant of ours, took what the client had sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Literal, NamedTuple

from tlstax.contract import Done
from tlstax.records.trial import TrialRecord
from tlstax.results.document import RunDocument
from tlstax.results.interval import DIFFERENCES
from tlstax.results.rows import Row, Told
from tlstax.stats import stats
from tlstax.stats.contrasts import judge_difference
from tlstax.stats.outcomes import is_large
from tlstax.stats.series import LADDER, Series, difference
from tlstax.stats.wording import (
    MINUS,
    alike,
    capitalised,
    each,
    mode_label,
    percent,
    subject_label,
    with_ends,
    with_sign,
)
from tlstax.study import Case, Level, Levels, Study
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import (
    GROUP_LISTS,
    GROUPS_LIFTED,
    NO_FAULT,
    P256_FIRST,
    VARIANT_WORDS,
    offered_words,
)
from tlstax.study.product import product_of
from tlstax.study.tls_levels import group_name
from tlstax.support.grouping import grouped
from tlstax.support.text import counted, enumerated, with_commas
from tlstax.topics.core import figures
from tlstax.topics.core.columns import Column
from tlstax.topics.core.section import Block, Items, OnPage, Roomy, Section
from tlstax.topics.core.table import Table
from tlstax.topics.core.topic import Run, Topic

KIND, RETRIED, AVOIDED, COST = "hello retry", "retried case", "hello retry avoided", "hello retry cost"
NOT_NEEDED = "hello retry not needed"
SERVER, OFFERED, AGREED, CLIENT = "server_words", "offered_group", "agreed_group", "client_library"
PLACE, BY = "place", "avoided_by"
TRIPS, CROSSED = "handshake_round_trips", "handshake_bytes"
FULL, RESUMED = "full_handshakes_retried", "resumed_handshakes_retried"

ROUND_TRIPS, BYTES = "tls_handshake_round_trips", "tls_handshake_bytes"
CONNECT = "connect_p50_us"


class Cost(NamedTuple):
    """A cost of a connection that is compared: its unit, what it is called, the outcome it is taken from.

    CPU time is compared where each operation makes a connection of its own, so that both are the same.
    """

    unit: str
    words: str
    outcome: str = ""


COSTS = {
    ROUND_TRIPS: Cost("1", "round trips"),
    BYTES: Cost("B", "bytes"),
    CONNECT: Cost("us", "median connect time", CONNECT),
    "server_cpu_us_per_connection": Cost("us", "server CPU", "server_cpu_us_per_op"),
    "client_cpu_us_per_connection": Cost("us", "client CPU", "client_cpu_us_per_op"),
}

GROUP, FAULT = "group", "fault"
REMEDIES = (P256_FIRST, "P-256")
"""Levels of `group` whose key share servers take that know TLS 1.3: the MySQL family's all, and PostgreSQL as
it comes."""

HANDSHAKE = "tls_handshake"

Avoider = Literal["client", "server"]
"""Who does without the retry: the client by offering other groups, or a server (a variant of ours) that takes
more."""

STUDY = "hello-retry"
"""The built-in study that measures the remedy."""

RFC = "RFC 8446, section 4.1.4"
MOST_SERVERS = 2
"""More than this many servers share one sentence."""

MOST_OF_LARGE = 3
"""How many sentences of a large study are shown where room is short."""

HEADS = ("Asked", "Of handshakes", "Resumed", "Client offered", "Agreed on", "Client over")
READING = (
    "Per connection, means over the blocks that both cases have; round trips and bytes are those of the TLS "
    "handshake. In brackets: the difference to being asked again, and its {confidence} interval. ≈: "
    "alike, ?: inconclusive. CPU time is told where each operation makes a connection."
)
_MS = 1000.0


def is_answer(document: RunDocument) -> bool:
    """Whether this is what the run answers: its study compares groups with each other, not predictions."""
    of_groups = "group" in document.design.baseline and "validation" not in document.topics
    return of_groups and TOPIC.name in document.topics


def rows(run: Run) -> Iterator[Row]:
    """Who was asked for a second ClientHello, and what it cost.

    Nothing where no handshake met one, unless the study asks, by offering a remedy or a server that needs
    none. First come all TLS 1.3 handshakes of valid trials, over clients' whole lives, by their kind: the
    value is how many of them (`baseline_value`) were retried. Then each case whose handshakes were retried,
    and behind it the cases of this run that differ in avoiding that alone, with each cost of a connection: a
    difference of means over the same blocks, judged of the retry's cost to the other's; its noise floor is
    relative to the cost without a retry. Last, where the study asks, who needed none.
    """
    series = run.series
    seen = _seen(series, run.stored.measured)
    retried = [own for own in seen.values() if own.retried]
    if not seen or not (retried or asks(run.study)):
        return
    yield from _kinds(seen.values())
    for own in retried:
        yield from _retried_case(series, own, tuple(_avoiding(own, seen.values())))
    for own in seen.values() if asks(run.study) else ():
        # A server as it comes that took what the client sent of its own accord.
        levels = own.case.levels
        if not own.retried and levels.get(GROUP, "default") == "default" and _fault(levels) == NO_FAULT:
            yield Row(
                role=NOT_NEEDED,
                outcome="handshakes",
                unit="1",
                case=levels,
                value=own.made,
                more={SERVER: own.server},
            )


def asks(study: Study) -> bool:
    """Whether the study has cases that avoid a retry beside others."""
    known = study.levels_of()
    groups = set(known.get(GROUP, ()))
    return (len(groups) > 1 and bool(groups & set(REMEDIES))) or GROUPS_LIFTED in known.get(FAULT, ())


@dataclass
class _Seen:
    """What the valid trials of one case show: how handshakes came out, and each cost block by block.

    The handshakes of its control count, since they are of the same kind; its costs are its own alone.
    """

    case: Case
    server: str = ""
    client_library: str = ""
    handshakes: Counter[tuple[str, str, bool, bool]] = field(default_factory=Counter)
    costs: dict[str, dict[int, float]] = field(default_factory=dict)

    @property
    def made(self) -> int:
        """Handshakes of TLS 1.3."""
        return self.handshakes.total()

    @property
    def retried(self) -> int:
        """Those that met a HelloRetryRequest."""
        return sum(count for (*_, retried), count in self.handshakes.items() if retried)

    @property
    def group(self) -> str:
        """The group that most handshakes agreed on, as the factor `group` calls it."""
        return group_name(self.handshakes.most_common(1)[0][0][1])


def _seen(series: Series, records: Iterable[TrialRecord]) -> Mapping[CaseLevels, _Seen]:
    by_case: dict[CaseLevels, _Seen] = {}
    for record in records:
        done, case = record.done, record.trial.case
        if not record.is_valid or done is None:
            continue
        # Only TLS 1.3 knows a HelloRetryRequest, and not every client can report it.
        telling = [
            h for h in done.lifetime.handshakes if h.version == "TLSv1.3" and h.hello_retry is not None
        ]
        if not telling:
            continue
        seen = by_case.setdefault(case.levels, _Seen(case))
        library = record.ready.tls_library if record.ready is not None else None
        seen.server = _server(record)
        # Without the date that OpenSSL puts behind its version.
        seen.client_library = " ".join(library.version.split()[:2]) if library is not None else ""
        for h in telling:
            seen.handshakes[h.version, h.group or "", h.resumed, bool(h.hello_retry)] += h.count
        if case.role != "control":
            seen.case = case
            for cost, value in _costs_of(series, record, done):
                seen.costs.setdefault(cost, {})[record.trial.block] = value
    return {levels: by_case[levels] for levels in series.cases if levels in by_case}


def _costs_of(series: Series, record: TrialRecord, done: Done) -> Iterator[tuple[str, float]]:
    """What a connection of the trial costs: round trips and bytes where the client counts them."""
    wire = done.phase_wire.get(HANDSHAKE)
    if wire is not None:
        yield ROUND_TRIPS, wire.round_trips / wire.times
        yield BYTES, (wire.bytes_sent + wire.bytes_received) / wire.times
    values = series.values.get(record.trial.case.levels, {}).get(record.trial.block, {})
    connects = record.job is not None and (record.job.workload.reconnect or record.job.workload.storm)
    for name, cost in COSTS.items():
        if cost.outcome in values and (name == CONNECT or connects):
            yield name, values[cost.outcome]


def _server(record: TrialRecord) -> str:
    """What the server is called: the specimen that it was meant to be, or its own word for itself."""
    levels = record.trial.case.levels
    named = levels.server or (record.claim.name if record.claim is not None else None)
    if named is None:
        return f"{UNNAMED}{record.server.version})" if record.server is not None else "the server"
    known = {name: levels[name] for name in ("tls_library", FAULT) if name in levels}
    return CaseLevels.of({"server": named, **known}).server_choice.words()


def _kinds(seen: Iterable[_Seen]) -> Iterator[Row]:
    """All handshakes of the run, by what they have in common."""
    kinds: dict[tuple[str, str, str, str, str, bool], Counter[bool]] = {}
    for own in seen:
        offered = str(own.case.levels.get(GROUP, "default"))
        for (version, group, resumed, was_retried), count in own.handshakes.items():
            kind = own.server, offered, version, group_name(group), own.client_library, resumed
            kinds.setdefault(kind, Counter())[was_retried] += count
    for (server, offered, version, group, library, resumed), handshakes in kinds.items():
        yield Row(
            role=KIND,
            outcome=RESUMED if resumed else FULL,
            unit="1",
            value=handshakes[True],
            baseline_value=handshakes.total(),
            negotiated=f"{version} {group}",
            more={SERVER: server, OFFERED: offered, AGREED: group, CLIENT: library},
        )


def _fault(levels: Levels) -> Level:
    return levels.get(FAULT, NO_FAULT)


def _avoiding(own: _Seen, seen: Iterable[_Seen]) -> Iterator[tuple[Avoider, _Seen]]:
    """The cases that differ from this one in the groups alone, offered or taken, and met no retry."""
    levels = own.case.levels
    place = levels.without(GROUP, FAULT)
    for other in seen:
        if other.retried or other.case.levels.without(GROUP, FAULT) != place:
            continue
        if _fault(other.case.levels) == _fault(levels):
            yield "client", other
        elif _fault(levels) == NO_FAULT and _fault(other.case.levels) == GROUPS_LIFTED:
            yield "server", other


def _retried_case(series: Series, own: _Seen, avoiding: Iterable[tuple[Avoider, _Seen]]) -> Iterator[Row]:
    levels = own.case.levels
    round_trips, crossed = own.costs.get(ROUND_TRIPS), own.costs.get(BYTES)
    retried = Row(
        role=RETRIED,
        outcome="handshakes_retried",
        unit="1",
        label=offered_words(levels.get(GROUP, "default")),
        case=levels,
        value=own.retried,
        baseline_value=own.made,
        more={
            PLACE: _place(levels, series.study),
            AGREED: own.group,
            TRIPS: fmean(round_trips.values()) if round_trips else None,
            CROSSED: fmean(crossed.values()) if crossed else None,
        },
    )
    yield retried
    for by, other in avoiding:
        offered = offered_words(other.case.levels.get(GROUP, "default"))
        avoided = {
            "role": AVOIDED,
            "baseline": other.case.levels,
            "baseline_value": float(other.retried),
            "label": f"{VARIANT_WORDS[GROUPS_LIFTED]}, {offered}" if by == "server" else offered,
            "more": {PLACE: retried.more[PLACE], BY: by, AGREED: other.group},
        }
        yield retried.model_copy(update=avoided)
        for cost in COSTS:
            if own.costs.get(cost, {}).keys() & other.costs.get(cost, {}).keys():
                yield retried.model_copy(update={**avoided, **_cost(series, own, other, cost)})


def _place(levels: CaseLevels, study: Study) -> str:
    """What the case shares with those that avoid its retry, as far as the study varies it."""
    shared = levels.without(GROUP, FAULT)
    return with_commas(
        subject_label(shared, study),
        mode_label(shared.only(*study.varied)),
        counted(int(shared[LADDER]), "connection") if LADDER in study.varied else "",
    )


def _cost(series: Series, own: _Seen, other: _Seen, cost: str) -> dict[str, object]:
    """A cost of the retried case beside the same without a retry.

    It is judged by its interval, how far the control strays from the baseline at the case's own place, and
    the margin; round trips, which are counted and never scatter, need none of them.
    """
    retried, avoided = own.costs[cost], other.costs[cost]
    extras = difference(retried, avoided)
    extra = series.pooling.difference(extras)
    without = fmean(avoided[block] for block in extras)
    control = None
    if COSTS[cost].outcome:
        baseline = series.own_baseline(own.case.levels)
        control = series.interval(series.control_logs(baseline, COSTS[cost].outcome))
    relative = stats.noise_floor(control) if control is not None else None
    floor = relative * without if relative is not None else None
    if cost == ROUND_TRIPS:
        judgement = "alike" if extra.point == 0 else "higher" if extra.point > 0 else "lower"
    else:
        judgement = judge_difference(extra, floor, (series.study.alike_within - 1) * without)
    return {
        "role": COST,
        "outcome": cost,
        "unit": COSTS[cost].unit,
        "value": fmean(retried[block] for block in extras),
        "baseline_value": without,
        "interval": extra,
        "of": "difference",
        "blocks": extra.blocks,
        "noise_floor": relative,
        "judgement": judgement,
    }


def sentences(_: Run, shown: Sequence[Row]) -> Iterator[str]:
    """All sentences, the most important first."""
    yield from _asked(_of(shown, KIND))
    yield from _round_trips(shown)
    yield from _costs(shown)
    for server, own in grouped(_of(shown, NOT_NEEDED), lambda row: row.word(SERVER)).items():
        made = f"{round(sum(row.amount for row in own)):,} TLS 1.3 handshakes"
        yield f"{server} needed no HelloRetryRequest in {made} as the client chose them"


def _of(shown: Iterable[Row], role: str, beside: Row | None = None) -> list[Row]:
    """The rows of this role; of those, what there is beside a retried case, or one that avoids its retry."""
    return [
        row
        for row in shown
        if row.role == role
        and (beside is None or (row.case == beside.case and beside.baseline in ({}, row.baseline)))
    ]


def remedy(shown: Sequence[Row]) -> tuple[str, ...]:
    """What a user can do, and what none can; empty where no handshake was retried."""
    retried = _of(shown, RETRIED)
    if not retried:
        return ()
    first = Counter(row.word(AGREED) for row in retried).most_common(1)[0][0]
    others = [group for group in GROUP_LISTS[P256_FIRST].split(":") if group != first]
    groups = ":".join([first, *others])
    offering = (
        f"offer {first} first, and the client's key share is one that the server takes: in the client's "
        f"openssl.cnf `Groups = {groups}` in the section that `system_default` names, or "
        f'`SSL_CTX_set1_groups_list(context, "{groups}")` in a program of your own'
    )
    asking = [kind for kind in _of(shown, KIND) if kind.value]
    servers = {"postgresql" if _is_of_postgresql(kind) else "mysql" for kind in asking}
    return (offering, *(own for server, own in OF_ITS_CLIENTS.items() if server in servers))


def _is_of_postgresql(row: Row) -> bool:
    """By the server's name, or by its own word for itself where it has none of ours."""
    name = _name(row)
    return name.startswith(POSTGRESQL) or product_of(name.removeprefix(UNNAMED)) == "postgresql"


POSTGRESQL, UNNAMED = "postgresql-", "the server ("
OF_ITS_CLIENTS = {
    "mysql": (
        "MySQL's own clients have no option for groups, but read openssl.cnf, and the environment variable "
        "OPENSSL_CONF names another one for them; the server names its groups itself, whatever its file says"
    ),
    "postgresql": (
        "clients over libpq have no option for groups, but read openssl.cnf, and the environment variable "
        "OPENSSL_CONF names another one for them; or the server takes what they send: from 18 on by "
        "`ssl_groups = 'X25519:prime256v1'`, its default; before, ssl_ecdh_curve names the only one it takes"
    ),
}
"""What is to be known of the clients and servers of a product, each of its servers being named after it."""


def command(shown: Sequence[Row]) -> str:
    """What would measure the remedy; empty where every retried case has one in this run, or there is none."""
    return f"tlstax study run {STUDY}" if _lacking(shown) else ""


def _lacking(shown: Sequence[Row]) -> list[Row]:
    """The retried cases without another of this run in which the client avoids it."""
    return [row for row in _of(shown, RETRIED) if _best(shown, row) is None]


def _best(shown: Sequence[Row], retried: Row) -> Row | None:
    """The case of this run in which the client avoids the retry: by a list where there is one."""
    by_client = [row for row in _of(shown, AVOIDED, retried) if row.word(BY) == "client"]
    lists = [row for row in by_client if row.baseline.get(GROUP) in GROUP_LISTS]
    return next(iter(lists or by_client), None)


def _asked(kinds: Sequence[Row]) -> Iterator[str]:
    """Which servers asked, of whom, how often."""
    retried = [kind for kind in kinds if kind.value]
    together = len({_name(kind) for kind in retried}) > MOST_SERVERS
    for (_, group), several in grouped(
        retried, lambda kind: ("" if together else _name(kind), kind.word(AGREED))
    ).items():
        libraries = len({kind.word(SERVER) for kind in several})
        over = f", over {libraries} TLS libraries," if libraries > 1 and not together else ""
        clients = enumerated(sorted({kind.word(CLIENT) for kind in several if kind.word(CLIENT)}))
        of_client = f" of a client over {clients}" if clients else ""
        yield (
            f"{enumerated(list(dict.fromkeys(map(_name, several))))}{over} asked for a second ClientHello "
            f"(HelloRetryRequest) in {_how_many(several)}{of_client}: they agreed on {group}, for which the "
            "client had sent no key share"
        )


def _name(kind: Row) -> str:
    """The server without what it ran over."""
    return kind.word(SERVER).partition(" over ")[0]


def _how_many(kinds: Sequence[Row]) -> str:
    """How many were retried of how many: "all 120 full and 3 of 40 resumed TLS 1.3 handshakes"."""
    parts = []
    for outcome, word in ((FULL, "full"), (RESUMED, "resumed")):
        own = [kind for kind in kinds if kind.outcome == outcome]
        if retried := round(sum(kind.amount for kind in own)):
            parts.append(f"{share(retried, round(sum(kind.baseline_amount for kind in own)))} {word}")
    return f"{' and '.join(parts)} TLS 1.3 handshakes"


def share(part: int, whole: int) -> str:
    """A part of a whole in words: "all 120", "3 of 40"."""
    return f"all {whole:,}" if part == whole else f"{part:,} of {whole:,}"


def _round_trips(shown: Sequence[Row]) -> Iterator[str]:
    """How many round trips a handshake took, where no remedy shows what it would take without."""
    lacking = _lacking(shown)
    if not lacking:
        return
    counted = sorted({round(trips, 1) for row in lacking if (trips := row.number(TRIPS)) is not None})
    took = f"such a handshake took {' to '.join(map(_plain, counted[:: max(1, len(counted) - 1)]))}"
    took = f"{took} round trips, " if counted else "it costs a handshake a round trip, "
    far = sorted({rtt_ms for row in lacking if (rtt_ms := row.case.distance.rtt_ms)})
    at = f": {' or '.join(f'{rtt_ms:.10g} ms' for rtt_ms in far)} of every connection here" if far else ""
    yield f"{took}{'one of them for this' if counted else 'whatever the distance'} ({RFC}){at}"


def _plain(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _costs(shown: Sequence[Row]) -> Iterator[str]:
    """What the retry costs at each place, against the client's remedy and what a server could give."""
    for retried in _of(shown, RETRIED):
        place = retried.word(PLACE)
        best = _best(shown, retried)
        if best is not None:
            yield f"{place}: with {best.label}, {_less(_of(shown, COST, best))}"
        for other in _of(shown, AVOIDED, retried):
            # Where the client offered the same, what the server gives is all the difference.
            if other.word(BY) == "server" and other.baseline.get(GROUP) == retried.case.get(GROUP):
                less = _less(_of(shown, COST, other))
                yield f"{place}: with {other.label}, which gave {other.word(AGREED)}, {less}"


def _less(costs: Sequence[Row]) -> str:
    """All costs in words: "a connection costs 1 round trip less; alike in client CPU"."""
    parts = []
    judged = grouped(costs, lambda cost: cost.judgement)
    moved = [
        f"{enumerated(map(quantity, judged[judgement]))} {way}"
        for way, judgement in (("less", "higher"), ("more", "lower"))
        if judgement in judged
    ]
    if moved:
        parts.append(f"a connection costs {enumerated(moved)}")
    parts += [
        f"{judgement} in {enumerated(COSTS[cost.outcome].words for cost in judged[judgement])}"
        for judgement in ("alike", "inconclusive")
        if judgement in judged
    ]
    return "; ".join(parts) or "nothing could be compared"


def quantity(cost: Row) -> str:
    """The size of an extra, with its interval where it scatters: "45.1 ms of connect time (44.9 to 45.3)"."""
    extra = cost.difference
    point, *ends = (abs(us) for us in (extra.point, extra.low, extra.high) if us is not None)
    if cost.unit == "1":
        number = _plain(point)
        return f"{number} round trip{'' if number == '1' else 's'}"
    if cost.unit == "B":
        return f"{point:,.0f} bytes"
    scale, unit = (_MS, "ms") if point >= _MS else (1.0, "µs")
    values = [value / scale for value in (point, *sorted(ends))]
    said, *between = alike(*values) if len(set(values)) > 1 else [f"{value:.4g}" for value in values]
    interval = f" ({between[0]} to {between[1]})" if set(between) - {said} else ""
    return f"{said} {unit} of {COSTS[cost.outcome].words}{interval}"


def sections(told: Told, document: RunDocument) -> Iterator[Section]:
    """Who was asked for a second ClientHello, what avoids it; where there is room, what each case costs."""
    said = () if is_answer(document) else tuple(map(capitalised, told.sentences))
    measuring = command(told.rows)
    measure = (f"what that saves was not measured here; `{measuring}` would",) if measuring else ()
    avoided = tuple(map(capitalised, (*remedy(told.rows), *measure)))
    most = MOST_OF_LARGE if is_large(document.design) else None
    roomy: tuple[Block, ...] = (
        Items(said),
        Items(avoided, "What avoids it"),
        OnPage(lambda: (_asked_table(told.of(role=KIND)),)),
        *_case_tables(told.rows, document.design),
    )
    short = (Items(said[:most]), Items(avoided[:most], "What avoids it"))
    yield Section((Roomy(roomy, otherwise=short),), TOPIC.title)


def _asked_table(kinds: Iterable[Row]) -> Table:
    """Who was asked how often."""
    lines = [
        (
            kind.word(SERVER),
            f"{kind.value:,.0f}",
            f"{kind.baseline_value:,.0f}",
            "yes" if kind.outcome == RESUMED else "no",
            offered_words(kind.word(OFFERED)),
            kind.word(AGREED),
            kind.word(CLIENT) or figures.NOTHING,
        )
        for kind in kinds
    ]
    return Table("Who was asked for a second ClientHello", HEADS, lines, (), of="server", of_words=True)


def _case_tables(shown: Sequence[Row], study: Study) -> Iterator[Table]:
    """For each case that was asked again, what a connection costs it, and those that avoid it."""
    for retried in _of(shown, RETRIED):
        avoided = _of(shown, AVOIDED, retried)
        costs = {cost.outcome: cost for cost in _of(shown, COST, retried)}
        lines = [
            (f"{retried.label} (asked again)", *(_amount(cost.value, cost.unit) for cost in costs.values()))
        ]
        for other in avoided:
            own = {cost.outcome: cost for cost in _of(shown, COST, other)}
            cells = (_cost_cell(own[name]) if name in own else figures.NOTHING for name in costs)
            lines.append((f"{other.label} ({other.word(AGREED)})", *cells))
        if avoided:
            yield Table(
                title=f"{retried.word(PLACE)}: what a connection costs",
                heads=tuple(COSTS[name].words for name in costs),
                rows=tuple(lines),
                notes=(READING.format(confidence=percent(study.confidence)),),
                of="the client offered",
                of_words=True,
            )


def _cost_cell(cost: Row) -> str:
    """The cost without the retry, and in brackets by how much it differs from that with it."""
    value = _amount(cost.baseline_value, cost.unit)
    if cost.judgement not in DIFFERENCES:
        return f"{value} {figures.mark(cost.judgement)}"
    less = -cost.difference
    if cost.unit != "us":
        return f"{value} ({with_sign(_amount(less.point, cost.unit))})"
    scale = figures.column_scale([less.point], cost.unit)
    said = each(lambda us: with_sign(figures.significant(us / scale.divisor)))
    return f"{value} ({with_ends(less, said, f' {scale.unit}', form='[…]')})"


def _amount(value: float | None, unit: str) -> str:
    """What is counted as a plain number, times with the unit that suits them."""
    if value is None:
        return figures.NOTHING
    if unit == "us":
        return figures.quantity(value, unit)
    return f"{value:,.1f}".removesuffix(".0").replace("-", MINUS)


COLUMNS = (
    Column(SERVER, "TEXT", "the server in words, with the library that it ran over"),
    Column(OFFERED, "TEXT", "the level of the factor group: what the client offered"),
    Column(AGREED, "TEXT", "the group that was agreed on, as the factor group calls it"),
    Column(CLIENT, "TEXT", "the client's TLS library and its version"),
    Column(PLACE, "TEXT", "what the case shares with those that avoid its retry, in words"),
    Column(BY, "TEXT", "who avoids the retry: the client by other groups, or the server by taking more"),
    Column(TRIPS, "REAL", "round trips of a TLS handshake of the retried case", "1"),
    Column(CROSSED, "REAL", "bytes of a TLS handshake of the retried case", "bytes"),
)

TOPIC = Topic(
    "hello_retry",
    "HelloRetryRequest: when the server asks for a second ClientHello",
    rows,
    sections,
    sentences,
    COLUMNS,
)
