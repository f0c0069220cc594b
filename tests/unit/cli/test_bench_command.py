"""How every bench goes from its options to its exit status, with a bench that measures nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from library_runs import MACHINE
from tlstax.cli import benches_command as benches
from tlstax.cli.benches_command import bench_command
from tlstax.cli.exit import INTERRUPTED
from tlstax.cli.options import BenchOptions
from tlstax.results.document import BenchDocument, BenchStatus
from tlstax.results.rows import Row, Told
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.topics.core.section import Section
from tlstax.topics.core.table import Number, Table
from tlstax.topics.core.topic import TopicOf


def sections(told: Told, _: BenchDocument) -> Iterator[Section]:
    table = Table("", ("weight",), [(row.label, Number(row.value)) for row in told.rows], ())
    yield Section((table,), "Stones")


TOPIC = TopicOf[list[Row], BenchDocument]("stones", "Stones", list, sections)


def weighed(status: BenchStatus = "complete", why: str = "") -> Callable[[object], BenchDocument]:
    """What measures: a document that ended so."""
    rows = [Row(outcome="weight", unit="kg", label="granite", value=12.5)]
    document = BenchDocument(
        bench="stones",
        status=status,
        stopped_because=why,
        started_at="2026-11-27T00:00:00+00:00",
        tlstax_version="0.1.0",
        machine=MACHINE,
        facts={},
        told=TOPIC.told(rows),
    )
    return lambda _: document


@pytest.mark.parametrize(
    ("status", "exit_status"), [("complete", 0), ("budget", 0), ("interrupted", INTERRUPTED)]
)
@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (BenchOptions(), "granite    12.5"),
        (BenchOptions(format_name="md"), "| granite | 12.5 |"),
        (BenchOptions(format_name="csv"), "stones,2026-11-27T00:00:00+00:00,weight,kg,,granite,12.5"),
        (BenchOptions(json=True), '"bench": "stones"'),
        (BenchOptions(format_name="csv", json=True), '"bench": "stones"'),
    ],
)
def test_it_is_shown_as_asked_and_says_how_it_ended(
    status: BenchStatus,
    exit_status: int,
    options: BenchOptions,
    shown: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert bench_command(TOPIC, options, weighed(status)) == exit_status
    assert shown in capsys.readouterr().out


@pytest.mark.parametrize(
    ("suffix", "begins"),
    [(".json", "{"), (".csv", "bench,"), (".md", "### Stones"), (".txt", "Stones\n"), ("", "{")],
)
def test_it_is_written_as_well_in_the_format_of_the_file(
    suffix: str, begins: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / f"stones{suffix}"
    assert bench_command(TOPIC, BenchOptions(output=file), weighed()) == 0
    assert capsys.readouterr().out.startswith("Stones\n")
    assert file.read_text(encoding="utf-8").startswith(begins)


def test_what_a_failed_one_knows_is_shown_and_written_before_it_is_the_machines_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "stones.json"
    with pytest.raises(MachineFault, match="the scales broke"):
        bench_command(TOPIC, BenchOptions(output=file), weighed("failed", "the scales broke"))
    assert "granite" in capsys.readouterr().out
    assert json.loads(file.read_text(encoding="utf-8"))["status"] == "failed"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (BenchOptions(format_name="html"), "--format: there is no format 'html'"),
        (BenchOptions(format_name="jsn"), "did you mean 'json'"),
        (BenchOptions(output=Path("stones.html")), "a bench is not written as .html"),
        (BenchOptions(output=Path("/nowhere/stones.md")), "/nowhere/stones.md cannot be written"),
    ],
)
def test_what_cannot_be_shown_or_written_is_refused_before_anything_is_measured(
    options: BenchOptions, sentence: str
) -> None:
    def measure(_: object) -> BenchDocument:
        raise AssertionError("it was measured")

    with pytest.raises(UserMistake) as caught:
        bench_command(TOPIC, options, measure)
    assert sentence in caught.value.sentence()


@pytest.mark.parametrize(("form", "quiet"), [("terminal", False), ("csv", False), ("json", True)])
def test_progress_is_silent_beside_json_and_gone_at_the_end(
    form: str, quiet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []

    class Line:
        def __init__(self, *, quiet: bool) -> None:
            seen.append(quiet)

        def close(self) -> None:
            seen.append("closed")

    monkeypatch.setattr(benches, "ProgressLine", Line)
    bench_command(TOPIC, BenchOptions(format_name=form), weighed())
    assert seen == [quiet, "closed"]
