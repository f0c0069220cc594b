"""What a run's row must hold, and its documents within: checked, for anybody may have written to the file."""

from __future__ import annotations

import json
import math
import zlib
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import ConfigDict, Json, ValidationError

from tlstax.contract.frozen import Frozen
from tlstax.store.writer import Writer
from tlstax.support.errors import MachineFault
from tlstax.support.plain_words import plain

Status = Literal["running", "complete", "interrupted", "failed"]
Kept = TypeVar("Kept", bound=Frozen)

MOST_BYTES = 32 * 2**20
"""No document is that long: those of trials have 10 kB, with profiles some hundreds."""

KILLED = "the program ended before the run did"


class RunRow(Frozen):
    """The columns of a run, as the schema means them; SQLite itself takes any type anywhere."""

    model_config = ConfigDict(strict=True)

    run: str
    study: str
    started_at: str
    header: bytes
    status: Status
    stopped_because: str
    pid: int
    started_ticks: int
    boot_id: str
    resumed_at: Json[tuple[str, ...]]
    locked: int

    @property
    def writer(self) -> Writer:
        """The process that wrote it last, by its number where it ran."""
        return Writer(self.pid, self.started_ticks, self.boot_id)

    def status_now(self, *, is_taken: bool) -> Status:
        """The status; "interrupted" where nobody writes a running run any more.

        `is_taken` is whether a writer holds its lock, which those of before did not have.
        """
        is_written = is_taken or (not self.locked and self.writer.is_alive())
        return "interrupted" if self.status == "running" and not is_written else self.status

    def ended_because(self, status_now: Status) -> str:
        """Why it ended, also where nobody was left to say so."""
        return self.stopped_because or (KILLED if status_now == "interrupted" else "")


def checked(path: Path, columns: dict[str, object]) -> RunRow:
    """The row of the store at `path`. MachineFault where it is not one that this version writes."""
    try:
        return RunRow.model_validate(columns)
    except ValidationError as fault:
        raise _not_ours(path, str(columns["run"]), fault) from fault


def packed(value: Frozen, run: str) -> bytes:
    """A document as it is kept: deflated JSON. MachineFault for one that `unpacked` would call endless."""
    document = value.model_dump_json().encode()
    if len(document) > MOST_BYTES:
        raise MachineFault(
            f"a part of run {run} cannot be kept: it has {len(document) / 2**20:.0f} MiB, and "
            f"{MOST_BYTES >> 20} MiB is the most",
            remedy="measure fewer cases at once, or without --profile",
        )
    return zlib.compress(document)


LARGEST = 2**64
"""No number of ours is as large; seeds have 64 bits."""


def check_json(text: bytes) -> None:
    """ValueError for what is no JSON (RFC 8259) that programs agree on, RecursionError for a bottomless one.

    That is: a name twice in an object, NaN and infinities, whole numbers that no machine has, texts that are
    no Unicode.
    """
    json.loads(
        text.decode("utf-8"),
        parse_constant=_no_number,
        parse_int=_whole,
        parse_float=_finite,
        object_pairs_hook=_once,
    )


def _no_number(word: str) -> float:
    raise ValueError(f"{word} is no number")


def _whole(digits: str) -> int:
    if len(digits) > len(str(LARGEST)) or abs(int(digits)) >= LARGEST:
        raise ValueError("a number is too large")
    return int(digits)


def _finite(digits: str) -> float:
    if len(digits) > 400 or math.isinf(float(digits)):
        raise ValueError("a number is too large")
    return float(digits)


def _once(pairs: list[tuple[str, object]]) -> None:
    names = {name for name, _ in pairs}
    if len(names) != len(pairs):
        raise ValueError("an object has one name twice")
    for text in (*names, *(value for _, value in pairs if isinstance(value, str))):
        text.encode("utf-8")


def unpacked(path: Path, kind: type[Kept], kept: object, run: str) -> Kept:
    """The document again. MachineFault where it is damaged, endless, or not what this version writes."""
    if not isinstance(kept, bytes):
        raise _damaged(path, run)
    inflater = zlib.decompressobj()
    try:
        document = inflater.decompress(kept, MOST_BYTES)
    except zlib.error as fault:
        raise _damaged(path, run) from fault
    if not inflater.eof:
        raise _damaged(path, run)
    try:
        return kind.model_validate_json(document)
    except ValidationError as fault:
        raise _not_ours(path, run, fault) from fault
    except (OverflowError, RecursionError) as fault:
        raise _damaged(path, run) from fault


def _damaged(path: Path, run: str) -> MachineFault:
    return MachineFault(f"the store {path} cannot be read: run {run} is damaged", remedy=f"delete run {run}")


def _not_ours(path: Path, run: str, fault: ValidationError) -> MachineFault:
    first = fault.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"])) or "all of it"
    return MachineFault(
        f"the store {path} cannot be read: run {run} is not in the form that this version of "
        f"tlstax writes ({where}: {plain(first['msg'])})",
        remedy=f"read it with the version that wrote it, or delete run {run}",
    )
