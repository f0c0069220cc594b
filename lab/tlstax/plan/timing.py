"""How long trials measure, how long they take besides, and so how many fit a budget. Pure.

What is estimated here decides how a budget is shared out, never a result. The costs are about those of two
cores of 2026; a run that goes on corrects its outlook by what its own trials took.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

from tlstax.plan.jobs import counted_operations, rounds_of
from tlstax.plan.turns import FEWEST_SLICES, slice_s, takes_turns
from tlstax.study import Case, Study
from tlstax.study.case_workload import workload_in
from tlstax.study.client_kinds import kind_of
from tlstax.study.factor import is_specimen_name
from tlstax.study.factors import CaseLevels
from tlstax.study.level_names import STREAM
from tlstax.study.needs import server_choices

WANTED_BLOCKS = 20
"""Blocks that are to fit the budget. Trials of a case scatter about as much whether they last a tenth of a
second or a whole one (each is a process, connections and server threads of its own), this many short ones,
interleaved, tell more in the same time than few long ones (Abedi and Brecht, ICPE 2017)."""

WANTED_BLOCKS_IN_TURNS = 16
"""The same where cases take turns. What is left of scatter then is that of connections and threads, which are
made anew in each block and cost as much time however short the block is. Of kept connections twelve blocks
knew ratios to 1.9 %, sixteen in the same minute to 1.3 % (docs/slices.md)."""

SHORTEST_S, LONGEST_S, LONGEST_IN_TURNS_S = 0.1, 10.0, 0.4
"""Of a large budget trials get longer, up to here. Where cases take turns, more blocks with connections of
their own soon tell more than longer ones; and who interrupts a run loses at most the turns under way."""

LONGEST_OF_NEW_S = 1.0
"""The same where each block or trial has new processes: to start one takes as long as such a trial."""

SHORTEST_OF_NEW_S = 0.5
"""The shortest window of a process that nobody has used: every connection has had what it needs by then."""

RECONNECT_CYCLE_S = 0.003
"""How long a window lasts for each connection that reconnects, about what a full handshake takes on one core:
each of them has its turn, and the window is more than the burst that begins it."""

RECONNECT_SHARE = 2
"""How many times as long as others clients that reconnect work in turns: an operation is many times as long,
so that a slice scatters twice as much."""

CONNECT_ROUND_TRIPS = 7
"""About how many round trips a new connection takes before its first query: TCP, the greeting, TLS 1.2 or a
HelloRetryRequest, the login with a switch of its method. Fewer where there is no TLS."""

WHOLE_WINDOW_S = 1.0
"""A window that stands beside short slices, to show that they say the same, is long enough that how it begins
and ends makes no difference."""

CYCLES_IN_WINDOW, ROUND_TRIPS_IN_WINDOW = 3, 10
"""The fewest operations of each connection, and the fewest round trips, in a window at a distance. An
operation takes its round trips there whatever the processors do, and what is under way at the window's end is
finished: few of them tell as much as many."""

DISTANCE_S, ROUND_TRIPS_AROUND = 0.15, 6
"""About what a distance adds to a trial: it is measured before and after, and connecting, proving what was
negotiated, warming up and leaving take this many round trips besides one operation's."""

TRIAL_OVERHEAD_S, OVERHEAD_IN_TURNS_S = 0.07, 0.047
"""About what any trial takes besides its window: processes, one connection, warm-up, counters. Where cases
take turns less, as the server is counted once for all of them."""

CONNECTION_S, TLS_CONNECTION_S = 0.0005, 0.0015
"""About what each further connection adds to that, in the clear and under TLS."""

DRIVER_S, DRIVER_WINDOW_S = 1.8, 0.5
"""About how much longer a driver's trial takes than the engine's: its runtime is started, and it works for at
least a second until it is seen to be steady. After that a window of a tenth of a second would be a waste;
in a study of drivers no window is shorter than this."""

PROFILED_S, PROFILED_SHARE = 0.5, 0.5
"""About what sampling adds to a trial: perf is started and ended, and for every second of the window that it
recorded it takes half a second to print it."""

SERVER_START_S = 7.0
"""About what it takes to create a server's data, start it and fill its table."""

SERVER_RESTART_S = 2.0
"""About what it takes to start it again on its data."""


RESTORING_S, RESTORING_ROW_S = 0.2, 4e-5
"""About what it takes to put a table back before a trial that changes it, and each of its rows adds."""

OPERATION_S, COMMIT_S, SCANNED_ROW_S = 0.0002, 0.001, 0.8e-6
"""About how long an operation takes in a trial with a number of them; more where it commits changes, or goes
through a whole table. What such trials took is known when the first block is done."""


COPY_S, COPIED_ROW_S, COPY_ROUND_TRIPS = 0.3, 4e-6, 20
"""About how long a copy of a whole server takes: its program, connecting and asking, and each row."""


def window_s(case: CaseLevels, shortest_s: float, study: Study | None = None) -> float:
    """How long a trial of this case measures in a run whose trials measure at least `shortest_s`.

    It is the same for all cases that are compared with each other: it depends on the workload, the
    number of connections, the longest distance among them and on whether there are drivers only. Which those
    are, the study says. Of those that write in turn it is at least as long as their fewest slices.
    """
    clients = study.levels_of().get("client", ()) if study else (case.client,)
    least_s = DRIVER_WINDOW_S if any(kind_of(str(client)).is_driver for client in clients) else 0.0
    if study and study.has_process_for_each_trial:
        least_s = max(least_s, SHORTEST_OF_NEW_S)
    if case.slice_ms == 0:
        least_s = WHOLE_WINDOW_S
    if case.reconnects:
        least_s = max(least_s, RECONNECT_CYCLE_S * case.connections)
    if study and study.workload_of(case).changes_data and takes_turns(case, study):
        least_s = max(least_s, FEWEST_SLICES * slice_s([case], study))
    times = max(CYCLES_IN_WINDOW * round_trips(case, study), ROUND_TRIPS_IN_WINDOW)
    way_s = times * _farthest_s(case, study)
    return round(max(shortest_s * _share(case, study), least_s, way_s), 3)


def _share(case: CaseLevels, study: Study | None) -> int:
    """How many times as long as the shortest trials one of this case measures, if nothing asks for more."""
    reconnects = case.reconnects
    return RECONNECT_SHARE if reconnects and study and takes_turns(case, study) else 1


def _farthest_s(case: CaseLevels, study: Study | None) -> float:
    """The longest round trip among the cases that this one is compared with, in seconds."""
    if study is None or "rtt_ms" not in study.levels_of():
        return case.distance.rtt_ms / 1000
    group = study.group_of(case)
    compared = (other for other in study.included() if study.group_of(other) == group)
    return max(other.distance.rtt_ms for other in (case, *compared)) / 1000


def round_trips(case: CaseLevels, study: Study | None) -> int:
    """About how many round trips one operation takes."""
    if case.is_storm:
        return CONNECT_ROUND_TRIPS
    statements = workload_in(study, case).statements
    return statements + (CONNECT_ROUND_TRIPS if case.reconnects else 0)


def counted_s(case: CaseLevels, study: Study) -> float:
    """About how long a trial with a number of operations takes; 0 where it has a duration instead."""
    operations = counted_operations(case)
    if operations is None:
        return 0.0
    way_s = round_trips(case, study) * case.distance.rtt_ms / 1000
    if case.is_storm:
        return operations * _connection_s(case) + rounds_of(case) * way_s
    if case.workload == STREAM:
        # One copy more is looked through before.
        return (operations + 1) * (COPY_S + COPIED_ROW_S * study.rows + COPY_ROUND_TRIPS * way_s)
    each_s = OPERATION_S + way_s / case.connections
    workload = study.workload_of(case)
    if workload.changes_data and workload.table != "words":
        each_s += COMMIT_S
    if workload.table == "people" and case.workload != "people-insert":
        each_s += SCANNED_ROW_S * study.rows
    return operations * each_s


def overhead_s(case: CaseLevels, study: Study | None = None) -> float:
    """About what a trial of this case takes besides its window.

    Connections that reconnect are made anew in the warm-up, and finish what they started at the end. The
    study tells how much data is put back.
    """
    each = _connection_s(case)
    times = 3 if case.reconnects else 1
    restoring_s = 0.0
    if study is not None and study.workload_of(case).changes_data:
        restoring_s = (RESTORING_S + RESTORING_ROW_S * study.rows) / _sharing(case, study)
    distance, way_s = case.distance, 0.0
    if distance.is_any:
        way_s = DISTANCE_S + (ROUND_TRIPS_AROUND + round_trips(case, study)) * distance.rtt_ms / 1000
    in_turns = study is not None and takes_turns(case, study)
    ready_s = OVERHEAD_IN_TURNS_S if in_turns else TRIAL_OVERHEAD_S
    starting_s = DRIVER_S if kind_of(case.client).is_driver else 0.0
    return ready_s + starting_s + times * each * case.connections + restoring_s + way_s


def _sharing(case: CaseLevels, study: Study) -> int:
    """How many cases change the same data in turn, for which it is put back once."""
    if not takes_turns(case, study):
        return 1
    group = study.group_of(case)
    return max(1, sum(study.group_of(other) == group for other in study.included()))


def _connection_s(case: CaseLevels) -> float:
    return CONNECTION_S if not case.is_encrypted else TLS_CONNECTION_S


def trial_duration_s(study: Study, cases: Sequence[Case]) -> float:
    """How long the shortest trials of a run measure, so that the wanted number of blocks fits the budget.

    Where not even trials of `SHORTEST_S` let them fit, there will be fewer blocks. Trials that have a number
    of operations take what they take.
    """
    overhead = sum(overhead_s(case.levels, study) for case in cases) + _restarting_s(study, cases)
    counted = [counted_s(case.levels, study) for case in cases]
    timed = [case.levels for case in cases if not counted_s(case.levels, study)]
    least = [(window_s(levels, 0, study), _share(levels, study)) for levels in timed]
    times = 1.0
    if study.profile:
        overhead, times = 2 * overhead + PROFILED_S * len(cases), 2 + PROFILED_SHARE
    if not least:
        return SHORTEST_S
    in_turns = sum(takes_turns(case.levels, study) for case in cases)
    most_in_turns = 2 * in_turns > len(cases)
    wanted = WANTED_BLOCKS_IN_TURNS if most_in_turns else WANTED_BLOCKS
    wanted = min(wanted, study.maximum_blocks or wanted)
    longest_s = LONGEST_IN_TURNS_S if most_in_turns else LONGEST_S
    if study.new_processes is True:
        longest_s = max(longest_s, LONGEST_OF_NEW_S)
    elif study.has_process_for_each_trial and study.schedule.mode == "closed":
        longest_s = LONGEST_OF_NEW_S
    room_s = (study.budget_s / wanted - overhead) / times - sum(counted)
    found_s = min(longest_s, max(SHORTEST_S, _shared_out(room_s, least)))
    return floor(found_s * 1000 + 1e-6) / 1000


def _shared_out(room_s: float, least: Sequence[tuple[float, int]]) -> float:
    """How long each of the shortest windows lasts, where some must last longer.

    `least` has of each how long it must last and how many times as long as the shortest it is to be.
    """
    longer = sorted(least, key=lambda each: each[0] / each[1], reverse=True)
    longer_s, shares = 0.0, sum(share for _, share in longer)
    for at_least_s, share in longer:
        shortest_s = (room_s - longer_s) / shares
        if shortest_s * share >= at_least_s:
            return shortest_s
        longer_s += at_least_s
        shares -= share
    return 0.0


def block_s(study: Study, cases: Sequence[Case], shortest_s: float) -> float:
    """About how long one block takes, with the profiled trials of all cases where the study has them."""
    windows_s = sum(
        counted_s(case.levels, study) or window_s(case.levels, shortest_s, study) for case in cases
    )
    once_s = windows_s + sum(overhead_s(case.levels, study) for case in cases)
    if not study.profile:
        return once_s + _restarting_s(study, cases)
    profiling_s = PROFILED_S * len(cases) + PROFILED_SHARE * windows_s
    return 2 * once_s + profiling_s + _restarting_s(study, cases) * (1 + study.has_process_for_each_trial)


def _restarting_s(study: Study, cases: Sequence[Case]) -> float:
    """About how long a block waits for new processes of its servers; an external one goes on as it is."""
    if not study.new_processes:
        return 0.0
    choices = [case.levels.server_choice for case in cases]
    if not study.has_process_for_each_trial:
        choices = list(server_choices(study))
    names = [choice.server for choice in choices]
    return SERVER_RESTART_S * sum(name is None or is_specimen_name(name) for name in names)
