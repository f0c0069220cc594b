"""The one way out: what is written to standard output and standard error, whatever these are.

Nothing that is written here steers a terminal but the colours of our own texts. A stream that is closed is
replaced, one that knows few characters gets the nearest that it knows.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO

from tlstax.support.credentials import likely_passwords, without_passwords
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.support.untrusted import escaped_json, printable, printable_lines

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from pydantic import BaseModel

NEAREST = "nearest"
"""The name of our handler of encoding errors (see codecs.register_error)."""

_ASCII = str.maketrans(
    {
        "\N{MICRO SIGN}": "u",
        "\N{PLUS-MINUS SIGN}": "+-",
        "\N{MULTIPLICATION SIGN}": "x",
        "\N{DIVISION SIGN}": "/",
        "\N{MINUS SIGN}": "-",
        "\N{EN DASH}": "-",
        "\N{ALMOST EQUAL TO}": "~",
        "\N{MIDDLE DOT}": "-",
        "\N{BULLET}": "*",
        "\N{HORIZONTAL ELLIPSIS}": "...",
        "\N{RIGHTWARDS ARROW}": "->",
        "\N{RIGHT SINGLE QUOTATION MARK}": "'",
        "\N{LEFT DOUBLE QUOTATION MARK}": '"',
        "\N{RIGHT DOUBLE QUOTATION MARK}": '"',
        "\N{NO-BREAK SPACE}": " ",
    }
)
"""What our own texts use beyond ASCII, and what comes nearest to it."""


class InText(Protocol):
    """What makes a text for a terminal so wide, with colours or without."""

    def __call__(self, *, width: int, colour: bool) -> str:
        """The text, of lines of `width` at the most."""
        ...


class NobodyReads(Exception):
    """Whoever read standard output has enough; nobody reads on."""


def prepare() -> None:
    """Make the three streams what everything else takes them for; before any file is opened."""
    for descriptor in range(3):
        with contextlib.suppress(OSError):
            os.fstat(descriptor)
            continue
        # The lowest number that is free is this one. Else some file of ours would become a child's stream.
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            stand_in = Path(os.devnull).open("r" if name == "stdin" else "w", encoding="utf-8")  # noqa: SIM115
            setattr(sys, name, stand_in)
    if sys.stderr is sys.__stderr__ and sys.__stderr__ is not None:
        sys.stderr = _unfailing(sys.__stderr__)
    codecs.register_error(NEAREST, _nearest)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=NEAREST)


def show(text: str, *, coloured: bool = False, remedy: str = "") -> None:
    """Write to standard output, at once. `coloured` is for what `report.printed` gave, with its colours.

    Raises NobodyReads, and MachineFault, with the remedy, where it cannot be written.
    """
    _write(printable_lines(text, coloured=coloured), remedy)


def show_json(document: str, *, remedy: str = "") -> None:
    """Write a JSON document to standard output, and lose nothing of it. Raises as `show` does."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    _write(escaped_json(document, in_ascii=codecs.lookup(encoding).name != "utf-8"), remedy)


def show_found(found: BaseModel, text: InText, *, as_json: bool) -> None:
    """Write what was found: as the JSON document that it is, or as the text that `text` makes of it."""
    if as_json:
        show_json(found.model_dump_json(indent=2, by_alias=True) + "\n")
    else:
        colour = colourful()
        show(text(width=terminal_width(), colour=colour), coloured=colour)


def show_page(page: str) -> None:
    """Write HTML or SVG to standard output: in UTF-8, as it says of itself. Raises as `show` does."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8", errors=NEAREST)
    show(page)


_likely: list[re.Pattern[str]] = []
"""What the arguments of this command may have of passwords."""


def remember(arguments: Sequence[str]) -> None:
    """Have `harmless` leave out what may be a password in these, and nothing of earlier ones."""
    _likely[:] = likely_passwords(arguments)


def harmless(text: str) -> str:
    """The text without the passwords that the user wrote where none belongs."""
    return without_passwords(text, _likely)


def tell(sentence: str) -> None:
    """Write one line to standard error, with no password that a user wrote where none belongs."""
    sys.stderr.write(printable(harmless(sentence)) + "\n")
    sys.stderr.flush()


def agrees(question: str) -> bool:
    """Whether the user says yes. UserMistake where nobody can be asked."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserMistake(f"nobody can be asked here: {question}", remedy="add --yes")
    sys.stderr.write(f"{harmless(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def settle() -> None:
    """Leave nothing in the buffer of standard output that Python would complain of when it ends."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        _mute(sys.stdout)


def colourful() -> bool:
    """Whether standard output wants colour: a terminal, and NO_COLOR not set (no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def terminal_width() -> int:
    """How wide text may be: the terminal's width, but no wider than tables read well."""
    return min(shutil.get_terminal_size((80, 24)).columns, 120)


def _write(text: str, remedy: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        _mute(sys.stdout)
        raise NobodyReads from None
    except OSError as error:
        _mute(sys.stdout)
        raise MachineFault(f"standard output cannot be written ({error.strerror})", remedy=remedy) from error


def _mute(stream: TextIO) -> None:
    """Let what is still in its buffer, and what comes, go nowhere."""
    # A stream that is none of the system's has no number.
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class _UnfailingFile(io.FileIO):
    """A file for which what cannot be written is lost in silence."""

    def write(self, content: ReadableBuffer, /) -> int:
        written: int | None = None
        with contextlib.suppress(OSError):
            written = super().write(content)
        return memoryview(content).nbytes if written is None else written


def _unfailing(stream: TextIO) -> TextIO:
    """Standard error again. That a terminal is gone, or a disk full, must not end what is being measured."""
    file = _UnfailingFile(stream.fileno(), "w", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(file), encoding=stream.encoding, errors=stream.errors, line_buffering=True
    )


def _nearest(error: UnicodeError) -> tuple[str, int]:
    """What is written in the place of characters that the stream's encoding lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    nearest = error.object[error.start : error.end].translate(_ASCII)
    return "".join(one if one.isascii() else "?" for one in nearest), error.end
