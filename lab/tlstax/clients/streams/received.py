"""What a whole copy holds, looked through as it comes: rows of a dump, files of a base backup, a log's bytes.

Rows are counted as they are written: those of pg_dump are the lines between COPY and its end, those of
pg_recvlogical the lines of test_decoding that tell of an insert, those of
mysqldump and mariadb-dump the lists of values in their INSERTs. The laboratory's table holds digits alone
(`study.workloads`), so that no value looks like the end of a row.

A base backup brings its own list of files, which the server has made: each must be there with the length that
it says (PostgreSQL documentation, "Backup Manifest Format").
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import IO, cast

MANIFEST = "backup_manifest"

Holds = dict[str, int]
"""How much there is of what, by its name."""

Looked = tuple[Holds, int]
"""What a copy holds, and how many bytes long it is."""


class Incomplete(Exception):
    """A copy that is not whole; a sentence says what is missing."""


def rows_of_copy(stream: IO[bytes]) -> Looked:
    """The rows of pg_dump's text."""
    rows, length, copying = 0, 0, False
    for line in stream:
        length += len(line)
        if copying:
            copying = line != b"\\.\n"
            rows += copying
        else:
            copying = line.startswith(b"COPY ")
    if copying:
        raise Incomplete("the dump breaks off in the middle of a table")
    return {"rows": rows}, length


def rows_of_changes(stream: IO[bytes]) -> Looked:
    """The rows that pg_recvlogical writes, of changes that test_decoding tells of; transactions are whole."""
    rows, length, is_open = 0, 0, False
    for line in stream:
        length += len(line)
        if b": INSERT: " in line[:_HEAD_BYTES]:
            rows, is_open = rows + 1, True
        elif line == b"COMMIT\n":
            is_open = False
    if is_open:
        raise Incomplete("the changes break off in the middle of a transaction")
    return {"rows": rows}, length


_HEAD_BYTES = 200
"""Within these a change says of which table it is (with two names of 63 bytes), and what it does."""


def rows_of_inserts(stream: IO[bytes]) -> Looked:
    """The rows of the text of mysqldump or mariadb-dump; its last line says that it is whole."""
    rows, length, last = 0, 0, b""
    for line in stream:
        length += len(line)
        if line.startswith(b"INSERT INTO "):
            rows += line.count(b"),(") + (not line.endswith(b"VALUES\n"))
        # MariaDB's writes each row on a line of its own.
        elif line.startswith(b"("):
            rows += 1
        last = line
    if not last.startswith(b"-- Dump completed"):
        raise Incomplete("the dump does not say that it is complete")
    return {"rows": rows}, length


class _Counted:
    """A stream that counts what is read of it, as much of a file as `tarfile` asks for."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.length = 0

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self.length += len(data)
        return data


def files_of_backup(stream: IO[bytes]) -> Looked:
    """The files of a base backup and their lengths, held against its own list."""
    files: Holds = {}
    counted, listed = _Counted(stream), {}
    try:
        with tarfile.open(fileobj=cast("IO[bytes]", counted), mode="r|") as archive:
            for member in archive:
                if member.name == MANIFEST:
                    file = archive.extractfile(member)
                    listed = _listed(file) if file is not None else {}
                elif member.isfile():
                    files[member.name] = member.size
        # What follows the archive's end belongs to it as well.
        while counted.read(1 << 16):
            pass
    except (tarfile.TarError, ValueError, LookupError, TypeError) as error:
        raise Incomplete(f"the base backup cannot be read ({error})") from None
    _hold_against(listed, files)
    return files, counted.length


def files_of_unpacked_backup(folder: Path) -> Looked:
    """The files of a base backup that has been unpacked here, held against its own list.

    Its length is that of the archive that it was: a block of 512 bytes for each file and folder, contents
    in whole blocks, and two at the end (POSIX, "pax", "ustar Interchange Format").
    """
    found = [each for each in folder.rglob("*") if each != folder / MANIFEST]
    sizes = {str(each.relative_to(folder)): each.stat().st_size if each.is_file() else None for each in found}
    files = {path: size for path, size in sizes.items() if size is not None}
    try:
        with (folder / MANIFEST).open("rb") as file:
            listed = _listed(file)
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise Incomplete(f"the base backup's list of files cannot be read ({error})") from None
    _hold_against(listed, files)
    blocks = len(sizes) + sum(-(-size // _BLOCK_BYTES) for size in files.values()) + 2
    return files, blocks * _BLOCK_BYTES


_BLOCK_BYTES = 512


def _listed(file: IO[bytes]) -> Holds:
    return {each["Path"]: each["Size"] for each in json.load(file)["Files"]}


def _hold_against(listed: Holds, files: Holds) -> None:
    if not listed:
        raise Incomplete("the base backup has no list of its files")
    missing = sorted(path for path, size in listed.items() if files.get(path) != size)
    if missing:
        raise Incomplete(f"{missing[0]} is missing from the base backup, or has another length than it says")


def bytes_of_files(folder: Path, names: Collection[str]) -> Looked:
    """The bytes of the log's files, each of which must be there."""
    total = 0
    for name in names:
        try:
            total += (folder / name).stat().st_size
        except OSError:
            raise Incomplete(f"{name} did not come") from None
    return {"bytes": total}, total


READERS: Mapping[str, Callable[[IO[bytes]], Looked]] = {
    "pg-dump": rows_of_copy,
    "pg-basebackup": files_of_backup,
    "pg-recvlogical": rows_of_changes,
    "mysqldump": rows_of_inserts,
    "mariadb-dump": rows_of_inserts,
}
"""What reads the output of those that write one."""
