"""What the processors did in the rows of a published table: steps and means from ticks that are known."""

from __future__ import annotations

from typing import Any

import pytest

from fake_trials import untrue
from observed_windows import seconds, ticks
from tlstax.records.trial import TrialRecord
from tlstax.records.window import CpuSlice
from tlstax.study import Column, Part, ProcessorTable, load_study
from tlstax.topics.tables.measured import Measured, Shown, load_rows, steps, window_mean
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


def shown(*records: TrialRecord, table: ProcessorTable = TABLE) -> list[dict[str, Any]]:
    """What is shown of each part and side."""
    found: dict[tuple[object, object], dict[str, Any]] = {}
    for row in load_rows(table, Measured(STUDY, (ENGINE, OTHER), records)):
        if row.role == "table, published":
            continue
        place = row.more["part"], row.more["side"]
        nothing = {"part": place[0], "side": place[1], "steps": {}, "mean": None}
        own = found.setdefault(place, {**nothing, "window_s": None, "server_rss_bytes": None})
        assert row.case["tls"] == {"off": "off", "on": "1.3"}[str(place[1])]
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
    found = shown(
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
    for side, per_cent in ((on, 50.0), (other, 70.0)):
        assert side["mean"]["system"] == pytest.approx(per_cent)
    assert nothing["shown"].standing == "not run"
    assert (nothing["mean"], nothing["window_s"], nothing["server_rss_bytes"]) == (None, None, None)
    assert nothing["steps"] == {}


def steps_of(*records: TrialRecord) -> dict[tuple[int, int], dict[str, float]]:
    """The table's steps are of 2 s: 2.9 is cut off to whole seconds."""
    return {(until_s, trials): dict(values) for until_s, trials, values in steps(records, 2)}


def test_trials_that_nobody_watched_count_for_memory_alone() -> None:
    seen, empty = watched(*system(8, 8)), watched(block=1)
    lost = unwatched(watched(block=2))
    assert lost.server is not None
    bare = lost.model_copy(update={"server": lost.server.model_copy(update={"rss_bytes": None})})
    off = shown(seen, empty, lost, bare)[0]
    assert off["mean"]["system"] == pytest.approx(8.0)
    assert (off["window_s"], off["server_rss_bytes"]) == (2.0, 400_000_000)
    unseen = shown(empty, lost)[0]
    assert (unseen["mean"], unseen["window_s"], unseen["steps"]) == (None, None, {})
    assert unseen["server_rss_bytes"] == 400_000_000


def test_a_window_is_as_long_as_its_last_slice_ends() -> None:
    """The longest, and not the sum: slices may come in any order."""
    slices = [CpuSlice(at_s=at, took_s=0.5, machine=ticks(idle=9)) for at in (3.0, 1.0)]
    assert shown(watched(*slices))[0]["window_s"] == 3.5
    no_ticks = [CpuSlice(at_s=0.0, took_s=2.0, machine=ticks())]
    off = shown(watched(*no_ticks))[0]
    assert (off["mean"], off["window_s"]) == (None, 2.0)


def test_what_is_not_valid_is_shown_all_the_same() -> None:
    off = shown(untrue(watched(*system(8, 8)), "it was not so"))[0]
    assert off["shown"].standing == "invalid"
    assert off["mean"]["system"] == pytest.approx(8.0)
