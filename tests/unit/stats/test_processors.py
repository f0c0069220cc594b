"""What was watched over a window: shares, seconds put together, outcomes, caveats and the table."""

from __future__ import annotations

import pytest

from fake_trials import fake_record, fake_run, tax_truth
from observed_windows import seconds, ticks, window
from tlstax.records.trial import StoredRun, Trial, TrialRecord
from tlstax.records.window import CpuSlice, Window
from tlstax.report.page.html import html
from tlstax.stats.estimates import estimates
from tlstax.stats.outcomes import outcomes, series, shares
from tlstax.stats.series import valid_values
from tlstax.study import Case
from tlstax.topics.answer.caveats import busy_clients, of_run
from tlstax.topics.answer.document import document
from tlstax.topics.answer.export import exported

KEPT = Trial(
    block=0,
    position=0,
    case=Case(
        levels={"tls": "off", "resumption": "off", "workload": "point-select", "connections": 8},
        role="baseline",
    ),
)


def record(seen: Window | None) -> TrialRecord:
    return fake_record(KEPT, tax_truth(KEPT.case)).model_copy(update={"window": seen})


def watched(run: StoredRun, seen: Window) -> StoredRun:
    trials = tuple(trial.model_copy(update={"window": seen}) for trial in run.trials)
    return run.model_copy(update={"trials": trials})


def test_shares_are_sars_and_make_a_hundred() -> None:
    found = shares(ticks(user=30, nice=5, system=10, irq=2, softirq=8, iowait=5, steal=10, idle=30))
    assert found is not None
    assert (found.user, found.nice, found.system) == (30, 5, 20)
    assert (found.iowait, found.steal, found.idle) == (5, 10, 30)
    assert shares(ticks()) is None


def test_a_window_in_stretches_of_one_and_of_five_seconds() -> None:
    long = record(window(*seconds(*[ticks(user=second, idle=100 - second) for second in range(7)])))
    short = record(window(CpuSlice(at_s=0.0, took_s=0.4, machine=ticks(user=40))))
    every = series([long, short], 1)
    assert [(s.from_s, s.to_s, s.trials, s.ticks.user) for s in every] == [
        (0, 1.0, 2, 40),
        *((second, second + 1.0, 1, second) for second in range(1, 7)),
    ]
    fives = series([long, short], 5)
    assert [(s.from_s, s.to_s, s.trials, s.ticks.user) for s in fives] == [(0, 5.0, 2, 50), (5, 7.0, 1, 11)]
    assert series([record(None)], 1) == ()


def test_a_timer_that_rings_early_does_not_put_a_second_into_the_one_before() -> None:
    parts = (
        CpuSlice(at_s=0.0, took_s=0.9999, machine=ticks(user=1)),
        CpuSlice(at_s=0.9999, took_s=1.0, machine=ticks(user=2)),
    )
    assert [stretch.ticks.user for stretch in series([record(window(*parts))], 1)] == [1, 2]


def test_what_was_counted_is_told_per_operation_and_halves_are_not() -> None:
    operations = fake_record(KEPT, tax_truth(KEPT.case)).done
    assert operations is not None
    number = operations.operations
    seen = window(*seconds(ticks(user=50, idle=50), server=ticks(system=20, user=80)), operations=number)
    told = outcomes(record(seen))
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
    told = outcomes(record(Window(took_s=1.0)))
    assert not {name for name in told if "instructions" in name or name.endswith("percent")}


def test_what_is_often_nothing_has_no_ratio() -> None:
    """A block in which the disk was waited for once would otherwise speak for all."""
    busy = watched(fake_run(invalid=False), window(*seconds(ticks(user=50, iowait=1, idle=49))))
    once = busy.trials[0].model_copy(update={"window": window(*seconds(ticks(user=50, idle=50)))})
    found = estimates(busy.header.study, (once, *busy.trials[1:]))
    ratios = [e for e in found if e.outcome == "machine_iowait_percent"]
    assert ratios
    with_zero = [e for e in ratios if e.comparison.case == once.trial.case]
    assert not [e for e in with_zero if e.ratio is not None]
    assert any(e.outcome == "machine_steal_percent" for e in found) is False


def caveats(seen: Window) -> str:
    run = watched(fake_run(invalid=False), seen)
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
    run = watched(fake_run(number_of_blocks=2, invalid=False), window(*parts))
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
