"""Tables hold what the run's documents hold: every value of both, in columns of one type."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest

from report_runs import EVERY_RUN, Make, changed, with_document
from tlstax.records.trial import StoredRun, TrialRecord
from tlstax.report.formats.render import render
from tlstax.report.run_tables import TABLES, Tabulated, rows_csv, rows_json
from tlstax.study.outcomes import OUTCOMES
from tlstax.topics.answer.export import exported
from tlstax.topics.core.columns import Column, Table
from tlstax.topics.index import TOPICS
from turned_runs import in_turns_and_watched

Row = dict[str, Any]


def with_processes() -> StoredRun:
    """A server of which a control group told what all of its processes used."""

    def of_several(record: TrialRecord) -> TrialRecord:
        if record.window is None or record.window.server is None:
            return record
        several = {"cpu_source": "control group", "processes": 9}
        server = record.window.server.model_copy(update=several)
        return record.model_copy(update={"window": record.window.model_copy(update={"server": server})})

    return changed(in_turns_and_watched(), of_several)


RUNS: dict[str, Make] = {
    **EVERY_RUN,
    "in turns": in_turns_and_watched,
    "of several processes": with_processes,
}

TYPES = {"TEXT": str, "INTEGER": int, "REAL": float}
SLICE_LISTS = {
    "rounds": "round",
    "rounds_s": "round_s",
    **{
        name: name
        for name in (
            *("operations", "finished", "elapsed_s", "latency_sum_s"),
            *("client_cpu_us", "server_cpu_us", "path_cpu_us"),
        )
    },
}


def rows(make: Make, table: str) -> list[Row]:
    return list(Tabulated(make()).rows(table))


def printed(make: Make) -> Row:
    """The run's document as `runs export` prints it."""
    found: Row = json.loads(json.dumps(exported(make()).model_dump(mode="json")))
    return found


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("make", RUNS.values(), ids=RUNS)
def test_every_value_is_of_its_columns_type(make: Make, table: Table) -> None:
    found = rows(make, table.name)
    for row in found:
        assert list(row) == [column.name for column in table.columns]
        for column in table.columns:
            assert row[column.name] is None or type(row[column.name]) is TYPES[column.type]
    keys = [tuple(row[name] for name in table.key) for row in found]
    assert len(set(keys)) == len(keys)
    assert all(part is not None for key in keys for part in key)


@pytest.mark.parametrize("make", RUNS.values(), ids=RUNS)
def test_trials_have_every_outcome_of_the_document(make: Make) -> None:
    trials, found = printed(make)["trials"], rows(make, "trials")
    assert len(found) == len(trials)
    for trial, row in zip(trials, found, strict=True):
        assert {name: row[name] for name in OUTCOMES if row[name] is not None} == trial["outcomes"]
        assert {name: row[f"case_{name}"] for name in trial["case"] if "." not in name} == trial["case"]
        same = ("block", "position", "role", "verdict", "started_at", "took_s")
        assert {name: row[name] for name in same} == {name: trial[name] for name in same}
        assert (row["profiled"], row["captured"]) == (int(trial["profiled"]), int(trial["captured"]))
        assert (row["reasons"] or "") == "; ".join(trial["reasons"])
        assert (row["notes"] or "") == "; ".join(trial["notes"])
        assert (row["failure"] or "") == trial["failure"]
        window = trial["proof"]["window"]
        assert row["window_connections"] == (window and window["connections"])
        assert row["window_handshakes"] == (window and sum(one["count"] for one in window["handshakes"]))


@pytest.mark.parametrize("make", RUNS.values(), ids=RUNS)
def test_slices_have_every_number_of_the_document(make: Make) -> None:
    found = iter(rows(make, "slices"))
    for trial in printed(make)["trials"]:
        slices = trial["slices"] or {"rounds": []}
        for number, _ in enumerate(slices["rounds"]):
            row = next(found)
            assert (row["block"], row["position"], row["slice"]) == (
                trial["block"],
                trial["position"],
                number,
            )
            for listed, column in SLICE_LISTS.items():
                assert row[column] == (slices[listed][number] if slices[listed] else None)
            for alike in ("sitting", "length_s", "lead_in"):
                assert row[alike] == slices[alike]
    assert next(found, None) is None


@pytest.mark.parametrize("make", RUNS.values(), ids=RUNS)
def test_findings_are_those_of_the_document(make: Make) -> None:
    document = json.loads(render(*with_document(make), "json"))
    compared = [
        row
        for row in rows(make, "findings")
        if row["role"] in {"baseline", "control", "treatment"} and row["ratio"] is not None
    ]
    assert len(compared) == len(document["findings"])
    for finding, row in zip(document["findings"], compared, strict=True):
        ratio = finding["ratio"]
        same = (
            "outcome",
            "unit",
            "role",
            "value",
            "baseline_value",
            "noise_floor",
            "judgement",
            "negotiated",
        )
        assert {name: row[name] for name in same} == {name: finding[name] for name in same}
        assert (row["ratio"], row["ratio_low"], row["ratio_high"], row["blocks"]) == (
            ratio["point"],
            ratio["low"],
            ratio["high"],
            ratio["blocks"],
        )
        assert (row["caveats"] or "") == "; ".join(finding["caveats"])


@pytest.mark.parametrize("make", RUNS.values(), ids=RUNS)
def test_observations_are_those_of_the_document(make: Make) -> None:
    by_trial: dict[tuple[int, int], dict[tuple[str, str], float]] = {}
    for row in rows(make, "observations"):
        own = by_trial.setdefault((row["block"], row["position"]), {})
        own[row["source"], row["name"]] = row["value"]
    for trial in printed(make)["trials"]:
        own = by_trial.get((trial["block"], trial["position"]), {})
        window, server = trial["observed"] or {}, trial["proof"]["server"] or {}
        for source, numbers in (
            ("server_status", window.get("status_delta")),
            ("server_status_lifetime", server.get("status_delta")),
        ):
            assert {name: value for (whose, name), value in own.items() if whose == source} == (numbers or {})
        for side in ("server", "client", "path"):
            used = dict(window.get(side) or {})
            numbers = {**used.pop("counters", {}), **used}
            # Which clock told is no number.
            expected = {
                name: value for name, value in numbers.items() if value is not None and name != "cpu_source"
            }
            assert {name: value for (whose, name), value in own.items() if whose == side} == expected


def test_csv_and_json_have_every_value() -> None:
    for name, table in TABLES.items():
        found = rows(in_turns_and_watched, name)
        assert found
        assert json.loads(rows_json(found)) == found
        read = list(csv.DictReader(io.StringIO(rows_csv(table, found))))
        assert len(read) == len(found)
        for text, row in zip(read, found, strict=True):
            for column in table.columns:
                value = row[column.name]
                again = None if text[column.name] == "" else TYPES[column.type](text[column.name])
                assert again == (value if value != "" else None)


@pytest.mark.parametrize(("type_", "value"), [("REAL", "1"), ("INTEGER", 1.5), ("INTEGER", "1")])
def test_a_value_of_another_type_is_refused(type_: Any, value: object) -> None:
    with pytest.raises(TypeError, match="column x is"):
        Column("x", type_, "").holds(value)


@pytest.mark.parametrize("value", [float("inf"), float("nan"), None])
def test_what_is_no_number_is_empty(value: object) -> None:
    assert Column("x", "REAL", "").holds(value) is None


def test_topics_that_share_a_column_mean_the_same_by_it() -> None:
    of_topics = {(topic.name, column) for topic in TOPICS for column in topic.columns}
    meant: dict[str, set[Column]] = {}
    for _, column in of_topics:
        meant.setdefault(column.name, set()).add(column)
    assert {name: columns for name, columns in meant.items() if len(columns) > 1} == {}
