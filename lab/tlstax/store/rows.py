"""What a run's row must hold, and its documents within: checked, for anybody may have written to the file."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import ConfigDict, Json, ValidationError

from tlstax.contract.frozen import Frozen
from tlstax.store.writer import Writer
from tlstax.support.errors import MachineFault

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


def packed(value: Frozen) -> bytes:
    """A document as it is kept: deflated JSON."""
    return zlib.compress(value.model_dump_json().encode())


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


def _damaged(path: Path, run: str) -> MachineFault:
    return MachineFault(f"the store {path} cannot be read: run {run} is damaged", remedy=f"delete run {run}")


def _not_ours(path: Path, run: str, fault: ValidationError) -> MachineFault:
    first = fault.errors(include_url=False)[0]
    where = ".".join(map(str, first["loc"])) or "all of it"
    return MachineFault(
        f"the store {path} cannot be read: run {run} is not in the form that this version of "
        f"tlstax writes ({where}: {first['msg']})",
        remedy=f"read it with the version that wrote it, or delete run {run}",
    )
