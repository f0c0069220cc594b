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

from tlstax.contract import Handshakes
from tlstax.findings.core import stats
from tlstax.findings.core.judgements import judge_difference
from tlstax.findings.core.outcomes import is_large
from tlstax.findings.core.series import LADDER, Frozen, Series, difference, frozen
from tlstax.findings.core.wording import (
    MINUS,
    alike,
    capitalised,
    mode_label,
    percent,
    subject_label,
    with_sign,
)
from tlstax.records.trial import TrialRecord
from tlstax.results.document import RunDocument
from tlstax.results.interval import DIFFERENCES, Interval, Judgement
from tlstax.results.rows import Row, Told
from tlstax.study import Case, Level, Levels, Study
from tlstax.study.factors import CaseLevels
from tlstax.study.key_groups import group_name
from tlstax.study.level_names import GROUP_LISTS, GROUPS_LIFTED, NO_FAULT, P256_FIRST
from tlstax.study.level_words import VARIANT_WORDS
from tlstax.study.level_words import group as offered_words
from tlstax.support.grouping import grouped
from tlstax.support.text import enumerated
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
COSTS = {
    ROUND_TRIPS: "1",
    BYTES: "B",
    CONNECT: "us",
    "server_cpu_us_per_connection": "us",
    "client_cpu_us_per_connection": "us",
}
"""The costs of a connection that are compared, and their units. CPU time is compared where each operation
makes a connection of its own, so that both are the same."""

OF_CONNECTION = {
    "server_cpu_us_per_connection": "server_cpu_us_per_op",
    "client_cpu_us_per_connection": "client_cpu_us_per_op",
    CONNECT: CONNECT,
}
"""The outcomes that costs are taken from."""

GROUP, FAULT = "group", "fault"
REMEDIES = (P256_FIRST, "P-256")
"""Levels of `group` whose key share every server of the MySQL family takes that knows TLS 1.3."""

HANDSHAKE = "tls_handshake"

Avoider = Literal["client", "server"]
"""Who does without the retry: the client by offering other groups, or a server (a variant of ours) that takes
more."""

COST_WORDS = {
    ROUND_TRIPS: "round trips",
    BYTES: "bytes",
    CONNECT: "median connect time",
    "server_cpu_us_per_connection": "server CPU",
    "client_cpu_us_per_connection": "client CPU",
}

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
    """Whether this is what the run answers: its study compares groups with each other."""
    return TOPIC.name in document.topics and "group" in document.design.baseline


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
    yield from _not_needed(seen.values()) if asks(run.study) else ()


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


def _seen(series: Series, records: Iterable[TrialRecord]) -> Mapping[Frozen, _Seen]:
    found: dict[Frozen, _Seen] = {}
    for record in records:
        done, case = record.done, record.trial.case
        if record.verdict.value != "valid" or done is None:
            continue
        handshakes_seen = [handshakes for handshakes in done.lifetime.handshakes if _is_telling(handshakes)]
        if not handshakes_seen:
            continue
        seen = found.setdefault(frozen(case.levels), _Seen(case))
        seen.server, seen.client_library = _server(record), _client_library(record)
        for handshakes in handshakes_seen:
            key = (
                handshakes.version,
                handshakes.group or "",
                handshakes.resumed,
                bool(handshakes.hello_retry),
            )
            seen.handshakes[key] += handshakes.count
        if case.role != "control":
            seen.case = case
            for cost, value in _wire(record).items():
                seen.costs.setdefault(cost, {})[record.trial.block] = value
            for cost, outcome in OF_CONNECTION.items():
                value_of = series.values.get(frozen(case.levels), {}).get(record.trial.block, {}).get(outcome)
                if value_of is not None and (cost == CONNECT or _makes_connections(record)):
                    seen.costs.setdefault(cost, {})[record.trial.block] = value_of
    return {levels: found[levels] for levels in series.cases if levels in found}


def _is_telling(handshakes: Handshakes) -> bool:
    """Only TLS 1.3 knows a HelloRetryRequest, and not every client can report it."""
    return handshakes.version == "TLSv1.3" and handshakes.hello_retry is not None


def _makes_connections(record: TrialRecord) -> bool:
    """Whether each operation is a connection of its own."""
    return record.job is not None and (record.job.workload.reconnect or record.job.workload.storm)


def _wire(record: TrialRecord) -> dict[str, float]:
    """Round trips and bytes of a handshake, where the client counts them."""
    wire = record.done.phase_wire.get(HANDSHAKE) if record.done is not None else None
    if wire is None:
        return {}
    crossed = wire.bytes_sent + wire.bytes_received
    return {ROUND_TRIPS: wire.round_trips / wire.times, BYTES: crossed / wire.times}


def _server(record: TrialRecord) -> str:
    """What the server is called: the specimen that it was meant to be, or its own word for itself."""
    levels = record.trial.case.levels
    named = CaseLevels.of(levels).server or (record.claim.name if record.claim is not None else None)
    if named is None:
        return f"the server ({record.server.version})" if record.server is not None else "the server"
    known = {name: levels[name] for name in ("tls_library", FAULT) if name in levels}
    return CaseLevels.of({"server": named, **known}).server_choice.words()


def _client_library(record: TrialRecord) -> str:
    """The library and its version, without the date that OpenSSL puts behind it."""
    library = record.ready.tls_library if record.ready is not None else None
    return " ".join(library.version.split()[:2]) if library is not None else ""


class _Kind(NamedTuple):
    """What handshakes that are counted together have in common."""

    server: str
    offered: str
    version: str
    group: str
    client_library: str
    resumed: bool


def _kinds(seen: Iterable[_Seen]) -> Iterator[Row]:
    """All handshakes of the run, by what they have in common."""
    made: Counter[_Kind] = Counter()
    retried: Counter[_Kind] = Counter()
    for own in seen:
        offered = str(own.case.levels.get(GROUP, "default"))
        for (version, group, resumed, was_retried), count in own.handshakes.items():
            kind = _Kind(own.server, offered, version, group_name(group), own.client_library, resumed)
            made[kind] += count
            retried[kind] += count if was_retried else 0
    for kind, count in made.items():
        yield Row(
            role=KIND,
            outcome=RESUMED if kind.resumed else FULL,
            unit="1",
            value=retried[kind],
            baseline_value=count,
            negotiated=f"{kind.version} {kind.group}",
            more={
                SERVER: kind.server,
                OFFERED: kind.offered,
                AGREED: kind.group,
                CLIENT: kind.client_library,
            },
        )


def _not_needed(seen: Iterable[_Seen]) -> Iterator[Row]:
    """Servers as they come that took what the client sent of its own accord, and in how many handshakes."""
    for own in seen:
        levels = own.case.levels
        if not own.retried and levels.get(GROUP, "default") == "default" and _fault(levels) == NO_FAULT:
            yield Row(
                role=NOT_NEEDED,
                outcome="handshakes",
                unit="1",
                case=dict(levels),
                value=own.made,
                more={SERVER: own.server},
            )


def _fault(levels: Levels) -> Level:
    return levels.get(FAULT, NO_FAULT)


def _avoiding(own: _Seen, seen: Iterable[_Seen]) -> Iterator[tuple[Avoider, _Seen]]:
    """The cases that differ from this one in the groups alone, offered or taken, and met no retry."""
    levels = own.case.levels
    place = frozen(levels, GROUP, FAULT)
    for other in seen:
        if other.retried or frozen(other.case.levels, GROUP, FAULT) != place:
            continue
        if _fault(other.case.levels) == _fault(levels):
            yield "client", other
        elif _fault(levels) == NO_FAULT and _fault(other.case.levels) == GROUPS_LIFTED:
            yield "server", other


def _retried_case(series: Series, own: _Seen, avoiding: tuple[tuple[Avoider, _Seen], ...]) -> Iterator[Row]:
    levels = own.case.levels
    round_trips, crossed = own.costs.get(ROUND_TRIPS), own.costs.get(BYTES)
    place = _place(levels, series.study)
    yield Row(
        role=RETRIED,
        outcome="handshakes_retried",
        unit="1",
        label=offered_words(levels.get(GROUP, "default")),
        case=dict(levels),
        value=own.retried,
        baseline_value=own.made,
        more={
            PLACE: place,
            AGREED: own.group,
            TRIPS: fmean(round_trips.values()) if round_trips else None,
            CROSSED: fmean(crossed.values()) if crossed else None,
        },
    )
    for by, other in avoiding:
        offered = offered_words(other.case.levels.get(GROUP, "default"))
        avoided = Row(
            role=AVOIDED,
            outcome="handshakes_retried",
            unit="1",
            value=own.retried,
            baseline_value=other.retried,
            label=f"{VARIANT_WORDS[GROUPS_LIFTED]}, {offered}" if by == "server" else offered,
            case=dict(levels),
            baseline=dict(other.case.levels),
            more={PLACE: place, BY: by, AGREED: other.group},
        )
        yield avoided
        for cost in COSTS:
            if own.costs.get(cost, {}).keys() & other.costs.get(cost, {}).keys():
                yield avoided.model_copy(update=_cost(series, own, other, cost))


def _place(levels: Levels, study: Study) -> str:
    """What the case shares with those that avoid its retry, as far as the study varies it."""
    varied = {name for name, known in study.levels_of().items() if len(known) > 1}
    shared = {name: level for name, level in levels.items() if name not in {GROUP, FAULT}}
    words = [
        subject_label(shared, study),
        mode_label({name: level for name, level in shared.items() if name in varied}),
        f"{shared[LADDER]} connections" if LADDER in varied else "",
    ]
    return ", ".join(word for word in words if word)


def _cost(series: Series, own: _Seen, other: _Seen, cost: str) -> dict[str, object]:
    retried, avoided = own.costs[cost], other.costs[cost]
    extras = difference(retried, avoided)
    extra = series.pooling.difference(extras)
    without = fmean(avoided[block] for block in extras)
    relative = _noise_floor(series, own.case.levels, OF_CONNECTION[cost]) if cost in OF_CONNECTION else None
    floor = relative * without if relative is not None else None
    margin = (series.study.alike_within - 1) * without
    return {
        "role": COST,
        "outcome": cost,
        "unit": COSTS[cost],
        "value": fmean(retried[block] for block in extras),
        "baseline_value": without,
        "interval": extra,
        "of": "difference",
        "blocks": extra.blocks,
        "noise_floor": relative,
        "judgement": _judged(extra, floor, margin, exact=cost == ROUND_TRIPS),
    }


def _noise_floor(series: Series, levels: Levels, outcome: str) -> float | None:
    """How far the control strays from the baseline at the case's own place, relative; None without one."""
    control = series.interval(series.control_logs(series.own_baseline(levels), outcome))
    return stats.noise_floor(control) if control is not None else None


def _judged(extra: Interval, floor: float | None, margin: float, *, exact: bool) -> Judgement:
    """By interval, noise floor and margin; what is counted and never scatters needs none of them."""
    if not exact:
        return judge_difference(extra, floor, margin)
    return "alike" if extra.point == 0 else "higher" if extra.point > 0 else "lower"


def sentences(_: Run, shown: Sequence[Row]) -> Iterator[str]:
    """All sentences, the most important first."""
    yield from _asked(_of_role(shown, KIND))
    yield from _round_trips(shown)
    yield from _costs(shown)
    yield from _none_needed(_of_role(shown, NOT_NEEDED))


def _of_role(shown: Iterable[Row], role: str) -> list[Row]:
    return [row for row in shown if row.role == role]


def _beside(shown: Iterable[Row], retried: Row, role: str) -> list[Row]:
    """What there is of this role beside a retried case."""
    return [row for row in shown if row.role == role and row.case == retried.case]


def _costs_beside(shown: Iterable[Row], avoided: Row) -> list[Row]:
    return [row for row in _beside(shown, avoided, COST) if row.baseline == avoided.baseline]


def remedy(shown: Sequence[Row]) -> tuple[str, ...]:
    """What a user can do, and what none can; empty where no handshake was retried."""
    retried = _of_role(shown, RETRIED)
    if not retried:
        return ()
    first = Counter(row.word(AGREED) for row in retried).most_common(1)[0][0]
    others = [group for group in GROUP_LISTS[P256_FIRST].split(":") if group != first]
    groups = ":".join([first, *others])
    return (
        f"offer {first} first, and the client's key share is one that the server takes: in the client's "
        f"openssl.cnf `Groups = {groups}` in the section that `system_default` names, or "
        f'`SSL_CTX_set1_groups_list(context, "{groups}")` in a program of your own',
        "MySQL's own clients have no option for groups, but read openssl.cnf, and the environment variable "
        "OPENSSL_CONF names another one for them; the server names its groups itself, whatever its file says",
    )


def command(shown: Sequence[Row]) -> str:
    """What would measure the remedy; empty where every retried case has one in this run, or there is none."""
    return f"tlstax study run {STUDY}" if _lacking(shown) else ""


def _lacking(shown: Sequence[Row]) -> list[Row]:
    """The retried cases without another of this run in which the client avoids it."""
    return [row for row in _of_role(shown, RETRIED) if _best(shown, row) is None]


def _best(shown: Sequence[Row], retried: Row) -> Row | None:
    """The case of this run in which the client avoids the retry: by a list where there is one."""
    by_client = [row for row in _beside(shown, retried, AVOIDED) if row.word(BY) == "client"]
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


def _how_many(kinds: Iterable[Row]) -> str:
    """How many were retried of how many: "all 120 full and 3 of 40 resumed TLS 1.3 handshakes"."""
    made, retried = Counter[str](), Counter[str]()
    for kind in kinds:
        made[kind.outcome] += round(kind.baseline_value or 0)
        retried[kind.outcome] += round(kind.value or 0)
    parts = [
        f"{share(retried[outcome], made[outcome])} {word}"
        for outcome, word in ((FULL, "full"), (RESUMED, "resumed"))
        if retried[outcome]
    ]
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
    far = sorted({rtt_ms for row in lacking if (rtt_ms := CaseLevels.of(row.case).distance.rtt_ms)})
    at = f": {' or '.join(f'{rtt_ms:.10g} ms' for rtt_ms in far)} of every connection here" if far else ""
    yield f"{took}{'one of them for this' if counted else 'whatever the distance'} ({RFC}){at}"


def _plain(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _costs(shown: Sequence[Row]) -> Iterator[str]:
    """What the retry costs at each place, against the client's remedy and what a server could give."""
    for retried in _of_role(shown, RETRIED):
        place = retried.word(PLACE)
        best = _best(shown, retried)
        if best is not None:
            yield f"{place}: with {best.label}, {_less(_costs_beside(shown, best))}"
        for other in _beside(shown, retried, AVOIDED):
            # Where the client offered the same, what the server gives is all the difference.
            if other.word(BY) == "server" and other.baseline.get(GROUP) == retried.case.get(GROUP):
                less = _less(_costs_beside(shown, other))
                yield f"{place}: with {other.label}, which gave {other.word(AGREED)}, {less}"


def _less(costs: Sequence[Row]) -> str:
    """All costs in words: "a connection costs 1 round trip less; alike in client CPU"."""
    parts = []
    moved = [
        f"{enumerated(found)} {way}"
        for way, judgement in (("less", "higher"), ("more", "lower"))
        if (found := [quantity(cost) for cost in costs if cost.judgement == judgement])
    ]
    if moved:
        parts.append(f"a connection costs {enumerated(moved)}")
    for judgement in ("alike", "inconclusive"):
        unseen = [COST_WORDS[cost.outcome] for cost in costs if cost.judgement == judgement]
        if unseen:
            parts.append(f"{judgement} in {enumerated(unseen)}")
    return "; ".join(parts) or "nothing could be compared"


def quantity(cost: Row) -> str:
    """The size of an extra, with its interval where it scatters: "45.1 ms of connect time (44.9 to 45.3)"."""
    point, *ends = (abs(number) for number in _extra(cost))
    if cost.unit == "1":
        number = _plain(point)
        return f"{number} round trip{'' if number == '1' else 's'}"
    if cost.unit == "B":
        return f"{point:,.0f} bytes"
    scale, unit = (_MS, "ms") if point >= _MS else (1.0, "µs")
    values = [value / scale for value in (point, *sorted(ends))]
    said, *between = alike(*values) if len(set(values)) > 1 else [f"{value:.4g}" for value in values]
    interval = f" ({between[0]} to {between[1]})" if set(between) - {said} else ""
    return f"{said} {unit} of {COST_WORDS[cost.outcome]}{interval}"


def _extra(cost: Row) -> tuple[float, ...]:
    """What the retry costs more, and the ends of its interval where it has any."""
    extra = cost.interval
    if extra is None:
        return (0.0,)
    ends = () if extra.low is None or extra.high is None else (extra.low, extra.high)
    return (extra.point, *ends)


def _none_needed(shown: Sequence[Row]) -> Iterator[str]:
    """Who needed none, in a study that asks."""
    for server, own in grouped(shown, lambda row: row.word(SERVER)).items():
        made = round(sum(row.value or 0.0 for row in own))
        yield (
            f"{server} needed no HelloRetryRequest in {made:,} TLS 1.3 handshakes as the client chose them"
        )


def sections(told: Told, document: RunDocument) -> Iterator[Section]:
    """Who was asked for a second ClientHello, what avoids it; where there is room, what each case costs."""
    said = () if is_answer(document) else tuple(map(capitalised, told.sentences))
    avoided = tuple(map(capitalised, advice(told.rows)))
    most = MOST_OF_LARGE if is_large(document.design) else None
    roomy: tuple[Block, ...] = (
        Items(said),
        Items(avoided, "What avoids it"),
        OnPage(lambda: (_asked_table(told.of(role=KIND)),)),
        *_case_tables(told.rows, document.design),
    )
    short = (Items(said[:most]), Items(avoided[:most], "What avoids it"))
    yield Section((Roomy(roomy, otherwise=short),), TOPIC.title)


def advice(shown: Sequence[Row]) -> tuple[str, ...]:
    """What avoids the retry, and what would measure that, where this run did not."""
    measuring = command(shown)
    measure = (f"what that saves was not measured here; `{measuring}` would",) if measuring else ()
    return (*remedy(shown), *measure)


def _asked_table(kinds: Iterable[Row]) -> Table:
    """Who was asked how often."""
    lines = tuple((kind.word(SERVER), *_cells(kind)) for kind in kinds)
    return Table("Who was asked for a second ClientHello", HEADS, lines, (), of="server", of_words=True)


def _cells(kind: Row) -> tuple[str, ...]:
    return (
        f"{kind.value:,.0f}",
        f"{kind.baseline_value:,.0f}",
        "yes" if kind.outcome == RESUMED else "no",
        offered_words(kind.word(OFFERED)),
        kind.word(AGREED),
        kind.word(CLIENT) or figures.NOTHING,
    )


def _case_tables(shown: Sequence[Row], study: Study) -> Iterator[Table]:
    """For each case that was asked again, what a connection costs it, and those that avoid it."""
    for retried in _of_role(shown, RETRIED):
        avoided = _beside(shown, retried, AVOIDED)
        costs = {cost.outcome: cost for cost in _beside(shown, retried, COST)}
        lines = [
            (f"{retried.label} (asked again)", *(_amount(cost.value, cost.unit) for cost in costs.values()))
        ]
        for other in avoided:
            own = {cost.outcome: cost for cost in _costs_beside(shown, other)}
            cells = (_cost_cell(own[name]) if name in own else figures.NOTHING for name in costs)
            lines.append((f"{other.label} ({other.word(AGREED)})", *cells))
        if avoided:
            yield Table(
                title=f"{retried.word(PLACE)}: what a connection costs",
                heads=tuple(COST_WORDS[name] for name in costs),
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
    point, *ends = (-number for number in _extra(cost))
    if cost.unit != "us":
        return f"{value} ({with_sign(_amount(point, cost.unit))})"
    scale = figures.column_scale([point], cost.unit)
    said, *between = (
        with_sign(figures.significant(number / scale.divisor)) for number in (point, *reversed(ends))
    )
    interval = f" [{' … '.join(between)}]" if between else ""
    return f"{value} ({said} {scale.unit}{interval})"


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
