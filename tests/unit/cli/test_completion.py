"""What shells complete is what there is: commands, options, and names from the tables that check them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kept_runs import NAME, RUN, keep
from tlstax import __main__ as program
from tlstax.cli.app import Command, command_tree
from tlstax.cli.completion import names, scripts
from tlstax.cli.completion.scripts import SHELLS, script, tables
from tlstax.store import Store
from tlstax.support.errors import UserMistake

TREE = command_tree()
TABLES = tables(TREE)


def commands() -> Iterator[Command]:
    return TREE.walk()


def test_every_command_and_option_is_in_the_tables() -> None:
    for command in commands():
        key = " ".join(command.words)
        listed = [line.split("\t")[0] for line in TABLES.options[key]]
        assert [name for option in command.options for name in option.names] == listed[:-1]
        assert [line.split("\t")[0] for line in TABLES.commands[key]] == [
            c.words[-1] for c in command.commands
        ]
    assert len(list(commands())) > 30


def test_a_flag_takes_no_value_and_every_other_option_does() -> None:
    assert "run --json" not in TABLES.values
    assert TABLES.values["run --budget"] == ["any"]
    assert TABLES.values["run --server"] == ["factor-server"]


def test_names_are_those_that_are_accepted() -> None:
    assert "mysql-9.7" in TABLES.words["factor-server"]
    assert "openssl-3.5.5" in TABLES.words["libraries"]
    assert {"point-select", "reconnect"} <= set(TABLES.words["factor-workload"])
    assert {"tls=1.3", "rtt_ms=", "certificate=ec-p256"} <= set(TABLES.words["settings"])
    assert TABLES.words["formats"] == ("terminal", "html", "md", "csv", "json")


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("report :", "runs"),
        ("compare :", "packs"),
        ("explain --against", "any"),
        ("study run :", "studies"),
        ("study run --set", "settings"),
        ("specimens fetch :", "specimens"),
        ("drivers probe :", "drivers"),
        ("runs export --format", "export-formats"),
        ("inspect :", "any"),
    ],
)
def test_a_value_is_completed_with_what_its_place_takes(place: str, kind: str) -> None:
    assert TABLES.values[place] == [kind]


def test_every_parameter_that_is_spoken_of_is_there() -> None:
    there = {one.name for command in commands() for one in (*command.options, *command.arguments)}
    assert scripts.named_parameters() <= there


def test_what_the_program_is_asked_for_it_knows() -> None:
    assert {name for name, kind in scripts.KINDS.items() if kind.asked} == set(names.NAMES)


@pytest.mark.parametrize("shell", SHELLS)
def test_no_line_ends_its_quotation(shell: str) -> None:
    """Nor is there any placeholder left."""
    for table in (TABLES.commands, TABLES.options, TABLES.values, TABLES.words, TABLES.traits):
        assert not [line for lines in table.values() for line in lines if "'" in line or "\\" in line]
    written = script(shell, TREE)
    assert "@TABLES@" not in written
    assert "@WORD@" not in written


def test_runs_are_named_with_their_studies(
    store: Store, path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(store, RUN)
    monkeypatch.setenv("TLSTAX_DATA", str(path.parent))
    monkeypatch.setattr("sys.argv", ["tlstax", names.WORD, "runs"])
    assert program.start() == 0
    assert capsys.readouterr() == (f"{NAME}\t{RUN.header.study.name}\n", "")


@pytest.mark.parametrize("content", [None, b"", b"no database"])
def test_a_store_that_cannot_be_read_has_no_names_and_nothing_is_said(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TLSTAX_DATA", str(tmp_path))
    if content is not None:
        (tmp_path / "store.sqlite").write_bytes(content)
        (tmp_path / "specimens.json").write_bytes(content)
    assert names.print_names([*names.NAMES, "of no kind"]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_cache_that_cannot_be_used_is_nothing_to_a_key_press(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TLSTAX_DATA", "/a:b")
    assert names.print_names(["runs"]) == 0
    assert capsys.readouterr() == ("", "")


def test_another_shell_is_the_users_mistake() -> None:
    with pytest.raises(UserMistake, match="there is no completion for 'tcsh'"):
        script("tcsh", TREE)
