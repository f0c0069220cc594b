"""Each outcome of a trial by hand, what was watched over its window among them; and how large a study is."""

from __future__ import annotations

from typing import Any

import pytest

from fake_trials import crashed, fake_record, fake_run, histogram, tax_truth
from observed_windows import seconds, ticks, window
from tlstax.contract import CpuTime, DriverTerms, OpenLoop, PhaseWire, Streamed, WarmupSlice, Wire
from tlstax.plan.order import cases
from tlstax.records.trial import PathObservation, ServerCpu, StoredRun, Trial, TrialRecord
from tlstax.records.window import CpuSlice, CpuTicks, ProcessUse, Window
from tlstax.report.page.html import html
from tlstax.stats.estimates import estimates
from tlstax.stats.outcomes import (
    OVERVIEW_PHASES,
    Shares,
    Stretch,
    asks_for_counts,
    groups,
    is_large,
    is_of_load_client,
    outcome,
    outcomes,
    phases,
    phases_together,
    series,
    shares,
    storm_rates,
    together,
    window_slices,
)
from tlstax.stats.series import valid_values
from tlstax.study import Case, Study, load_study, override
from tlstax.topics.answer.caveats import busy_clients, of_run
from tlstax.topics.answer.document import document
from tlstax.topics.answer.export import exported

CASE = cases(load_study("tax"))[0]
NO_TICKS = dict.fromkeys(CpuTicks.model_fields, 0)


def record_of(**levels: Any) -> TrialRecord:
    """A trial of 100 operations in 2 s that took the client 5 ms of CPU and the server 11 ms."""
    case = Case(levels={**CASE.levels, **levels}, role="treatment")
    record = fake_record(Trial(block=0, position=0, case=case), tax_truth(CASE), duration_s=0.01)
    assert record.server is not None
    server = record.server.model_copy(
        update={"cpu": ServerCpu(total_us=11_000, user_us=7_000, system_us=4_000), "rss_bytes": 123}
    )
    return done(
        record.model_copy(update={"server": server}),
        operations=100,
        elapsed_s=2.0,
        histograms_ns={},
        cpu=CpuTime(total_us=5_000, user_us=3_000, system_us=2_000),
        wire=Wire(bytes_sent=1_000, bytes_received=9_000, segments_sent=300, segments_received=400),
    )


def done(record: TrialRecord, **changes: Any) -> TrialRecord:
    assert record.done is not None
    return record.model_copy(update={"done": record.done.model_copy(update=changes)})


def job(record: TrialRecord, **changes: Any) -> TrialRecord:
    assert record.job is not None
    return record.model_copy(update={"job": record.job.model_copy(update=changes)})


def watched(record: TrialRecord, **seen: Any) -> TrialRecord:
    return record.model_copy(update={"window": Window(took_s=2.0, **seen)})


def test_a_plain_trial_yields_just_these() -> None:
    found = outcomes(record_of())
    assert found == pytest.approx(
        {
            "ops_per_s": 50.0,
            "server_cpu_us_per_op": 110.0,
            "server_cpu_user_us_per_op": 70.0,
            "server_cpu_system_us_per_op": 40.0,
            "client_cpu_us_per_op": 50.0,
            "client_cpu_user_us_per_op": 30.0,
            "client_cpu_system_us_per_op": 20.0,
            "client_cpu_share": 0.0025,
            "server_cpu_share": 0.0055,
            "server_rss_bytes": 123.0,
            "bytes_per_op": 100.0,
            "bytes_sent_per_op": 10.0,
            "bytes_received_per_op": 90.0,
            "segments_per_op": 7.0,
        }
    )
    assert outcomes(crashed(record_of().trial)) == {}
    assert outcome(crashed(record_of().trial), "ops_per_s") is None
    assert outcome(record_of(), "ops_per_s") == 50.0
    assert outcome(record_of(), "latency_p50_us") is None


def test_memory_is_told_of_both_sides_where_it_was_counted() -> None:
    both = {"server": ProcessUse(pss_bytes=9, threads=41), "client": ProcessUse(rss_bytes=7, threads=1)}
    found = outcomes(watched(record_of(), **both))
    names = ("server_rss_bytes", "server_pss_bytes", "server_threads", "client_rss_bytes")
    assert [found[name] for name in names] == [123.0, 9.0, 41.0, 7.0]
    in_turns = outcomes(watched(record_of(), server=ProcessUse(), client=ProcessUse(rss_bytes=7)))
    assert not in_turns.keys() & set(names[1:]), "the server has the connections of others, too"


def test_shares_are_exact() -> None:
    found = outcomes(record_of())
    assert found["client_cpu_share"] == pytest.approx(5_000 / 2e6, rel=1e-12)
    assert found["server_cpu_share"] == pytest.approx(11_000 / 2e6, rel=1e-12)


def test_the_busiest_thread_is_an_average_one_where_they_are_not_told_apart() -> None:
    assert outcomes(job(record_of(), threads=2))["client_cpu_share"] == pytest.approx(0.00125)
    assert outcomes(record_of().model_copy(update={"job": None}))["client_cpu_share"] == pytest.approx(0.0025)
    told = done(job(record_of(), threads=2), threads_cpu_us=(4_000.0, 1_000.0))
    assert outcomes(told)["client_cpu_share"] == pytest.approx(0.002)


def test_a_storm_has_rates_of_its_rounds() -> None:
    """Two rounds of 50 connections in 0.5 s and 1 s: 100 and 50 a second, 75 on average, 35.36 apart."""
    storm = done(record_of(), rounds_s=(0.5, 1.0))
    assert storm.done is not None
    assert storm_rates(storm.done) == (100.0, 50.0)
    found = outcomes(storm)
    assert found["ops_per_s"] == pytest.approx(100 / 1.5)
    assert found["connections_per_s"] == 75.0
    assert found["connections_per_s_sd"] == pytest.approx(35.3553, abs=1e-4)
    assert found["round_s"] == 0.75
    once = outcomes(done(record_of(), rounds_s=(0.5,)))
    assert once["connections_per_s"] == 200.0
    assert "connections_per_s_sd" not in once


@pytest.mark.parametrize(
    ("wanted", "rounds", "reported", "round_s", "total_s"),
    [
        (100, 4, {}, 0.5, 2.0),
        (100, 1, {}, 2.0, 2.0),
        (200, 2, {}, 2.0, None),
        (200, 1, {}, None, None),
        (100, 4, {"average": 0.3}, 0.3, 2.0),
        (None, 1, {"average": 0.3}, None, None),
        (None, 1, {}, None, None),
    ],
)
def test_a_number_of_operations_has_rounds_and_a_total(
    wanted: int | None, rounds: int, reported: dict[str, float], round_s: float | None, total_s: float | None
) -> None:
    found = outcomes(done(job(record_of(), operations=wanted, rounds=rounds), reported_s=reported))
    assert (found.get("round_s"), found.get("total_s")) == (round_s, total_s)


def test_a_storm_has_no_total() -> None:
    record = job(record_of(), operations=100)
    assert record.job is not None
    storm = job(record, workload=record.job.workload.model_copy(update={"storm": True}))
    assert "total_s" not in outcomes(storm)
    without = outcomes(record.model_copy(update={"job": None}))
    assert without.keys().isdisjoint({"total_s", "round_s"})


def test_statements_are_counted_of_drivers_alone() -> None:
    counted = {"Com_select": 250, "Com_stmt_execute": 99, "Bytes_sent": 7, "Com_commit": 50}
    driver = watched(job(record_of(), driver=DriverTerms()), status_delta=counted)
    assert outcomes(driver)["statements_per_op"] == 3.0
    for record in (
        watched(record_of(), status_delta=counted),
        driver.model_copy(update={"guest": True}),
        driver.model_copy(update={"window": None}),
        driver.model_copy(update={"job": None}),
        done(driver, operations=0),
        watched(driver, status_delta={"Com_stmt_execute": 9}),
    ):
        assert "statements_per_op" not in outcomes(record)
    assert outcomes(watched(driver, status_delta={"Com_select": 1}))["statements_per_op"] == 0.01


def test_the_warm_up_tells_its_end_and_its_first_slice() -> None:
    record = record_of()
    assert record.ready is not None
    slices = tuple(WarmupSlice(elapsed_s=s, operations=4, cpu_us=10.0 / s) for s in (0.5, 1.5))

    def warm(*seen: WarmupSlice, steady: bool | None) -> dict[str, float]:
        assert record.ready is not None
        ready = record.ready.model_copy(update={"warmup": seen, "steady": steady})
        found = outcomes(record.model_copy(update={"ready": ready}))
        return {name: found[name] for name in ("warmup_s", "cold_us_per_op") if name in found}

    assert warm(*slices, steady=True) == {"warmup_s": 1.5, "cold_us_per_op": 5.0}
    assert warm(*slices, steady=False) == {"cold_us_per_op": 5.0}
    idle = slices[0].model_copy(update={"operations": 0})
    assert warm(idle, slices[1], steady=True) == {"warmup_s": 1.5}
    assert warm(steady=True) == {}
    assert "warmup_s" not in outcomes(record.model_copy(update={"ready": None}))


def path_seen(record: TrialRecord) -> TrialRecord:
    seen = PathObservation(
        name="haproxy",
        specimen="haproxy",
        version="2",
        parts=(),
        protection=None,
        said_by="it",
        connections=1,
        entry_port=1,
        server_port=2,
    )
    return record.model_copy(update={"path": seen})


def test_a_paths_cpu_is_told_where_paths_are_compared() -> None:
    def told(record: TrialRecord) -> tuple[float | None, float | None]:
        found = outcomes(record)
        return found.get("path_cpu_us_per_op"), found.get("all_cpu_us_per_op")

    through = path_seen(record_of(path="haproxy"))
    used = ProcessUse(cpu_total_us=3_000)
    assert told(watched(through, path=used)) == (30.0, pytest.approx(50.0 + 110.0 + 30.0))
    assert told(record_of(path="direct")) == (None, pytest.approx(160.0))
    assert told(watched(record_of(path="direct"))) == (None, pytest.approx(160.0))
    assert told(through) == told(watched(through)) == (None, None), "what the path used is not known"
    assert told(watched(record_of(), path=used)) == (None, None), "no paths are compared"
    assert told(done(watched(through, path=used), operations=0)) == (None, None)
    assert through.server is not None
    blind = through.model_copy(update={"server": through.server.model_copy(update={"cpu": None})})
    assert told(watched(blind, path=used)) == (30.0, None)
    assert told(watched(through.model_copy(update={"server": None}), path=used)) == (30.0, None)


def test_outside_the_client_is_told_of_one_connection_in_a_closed_loop() -> None:
    alone = job(record_of(), connections=1)
    assert outcomes(alone)["outside_client_us_per_op"] == pytest.approx((2e6 - 5_000) / 100)
    for record in (
        record_of(),
        job(alone, schedule=OpenLoop(rate_per_s=50)),
        done(alone, operations=0),
        alone.model_copy(update={"job": None}),
        done(alone, elapsed_s=0.005),
    ):
        assert "outside_client_us_per_op" not in outcomes(record)
    small = done(alone, elapsed_s=0.00501, operations=100)
    assert outcomes(small)["outside_client_us_per_op"] == pytest.approx(0.1)


def test_events_are_told_of_both_sides_and_of_two_parts_together() -> None:
    server = ProcessUse(
        counters={
            "instructions_user": 700,
            "instructions_kernel": 300,
            "cycles_user": 5,
            "context_switches": 200,
        }
    )
    client = ProcessUse(counters={"context_switches": 50, "instructions": 900})
    found = outcomes(watched(record_of(), server=server, client=client))
    assert {
        name: found[name] for name in found if name.endswith(("instructions_per_op", "switches_per_op"))
    } == {
        "server_instructions_per_op": 10.0,
        "client_instructions_per_op": 9.0,
        "server_context_switches_per_op": 2.0,
        "client_context_switches_per_op": 0.5,
    }
    assert "server_cycles_per_op" not in found, "half of it is not it"
    assert not [
        name for name in outcomes(watched(record_of(), server=server)) if name.startswith("client_context")
    ]
    idle = outcomes(done(watched(record_of(), server=server), operations=0))
    assert "server_instructions_per_op" not in idle


def test_older_records_have_the_servers_instructions_beside_the_window() -> None:
    record = record_of()
    assert record.server is not None
    old = record.model_copy(update={"server": record.server.model_copy(update={"instructions": 900})})
    assert outcomes(old)["server_instructions_per_op"] == 9.0
    assert "server_instructions_per_op" not in outcomes(watched(old))
    assert "server_instructions_per_op" not in outcomes(record.model_copy(update={"server": None}))


def test_processors_are_told_of_the_machine_and_of_the_server() -> None:
    part = CpuSlice(
        at_s=0,
        took_s=1,
        machine=CpuTicks(**{**NO_TICKS, "user": 10, "system": 5, "idle": 85}),
        server=CpuTicks(**{**NO_TICKS, "system": 30, "irq": 10, "idle": 60}),
    )
    found = outcomes(watched(record_of(), cpus=(part,)))
    assert {name: value for name, value in found.items() if name.endswith("_percent")} == pytest.approx(
        {
            "machine_user_percent": 10.0,
            "machine_system_percent": 5.0,
            "machine_iowait_percent": 0.0,
            "machine_steal_percent": 0.0,
            "machine_idle_percent": 85.0,
            "server_cpus_system_percent": 40.0,
        }
    )
    nobody = outcomes(watched(record_of()))
    assert not [name for name in nobody if name.endswith("_percent")]


def test_what_observing_took_is_an_outcome_and_may_be_nothing() -> None:
    assert outcomes(watched(record_of(), observers_cpu_us=0.0))["observers_cpu_us"] == 0.0
    assert "observers_cpu_us" not in outcomes(watched(record_of()))


def test_what_was_not_counted_of_the_wire_is_left_out() -> None:
    def told(record: TrialRecord) -> set[str]:
        return {name for name in outcomes(record) if name.startswith(("bytes", "segments"))}

    wire = Wire(bytes_sent=1, bytes_received=2, segments_sent=3, segments_received=None)
    assert told(done(record_of(), wire=wire)) == {
        "bytes_per_op",
        "bytes_sent_per_op",
        "bytes_received_per_op",
    }
    other = Wire(bytes_sent=1, bytes_received=2, segments_sent=None, segments_received=3)
    assert told(done(record_of(), wire=other)) == told(done(record_of(), wire=wire))
    assert told(done(record_of(), wire=None)) == told(done(record_of(), operations=0)) == set()


def test_records_are_those_of_each_way_where_they_are_counted() -> None:
    counted = {"bytes_sent": 1, "bytes_received": 2, "segments_sent": None, "segments_received": None}
    found = outcomes(done(record_of(), wire=Wire(**counted, records_sent=100, records_received=250)))
    assert (found["records_sent_per_op"], found["records_received_per_op"]) == (1.0, 2.5)
    plain = outcomes(done(record_of(), wire=Wire(**counted)))
    assert not {"records_sent_per_op", "records_received_per_op"} & plain.keys()


def test_phases_on_the_wire_are_told_each_time_that_they_occurred() -> None:
    seen = {
        "tls_handshake": PhaseWire(times=4, round_trips=8, bytes_sent=40, bytes_received=400),
        "query": PhaseWire(times=2, round_trips=2, bytes_sent=10, bytes_received=30),
        "first_query": PhaseWire(times=2, round_trips=6, bytes_sent=50, bytes_received=10),
    }
    found = outcomes(done(record_of(), phase_wire=seen))
    assert {
        name: value
        for name, value in found.items()
        if "_per_" in name and name.endswith(("handshake", "query"))
    } == {
        "round_trips_per_handshake": 2.0,
        "bytes_sent_per_handshake": 10.0,
        "bytes_received_per_handshake": 100.0,
        "round_trips_per_query": 2.0,
        "bytes_sent_per_query": 15.0,
        "bytes_received_per_query": 10.0,
    }
    record = done(record_of(), phase_wire=seen)
    assert record.done is not None
    assert phases_together(record.done, ("query", "first_query")) == PhaseWire(
        times=4, round_trips=8, bytes_sent=60, bytes_received=40
    )
    assert phases_together(record.done, ("connect",)) is None


@pytest.mark.parametrize(
    ("crossed", "told"),
    [(None, {"copy_bytes": 900.0}), (700, {"copy_bytes": 900.0, "copy_wire_bytes": 700.0})],
)
def test_a_copy_has_its_bytes_and_those_that_crossed_the_wire(
    crossed: int | None, told: dict[str, float]
) -> None:
    copied = Streamed(copy_bytes=900, written=(900, 900), holds={}, received_bytes=crossed)
    found = outcomes(done(record_of(), streamed=copied))
    assert {name: value for name, value in found.items() if name.startswith("copy")} == told


def test_percentiles_of_the_wanted_phases_alone() -> None:
    record = done(record_of(), histograms_ns={"operation": histogram(10.0, 99), "query": histogram(5.0, 99)})
    assert "query_p50_us" in outcomes(record)
    assert "query_p50_us" not in outcomes(record, ("operation",))
    assert "latency_p50_us" in outcomes(record, ("operation",))
    assert outcome(record, "query_p50_us") == outcomes(record)["query_p50_us"]
    broken = done(record, histograms_ns={"operation": histogram(10.0, 99), "query": "broken"})
    assert outcome(broken, "latency_p50_us") == outcomes(record)["latency_p50_us"], "no more than it needs"


def test_what_was_watched_is_of_the_operations_that_were_watched() -> None:
    """By hand: 20 of the 100 operations were watched. Both sides' CPU time is that of all of them."""
    seen = {
        "took_s": 0.5,
        "operations": 20,
        "status_delta": {"Com_select": 30},
        "server": ProcessUse(counters={"instructions": 4_000}),
        "client": ProcessUse(counters={"context_switches": 40}),
        "path": ProcessUse(cpu_total_us=600.0),
    }
    driver = job(record_of(path="none"), driver=DriverTerms())
    found = outcomes(driver.model_copy(update={"window": Window(**seen)}))
    assert found == pytest.approx(
        {
            **outcomes(record_of()),
            "statements_per_op": 1.5,
            "server_instructions_per_op": 200.0,
            "client_context_switches_per_op": 2.0,
            "path_cpu_us_per_op": 30.0,
            "all_cpu_us_per_op": 50.0 + 110.0 + 30.0,
        }
    )
    nothing = Window(**{**seen, "operations": 0})
    assert "statements_per_op" not in outcomes(driver.model_copy(update={"window": nothing}))


def test_ticks_are_told_in_per_cent_and_system_has_its_interrupts() -> None:
    """Of 200 ticks, each is half a per cent."""
    found = shares(CpuTicks(user=20, nice=10, system=8, irq=4, softirq=2, iowait=6, steal=30, idle=120))
    assert found == Shares(user=10.0, nice=5.0, system=7.0, iowait=3.0, steal=15.0, idle=60.0)
    assert shares(ticks()) is None


def part(at_s: float, user: int, server: int | None = None, took_s: float = 1.0) -> CpuSlice:
    return CpuSlice(
        at_s=at_s,
        took_s=took_s,
        machine=ticks(user=user),
        server=None if server is None else ticks(idle=server),
    )


def test_slices_are_added_up_for_the_machine_or_for_the_server() -> None:
    slices = [part(0, 5, 7), part(1, 6, 8), part(2, 7)]
    assert together(slices) == ticks(user=18)
    assert together(slices, "server") == ticks(idle=15)
    assert together([part(0, 5)], "server") is None
    assert together([]) is None


def of_slices(*parts: CpuSlice) -> TrialRecord:
    plain = fake_record(Trial(block=0, position=0, case=CASE), tax_truth(CASE), duration_s=0.01)
    return plain.model_copy(update={"window": Window(took_s=3.0, cpus=parts)})


UNWATCHED = fake_record(Trial(block=0, position=0, case=CASE), tax_truth(CASE), duration_s=0.01)


def test_all_slices_of_all_trials() -> None:
    one, two = part(0, 1), part(1, 2)
    assert window_slices([of_slices(one), UNWATCHED, of_slices(two, one)]) == (one, two, one)


def test_stretches_are_of_so_many_seconds_over_all_trials() -> None:
    """A trial of four seconds and one of two and a half, in stretches of two."""
    first = of_slices(*(part(s, 1) for s in range(4)))
    second = of_slices(part(0, 10), part(0.999, 10), part(2.0, 10, took_s=0.5))
    assert series([first, UNWATCHED, second], 2) == (
        Stretch(from_s=0, to_s=pytest.approx(2.0), trials=2, ticks=ticks(user=22)),
        Stretch(from_s=2, to_s=4.0, trials=2, ticks=ticks(user=12)),
    )
    assert series([second], 2)[1] == Stretch(from_s=2, to_s=2.5, trials=1, ticks=ticks(user=10))


def test_stretches_in_which_nothing_was_seen_are_left_out() -> None:
    assert series([of_slices(part(0, 0), part(1, 5))], 1) == (Stretch(1, 2.0, 1, ticks(user=5)),)
    assert series([of_slices(part(0, 5))], 1, "server") == ()
    assert series([of_slices(part(0, 5, 9))], 1, "server") == (Stretch(0, 1.0, 1, ticks(idle=9)),)
    assert series([UNWATCHED], 1) == series([], 1) == ()


KEPT = Trial(
    block=0,
    position=0,
    case=Case(
        levels={"tls": "off", "resumption": "off", "workload": "point-select", "connections": 8},
        role="baseline",
    ),
)


def of_window(seen: Window | None) -> TrialRecord:
    return fake_record(KEPT, tax_truth(KEPT.case)).model_copy(update={"window": seen})


def all_watched(run: StoredRun, seen: Window) -> StoredRun:
    trials = tuple(trial.model_copy(update={"window": seen}) for trial in run.trials)
    return run.model_copy(update={"trials": trials})


def test_shares_are_sars_and_make_a_hundred() -> None:
    found = shares(ticks(user=30, nice=5, system=10, irq=2, softirq=8, iowait=5, steal=10, idle=30))
    assert found is not None
    assert (found.user, found.nice, found.system) == (30, 5, 20)
    assert (found.iowait, found.steal, found.idle) == (5, 10, 30)
    assert shares(ticks()) is None


def test_a_window_in_stretches_of_one_and_of_five_seconds() -> None:
    long = of_window(window(*seconds(*[ticks(user=second, idle=100 - second) for second in range(7)])))
    short = of_window(window(CpuSlice(at_s=0.0, took_s=0.4, machine=ticks(user=40))))
    every = series([long, short], 1)
    assert [(s.from_s, s.to_s, s.trials, s.ticks.user) for s in every] == [
        (0, 1.0, 2, 40),
        *((second, second + 1.0, 1, second) for second in range(1, 7)),
    ]
    fives = series([long, short], 5)
    assert [(s.from_s, s.to_s, s.trials, s.ticks.user) for s in fives] == [(0, 5.0, 2, 50), (5, 7.0, 1, 11)]
    assert series([of_window(None)], 1) == ()


def test_a_timer_that_rings_early_does_not_put_a_second_into_the_one_before() -> None:
    parts = (
        CpuSlice(at_s=0.0, took_s=0.9999, machine=ticks(user=1)),
        CpuSlice(at_s=0.9999, took_s=1.0, machine=ticks(user=2)),
    )
    assert [stretch.ticks.user for stretch in series([of_window(window(*parts))], 1)] == [1, 2]


def test_what_was_counted_is_told_per_operation_and_halves_are_not() -> None:
    operations = fake_record(KEPT, tax_truth(KEPT.case)).done
    assert operations is not None
    number = operations.operations
    seen = window(*seconds(ticks(user=50, idle=50), server=ticks(system=20, user=80)), operations=number)
    told = outcomes(of_window(seen))
    assert told["server_instructions_per_op"] == pytest.approx(1000)
    assert told["server_context_switches_per_op"] == pytest.approx(2)
    assert told["client_context_switches_per_op"] == pytest.approx(1)
    assert "server_cycles_per_op" not in told
    assert "client_instructions_per_op" not in told
    assert told["machine_user_percent"] == told["machine_idle_percent"] == 50
    assert told["machine_steal_percent"] == 0
    assert told["server_cpus_system_percent"] == 20
    assert told["observers_cpu_us"] == 1500


def test_a_window_without_counters_has_no_instructions_of_another_kind() -> None:
    told = outcomes(of_window(Window(took_s=1.0)))
    assert not {name for name in told if "instructions" in name or name.endswith("percent")}


def test_what_is_often_nothing_has_no_ratio() -> None:
    """A block in which the disk was waited for once would otherwise speak for all."""
    busy = all_watched(fake_run(invalid=False), window(*seconds(ticks(user=50, iowait=1, idle=49))))
    once = busy.trials[0].model_copy(update={"window": window(*seconds(ticks(user=50, idle=50)))})
    found = estimates(busy.header.study, (once, *busy.trials[1:]))
    ratios = [e for e in found if e.outcome == "machine_iowait_percent"]
    assert ratios
    with_zero = [e for e in ratios if e.comparison.case == once.trial.case]
    assert not [e for e in with_zero if e.ratio is not None]
    assert any(e.outcome == "machine_steal_percent" for e in found) is False


def caveats(seen: Window) -> str:
    run = all_watched(fake_run(invalid=False), seen)
    values = valid_values(run.header.study, run.trials)
    found = estimates(run.header.study, run.trials, values)
    return "\n".join(of_run(run, found, busy_clients(run.header.study, found, values)))


def test_what_the_host_took_is_said_where_it_matters() -> None:
    assert "the host took 5 % of the processors' time" in caveats(window(*seconds(ticks(user=95, steal=5))))
    assert "the host took" not in caveats(window(*seconds(ticks(user=995, steal=5))))


def test_segments_sent_again_are_said_where_they_are_many() -> None:
    said = caveats(window(retransmitted=20))
    assert "in 80 of 80 trials more than 1 % of the TCP segments were sent again (1,600 of 80,000" in said
    assert "sent again" not in caveats(window(retransmitted=2))


def test_the_report_has_the_seconds_and_the_export_has_everything() -> None:
    parts = seconds(*[ticks(user=60, system=10, softirq=5, idle=25)] * 6, server=ticks(system=30, user=70))
    run = all_watched(fake_run(number_of_blocks=2, invalid=False), window(*parts))
    page = html(run, document(run))
    assert "What the processors did, second by second" in page
    for words in ("0 to 1\N{NO-BREAK SPACE}s", "5 to 6\N{NO-BREAK SPACE}s", "0 to 5\N{NO-BREAK SPACE}s"):
        assert words in page
    for cell in ("average", "15.00", "30.00"):
        assert f">{cell}</td>" in page
    assert "ticks of 10\N{NO-BREAK SPACE}ms" in page or "ticks of 10 ms" in page
    (first, *_) = exported(run).trials
    assert first.observed is not None
    assert len(first.observed.cpus) == 6


def test_a_run_that_nobody_watched_has_no_empty_table() -> None:
    run = fake_run(number_of_blocks=2, invalid=False)
    assert "What the processors did" not in html(run, document(run))


def study_of(connections: int) -> Study:
    """A study of one workload, with a group for each number of connections."""
    one = override(load_study("tax"), "workload", ["point-select"])
    return override(one, "connections", [str(number) for number in range(1, connections + 1)])


def test_groups_are_what_the_cases_of_a_comparison_share() -> None:
    assert groups(study_of(2)) == (
        {"workload": "point-select", "connections": 1},
        {"workload": "point-select", "connections": 2},
    )


@pytest.mark.parametrize(("number", "large"), [(12, False), (13, True)])
def test_a_dozen_groups_have_a_section_each(number: int, *, large: bool) -> None:
    assert is_large(study_of(number)) is large
    assert phases(study_of(number)) == (OVERVIEW_PHASES if large else None)


def test_round_trips_are_asked_for_where_they_decide() -> None:
    assert asks_for_counts(load_study("round-trips"))
    assert not asks_for_counts(load_study("tax"))


def test_load_clients_are_compared_where_the_least_is_one_of_them() -> None:
    assert is_of_load_client(load_study("self-bench"))
    assert not is_of_load_client(load_study("tax"))
    assert not is_of_load_client(override(load_study("self-bench"), "client", ["engine", "sysbench"]))
