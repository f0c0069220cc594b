"""What is sent to a node that lacks it: tlstax's sources in an archive, and the programs built of them."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tlstax.clients.engine import engine_command

ROOT = Path(__file__).resolve().parents[3]
"""The checkout that this program runs from."""

SENT = ("tlstax", "pyproject.toml", "setup", "lab", "engine", "drivers", "contract")
LEFT_OUT = frozenset({"target", "node_modules", "__pycache__", "build", "dist"})


@dataclass(frozen=True)
class Program:
    """A program that was built of the sources, and its content's checksum."""

    name: str
    content: bytes
    sha256: str


@dataclass(frozen=True)
class Bundle:
    """The sources, packed, their checksum, and the name under which programs built of them are kept."""

    archive: bytes
    sha256: str
    engine_key: str
    programs: tuple[Program, ...]


def bundle(root: Path = ROOT) -> Bundle:
    """All of it, the same bytes for the same files."""
    archive = _packed(root)
    engine = Path(engine_command()[0])
    programs = (
        path for path in sorted(engine.parent.iterdir()) if os.access(path, os.X_OK) and path.is_file()
    )
    return Bundle(
        archive=archive,
        sha256=hashlib.sha256(archive).hexdigest(),
        engine_key=engine.parent.name,
        programs=tuple(_program(path) for path in programs),
    )


def _program(path: Path) -> Program:
    content = path.read_bytes()
    return Program(path.name, content, hashlib.sha256(content).hexdigest())


def _packed(root: Path) -> bytes:
    """The files in a fixed order, without owners and times, so that equal sources have equal checksums."""
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as squeezed,
        tarfile.open(fileobj=squeezed, mode="w") as tar,
    ):
        for path in _files(root):
            info = tarfile.TarInfo(str(path.relative_to(root)))
            content = path.read_bytes()
            info.size, info.mode = len(content), 0o755 if os.access(path, os.X_OK) else 0o644
            tar.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def _files(root: Path) -> Iterator[Path]:
    for name in SENT:
        top = root / name
        if top.is_file():
            yield top
        for folder, folders, names in os.walk(top):
            folders[:] = sorted(inner for inner in folders if inner not in LEFT_OUT)
            yield from (Path(folder) / found for found in sorted(names))
