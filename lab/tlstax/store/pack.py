"""A run as one file that others can open: written, and read with every byte checked.

The first line says what it is and the SHA-256 of all that follows, which is gzip (RFC 1952) of lines of
JSON: one for the run, then one for each trial as the store keeps it.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from tlstax.contract.frozen import Frozen
from tlstax.records.trial import RunHeader, StoredRun, TrialRecord
from tlstax.store.rows import MOST_BYTES
from tlstax.support.errors import UserMistake

SUFFIX = ".tlstax"

VERSION = 1

_FIRST = re.compile(rb"tlstax pack ([0-9]{1,6}) sha256=([0-9a-f]{64})\n")

LONGEST_FIRST_BYTES = 128


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
    """The file's content. A run that is still running counts as interrupted where it is now."""
    first = PackedRun(
        header=stored.header,
        status="interrupted" if stored.status == "running" else stored.status,
        stopped_because=stored.stopped_because,
        resumed_at=stored.resumed_at,
        packed_by=by,
        names_left_out=names_left_out,
        trials=len(stored.trials),
    )
    lines = b"".join(one.model_dump_json().encode() + b"\n" for one in (first, *stored.trials))
    rest = gzip.compress(lines, mtime=0)
    return f"tlstax pack {VERSION} sha256={hashlib.sha256(rest).hexdigest()}\n".encode() + rest


def opened(path: Path) -> tuple[PackedRun, StoredRun]:
    """What the file holds. UserMistake for one that is no pack, was changed, or is of a newer tlstax."""
    return unpacked(path, content_of(path))


def content_of(path: Path) -> bytes:
    """The file's bytes, whatever they are. UserMistake where it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserMistake(f"{path} cannot be read ({error.strerror})", remedy="name another file") from error


def unpacked(path: Path, content: bytes) -> tuple[PackedRun, StoredRun]:
    """What these bytes of the file hold. UserMistake as of `opened`."""
    rest = _verified(path, content)
    try:
        lines = list(_lines(rest))
    except (OSError, EOFError, zlib.error, ValueError) as fault:
        raise _no_pack(path, "what is in it cannot be unpacked") from fault
    try:
        first = PackedRun.model_validate_json(lines[0])
        trials = tuple(TrialRecord.model_validate_json(line) for line in lines[1:])
    except (ValidationError, IndexError) as fault:
        raise UserMistake(
            f"{path} is not in the form that this version of tlstax reads",
            remedy="open it with the version that packed it",
        ) from fault
    if len(trials) != first.trials:
        raise _no_pack(path, f"it has {len(trials)} of {first.trials} trials")
    return first, StoredRun(
        header=first.header,
        status=first.status,
        stopped_because=first.stopped_because,
        resumed_at=first.resumed_at,
        trials=trials,
    )


def _verified(path: Path, content: bytes) -> bytes:
    """What follows the first line, which is as it was written."""
    first = _FIRST.match(content[:LONGEST_FIRST_BYTES])
    if first is None:
        raise _no_pack(path, "it does not begin as one")
    if int(first[1]) > VERSION:
        raise UserMistake(f"{path} was packed by a newer tlstax", remedy="update tlstax")
    rest = content[first.end() :]
    if hashlib.sha256(rest).hexdigest().encode() != first[2]:
        raise UserMistake(
            f"{path} was changed after it was packed, or is not all there: its checksum is another one",
            remedy="get it again from where it was packed",
        )
    return rest


def _lines(rest: bytes) -> Iterator[bytes]:
    """Line by line, none of them endless. ValueError for one that is."""
    with gzip.open(BytesIO(rest)) as stream:
        while line := stream.readline(MOST_BYTES + 1):
            if len(line) > MOST_BYTES:
                raise ValueError("a line that does not end")
            yield line


def _no_pack(path: Path, why: str) -> UserMistake:
    return UserMistake(f"{path} is no run that `tlstax pack` wrote: {why}", remedy="name another file")
