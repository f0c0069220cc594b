"""`runs export`: which rows come in which format, and what does not go together is said in a sentence."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest

from kept_runs import keep
from tlstax.cli.export_command import export_command
from tlstax.cli.runs_app import ExportOptions
from tlstax.store import open_store
from tlstax.support.errors import MachineFault, UserMistake
from turned_runs import in_turns_and_watched


@pytest.fixture(autouse=True)
def _kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "data"))
    with open_store() as store:
        keep(store, in_turns_and_watched())


def export(
    format_: str, rows: str | None = None, outcomes: str | None = None, output: Path | None = None
) -> int:
    return export_command(ExportOptions("last", format_, rows, outcomes, output))


def test_csv_is_the_small_table_unless_rows_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    export("csv")
    usual = capsys.readouterr().out
    export("csv", "blocks")
    assert capsys.readouterr().out == usual
    assert "ops_per_s_ratio" in usual.splitlines()[0]
    export("csv", "slices")
    assert len(list(csv.DictReader(capsys.readouterr().out.splitlines()))) > 100


def test_json_is_the_document_unless_rows_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    export("json")
    trials = json.loads(capsys.readouterr().out)["trials"]
    export("json", "trials")
    assert len(json.loads(capsys.readouterr().out)) == len(trials)


def test_it_can_be_written_to_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    export("csv", "trials", output=tmp_path / "trials.csv")
    assert capsys.readouterr().out == ""
    export("csv", "trials")
    assert (tmp_path / "trials.csv").read_text(encoding="utf-8") == capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (("xml",), "--format: there is no 'xml'"),
        (("csv", "slice"), "--rows: there is no 'slice' (did you mean 'slices'?)"),
        (("json", "blocks"), "--rows blocks is for --format csv alone"),
        (("json", None, "ops_per_s"), "--outcomes is for --format csv and --rows blocks alone"),
        (("csv", "trials", "ops_per_s"), "--outcomes is for --format csv and --rows blocks alone"),
    ],
)
def test_what_does_not_go_together_is_refused(given: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(UserMistake) as caught:
        export(*given)
    assert caught.value.sentence().startswith(sentence)


def test_parquet_without_its_library_says_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(MachineFault) as caught:
        export("parquet", output=tmp_path / "x.parquet")
    assert "the launcher installs it" in caught.value.sentence()
    assert not (tmp_path / "x.parquet").exists()
