"""Commands that documents, messages, pages and templates name are there, with the options that they have."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tlstax.cli.app import Command, command_tree
from tlstax.cli.old_spellings import NOW

ROOT = Path(__file__).parents[3]
SUFFIXES = {".md", ".py", ".sh", ".j2", ".js", ".toml", ".yml", ".rs", ".html"}
LEFT_OUT = ("CHANGELOG.md", "tests/", "docs/json.md", "lab/tlstax/cli/old_spellings.py")
OF_OLD_SPELLINGS = {
    *("tlstax self-bench --bytes", "tlstax self-bench --bytes --budget 1m", "tlstax self-bench --budget 13m"),
}
"""What is told of a command that is in no help, and of a figure that was measured by what it was called."""

NAMED = re.compile(r"`(?:\./)?(tlstax [a-z][^`]*)`|<code>(tlstax [a-z][^<]*)</code>")
TYPED = re.compile(r'^[ \t]+(?:\./|"\$\w+/)?tlstax"? ([a-z].*)$|"\$TLSTAX" ([a-z].*)$', re.MULTILINE)


def files() -> Iterator[tuple[str, str]]:
    """The text of every file that people read, or that speaks to them, by its path."""
    listed = [
        path
        for folder in ("docs", "lab", "setup", "bench", "integrations", "drivers", "contract")
        for path in (ROOT / folder).rglob("*")
    ]
    for path in (*listed, *ROOT.glob("*.md"), ROOT / "action.yml"):
        name = str(path.relative_to(ROOT))
        if path.suffix in SUFFIXES and not name.startswith(LEFT_OUT) and "/target/" not in name:
            yield name, path.read_text(encoding="utf-8")


def named(text: str) -> Iterator[str]:
    """The command lines in a text: between backticks, in a page, or typed on a line of its own."""
    for found in NAMED.finditer(text):
        yield " ".join((found[1] or found[2]).split())
    for found in TYPED.finditer(text):
        yield f"tlstax {found[1] or found[2]}"


def mistake(line: str, tree: Command) -> str:
    """What a command line has that there is not; empty where all of it is there."""
    words = re.split(r"\s+(?:#|>|\||&&)|[;)]", line)[0].split()[1:]
    command = tree
    while words and command.commands:
        inside = {one.words[-1]: one for one in command.commands}
        if words[0] not in inside:
            break
        command = inside[words.pop(0)]
    if command is tree and words and words[0] not in {"help", "node"}:
        return words[0]
    if command.commands and words and re.fullmatch(r"[a-z-]+", words[0]):
        return words[0]
    known = {name for option in command.options for name in option.names} | {"--help", "-h"}
    options = (re.match(r"--[a-z][a-z-]*", word.strip("'\"[](")) for word in words)
    return next((found[0] for found in options if found and found[0] not in known), "")


TREE = command_tree()
LINES = sorted({(name, line) for name, text in files() for line in named(text)})


def test_command_lines_are_found_everywhere() -> None:
    places = {name.partition("/")[0] for name, _ in LINES}
    assert places >= {"README.md", "docs", "lab", "bench", "action.yml", "integrations"}
    assert len(LINES) > 150


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("tlstax pack last", "pack"),
        ("tlstax runs pak", "pak"),
        ("tlstax run --servr x", "--servr"),
        ("tlstax runs pack last -o x && tlstax", ""),
        ("tlstax study run memory --blocks 2", ""),
    ],
)
def test_what_there_is_not_is_seen(line: str, wrong: str) -> None:
    assert mistake(line, TREE) == wrong


def test_every_command_that_is_named_is_there() -> None:
    wrong = {
        (name, line): word
        for name, line in LINES
        if line not in OF_OLD_SPELLINGS and (word := mistake(line, TREE))
    }
    assert wrong == {}


def test_nothing_that_is_old_is_shown() -> None:
    shown = {" ".join(command.words) for command in TREE.walk()}
    assert not shown & NOW.keys()
    assert {new for new in NOW.values() if not new.startswith("study run ")} <= shown
