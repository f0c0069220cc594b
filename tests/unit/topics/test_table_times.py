"""A published table of times beside trials whose rounds took a known time: seconds, ratios, readings."""

from __future__ import annotations

from math import exp, log, sqrt

import pytest

from fake_trials import VALID, Truth, fake_record, untrue
from tlstax.records.trial import Trial, TrialRecord
from tlstax.results.rows import Row
from tlstax.stats.series import Series
from tlstax.study import Case, Column, Level, Part, TimeRow, TimeTable, load_study
from tlstax.study.factors import CaseLevels
from tlstax.topics.tables.differences import reading
from tlstax.topics.tables.measured import Measured, Shown, time_rows

STUDY = load_study("crud-tls")
TRUTH = Truth(100.0, {}, 20.0, 10.0)
SELECT = TimeRow(
    label="SELECT", within={"workload": "people-select"}, values={"TLS": 15.0, "plain": 10.0, "old TLS": 5.0}
)
INSERT = TimeRow(label="INSERT", within={"workload": "people-insert"}, values={"plain": 4.0, "TLS": 4.0})
TABLE = TimeTable(
    number="VI",
    title="times",
    source="somebody",
    outcome="round_s",
    queries=10_000,
    sides=(
        Column(name="plain", levels={"tls": "off"}),
        Column(name="TLS", levels={"tls": "1.3"}),
        Column(name="old TLS", levels={"tls": "1.2"}),
    ),
    rows=(SELECT, INSERT),
)
ENGINE = Part(key="a", title="the engine", within={"client": "engine"})
OTHER = Part(key="b", title="the other", within={"client": "mysqlslap-9.7"})


def levels_of(tls: str, **more: Level) -> dict[str, Level]:
    return {"tls": tls, "client": "engine", "workload": "people-select", **more}


def record(
    tls: str, round_s: float, *, block: int = 0, operations: int = 10_000, rounds: int = 2, **more: Level
) -> TrialRecord:
    """A trial whose rounds of so many operations took this long each."""
    case = Case(levels=levels_of(tls, **more), role="treatment")
    made = fake_record(Trial(block=block, position=0, case=case), TRUTH, verdict=VALID)
    assert made.job is not None
    assert made.done is not None
    everything = operations * rounds
    return made.model_copy(
        update={
            "job": made.job.model_copy(update={"operations": everything, "rounds": rounds}),
            "done": made.done.model_copy(
                update={"operations": everything, "elapsed_s": round_s * rounds, "window": made.done.window}
            ),
        }
    )


def lost(made: TrialRecord) -> TrialRecord:
    return made.model_copy(update={"done": None})


def found(*records: TrialRecord, table: TimeTable = TABLE, controls: tuple[float, ...] = ()) -> list[Row]:
    """The table; controls are so many times as slow as the plain case."""
    at = CaseLevels.of(levels_of("off"))
    series = Series(
        study=STUDY,
        cases={},
        values={at: {block: {"round_s": 1.0} for block in range(len(controls))}},
        controls={at: {block: {"round_s": each} for block, each in enumerate(controls)}} if controls else {},
    )
    return list(time_rows(table, Measured(STUDY, (ENGINE, OTHER), records), series))


Sides = dict[str, Row]
"""The rows of a role, by side."""


def at(rows: list[Row], role: str, label: str = "SELECT", part: str = "a") -> Sides:
    """The rows of a line and part."""
    own = (row for row in rows if (row.role, row.label) == (f"table, {role}", label))
    return {row.word("side"): row for row in own if row.more.get("part", "") == part}


def seconds(rows: list[Row], label: str = "SELECT", part: str = "a") -> dict[str, float | None]:
    return {side: row.value for side, row in at(rows, "measured", label, part).items()}


def test_published_ratios_are_to_the_first_side() -> None:
    whole = found()
    select, insert = (at(whole, "published", label, "") for label in ("SELECT", "INSERT"))
    assert {side: row.value for side, row in select.items()} == SELECT.values
    assert {side: row.more["published"] for side, row in select.items()} == {
        "plain": None,
        "TLS": 1.5,
        "old TLS": 0.5,
    }
    assert {side: row.more["published"] for side, row in insert.items()} == {"plain": None, "TLS": 1.0}
    tls = select["TLS"]
    assert (tls.outcome, tls.unit, tls.case) == ("round_s", "s", {"workload": "people-select", "tls": "1.3"})


def test_a_side_takes_the_geometric_mean_of_its_blocks() -> None:
    """Of 2 and 8 s that is 4; the interval of two blocks is wide: t(1) at 98.75 % is 25.45."""
    rows = found(record("off", 2.0), record("off", 8.0, block=1), lost(record("off", 9.0, block=2)))
    assert list(at(rows, "side")) == ["plain", "TLS", "old TLS"]
    (plain,) = at(rows, "measured").values()
    assert (plain.more["side"], plain.outcome, plain.unit) == ("plain", "round_s", "s")
    assert (plain.known.point, plain.known.blocks) == (pytest.approx(4.0), 2)
    assert plain.known.low == pytest.approx(4.0 * exp(-25.4517 * log(4) / sqrt(2) / sqrt(2)), rel=1e-3)
    sides = at(rows, "side")
    assert Shown.of(sides["plain"]) == Shown("valid", trials=3, ran="plaintext")
    assert sides["plain"].case == {"workload": "people-select", "client": "engine", "tls": "off"}
    assert {row.more["standing"] for row in (sides["TLS"], sides["old TLS"])} == {"not run"}
    assert sides["TLS"].more["operations"] is None


def test_a_side_is_of_its_line_its_part_and_its_levels() -> None:
    rows = found(
        record("off", 1.0),
        record("1.3", 2.0),
        record("off", 3.0, client="mysqlslap-9.7"),
        record("off", 5.0, workload="people-insert"),
    )
    assert seconds(rows) == {"plain": pytest.approx(1.0), "TLS": pytest.approx(2.0)}
    assert seconds(rows, part="b") == {"plain": pytest.approx(3.0)}
    assert seconds(rows, "INSERT") == {"plain": pytest.approx(5.0)}
    assert seconds(rows, "INSERT", "b") == {}


def test_ratios_are_taken_block_by_block() -> None:
    """By hand: 1.5 and 6 times as long make 3; blocks that lack one of the two do not count."""
    ratios = at(
        found(
            record("off", 2.0),
            record("1.3", 3.0),
            record("off", 10.0, block=1),
            record("1.3", 60.0, block=1),
            record("off", 7.0, block=2),
            record("1.3", 7.0, block=3),
            record("off", 7.0, block=4),
            lost(record("1.3", 7.0, block=4)),
        ),
        "ratio",
    )
    assert list(ratios) == ["TLS"], "the third side was not run"
    tls = ratios["TLS"]
    assert (tls.of, tls.known.point, tls.known.blocks) == ("ratio", pytest.approx(3.0), 2)
    assert (tls.outcome, tls.more["against"], tls.baseline["tls"]) == ("round_s", "plain", "off")
    apart = at(found(record("off", 2.0), record("1.3", 3.0, block=1), record("1.2", 4.0)), "ratio")
    assert {name: row.known.point for name, row in apart.items()} == {"old TLS": pytest.approx(2.0)}


def test_what_is_not_valid_has_a_ratio_all_the_same() -> None:
    rows = found(untrue(record("off", 2.0), "it was not so"), record("1.3", 3.0))
    assert at(rows, "side")["plain"].more["standing"] == "invalid"
    assert at(rows, "ratio")["TLS"].known.point == pytest.approx(1.5)


def test_the_noise_floor_is_from_the_control_of_the_first_side() -> None:
    def floor(controls: tuple[float, ...] = (), label: str = "SELECT", **more: Level) -> float | None:
        both = (record("off", 2.0, **more), record("1.3", 3.0, **more))
        return at(found(*both, controls=controls), "ratio", label)["TLS"].noise_floor

    assert floor((1.1, 1.1)) == pytest.approx(0.1)
    assert floor((1.1,)) is None, "one block has none"
    assert floor() is None
    elsewhere = floor((1.1, 1.1), "INSERT", workload="people-insert")
    assert elsewhere is None, "it is not carried to another workload"


def test_operations_of_a_round_are_told_where_they_are_the_same() -> None:
    def operations(*records: TrialRecord) -> object:
        return at(found(*records), "side")["plain"].more["operations"]

    one = record("off", 2.0, operations=500, rounds=3)
    assert one.job is not None
    assert operations(one, record("off", 2.0, block=1, operations=500, rounds=1)) == 500
    assert operations(one, record("off", 2.0, block=1, operations=501)) is None
    uneven = one.model_copy(update={"job": one.job.model_copy(update={"operations": 1502})})
    assert operations(uneven) == 500
    endless = one.model_copy(update={"job": one.job.model_copy(update={"operations": None})})
    assert operations(endless) is None
    assert operations(one.model_copy(update={"job": None}), one) == 500


ELSEWHERE = "Another machine took the published times: compare ratios rather than seconds."


def read(*records: TrialRecord, table: TimeTable = TABLE) -> str:
    return reading(table, found(*records, table=table))


def test_the_reading_says_what_may_be_compared() -> None:
    assert read() == ELSEWHERE
    unknown = TABLE.model_copy(update={"queries": None})
    assert read(record("off", 2.0), table=unknown) == ELSEWHERE
    assert read(record("off", 2.0), record("1.3", 2.0)) == (
        "A round has 10,000 operations, there as here; but another machine took the published times, so "
        "compare ratios rather than seconds."
    )
    others = [record("off", 2.0), record("1.3", 2.0, operations=500), record("1.2", 2.0, operations=1000)]
    assert read(*others) == (
        "A round has 500 or 1,000 or 10,000 operations here and 10,000 there, and the time of an operation "
        "may change within a round: so seconds are not comparable, and the ratios alone are."
    )
    fewer = record("off", 2.0, operations=500, workload="people-insert", client="mysqlslap-9.7")
    assert read(fewer).startswith("A round has 500 operations here and 10,000 there, ")
