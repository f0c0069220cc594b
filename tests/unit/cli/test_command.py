"""A command is a dataclass: its fields are its options, and say what goes with what."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
import typer
from typer.main import get_command

from tlstax.cli import app
from tlstax.cli.app import command_tree
from tlstax.cli.command import FromEnvironment, With, command, words_of
from tlstax.support.errors import UserMistake
from typed import status_of


@dataclass(frozen=True)
class Load:
    """Options that several commands have."""

    rate: Annotated[str | None, typer.Option(help="Operations a second.")] = None
    arrivals: Annotated[str | None, typer.Option(), With("rate", "give a rate")] = None
    password: Annotated[bytes | None, FromEnvironment] = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """Options that a class of them inherits."""

    context: Annotated[str | None, typer.Option(help="Where.")] = None


@dataclass(frozen=True)
class Options(Shown):
    """Those of the command."""

    name: Annotated[str, typer.Argument()]
    load: Load = field(default_factory=Load)
    settings: Annotated[list[str] | None, typer.Option("--set")] = None
    json: Annotated[bool, typer.Option("--json")] = False


def typed(*words: str, password: bytes | None = None) -> Options:
    """What the command is given when this is typed."""
    app, seen = typer.Typer(), []

    @command(app, "go")
    def go(options: Options) -> int:
        """Go."""
        seen.append(options)
        return 3

    @app.callback()
    def root() -> None:
        """More than one command."""

    do: Any = get_command(app)
    assert do(["go", *words], standalone_mode=False, obj=password) == 3
    return seen[0]


def test_what_is_typed_comes_as_one_object() -> None:
    assert typed("x") == Options("x")
    options = typed("x", "--rate", "5", "--set", "a=1", "--set", "b=2", "--json", password=b"secret")
    assert options == Options("x", Load("5", None, b"secret"), ["a=1", "b=2"], json=True)
    assert "secret" not in repr(options)
    assert typed("x", "--context", "there") == Options("x", context="there")


def test_an_option_without_the_one_that_it_goes_with_is_refused() -> None:
    assert typed("x", "--arrivals", "poisson", "--rate", "5").load.arrivals == "poisson"
    with pytest.raises(UserMistake, match="--arrivals goes with --rate") as refused:
        typed("x", "--arrivals", "poisson")
    assert refused.value.remedy == "give a rate"


def test_the_help_has_every_command_in_a_group() -> None:
    grouped = [name for names in app.GROUPS.values() for name in names]
    assert [one.words[0] for one in command_tree().commands] == grouped


@pytest.mark.parametrize("words", [("run", "-h"), ("help", "run")])
def test_help_is_asked_for_in_every_way(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = []
    for typed_words in (words, ("run", "--help")):
        monkeypatch.setattr("sys.argv", ["tlstax", *typed_words])
        with pytest.raises(SystemExit) as ended:
            app.main()
        assert ended.value.code == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert "Usage: tlstax run" in said[0]


@pytest.mark.parametrize(
    "words",
    [
        ["a name"],
        ["n", "--context", "there", "--rate", "5", "--arrivals", "uniform", "--json"],
        ["n", "--set", "a=1", "--set", "b=2"],
    ],
)
def test_options_are_the_words_that_make_them(words: list[str]) -> None:
    assert sorted(words_of(typed(*words))) == sorted(words)
    assert typed(*words_of(typed(*words))) == typed(*words)


@pytest.mark.parametrize("columns", ["40", "80"])
def test_no_list_of_commands_cuts_a_sentence_off(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where there is room each has one line, where there is less as many as it takes."""
    monkeypatch.setenv("COLUMNS", columns)
    for group in (one for one in command_tree().walk() if one.commands):
        assert status_of(monkeypatch, *group.words, "--help") == 0
        shown = capsys.readouterr().out
        assert "..." not in shown.partition("Options:")[2]
        flowing = " ".join(shown.split())
        assert [one.words for one in group.commands if one.summary not in flowing] == []
        assert max(map(len, shown.splitlines())) <= max(50, int(columns) - 2)
