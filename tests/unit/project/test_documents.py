"""Documents keep their word: links lead somewhere, pages are listed, shown commands are accepted."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from tlstax.cli import run_command, study_command
from tlstax.cli.app import app, command_line, command_tree
from tlstax.cli.examples import EXAMPLES
from tlstax.external.given_password import GivenPassword
from tlstax.run.preparing import Request
from tlstax.support.errors import UserMistake

ROOT = Path(__file__).parents[3]
LEFT_OUT = {"target", "node_modules", "artifacts"}
LONGEST = {"README.md": 180, "ARCHITECTURE.md": 150}
"""Documents that are to be read in one go, and their most lines."""

UsageError = typer.BadParameter.__mro__[1]
"""What the command-line library raises for words that it does not know; it has no public name."""


def documents() -> dict[str, str]:
    """Every Markdown file of the project by its path."""
    pages = {}
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in LEFT_OUT and not name.startswith(".")]
        for name in names:
            if name.endswith(".md"):
                path = Path(folder, name)
                pages[str(path.relative_to(ROOT))] = path.read_text(encoding="utf-8")
    return pages


PAGES = documents()
SHOWN = sorted(name for name in PAGES if name.startswith("docs/") or name in {"README.md", "bench/README.md"})
"""Documents that show users commands."""


def without_code(text: str) -> str:
    """The prose of a page: blocks between fences and words between backticks are no links."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))


def links(text: str) -> Iterator[str]:
    """The targets of a page's relative links and pictures."""
    for target in re.findall(r"\]\(([^()\s]+)\)", without_code(text)):
        if not re.match(r"[a-z]+:", target):
            yield target


def anchors(text: str) -> set[str]:
    """What the headings of a page are called in links, by GitHub's rule: small letters, dashes for spaces."""
    headings = re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", sorted(PAGES))
def test_every_link_leads_somewhere(page: str) -> None:
    dead = []
    for target in links(PAGES[page]):
        path, _, anchor = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text(encoding="utf-8"))):
            dead.append(target)
    assert dead == []


def test_links_and_headings_are_seen() -> None:
    page = "# A page: “of” `two`\n[one](a.md), ![two](b.png) and [three](https://c.example)\n`[no](link)`\n"
    assert list(links(page)) == ["a.md", "b.png"]
    assert anchors(page) == {"a-page-of-two"}


def test_every_page_of_docs_is_in_the_index() -> None:
    named = set(re.findall(r"[\w-]+\.md", PAGES["docs/README.md"]))
    assert {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"} - named == set()


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/decisions.md"])
def test_files_that_are_named_are_there(page: str) -> None:
    named = re.findall(r"`((?:[\w.-]+/)+[\w.-]*)`", PAGES[page])
    places = (ROOT, ROOT / "lab" / "tlstax", ROOT / "engine", ROOT / "engine" / "crates", ROOT / "tests")
    assert len(named) > 5
    assert [name for name in named if not any((place / name).exists() for place in places)] == []


@pytest.mark.parametrize("page", LONGEST)
def test_a_page_is_short_enough_to_be_read(page: str) -> None:
    assert PAGES[page].count("\n") <= LONGEST[page]


def commands(page: str) -> Iterator[list[str]]:
    """The command lines of tlstax in a page's indented blocks, as words, up to a pipe or a redirection."""
    for line in re.findall(r"^    \./tlstax (.+)$", PAGES[page], re.MULTILINE):
        words = shlex.split(line, comments=True)
        end = next((place for place, word in enumerate(words) if word in {"|", ">"}), len(words))
        yield words[:end]


def parse(words: list[str]) -> None:
    """Have the options read by the command that the words begin with, which is not carried out."""
    command: Any = command_line()
    rest = list(words)
    while hasattr(command, "commands"):
        command = command.commands[rest.pop(0)]
    command.make_context(command.name, rest)


def examples() -> Iterator[list[str]]:
    """The command lines that helps show, as words, up to a redirection; examples of files are not there."""
    for lines in EXAMPLES.values():
        yield from (shlex.split(line.partition(" > ")[0]) for line in lines)


SHOWN_COMMANDS = sorted(
    {tuple(words) for page in SHOWN for words in commands(page)} | set(map(tuple, examples()))
)


def accept(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Carry out `run` and `study run` until they would measure; of all other commands, read the options."""
    begun: list[Request] = []

    def note(request: Request, *_: object) -> int:
        begun.append(request)
        return 0

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(run_command, "measure", note)
    monkeypatch.setattr(study_command, "measure", note)
    monkeypatch.setattr(study_command, "_external_memory", lambda options, _: note(options))
    if words[-1] == "--resume":
        parse([*words, "last"])
    elif words[0] == "run" or words[:2] == ["study", "run"]:
        app(words, standalone_mode=False, obj=GivenPassword(b"a password"))
        assert len(begun) == 1
    else:
        parse(words)


def test_commands_are_found() -> None:
    assert ("run",) in SHOWN_COMMANDS
    assert len(SHOWN_COMMANDS) > 40


def test_every_command_shows_an_example_of_itself() -> None:
    for command in (one for one in command_tree().walk() if not one.commands):
        beginning = f"tlstax {' '.join(command.words)}"
        assert 1 <= len(command.examples) <= 3, beginning
        assert all(f"{example} ".startswith(f"{beginning} ") for example in command.examples)


@pytest.mark.parametrize("words", SHOWN_COMMANDS, ids=" ".join)
def test_a_shown_command_is_accepted(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    accept(list(words), monkeypatch)


@pytest.mark.parametrize("line", ["run --tls 1.4", "study run nothing", "report --colour", "fly"])
def test_a_command_that_would_fail_is_seen(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises((UserMistake, UsageError, KeyError)):
        accept(line.split(), monkeypatch)
