"""Which cases can take turns in short slices, and how short those are. Pure.

What disturbs a measurement comes in bursts: something else takes a processor for some milliseconds. Two long
windows that follow each other are both hit, by different amounts; of hundreds of pairs of short slices few
are, and a median leaves those out. So cases that are compared with each other take turns every few
milliseconds, as long as nothing has to be set or put back between them.
"""

from __future__ import annotations

from collections.abc import Iterable

from tlstax.plan.jobs import counted_operations, rounds_of
from tlstax.study import Study
from tlstax.study.case_workload import workload_in
from tlstax.study.client_kinds import kind_of
from tlstax.study.factors import CaseLevels

MOST_CONNECTIONS = 512
"""All clients of a sitting keep their connections at once, and the server a thread for each of them."""

KEPT_S, DRIVER_S = 0.02, 0.05
"""The shortest slice on connections that are kept: a hundred times as long as an operation takes among eight
of them. Of a driver, whose operations and wake-ups take longer."""

OPERATION_S, OPERATIONS_EACH = 0.0001, 4
"""About how long a server takes for a simple operation, and how many each connection has in a slice."""

WHOLE_RECONNECT_S, RECONNECT_S = 0.025, 0.0075
"""How long a slice lasts for each connection that reconnects. All begin a slice at once, and at its end fewer
and fewer are left: client and server keep each other waiting then, and two virtual processors of one core are
both faster alone. Whole slices of 2.5 ms for each of eight connections made TLS 1.3 look 15 % cheaper at the
server than windows of a second do, slices of 6 ms 5 % (the study `slices`), so whole ones last some twenty
times what a full handshake takes one processor. Of a client that reports what it did under full load both
ends are left out, and a third of that is enough."""


AUTHORITY_S = 0.00015
"""About how long a client takes at the most to read one authority, which many do for each connection: OpenSSL
3.0 (docs/trust.md). Of 145 of them a connection takes longer than a slice would last otherwise."""

COMMIT_S, TIMES_AN_OPERATION = 0.004, 20
"""About how long a commit takes that waits for the disk, and how many times as long as an operation a slice
lasts in which operations commit. Of inserts of 5 ms each connection had four in 20 ms, and of sysbench's
transactions of 30 ms one, at whose beginning and end client and server keep each other waiting."""

STORM_ROUND_S = 1e-6
"""A slice of a storm is one round of it, however long that takes: the next is begun only within the slice's
length (contract/README.md), which is over long before the first connection is open."""

FEWEST_SLICES = 6
"""One that is watched alone, and five slices: of fewer pairs a median leaves nothing out."""


def takes_turns(case: CaseLevels, study: Study) -> bool:
    """Whether the case with these levels can take turns with others.

    Not where its client cannot stop in the middle of a run, where its trial ends with a number of operations
    (a storm's rounds are slices, if there are enough of them, and of all cases as many) or changes data that
    it cannot share with others; where operations are due at times of their own, so
    that what is late waits for what is before it; where something is set at the server, or a distance
    between it and the client, for a time; nor where the observers are what is compared, or each trial has a
    process of the server to itself.
    """
    return (
        kind_of(case.client).takes_turns
        and (_has_rounds_enough(case, study) if case.is_storm else counted_operations(case) is None)
        and study.schedule.mode == "closed"
        and (not study.workload_of(case).changes_data or _writes_in_turn(case, study))
        and not case.is_switched_at_server
        and case.durability is None
        and not case.distance.is_any
        and "observers" not in study.levels_of()
        and case.slice_ms != 0
        and not study.has_process_for_each_trial
    )


def lead_in(case: CaseLevels) -> int | None:
    """How many operations of a slice are answered before it counts; None where all of it does.

    One for each connection: they all begin at once and in step. Not in a storm, which is all beginning.
    """
    whole = not kind_of(case.client).tells_full_load or case.is_storm
    return None if whole else case.connections


def tell_full_load(cases: Iterable[CaseLevels]) -> bool:
    """Whether every client of these cases tells what it did while all of its connections were at work."""
    return all(lead_in(levels) is not None for levels in cases)


def slice_s(cases: Iterable[CaseLevels], study: Study | None = None, *, whole: bool = False) -> float:
    """How long each slice of these cases lasts, one for all: as named, or what the slowest of them needs.

    Without their study none has a workload of the user's own. With `whole` the ends count, whatever clients
    tell.
    """
    known = tuple(cases)
    whole = whole or not tell_full_load(known)
    return max(_slice_s(case, study, whole=whole) for case in known)


def _slice_s(case: CaseLevels, study: Study | None, *, whole: bool) -> float:
    workload = workload_in(study, case)
    if case.slice_ms or not workload.changes_data:
        return _least_s(case, whole=whole)
    operation_s = workload.statements * OPERATION_S * case.connections + COMMIT_S
    return max(_least_s(case, whole=whole), TIMES_AN_OPERATION * operation_s)


def _writes_in_turn(case: CaseLevels, study: Study) -> bool:
    """Whether clients can change the same data in turn.

    Of a driver it is not known: many begin a transaction by themselves, and leave it open.
    """
    is_driver = kind_of(case.client).is_driver
    return not is_driver and study.workload_of(case).shares_data(study.rows)


def _has_rounds_enough(case: CaseLevels, study: Study) -> bool:
    """Whether a storm has rounds enough for turns, and those that it is compared with have as many."""
    return rounds_of(case) >= FEWEST_SLICES and "rounds" not in study.baseline


def _least_s(case: CaseLevels, *, whole: bool) -> float:
    if case.is_storm:
        return STORM_ROUND_S
    if case.slice_ms:
        return case.slice_ms / 1000
    shortest_s = DRIVER_S if kind_of(case.client).is_driver else KEPT_S
    statements = (case.session.statements if case.session else None) or 1
    operations_s = OPERATIONS_EACH * OPERATION_S * case.connections * statements
    if case.reconnects:
        each_s = WHOLE_RECONNECT_S if whole else RECONNECT_S
        if case.trust is not None:
            each_s = max(each_s, OPERATIONS_EACH * AUTHORITY_S * case.trust)
        return max(shortest_s, each_s * case.connections, operations_s)
    return max(shortest_s, operations_s)
