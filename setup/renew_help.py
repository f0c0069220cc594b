"""Writes setup/help.txt, for a launcher that has nothing set up yet, and the manual page docs/tlstax.1.

`setup/renew-help` runs it in the right environment.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from typer.main import get_command

from manual_page import manual_page
from tlstax import __version__
from tlstax.cli.app import app
from tlstax.cli.command_tree import command_tree

WIDTH = 78
"""What an 80-column terminal gives."""
FILE = Path(__file__).with_name("help.txt")
DOCS = Path(__file__).resolve().parents[1] / "docs"
MANUAL = DOCS / "tlstax.1"


def text() -> str:
    """The whole help: a line with the version, then a heading and its help for each command."""
    sections = (f"==> {' '.join(words)}\n{help_text}\n" for words, help_text in _commands())
    return f"tlstax {__version__}\n" + "".join(sections)


def manual() -> str:
    """The whole manual page."""
    return manual_page(command_tree(), (DOCS / "command-line.md").read_text(encoding="utf-8"))


def _commands() -> Iterator[tuple[tuple[str, ...], str]]:
    """Every command with the words that lead to it, groups before what is in them."""
    waiting = [(("tlstax",), get_command(app), None)]
    while waiting:
        words, command, parent = waiting.pop(0)
        context = type(command).context_class(
            command, info_name=words[-1], parent=parent, terminal_width=WIDTH, max_content_width=WIDTH
        )
        yield words, command.get_help(context)
        inside = getattr(command, "commands", {})
        waiting += [((*words, name), inner, context) for name, inner in inside.items() if not inner.hidden]


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
    MANUAL.write_text(manual(), encoding="utf-8")
