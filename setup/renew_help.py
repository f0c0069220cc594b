"""Writes setup/help.txt and setup/words.txt, for a launcher that has nothing set up yet, and docs/tlstax.1.

`setup/renew-help` runs it in the right environment.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from manual_page import manual_page
from tlstax import __version__
from tlstax.cli.app import command_line, command_tree
from tlstax.cli.old_spellings import NOW

WIDTH = 78
"""What an 80-column terminal gives."""
FILE = Path(__file__).with_name("help.txt")
WORDS = Path(__file__).with_name("words.txt")
DOCS = Path(__file__).resolve().parents[1] / "docs"
MANUAL = DOCS / "tlstax.1"


def text() -> str:
    """The whole help: a line with the version, then each command by a heading, old spellings too."""
    shown = (one for one in _commands() if not one[1].hidden or one[1].name in NOW)
    sections = (f"==> {' '.join(words)}\n{command.get_help(context)}\n" for words, command, context in shown)
    return f"tlstax {__version__}\n" + "".join(sections)


def words() -> str:
    """Which words each command takes, a line each with tabs between.

    First its own and whether it has others in it, `internal` where nobody is to type it, or what an old
    spelling is now; then its options, `--name=` where a value follows, and its arguments in their order, as
    `:how many:name in errors`. An exclamation mark is before what must be given.
    """
    lines = []
    for words, command, context in _commands():
        kind = "group" if hasattr(command, "commands") else "internal" if command.hidden else "command"
        if command.hidden and command.name in NOW:
            kind = f"now {NOW[command.name]}"
        lines.append("\t".join([" ".join(words), kind, *_items(command, context)]))
    return "".join(f"{line}\n" for line in lines)


def _items(command: Any, context: Any) -> Iterator[str]:
    for parameter in command.get_params(context):
        must = "!" if parameter.required else ""
        if parameter.param_type_name == "argument":
            yield f"{must}:{parameter.nargs}:{parameter.get_error_hint()}"
            continue
        value = "" if parameter.is_flag else "="
        # All names of one option, so that it is known to be given by any of them; those of help are a set.
        names = sorted((*parameter.opts, *parameter.secondary_opts), key=lambda name: name[:2] != "--")
        yield must + ",".join(f"{name}{value}" for name in names)


def manual() -> str:
    """The whole manual page."""
    return manual_page(command_tree(), (DOCS / "command-line.md").read_text(encoding="utf-8"))


def _commands() -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Every command with the words that lead to it and its context, groups before what is in them."""
    waiting = [(("tlstax",), command_line(), None)]
    while waiting:
        words, command, parent = waiting.pop(0)
        context = type(command).context_class(
            command,
            info_name=words[-1],
            parent=parent,
            terminal_width=WIDTH,
            max_content_width=WIDTH,
            **command.context_settings,
        )
        yield words, command, context
        if hasattr(command, "commands"):
            names = command.list_commands(context)
            waiting += [((*words, name), command.commands[name], context) for name in names]


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
    WORDS.write_text(words(), encoding="utf-8")
    MANUAL.write_text(manual(), encoding="utf-8")
