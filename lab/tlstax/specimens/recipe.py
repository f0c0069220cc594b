"""What a specimen is made of: where its parts come from and what they must be, as data."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from tlstax.contract import Frozen
from tlstax.study.product import ProductName

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
