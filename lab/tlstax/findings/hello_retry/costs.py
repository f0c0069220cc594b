"""HelloRetryRequests: in which cases servers asked for a second ClientHello, and what that costs. Pure.

A client sends key shares for the groups that it thinks likely; a server that takes none of these but another
that was offered asks for a second ClientHello (RFC 8446, section 4.1.4). That costs a round trip, and what it
costs else is measured: against the same case in the same blocks, in which the client offered a group that the
server takes, or the server, as a variant of ours, took what the client had sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import NamedTuple

from tlstax.contract import Handshakes
from tlstax.findings.core import stats
from tlstax.findings.core.judgements import judge_difference
from tlstax.findings.core.series import LADDER, Frozen, Series, difference, frozen
from tlstax.findings.core.wording import mode_label, subject_label
from tlstax.findings.hello_retry.words import Facts, command, remedy, sentences
from tlstax.records.trial import TrialRecord
from tlstax.results.hello_retry import (
    Avoided,
    Avoider,
    HelloRetries,
    Retried,
    RetriedCase,
    RetryCost,
)
from tlstax.results.interval import Interval, Judgement
from tlstax.study import Case, Level, Levels, Study
from tlstax.study.case_levels import CaseLevels
from tlstax.study.key_groups import group_name
from tlstax.study.labels import offered_words
from tlstax.study.level_names import GROUPS_LIFTED, NO_FAULT, P256_FIRST
from tlstax.study.server_words import VARIANT_WORDS

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


def hello_retries(series: Series, records: Iterable[TrialRecord]) -> HelloRetries | None:
    """Who was asked for a second ClientHello, and what it cost.

    None where nobody was, unless the study asks, by offering a remedy or a server that needs none.
    """
    seen = _seen(series, records)
    kinds = tuple(_kinds(seen.values()))
    cases = tuple(
        _retried_case(series, case, tuple(_avoiding(case, seen.values())))
        for case in seen.values()
        if case.retried
    )
    if not kinds or not (cases or asks(series.study)):
        return None
    facts = Facts(kinds, cases, tuple(_unasked(seen.values())) if asks(series.study) else ())
    return HelloRetries(
        kinds=kinds, cases=cases, remedy=remedy(facts), command=command(facts), sentences=sentences(facts)
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


def _kinds(seen: Iterable[_Seen]) -> Iterator[Retried]:
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
        yield Retried(**kind._asdict(), handshakes=count, retried=retried[kind])


def _unasked(seen: Iterable[_Seen]) -> Iterator[tuple[str, int]]:
    """Servers as they come that took what the client sent of its own accord, and in how many handshakes."""
    for own in seen:
        levels = own.case.levels
        if not own.retried and levels.get(GROUP, "default") == "default" and _fault(levels) == NO_FAULT:
            yield own.server, own.made


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


def _retried_case(series: Series, own: _Seen, avoiding: tuple[tuple[Avoider, _Seen], ...]) -> RetriedCase:
    levels = own.case.levels
    round_trips, crossed = own.costs.get(ROUND_TRIPS), own.costs.get(BYTES)
    return RetriedCase(
        case=dict(levels),
        label=offered_words(levels.get(GROUP, "default")),
        place=_place(levels, series.study),
        rtt_ms=CaseLevels.of(levels).distance.rtt_ms,
        group=own.group,
        handshakes=own.made,
        retried=own.retried,
        round_trips=fmean(round_trips.values()) if round_trips else None,
        bytes=fmean(crossed.values()) if crossed else None,
        avoided=tuple(_avoided(series, own, by, other) for by, other in avoiding),
    )


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


def _avoided(series: Series, own: _Seen, by: Avoider, other: _Seen) -> Avoided:
    levels = other.case.levels
    offered = offered_words(levels.get(GROUP, "default"))
    return Avoided(
        by=by,
        case=dict(levels),
        label=f"{VARIANT_WORDS[GROUPS_LIFTED]}, {offered}" if by == "server" else offered,
        group=other.group,
        costs=tuple(
            _cost(series, own, other, cost)
            for cost in COSTS
            if own.costs.get(cost, {}).keys() & other.costs.get(cost, {}).keys()
        ),
    )


def _cost(series: Series, own: _Seen, other: _Seen, cost: str) -> RetryCost:
    retried, avoided = own.costs[cost], other.costs[cost]
    extras = difference(retried, avoided)
    extra = series.pooling.difference(extras)
    without = fmean(avoided[block] for block in extras)
    relative = _noise_floor(series, own.case.levels, OF_CONNECTION[cost]) if cost in OF_CONNECTION else None
    floor = relative * without if relative is not None else None
    return RetryCost(
        cost=cost,
        unit=COSTS[cost],
        retried=fmean(retried[block] for block in extras),
        avoided=without,
        extra=extra,
        noise_floor=floor,
        judgement=_judged(extra, floor, (series.study.alike_within - 1) * without, exact=cost == ROUND_TRIPS),
    )


def _noise_floor(series: Series, levels: Levels, outcome: str) -> float | None:
    """How far the control strays from the baseline at the case's own place, relative; None without one."""
    control = series.interval(series.control_logs(series.own_baseline(levels), outcome))
    return stats.noise_floor(control) if control is not None else None


def _judged(extra: Interval, floor: float | None, margin: float, *, exact: bool) -> Judgement:
    """By interval, noise floor and margin; what is counted and never scatters needs none of them."""
    if not exact:
        return judge_difference(extra, floor, margin)
    return "alike" if extra.point == 0 else "higher" if extra.point > 0 else "lower"
