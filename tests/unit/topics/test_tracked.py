"""What other tools read of a run: the planted figures, and each format by the parser of its reader."""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from prometheus_client import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families as text_families

import golden
from fake_openssl_study import openssl_run, openssl_study
from report_runs import (
    all_invalid,
    exact_run,
    hostile,
    many_levels,
    noisy_run,
    not_begun,
    one_block,
    one_case_lost,
)
from tlstax.cli.report_command import report_command
from tlstax.records.trial import StoredRun
from tlstax.results.interval import Interval
from tlstax.results.rows import Row
from tlstax.store import open_store
from tlstax.study.outcomes import OUTCOMES
from tlstax.support.errors import UserMistake
from tlstax.topics.tracked import TrackedFormat, metric_name, tracked, tracked_rows

CHOSEN = ("ops_per_s", "latency_p99_us", "server_cpu_us_per_op")

BENCHER_METRIC_FORMAT = {
    "type": "object",
    "minProperties": 1,
    "propertyNames": {"minLength": 1, "maxLength": 1024},
    "additionalProperties": {
        "type": "object",
        "minProperties": 1,
        "propertyNames": {"pattern": "^[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": 64},
        "additionalProperties": {
            "type": "object",
            "properties": {name: {"type": "number"} for name in ("value", "lower_value", "upper_value")},
            "required": ["value"],
            "additionalProperties": False,
        },
    },
}
"""bencher.dev/bmf.json, with the rules for names that its page has beside it."""

BENCHMARK_ACTION = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "properties": {
            "value": {"type": "number"},
            **{name: {"type": "string", "minLength": 1} for name in ("name", "unit", "range", "extra")},
        },
        "required": ["name", "value", "unit"],
        "additionalProperties": False,
    },
}
"""What `BenchmarkResults` in the action's src/extract.ts parses."""

RUNS = {"exact": exact_run, "noisy": noisy_run, "one block": one_block, "many levels": many_levels}


def text_of(stored: StoredRun, form: TrackedFormat, outcomes: tuple[str, ...] = CHOSEN) -> str:
    return tracked(stored, outcomes, form)


def entries(stored: StoredRun, form: TrackedFormat) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(text_of(stored, form))
    jsonschema.validate(found, BENCHMARK_ACTION)
    return found


def families(text: str) -> dict[str, Metric]:
    """By both parsers, which must agree: node_exporter reads the older format."""
    found = list(openmetrics_families(text))
    samples = [(own.name, own.labels, own.value) for family in found for own in family.samples]
    assert samples == [
        (own.name, own.labels, own.value) for family in text_families(text) for own in family.samples
    ]
    keys = [(name, tuple(sorted(labels.items()))) for name, labels, _ in samples]
    assert len(set(keys)) == len(keys), "a scrape with a sample twice is refused"
    return {family.name: family for family in found}


def sample(family: Metric, **labels: str) -> float:
    (found,) = (own.value for own in family.samples if labels.items() <= own.labels.items())
    return float(found)


FIGURES = ("ops_per_s", "server_cpu_us_per_op")


def figure(found: tuple[Row, ...], label: str, of: str) -> tuple[Row, Interval]:
    """The rate of a case, itself or to the baseline."""
    (row,) = (
        own for own in found if (own.outcome, own.of) == (FIGURES[0], of) and own.label.startswith(label)
    )
    return row, row.known


def test_the_planted_figures_are_there_with_what_ran() -> None:
    found = tracked_rows(exact_run(), FIGURES)
    (value, own), (ratio, beside) = (figure(found, "TLS 1.3, reconnecting", of) for of in ("value", "ratio"))
    assert own.point == pytest.approx(1020)
    assert beside.point == pytest.approx(1020 / 5000)
    assert (value.unit, ratio.unit, ratio.baseline["tls"]) == ("1/s", "1", "off")
    assert value.blocks == 8
    assert value.negotiated.startswith("TLSv1.3")
    assert value.case["tls"] == "1.3"


def test_a_baseline_has_no_ratio_and_a_control_no_figure() -> None:
    found = tracked_rows(exact_run(), FIGURES)
    assert {own.of for own in found if own.case["tls"] == "off"} == {"value"}
    assert not any("control" in own.label for own in found)
    assert len({(own.label, own.outcome, own.of) for own in found}) == len(found)


def test_intervals_are_those_of_the_run() -> None:
    _, ratio = figure(tracked_rows(noisy_run(), FIGURES), "TLS 1.3, reconnecting", "ratio")
    assert ratio.low is not None
    assert ratio.high is not None
    assert ratio.low < ratio.point < ratio.high
    alone = tracked_rows(one_block(), FIGURES)[0].known
    assert (alone.low, alone.high, alone.blocks) == (None, None, 1)


def test_a_case_without_a_valid_trial_has_no_figure() -> None:
    assert {own.case["tls"] for own in tracked_rows(one_case_lost(), FIGURES)} == {"off", "1.3"}
    with pytest.raises(UserMistake, match="has no figure of ops_per_s, server_cpu_us_per_op"):
        tracked(all_invalid(), FIGURES, "bencher")


@pytest.mark.parametrize("status", ["interrupted", "failed", "running"])
def test_a_run_that_is_not_whole_is_refused(status: str) -> None:
    with pytest.raises(UserMistake, match=f"is {status}, and only a run that is complete"):
        tracked(exact_run().model_copy(update={"status": status}), FIGURES, "bencher")
    with pytest.raises(UserMistake) as caught:
        tracked(not_begun(), FIGURES, "bencher")
    assert "--resume" in caught.value.remedy


def test_cases_are_named_as_their_study_names_them() -> None:
    stored = openssl_run(openssl_study(connections=(8,))).model_copy(update={"status": "complete"})
    row = next(own for own in tracked_rows(stored, FIGURES) if own.of == "ratio")
    assert str(row.case["tls_library"]) in row.label
    (first, *_) = (own for own in entries(stored, "bigger-is-better") if own["unit"] == "×")
    assert first["name"].endswith(", to plaintext")
    assert f"run {stored.header.run} by tlstax {stored.header.tlstax_version}: " in first["extra"]


def test_a_trial_that_is_not_valid_says_nothing_of_what_ran() -> None:
    found = tracked_rows(noisy_run(), FIGURES)
    assert all(own.known.blocks <= 8 and own.negotiated for own in found)
    trials = families(text_of(noisy_run(), "openmetrics"))["tlstax_trials"]
    counts = {name: sample(trials, verdict=name) for name in ("valid", "invalid", "unknown")}
    assert counts["invalid"] > 0
    assert sum(counts.values()) == len(noisy_run().measured)


@pytest.mark.parametrize("make", RUNS.values(), ids=RUNS)
def test_figures_have_a_name_of_their_own_for_the_action(make: Any) -> None:
    stored = make()
    for form in ("smaller-is-better", "bigger-is-better"):
        found = entries(stored, form)
        assert len({own["name"] for own in found}) == len(found)


def test_directions_are_apart_and_ratios_are_not_values() -> None:
    smaller, bigger = (entries(exact_run(), form) for form in ("smaller-is-better", "bigger-is-better"))
    assert all("Operations a second" in own["name"] for own in bigger)
    assert not any("Operations a second" in own["name"] for own in smaller)
    ratios = [own for own in bigger if own["name"].endswith(", to plaintext")]
    assert {own["unit"] for own in ratios} == {"×"}
    assert {own["unit"] for own in bigger if own not in ratios} == {"per second"}
    (ratio,) = (own for own in ratios if own["name"].startswith("TLS 1.3, reconnecting"))
    assert ratio["value"] == pytest.approx(1020 / 5000, rel=1e-5)
    assert ratio["range"] == "0.204 to 0.204 at 95 %"
    assert ratio["extra"].startswith("8 blocks\nTLSv1.3 ")
    assert " 0 invalid, 0 unknown" in ratio["extra"]


def test_one_block_has_no_range() -> None:
    assert not any("range" in own for own in entries(one_block(), "smaller-is-better"))
    measures = json.loads(text_of(one_block(), "bencher")).values()
    assert {frozenset(own) for case in measures for own in case.values()} == {frozenset({"value"})}
    assert not any(name.endswith("_low_seconds") for name in families(text_of(one_block(), "openmetrics")))


def test_a_direction_without_an_outcome_is_said() -> None:
    with pytest.raises(UserMistake, match="better when bigger"):
        text_of(exact_run(), "bigger-is-better", ("latency_p99_us",))


@pytest.mark.parametrize("make", RUNS.values(), ids=RUNS)
def test_bencher_takes_it(make: Any) -> None:
    jsonschema.validate(json.loads(text_of(make(), "bencher")), BENCHER_METRIC_FORMAT)


def test_bencher_has_both_ends() -> None:
    label = "TLS 1.3, reconnecting for every point select, 8 connections"
    case = json.loads(text_of(noisy_run(), "bencher"))[f"tax: {label}"]
    assert set(case) == {name.replace("_", "-") + end for name in CHOSEN for end in ("", "-ratio")}
    for metric in case.values():
        assert metric["lower_value"] < metric["value"] < metric["upper_value"]


@pytest.mark.parametrize("make", RUNS.values(), ids=RUNS)
def test_prometheus_takes_it(make: Any) -> None:
    found = families(text_of(make(), "openmetrics", tuple(OUTCOMES)))
    assert all(family.type == "gauge" and family.documentation for family in found.values())
    assert all(name.endswith(f"_{family.unit}") for name, family in found.items() if family.unit)


def test_what_each_format_has_of_a_run() -> None:
    golden.compare("tracked-openmetrics", text_of(exact_run(), "openmetrics", ("ops_per_s",)))
    golden.compare("tracked-bencher", text_of(exact_run(), "bencher", ("latency_p99_us",)))
    golden.compare("tracked-smaller", text_of(exact_run(), "smaller-is-better", ("latency_p99_us",)))


def test_units_are_prometheus_own_and_the_last_word() -> None:
    found = families(text_of(exact_run(), "openmetrics"))
    case = {"tls": "1.3", "resumption": "off", "workload": "reconnect"}
    assert sample(found["tlstax_ops_per_second"], **case) == pytest.approx(1020, rel=1e-5)
    assert sample(found["tlstax_ops_to_baseline_ratio"], **case) == pytest.approx(0.204, rel=1e-5)
    in_us = json.loads(text_of(exact_run(), "bencher"))
    label = "TLS 1.3, reconnecting for every point select, 8 connections"
    cpu_us = in_us[f"tax: {label}"]["server-cpu-us-per-op"]["value"]
    assert sample(found["tlstax_server_cpu_per_op_seconds"], case=label) == pytest.approx(cpu_us * 1e-6)
    assert sample(found["tlstax_trials"], verdict="invalid") == 0
    assert sample(found["tlstax_blocks"], figure="tlstax_ops_per_second", **case) == 8
    started = found["tlstax_run_started_timestamp_seconds"]
    assert sample(started, study="tax") > 1.7e9


def test_every_outcome_has_a_metric_of_its_own() -> None:
    names = [
        metric_name(Row(outcome=own.name, unit=own.unit, of=of), end)[0]
        for own in OUTCOMES.values()
        for of in ("value", "ratio")
        for end in ("", "low", "high")
    ]
    assert len(set(names)) == len(names)
    assert "tlstax_statements_per_op" in names, "a number without a unit has none in its name"
    assert [name for name in names if name.endswith("_")] == []


def test_what_a_server_says_of_itself_does_no_harm() -> None:
    for form in ("smaller-is-better", "bencher", "openmetrics"):
        text = text_of(hostile(), form)
        assert "\x1b" not in text
        assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in text
    about = families(text_of(hostile(), "openmetrics"))["tlstax_ran_about"]
    assert any(own.labels["version"].startswith('<script>alert("x")') for own in about.samples)


def test_what_has_a_meaning_in_a_format_is_read_back_as_it_was() -> None:
    stored = exact_run()
    first, *others = stored.header.specimens
    odd = first.model_copy(update={"version": 'C:\\new "1"'})
    header = stored.header.model_copy(update={"specimens": (odd, *others)})
    about = families(text_of(stored.model_copy(update={"header": header}), "openmetrics"))["tlstax_ran_about"]
    assert odd.version in {own.labels["version"] for own in about.samples}


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoredRun:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "data"))
    stored = exact_run()
    with open_store() as store:
        store.adopt(stored)
    return stored


def test_the_file_is_replaced_whole_and_can_be_read_by_others(kept: StoredRun, tmp_path: Path) -> None:
    path = tmp_path / "tlstax.prom"
    path.write_text("an older one", encoding="utf-8")
    before = path.stat().st_ino
    assert report_command(kept.header.run, "openmetrics", path) == 0
    assert path.stat().st_ino != before, "it is another file of the same name, never one half written"
    assert path.read_text(encoding="utf-8") == text_of(
        kept, "openmetrics", ("ops_per_s", "server_cpu_us_per_op")
    )
    assert [own.name for own in tmp_path.glob("*.prom")] == ["tlstax.prom"]
    assert not stat.S_IMODE(path.stat().st_mode) & 0o111


def test_outcomes_are_chosen(kept: StoredRun, capsys: pytest.CaptureFixture[str]) -> None:
    assert report_command(kept.header.run, "bencher", None, "latency_p99_us") == 0
    cases: Mapping[str, Any] = json.loads(capsys.readouterr().out)
    assert {name for own in cases.values() for name in own} == {"latency-p99-us", "latency-p99-us-ratio"}
    with pytest.raises(UserMistake, match="not an outcome"):
        report_command("last", "bencher", None, "speed")
    with pytest.raises(UserMistake, match="--outcomes is for --format smaller-is-better"):
        report_command("last", "html", None, "latency_p99_us")
    with pytest.raises(UserMistake, match="'xml' is not a format"):
        report_command("last", "xml", None)


def test_a_run_that_is_cut_off_leaves_the_file_as_it_was(kept: StoredRun, tmp_path: Path) -> None:
    cut_off = kept.model_copy(
        update={"status": "interrupted", "header": kept.header.model_copy(update={"run": "cut-off"})}
    )
    with open_store() as store:
        store.adopt(cut_off)
    path = tmp_path / "tlstax.prom"
    path.write_text("an older one", encoding="utf-8")
    with pytest.raises(UserMistake, match="only a run that is complete"):
        report_command("cut-off", "openmetrics", path)
    assert path.read_text(encoding="utf-8") == "an older one"
