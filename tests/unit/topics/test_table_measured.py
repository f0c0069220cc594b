"""What stands in a published table here: loads and times of its parts, their ratios, what each side was."""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any

import pytest

from fake_trials import VALID, Truth, fake_record, untrue
from observed_windows import seconds, ticks
from tlstax.contract import Handshakes, Negotiated, TlsView
from tlstax.records.trial import ConnectionsSeen, Trial, TrialRecord, Verdict
from tlstax.records.window import CpuSlice
from tlstax.results.rows import Row
from tlstax.stats.series import Series
from tlstax.study import Case, Column, Level, Part, ProcessorTable, TimeRow, TimeTable, load_study
from tlstax.study.design import Role
from tlstax.study.factors import CaseLevels
from tlstax.topics.tables.differences import reading
from tlstax.topics.tables.measured import (
    Measured,
    Shown,
    Side,
    load_rows,
    part_row,
    parts_of,
    steps,
    time_rows,
    why_not_tested,
    window_mean,
)
from watched_trials import system, unwatched, watched

STUDY = load_study("crud-tls")
ROW = (100.0, 0.0, 0.0, 0.0, 0.0, 0.0)
TABLE = ProcessorTable(
    number="II",
    title="CPU use",
    source="somebody",
    step_s=2.9,
    within={"workload": "people-select"},
    sides=(Column(name="off", levels={"tls": "off"}), Column(name="on", levels={"tls": "1.3"})),
    rows={"off": (ROW,), "on": (ROW,)},
)
ENGINE = Part(key="a", title="the engine", within={"client": "engine"})
OTHER = Part(key="b", title="the other", within={"client": "mysqlslap-9.7"})


def test_the_mean_of_a_window_has_every_column() -> None:
    made = watched(*seconds(ticks(user=1, nice=2, system=3, iowait=4, steal=5, irq=6, softirq=7, idle=172)))
    assert window_mean(made) == pytest.approx(
        {"user": 0.5, "nice": 1.0, "system": 8.0, "iowait": 2.0, "steal": 2.5, "idle": 86.0}
    )
    assert window_mean(watched()) is None
    assert window_mean(watched(*seconds(ticks()))) is None
    assert window_mean(unwatched(made)) is None


def test_a_step_is_a_mean_over_the_trials_that_reached_it() -> None:
    """By hand: 1 and 3 make 2, and with 4 of the other trial 3; 10 and 20 make 15."""
    found = steps([watched(*system(1, 3, 10, 20)), unwatched(watched()), watched(*system(4, 4))], 2)
    assert [(until_s, trials) for until_s, trials, _ in found] == [(2, 2), (4, 1)]
    assert [values["system"] for *_, values in found] == pytest.approx([3.0, 15.0])
    assert [values["idle"] for *_, values in found] == pytest.approx([97.0, 85.0])
    assert steps([], 2) == []


def test_steps_are_in_the_order_of_time() -> None:
    late, early = (CpuSlice(at_s=at, took_s=2.0, machine=ticks(idle=9)) for at in (4.0, 0.0))
    assert [until_s for until_s, *_ in steps([watched(late, early)], 2)] == [2, 6]


@pytest.mark.parametrize(("took_s", "shown"), [(1.99, 0), (2.0, 1), (4.0, 1)])
def test_half_a_step_is_enough_for_a_row(took_s: float, shown: int) -> None:
    slices = (CpuSlice(at_s=place, took_s=took_s / 2, machine=ticks(idle=9)) for place in (0.0, 1.0))
    assert len(steps([watched(*slices)], 4)) == shown


def test_a_slice_belongs_to_the_step_that_it_begins_in_by_the_nearest_second() -> None:
    slices = (CpuSlice(at_s=at, took_s=2.0, machine=ticks(idle=9)) for at in (1.4, 1.6))
    assert [until_s for until_s, *_ in steps([watched(*slices)], 2)] == [2, 4]


def test_a_step_without_ticks_has_no_row() -> None:
    nothing = CpuSlice(at_s=0.0, took_s=2.0, machine=ticks())
    assert steps([watched(nothing)], 2) == []


def shown_of_parts(*records: TrialRecord, table: ProcessorTable = TABLE) -> list[dict[str, Any]]:
    """What is shown of each part and side."""
    found: dict[tuple[object, object], dict[str, Any]] = {}
    for row in load_rows(table, Measured(STUDY, (ENGINE, OTHER), records)):
        if row.role == "table, published":
            continue
        place = row.more["part"], row.more["side"]
        nothing = {"part": place[0], "side": place[1], "steps": {}, "mean": None}
        own = found.setdefault(place, {**nothing, "window_s": None, "server_rss_bytes": None})
        assert row.case == {
            "workload": "people-select",
            "client": {"a": "engine", "b": "mysqlslap-9.7"}[str(place[0])],
            "tls": {"off": "off", "on": "1.3"}[str(place[1])],
        }
        if row.role == "table, side":
            own["shown"] = Shown.of(row)
        elif not row.outcome.startswith("machine_"):
            own[row.outcome] = row.value
        else:
            column = row.outcome.removeprefix("machine_").removesuffix("_percent")
            if "until_s" in row.more:
                own["steps"].setdefault((row.more["until_s"], row.more["trials"]), {})[column] = row.value
            else:
                own["mean"] = {**(own["mean"] or {}), column: row.value}
    return list(found.values())


def test_a_table_shows_each_side_in_each_part() -> None:
    """Means are of trials: 2 and 12 per cent make 7, though one was watched twice as long."""
    first = watched(*system(1, 3))
    second = watched(*system(12, 12, 12, 12), block=1)
    assert second.server is not None
    fatter = second.server.model_copy(update={"rss_bytes": 600_000_000})
    found = shown_of_parts(
        first,
        second.model_copy(update={"server": fatter}),
        watched(*system(50, 50), tls="1.3"),
        watched(*system(70, 70), client="mysqlslap-9.7"),
        watched(*system(90, 90), workload="people-insert"),
    )
    assert [(each["part"], each["side"]) for each in found] == [
        ("a", "off"),
        ("a", "on"),
        ("b", "off"),
        ("b", "on"),
    ]
    off, on, other, nothing = found
    assert off["shown"] == Shown("valid", trials=2, ran="plaintext")
    assert off["mean"] == pytest.approx(
        {"user": 0, "nice": 0, "system": 7.0, "iowait": 0, "steal": 0, "idle": 93.0}
    )
    assert (off["window_s"], off["server_rss_bytes"]) == (3.0, 500_000_000)
    assert off["steps"] == steps_of(first, second)
    rows = list(load_rows(TABLE, Measured(STUDY, (ENGINE,), (first, second))))
    units = {row.outcome: row.unit for row in rows if row.role == "table, measured"}
    assert (units.pop("server_rss_bytes"), units.pop("window_s"), set(units.values())) == ("B", "s", {"%"})
    means = [row for row in rows if "trials" in row.more and "until_s" not in row.more]
    assert {(row.role, row.case["tls"], row.more["trials"]) for row in means} == {
        ("table, measured", "off", 2)
    }
    for side, per_cent in ((on, 50.0), (other, 70.0)):
        assert side["mean"]["system"] == pytest.approx(per_cent)
    assert nothing["shown"].standing == "not run"
    assert (nothing["mean"], nothing["window_s"], nothing["server_rss_bytes"]) == (None, None, None)
    assert nothing["steps"] == {}


def steps_of(*records: TrialRecord) -> dict[tuple[int, int], dict[str, float]]:
    """The table's steps are of 2 s: 2.9 is cut off to whole seconds."""
    return {(until_s, trials): dict(values) for until_s, trials, values in steps(records, 2)}


def test_a_side_that_was_not_published_is_measured_all_the_same() -> None:
    table = TABLE.model_copy(update={"rows": {"off": (ROW,)}})
    rows = list(load_rows(table, Measured(STUDY, (ENGINE,), (watched(*system(8, 8), tls="1.3"),))))
    assert {row.more["side"] for row in rows if row.role == "table, published"} == {"off"}
    assert {row.more["side"] for row in rows if row.role == "table, measured"} == {"on"}


def test_trials_that_nobody_watched_count_for_memory_alone() -> None:
    seen, empty = watched(*system(8, 8)), watched(block=1)
    lost = unwatched(watched(block=2))
    assert lost.server is not None
    bare = lost.model_copy(update={"server": lost.server.model_copy(update={"rss_bytes": None})})
    off = shown_of_parts(seen, empty, lost, bare)[0]
    assert off["mean"]["system"] == pytest.approx(8.0)
    assert (off["window_s"], off["server_rss_bytes"]) == (2.0, 400_000_000)
    unseen = shown_of_parts(empty, lost)[0]
    assert (unseen["mean"], unseen["window_s"], unseen["steps"]) == (None, None, {})
    assert unseen["server_rss_bytes"] == 400_000_000


def test_a_window_is_as_long_as_its_last_slice_ends() -> None:
    """The longest, and not the sum: slices may come in any order."""
    slices = [CpuSlice(at_s=at, took_s=0.5, machine=ticks(idle=9)) for at in (3.0, 1.0)]
    assert shown_of_parts(watched(*slices))[0]["window_s"] == 3.5
    no_ticks = [CpuSlice(at_s=0.0, took_s=2.0, machine=ticks())]
    off = shown_of_parts(watched(*no_ticks))[0]
    assert (off["mean"], off["window_s"]) == (None, 2.0)


def test_what_is_not_valid_is_shown_all_the_same() -> None:
    off = shown_of_parts(untrue(watched(*system(8, 8)), "it was not so"))[0]
    assert off["shown"].standing == "invalid"
    assert off["mean"]["system"] == pytest.approx(8.0)


TRUTH = Truth(100.0, {}, 20.0, 10.0)
VIEW = TlsView(version="TLSv1.2", cipher="X", resumed=None)


def invalid(*reasons: str) -> Verdict:
    return Verdict(value="invalid", reasons=reasons)


def unknown(*reasons: str) -> Verdict:
    return Verdict(value="unknown", reasons=reasons)


def record(
    verdict: Verdict = VALID, *, block: int = 0, role: Role = "treatment", tls: str = "off", **levels: Level
) -> TrialRecord:
    case = Case(levels={"tls": tls, "client": "engine", "workload": "people-select", **levels}, role=role)
    return fake_record(Trial(block=block, position=0, case=case), TRUTH, verdict=verdict)


def side(*records: TrialRecord) -> Side:
    return Measured(STUDY, STUDY.parts, records).side({})


def shown(*records: TrialRecord) -> Shown:
    return side(*records).shown


def test_a_side_is_the_trials_that_have_all_its_levels_but_controls() -> None:
    wanted = record(tls="1.3")
    run = Measured(
        STUDY,
        STUDY.parts,
        (
            wanted,
            record(tls="off"),
            record(tls="1.3", role="control"),
            record(tls="1.3", client="mysqlslap-9.7"),
            record(tls="1.3", block=1, role="baseline", queries=500),
        ),
    )
    found = run.side({"client": "engine"}, {"tls": ("1.2", "1.3")})
    assert [(kept.trial.block, kept.trial.case.role) for kept in found.records] == [
        (0, "treatment"),
        (1, "baseline"),
    ]
    assert found.levels == wanted.trial.case.levels
    nothing = run.side({"tls": "1.1"})
    assert (nothing.records, nothing.levels) == ((), None)
    assert nothing.shown == Shown(standing="not run")


def test_valid_trials_stand_for_a_side_alone() -> None:
    good, bad = record(), record(invalid("it was not so"), block=1)
    found = side(bad, good, bad)
    assert found.records == (good,)
    assert found.shown == Shown(standing="valid", trials=1, left_out=2, ran="plaintext")


def test_where_none_is_valid_all_are_shown_with_the_most_frequent_reason() -> None:
    trials = [
        record(invalid("rare")),
        record(invalid("frequent", "beside that")),
        record(invalid("frequent", "beside that")),
        record(invalid("beside that")),
    ]
    assert side(*trials).records == tuple(trials)
    assert shown(*trials) == Shown(standing="invalid", trials=4, left_out=0, why="frequent", ran="plaintext")
    assert shown(record(invalid())).why == ""


def test_what_is_not_valid_is_invalid_if_any_of_it_is() -> None:
    assert shown(record(unknown("not seen"))).standing == "unknown"
    assert shown(record(unknown()), record(invalid("so"))).standing == "invalid"


def test_what_a_trial_ran_is_the_servers_word_on_the_working_connections() -> None:
    plain, over_tls = record(), record(tls="1.3")
    assert plain.server is not None
    seen = (
        ConnectionsSeen(connections=3, version="TLSv1.3", cipher="X"),
        ConnectionsSeen(connections=2, version=None, cipher=None),
    )
    told = plain.server.model_copy(update={"connections": seen})
    assert shown(plain.model_copy(update={"server": told})).ran == "TLSv1.3 and plaintext"
    encrypted = plain.server.model_copy(update={"connections": seen[:1]})
    assert shown(plain.model_copy(update={"server": encrypted})).ran == "TLSv1.3"
    assert shown(plain, over_tls).ran == "TLSv1.3 and plaintext"
    assert shown(over_tls.model_copy(update={"server": None})).ran == "TLSv1.3"


def test_else_it_is_what_the_window_shook_hands_on() -> None:
    made = record()
    assert made.done is not None
    hands = tuple(
        Handshakes(version=version, cipher="X", group=None, resumed=False, hello_retry=None, count=1)
        for version in ("TLSv1.2", "TLSv1.1")
    )
    window = made.done.window.model_copy(update={"handshakes": hands})
    done = made.done.model_copy(update={"window": window})
    assert shown(made.model_copy(update={"done": done})).ran == "TLSv1.1 and TLSv1.2"


@pytest.mark.parametrize(
    ("server", "client", "ran"),
    [(VIEW, None, "TLSv1.2"), (None, VIEW, "TLSv1.2"), (None, None, "plaintext")],
)
def test_else_it_is_what_either_side_said_before(
    server: TlsView | None, client: TlsView | None, ran: str
) -> None:
    made = record()
    assert made.ready is not None
    told = Negotiated(connections=1, client=client, server=server)
    asked = made.model_copy(update={"ready": made.ready.model_copy(update={"negotiated": (told,)})})
    assert shown(asked).ran == ran
    assert shown(asked.model_copy(update={"done": None, "server": None})).ran == ran


def test_a_trial_that_never_was_ready_ran_nothing() -> None:
    lost = record(invalid("so")).model_copy(update={"ready": None, "done": None, "server": None})
    assert shown(lost).ran == ""


def test_blocks_are_pooled_with_the_studys_confidence() -> None:
    assert Measured(STUDY, STUDY.parts, (record(),)).pooling.confidence == STUDY.confidence


def test_a_study_without_parts_is_one() -> None:
    (whole,) = parts_of(STUDY.model_copy(update={"parts": ()}))
    assert (whole.key, whole.title, whole.within) == ("all", "this run", {})
    assert parts_of(STUDY) == STUDY.parts


def test_a_part_counts_its_trials_and_tells_why_some_are_not_valid() -> None:
    part = Part(
        key="a", title="as published", within={"client": ("engine", "mysqlslap-9.7"), "tls": "off", "x": 1}
    )
    run = Measured(
        STUDY,
        (part,),
        (
            record(x=1),
            record(invalid("rare"), x=1),
            record(invalid("frequent", "beside that"), x=1),
            record(invalid("frequent", "beside that"), x=1),
            record(unknown(), x=1),
            record(invalid("elsewhere"), x=2),
        ),
    )
    found = part_row(part, run)
    assert (found.label, found.case) == ("as published", {"tls": "off"}), "x is no factor, clients are two"
    assert (found.role, found.outcome, found.unit, found.value) == ("table, part", "trials", "1", 1)
    assert found.more == {"part": "a", "invalid_trials": 3, "unknown_trials": 1, "why": "frequent"}
    nothing = part_row(part, Measured(STUDY, (part,), ()))
    assert (nothing.value, nothing.more["why"]) == (0, "")


def test_a_row_of_a_side_says_all_of_it() -> None:
    side = Shown("invalid", trials=4, left_out=2, why="so", ran="TLSv1.3")
    row = side.row({"tls": "1.3"}, "SELECT", {"published_table": "II", "part": "a", "side": "TLS"})
    assert (row.role, row.label, row.case, row.value) == ("table, side", "SELECT", {"tls": "1.3"}, 4)
    assert (row.more["published_table"], row.more["part"], row.more["side"]) == ("II", "a", "TLS")
    assert Shown.of(row) == side


def of(standing: str, ran: str) -> Shown:
    return Shown(standing=standing, trials=1, ran=ran)


@pytest.mark.parametrize(
    ("first", "other", "why"),
    [
        (of("valid", "plaintext"), of("valid", "TLSv1.3"), ""),
        (of("valid", "TLSv1.3"), of("valid", "TLSv1.3"), ""),
        (of("valid", "plaintext"), Shown(standing="not run"), "it was not run"),
        (of("invalid", "TLSv1.3"), of("valid", "TLSv1.2"), "TLS was compared with TLS"),
        (of("valid", "plaintext"), of("invalid", "plaintext"), "plaintext was compared with plaintext"),
        (of("invalid", "plaintext"), of("valid", "TLSv1.3"), "its trials are invalid"),
        (of("valid", "TLSv1.3"), of("unknown", ""), "its trials are unknown"),
        (of("unknown", "TLSv1.3 and plaintext"), of("invalid", "TLSv1.3"), "its trials are unknown"),
        (of("valid", "plaintext"), of("unknown", ""), "its trials are unknown"),
    ],
)
def test_sides_that_are_not_what_they_are_called_are_not_compared(
    first: Shown, other: Shown, why: str
) -> None:
    assert why_not_tested((first, other)) == why


SELECT = TimeRow(
    label="SELECT", within={"workload": "people-select"}, values={"TLS": 15.0, "plain": 10.0, "old TLS": 5.0}
)
INSERT = TimeRow(label="INSERT", within={"workload": "people-insert"}, values={"plain": 4.0, "TLS": 4.0})
TIMES = TimeTable(
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


def levels_of(tls: str, **more: Level) -> dict[str, Level]:
    return {"tls": tls, "client": "engine", "workload": "people-select", **more}


def timed(
    tls: str, round_s: float, *, block: int = 0, operations: int = 10_000, rounds: int = 2, **more: Level
) -> TrialRecord:
    """A trial whose rounds of N operations took this long each."""
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


def times(*records: TrialRecord, table: TimeTable = TIMES, controls: tuple[float, ...] = ()) -> list[Row]:
    """The table; controls are N times as slow as the plain case."""
    plain = CaseLevels.of(levels_of("off"))
    values = {plain: {block: {"round_s": 1.0} for block in range(len(controls))}}
    again = {plain: {block: {"round_s": each} for block, each in enumerate(controls)}}
    series = Series(study=STUDY, cases={}, values=values, controls=again if controls else {})
    return list(time_rows(table, Measured(STUDY, (ENGINE, OTHER), records), series))


Sides = dict[str, Row]
"""The rows of a role, by side."""


def rows_at(rows: list[Row], role: str, label: str = "SELECT", part: str = "a") -> Sides:
    """The rows of a line and part."""
    own = (row for row in rows if (row.role, row.label) == (f"table, {role}", label))
    return {row.word("side"): row for row in own if row.more.get("part", "") == part}


def measured_s(rows: list[Row], label: str = "SELECT", part: str = "a") -> dict[str, float | None]:
    return {side: row.value for side, row in rows_at(rows, "measured", label, part).items()}


def test_published_ratios_are_to_the_first_side() -> None:
    whole = times()
    select, insert = (rows_at(whole, "published", label, "") for label in ("SELECT", "INSERT"))
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
    rows = times(timed("off", 2.0), timed("off", 8.0, block=1), lost(timed("off", 9.0, block=2)))
    assert list(rows_at(rows, "side")) == ["plain", "TLS", "old TLS"]
    (plain,) = rows_at(rows, "measured").values()
    assert (plain.more["side"], plain.outcome, plain.unit) == ("plain", "round_s", "s")
    assert (plain.known.point, plain.known.blocks) == (pytest.approx(4.0), 2)
    assert plain.known.low == pytest.approx(4.0 * exp(-25.4517 * log(4) / sqrt(2) / sqrt(2)), rel=1e-3)
    sides = rows_at(rows, "side")
    assert Shown.of(sides["plain"]) == Shown("valid", trials=3, ran="plaintext")
    assert sides["plain"].case == {"workload": "people-select", "client": "engine", "tls": "off"}
    assert {row.more["standing"] for row in (sides["TLS"], sides["old TLS"])} == {"not run"}
    assert sides["TLS"].more["operations"] is None


def test_a_side_is_of_its_line_its_part_and_its_levels() -> None:
    rows = times(
        timed("off", 1.0),
        timed("1.3", 2.0),
        timed("off", 3.0, client="mysqlslap-9.7"),
        timed("off", 5.0, workload="people-insert"),
    )
    assert measured_s(rows) == {"plain": pytest.approx(1.0), "TLS": pytest.approx(2.0)}
    assert measured_s(rows, part="b") == {"plain": pytest.approx(3.0)}
    assert measured_s(rows, "INSERT") == {"plain": pytest.approx(5.0)}
    assert measured_s(rows, "INSERT", "b") == {}


def test_ratios_are_taken_block_by_block() -> None:
    """By hand: 1.5 and 6 times as long make 3; blocks that lack one of the two do not count."""
    ratios = rows_at(
        times(
            timed("off", 2.0),
            timed("1.3", 3.0),
            timed("off", 10.0, block=1),
            timed("1.3", 60.0, block=1),
            timed("off", 7.0, block=2),
            timed("1.3", 7.0, block=3),
            timed("off", 7.0, block=4),
            lost(timed("1.3", 7.0, block=4)),
        ),
        "ratio",
    )
    assert list(ratios) == ["TLS"], "the third side was not run"
    tls = ratios["TLS"]
    assert (tls.of, tls.known.point, tls.known.blocks) == ("ratio", pytest.approx(3.0), 2)
    assert (tls.outcome, tls.more["against"]) == ("round_s", "plain")
    assert (tls.case["tls"], tls.baseline["tls"]) == ("1.3", "off")
    apart = rows_at(times(timed("off", 2.0), timed("1.3", 3.0, block=1), timed("1.2", 4.0)), "ratio")
    assert {name: row.known.point for name, row in apart.items()} == {"old TLS": pytest.approx(2.0)}


def test_what_is_not_valid_has_a_ratio_all_the_same() -> None:
    rows = times(untrue(timed("off", 2.0), "it was not so"), timed("1.3", 3.0))
    assert rows_at(rows, "side")["plain"].more["standing"] == "invalid"
    assert rows_at(rows, "ratio")["TLS"].known.point == pytest.approx(1.5)


def test_the_noise_floor_is_from_the_control_of_the_first_side() -> None:
    def floor(controls: tuple[float, ...] = (), label: str = "SELECT", **more: Level) -> float | None:
        both = (timed("off", 2.0, **more), timed("1.3", 3.0, **more))
        return rows_at(times(*both, controls=controls), "ratio", label)["TLS"].noise_floor

    assert floor((1.1, 1.1)) == pytest.approx(0.1)
    assert floor((1.1,)) is None, "one block has none"
    assert floor() is None
    elsewhere = floor((1.1, 1.1), "INSERT", workload="people-insert")
    assert elsewhere is None, "it is not carried to another workload"


def test_operations_of_a_round_are_told_where_they_are_the_same() -> None:
    def operations(*records: TrialRecord) -> object:
        return rows_at(times(*records), "side")["plain"].more["operations"]

    one = timed("off", 2.0, operations=500, rounds=3)
    assert one.job is not None
    assert operations(one, timed("off", 2.0, block=1, operations=500, rounds=1)) == 500
    assert operations(one, timed("off", 2.0, block=1, operations=501)) is None
    uneven = one.model_copy(update={"job": one.job.model_copy(update={"operations": 1502})})
    assert operations(uneven) == 500
    endless = one.model_copy(update={"job": one.job.model_copy(update={"operations": None})})
    assert operations(endless) is None
    assert operations(one.model_copy(update={"job": None}), one) == 500


ELSEWHERE = "Another machine took the published times: compare ratios rather than seconds."


def read(*records: TrialRecord, table: TimeTable = TIMES) -> str:
    return reading(table, times(*records, table=table))


def test_the_reading_says_what_may_be_compared() -> None:
    assert read() == ELSEWHERE
    unknown = TIMES.model_copy(update={"queries": None})
    assert read(timed("off", 2.0), table=unknown) == ELSEWHERE
    assert read(timed("off", 2.0), timed("1.3", 2.0)) == (
        "A round has 10,000 operations, there as here; but another machine took the published times, so "
        "compare ratios rather than seconds."
    )
    others = [timed("off", 2.0), timed("1.3", 2.0, operations=500), timed("1.2", 2.0, operations=1000)]
    assert read(*others) == (
        "A round has 500 or 1,000 or 10,000 operations here and 10,000 there, and the time of an operation "
        "may change within a round: so seconds are not comparable, and the ratios alone are."
    )
    fewer = timed("off", 2.0, operations=500, workload="people-insert", client="mysqlslap-9.7")
    assert read(fewer).startswith("A round has 500 operations here and 10,000 there, ")
