"""What the engine costs itself: a planted cost comes out, and no cost where there is none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import golden
from fake_trials import Truth, fake_run, kept, untrue
from tlstax.contract import Negotiated, TlsView
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.report.formats.render import render
from tlstax.results.rows import Row
from tlstax.stats.outcomes import is_of_load_client
from tlstax.study import Case, Study, load_study, override
from tlstax.study.changes import over_client_library
from tlstax.topics.agreement import rows as agreement_rows
from tlstax.topics.answer.document import document
from tlstax.topics.core.topic import Run
from tlstax.topics.self_bench import ALONE, BESIDE, CLIENT_CPU, RATE, TOPIC, ratio_text, rows, sentences

STUDY = override(load_study("self-bench"), "connections", ["8"])
CLIENT_US = {"engine": 15.0, "sysbench": 10.0, "pgbench": 12.0, "floor": 15.0}
IN_SLICES = 1.12
"""How much dearer the engine's slices are than its windows: what is compared must have worked alike."""


def planted(case: Case) -> Truth:
    client = str(case.levels["client"])
    of_method = IN_SLICES if case.levels["slice_ms"] else 1.0
    return kept(1e4 if client == "engine" else 5e3, 20.0, CLIENT_US[client] * of_method, record_bytes=0)


def ran(study: Study = STUDY, truth: Callable[[Case], Truth] = planted, *, noise: float = 0.01) -> StoredRun:
    return fake_run(study, truth=truth, noise=noise, number_of_blocks=10, invalid=False)


def found(run: StoredRun, role: str = BESIDE, outcome: str = CLIENT_CPU) -> list[Row]:
    return [row for row in rows(Run(run)) if (row.role, row.outcome) == (role, outcome)]


def test_a_planted_cost_comes_out_within_its_interval_and_a_planted_nothing_does_not() -> None:
    for row in found(ran()):
        ratio = row.ratio
        assert ratio.low is not None
        assert ratio.high is not None
        expected = {"sysbench": 1.5, "floor": 1.0}[str(row.baseline["client"])]
        assert ratio.low < expected < ratio.high
        assert ratio.high / ratio.low < 1.1
        assert row.baseline["slice_ms"] == row.case["slice_ms"], "slices with slices, windows with windows"
        assert row.value is not None
        assert row.baseline_value is not None
        assert row.value / row.baseline_value == pytest.approx(ratio.point, rel=0.05)
    for row in found(ran(), outcome=RATE):
        assert row.ratio.point == pytest.approx(2, rel=0.05)


def test_each_cell_has_its_values_and_both_rivals_but_nobody_resumes_beside_the_engine() -> None:
    run = ran()
    cells = [(row.case["workload"], row.case["tls"], row.case["resumption"]) for row in found(run, ALONE)]
    kept_cells = [("point-select", "off", "off"), ("point-select", "1.3", "off")]
    assert cells == [
        *kept_cells,
        ("reconnect", "off", "off"),
        ("reconnect", "1.3", "off"),
        ("reconnect", "1.3", "on"),
    ]
    for row in found(run, ALONE):
        assert row.case["slice_ms"] != 0
        assert row.value == pytest.approx(15 * IN_SLICES, rel=0.05)
    rivals = [str(row.baseline["client"]) for row in found(run)]
    assert sorted(rivals) == ["floor"] * 4 + ["sysbench"] * 4


def test_at_postgresql_pgbench_is_the_rival_and_each_protocol_has_lines_of_its_own() -> None:
    study = override(override(STUDY, "server", ["postgresql-18"]), "protocol", ["text", "prepared"])
    run = ran(study, noise=0.001)
    assert {str(row.baseline["client"]) for row in found(run)} == {"pgbench", "floor"}
    ratios = [row.ratio.point for row in found(run) if row.baseline["client"] == "pgbench"]
    assert ratios == [pytest.approx(1.25, rel=0.01)] * len(ratios)
    pgbench, floor = sorted(sentences(Run(run), list(rows(Run(run)))), reverse=True)
    assert "of pgbench's CPU on a point select as text in plaintext" in pgbench
    assert "on a prepared point select in plaintext" in pgbench
    assert "on a prepared reconnect" in pgbench
    assert "on a prepared reconnect" in floor
    text = render(run, document(run), "terminal", width=120)
    groups = (
        "Point selects, as text",
        "Point selects, prepared",
        "Reconnects, as text",
        "Reconnects, prepared",
    )
    assert [text.count(f"\n{group}\n") for group in groups] == [1, 1, 1, 1]
    assert "ops/s to" in text
    assert "sysbench" not in text.split("Operations a second")[1]


def test_two_servers_are_told_apart() -> None:
    run = ran(override(STUDY, "server", ["mysql-9.7", "postgresql-18"]), noise=0.001)
    assert len({row.label for row in found(run, ALONE)}) == len(found(run, ALONE))
    text = render(run, document(run), "terminal", width=120)
    assert all(f"\nPoint selects, {server}\n" in text for server in ("mysql-9.7", "postgresql-18"))
    assert "of the bare floor's CPU on a point select at mysql-9.7 in plaintext" in " ".join(text.split())


def test_cells_of_one_mode_stand_together_whatever_the_number_of_connections() -> None:
    run = ran(override(load_study("self-bench"), "connections", ["1", "8"]))
    cells = [row.label for row in found(run, ALONE)]
    assert cells[-4:] == [
        "reconnecting for every point select, 1 connection, TLS 1.3",
        "reconnecting for every point select, 8 connections, TLS 1.3",
        "reconnecting for every point select, 1 connection, TLS 1.3 resumed",
        "reconnecting for every point select, 8 connections, TLS 1.3 resumed",
    ]
    assert list(dict.fromkeys(row.label for row in found(run))) == cells[:-2]


def test_the_answer_is_of_64_connections_or_the_nearest_below() -> None:
    study = load_study("self-bench")
    for connections, shown in (("1,64,512", 64), ("1,8,512", 8), ("128,512", 128), ("1", 1)):
        run = ran(override(study, "connections", connections.split(",")), noise=0.001)
        sysbench, floor = sorted(sentences(Run(run), list(rows(Run(run)))), reverse=True)
        many = f"at {shown} connection{'' if shown == 1 else 's'} the engine spends "
        assert sysbench.startswith(f"{many}1.50 (")
        assert "of sysbench's CPU on a point select in plaintext, " in sysbench
        assert floor.startswith(many)
        assert "of the bare floor's CPU on a point select in plaintext" in floor
        assert "under TLS 1.3" in floor
        assert "resumed" not in floor


@pytest.mark.parametrize("client", ["sysbench", "floor", "engine"])
def test_who_is_never_valid_has_no_ratio_and_takes_nobody_with_it(client: str) -> None:
    run = ran()
    spoiled = tuple(
        untrue(record, "it lied") if record.trial.case.levels["client"] == client else record
        for record in run.trials
    )
    rivals = {row.baseline["client"] for row in found(run.model_copy(update={"trials": spoiled}))}
    assert rivals == ({"sysbench", "floor"} - {client} if client != "engine" else set())


def test_every_format_has_it_as_the_answer_and_within_its_width() -> None:
    run = ran(noise=1e-6)
    told = document(run)
    assert {row.role for row in told.topics["self_bench"].rows} == {ALONE, BESIDE}
    for width in (60, 80, 100):
        text = render(run, told, "terminal", width=width)
        assert max(map(len, text.splitlines())) <= width
        assert "• At 8 connections the engine spends 1.5" in text
    wide = render(run, told, "terminal", width=120).splitlines()
    (line,) = (number for number, text in enumerate(wide) if text.startswith("  resumed 8"))
    assert wide[line].split()[1:] == ["8", "10,000", "–", "16.8", "–", "–", "–", "–"]
    for form in ("md", "html", "csv"):
        assert "self_bench" in render(run, told, "csv")
        assert "sysbench" in render(run, told, form)
    assert "CPU to floor's" in render(run, told, "md")


def test_a_run_that_has_no_floor_is_told_as_before() -> None:
    without = override(STUDY, "client", ["engine", "sysbench"])
    assert list(rows(Run(ran(without)))) == []
    beside_tls = override(load_study("tax"), "client", ["engine", "floor"])
    assert not is_of_load_client(beside_tls), "TLS is what is compared there, by clients"
    assert list(agreement_rows(Run(ran(without)))) != []
    assert list(agreement_rows(Run(ran()))) == []


def test_another_library_is_the_engines_and_the_floors_and_sysbench_stays_beside_them() -> None:
    study = over_client_library(STUDY, "openssl-3.4")
    libraries = {case["client"]: case["client_tls_library"] for case in study.included()}
    assert libraries == {"engine": "openssl-3.4", "floor": "openssl-3.4", "sysbench": "own"}
    by_rival = {str(row.baseline["client"]): row.ratio.point for row in found(ran(study))}
    assert by_rival["sysbench"] == pytest.approx(1.5, rel=0.05)
    assert by_rival["floor"] == pytest.approx(1, rel=0.05)


def with_other_cipher(record: TrialRecord) -> TrialRecord:
    """The record, of sysbench under TLS with a cipher that nobody else has."""
    levels = record.trial.case.levels
    if (
        record.ready is None
        or record.done is None
        or (levels["client"], levels["tls"]) != ("sysbench", "1.3")
    ):
        return record
    other = TlsView(version="TLSv1.3", cipher="TLS_CHACHA20_POLY1305_SHA256", resumed=False)
    negotiated = (Negotiated(connections=8, client=other, server=other),)
    window = record.done.window.model_copy(update={"handshakes": ()})
    return record.model_copy(
        update={
            "ready": record.ready.model_copy(update={"negotiated": negotiated}),
            "done": record.done.model_copy(update={"window": window}),
        }
    )


def test_two_who_did_not_negotiate_the_same_are_named() -> None:
    alike = ran()
    unlike = alike.model_copy(update={"trials": tuple(map(with_other_cipher, alike.trials))})
    told = [text for text in sentences(Run(unlike), list(rows(Run(unlike)))) if "did not negotiate" in text]
    assert told == [
        "they did not negotiate the same: the engine TLSv1.3 TLS_AES_128_GCM_SHA256, "
        "sysbench TLSv1.3 TLS_CHACHA20_POLY1305_SHA256"
    ]
    assert not any("did not negotiate" in text for text in sentences(Run(alike), list(rows(Run(alike)))))


@pytest.mark.parametrize(
    ("value", "text"), [(0.4712, "0.47"), (12.34, "12.3"), (140.2, "140"), (1e4, ">999")]
)
def test_a_ratio_has_as_many_digits_as_it_needs(value: float, text: str) -> None:
    assert ratio_text(value) == text


def test_cells_differ_in_what_is_asked_and_in_nothing_else() -> None:
    cells = {case.without("client", "resumption") for case in STUDY.included()}
    assert len(cells) == 2 * 2 * 2, "two workloads, two TLS levels, slices and windows"


def test_what_a_run_shows() -> None:
    golden.check("self-bench", ran(), TOPIC)
