"""`tlstax runs` and `last`: what measured nothing is kept apart, what is deleted is asked for and gone."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from fake_trials import fake_run
from kept_runs import keep
from report_runs import all_invalid
from tlstax.cli.compare_command import compare_command
from tlstax.cli.export_command import publish_command
from tlstax.cli.read_app import CompareOptions
from tlstax.cli.report_command import report_command
from tlstax.cli.runs_command import delete_command, list_command
from tlstax.records.trial import StoredRun
from tlstax.store import open_store
from tlstax.store.anonymise import anonymous
from tlstax.store.pack import packed
from tlstax.support.directories import reports_dir
from tlstax.support.errors import MachineFault, UserMistake

GOOD, EMPTY, SPOILED = "20261121-195500-ab12", "20261122-195500-ab12", "20261123-195500-ab12"


def named(stored: StoredRun, run: str) -> StoredRun:
    return stored.model_copy(update={"header": stored.header.model_copy(update={"run": run})})


WITHOUT_TRIALS = named(fake_run(number_of_blocks=0), EMPTY)


@pytest.fixture(autouse=True)
def _kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run, then one without a trial, as a server leaves it that is not there, then one of invalid ones."""
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path / "data"))
    with open_store() as store:
        for stored in (named(fake_run(), GOOD), WITHOUT_TRIALS, named(all_invalid(), SPOILED)):
            keep(store, stored, stored.header.run)
            store.finish(stored.header.run, "complete", "")


def test_last_is_the_last_that_measured_something(capsys: pytest.CaptureFixture[str]) -> None:
    with open_store() as store:
        assert store.load("last").header.run == GOOD
        assert store.load(EMPTY).header.run == EMPTY
    report_command("last", None, None)
    assert GOOD in capsys.readouterr().out


def test_where_none_measured_anything_it_is_said_which_to_ask_for() -> None:
    with open_store() as store:
        store.delete(GOOD)
        with pytest.raises(UserMistake, match="has measured anything") as caught:
            store.load("last")
    assert f"tlstax report {SPOILED}" in caught.value.remedy


def test_what_measured_nothing_is_listed_apart(capsys: pytest.CaptureFixture[str]) -> None:
    list_command(as_json=False)
    before, _, after = capsys.readouterr().out.partition("Runs that measured nothing")
    assert GOOD in before
    assert GOOD not in after
    assert EMPTY in after
    assert SPOILED in after
    assert EMPTY not in before


@pytest.mark.parametrize("empty", [EMPTY, SPOILED])
def test_what_measured_nothing_is_not_compared(empty: str) -> None:
    with pytest.raises((UserMistake, MachineFault), match=r"(measured|answered) nothing"):
        compare_command(CompareOptions(runs=[GOOD, empty]))


def test_what_measured_nothing_is_not_published(tmp_path: Path) -> None:
    file = tmp_path / "empty.tlstax"
    file.write_bytes(packed(anonymous(WITHOUT_TRIALS), by="0.1.0", names_left_out=True))
    with pytest.raises(UserMistake, match="measured nothing"):
        publish_command(tmp_path / "site", [file])
    assert not (tmp_path / "site").exists()


class Terminal(io.StringIO):
    """Somebody who answers."""

    def isatty(self) -> bool:
        return True


def kept() -> set[str]:
    with open_store() as store:
        return {run.run for run in store.runs()}


def test_a_run_is_deleted_with_its_report_alone(capsys: pytest.CaptureFixture[str]) -> None:
    for run in (GOOD, EMPTY):
        (reports_dir() / f"{run}.html").write_text("a report")
    assert delete_command(GOOD[:8], is_agreed=True) == 0
    assert capsys.readouterr().out == f"deleted run {GOOD} and its report\n"
    assert [path.name for path in reports_dir().iterdir()] == [f"{EMPTY}.html"]
    assert kept() == {EMPTY, SPOILED}


@pytest.mark.parametrize(("answer", "is_gone"), [("y\n", True), ("yes\n", True), ("n\n", False), ("", False)])
def test_a_terminal_is_asked(
    answer: str, is_gone: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys, "stderr", asked)
    assert delete_command(GOOD, is_agreed=False) == 0
    assert asked.getvalue() == f"Delete run {GOOD} for good? [y/N] "
    assert (GOOD not in kept()) == is_gone
    assert capsys.readouterr().out == (f"deleted run {GOOD}\n" if is_gone else f"run {GOOD} is kept\n")


def test_where_nobody_can_be_asked_nothing_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    with pytest.raises(UserMistake, match="nobody can be asked") as caught:
        delete_command(GOOD, is_agreed=False)
    assert "--yes" in caught.value.remedy
    assert GOOD in kept()
