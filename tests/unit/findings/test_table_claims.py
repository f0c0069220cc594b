"""All published tables of a study together: what stands in the place of each claim, and in which order."""

from __future__ import annotations

import pytest

from fake_trials import untrue
from observed_windows import seconds, ticks
from tlstax.findings.core.series import Series
from tlstax.findings.published.tables import published_tables
from tlstax.records.trial import TrialRecord
from tlstax.results.published_tables import ClaimHere, Tables
from tlstax.study import Claim, Column, Part, ProcessorTable, Study, TimeRow, TimeTable, load_study
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
) -> Tables | None:
    study: Study = STUDY.model_copy(update={"processor_tables": loads, "time_tables": times, "parts": PARTS})
    return published_tables(Series(study=study, cases={}, values={}, controls={}), records)


def found(*records: TrialRecord) -> Tables:
    whole = tables(*records)
    assert whole is not None
    return whole


def test_a_study_without_tables_has_none_and_one_kind_is_enough() -> None:
    assert tables(loads=(), times=()) is None
    loads, times = tables(times=()), tables(loads=())
    assert loads is not None
    assert times is not None
    assert ([one.published for one in loads.processors], loads.times) == ([LOADS], ())
    assert ([one.published for one in times.times], times.processors) == ([TIMES], ())


def test_every_part_and_table_is_there() -> None:
    whole = found(watched(*system(8, 8)), untrue(watched(block=1), "it was not so"))
    assert [(part.key, part.valid, part.invalid, part.reasons) for part in whole.parts] == [
        ("a", 1, 1, ("it was not so",)),
        ("b", 0, 0, ()),
    ]
    (loads,), (times,) = whole.processors, whole.times
    assert (loads.published, times.published) == (LOADS, TIMES)
    assert loads.parts[0].sides[0].mean is not None
    assert loads.parts[0].sides[0].mean["system"] == pytest.approx(8.0)
    assert times.lines[0].parts[0].sides[0].shown.trials == 1
    assert [(fault.table, fault.side, fault.kind) for fault in whole.faults] == [
        ("II", "off", "sum"),
        ("II", "off", "too short"),
        ("II", "on", "too short"),
    ]


def test_differences_of_times_come_before_those_of_loads() -> None:
    assert [(one.table, one.label) for one in found().differences] == [
        ("VI", "times"),
        ("VI", "SELECT"),
        ("VI", "INSERT"),
        ("II", "CPU use"),
    ]


def test_claims_are_held_against_their_own_table() -> None:
    claims = found().claims
    assert [(one.table, one.says, one.verdict) for one in claims] == [
        ("II", "mean off", "wrong"),
        ("II", "mean on", "wrong"),
        ("II", "highest off", "right"),
    ]
    assert claims[0].found == pytest.approx(34 / 3)


def in_its_place(*records: TrialRecord) -> tuple[list[ClaimHere], ...]:
    """What the parts show for each of the claims."""
    return tuple(list(one.here) for one in found(*records).claims)


def test_what_was_measured_stands_in_the_place_of_a_claim() -> None:
    """By hand: steps of 2 s have 4, 30 and 6 per cent; 80 over 6 seconds is a mean of 13.3."""
    trial = watched(*system(4, 4, 20, 40, 6, 6))
    other = watched(*system(50, 50), tls="1.3", client="mysqlslap-9.7")
    off, on, highest = in_its_place(trial, other)
    assert [here.part for here in off] == ["a", "b"]
    assert (off[0].value, off[0].at_s) == (pytest.approx(80 / 6), None)
    assert (off[0].shown.standing, off[0].shown.trials) == ("valid", 1)
    assert (off[1].value, off[1].shown.standing) == (None, "not run")
    assert (on[0].value, on[0].shown.standing) == (None, "not run")
    assert (on[1].part, on[1].value) == ("b", pytest.approx(50.0))
    assert (highest[0].part, highest[0].value, highest[0].at_s) == ("a", pytest.approx(30.0), 4.0)
    assert highest[0].shown.standing == "valid"
    assert (highest[1].value, highest[1].at_s, highest[1].shown.standing) == (None, None, "not run")


def test_the_highest_is_that_of_its_own_column() -> None:
    """The second step has the most of the user, the first of the kernel."""
    busy = seconds(*[ticks(system=30, user=10, idle=60)] * 2, *[ticks(system=20, user=70, idle=10)] * 2)
    _, _, highest = in_its_place(watched(*busy))
    assert (highest[0].value, highest[0].at_s) == (pytest.approx(30.0), 2.0)


def test_where_nobody_watched_no_value_stands_in_its_place() -> None:
    off, _, highest = in_its_place(unwatched(watched()))
    assert (off[0].value, off[0].shown.standing) == (None, "valid")
    assert (highest[0].value, highest[0].at_s, highest[0].shown.trials) == (None, None, 1)
