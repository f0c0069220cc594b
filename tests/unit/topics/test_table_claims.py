"""All published tables of a study together: what stands in the place of each claim, and in which order."""

from __future__ import annotations

import pytest

from fake_trials import untrue
from observed_windows import seconds, ticks
from tlstax.records.trial import TrialRecord
from tlstax.results import rows as results
from tlstax.stats.series import Series
from tlstax.study import Claim, Column, Part, ProcessorTable, Study, TimeRow, TimeTable, load_study
from tlstax.topics.tables.topic import rows
from told_runs import run_of
from watched_trials import system, unwatched, watched

STUDY = load_study("crud-tls")
OFF, ON = Column(name="off", levels={"tls": "off"}), Column(name="on", levels={"tls": "1.3"})
Row = tuple[float, ...]
ROWS: tuple[Row, ...] = ((60.0, 0.0, 10.0, 0.0, 0.0, 30.0), (60.0, 0.0, 14.0, 0.0, 0.0, 26.0))
WRONG: Row = (60.0, 0.0, 10.0, 0.0, 0.0, 20.0)


def claim(kind: str, side: str = "off", value: float = 12.0) -> Claim:
    return Claim.model_validate(
        {"says": f"{kind} {side}", "side": side, "column": "system", "kind": kind, "value": value}
    )


LOADS = ProcessorTable(
    number="II",
    title="CPU use",
    source="somebody",
    step_s=2,
    within={"workload": "people-select"},
    sides=(OFF, ON),
    rows={"off": (*ROWS, WRONG), "on": ROWS},
    claims=(claim("mean"), claim("mean", "on", 13.0), claim("highest", value=14.0)),
)
TIMES = TimeTable(
    number="VI",
    title="times",
    source="somebody",
    outcome="round_s",
    rounds=100,
    sides=(OFF, ON),
    rows=(
        TimeRow(label="SELECT", within={"workload": "people-select"}, values={"off": 10.0, "on": 12.0}),
        TimeRow(label="INSERT", within={"workload": "people-insert"}, values={"off": 1.0, "on": 1.5}),
    ),
)
PARTS = (
    Part(key="a", title="the engine", within={"client": "engine"}),
    Part(key="b", title="the other", within={"client": "mysqlslap-9.7"}),
)


def tables(
    *records: TrialRecord,
    loads: tuple[ProcessorTable, ...] = (LOADS,),
    times: tuple[TimeTable, ...] = (TIMES,),
) -> list[results.Row]:
    study: Study = STUDY.model_copy(update={"processor_tables": loads, "time_tables": times, "parts": PARTS})
    return list(rows(run_of(Series(study=study, cases={}, values={}, controls={}), measured=records)))


def of(role: str, *records: TrialRecord) -> list[results.Row]:
    return [row for row in tables(*records) if row.role == f"table, {role}"]


def test_a_study_without_tables_has_none_and_one_kind_is_enough() -> None:
    assert tables(loads=(), times=()) == []
    assert {row.more["published_table"] for row in tables(times=()) if row.role == "table, published"} == {
        "II"
    }
    assert {row.more["published_table"] for row in tables(loads=()) if row.role == "table, published"} == {
        "VI"
    }


def test_every_part_and_table_is_there() -> None:
    trials = watched(*system(8, 8)), untrue(watched(block=1), "it was not so")
    parts = of("part", *trials)
    assert [(row.more["part"], row.value, row.more["invalid_trials"], row.more["why"]) for row in parts] == [
        ("a", 1, 1, "it was not so"),
        ("b", 0, 0, ""),
    ]
    loads = {
        (row.more["part"], row.more["side"]): row.value
        for row in of("measured", *trials)
        if row.outcome == "machine_system_percent" and "until_s" not in row.more
    }
    assert loads == {("a", "off"): pytest.approx(8.0)}
    first = next(row for row in of("side", *trials) if row.label == "SELECT")
    assert (first.more["part"], first.more["side"], first.value) == ("a", "off", 1)
    faults = of("fault", *trials)
    assert [(row.more["published_table"], row.more["side"], row.judgement) for row in faults] == [
        ("II", "off", "sum"),
        ("II", "off", "too short"),
        ("II", "on", "too short"),
    ]


def test_every_printed_cell_is_a_row() -> None:
    printed = of("published")
    cells = [row for row in printed if row.more["published_table"] == "II"]
    assert len(cells) == 6 * 5
    assert (cells[0].value, cells[0].outcome, cells[0].more) == (
        60.0,
        "machine_user_percent",
        {"published_table": "II", "side": "off", "until_s": 2.0},
    )
    assert cells[0].case == {"workload": "people-select", "tls": "off"}
    times = [(row.label, row.more["side"], row.value, row.more["published"]) for row in printed[30:]]
    assert times[:2] == [("SELECT", "off", 10.0, None), ("SELECT", "on", 12.0, 1.2)]


def test_differences_of_times_come_before_those_of_loads() -> None:
    told = dict.fromkeys((row.more["published_table"], row.label) for row in of("difference"))
    assert list(told) == [("VI", "times"), ("VI", "SELECT"), ("VI", "INSERT"), ("II", "CPU use")]


def test_claims_are_held_against_their_own_table() -> None:
    claims = of("claim")
    assert [(row.more["published_table"], row.label, row.judgement) for row in claims] == [
        ("II", "mean off", "wrong"),
        ("II", "mean on", "wrong"),
        ("II", "highest off", "right"),
    ]
    assert claims[0].value == pytest.approx(34 / 3)


Here = tuple[object, float | None, object, object]
"""A part, its value, when its step ends, and what its trials are."""


def in_its_place(*records: TrialRecord) -> list[list[Here]]:
    """What the parts show for each of the claims."""
    told: dict[str, list[Here]] = {}
    for row in of("claim here", *records):
        known = (row.more["part"], row.value, row.more["until_s"], row.more["standing"])
        told.setdefault(row.label, []).append(known)
    return list(told.values())


def test_what_was_measured_stands_in_the_place_of_a_claim() -> None:
    """By hand: steps of 2 s have 4, 30 and 6 per cent; 80 over 6 seconds is a mean of 13.3."""
    trial = watched(*system(4, 4, 20, 40, 6, 6))
    other = watched(*system(50, 50), tls="1.3", client="mysqlslap-9.7")
    off, on, highest = in_its_place(trial, other)
    assert {(row.outcome, row.unit) for row in of("claim here", trial)} == {("machine_system_percent", "%")}
    assert off == [("a", pytest.approx(80 / 6), None, "valid"), ("b", None, None, "not run")]
    assert on == [("a", None, None, "not run"), ("b", pytest.approx(50.0), None, "valid")]
    assert highest == [("a", pytest.approx(30.0), 4.0, "valid"), ("b", None, None, "not run")]


def test_the_highest_is_that_of_its_own_column() -> None:
    """The second step has the most of the user, the first of the kernel."""
    busy = seconds(*[ticks(system=30, user=10, idle=60)] * 2, *[ticks(system=20, user=70, idle=10)] * 2)
    _, _, highest = in_its_place(watched(*busy))
    assert highest[0] == ("a", pytest.approx(30.0), 2.0, "valid")


def test_where_nobody_watched_no_value_stands_in_its_place() -> None:
    off, _, highest = in_its_place(unwatched(watched()))
    assert off[0] == highest[0] == ("a", None, None, "valid")
