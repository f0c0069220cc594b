"""Archives whose bytes depend on what is put in alone: in a given order, without owners and times."""

from __future__ import annotations

import gzip
import lzma
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

CHUNK_BYTES = 1 << 20
FILTERS = (
    {"id": lzma.FILTER_X86},
    {"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 64 << 20},
)
"""xz(1): machine code is made alike before it is packed. To unpack takes the dictionary's size of memory."""


@dataclass(frozen=True)
class Member:
    """A file, folder or link, and its name in the archive."""

    path: Path
    name: str


def members_below(folder: Path, inside: str = "") -> list[Member]:
    """All that is in the folder, sorted, with names that begin with `inside`."""
    return [Member(path, f"{inside}{path.relative_to(folder)}") for path in sorted(folder.rglob("*"))]


class _Watched:
    """A file that is read, and how far: some are so large that they take a minute to pack."""

    def __init__(self, file: BinaryIO, before: int, look: Callable[[int], None]) -> None:
        self._file, self._read, self._look = file, before, look

    def read(self, size: int = -1, /) -> bytes:
        """The next bytes of it."""
        content = self._file.read(size)
        self._read += len(content)
        self._look(self._read)
        return content


def write(members: list[Member], out: IO[bytes] | gzip.GzipFile, look: Callable[[int], None]) -> None:
    """Write a tar archive; `look` gets how many bytes of files were read so far."""
    read = 0
    with tarfile.open(fileobj=out, mode="w|", format=tarfile.GNU_FORMAT) as tar:
        for member in members:
            info = _info(tar, member)
            if not info.isreg():
                tar.addfile(info)
                continue
            with member.path.open("rb") as content:
                tar.addfile(info, _Watched(content, read, look))
            read += info.size


def write_packed(members: list[Member], path: Path, look: Callable[[int], None]) -> None:
    """The same, packed as xz does."""
    with lzma.open(path, "wb", format=lzma.FORMAT_XZ, filters=FILTERS) as out:
        write(members, out, look)


def bytes_of(members: list[Member]) -> int:
    """How many bytes `look` will have been given at the end."""
    return sum(one.path.stat().st_size for one in members if one.path.is_file() and not one.path.is_symlink())


def chunks(path: Path) -> Iterator[bytes]:
    """A file's content, piece by piece."""
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def _info(tar: tarfile.TarFile, member: Member) -> tarfile.TarInfo:
    info = tar.gettarinfo(str(member.path), arcname=member.name)
    if info.islnk():  # a second name of a file: packed again, so that no order matters
        info.type, info.linkname = tarfile.REGTYPE, ""
        info.size = member.path.stat().st_size
    runs = info.isdir() or (info.isreg() and info.mode & 0o100)
    info.mode = 0o777 if info.issym() else 0o755 if runs else 0o644
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mtime = 0
    return info
