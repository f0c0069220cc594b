"""A published table of times beside trials whose rounds took a known time: seconds, ratios, readings."""

from __future__ import annotations

from math import exp, log, sqrt

import pytest

from fake_trials import VALID, Truth, fake_record, untrue
from tlstax.findings.core.series import Series, frozen
from tlstax.findings.published.sides import Measured
from tlstax.findings.published.time_tables import time_table
from tlstax.records.trial import Trial, TrialRecord
from tlstax.results.published_tables import PartOfTime, TimeTableResult
from tlstax.study import Case, Column, Level, Part, TimeRow, TimeTable, load_study

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


def found(
    *records: TrialRecord, table: TimeTable = TABLE, controls: tuple[float, ...] = ()
) -> TimeTableResult:
    """The table; controls are so many times as slow as the plain case."""
    at = frozen(levels_of("off"))
    series = Series(
        study=STUDY,
        cases={},
        values={at: {block: {"round_s": 1.0} for block in range(len(controls))}},
        controls={at: {block: {"round_s": each} for block, each in enumerate(controls)}} if controls else {},
    )
    return time_table(table, Measured(STUDY, (ENGINE, OTHER), records), series)


def first_part(
    *records: TrialRecord, controls: tuple[float, ...] = (), table: TimeTable = TABLE
) -> PartOfTime:
    return found(*records, controls=controls, table=table).lines[0].parts[0]


def test_published_ratios_are_to_the_first_side() -> None:
    whole = found()
    assert whole.published == TABLE
    assert [line.label for line in whole.lines] == ["SELECT", "INSERT"]
    assert whole.lines[0].published == SELECT.values
    assert whole.lines[0].published_ratios == {"TLS": 1.5, "old TLS": 0.5}
    assert whole.lines[1].published_ratios == {"TLS": 1.0}


def test_a_side_takes_the_geometric_mean_of_its_blocks() -> None:
    """Of 2 and 8 s that is 4; the interval of two blocks is wide: t(1) at 98.75 % is 25.45."""
    part = first_part(record("off", 2.0), record("off", 8.0, block=1), lost(record("off", 9.0, block=2)))
    plain, encrypted, old = part.sides
    assert [side.side for side in part.sides] == ["plain", "TLS", "old TLS"]
    assert plain.seconds is not None
    assert (plain.seconds.point, plain.seconds.blocks) == (pytest.approx(4.0), 2)
    assert plain.seconds.low == pytest.approx(4.0 * exp(-25.4517 * log(4) / sqrt(2) / sqrt(2)), rel=1e-3)
    assert (plain.shown.standing, plain.shown.trials, plain.shown.ran) == ("valid", 3, "plaintext")
    assert (encrypted.seconds, encrypted.shown.standing, encrypted.operations) == (None, "not run", None)
    assert old.shown.standing == "not run"


def test_a_side_is_of_its_line_its_part_and_its_levels() -> None:
    records = [
        record("off", 1.0),
        record("1.3", 2.0),
        record("off", 3.0, client="mysqlslap-9.7"),
        record("off", 5.0, workload="people-insert"),
    ]
    whole = found(*records)
    seconds = [
        [[side.seconds.point if side.seconds else None for side in part.sides] for part in line.parts]
        for line in whole.lines
    ]
    assert [part.part for part in whole.lines[0].parts] == ["a", "b"]
    assert seconds[0] == [[pytest.approx(1.0), pytest.approx(2.0), None], [pytest.approx(3.0), None, None]]
    assert seconds[1] == [[pytest.approx(5.0), None, None], [None, None, None]]


def test_ratios_are_taken_block_by_block() -> None:
    """By hand: 1.5 and 6 times as long make 3; blocks that lack one of the two do not count."""
    part = first_part(
        record("off", 2.0),
        record("1.3", 3.0),
        record("off", 10.0, block=1),
        record("1.3", 60.0, block=1),
        record("off", 7.0, block=2),
        record("1.3", 7.0, block=3),
        record("off", 7.0, block=4),
        lost(record("1.3", 7.0, block=4)),
    )
    assert list(part.ratios) == ["TLS"], "the third side was not run"
    assert (part.ratios["TLS"].point, part.ratios["TLS"].blocks) == (pytest.approx(3.0), 2)
    apart = first_part(record("off", 2.0), record("1.3", 3.0, block=1), record("1.2", 4.0))
    assert {name: ratio.point for name, ratio in apart.ratios.items()} == {"old TLS": pytest.approx(2.0)}


def test_what_is_not_valid_has_a_ratio_all_the_same() -> None:
    part = first_part(untrue(record("off", 2.0), "it was not so"), record("1.3", 3.0))
    assert part.sides[0].shown.standing == "invalid"
    assert part.ratios["TLS"].point == pytest.approx(1.5)


def test_the_noise_floor_is_from_the_control_of_the_first_side() -> None:
    assert first_part(record("off", 2.0), controls=(1.1, 1.1)).noise_floor == pytest.approx(0.1)
    assert first_part(record("off", 2.0), controls=(1.1,)).noise_floor is None, "one block has none"
    assert first_part(record("off", 2.0)).noise_floor is None
    assert first_part(record("1.3", 2.0), controls=(1.1, 1.1)).noise_floor is None, "it was not run"
    insert = found(record("off", 2.0, workload="people-insert"), controls=(1.1, 1.1)).lines[1]
    assert insert.parts[0].noise_floor is None, "it is not carried to another workload"


def test_operations_of_a_round_are_told_where_they_are_the_same() -> None:
    def operations(*records: TrialRecord) -> int | None:
        return first_part(*records).sides[0].operations

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


def test_the_reading_says_what_may_be_compared() -> None:
    assert found().reading == ELSEWHERE
    unknown = TABLE.model_copy(update={"queries": None})
    assert found(record("off", 2.0), table=unknown).reading == ELSEWHERE
    assert found(record("off", 2.0), record("1.3", 2.0)).reading == (
        "A round has 10,000 operations, there as here; but another machine took the published times, so "
        "compare ratios rather than seconds."
    )
    others = [record("off", 2.0), record("1.3", 2.0, operations=500), record("1.2", 2.0, operations=1000)]
    assert found(*others).reading == (
        "A round has 500 or 1,000 or 10,000 operations here and 10,000 there, and the time of an operation "
        "may change within a round: so seconds are not comparable, and the ratios alone are."
    )
    fewer = record("off", 2.0, operations=500, workload="people-insert", client="mysqlslap-9.7")
    assert found(fewer).reading.startswith("A round has 500 operations here and 10,000 there, ")
