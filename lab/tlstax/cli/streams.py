"""The one way out: what is written to standard output, to standard error and to files that users name.

Nothing that is written here steers a terminal but the colours of our own texts. A stream that is closed is
replaced, one that knows few characters gets the nearest that it knows.

A file's format is known by its name, and it is tried before all else. A regular file is replaced whole or
not at all; what is no regular file (a device, a FIFO, /dev/stdout) is written to as it is. A FIFO waits for
its reader, as everywhere.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import fcntl
import io
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TextIO, TypeVar

from tlstax.support import temporary
from tlstax.support.credentials import likely_passwords, without_passwords
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.support.text import natural
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


def warn(sentence: str) -> None:
    """The same, by whom it is said."""
    tell(f"tlstax: {sentence}")


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


_THE_MACHINES = frozenset({errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE})
"""Errors for which nobody can blame the name of the file."""

_MOST_LINKS = 40
"""As many as Linux follows (path_resolution(7))."""


Format = TypeVar("Format", bound=str)

_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}")
"""What a name ends with that says what is in a file; a number, as of a version or a date, says nothing."""


def format_of_name(
    path: Path, formats: Mapping[str, Format], otherwise: Format, *, what: str, remedy: str = ""
) -> Format:
    """The format that a file's suffix asks for; `otherwise` for a device, or a name without a suffix.

    `what` is written there, such as "a report". Raises UserMistake for any other suffix.
    """
    if not _SUFFIX.fullmatch(path.suffix):
        return otherwise
    chosen = formats.get(path.suffix.lower())
    if chosen is None:
        raise UserMistake(
            f"{path}: {what} is not written as {path.suffix}",
            remedy=remedy or f"name a file that ends with {' or '.join(formats)}",
        )
    return chosen


def check_writable(path: Path) -> None:
    """Try whether `write_text` could write this file, and leave nothing behind.

    Raises UserMistake for a name that will not do, MachineFault where the disk will not.
    """
    try:
        _try(path)
    except OSError as error:
        kind = MachineFault if error.errno in _THE_MACHINES else UserMistake
        raise kind(f"{path} cannot be written ({error.strerror})", remedy="name another file") from error


def write_text(path: Path, text: str, *, remedy: str = "") -> None:
    """Write the text in UTF-8. Raises MachineFault, with `remedy` for what to do.

    A symbolic link is followed, if the system allows it. A new file gets the permissions that the umask
    leaves, one that is replaced keeps its own.
    """
    write_bytes(path, text.encode(errors="replace"), remedy=remedy)


def write_bytes(path: Path, content: bytes, *, remedy: str = "") -> None:
    """Write bytes as `write_text` does."""
    write_chunks(path, (content,), remedy=remedy)


def write_chunks(path: Path, content: Iterable[bytes], *, remedy: str = "") -> None:
    """Write bytes as `write_text` does, piece by piece."""
    try:
        _write_to(path, content)
    except OSError as error:
        raise MachineFault(f"{path} could not be written ({error.strerror})", remedy=remedy) from error


def _try(path: Path) -> None:
    target, existing = _followed(path), _existing(path)
    if isinstance(target, int):
        if fcntl.fcntl(target, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise _error(errno.EBADF)
        return
    if existing is not None and not stat.S_ISREG(existing.st_mode):
        # Opening a device may do something, and a FIFO waits.
        if not os.access(path, os.W_OK):
            raise _error(errno.EACCES)
        return
    if existing is not None:
        os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC))
    if existing is None or _may_be_replaced(target, existing):
        with _begun(target) as (_, descriptor):
            os.close(descriptor)


def _write_to(path: Path, content: Iterable[bytes]) -> None:
    target, existing = _followed(path), _existing(path)
    if isinstance(target, int):
        with os.fdopen(os.dup(target), "wb") as stream:
            stream.writelines(content)
    elif existing is None or _may_be_replaced(target, existing):
        _replace(target, existing, content)
    else:
        with path.open("wb") as file:
            file.writelines(content)


def _followed(path: Path) -> Path | int:
    """Where the path's symbolic links lead: to a path, or to a descriptor of this process (/dev/stdout)."""
    descriptors = Path(f"/proc/{os.getpid()}/fd")
    for _ in range(_MOST_LINKS):
        descriptor = natural(path.name)
        if descriptor is not None and path.parent.resolve() == descriptors:
            return descriptor
        if not path.is_symlink():
            return path
        path = path.parent / path.readlink()
    raise _error(errno.ELOOP)


def _existing(path: Path) -> os.stat_result | None:
    """What is there now, None for nothing. The system itself follows links here, so its rules hold."""
    try:
        existing = path.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(existing.st_mode):
        raise _error(errno.EISDIR)
    if stat.S_ISBLK(existing.st_mode):
        raise UserMistake(f"{path} is a disk", remedy="name a file")
    return existing


def _may_be_replaced(target: Path, existing: os.stat_result) -> bool:
    """Whether another file can take its place unnoticed: ours, of one name, in a folder that is too."""
    return (
        stat.S_ISREG(existing.st_mode)
        and existing.st_uid == os.geteuid()
        and existing.st_nlink == 1
        and os.access(target.parent, os.W_OK | os.X_OK)
    )


@contextlib.contextmanager
def _begun(target: Path) -> Iterator[tuple[Path, int]]:
    """A new file beside the target by a name that nobody foresees, open for writing; removed at the end."""
    with temporary.beside(target) as partial:
        yield partial, os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)


def _replace(target: Path, existing: os.stat_result | None, content: Iterable[bytes]) -> None:
    with _begun(target) as (partial, descriptor):
        with os.fdopen(descriptor, "wb") as file:
            if existing is not None:
                with contextlib.suppress(PermissionError):
                    os.fchown(descriptor, -1, existing.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(existing.st_mode))
            file.writelines(content)
        partial.replace(target)


def _error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
