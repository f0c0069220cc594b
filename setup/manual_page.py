"""The manual page, man(7), from the command line's own definitions and tables of docs/command-line.md."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from tlstax import __version__
from tlstax.cli.app import Command, Parameter

MARKUP = re.compile(r"`([^`]+)`|\[([^\]]+)\]\([^)]+\)")
"""What a page in Markdown has within a line: words as they are typed, and links, of which the words stay."""

WIDTH = 78

PLACES = (
    ("~/.local/share/tlstax", "runs and reports; below XDG_DATA_HOME where that is set"),
    ("~/.cache/tlstax", "what can be fetched or built again; below XDG_CACHE_HOME where that is set"),
)


def manual_page(tree: Command, command_line_page: str) -> str:
    """The page, in roff. `command_line_page` is docs/command-line.md, for its tables."""
    lines = [
        '.\\" Written by setup/renew-help from the command line; do not edit it.',
        f'.TH TLSTAX 1 "" "tlstax {__version__}" "User Commands"',
        ".SH NAME",
        r"tlstax \- what TLS costs a MySQL, MariaDB or PostgreSQL server, with proof of what ran",
        ".SH SYNOPSIS",
        ".B tlstax",
        r"\fICOMMAND\fR [\fIOPTION\fR]...",
        ".SH DESCRIPTION",
        *_paragraphs(tree.help),
        ".SH OPTIONS",
        *_options(tree),
        ".SH COMMANDS",
        *(line for command in tree.walk() if command.words for line in _command(command)),
        ".SH EXIT STATUS",
        *_table(command_line_page, "Exit status"),
        ".SH ENVIRONMENT",
        *_table(command_line_page, "Environment"),
        ".SH FILES",
        *(line for place, what in PLACES for line in _entry(_bold(place), what)),
    ]
    return "\n".join(lines) + "\n"


def _command(command: Command) -> Iterator[str]:
    """One command: what is typed, what it does, its options, examples."""
    name = f"tlstax {' '.join(command.words)}"
    yield f'.SS "{_text(name)}"'
    if command.commands:
        yield from _paragraphs(command.help)
        return
    yield " ".join([_bold(name), *map(_argument, command.arguments), "[" + _italic("OPTION") + "]..."])
    yield ".P"
    yield from _paragraphs(command.help)
    yield from _options(command)
    if command.examples:
        yield from (".P", "Examples:", ".P", ".RS 4", ".nf", *map(_text, command.examples), ".fi", ".RE")


def _options(command: Command) -> Iterator[str]:
    for option in command.options:
        names = ", ".join(map(_bold, option.names))
        yield from _entry(f"{names} {_italic(option.metavar)}" if option.metavar else names, option.help)


def _argument(argument: Parameter) -> str:
    """An argument as usage shows it."""
    name = _italic(argument.metavar) + ("..." if argument.is_repeated else "")
    return name if argument.required else f"[{name}]"


def _table(page: str, heading: str) -> Iterator[str]:
    """The rows of the table under a heading, without the first two, which are the table's own heading."""
    section = page.split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    for name, meaning in rows[2:]:
        yield from _entry(_bold(_plain(name.strip())), _plain(meaning.strip()))


def _plain(markdown: str) -> str:
    return MARKUP.sub(lambda found: found[1] or found[2], markdown)


def _entry(term: str, meaning: str) -> tuple[str, ...]:
    return ".TP", term, *_wrapped(meaning)


def _paragraphs(text: str) -> Iterator[str]:
    for place, paragraph in enumerate(text.split("\n\n")):
        if place:
            yield ".P"
        yield from _wrapped(paragraph)


def _wrapped(text: str) -> list[str]:
    """Prose in lines of a width at which nobody's editor or linter minds."""
    plain = _text(_plain(" ".join(text.split())))
    lines = textwrap.wrap(plain, WIDTH, break_long_words=False, break_on_hyphens=False)
    return [rf"\&{line}" if line.startswith(".") else line for line in lines]


def _bold(text: str) -> str:
    return rf"\fB{_text(text)}\fR"


def _italic(text: str) -> str:
    return rf"\fI{_text(text)}\fR"


_ESCAPES = str.maketrans(
    {
        "\\": r"\e",
        "-": r"\-",
        "`": r"\(ga",
        "'": r"\(aq",
        "^": r"\(ha",
        "~": r"\(ti",
        "\N{RIGHT SINGLE QUOTATION MARK}": r"\(cq",
        "\N{LEFT DOUBLE QUOTATION MARK}": r"\(lq",
        "\N{RIGHT DOUBLE QUOTATION MARK}": r"\(rq",
        "\N{HORIZONTAL ELLIPSIS}": "...",
        "\N{MULTIPLICATION SIGN}": r"\(mu",
        "\N{MINUS SIGN}": r"\(mi",
        "\N{EN DASH}": r"\(en",
        "\N{PLUS-MINUS SIGN}": r"\(+-",
        "\N{RIGHTWARDS ARROW}": r"\(->",
        "\N{MICRO SIGN}": r"\(mc",
    }
)
"""Characters by what groff_char(7) calls them, so that every roff shows them and words can be copied."""


def _text(text: str) -> str:
    """Text in which no character means anything to roff, but a dot that begins a line."""
    return text.translate(_ESCAPES)
