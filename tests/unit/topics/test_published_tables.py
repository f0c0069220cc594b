"""Published tables beside measured ones: what is planted is found, and what is untrue is marked."""

from __future__ import annotations

import csv
import io
import json
from functools import cache

import pytest

from fake_crud_study import QUERIES, REASON, ROUNDS, STUDY, crud_document, crud_run, is_published_method
from observed_windows import seconds, ticks, window
from report_runs import HOSTILE, changed
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.records.window import CpuSlice
from tlstax.report.formats.render import FORMATS, Format, render
from tlstax.results.document import RunDocument
from tlstax.results.rows import Row
from tlstax.stats.outcomes import outcomes
from tlstax.topics.answer.document import document
from tlstax.topics.tables.differences import DIFFERENCE, reading, said, sentence_of, verdict_of
from tlstax.topics.tables.layout import Place, View
from tlstax.topics.tables.measured import MEMORY, PART_ROLE, Shown, steps


def of_line(found: RunDocument, label: str) -> list[Row]:
    """What each part says of a difference."""
    return [row for row in found.topics["tables"].of(role=DIFFERENCE) if row.label == label]


def of_load(found: RunDocument, table: str) -> list[Row]:
    return [row for row in found.topics["tables"].of(role=DIFFERENCE) if row.word("published_table") == table]


def times(found: RunDocument, label: str, part: str) -> list[Place]:
    return sides(found, "VI", part, label)


def loads(found: RunDocument, table: str, part: str) -> list[Place]:
    return sides(found, table, part)


def sides(found: RunDocument, number: str, key: str, label: str = "") -> list[Place]:
    study = found.design
    table = next(one for one in (*study.time_tables, *study.processor_tables) if one.number == number)
    part = next(one for one in study.parts if one.key == key)
    return View(found.topics["tables"], study).sides(table, part, label)


def answers(found: list[Row]) -> dict[str, str]:
    return {here.word("part"): here.judgement for here in found}


INCONCLUSIVE = dict.fromkeys("bcd", "inconclusive") | {"a": "not tested"}
RULED_OUT = dict.fromkeys("bcd", "wrong") | {"a": "not tested"}
"""Of what is known well enough to rule a published difference out."""


def test_a_planted_cost_is_found_in_times_and_in_loads() -> None:
    found = crud_document()
    select = of_line(found, "SELECT")
    assert answers(select) == {"a": "not tested", "b": "right", "c": "right", "d": "right"}
    assert verdict_of(select) == "right"
    assert select[0].caveats[0].endswith("(68.137 s beside 61.164 s, +11 %)")
    assert select[1].more["published"] == pytest.approx(68.137 / 61.164)
    ratio = times(found, "SELECT", "b")[1].ratio
    assert ratio is not None
    assert ratio.low is not None
    assert ratio.high is not None
    assert ratio.low < 1.1 < ratio.high
    load = of_load(found, "II")
    assert answers(load) == answers(select)
    assert load[1].known.point == pytest.approx(3.0)


def test_a_planted_nothing_is_not_found() -> None:
    found = crud_document()
    for label in ("INSERT", "UPDATE"):
        assert answers(of_line(found, label)) == RULED_OUT
        assert verdict_of(of_line(found, label)) == "wrong"
    assert "right" not in answers(of_line(found, "DELETE")).values(), "0.62 %, hardly more than is known"
    for table in ("III", "IV", "V"):
        assert answers(of_load(found, table)) == RULED_OUT
    everything = of_line(found, "Mean response time")
    assert everything[0].caveats[0] == "Mean response time: 4 of 4 take longer with SSL required"
    assert said(everything[1]).startswith("wrong: as published in 1 (SELECT), otherwise in ")
    alike = crud_document(slower=1.0)
    assert answers(of_line(alike, "SELECT")) == answers(of_load(alike, "II")) == RULED_OUT


def test_what_goes_the_other_way_is_wrong() -> None:
    found = crud_document(slower=0.9)
    assert verdict_of(of_line(found, "SELECT")) == "wrong"
    assert verdict_of(of_line(found, "Mean response time")) == "wrong"


def test_a_method_that_compares_tls_with_tls_tests_nothing_and_is_shown_all_the_same() -> None:
    found = crud_document()
    plain, encrypted = times(found, "SELECT", "a")
    assert (plain.shown.standing, plain.shown.why, plain.shown.ran) == ("invalid", REASON, "TLSv1.3")
    assert (encrypted.shown.standing, encrypted.shown.ran) == ("valid", "TLSv1.3")
    seconds_here = plain.figure("round_s")
    assert seconds_here is not None
    assert seconds_here.value == pytest.approx(QUERIES / 160 * 1.1, rel=0.01)
    assert said(of_line(found, "SELECT")[0]) == "not tested: TLS was compared with TLS"
    (plain_load, encrypted_load) = loads(found, "II", "a")
    for column in ("user", "system", "idle"):
        plain_mean, encrypted_mean = (
            side.figure(f"machine_{column}_percent") for side in (plain_load, encrypted_load)
        )
        assert plain_mean is not None
        assert encrypted_mean is not None
        assert plain_mean.value == encrypted_mean.value
    memory = plain_load.figure(MEMORY)
    assert memory is not None
    assert memory.value == 400_000_000
    part = found.topics["tables"].of(role=PART_ROLE)[0]
    assert (part.word("part"), part.value, part.more["invalid_trials"]) == ("a", 16, 16)
    assert part.more["why"] == REASON


def test_a_side_with_valid_trials_is_shown_by_them_alone() -> None:
    def spoilt(record: TrialRecord) -> TrialRecord:
        is_first = record.trial.block == 0 and record.trial.case.levels["client"] == "engine"
        verdict = record.verdict.model_copy(update={"value": "invalid", "reasons": ("it is not so",)})
        return record.model_copy(update={"verdict": verdict}) if is_first else record

    found = document(changed(crud_run(), spoilt))
    assert times(found, "SELECT", "d")[0].shown == Shown("valid", trials=3, left_out=1, ran="plaintext")


def test_one_block_alone_tells_nothing() -> None:
    found = document(crud_run(blocks=1))
    select = of_line(found, "SELECT")
    assert answers(select) == INCONCLUSIVE
    assert "in one block alone" in sentence_of(select)


def test_rows_are_of_whole_steps_and_means_over_the_trials_that_reached_them() -> None:
    long, short, *_ = crud_run(blocks=1).trials
    rising = [ticks(system=second, idle=100 - second) for second in range(8)]
    long = long.model_copy(update={"window": window(*seconds(*rising))})
    short = short.model_copy(update={"window": window(*seconds(*[ticks(system=20, idle=80)] * 7))})
    first, second = steps([long, short], 5)
    assert first[:2] == (5, 2)
    assert first[2]["system"] == pytest.approx((2 + 20) / 2)
    assert second[:2] == (10, 1), "seven seconds are less than half of a second step"
    assert second[2]["system"] == pytest.approx(6)
    early = CpuSlice(at_s=4.9999, took_s=1.0, machine=ticks(idle=100))
    assert steps([long.model_copy(update={"window": window(early)})], 5) == []


def test_a_round_takes_what_the_client_prints_or_its_share_of_the_window() -> None:
    record = next(r for r in crud_run(blocks=1, noise=0.0).trials if r.trial.case.levels["tls"] == "off")
    assert record.done is not None
    assert record.job is not None
    rate = record.done.operations / record.done.elapsed_s
    assert outcomes(record, ())["round_s"] == pytest.approx(QUERIES / rate)
    printed = record.done.model_copy(update={"reported_s": {"average": 12.5}})
    assert outcomes(record.model_copy(update={"done": printed}), ())["round_s"] == 12.5
    cut = record.done.model_copy(update={"operations": QUERIES - 1})
    assert "round_s" not in outcomes(record.model_copy(update={"done": cut}), ())
    timed = record.job.model_copy(update={"operations": None})
    assert "round_s" not in outcomes(record.model_copy(update={"job": timed}), ())
    two = record.done.model_copy(update={"operations": 2 * QUERIES, "elapsed_s": 8.0})
    assert outcomes(record.model_copy(update={"done": two}), ())["round_s"] == pytest.approx(4.0)


def test_seconds_of_other_rounds_are_not_compared() -> None:
    def read(found: RunDocument) -> str:
        return reading(found.design.time_tables[0], found.topics["tables"].rows)

    same = read(crud_document())
    assert same.startswith(f"A round has {QUERIES:,} operations, there as here")
    other = read(document(crud_run(blocks=2, queries=500)))
    assert other.startswith("A round has 500 operations here and 10,000 there")
    assert "the ratios alone are" in other


def test_a_study_without_parts_is_one() -> None:
    engine = tuple(t for t in STUDY.treatments if t["client"] == "engine")
    found = document(crud_run(STUDY.model_copy(update={"parts": (), "treatments": engine})))
    parts = found.topics["tables"].of(role=PART_ROLE)
    assert [(part.word("part"), part.label) for part in parts] == [("all", "this run")]
    assert sentence_of(of_line(found, "SELECT")).startswith("right: +")


def test_what_was_not_run_is_not_tested() -> None:
    run = crud_run(blocks=2)
    kept = tuple(r for r in run.trials if r.trial.case.levels["client"] != "mysqlslap-9.7")
    found = document(run.model_copy(update={"trials": kept}))
    assert said(of_line(found, "SELECT")[2]) == "not tested: it was not run"
    assert loads(found, "II", "c")[0].shown.standing == "not run"
    nothing = document(run.model_copy(update={"trials": ()}))
    assert verdict_of(of_line(nothing, "SELECT")) == "not tested"


def test_a_study_without_tables_has_none() -> None:
    bare = {"processor_tables": (), "time_tables": ()}
    assert "tables" not in document(crud_run(STUDY.model_copy(update=bare), blocks=1)).topics


@cache
def text_of(form: Format) -> str:
    stored = crud_run()
    return " ".join(render(stored, document(stored), form).replace("\N{NO-BREAK SPACE}", " ").split())


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_tells_verdicts_and_contradictions(form: Format) -> None:
    text = text_of(form).replace("\\", "")
    for words in (
        "SELECT takes longer with SSL required",
        "TLS was compared with TLS",
        "the text has 25.78 at 30 s; its own Table II has 29.11 at 15 s",
        "average of the others, kept as data",
        REASON,
        "invalid",
    ):
        assert words in text, words


@pytest.mark.parametrize("form", ["md", "html"])
def test_whole_tables_are_in_the_long_formats(form: Format) -> None:
    text = text_of(form)
    assert text.count("29.11") >= 3
    assert "45.53" in text
    assert "17.50" in text


def test_spreadsheets_get_every_cell() -> None:
    stored = crud_run()
    rows = list(csv.DictReader(io.StringIO(render(stored, document(stored), "csv"))))
    published = [r for r in rows if r["role"] == "table, published" and r["unit"] == "%"]
    printed = sum(
        not isinstance(cell, str)
        for table in STUDY.processor_tables
        for side in table.rows.values()
        for row in side
        for cell in row
    )
    assert len(published) == printed
    times_here = [r for r in rows if r["role"] == "table, measured" and r["outcome"] == "round_s"]
    assert len(times_here) == 4 * 4 * 2
    bad = [r for r in rows if r["role"] == "table, side" and r["standing"] == "invalid"]
    assert {r["why"] for r in bad} == {REASON}
    assert {(r["case_client"], r["case_tls_switch"], r["case_tls"]) for r in bad} == {
        ("mysqlslap-8.0.33", "client", "off")
    }
    judged = {r["judgement"] for r in rows if r["role"] == "table, difference"}
    assert judged == {"right", "wrong", "inconclusive", "not tested"}


def test_programs_get_the_tables_as_they_are() -> None:
    stored = crud_run(blocks=2)
    shown = document(stored)
    text = render(stored, shown, "json")
    assert RunDocument.model_validate_json(text) == shown
    told = json.loads(text)["topics"]["tables"]["rows"]
    roles = ("part", "side", "published", "measured", "ratio", "difference", "claim", "claim here", "fault")
    assert {row["role"] for row in told} == {f"table, {role}" for role in roles}


@pytest.mark.parametrize("form", ["terminal", "md", "html", "csv"])
def test_nothing_that_a_server_says_gets_out_of_its_cell(form: Format) -> None:
    def hostile(record: TrialRecord) -> TrialRecord:
        if not is_published_method(record.trial.case):
            return record
        verdict = record.verdict.model_copy(update={"value": "invalid", "reasons": (HOSTILE,)})
        return record.model_copy(update={"verdict": verdict})

    stored = changed(crud_run(blocks=1), hostile)
    text = render(stored, document(stored), form)
    assert "\x1b" not in text
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in text
    if form == "html":
        assert "<script" not in text
    if form == "md":
        assert "<script" not in text.replace("\\<", "")


def test_the_rounds_of_the_fake_are_the_studys() -> None:
    assert STUDY.levels_of()["queries"] == (QUERIES,)
    assert STUDY.levels_of()["rounds"] == (ROUNDS,)


def test_a_run_that_was_watched_by_nobody_has_times_and_no_loads() -> None:
    def blind(record: TrialRecord) -> TrialRecord:
        return record.model_copy(update={"window": None})

    found: StoredRun = changed(crud_run(blocks=2), blind)
    shown = document(found)
    assert loads(shown, "II", "b")[0].figure("machine_system_percent") is None
    assert said(of_load(shown, "II")[1]).startswith("not tested: the processors were not watched")
    assert of_line(shown, "SELECT")[1].interval is not None
