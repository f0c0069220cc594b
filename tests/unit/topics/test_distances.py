"""What distance makes of costs: planted round trips are found, and where nothing is planted nothing is."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest

from distance_figures import claims_of, judged, limit, of, told_of
from fake_trials import Truth, fake_run, kept
from intervals import known
from planted_series import planted_series, wobble
from tlstax.records.trial import StoredRun
from tlstax.records.way import DistanceObservation, RoundTripTime
from tlstax.report.formats.markdown import markdown
from tlstax.report.formats.terminal import terminal
from tlstax.report.page.html import html
from tlstax.report.run_tables import csv_table
from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.results.rows import RowSet, Told
from tlstax.study import Case, Levels, Study, load_study, override, parse_study, study_toml
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline
from tlstax.topics.distance.curves import (
    CHANGE,
    CONNECT,
    CONNECT_TRIPS,
    EXTRA,
    EXTRA_TRIPS,
    FAR,
    FROM,
    KEPT,
    MEASURED,
    NEAR,
    PLAINTEXT,
    PLAINTEXT_TRIPS,
    STATEMENT,
    TO,
    WORTH,
    Curve,
    claim_verdict,
    curves_of,
    distance_tables,
    growth_sentence,
    measured_round_trips_ms,
    pool_sentences,
)
from tlstax.topics.distance.spending import away, cell, number

STUDY = load_study("distance")

OF_PLAINTEXT, OF_TLS = 4, 2
"""Round trips of a connect in plaintext, and those that TLS adds."""

WORK_MS, TLS_WORK_MS = 0.4, 1.6
"""What a connect takes beside its round trips, in plaintext; and what TLS adds."""


def is_tls(levels: Levels) -> bool:
    return levels["tls"] != "off"


def connect_ms(levels: Levels, *, round_trips: int = OF_TLS, work_ms: float = TLS_WORK_MS) -> float:
    trips = OF_PLAINTEXT + (round_trips if is_tls(levels) else 0)
    return trips * float(levels["rtt_ms"]) + WORK_MS + (work_ms if is_tls(levels) else 0.0)


def planted(levels: Levels, block: int) -> dict[str, float]:
    """Every second of a storm's connections waits for nothing but its own connect."""
    ms = connect_ms(levels) * wobble(block, 0.002)
    if levels["workload"] == "point-select":
        ms = (float(levels["rtt_ms"]) + 0.1) * wobble(block, 0.002)
        return {"latency_p50_us": 1e3 * ms, "ops_per_s": 1e3 / ms}
    return {"connect_p50_us": 1e3 * ms, "latency_p50_us": 1e3 * ms, "ops_per_s": 1e5 / ms}


def nothing(levels: Levels, block: int) -> dict[str, float]:
    """TLS costs nothing at any distance; trials scatter, each case by itself."""
    off = wobble(block + sum(map(ord, str(sorted(levels.items())))) % 7, 0.01)
    ms = connect_ms({**levels, "tls": "off"}) * off
    return {"connect_p50_us": 1e3 * ms, "latency_p50_us": 1e3 * ms, "ops_per_s": 1e5 / ms}


@cache
def found() -> Told:
    return told_of(planted_series(STUDY, planted))


def curve(told: Told, kind: str = "connection", **levels: object) -> Curve:
    return next(c for c in curves_of(told.rows) if c.kind == kind and levels.items() <= c.case.items())


def test_the_planted_round_trips_are_found_at_every_distance() -> None:
    told = curve(found(), server="mysql-9.7", tls="1.3", certificate="rsa-1024")
    assert list(told.points) == [0, 45, 170]
    for rtt_ms, point in told.points.items():
        extra = OF_TLS * rtt_ms + TLS_WORK_MS
        assert of(point, EXTRA).point == pytest.approx(extra, rel=1e-9)
        assert of(point, PLAINTEXT).point == pytest.approx(OF_PLAINTEXT * rtt_ms + WORK_MS)
        if rtt_ms:
            assert of(point, EXTRA_TRIPS).point == pytest.approx(OF_TLS + TLS_WORK_MS / rtt_ms)
        else:
            assert point.row(*EXTRA_TRIPS) is None
    assert "rtt_ms" not in told.case


def test_growth_is_told_both_ways_and_the_ways_differ() -> None:
    """Near by, TLS takes five times as long as plaintext, far away 6 round trips in place of 4."""
    growth = curve(found(), server="mysql-9.7", tls="1.3", certificate="rsa-1024").growth
    assert growth is not None
    assert (growth.rows[0].more[FROM], growth.rows[0].more[TO]) == (0, 170)
    assert judged(growth, EXTRA) == "grows"
    assert of(growth, EXTRA).point == pytest.approx(OF_TLS * 170)
    assert of(growth, EXTRA_TRIPS).point == pytest.approx(OF_TLS)
    assert of(growth, PLAINTEXT_TRIPS).point == pytest.approx(OF_PLAINTEXT)
    assert judged(growth, CHANGE) == "shrinks"
    assert of(growth, NEAR).point == pytest.approx((WORK_MS + TLS_WORK_MS) / WORK_MS)
    assert of(growth, FAR).point == pytest.approx((6 * 170 + 2.0) / (4 * 170 + 0.4))
    assert limit(growth) == pytest.approx(1.5)


def test_the_claim_holds_in_time_and_does_not_in_proportion() -> None:
    ((in_time, in_proportion),) = claims_of(found())
    assert (in_time.judgement, in_proportion.judgement) == ("held", "did not hold")
    assert in_time.more["curves"] == 3, "one for each server, of the published measure alone"
    assert "of 3 treatments it grows in 3" in in_time.caveats[0]
    assert re.search(r"2\.00 \(.*?\) round trips beside the 4\.00 \(.*?\) of plaintext", in_time.caveats[0])
    assert "round trips alone would make it 1.50" in in_proportion.caveats[0]
    assert "the loss shrinks" in in_proportion.caveats[0]


def test_where_nothing_is_planted_nothing_grows() -> None:
    ((in_time, in_proportion),) = claims_of(told_of(planted_series(STUDY, nothing)))
    assert (in_time.judgement, in_proportion.judgement) == ("inconclusive", "inconclusive")
    assert "3 inconclusive" in in_time.caveats[0]
    assert "inconclusive" in in_time.caveats[0]


def test_a_cost_of_the_processor_alone_does_not_grow_in_time() -> None:
    """As many round trips as plaintext, and 20 ms of work: the share of the rate shrinks, the time stays."""

    def busy(levels: Levels, block: int) -> dict[str, float]:
        ms = connect_ms(levels, round_trips=0, work_ms=20.0)
        ms += 0.01 * (wobble(block + int(is_tls(levels)) + int(float(levels["rtt_ms"]))) - 1)
        return {"connect_p50_us": 1e3 * ms, "ops_per_s": 1e5 / ms}

    ((in_time, in_proportion),) = claims_of(told_of(planted_series(STUDY, busy)))
    assert (in_time.judgement, in_proportion.judgement) == ("inconclusive", "did not hold")


@pytest.mark.parametrize(
    ("trends", "verdict"),
    [
        ([], "inconclusive"),
        (["grows", "grows"], "held"),
        (["grows", "shrinks"], "held in part"),
        (["grows", "inconclusive"], "held in part"),
        (["shrinks", "inconclusive"], "did not hold"),
        (["inconclusive"], "inconclusive"),
    ],
)
def test_a_claim_holds_where_every_curve_says_so(trends: list[str], verdict: str) -> None:
    assert claim_verdict(trends) == verdict


def test_a_kept_connection_saves_what_making_one_takes() -> None:
    own = found().of(role=KEPT)
    at = [row for row in own if (row.case["server"], row.case["rtt_ms"]) == ("mysql-9.7", 45)]
    label = next(row.label for row in at if row.label.startswith("plaintext") and "SSH" not in row.label)
    plain = RowSet([row for row in at if row.label == label])
    assert of(plain, CONNECT).point == pytest.approx(180.4)
    assert of(plain, STATEMENT).point == pytest.approx(45.1)
    assert of(plain, WORTH).point == pytest.approx(4.0)
    assert of(plain, CONNECT_TRIPS).point == pytest.approx(180.4 / 45)
    (said,) = (line for line in pool_sentences(found().rows) if line.startswith("mysql-9.7"))
    assert said.startswith("mysql-9.7, 170 ms away, a connection that is kept saves making it, which takes: ")
    assert "plaintext 680.4 (" in said
    assert "as long as 4.00 statements" in said


def test_what_a_handshake_decides_borrows_its_statements_from_the_same_version() -> None:
    """A resumed connection is not measured on statements; those of a full handshake stand in for it."""
    resumed = [row for row in found().of(role=KEPT) if "resumed" in row.label]
    assert {row.case["rtt_ms"] for row in resumed} == {0, 45, 170}


def test_round_trips_are_of_the_distance_that_was_measured() -> None:
    study = override(override(STUDY, "server", ["mysql-8.0.33"]), "workload", ["storm"])
    run = measured_at(small_run(study), 1.02)
    point = curve(document(run).topics["distance"], tls="1.3", connections=100).points[170]
    assert point.rows[0].more[MEASURED] == pytest.approx(173.4)
    assert measured_round_trips_ms(run.measured)[45] == pytest.approx(45.9)
    assert of(point, EXTRA_TRIPS).point == pytest.approx((OF_TLS * 170 + TLS_WORK_MS) / 173.4, rel=0.02)


def test_a_study_without_distance_tells_nothing_of_it() -> None:
    near = override(STUDY, "rtt_ms", ["0"])
    assert told_of(planted_series(near, planted)).rows == ()
    assert "distance" not in document(fake_run()).topics


def test_one_distance_alone_has_no_growth() -> None:
    told = told_of(planted_series(override(STUDY, "rtt_ms", ["45"]), planted))
    assert {c.growth for c in curves_of(told.rows)} == {None}
    assert {growth_sentence(c) for c in curves_of(told.rows)} == {""}
    ((in_time, _),) = claims_of(told)
    assert (in_time.judgement, in_time.more["curves"]) == ("inconclusive", 0)
    assert in_time.caveats[0] == "nothing that was measured bears on it"


def test_numbers_are_told_with_as_many_digits_as_their_interval_deserves() -> None:
    for told, words in (
        (known(2.0, 1.96, 2.04, 8), "2.00 (1.96 to 2.04)"),
        (known(340.2, 338.9, 341.5, 8), "340.2 (338.9 to 341.5)"),
        (known(3.0, None, None, 1), "3.0 (one block alone)"),
        (known(3.0, 0.1, 20.0, 2), "a number that is not known to a factor of ten of"),
    ):
        assert number(told) == words
    assert (away(0), away(45), away(44.6)) == ("on the same machine", "45 ms away", "44.6 ms away")


@pytest.mark.parametrize(
    ("figure", "nothing", "roomy", "alone"),
    [
        (known(2.0, 1.96, 2.04, 8), 0.0, "2.00 [1.96 … 2.04]", "2.00"),
        (known(0.01, -0.04, 0.06, 8), 0.0, "? 0.01 [−0.04 … 0.06]", "? 0.01"),
        (known(1.5, 1.4, 1.6, 8), 1.0, "1.50× [1.40 … 1.60]", "1.50×"),
        (known(1.5, 0.9, 2.1, 8), 1.0, "? 1.5× [0.9 … 2.1]", "? 1.5×"),
        (known(0.01, -0.04, 0.06, 8), None, "0.01 [−0.04 … 0.06]", "0.0100"),
        (known(3.0, None, None, 1), 0.0, "3.00", "3.00"),
        (known(3.0, 0.1, 20.0, 2), 0.0, "too wide", "too wide"),
    ],
)
def test_cells_are_rounded_as_their_interval_deserves(
    figure: Interval, nothing: float | None, roomy: str, alone: str
) -> None:
    own = cell(figure, nothing=nothing)
    assert (own.text(roomy=True), own.text(roomy=False)) == (roomy, alone)
    assert cell(None).text(roomy=True) == "–"


def truth(case: Case) -> Truth:
    levels = case.levels
    if levels["workload"] == "point-select":
        us = 1e3 * (float(levels["rtt_ms"]) + 0.1)
        return replace(kept(4e3, 30.0, 10.0, record_bytes=0), phase_us={"query": us, "operation": us})
    us = 1e3 * connect_ms(levels)
    return replace(
        kept(1e9 / us, 300.0, 100.0, record_bytes=0),
        phase_us={"connect": us, "operation": us},
    )


def small_run(study: Study) -> StoredRun:
    return fake_run(study, number_of_blocks=4, noise=0.002, truth=truth, invalid=False)


def measured_at(run: StoredRun, factor: float) -> StoredRun:
    """The run with distances that were longer than asked for."""

    def told(rtt_ms: float) -> DistanceObservation:
        time = RoundTripTime(median_ms=rtt_ms * factor, lowest_ms=rtt_ms, highest_ms=2 * rtt_ms, samples=9)
        return DistanceObservation(
            rtt_ms=rtt_ms, jitter_ms=0, rate_mbit=0, made_by="netem", before=time, after=time
        )

    trials = tuple(
        record.model_copy(update={"distance": told(float(record.trial.case.levels["rtt_ms"]))})
        for record in run.trials
    )
    return run.model_copy(update={"trials": trials})


@cache
def shown_run() -> tuple[StoredRun, RunDocument]:
    study = override(STUDY, "server", ["mysql-9.7"])
    run = small_run(study)
    return run, document(run)


def test_the_answer_begins_with_the_verdicts() -> None:
    said = headline(shown_run()[1])
    both = [line for line in said if line.startswith("“As latency grows")]
    assert len(both) == 2
    assert "taken as time per connection: held" in both[0]
    assert "taken as a share of the rate: did not hold" in both[1]


def test_every_format_has_the_figures() -> None:
    run, told = shown_run()
    rows = told.topics["distance"].rows
    (table, *_) = distance_tables(curves_of(rows), rows)
    assert table.title.startswith("Making a connection, mysql-9.7, ")
    assert "45 ms" in [row[0].strip() for row in table.lines(roomy=True)]
    assert "Making a connection, mysql" in markdown(run, told)
    text = terminal(run, told, width=100)
    assert "Making a connection, mysql-9.7" in text
    assert all(len(line) <= 100 for line in text.splitlines())
    sheet = csv_table(told)
    assert "claim of distance" in sheet
    assert "connection: extra" in sheet
    page = html(run, told)
    assert "What distance makes of the costs" in page
    assert page.count("over the round trip time. plaintext") == 3, "of four, a hundred, and statements"
    assert page.count("time against plaintext over the round trip time. ") == 3


def with_workload(curve: Curve, workload: str) -> Curve:
    def changed(point: RowSet) -> RowSet:
        return RowSet(
            [row.model_copy(update={"case": row.case | {"workload": workload}}) for row in point.rows]
        )

    return Curve({rtt_ms: changed(point) for rtt_ms, point in curve.points.items()}, None)


def test_each_of_several_workloads_has_a_table_that_names_it() -> None:
    kept = curve(found(), kind="statement")
    works = ("rows-1x64", "rows-1x1048576")
    several = [with_workload(kept, work) for work in works]
    titles = [table.title for table in distance_tables(several, ())]
    side = f"{kept.server}, {kept.at_a_time}"
    assert titles == [f"Selects of one row of {size} bytes, {side}" for size in ("64", "1,048,576")]


def test_the_study_survives_its_own_file() -> None:
    assert parse_study(study_toml(STUDY), where="again.toml") == STUDY
