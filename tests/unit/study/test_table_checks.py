"""Published tables at the door and against themselves: mistakes are told, contradictions are computed."""

from __future__ import annotations

import pytest

from tlstax.results.rows import Row
from tlstax.study import (
    Claim,
    Column,
    ProcessorTable,
    TimeRow,
    TimeTable,
    load_study,
    override,
    parse_study,
    study_toml,
)
from tlstax.support.errors import UserMistake
from tlstax.topics.tables.arithmetic import claim_row, fault_rows, is_average_row

STUDY = load_study("crud-tls")
TEXT = study_toml(STUDY)


def table_of(*rows: tuple[float | str, ...], claims: tuple[Claim, ...] = ()) -> ProcessorTable:
    """A table of one kind of row on both sides."""
    return ProcessorTable(
        number="I",
        title="a table",
        source="somebody",
        step_s=5,
        within={"workload": "people-select"},
        sides=(Column(name="off", levels={"tls": "off"}), Column(name="on", levels={"tls": "default"})),
        rows={"off": rows, "on": ROWS},
        claims=claims,
    )


ROWS: tuple[tuple[float | str, ...], ...] = (
    (30.0, 0.0, 10.0, 0.0, 0.0, 60.0),
    (40.0, 0.0, 20.0, 1.0, 0.0, 39.0),
    (35.0, 0.0, 12.0, 3.0, 0.0, 50.0),
    (20.0, 0.0, 30.0, 0.0, 0.0, 50.0),
)
AVERAGE = (31.25, 0.0, 18.0, 1.0, 0.0, 49.75)
IDLE = (0.1, 0.0, 0.2, 0.0, 0.0, 99.7)


def faults(table: ProcessorTable, *times: TimeTable) -> dict[str, str]:
    return {row.judgement: row.caveats[0] for row in fault_rows(table, times) if row.more["side"] == "off"}


def test_a_table_in_which_nothing_is_wrong_has_no_fault() -> None:
    assert faults(table_of(*ROWS)) == {}


def test_a_last_row_that_is_the_average_is_found() -> None:
    found = faults(table_of(*ROWS, AVERAGE))
    assert found == {
        "average row": "its last row, of 25 s, is the average of the others, kept as data (%system 18.00, "
        "their mean 18.00)"
    }
    weighted = tuple(value * 1.004 for value in AVERAGE)
    assert is_average_row((*ROWS, weighted)), "a tool weighs each step by its ticks"
    assert not is_average_row((*ROWS, (33.0, 0.0, 18.0, 1.0, 0.0, 48.0)))
    assert not is_average_row((ROWS[0],) * 5), "where nothing scatters, every row is the mean"


def test_rows_in_which_nothing_ran_are_found_and_what_the_mean_is_without_them() -> None:
    found = faults(table_of(IDLE, *ROWS))
    assert set(found) == {"idle rows"}
    assert found["idle rows"].endswith("without it, %system is 18.00 on average instead of 14.44")


def test_columns_that_do_not_make_a_hundred_are_found() -> None:
    short = (30.0, 0.0, 10.0, 0.0, 0.0, 59.8)
    assert faults(table_of(*ROWS, short))["sum"] == "its columns do not make 100 %: 99.80 % at 25 s"
    assert faults(table_of(*ROWS, (30.0, 0.0, 10.0, 0.0, 0.0, 59.9))) == {}, "that is rounding"
    assert faults(table_of(*ROWS, (30.0, 0.0, 10.0, "-", 0.0, 50.0))) == {}, "a gap may be anything"


def test_a_table_that_is_too_short_for_its_rounds_is_found() -> None:
    times = TimeTable(
        number="VI",
        title="times",
        source="somebody",
        outcome="round_s",
        rounds=5,
        sides=(Column(name="none", levels={"tls": "off"}), Column(name="TLS", levels={"tls": "default"})),
        rows=(
            TimeRow(label="SELECT", within={"workload": "people-select"}, values={"none": 16.0, "TLS": 17.0}),
        ),
    )
    assert faults(table_of(*ROWS), times) == {
        "too short": "it ends after 20 s, but 5 rounds of 16.00 s on average (Table VI) take 80 s: it can "
        "hold 1.2 of them"
    }
    assert faults(table_of(*ROWS), times.model_copy(update={"rounds": 1})) == {}


@pytest.mark.parametrize(
    ("kind", "value", "at_s", "verdict", "says"),
    [
        ("highest", 30.0, 20, "right", "its Table I has 30.00 at 20 s"),
        ("highest", 30.0, None, "right", "its Table I has 30.00 at 20 s"),
        ("highest", 30.0, 15, "wrong", "the text has 30.00 at 15 s; its own Table I has 30.00 at 20 s"),
        ("highest", 20.0, 10, "wrong", "the text has 20.00 at 10 s; its own Table I has 30.00 at 20 s"),
        ("mean", 18.0, None, "right", "the mean of its rows in Table I is 18.00"),
        ("mean", 18.004, None, "right", "the mean of its rows in Table I is 18.00"),
        ("mean", 18.1, None, "wrong", "the text has 18.10; in its own Table I the mean of its rows is 18.00"),
    ],
)
def test_a_claim_is_held_against_its_own_table(
    kind: str, value: float, at_s: float | None, verdict: str, says: str
) -> None:
    claim = Claim(says="so", side="off", column="system", kind=kind, value=value, at_s=at_s)  # type: ignore[arg-type]
    found = claim_row(claim, table_of(*ROWS))
    assert (found.judgement, found.caveats) == (verdict, (says,))


def test_the_published_tables_contradict_their_text_in_two_places() -> None:
    results = [claim_row(claim, table) for table in STUDY.processor_tables for claim in table.claims]
    wrong = {row.more["table"]: row.caveats[0] for row in results if row.judgement == "wrong"}
    assert wrong == {
        "II": "the text has 25.78 at 30 s; its own Table II has 29.11 at 15 s",
        "IV": "the text has 3.38 at 45 s; its own Table IV has 3.86 at 20 s",
    }
    assert len(results) == 16


def at(row: Row) -> tuple[object, object]:
    """The table and the side of a fault."""
    return row.more["table"], row.more["side"]


def test_the_published_tables_keep_averages_as_data_and_end_after_one_round() -> None:
    found = [fault for table in STUDY.processor_tables for fault in fault_rows(table, STUDY.time_tables)]
    averages = {at(row) for row in found if row.judgement == "average row"}
    whole = {(table, side) for table in ("IV", "V") for side in ("No SSL", "SSL")}
    assert averages == {("II", "No SSL"), ("III", "SSL"), *whole}
    assert {row.more["table"] for row in found if row.judgement == "too short"} == {"II", "III", "IV", "V"}
    assert not [row for row in found if row.judgement == "sum"]
    idle = {at(row) for row in found if row.judgement == "idle rows"}
    assert idle == {
        ("II", "No SSL"),
        *((table, side) for table in ("III", "IV") for side in ("No SSL", "SSL")),
    }


ROW = "    [\n        0.0,\n        0.0,\n        0.0,\n        0.0,\n        0.0,\n        100.0,\n    ],\n"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('client = "engine"\n\n[[processor', 'client = "sysbench"\n\n[[processor'), ["'d' matches no case"]),
        (('key = "b"', 'key = "a"'), ["the key 'a' appears twice"]),
        (('key = "b"', 'kee = "b"'), ["no field parts.1.kee", "did you mean 'key'?"]),
        (("step_s = 5.0", "step_s = 2.5"), ["Table II", "step_s is 2.5", "whole seconds"]),
        (("step_s = 5.0", "step = 5.0"), ["processor_tables.0.step", "did you mean 'step_s'?"]),
        (('side = "No SSL"', 'side = "No TLS"'), ["Table II", "'No TLS'", "did you mean 'No SSL'?"]),
        (('column = "system"', 'column = "sys"'), ["processor_tables.0.claims.0.column"]),
        (('kind = "highest"', 'kynd = "highest"'), ["no field", "claims.0.kynd", "did you mean 'kind'?"]),
        (('tls = "default"', 'tls = "1.3"'), ["Table II", "'SSL'", "matches no case"]),
        (('tls = "default"', 'tls = "1.9"'), ["Table II", "'1.9' is not a level of tls"]),
        (('tls = "default"', 'tlz = "default"'), ["Table II", "no factor 'tlz'", "did you mean 'tls'?"]),
        (('tls = "default"', 'resumption = "on"'), ["resumption is not a factor of this study"]),
        (
            ('outcome = "round_s"', 'outcome = "ops_per_s"'),
            ["Table VI", "not an outcome in seconds", "round_s"],
        ),
        (('"SSL required" = 31.924', '"SSL demanded" = 31.924'), ["INSERT has values of", "SSL required"]),
    ],
)
def test_a_mistake_in_a_table_is_told(change: tuple[str, str], says: list[str]) -> None:
    text = TEXT
    if change[0].startswith("tls"):
        start = text.index("[[processor_tables]]")
        text = text[:start] + text[start:].replace(*change, 1)
    else:
        assert change[0] in text, change[0]
        text = text.replace(*change, 1)
    assert text != TEXT
    with pytest.raises(UserMistake) as caught:
        parse_study(text, where="mine.toml")
    sentence = caught.value.sentence()
    assert [word for word in ("mine.toml", *says) if word not in sentence] == [], sentence


def test_a_row_of_another_length_is_told() -> None:
    table = STUDY.processor_tables[0]
    rows = {**table.rows, "SSL": (*table.rows["SSL"][:2], (1.0, 2.0))}
    study = STUDY.model_copy(update={"processor_tables": (table.model_copy(update={"rows": rows}),)})
    with pytest.raises(UserMistake, match="Table II: row 3 of 'SSL' has 2 values, and takes 6"):
        parse_study(study_toml(study), where="mine.toml")


def test_a_side_that_is_not_there_has_no_rows() -> None:
    table = STUDY.processor_tables[0]
    rows = {"No SSL": table.rows["No SSL"], "TLS": table.rows["SSL"]}
    study = STUDY.model_copy(update={"processor_tables": (table.model_copy(update={"rows": rows}),)})
    with pytest.raises(UserMistake, match="rows are of No SSL, TLS, and its sides are No SSL, SSL"):
        parse_study(study_toml(study), where="mine.toml")


def test_what_an_option_leaves_no_case_for_is_left_out_and_the_rest_can_be_read_again() -> None:
    selects = override(STUDY, "workload", ["people-select"])
    assert [table.number for table in selects.processor_tables] == ["II"]
    assert [row.label for row in selects.time_tables[0].rows] == ["SELECT"]
    engine = override(selects, "client", ["engine"])
    assert [part.key for part in engine.parts] == ["d"]
    assert parse_study(study_toml(engine), where="mine.toml") == engine


def test_an_option_that_makes_a_side_two_cases_is_refused() -> None:
    with pytest.raises(UserMistake, match="--connections: Table II, side 'No SSL', stands for 2 cases"):
        override(STUDY, "connections", ["1", "4"])
