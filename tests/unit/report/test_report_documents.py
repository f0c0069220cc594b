"""The report for other programs and for issues: JSON, CSV, Markdown."""

from __future__ import annotations

import csv
import json
from io import StringIO

import pytest

from report_runs import (
    EVERY_RUN,
    HOSTILE,
    Make,
    exact_run,
    hostile,
    many_levels,
    noisy_run,
    not_begun,
    page_of,
    two_blocks,
    with_document,
)
from tlstax.report.formats.render import FORMATS, render
from tlstax.results.document import RunDocument


def sheet(make: Make) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(render(*with_document(make), "csv"))))


@pytest.mark.parametrize("make", EVERY_RUN.values(), ids=EVERY_RUN)
def test_every_format_shows_every_run(make: Make) -> None:
    stored, document = with_document(make)
    for form in FORMATS:
        text = page_of(make) if form == "html" else render(stored, document, form)
        assert text.strip()


@pytest.mark.parametrize("make", EVERY_RUN.values(), ids=EVERY_RUN)
def test_json_is_the_document_itself(make: Make) -> None:
    stored, document = with_document(make)
    text = render(stored, document, "json")
    assert json.loads(text)["schema"] == 3
    assert RunDocument.model_validate_json(text) == document


def test_csv_has_a_row_for_every_finding_and_the_planted_ratio() -> None:
    _, document = with_document(exact_run)
    found = [row for row in sheet(exact_run) if row["topic"] in {"", "unpaired"}]
    assert len(found) == len(document.findings) + len(document.rows_of("unpaired"))
    (row,) = (
        row
        for row in found
        if row["outcome"] == "ops_per_s"
        and (row["case_tls"], row["case_resumption"], row["case_workload"]) == ("1.3", "off", "reconnect")
    )
    assert float(row["ratio"]) == pytest.approx(1020 / 5000)
    assert float(row["value"]) == pytest.approx(1020)
    assert (row["baseline_tls"], row["unit"], row["role"], row["blocks"]) == ("off", "1/s", "treatment", "8")


def test_csv_keeps_an_outcome_that_the_baseline_lacks() -> None:
    handshakes = [row for row in sheet(exact_run) if row["outcome"] == "tls_handshake_p50_us"]
    assert handshakes
    for row in handshakes:
        assert float(row["value_low"]) <= float(row["value"]) <= float(row["value_high"])
        assert row["ratio"] == row["baseline_value"] == ""


def test_csv_of_nothing_still_has_its_columns() -> None:
    assert render(*with_document(not_begun), "csv").startswith("run,study,topic,outcome,unit,role,case_tls,")


@pytest.mark.parametrize("start", ["=", "+", "-", "@"])
def test_csv_runs_no_formula(start: str) -> None:
    stored, document = with_document(two_blocks)
    formula = f"{start}cmd|' /C calc'!A0"
    findings = tuple(finding.model_copy(update={"negotiated": formula}) for finding in document.findings)
    text = render(stored, document.model_copy(update={"findings": findings}), "csv")
    assert {row["negotiated"] for row in csv.DictReader(StringIO(text)) if row["ratio"]} == {f"'{formula}"}


def test_markdown_tables_are_whole() -> None:
    text = render(*with_document(noisy_run), "md")
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == 2 * (2 + 5)
    assert {line.count(" | ") for line in table} == {5, 6}
    assert "| TLS 1.3 | 1,010 (÷4.94 [4.85 … 5.03])" in text
    assert "### Reconnecting for every point select, 8 connections" in text


def test_markdown_takes_nothing_of_a_server_for_markup() -> None:
    text = render(*with_document(hostile), "md")
    assert "<script" not in text.replace("\\<", "")
    assert "\x1b" not in text
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.replace("\\|", "").count(" | ") in {5, 6}


def test_markdown_has_a_table_for_each_group() -> None:
    text = render(*with_document(many_levels), "md")
    assert "1 connection\n" in text
    assert "64 connections\n" in text


def test_what_is_hostile_is_kept_word_for_word_where_it_harms_nobody() -> None:
    text = render(*with_document(hostile), "json")
    assert json.loads(text)["specimens"][0]["version"] == HOSTILE
