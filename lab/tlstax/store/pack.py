"""A run as one file that others can open: written, and read with every byte checked.

The first line says what it is and the SHA-256 of all that follows, which is gzip (RFC 1952) of lines of
JSON: one for the run, then one for each trial as the store keeps it.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from tlstax.contract.frozen import Frozen
from tlstax.records.trial import RunHeader, StoredRun, TrialRecord
from tlstax.store.schema import MOST_BYTES, check_json
from tlstax.support.errors import UserMistake
from tlstax.support.text import counted

SUFFIX = ".tlstax"

VERSION = 1

_FIRST = re.compile(rb"tlstax pack ([0-9]{1,6}) sha256=([0-9a-f]{64})\n")

LONGEST_FIRST_BYTES = 128

MOST_PACKED_BYTES = 2**30
"""A run of ten thousand trials has a twentieth of that."""

LEAST_BYTES, BYTES_A_BYTE = 2**24, 32
LEAST_VALUES, VALUES_A_BYTE = 200_000, 1
"""How much may be unpacked of a file: this much of any, and this many times more for each of its bytes."""

_LEVELS = (9, 1, 0)
"""A run that is packed too tightly to be believed is packed less so."""


class PackedRun(Frozen):
    """The first of the lines: the run but for its trials, and by which tlstax it was packed.

    With `names_left_out` it has only what is public (`anonymise`); versions before have left out less.
    """

    header: RunHeader
    status: Literal["complete", "interrupted", "failed"]
    stopped_because: str
    resumed_at: tuple[str, ...]
    packed_by: str
    names_left_out: bool
    trials: int


def packed(stored: StoredRun, *, by: str, names_left_out: bool) -> bytes:
    """The file's content. A run that is still running counts as interrupted where it is now.

    UserMistake for a run that `unpacked` would not take: whatever it refuses is not written.
    """
    first = PackedRun(
        header=stored.header,
        status="interrupted" if stored.status == "running" else stored.status,
        stopped_because=stored.stopped_because,
        resumed_at=stored.resumed_at,
        packed_by=by,
        names_left_out=names_left_out,
        trials=len(stored.trials),
    )
    lines = [one.as_line() for one in (first, *stored.trials)]
    if max(map(len, lines)) > MOST_BYTES:
        raise UserMistake(f"a part of run {stored.header.run} has more than {MOST_BYTES >> 20} MiB")
    for level in _LEVELS:
        rest = gzip.compress(b"".join(lines), level, mtime=0)
        if _Room(len(rest)).has(lines):
            break
    if len(rest) > MOST_PACKED_BYTES:
        raise UserMistake(f"run {stored.header.run} takes more than {MOST_PACKED_BYTES >> 20} MiB")
    return f"tlstax pack {VERSION} sha256={hashlib.sha256(rest).hexdigest()}\n".encode() + rest


class _Room:
    """How much there may be in a pack of N bytes, so that a small file cannot fill the memory.

    Runs that were measured have a quarter of what is allowed for each byte, or less.
    """

    def __init__(self, packed_bytes: int) -> None:
        self._bytes = LEAST_BYTES + BYTES_A_BYTE * packed_bytes
        self._values = LEAST_VALUES + VALUES_A_BYTE * packed_bytes

    def take(self, line: bytes) -> None:
        """ValueError where there is no room for another line, or it has no end."""
        if len(line) > MOST_BYTES:
            raise ValueError("a line that does not end")
        self._bytes -= len(line)
        self._values -= 1 + line.count(b",") + line.count(b"[") + line.count(b"{")
        if self._bytes < 0 or self._values < 0:
            raise ValueError("far more than so small a file has of a run")

    def has(self, lines: Sequence[bytes]) -> bool:
        """Whether there is room for all of these."""
        try:
            for line in lines:
                self.take(line)
        except ValueError:
            return False
        return True


def opened(path: Path) -> tuple[PackedRun, StoredRun]:
    """What the file holds. UserMistake for one that is no pack, was changed, or is of a newer tlstax."""
    return unpacked(path, content_of(path))


def content_of(path: Path) -> bytes:
    """The file's bytes, whatever they are. UserMistake where it cannot be read, or has too many."""
    try:
        with path.open("rb") as file:
            content = bytearray()
            while piece := file.read(2**20):
                content += piece
                if len(content) > MOST_PACKED_BYTES + LONGEST_FIRST_BYTES:
                    raise _no_pack(path, f"it has more than {MOST_PACKED_BYTES >> 20} MiB")
    except OSError as error:
        raise UserMistake(f"{path} cannot be read ({error.strerror})", remedy="name another file") from error
    return bytes(content)


def unpacked(path: Path, content: bytes) -> tuple[PackedRun, StoredRun]:
    """What these bytes of the file hold. UserMistake as of `opened`."""
    lines = _lines(path, _verified(path, content))
    try:
        first = PackedRun.model_validate_json(next(lines, b""))
        trials = tuple(TrialRecord.model_validate_json(line) for line in lines)
    except (ValidationError, OverflowError, RecursionError) as fault:
        raise UserMistake(
            f"{path} is not in the form that this version of tlstax reads{_where(fault)}",
            remedy="open it with the version that packed it",
        ) from fault
    if len(trials) != first.trials:
        raise _no_pack(path, f"it has {len(trials)} of {counted(first.trials, 'trial')}")
    if len({own.trial.place for own in trials}) != len(trials):
        raise _no_pack(path, "it has two trials at one place")
    return first, StoredRun(
        header=first.header,
        status=first.status,
        stopped_because=first.stopped_because,
        resumed_at=first.resumed_at,
        trials=trials,
    )


def _where(fault: Exception) -> str:
    if not isinstance(fault, ValidationError):
        return ""
    return f" ({'.'.join(map(str, fault.errors(include_url=False, include_input=False)[0]['loc']))})"


def _verified(path: Path, content: bytes) -> memoryview:
    """What follows the first line, which is as it was written."""
    first = _FIRST.match(content[:LONGEST_FIRST_BYTES])
    if first is None:
        raise _no_pack(path, "it does not begin as one")
    if int(first[1]) > VERSION:
        raise UserMistake(f"{path} was packed by a newer tlstax", remedy="update tlstax")
    rest = memoryview(content)[first.end() :]
    if hashlib.sha256(rest).hexdigest().encode() != first[2]:
        raise UserMistake(
            f"{path} was changed after it was packed, or is not all there: its checksum is another one",
            remedy="get it again from where it was packed",
        )
    return rest


def _lines(path: Path, rest: memoryview) -> Iterator[bytes]:
    """Line by line, each a document that is what it says: none endless, nor more than there is room for."""
    room = _Room(len(rest))
    try:
        with gzip.open(BytesIO(rest)) as stream:
            while line := stream.readline(MOST_BYTES + 1):
                room.take(line)
                check_json(line)
                yield line
    except (OSError, EOFError, zlib.error, ValueError, RecursionError) as fault:
        why = f" ({fault})" if type(fault) is ValueError else ""
        raise _no_pack(path, f"what is in it cannot be unpacked{why}") from fault


def _no_pack(path: Path, why: str) -> UserMistake:
    return UserMistake(f"{path} is no run that `tlstax runs pack` wrote: {why}", remedy="name another file")
