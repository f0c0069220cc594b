"""What a connection costs in memory: planted slopes are found again, and what was cut short is left out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hdrh.histogram import HdrHistogram

import golden
from fake_trials import fake_run, kept, untrue
from report_runs import changed
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.records.window import ProcessUse, Window
from tlstax.report.formats.render import FORMATS, render
from tlstax.results.rows import Row, Told
from tlstax.run.tls_support import cut_to
from tlstax.stats.pooling import Pooling
from tlstax.study import Study, load_study
from tlstax.study.needs import server_choices
from tlstax.topics import memory
from tlstax.topics.answer.document import document
from tlstax.topics.core.topic import Run
from tlstax.topics.memory import (
    ADDED,
    CLIENT_RSS,
    COST,
    PROCESSES,
    PSS,
    RSS,
    SERVED,
    THREADS,
    TIMES,
    Reading,
    slopes,
)

BASE, PLAIN, MORE = 500_000_000, 90_000, 40_000
CLIENT_BASE, CLIENT_PLAIN = 5_000_000, 1_500
OFF_BY = (0, 1000, -1000)
"""By how much the processes of a block differ, a connection."""

MEMORY = load_study("memory")


def planted(record: TrialRecord) -> TrialRecord:
    """The trial with what its processes would hold."""
    case = record.trial.case.levels
    more = MORE if case.is_encrypted else 0
    server_bytes = BASE + (PLAIN + more + OFF_BY[record.trial.block]) * case.connections
    server = ProcessUse(
        cpu_total_us=1.0,
        rss_bytes=server_bytes,
        pss_bytes=server_bytes // 2,
        threads=case.connections + 40,
    )
    client = ProcessUse(rss_bytes=CLIENT_BASE + (CLIENT_PLAIN + more) * case.connections)
    return record.model_copy(update={"window": Window(took_s=1.0, server=server, client=client)})


def planted_run(study: Study = MEMORY, blocks: int = 3) -> StoredRun:
    run = fake_run(
        study,
        number_of_blocks=blocks,
        noise=0.0,
        invalid=False,
        truth=lambda _: kept(20_000, 30.0, 9.0, record_bytes=0),
    )
    return changed(run, planted)


def wobbling(record: TrialRecord) -> TrialRecord:
    """The trial of a server whose resident memory differs from block to block."""
    assert record.server is not None
    size = BASE + 7_000_000 * record.trial.block * (1 + record.trial.case.levels.is_encrypted)
    return record.model_copy(update={"server": record.server.model_copy(update={"rss_bytes": size})})


def told_of(stored: StoredRun) -> Told:
    return memory.TOPIC.told(Run(stored))


def without(stored: StoredRun, lost: Callable[[TrialRecord], bool]) -> StoredRun:
    """The run in which these trials are not valid."""
    return changed(stored, lambda record: untrue(record, "it lied") if lost(record) else record)


def by_kind(told: Told, role: str, outcome: str) -> dict[str, Row]:
    return {row.label: row for row in told.of(outcome, role=role)}


def test_planted_slopes_are_found_with_the_scatter_of_processes() -> None:
    told = told_of(planted_run())
    cost = by_kind(told, COST, RSS)
    assert list(cost) == ["plaintext", "TLS 1.3", "TLS 1.2"], "the study's order, whatever the blocks' is"
    plain = cost["plaintext"].known
    assert (plain.point, plain.blocks) == (pytest.approx(PLAIN), 3)
    assert plain.low is not None
    assert plain.low < PLAIN - 1000
    assert by_kind(told, COST, PSS)["TLS 1.3"].value == pytest.approx((PLAIN + MORE) / 2)
    assert by_kind(told, COST, THREADS)["plaintext"].value == pytest.approx(1)
    assert by_kind(told, COST, CLIENT_RSS)["plaintext"].value == pytest.approx(CLIENT_PLAIN)
    assert cost["TLS 1.3"].case == {"workload": "point-select", "tls": "1.3", "resumption": "off"}


def test_what_tls_adds_has_no_scatter_that_both_kinds_share() -> None:
    told = told_of(planted_run())
    added = by_kind(told, ADDED, RSS)
    assert set(added) == {"TLS 1.3", "TLS 1.2"}
    found = added["TLS 1.3"].difference
    assert (found.point, found.blocks) == (pytest.approx(MORE), 3)
    assert found.low == pytest.approx(MORE)
    assert added["TLS 1.3"].baseline == {"workload": "point-select", "tls": "off", "resumption": "off"}
    assert by_kind(told, ADDED, PSS)["TLS 1.2"].known.point == pytest.approx(MORE / 2)
    assert by_kind(told, ADDED, CLIENT_RSS)["TLS 1.3"].known.point == pytest.approx(MORE)
    times = by_kind(told, TIMES, RSS)["TLS 1.3"].ratio
    assert times.point == pytest.approx((PLAIN + MORE) / PLAIN)
    assert times.low is not None
    assert 1 < times.low < times.point
    assert not told.of(THREADS, role=ADDED)


def test_a_block_with_one_number_of_connections_alone_has_no_slope() -> None:
    """What was interrupted, or was not valid, takes its block's slope with it, and no other one's."""
    one_left = without(
        planted_run(),
        lambda record: record.trial.block == 2 and record.trial.case.levels.connections != 100,
    )
    told = told_of(one_left)
    assert {row.blocks for row in told.rows} == {2}
    no_plain = told_of(without(planted_run(), lambda record: not record.trial.case.levels.is_encrypted))
    assert {row.label for row in no_plain.rows} == {"TLS 1.3", "TLS 1.2"}
    assert {row.role for row in no_plain.rows} == {COST}, "there is nothing to add to"
    assert not told_of(without(planted_run(), lambda _: True)).rows


def test_without_growth_in_the_clear_there_is_no_ratio() -> None:
    def still(record: TrialRecord) -> TrialRecord:
        window = record.window
        assert window is not None
        server = ProcessUse(rss_bytes=BASE) if not record.trial.case.levels.is_encrypted else window.server
        return record.model_copy(update={"window": window.model_copy(update={"server": server})})

    told = told_of(changed(planted_run(), still))
    assert not told.of(RSS, role=TIMES)
    assert by_kind(told, ADDED, RSS)["TLS 1.3"].known.point > 0


def test_memory_that_was_not_read_is_left_out() -> None:
    def silent(record: TrialRecord) -> TrialRecord:
        window = record.window
        assert window is not None
        assert window.server is not None
        server = window.server.model_copy(update={"pss_bytes": None, "threads": None})
        return record.model_copy(update={"window": window.model_copy(update={"server": server})})

    told = told_of(changed(planted_run(), silent))
    assert not told.of(PSS, THREADS)
    assert told.of(RSS, role=COST)
    assert not told_of(changed(planted_run(), lambda r: r.model_copy(update={"window": None}))).rows
    unread = [Reading("plaintext", 0, size, {RSS: None}) for size in (100, 500)]
    assert slopes(unread, RSS) == slopes(unread, PSS) == {}


def test_of_a_server_with_a_process_for_each_connection_processes_are_told() -> None:
    def forked(record: TrialRecord) -> TrialRecord:
        window = record.window
        assert window is not None
        assert window.server is not None
        processes = record.trial.case.levels.connections + 7
        server = window.server.model_copy(update={"processes": processes, "threads": 2 * processes})
        return record.model_copy(update={"window": window.model_copy(update={"server": server})})

    stored = changed(planted_run(), forked)
    told = told_of(stored)
    assert by_kind(told, COST, PROCESSES)["plaintext"].value == pytest.approx(1)
    assert not told.of(THREADS)
    assert not told.of(PROCESSES, role=ADDED)
    text = " ".join(render(stored, document(stored), "terminal", verbose=True).split())
    assert "RSS KiB processes" in text
    assert "Each connection has a process of its own" in text
    threaded = planted_run()
    assert "Each connection has a process of its own" not in render(threaded, document(threaded), "terminal")


def test_a_control_is_in_no_figure() -> None:
    def huge(record: TrialRecord) -> TrialRecord:
        is_control = record.trial.case.role == "control"
        return planted(record) if not is_control else record.model_copy(update={"window": None})

    assert told_of(changed(planted_run(), huge)).rows == told_of(planted_run()).rows


def test_a_run_whose_trials_share_processes_has_nothing_to_tell_of_it() -> None:
    shared = MEMORY.model_copy(update={"new_processes": True})
    one = MEMORY.model_copy(update={"factors": {**MEMORY.factors, "connections": (100,)}})
    for study in (shared, one):
        assert not told_of(planted_run(study)).rows


@pytest.mark.parametrize("servers", [("a", "b"), ("b", "a")])
def test_servers_are_in_the_order_of_the_study_whichever_was_measured_first(servers: tuple[str, str]) -> None:
    study = MEMORY.model_copy(update={"factors": {**MEMORY.factors, "server": servers}})
    stored = planted_run(study)
    last_first = sorted(
        stored.trials, key=lambda record: servers.index(str(record.trial.case.levels["server"]))
    )[::-1]
    told = told_of(stored.model_copy(update={"trials": tuple(last_first)}))
    groups = dict.fromkeys(row.word("group_words") for row in told.rows)
    assert [words.partition(" ")[0] for words in groups] == list(servers)


def test_each_server_has_its_own_figures() -> None:
    two = MEMORY.model_copy(
        update={"factors": {**MEMORY.factors, "server": ("a", "b"), "certificate": ("rsa-4096",)}}
    )
    told = told_of(planted_run(two))
    subjects = list(dict.fromkeys(row.word("group_words") for row in told.rows))
    assert subjects == ["a (9.7.4), RSA 4096", "b (9.7.4), RSA 4096"]
    assert all(len(told.of(RSS, role=COST)) == 6 for _ in subjects)


def test_what_the_study_varies_beside_its_kinds_tells_servers_apart() -> None:
    """Compression is compared, in the clear and under TLS."""
    compared = {
        "treatments": tuple({"compression": how} for how in ("off", "zlib")),
        "baseline": {"compression": "off"},
        "factors": {**MEMORY.factors, "tls": ("off", "1.3"), "resumption": ("off",)},
    }
    told = told_of(planted_run(MEMORY.model_copy(update=compared)))
    of_plain = told.of(RSS, role=COST)
    found = {(row.word("group_words").rpartition(", ")[2], row.label): row.value for row in of_plain}
    assert found == {
        ("plaintext", "not compressed"): pytest.approx(PLAIN),
        ("plaintext", "compressed by zlib"): pytest.approx(PLAIN),
        ("TLS 1.3", "not compressed"): pytest.approx(PLAIN + MORE),
        ("TLS 1.3", "compressed by zlib"): pytest.approx(PLAIN + MORE),
    }


def test_processes_are_told_where_threads_are_of_kept_connections_alone() -> None:
    """Where a trial was not by itself, or made connections, the window has no threads."""

    def shared(record: TrialRecord) -> TrialRecord:
        window = record.window
        assert window is not None
        assert window.server is not None
        server = window.server.model_copy(update={"threads": None, "processes": 7})
        return record.model_copy(update={"window": window.model_copy(update={"server": server})})

    told = told_of(changed(planted_run(), shared))
    assert told.of(RSS, role=COST)
    assert not told.of(PROCESSES, THREADS)


def test_rows_are_those_of_any_readings_in_rounds() -> None:
    """An external server's steps have no study: the same arithmetic gives the same rows."""
    readings = [
        Reading(kind, number, size, {RSS: BASE + (PLAIN + more + OFF_BY[number]) * size})
        for number in range(3)
        for kind, more in (("plaintext", 0), ("TLS 1.3", MORE))
        for size in (10, 20)
    ]
    kinds = {"plaintext": {"tls": "off"}, "TLS 1.3": {"tls": "1.3"}, "TLS 1.2": {"tls": "1.2"}}
    rows = list(memory.costs(readings, kinds, "there", Pooling(0.95)))
    assert [(row.role, row.label) for row in rows] == [
        (COST, "plaintext"),
        (COST, "TLS 1.3"),
        (ADDED, "TLS 1.3"),
        (TIMES, "TLS 1.3"),
    ]
    assert rows[2].known.point == pytest.approx(MORE)
    assert "there: TLS 1.3 adds 39.1" in "; ".join(memory.sentences(rows))
    (table,) = memory.cost_tables(Told(title="", rows=tuple(rows)), "plaintext")
    assert len(table.heads) == 4, "nobody read the client's memory"
    shrinking = [read._replace(amounts={RSS: -read.connections * 1024.0}) for read in readings]
    own = tuple(memory.costs(shrinking, kinds, "there", Pooling(0.95)))
    (table,) = memory.cost_tables(Told(title="", rows=own), "plaintext")
    assert table.lines(roomy=False)[0][1] == "\N{MINUS SIGN}1.0 [\N{MINUS SIGN}1.0 … \N{MINUS SIGN}1.0]"


@pytest.mark.parametrize("width", [60, 100])
def test_every_format_has_what_each_kind_costs(width: int) -> None:
    stored = planted_run()
    shown = document(stored)
    text = render(stored, shown, "terminal", width=width)
    assert max(map(len, text.splitlines())) <= width
    words = " ".join(text.split())
    for part in ("(9.7.4), RSA 2048", "adds 39.1", "100, 500 and 2,000 kept connections", "×1.44"):
        assert part in words
    for name in FORMATS:
        assert "RSA 2048" in render(stored, shown, name)
    assert "server_rss_per_connection" in render(stored, shown, "csv")


def test_a_number_of_blocks_promises_no_precision() -> None:
    shown = document(planted_run())
    said = [*shown.caveats, *(caveat for finding in shown.findings for caveat in finding.caveats)]
    assert not any("was not reached" in caveat or "were wanted" in caveat for caveat in said)
    without_bound = MEMORY.model_copy(update={"maximum_blocks": None, "precision": 1e-6})
    again = document(changed(planted_run(without_bound), wobbling))
    assert any("was not reached" in caveat for caveat in again.caveats)
    bound = without_bound.model_copy(update={"maximum_blocks": 3})
    assert not any("was not reached" in c for c in document(changed(planted_run(bound), wobbling)).caveats)


def test_what_a_server_does_not_take_is_said() -> None:
    """A server is measured with what it has in place of what it lacks."""
    old = MEMORY.model_copy(update={"factors": {**MEMORY.factors, "server": ("mysql-5.6.14",)}})
    (choice,) = server_choices(old)
    stored = planted_run(cut_to(old, {choice: ["1.3", "1.2"]}, {choice: {"1.0": True}}))
    assert list(by_kind(told_of(stored), COST, RSS)) == ["plaintext", "TLS 1.0"]
    text = " ".join(render(stored, document(stored), "terminal", width=100).split())
    assert "TLS 1.3: mysql-5.6.14 has no TLS 1.3" in text
    assert "resumed:" not in text, "what is left out of connections that are kept anyway is not said"


HOLD = load_study("hold")


def held_run(delays_us: tuple[int, ...] = (30,) * 99 + (900,), *, busy: bool = False) -> StoredRun:
    """Connections that are held at a rate; the operations of each trial begin so late."""
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    for delay_us in delays_us:
        histogram.record_value(delay_us * 1000)

    def late(record: TrialRecord) -> TrialRecord:
        assert record.done is not None
        encoded = {"start_delay": histogram.encode().decode()} if delays_us else {}
        cpu = record.done.cpu.model_copy(update={"total_us": record.done.elapsed_s * 0.95e6})
        done = record.done.model_copy(update={"histograms_ns": encoded, **({"cpu": cpu} if busy else {})})
        return record.model_copy(update={"done": done})

    return changed(planted_run(HOLD, blocks=1), late)


def test_of_held_connections_it_is_told_how_late_they_were_served() -> None:
    told = told_of(held_run())
    late = {row.outcome: row.value for row in told.of(role=SERVED) if row.label == "TLS 1.3"}
    assert late["start_delay_p50_us"] == pytest.approx(30, rel=0.001)
    assert late["start_delay_p99_us"] == pytest.approx(30, rel=0.001)
    assert late["start_delay_max_us"] == pytest.approx(900, rel=0.001)
    assert "latency_p50_us" not in late
    assert (late["operations_due"], late["operations_failed"]) == (20_000, 0)
    assert late["server_threads"] == 10_040, "of the most connections"
    assert by_kind(told, ADDED, CLIENT_RSS)["TLS 1.3"].value is None
    assert by_kind(told, ADDED, CLIENT_RSS)["TLS 1.3"].known.point == pytest.approx(MORE)
    assert not told_of(planted_run()).of(role=SERVED), "a closed loop is never late"


def test_an_engine_that_does_not_tell_how_late_it_was_has_a_dash() -> None:
    stored = held_run(())
    text = render(stored, document(stored), "terminal", width=100)
    (line,) = (line for line in text.splitlines() if line.startswith("begun late by"))
    assert "µs" not in line
    assert "10,000 connections held on mariadb-11.8 (9.7.4) with thread_handling=pool-of-threads" in text


def test_a_busy_side_is_said() -> None:
    assert any("the client's CPU was busy 95 %" in said for said in told_of(held_run(busy=True)).sentences)
    assert not any("busy" in said for said in told_of(held_run()).sentences)


def test_what_a_run_shows() -> None:
    golden.check("memory", planted_run(), memory.TOPIC)


def test_what_a_run_of_held_connections_shows() -> None:
    golden.check("hold", held_run(), memory.TOPIC)


def test_kinds_are_called_by_what_their_study_compares() -> None:
    groups = tuple({"tls": "1.3", "resumption": "off", "group": group} for group in ("P-256", "X25519"))
    labels = ["TLS 1.3, P-256 alone", "TLS 1.3, X25519 alone"]
    compared = {"treatments": groups, "baseline": groups[0]}
    kept_ones = told_of(planted_run(MEMORY.model_copy(update=compared)))
    assert list(by_kind(kept_ones, COST, RSS)) == labels
    held = told_of(planted_run(HOLD.model_copy(update=compared), blocks=1))
    assert list(by_kind(held, SERVED, "operations_due")) == labels
