"""The arithmetic of published tables: every limit from both sides, and sentences whole."""

from __future__ import annotations

import pytest

from tlstax.results import rows
from tlstax.study import Claim, Column, ProcessorTable, TimeRow, TimeTable
from tlstax.topics.tables.arithmetic import claim_row, fault_rows, is_average_row

Row = tuple[float | str, ...]

ROWS: tuple[Row, ...] = (
    (30.0, 0.0, 10.0, 0.0, 0.0, 60.0),
    (40.0, 0.0, 20.0, 1.0, 0.0, 39.0),
    (35.0, 0.0, 12.0, 3.0, 0.0, 50.0),
    (20.0, 0.0, 30.0, 0.0, 0.0, 50.0),
)
AVERAGE: Row = (31.25, 0.0, 18.0, 1.0, 0.0, 49.75)
GAP: Row = ("-", "-", "-", "-", "-", "-")
IDLE: Row = (0.3, 0.0, 0.7, 0.0, 0.0, 99.0)
WITHIN = {"workload": "people-select"}
OFF, ON = Column(name="off", levels={"tls": "off"}), Column(name="on", levels={"tls": "default"})


def table_of(*rows: Row) -> ProcessorTable:
    return ProcessorTable(
        number="I",
        title="a table",
        source="somebody",
        step_s=5,
        within=WITHIN,
        sides=(OFF, ON),
        rows={"off": rows, "on": ROWS},
        claims=(),
    )


def claimed(table: ProcessorTable, kind: str, value: float, **more: object) -> rows.Row:
    fields = {"says": "so", "side": "off", "column": "system", "kind": kind, "value": value, **more}
    return claim_row(Claim.model_validate(fields), table)


def faults(table: ProcessorTable, *times: TimeTable) -> dict[str, str]:
    return {
        row.judgement: row.caveats[0] for row in fault_rows(table, times) if row.more["table_side"] == "off"
    }


def test_a_result_has_its_place_and_its_figures() -> None:
    right = claimed(table_of(*ROWS), "highest", 30.0, at_s=20.0)
    assert (right.label, right.judgement, right.outcome, right.unit) == (
        "so",
        "right",
        "machine_system_percent",
        "%",
    )
    assert (right.value, right.more) == (30.0, {"published_table": "I", "table_side": "off", "until_s": 20.0})
    wrong = claimed(table_of(*ROWS), "highest", 31.0, at_s=20.0)
    assert (wrong.judgement, wrong.value, wrong.more["until_s"]) == ("wrong", 30.0, 20.0)
    assert wrong.caveats[0] == "the text has 31.00 at 20 s; its own Table I has 30.00 at 20 s"
    no_time = claimed(table_of(*ROWS), "highest", 31.0)
    assert no_time.caveats[0] == "the text has 31.00; its own Table I has 30.00 at 20 s"
    mean = claimed(table_of(*ROWS), "mean", 18.0)
    assert (mean.judgement, mean.value, mean.more["until_s"]) == ("right", 18.0, None)
    assert claimed(table_of(*ROWS), "mean", 18.5).more["until_s"] is None


def test_the_highest_may_be_there_twice_and_any_of_its_times_is_right() -> None:
    twice = table_of(ROWS[3], *ROWS)
    assert claimed(twice, "highest", 30.0, at_s=25.0).more["until_s"] == 25.0
    assert claimed(twice, "highest", 30.0, at_s=5.0).more["until_s"] == 5.0
    first = claimed(twice, "highest", 30.0)
    assert (first.judgement, first.more["until_s"]) == ("right", 5.0)
    elsewhere = claimed(twice, "highest", 30.0, at_s=10.0)
    assert (elsewhere.judgement, elsewhere.more["until_s"]) == ("wrong", 5.0)


def test_a_figure_is_right_to_half_of_its_last_digit() -> None:
    table = table_of(*ROWS)
    for off, verdict in ((0.004, "right"), (-0.004, "right"), (0.0060, "wrong"), (-0.0060, "wrong")):
        assert claimed(table, "highest", 30.0 + off).judgement == verdict
        assert claimed(table, "mean", 18.0 + off).judgement == verdict
    assert claimed(table, "mean", 18.005).judgement == "right"


def test_gaps_are_no_values() -> None:
    table = table_of(GAP, *ROWS)
    assert claimed(table, "highest", 30.0).more["until_s"] == 25.0
    assert claimed(table, "mean", 18.0).judgement == "right"


def test_where_the_last_row_is_an_average_the_text_may_mean_either() -> None:
    """The last row tells 18.04, rows before it make 18.00: with one more row they would make 18.01."""
    table = table_of(*ROWS, (31.25, 0.0, 18.04, 1.0, 0.0, 49.71))
    before = claimed(table, "mean", 18.0)
    assert (before.judgement, before.value) == ("right", 18.0)
    assert before.caveats[0] == "the mean of its rows before the last in Table I is 18.00"
    last = claimed(table, "mean", 18.04)
    assert (last.judgement, last.value) == ("right", 18.04)
    assert last.caveats[0] == "its last row, an average in Table I is 18.04"
    wrong = claimed(table, "mean", 17.0)
    assert (wrong.judgement, wrong.value) == ("wrong", 18.0)
    assert wrong.caveats[0] == (
        "the text has 17.00; in its own Table I the mean of its rows "
        "before the last is 18.00 and its last row, "
        "an average is 18.04"
    )


def test_a_column_of_gaps_has_no_mean() -> None:
    nothing = claimed(table_of(GAP, GAP), "mean", 1.0)
    assert (nothing.judgement, nothing.value) == ("wrong", None)


@pytest.mark.parametrize(
    ("off", "is_average"), [(0.0, True), (0.30, True), (-0.30, True), (0.50, False), (-0.50, False)]
)
def test_an_average_is_near_the_mean_by_a_twentieth_of_the_scatter(off: float, *, is_average: bool) -> None:
    """%user scatters by 7.395: a twentieth of it is 0.370, and 0.01 for two figures' rounding."""
    last = (31.25 + off, *AVERAGE[1:])
    assert is_average_row((*ROWS, last)) is is_average


@pytest.mark.parametrize(("off", "is_average"), [(0.375, True), (0.382, False)])
def test_rounding_is_added_to_what_is_near(off: float, *, is_average: bool) -> None:
    assert is_average_row((*ROWS, (31.25 + off, *AVERAGE[1:]))) is is_average


def test_three_columns_must_scatter() -> None:
    """%user, %system and %idle of these do; without the third there are two."""
    three = (
        (30.0, 0.0, 10.0, 0.0, 0.0, 60.0),
        (40.0, 0.0, 20.0, 0.0, 0.0, 40.0),
        (35.0, 0.0, 15.0, 0.0, 0.0, 50.0),
    )
    assert is_average_row(three)
    two = tuple((*row[:2], 10.0, *row[3:]) for row in three)
    assert not is_average_row(two)
    gaps = tuple((*row[:2], "-", *row[3:]) for row in three)
    assert not is_average_row(gaps), "a column with gaps does not count"
    one_gap = (
        (30.0, 0.0, "-", 1.0, 0.0, 60.0),
        (40.0, 0.0, 20.0, 3.0, 0.0, 40.0),
        (35.0, 0.0, 99.0, 2.0, 0.0, 50.0),
    )
    assert is_average_row(one_gap), "a column with a gap may be anything"


@pytest.mark.parametrize(("half", "is_average"), [(0.15, False), (0.25, True)])
def test_what_scatters_by_less_than_rounding_may_hide_does_not_count(
    half: float, *, is_average: bool
) -> None:
    """A twentieth of 0.2 is 0.01, what two figures may be rounded by."""
    rows = tuple((50 + half * sign, 0.0, 50 + half * sign, 0.0, 0.0, 50 + half * sign) for sign in (-1, 1, 0))
    assert is_average_row(rows) is is_average


def test_two_rows_have_no_average() -> None:
    assert not is_average_row((ROWS[0], ROWS[0]))
    assert not is_average_row(())
    assert is_average_row(
        (ROWS[0], ROWS[1], tuple((a + b) / 2 for a, b in zip(ROWS[0], ROWS[1], strict=True)))
    )  # type: ignore[operator]


def test_an_average_row_is_told_with_its_figures() -> None:
    sentence = "its last row, of 25 s, is the average of the others, kept as data"
    last = (31.25, 0.0, 18.04, 1.0, 0.0, 49.71)
    assert faults(table_of(*ROWS, last))["average row"] == f"{sentence} (%system 18.04, their mean 18.00)"
    no_system = [(*row[:2], "-", *row[3:]) for row in (*ROWS, AVERAGE)]
    assert faults(table_of(*no_system))["average row"] == sentence
    last_alone = [*ROWS, (*AVERAGE[:2], "-", 1.0, 0.0, 49.75)]
    assert faults(table_of(*last_alone))["average row"] == sentence


def test_one_idle_row_is_told() -> None:
    found = faults(table_of(IDLE, *ROWS))
    assert found["idle rows"] == (
        "its row of 5 s is idle, so that the load had not begun or was over: without it, %system is 18.00 on "
        "average instead of 14.54"
    )


def test_several_idle_rows_are_told_and_an_average_row_is_in_no_mean() -> None:
    rows = (IDLE, *ROWS, IDLE)
    found = faults(table_of(*rows))
    assert found["idle rows"] == (
        "its rows of 5 s and 30 s are idle, so that the load had not "
        "begun or was over: without them, %system "
        "is 18.00 on average instead of 12.23"
    )
    mean = tuple(sum(float(row[place]) for row in rows) / 6 for place in range(6))
    assert faults(table_of(*rows, mean))["idle rows"] == found["idle rows"]


def test_nearly_idle_is_not_idle_and_where_all_is_idle_nothing_is_left() -> None:
    assert faults(table_of((0.4, 0.0, 0.7, 0.0, 0.0, 98.9), *ROWS)) == {}
    assert faults(table_of(GAP, *ROWS)) == {}
    assert faults(table_of(IDLE, IDLE))["idle rows"].endswith("had not begun or was over")


@pytest.mark.parametrize(("off", "is_wrong"), [(0.1, False), (-0.1, False), (0.11, True), (-0.11, True)])
def test_columns_make_a_hundred_to_a_tenth(off: float, *, is_wrong: bool) -> None:
    found = faults(table_of(*ROWS, (30.0, 0.0, 10.0, 0.0, 0.0, 60.0 + off)))
    assert ("sum" in found) is is_wrong


def test_every_sum_that_is_wrong_is_told() -> None:
    wrong: Row = (30.0, 0.0, 10.0, 0.0, 0.0, 50.0)
    assert faults(table_of(wrong, *ROWS, wrong))["sum"] == (
        "its columns do not make 100 %: 90.00 % at 5 s, 90.00 % at 30 s"
    )


def times_of(rounds: int | None, *, round_s: float = 16.0, within: dict[str, str] = WITHIN) -> TimeTable:
    row = TimeRow(label="SELECT", within=within, values={"plain": round_s, "TLS": 17.0})
    return TimeTable(
        number="VI",
        title="times",
        source="somebody",
        outcome="round_s",
        rounds=rounds,
        sides=(Column(name="TLS", levels=ON.levels), Column(name="plain", levels=OFF.levels)),
        rows=(
            TimeRow(label="INSERT", within={"workload": "people-insert"}, values={"plain": 1.0, "TLS": 1.0}),
            row,
        ),
    )


def test_a_table_that_covers_half_of_its_rounds_or_less_is_too_short() -> None:
    """Four rows of 5 s cover 20 s; 5 rounds of 8 s take 40 s, which is not more than twice that."""
    assert faults(table_of(*ROWS), times_of(5, round_s=8.0)) == {}
    assert faults(table_of(*ROWS), times_of(5, round_s=8.1)) == {
        "too short": (
            "it ends after 20 s, but 5 rounds of 8.10 s on average "
            "(Table VI) take 40 s: it can hold 2.5 of them"
        )
    }


def test_a_row_that_is_an_average_covers_no_time() -> None:
    found = faults(table_of(*ROWS, AVERAGE), times_of(5, round_s=8.1))
    assert found["too short"].startswith("it ends after 20 s")


def test_only_rounds_of_the_same_cases_tell_how_long_a_table_ought_to_be() -> None:
    assert faults(table_of(*ROWS), times_of(None)) == {}
    assert faults(table_of(*ROWS), times_of(5, within={"workload": "people-update"})) == {}
    other_side = times_of(5).model_copy(update={"sides": (Column(name="TLS", levels=ON.levels),)})
    assert faults(table_of(*ROWS), other_side) == {}
    assert "too short" in faults(table_of(*ROWS), times_of(None), other_side, times_of(5)), (
        "a later table may"
    )


def test_faults_are_told_of_each_side() -> None:
    table = table_of(*ROWS).model_copy(update={"rows": {"off": (IDLE, *ROWS), "on": (IDLE, *ROWS)}})
    assert [
        (row.more["published_table"], row.more["table_side"], row.judgement) for row in fault_rows(table, ())
    ] == [
        ("I", "off", "idle rows"),
        ("I", "on", "idle rows"),
    ]
