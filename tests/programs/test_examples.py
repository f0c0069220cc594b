"""The examples of --help, carried out: each ends well, and what it writes is what the file's name says."""

from __future__ import annotations

import csv
import io
import json
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from fake_sampled_runs import profiled_run
from fake_trials import fake_run
from kept_runs import keep, measuring_nothing
from tlstax.cli import measuring
from tlstax.cli.examples import EXAMPLES
from tlstax.cli.options import MeasuringOptions
from tlstax.cli.report_command import BY_SUFFIX
from tlstax.cli.streams import format_of_name
from tlstax.records.trial import StoredRun
from tlstax.run.preparing import Request
from tlstax.store import Store
from tlstax.store.anonymise import anonymous
from tlstax.store.pack import packed
from tlstax.study import load_study
from tlstax.support.errors import UserMistake
from typed import status_of

ELSEWHERE = {
    "run",
    "ab",
    "study run",
    "library-bench",
    "storm",
    "inspect",
    "advise",
    "predict",
    "machines",
    "runs watch",
    "runs explore",
    "bundle",
    "specimens fetch",
    "specimens verify",
    "specimens remove",
    "specimens add",
    "drivers probe",
}
"""What needs a server, a network or somebody who ends it: carried out by tests/campaigns/newcomer.py, or
by the tests of that command with real servers."""

RE_READ = [
    line
    for words, lines in EXAMPLES.items()
    if words not in ELSEWHERE
    for line in lines
    if "parquet" not in line  # Needs DuckDB: test_parquet.py.
]
LAST = "20261122-195500-cd34"


def is_json(text: str) -> bool:
    return json.loads(text) is not None


def is_page(text: str) -> bool:
    return text.startswith("<!doctype html>") and text.rstrip().endswith("</html>")


def is_csv(text: str) -> bool:
    rows = list(csv.reader(io.StringIO(text)))
    return len(rows) > 5 and len(rows[0]) > 3 and {len(row) for row in rows} == {len(rows[0])}


def is_words(text: str) -> bool:
    return "What TLS costs" in text and not text.startswith(("<", "{", "#"))


KINDS: dict[str, Callable[[str], bool]] = {
    ".html": is_page,
    ".csv": is_csv,
    ".json": is_json,
    ".md": lambda text: text.startswith("## ") and "\n|" in text,
    ".prom": lambda text: text.startswith("# HELP tlstax") or "# TYPE tlstax" in text,
    ".txt": is_words,
    ".svg": lambda text: "<svg" in text[:400],
    ".toml": lambda text: "[factors" in text or "name = " in text,
    ".tlstax": lambda text: text.startswith("tlstax pack 1 "),
    ".parquet": lambda text: text.startswith("PAR1"),
}


def named(stored: StoredRun, run: str) -> StoredRun:
    return stored.model_copy(update={"header": stored.header.model_copy(update={"run": run})})


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs in a store, the last of them profiled, and the files that the examples name."""
    there = tmp_path_factory.mktemp("prepared")
    first, last = fake_run(), named(profiled_run(), LAST)
    with Store.open(there / "data" / "store.sqlite") as store:
        for stored in (first, last):
            keep(store, stored, stored.header.run)
            store.finish(stored.header.run, "complete", "")
    for name, stored in (("main", first), ("other", named(first, "20261120-195500-ab12"))):
        content = packed(anonymous(stored), by="0.1.0", names_left_out=True)
        (there / f"{name}.tlstax").write_bytes(content)
    return there


@pytest.fixture(autouse=True)
def _kept(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("line", RE_READ)
def test_an_example_writes_what_it_says(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command, _, redirected = line.partition(" > ")
    if line.startswith("runs open "):  # What is opened is not among one's own yet.
        monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "another"))
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    status = status_of(monkeypatch, *shlex.split(command))
    shown, said = capsys.readouterr()
    assert status in ({0, 4, 5} if "--max" in line else {0}), said
    written = {path for path in tmp_path.iterdir() if before.get(path) != path.stat().st_mtime_ns}
    files = {path: path.read_bytes().decode(errors="replace") for path in written if path.is_file()}
    if redirected:
        files[Path(redirected)] = shown
    for path, content in files.items():
        kind = KINDS.get(path.suffix)
        assert kind is None or kind(content), (path, content[:200])
    assert shown or files


def test_every_example_is_carried_out_somewhere() -> None:
    assert set(EXAMPLES) >= ELSEWHERE
    assert len(RE_READ) > 20


@pytest.mark.parametrize("suffix", sorted(set(BY_SUFFIX) - {".htm"}))
def test_the_name_of_a_report_says_its_format(suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of both commands that write one: after a run, and while it is measured."""
    file = Path(f"costs{suffix}")
    assert status_of(monkeypatch, "report", "20261121-195500-ab12", "-o", str(file)) == 0
    assert KINDS[suffix](file.read_text(encoding="utf-8"))
    stored = named(fake_run(), "20261123-000000-0000")
    monkeypatch.setattr("tlstax.run.pipeline.run", measuring_nothing(stored))
    while_measured = Path(f"run{suffix}")
    measuring.measured(Request(study=load_study("tax")), MeasuringOptions(report=while_measured))
    assert KINDS[suffix](while_measured.read_text(encoding="utf-8"))


def test_format_overrules_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert status_of(monkeypatch, "report", "last", "--format", "json", "-o", "costs.html") == 0
    assert is_json(Path("costs.html").read_text(encoding="utf-8"))
    assert status_of(monkeypatch, "report", "last", "--format", "html", "-o", "costs.pdf") == 0
    assert is_page(Path("costs.pdf").read_text(encoding="utf-8"))


@pytest.mark.parametrize("rows", ["", "--rows trials"])
@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_the_name_of_an_export_says_its_format(
    suffix: str, rows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert status_of(monkeypatch, "runs", "export", "last", "-o", f"run{suffix}", *rows.split()) == 0
    assert KINDS[suffix](Path(f"run{suffix}").read_text(encoding="utf-8"))


def test_parquet_by_name_asks_for_what_writes_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert status_of(monkeypatch, "runs", "export", "last", "-o", "run.parquet") == 3
    assert "Parquet is written by DuckDB" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            "report last -o costs.pdf",
            "costs.pdf: a report is not written as .pdf; name a file that ends with",
        ),
        ("report last -o costs.parquet", "runs export --format parquet"),
        ("runs export last -o run.xlsx", "run.xlsx: an export is not written as .xlsx"),
        ("flames -o flames.png", "flames.png: a flame graph is not written as .png"),
        ("runs pack last -o main.json", "main.json: a pack is not written as .json"),
        ("bundle -o tlstax.zip", "tlstax.zip: a bundle is not written as .zip"),
        ("advise mysql-9.7 --report page.md", "page.md: the page of an advice is not written as .md"),
        ("self-bench --bytes -o figures.pdf", "figures.pdf: a bench is not written as .pdf"),
        ("library-bench -o figures.html", "figures.html: a bench is not written as .html"),
        ("run --budget 5m --report tls.pdf", "tls.pdf: a report is not written as .pdf"),
        ("study run tax --budget 5m --report tls.docx", "tls.docx: a report is not written as .docx"),
        ("ab --a tls=1.2 --b tls=1.3 --report ab.png", "ab.png: a report is not written as .png"),
    ],
)
def test_a_name_that_says_something_else_is_refused_before_anything_is_done(
    line: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = set(Path().iterdir())
    assert status_of(monkeypatch, *shlex.split(line)) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert set(Path().iterdir()) == there


@pytest.mark.parametrize("name", ["/dev/stdout", "report", "report-2026.11.27", ".hidden"])
def test_a_name_that_says_nothing_leaves_the_usual(name: str) -> None:
    assert format_of_name(Path(name), {".html": "html"}, "terminal", what="a report") == "terminal"


def test_a_pack_by_any_name_is_found_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status_of(monkeypatch, "runs", "pack", "2026", "-o", "baseline") == 2
    assert status_of(monkeypatch, "runs", "pack", "20261121-195500-ab12", "-o", "baseline") == 0
    assert status_of(monkeypatch, "compare", "baseline", "last") == 0
    with pytest.raises(UserMistake):
        format_of_name(Path("a.zip"), {".tlstax": "pack"}, "pack", what="a pack")
    capsys.readouterr()
