"""The README's questions: each is asked as the README puts it, and answered from the store's views."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fake_trials import fake_run
from kept_runs import keep
from tlstax.store import Store, row_tables
from tlstax.store.explore.guarded import guarded
from tlstax.store.explore.questions import MOST_ROWS, QUESTIONS, ratio_chart
from tlstax.study import along_paths, load_study, override
from tlstax.topics.answer.document import document
from turned_runs import in_turns_and_watched

ROOT = Path(__file__).resolve().parents[4]
BY_NAME = {one.name: one for one in QUESTIONS}


@pytest.fixture
def filled(store: Store) -> Store:
    run = in_turns_and_watched()
    keep(store, run)
    store.finish(run.header.run, "complete", "")
    row_tables.write(store, run.header.run, row_tables.rows_of(run))
    return store


def answered(store: Store, name: str, run: str = "", outcome: str = "") -> list[dict[str, Any]]:
    with closing(sqlite3.connect(f"file:{store.path}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        asked = connection.execute(BY_NAME[name].sql, {"run": run, "outcome": outcome})
        return [dict(row) for row in asked]


def test_the_questions_are_the_readmes() -> None:
    headings = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert [one.title for one in QUESTIONS if f"### {one.title}" not in headings] == []


def test_what_tls_costs_is_what_the_report_says(filled: Store) -> None:
    found = document(filled.load("last")).findings
    expected = [
        (one.ratio.point, one.ratio.low, one.ratio.high, one.value)
        for one in found
        if one.outcome == "server_cpu_us_per_op" and one.role != "baseline"
    ]
    rows = answered(filled, "what-does-tls-cost-my-server")
    assert [(row["ratio"], row["ratio_low"], row["ratio_high"], row["value"]) for row in rows] == expected
    other = answered(filled, "what-does-tls-cost-my-server", outcome="ops_per_s")
    assert {row["outcome"] for row in other} == {"ops_per_s"}
    assert answered(filled, "what-does-tls-cost-my-server", run="another") == []


def test_reconnecting_is_beside_the_same_case_on_kept_connections(filled: Store) -> None:
    rows = answered(filled, "what-does-reconnecting-cost")
    assert len(rows) > 1
    for row in rows:
        assert row["ratio"] == row["value"] / row["value_on_kept_connections"]
        assert "reconnecting" in row["label"]


@pytest.mark.parametrize("name", list(BY_NAME)[2:])
def test_a_question_is_not_answered_by_a_run_that_did_not_ask_it(filled: Store, name: str) -> None:
    assert answered(filled, name) == []


def test_a_run_along_paths_is_no_answer_to_what_distance_adds(store: Store) -> None:
    study = override(along_paths(load_study("tax"), ["direct", "stunnel"]), "tls", ["off"])
    run = fake_run(study, invalid=False, number_of_blocks=2)
    keep(store, run)
    store.finish(run.header.run, "complete", "")
    row_tables.write(store, run.header.run, row_tables.rows_of(run))
    assert answered(store, "what-does-distance-add") == []
    assert answered(store, "what-does-a-tunnel-add")


@pytest.mark.parametrize("name", BY_NAME)
def test_whatever_a_question_finds_has_a_chart(filled: Store, name: str) -> None:
    rows = answered(filled, name)
    chart = ratio_chart(rows[0] if rows else (), rows)
    assert (chart is not None) == bool(rows)
    if chart is not None:
        assert len(chart.places) == min(len(rows), MOST_ROWS)
        for place, row in zip(chart.places, rows, strict=False):
            assert (place.at > chart.one) == (row["ratio"] > 1)
            assert 0 <= place.low <= place.at <= place.low + place.width + 0.02 <= 100.02


def test_a_query_of_other_columns_has_no_chart() -> None:
    assert ratio_chart(("label", "ratio"), [{"label": "x", "ratio": 2.0}]) is None


def test_more_rows_than_a_chart_has_are_said() -> None:
    row = {"label": "x", "ratio": 2.0, "ratio_low": 1.5, "ratio_high": 2.5}
    chart = ratio_chart(row, [row] * (MOST_ROWS + 3))
    assert chart is not None
    assert (len(chart.places), chart.left_out) == (MOST_ROWS, 3)


@pytest.mark.parametrize(
    ("path", "host", "status"),
    [
        ("/secret/store", b"127.0.0.1:80", 200),
        ("/secret/store", b"elsewhere.example", 404),
        ("/secret/store", b"", 404),
        ("/store", b"127.0.0.1:80", 404),
        ("/", b"127.0.0.1:80", 404),
    ],
)
def test_only_the_printed_address_leads_in(path: str, host: bytes, status: int) -> None:
    said: list[Any] = []

    async def pages(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message: Any) -> None:
        said.append(message)

    async def receive() -> Any:
        raise AssertionError("nothing is read")

    application: Any = guarded(pages, prefix="/secret/", hosts=frozenset({"127.0.0.1:80"}))
    scope = {"type": "http", "path": path, "headers": [(b"host", host)] if host else []}
    with pytest.raises(StopIteration):  # nothing waits for anything, so one step is all of it
        application(scope, receive, send).send(None)
    assert said[0]["status"] == status
    if status == 200:
        assert b"default-src 'self'" in dict(said[0]["headers"])[b"content-security-policy"]
