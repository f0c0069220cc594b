"""What to bear in mind of a run: of its cases, of its machine, of servers that are not ours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean

from tlstax.plan import at_work
from tlstax.plan.admission import turns_apart, without_room
from tlstax.plan.advice_studies import stand_in_for
from tlstax.plan.elsewhere import Promise
from tlstax.plan.sittings import companies, most_connections
from tlstax.records.beforehand import ExternalServer
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.records.window import WireUse
from tlstax.results.interval import Interval
from tlstax.stats import stats
from tlstax.stats.estimates import Comparison, Estimate
from tlstax.stats.outcomes import shares, together, window_slices
from tlstax.stats.series import Values
from tlstax.stats.wording import known_to, percent, signed_percent
from tlstax.study import Study
from tlstax.study.driver_catalogue import DRIVERS, HELD_BACK_US
from tlstax.study.labels import full_label, group_label, label_levels
from tlstax.study.level_names import DIRECT, KEPT_BESIDE_MADE, RECONNECTING, STORM, key_of
from tlstax.study.mixes import Mix
from tlstax.support.text import counted, enumerated
from tlstax.topics.prediction.model import SERVER_CPU
from tlstax.topics.prediction.other_machines import shipped_parts, stand_in
from tlstax.topics.prediction.prediction import costs, in_the_clear

CLIENT_BOUND_SHARE = 0.9
"""Above this share of a core the client's busiest thread may be what limits a trial."""

BUSY_CLIENT_SHARE, BUSY_SERVER_SHARE = 0.75, 0.95
"""A server below its share beside a client above its own waits for the client now and then."""

FEW_BLOCKS = 3
"""With fewer blocks than this an interval rests on hardly any evidence of scatter."""

Busy = Mapping[str, tuple[str, ...]]
"""What is to be said of the work of each case's client, and of its baseline's, by the case's key."""

NOT_REACHED = "the precision of "
"""Begins what is said of a run whose ratios are not all known as well as was wanted."""

HELLO_RETRY = (
    "every handshake met a HelloRetryRequest: the server accepts none of the groups that the client sent a "
    "key share for, which costs a round trip and a second ClientHello"
)


def busy_clients(study: Study, found: Iterable[Estimate], values: Values) -> Busy:
    """For each case that was compared, where its client may be what limits the rate, by work or by a wait.

    `values` are the outcomes of all valid trials.
    """
    compared = {estimate.comparison.key: estimate.comparison for estimate in found}
    return {
        key: (*_client_bound(study, comparison, values), *_held_back(study, comparison, values))
        for key, comparison in compared.items()
    }


def of_finding(study: Study, estimate: Estimate, ratio: Interval, busy: Busy) -> tuple[str, ...]:
    """What bears on one finding, the gravest first."""
    comparison, outcome = estimate.comparison, estimate.outcome
    found = [*_few_blocks(ratio), *_lost(comparison)]
    if outcome == "ops_per_s" or outcome.endswith(("_p50_us", "_p99_us", "_p999_us")):
        found += busy[comparison.key]
    if comparison.case.role != "baseline":
        found += _disturbed(estimate)
        found += _control_differs(estimate.control)
        width = ratio.half_width
        if outcome == study.deciding_outcome and width is not None and _is_wide(width, study):
            found.append(f"{known_to(width)}, not to the ±{percent(study.precision)} that were wanted")
    connects = comparison.case.levels.workload in {*RECONNECTING, STORM}
    if comparison.always_hello_retry and (connects or outcome.startswith(("connect_", "tls_handshake_"))):
        found.append(HELLO_RETRY)
    # What the checks noted of valid trials, each note with the number of trials that have it.
    trials = len(comparison.records)
    found += (
        note if times == trials else f"{note} (in {times} of {counted(trials, 'trial')})"
        for note, times in comparison.notes.items()
    )
    return tuple(found)


def of_run(stored: StoredRun, found: Iterable[Estimate], busy: Busy) -> tuple[str, ...]:
    """What bears on the whole run: how it ended, what was lost, what its deciding outcome suffers from."""
    study = stored.header.study
    deciding = [estimate for estimate in found if estimate.outcome == study.deciding_outcome]
    return (
        *_ended_early(stored),
        *_resumed(stored),
        *_not_valid(study, stored.measured),
        *_not_valid(study, stored.counted, " in which locks were counted"),
        *_without_ratio(stored, deciding),
        *of_machine(stored.measured),
        *_controls_differ(study, deciding),
        *_too_wide(study, deciding),
        *_most_disturbed(study, deciding),
        *dict.fromkeys(text for estimate in deciding for text in busy[estimate.comparison.key]),
    )


def _resumed(stored: StoredRun) -> Iterator[str]:
    if stored.resumed_at:
        times = "once" if len(stored.resumed_at) == 1 else f"{len(stored.resumed_at)} times"
        yield (
            f"the run was cut off and resumed {times} (last at {stored.resumed_at[-1]}), its servers started "
            "anew: a block that was cut through was measured on two sets of processes"
        )


def _few_blocks(ratio: Interval) -> Iterator[str]:
    if ratio.blocks == 1:
        yield "one block only: there is no interval"
    elif ratio.low is None:
        yield "one block on each machine only: there is no interval"
    elif ratio.blocks < FEW_BLOCKS:
        yield f"{ratio.blocks} blocks only: the interval rests on hardly any evidence"


def _lost(comparison: Comparison) -> Iterator[str]:
    if comparison.lost_blocks:
        left_out = f"{comparison.lost_blocks} of {counted(comparison.tried_blocks, 'block')} left out"
        yield f"{left_out}, because a trial was not valid ({_why(comparison.lost[0])})"


def _client_bound(study: Study, comparison: Comparison, values: Values) -> Iterator[str]:
    """Of either side, where its client was busier than a client should be."""
    for case, records in (
        (comparison.case, comparison.records),
        (comparison.baseline, [pair.baseline for pair in comparison.pairs]),
    ):
        name = full_label(case, study)
        client = _mean_share(records, values, "client_cpu_share", otherwise=0.0)
        server = _mean_share(records, values, "server_cpu_share", otherwise=1.0)
        if client > CLIENT_BOUND_SHARE:
            yield (
                f"client-bound: in {name} the client's busiest thread used {percent(client)} of a core, so "
                "that the server could have done more"
            )
        elif client > BUSY_CLIENT_SHARE and server < BUSY_SERVER_SHARE:
            yield (
                f"in {name} the client's busiest thread used {percent(client)} of a core and the server "
                f"{percent(server)}: the rate shows the work of both, server CPU per operation the server's "
                "alone"
            )


def _mean_share(records: Sequence[TrialRecord], values: Values, name: str, *, otherwise: float) -> float:
    shares = [known[name] for record in records if name in (known := values[record.trial.place])]
    return fmean(shares) if shares else otherwise


def _held_back(study: Study, comparison: Comparison, values: Values) -> Iterator[str]:
    """Where a driver on this machine takes that much longer to connect over TLS, and nobody works meanwhile.

    Queues are ruled out by how busy both sides are: at the most, work waits three times as long as it takes.
    """
    case, baseline = comparison.case.levels, comparison.baseline.levels
    is_near = not case.rtt_ms and not case.jitter_ms
    if case.client not in DRIVERS or not is_near or not case.is_encrypted or baseline.is_encrypted:
        return
    waits_us = []
    for pair in comparison.pairs:
        own, plain = values[pair.record.trial.place], values[pair.baseline.trial.place]
        busiest = max(known.get(share, 0.0) for known in (own, plain) for share in _SHARES_OF_SIDES)
        if "connect_p50_us" not in own or "connect_p50_us" not in plain or busiest > BUSY_CLIENT_SHARE:
            return
        work_us = sum(own.get(name, 0.0) - plain.get(name, 0.0) for name in _CPU_OF_SIDES)
        waits_us.append(own["connect_p50_us"] - plain["connect_p50_us"] - work_us)
    if waits_us and min(waits_us) >= HELD_BACK_US:
        yield (
            f"in {full_label(comparison.case, study)} a connect takes {fmean(waits_us) / 1000:.0f} ms longer "
            "than its CPU time explains: a driver that leaves Nagle's algorithm on waits as long, for an "
            "acknowledgement that Linux delays by 40 ms (TCP_NODELAY on its socket ends it)"
        )


_SHARES_OF_SIDES = ("client_cpu_share", "server_cpu_share")
_CPU_OF_SIDES = ("client_cpu_us_per_op", "server_cpu_us_per_op")


def _control_differs(control: Interval | None) -> Iterator[str]:
    if control is not None and control.excludes_one:
        difference = percent(stats.relative_difference(control.point))
        yield f"the control differs from the baseline by {difference}: the machine drifted or is too noisy"


def _controls_differ(study: Study, deciding: Iterable[Estimate]) -> Iterator[str]:
    """The same of the run, by the groups that have a control."""
    for estimate in deciding:
        if estimate.comparison.case.role == "control":
            group = group_label(estimate.comparison.case.levels, study)
            for text in _control_differs(estimate.control):
                yield f"{group}: {text}" if group else text


def _disturbed(estimate: Estimate) -> Iterator[str]:
    totals = estimate.ratio_of_totals
    if totals is not None and estimate.is_disturbed:
        yield (
            f"over all slices together it is {signed_percent(totals - 1)}, outside the interval: in some of "
            "one case's turns something else took time, other work on the machine or rare work of its own, "
            "which the median of neighbouring slices leaves out"
        )


def _most_disturbed(study: Study, deciding: Iterable[Estimate]) -> Iterator[str]:
    """The same of the run, by the case where the two are farthest apart."""
    disturbed = [e for e in deciding if e.comparison.case.role != "baseline" and e.is_disturbed]
    if disturbed:
        worst = max(disturbed, key=lambda e: abs(fmean(total - own for total, own in e.totals.values())))
        others = f" (one of {len(disturbed)} such cases)" if len(disturbed) > 1 else ""
        label = full_label(worst.comparison.case, study)
        yield from (f"{label}{others}: {text}" for text in _disturbed(worst))


def _ended_early(stored: StoredRun) -> Iterator[str]:
    blocks = counted(len({record.trial.block for record in stored.measured}), "block")
    if stored.status == "running":
        yield f"the run is still going on: {blocks} so far"
    elif stored.status != "complete":
        why = f" ({stored.stopped_because})" if stored.stopped_because else ""
        how = "failed" if stored.status == "failed" else "was interrupted"
        yield f"the run {how}{why}: {blocks} were kept"


def _not_valid(study: Study, trials: Sequence[TrialRecord], which: str = "") -> Iterator[str]:
    bad = [record for record in trials if not record.is_valid]
    if bad:
        how_many = f"{len(bad)} of {counted(len(trials), 'trial')}{which} not valid and left out"
        yield f"{how_many}; the first was {full_label(bad[0].trial.case, study)}: {_why(bad[0])}"


def _without_ratio(stored: StoredRun, deciding: Iterable[Estimate]) -> Iterator[str]:
    known = {estimate.comparison.key for estimate in deciding if estimate.ratio is not None}
    tried = {record.trial.case.key(): record.trial.case for record in stored.measured}
    for key, case in tried.items():
        if key not in known and case.role != "baseline":
            label = full_label(case, stored.header.study)
            yield f"{label}: nothing to compare, no block has a valid trial of it and of its baseline"


def _too_wide(study: Study, deciding: Iterable[Estimate]) -> Iterator[str]:
    wide = [
        (width, estimate.comparison.case)
        for estimate in deciding
        if estimate.ratio is not None
        and (width := estimate.ratio.half_width) is not None
        and _is_wide(width, study)
    ]
    if wide:
        width, case = max(wide, key=lambda both: both[0])
        yield (
            f"{NOT_REACHED}±{percent(study.precision)} was not reached: the widest ratio is "
            f"{known_to(width)} ({full_label(case, study)})"
        )


def _is_wide(half_width: float, study: Study) -> bool:
    """Whether it is wider than was wanted; a study that ends with a number of blocks wants no precision."""
    return study.maximum_blocks is None and half_width > study.precision


def _why(record: TrialRecord) -> str:
    return record.verdict.reasons[0] if record.verdict.reasons else f"its verdict is {record.verdict.value}"


MUCH_STEAL = 0.01
"""Share of the processors' time, taken by the host during the windows, above which it is said."""

MUCH_RETRANSMITTED = 0.01
"""Share of the TCP segments sent, above which it is said that some were lost, or may have been.

Those that arrived twice were not. They are probes of the sender, whose answer took longer than a round trip
(RFC 8985, tail loss probe): on loopback it does wherever the receiver waits for a processor."""

BESIDE_ANOTHER = (
    "another run was measuring on the same processors at the same time: each took time from the other, and "
    "times scatter"
)


def of_machine(trials: Sequence[TrialRecord]) -> list[str]:
    """What bears on all results of these trials."""
    return [*_beside_another(trials), *_stolen(trials), *_retransmitted(trials)]


def _beside_another(trials: Sequence[TrialRecord]) -> Iterator[str]:
    if disturbed := sum(record.beside_another for record in trials):
        yield f"{BESIDE_ANOTHER} ({disturbed} of {counted(len(trials), 'trial')})"


def _stolen(trials: Sequence[TrialRecord]) -> Iterator[str]:
    everything = together(window_slices(trials))
    all_trials = shares(everything) if everything is not None else None
    if all_trials is not None and all_trials.steal / 100 > MUCH_STEAL:
        yield (
            f"the host took {percent(all_trials.steal / 100)} of the processors' time for others while "
            "trials ran: times are longer than they need be, and scatter"
        )


def _retransmitted(trials: Sequence[TrialRecord]) -> Iterator[str]:
    seen = [record.window.wire for record in trials if record.window is not None and record.window.wire]
    # Of at least one segment, so that retransmissions alone are many.
    bad = [wire for wire in seen if _missing(wire) > MUCH_RETRANSMITTED * max(1, wire.tcp_segments_sent)]
    if bad:
        again = sum(map(_missing, bad))
        sent = sum(wire.tcp_segments_sent for wire in bad)
        yield (
            f"in {len(bad)} of {counted(len(seen), 'trial')} more than {percent(MUCH_RETRANSMITTED)} of the "
            f"TCP segments were sent again ({again:,} of {sent:,}, on the whole machine): lost, or answered "
            "late"
        )


def _missing(wire: WireUse) -> int:
    """The segments that were sent again and are not known to have arrived twice."""
    return wire.tcp_segments_retransmitted - (wire.tcp_segments_arrived_twice or 0)


COUNTED = ("select", "insert", "update", "delete", "replace")
"""The commands that read and write."""


SELECT_BYTES, MANY = 120, 1000
"""The answer to a point select, and statements on a connection that is kept."""


def of_external(stored: StoredRun) -> tuple[str, ...]:
    """What was done otherwise there, and why, a sentence each."""
    header = stored.header
    if not header.guest or not stored.measured:
        return ()
    if not header.external:
        return _of_older(stored)
    return (
        *(_no_plaintext(own, stored) for own in header.external if own.no_plaintext),
        *(
            f"statements that read nothing took the place of point selects: {own.no_tables}"
            for own in header.external
            if own.no_tables
        ),
        *without_room(header.study, header.external),
        *_of_others(stored),
        *_legs(stored),
    )


def _no_plaintext(external: ExternalServer, stored: StoredRun) -> str:
    """Why a server rules plaintext out, and what is known of it elsewhere."""
    why = f"plaintext was not measured: {external.no_plaintext}"
    servers = (own for own in stored.header.specimens if own.kind == "server")
    server = next((own for own in servers if external.server in {None, own.name}), None)
    specimen = None if server is None else stand_in_for(server.version)
    if specimen is None:
        return why
    version = "1.2" if str(stored.header.study.baseline.get("tls")) == "1.2" else "1.3"
    return f"{why}; {_elsewhere(specimen, version)}"


def _elsewhere(specimen: str, version: str) -> str:
    """What TLS costs beside plaintext by the parts that come with tlstax, of the server that is nearest."""
    parts = shipped_parts(stand_in(specimen))
    model = parts.calibrated()
    one = Mix(tls="1.2" if version == "1.2" else "1.3", statements=1, answer_bytes=SELECT_BYTES)
    many = one.but(statements=MANY)

    def cpu_us(mix: Mix) -> float:
        return costs(model, mix, 0.0)[SERVER_CPU].point

    kept = (cpu_us(many) - cpu_us(one)) / (cpu_us(in_the_clear(many)) - cpu_us(in_the_clear(one)))
    made = cpu_us(one) / cpu_us(in_the_clear(one))
    return (
        f"measured elsewhere, on a private {parts.server} with a certificate of {key_of(one.certificate)} "
        f"({parts.processor}): TLS {version} costs the server about {kept - 1:+.0%} CPU a point select and "
        f"×{made:.1f} a new connection, compared with plaintext (`tlstax run --server {specimen}` measures "
        "that on this machine)"
    )


def _of_others(stored: StoredRun) -> Iterator[str]:
    """What others were seen to do there before the first block, and while it was measured."""
    for external in stored.header.external:
        seen = external.at_work
        if seen is not None and at_work.is_at_work(seen.others_per_s):
            at = f"{external.server}: " if external.server is not None else ""
            yield f"{at}{at_work.words(seen)}"
    meanwhile = others_per_s(stored)
    if meanwhile is not None and at_work.is_at_work(meanwhile):
        yield (
            f"others ran about {meanwhile:,.0f} statements a second at the server while it was measured; "
            "what they do there is in all figures"
        )


def others_per_s(stored: StoredRun) -> float | None:
    """How many statements a second others ran while cases were watched; None where that cannot be told.

    A case of one statement that reads, on connections that are kept, says how many SELECT it has run; what
    the server counted beyond that, and all that writes, was somebody else's.
    """
    others, watched_s = 0, 0.0
    for record in stored.measured:
        window, case = record.window, record.trial.case
        reads = case.levels.workload in {kept for kept, _ in KEPT_BESIDE_MADE}
        if window is None or not window.status_delta or not reads or record.failure:
            continue
        commands = record.commands_in_window
        counted = sum(commands.get(name, 0) for name in COUNTED)
        others += counted - record.watched_operations
        watched_s += window.took_s
    return max(0.0, others / watched_s) if watched_s else None


def _legs(stored: StoredRun) -> Iterator[str]:
    """What the server sees of connections that come by another address: its own leg, which we do not see."""
    seen: dict[str, dict[str, set[str]]] = {}
    for record in stored.measured:
        case = record.trial.case.levels
        if case.address == DIRECT or not record.is_valid or record.ready is None:
            continue
        client = label_levels({"tls": case.tls})
        for both in record.ready.negotiated:
            views = seen.setdefault(case.address, {}).setdefault(client, set())
            views.add(both.server.version if both.server else "no TLS")
    for address, by_client in seen.items():
        legs = [
            f"{enumerated(sorted(views))} where the client has {client}"
            for client, views in sorted(by_client.items())
        ]
        yield f"behind {address} the server sees {enumerated(legs)}; what lies between the two is not shown"


def _of_older(stored: StoredRun) -> tuple[str, ...]:
    """Of an older run, in which cases took turns only where `--connections` had room for all."""
    study = stored.header.study
    promised = most_connections(study)
    block = [one for one in stored.measured if one.trial.block == stored.measured[0].trial.block]
    in_turns = {one.trial.position for one in block if one.slices is not None}
    return tuple(
        turns_apart(company, study, promised, parts=0)
        for company in companies(study, [one.trial for one in block])
        if not any(trial.position in in_turns for trial in company)
        and Promise.of((trial.case.levels for trial in company), study).held > promised
    )
