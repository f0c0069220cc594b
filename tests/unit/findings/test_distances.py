"""What distance makes of costs: planted round trips are found, and where nothing is planted nothing is."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest

from fake_trials import Truth, fake_run, kept
from planted_series import planted_series, wobble
from tlstax.findings.distance.curves import distances, measured_round_trips_ms
from tlstax.findings.distance.words import away, claim_verdict, growth_sentence, number, pool_sentences
from tlstax.records.trial import StoredRun
from tlstax.records.way import DistanceObservation, RoundTripTime
from tlstax.report.distance.tables import distance_tables
from tlstax.report.formats.csv_table import csv_table
from tlstax.report.formats.markdown import markdown
from tlstax.report.formats.terminal import terminal
from tlstax.report.page.html import html
from tlstax.results.distance import DistanceCurve, Distances, Trend
from tlstax.results.document import RunDocument
from tlstax.results.interval import Interval
from tlstax.study import Case, Levels, Study, load_study, override, parse_study, study_toml
from tlstax.topics.answer.document import document
from tlstax.topics.answer.headline import headline

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
def found() -> Distances:
    shown = distances(planted_series(STUDY, planted), ())
    assert shown is not None
    return shown


def curve(shown: Distances, kind: str = "connection", **levels: object) -> DistanceCurve:
    return next(c for c in shown.curves if c.kind == kind and levels.items() <= c.case.items())


def test_the_planted_round_trips_are_found_at_every_distance() -> None:
    told = curve(found(), server="mysql-9.7", tls="1.3", certificate="rsa-1024")
    assert [point.rtt_ms for point in told.points] == [0, 45, 170]
    for point in told.points:
        extra = OF_TLS * point.rtt_ms + TLS_WORK_MS
        assert point.extra_ms.point == pytest.approx(extra, rel=1e-9)
        assert point.plaintext_ms.point == pytest.approx(OF_PLAINTEXT * point.rtt_ms + WORK_MS)
        if point.rtt_ms:
            assert point.extra_round_trips is not None
            assert point.extra_round_trips.point == pytest.approx(OF_TLS + TLS_WORK_MS / point.rtt_ms)
        else:
            assert point.extra_round_trips is None
    assert "rtt_ms" not in told.case


def test_growth_is_told_both_ways_and_the_ways_differ() -> None:
    """Near by, TLS takes five times as long as plaintext, far away 6 round trips in place of 4."""
    growth = curve(found(), server="mysql-9.7", tls="1.3", certificate="rsa-1024").growth
    assert growth is not None
    assert (growth.from_ms, growth.to_ms) == (0, 170)
    assert growth.in_time == "grows"
    assert growth.extra_ms.point == pytest.approx(OF_TLS * 170)
    assert growth.round_trips.point == pytest.approx(OF_TLS)
    assert growth.plaintext_round_trips.point == pytest.approx(OF_PLAINTEXT)
    assert growth.in_proportion == "shrinks"
    assert growth.near_times.point == pytest.approx((WORK_MS + TLS_WORK_MS) / WORK_MS)
    assert growth.far_times.point == pytest.approx((6 * 170 + 2.0) / (4 * 170 + 0.4))
    assert growth.limit_times == pytest.approx(1.5)


def test_the_claim_holds_in_time_and_does_not_in_proportion() -> None:
    (claim,) = found().claims
    assert (claim.in_time, claim.in_proportion) == ("held", "did not hold")
    assert claim.curves == 3, "one for each server, of the published measure alone"
    assert "of 3 treatments it grows in 3" in claim.in_time_sentence
    assert re.search(
        r"2\.00 \(.*?\) round trips beside the 4\.00 \(.*?\) of plaintext", claim.in_time_sentence
    )
    assert "round trips alone would make it 1.50" in claim.in_proportion_sentence
    assert "the loss shrinks" in claim.in_proportion_sentence


def test_where_nothing_is_planted_nothing_grows() -> None:
    shown = distances(planted_series(STUDY, nothing), ())
    assert shown is not None
    (claim,) = shown.claims
    assert (claim.in_time, claim.in_proportion) == ("inconclusive", "inconclusive")
    assert "3 inconclusive" in claim.in_time_sentence
    assert "inconclusive" in claim.in_time_sentence


def test_a_cost_of_the_processor_alone_does_not_grow_in_time() -> None:
    """As many round trips as plaintext, and 20 ms of work: the share of the rate shrinks, the time stays."""

    def busy(levels: Levels, block: int) -> dict[str, float]:
        ms = connect_ms(levels, round_trips=0, work_ms=20.0)
        ms += 0.01 * (wobble(block + int(is_tls(levels)) + int(float(levels["rtt_ms"]))) - 1)
        return {"connect_p50_us": 1e3 * ms, "ops_per_s": 1e5 / ms}

    shown = distances(planted_series(STUDY, busy), ())
    assert shown is not None
    (claim,) = shown.claims
    assert claim.in_time == "inconclusive"
    assert claim.in_proportion == "did not hold"


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
def test_a_claim_holds_where_every_curve_says_so(trends: list[Trend], verdict: str) -> None:
    assert claim_verdict(trends) == verdict


def test_a_kept_connection_saves_what_making_one_takes() -> None:
    at = [p for p in found().pools if p.server == "mysql-9.7" and p.rtt_ms == 45]
    plain = next(p for p in at if p.label.startswith("plaintext") and "SSH" not in p.label)
    assert plain.connect_ms.point == pytest.approx(180.4)
    assert plain.statement_ms.point == pytest.approx(45.1)
    assert plain.worth.point == pytest.approx(4.0)
    assert plain.connect_round_trips is not None
    assert plain.connect_round_trips.point == pytest.approx(180.4 / 45)
    (said,) = (line for line in pool_sentences(found()) if line.startswith("mysql-9.7"))
    assert said.startswith("mysql-9.7, 170 ms away, a connection that is kept saves making it, which takes: ")
    assert "plaintext 680.4 (" in said
    assert "as long as 4.00 statements" in said


def test_what_a_handshake_decides_borrows_its_statements_from_the_same_version() -> None:
    """A resumed connection is not measured on statements; those of a full handshake stand in for it."""
    resumed = [p for p in found().pools if "resumed" in p.label]
    assert {p.rtt_ms for p in resumed} == {0, 45, 170}


def test_round_trips_are_of_the_distance_that_was_measured() -> None:
    study = override(override(STUDY, "server", ["mysql-8.0.33"]), "workload", ["storm"])
    run = measured_at(small_run(study), 1.02)
    shown = document(run).distances
    assert shown is not None
    point = next(p for p in curve(shown, tls="1.3", connections=100).points if p.rtt_ms == 170)
    assert point.round_trip_ms == pytest.approx(173.4)
    assert measured_round_trips_ms(run.measured)[45] == pytest.approx(45.9)
    assert point.extra_round_trips is not None
    assert point.extra_round_trips.point == pytest.approx((OF_TLS * 170 + TLS_WORK_MS) / 173.4, rel=0.02)


def test_a_study_without_distance_tells_nothing_of_it() -> None:
    near = override(STUDY, "rtt_ms", ["0"])
    assert distances(planted_series(near, planted), ()) is None
    assert document(fake_run()).distances is None


def test_one_distance_alone_has_no_growth() -> None:
    shown = distances(planted_series(override(STUDY, "rtt_ms", ["45"]), planted), ())
    assert shown is not None
    assert {c.growth for c in shown.curves} == {None}
    assert {growth_sentence(c) for c in shown.curves} == {""}
    (claim,) = shown.claims
    assert (claim.in_time, claim.curves) == ("inconclusive", 0)
    assert claim.in_time_sentence == "nothing that was measured bears on it"


def test_numbers_are_told_with_as_many_digits_as_their_interval_deserves() -> None:
    assert (
        number(Interval(point=2.0, low=1.96, high=2.04, confidence=0.95, blocks=8)) == "2.00 (1.96 to 2.04)"
    )
    assert (
        number(Interval(point=340.2, low=338.9, high=341.5, confidence=0.95, blocks=8))
        == "340.2 (338.9 to 341.5)"
    )
    assert (
        number(Interval(point=3.0, low=None, high=None, confidence=0.95, blocks=1)) == "3.0 (one block alone)"
    )
    assert "factor of ten" in number(Interval(point=3.0, low=0.1, high=20.0, confidence=0.95, blocks=2))
    assert (away(0), away(45), away(44.6)) == ("on the same machine", "45 ms away", "44.6 ms away")


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
    (table, *_) = distance_tables(told.distances)
    assert table.title.startswith("Making a connection, mysql-9.7, ")
    assert "45 ms" in [row[0].strip() for row in table.rows]
    assert "Making a connection, mysql" in markdown(run, told)
    text = terminal(run, told, width=100)
    assert "Making a connection, mysql-9.7" in text
    assert all(len(line) <= 100 for line in text.splitlines())
    rows = csv_table(told)
    assert "claim of distance" in rows
    assert "connection: extra" in rows
    page = html(run, told)
    assert "What distance makes of the costs" in page
    assert page.count("over the round trip time. plaintext") == 3, "of four, a hundred, and statements"
    assert page.count("time against plaintext over the round trip time. ") == 3


def test_each_of_several_workloads_has_a_table_that_names_it() -> None:
    kept = curve(found(), kind="statement")
    works = ("rows-1x64", "rows-1x1048576")
    several = tuple(kept.model_copy(update={"workload": work}) for work in works)
    titles = [table.title for table in distance_tables(Distances(curves=several, pools=(), claims=()))]
    side = f"{kept.server}, {kept.connections} at a time"
    assert titles == [f"Selects of one row of {size} bytes, {side}" for size in ("64", "1,048,576")]


def test_the_study_survives_its_own_file() -> None:
    assert parse_study(study_toml(STUDY), where="again.toml") == STUDY
