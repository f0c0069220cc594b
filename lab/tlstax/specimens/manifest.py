"""What stands on the shelf: a specimen's manifest, written last, and the digest of each of its files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tlstax.contract import Frozen
from tlstax.specimens.recipe import Kind, Recipe, Source
from tlstax.support.checksums import sha256_of

MANIFEST = "manifest.json"
DIGESTS = "files.json"
TREE = "tree"
BROKEN = "broken"
LINK = "-> "


class Part(Frozen):
    """One package, artefact or crate that the specimen was made of, and its file's checksum."""

    name: str
    version: str
    sha256: str
    architecture: str = ""


class MadeOf(BaseModel):
    """The part of a recipe that makes a specimen this one and no other.

    What else an earlier or later tlstax wrote down does not matter.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    kind: Kind
    source: Source
    program: str


class Manifest(Frozen):
    """What a specimen is: `version` is the exact one, `size_bytes` what it takes on disk.

    `digests_sha256` is the checksum of the list of digests, and with it of every file.
    """

    schema_version: Literal[1] = 1
    recipe: MadeOf
    version: str
    machine: str
    parts: tuple[Part, ...]
    size_bytes: int
    digests_sha256: str

    def versions(self) -> dict[str, str]:
        """The exact version of every part."""
        return {part.name: part.version for part in self.parts}


class Kept(Frozen):
    """A whole specimen: its directory, and what is in it."""

    path: Path
    manifest: Manifest

    @property
    def tree(self) -> Path:
        """The directory with its files; for a specimen from Debian it stands for `/`."""
        return self.path / TREE

    @property
    def program(self) -> Path:
        """The file that the specimen exists for."""
        return self.tree / self.manifest.recipe.program

    def sha256(self) -> str:
        """The checksum of that file, as it was when it was put on the shelf."""
        return digests(self.path)[self.manifest.recipe.program]


def read(path: Path) -> Kept | None:
    """The specimen in this directory; None when it is not whole or not readable."""
    try:
        text = (path / MANIFEST).read_text(encoding="utf-8")
        kept = Kept(path=path, manifest=Manifest.model_validate_json(text))
    except (OSError, ValidationError):
        return None
    return kept if kept.program.is_file() else None


def write(path: Path, recipe: Recipe, version: str, machine: str, parts: tuple[Part, ...]) -> None:
    """Digest the tree in this directory, then write its manifest, durably. Raises OSError."""
    found = digest_tree(path / TREE)
    _write(path / DIGESTS, found)
    manifest = Manifest(
        recipe=MadeOf.model_validate(recipe.model_dump()),
        version=version,
        machine=machine,
        parts=parts,
        size_bytes=_size_bytes(path / TREE),
        digests_sha256=sha256_of(path / DIGESTS),
    )
    _write(path / MANIFEST, manifest.model_dump(mode="json"))


def digests(path: Path) -> dict[str, str]:
    """The digests as they were written: of a file its SHA-256, of a link where it leads. Raises OSError."""
    found: dict[str, str] = json.loads((path / DIGESTS).read_text(encoding="utf-8"))
    return found


def digest_tree(tree: Path) -> dict[str, str]:
    """The digest of every file and link below the tree, by its path. Raises OSError."""
    return {
        str(file.relative_to(tree)): f"{LINK}{file.readlink()}" if file.is_symlink() else sha256_of(file)
        for file in sorted(tree.rglob("*"))
        if file.is_symlink() or file.is_file()
    }


def _size_bytes(tree: Path) -> int:
    """What the files hold; one with two names is counted once."""
    stats = [file.lstat() for file in tree.rglob("*") if file.is_file() and not file.is_symlink()]
    return sum({status.st_ino: status.st_size for status in stats}.values())


def _write(path: Path, document: object) -> None:
    with path.open("w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
