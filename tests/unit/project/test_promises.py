"""What is promised in several places is the same in all of them: the oldest Rust and Python, the help."""

from __future__ import annotations

import tomllib
from pathlib import Path

import renew_help

ROOT = Path(__file__).parents[3]


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_oldest_rust_is_one_version() -> None:
    promised = tomllib.loads(read("engine/Cargo.toml"))["workspace"]["package"]["rust-version"]
    assert f'minimum_rust="{promised}"' in read("setup/system.sh")
    assert f"Rust {promised} or later" in read("README.md")


def test_the_oldest_python_is_one_version() -> None:
    promised = tomllib.loads(read("pyproject.toml"))["project"]["requires-python"].removeprefix(">=")
    system = read("setup/system.sh")
    assert f'minimum_python="{promised}"' in system
    assert f"sys.version_info < ({promised.replace('.', ', ')})" in system
    assert f"Python {promised} or later" in read("README.md")


def test_the_launchers_help_is_the_commands_own() -> None:
    assert read("setup/help.txt") == renew_help.text(), "run setup/renew-help"


def test_the_launchers_list_of_words_is_the_commands_own() -> None:
    assert read("setup/words.txt") == renew_help.words(), "run setup/renew-help"


def test_the_manual_page_is_the_commands_own() -> None:
    page = read("docs/tlstax.1")
    assert page == renew_help.manual(), "run setup/renew-help"
    assert page.isascii(), "a character has no name in setup/manual_page.py"
    assert "\n.SH EXIT STATUS\n.TP\n\\fB0\\fR\n" in page
