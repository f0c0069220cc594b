"""A server program on disk, the TLS library and the fault that it is given, and how it is executed."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tlstax.records.trial import LibraryClaim, PlantedClaim, Specimen
from tlstax.specimens.processes import must_run, ran
from tlstax.study.level_names import BURN, COUNT_LOCKS
from tlstax.study.product import ProductName
from tlstax.support.directories import plain
from tlstax.support.errors import MachineFault
from tlstax.support.trusted import sha256_of


@dataclass(frozen=True)
class TlsLibrary:
    """Two files, libssl and libcrypto, in a directory that holds nothing else a program would load.

    `libssl` and `libcrypto` are paths in `directory` under the names that programs ask for
    (`libssl.so.3`). `support` are directories with what these libraries need themselves, to be searched after
    a program's own.
    """

    specimen: Specimen
    libssl: Path
    libcrypto: Path
    support: tuple[Path, ...] = ()

    @property
    def directory(self) -> Path:
        """Where both files are: to be put first in a program's library path."""
        return self.libssl.parent

    def claim(self) -> LibraryClaim:
        """What a process that runs over it must show."""
        return LibraryClaim(
            name=self.specimen.name,
            version=self.specimen.version,
            libssl_sha256=sha256_of(self.libssl),
            libcrypto_sha256=sha256_of(self.libcrypto),
        )


PATIENCE_S = 10.0
_WORDS = re.compile(r"OPENSSL_ia32cap=((?:0x[0-9a-f]+:?)+)")


def capabilities(library: TlsLibrary, environment: Mapping[str, str]) -> tuple[int, ...] | None:
    """What the library finds the processor capable of: the numbers of OPENSSL_ia32cap, as many as it prints.

    Source: openssl-version(1), -c, since 3.0. None where it came without a program that says so, as OpenSSL
    1.1.1, or that program does not run here.
    """
    program = library.directory.parent / "bin" / "openssl"
    if not program.is_file():
        return None
    path = ":".join(str(directory) for directory in (library.directory, *library.support))
    variables = {"PATH": os.defpath, "LC_ALL": "C", "LD_LIBRARY_PATH": path, **environment}
    try:
        done = ran([program, "version", "-c"], variables, timeout_s=PATIENCE_S)
    except OSError:
        return None
    said = _WORDS.search(done.stdout)
    return tuple(int(word, 16) for word in said[1].strip(":").split(":")) if said else None


@dataclass(frozen=True)
class Fault:
    """A fault or variant: a library of ours, loaded before all others, and the function that it replaces."""

    specimen: Specimen
    library: Path
    stands_for: str

    @property
    def has_page(self) -> bool:
        """Whether it shares a page with the laboratory (`BurnPage`)."""
        return self.specimen.name == BURN

    @property
    def counts_locks(self) -> bool:
        """Whether it shares a page of counted locks (`LockPage`)."""
        return self.specimen.name == COUNT_LOCKS

    def claim(self) -> PlantedClaim:
        """What a process in which it is planted must show."""
        return PlantedClaim(name=self.specimen.name, sha256=sha256_of(self.library))


FORKING: frozenset[ProductName] = frozenset({"postgresql"})
"""The products that start a process for each connection."""

UNKNOWN_VERSION = (9999, 0)
"""A server whose version is not known yet is taken for a new one."""


@dataclass(frozen=True)
class ServerBuild:
    """A server that can be started.

    One of three kinds. `root` is the tree that a Debian server was unpacked to, with its own C library and
    loader. `basedir` is the tree of a server that runs wherever it lies, on the machine's C library, as
    its makers publish it. With neither, it is a server of this machine, which knows its own files.

    `own_libraries` are directories of libraries that came with the server and are not found by themselves.
    `machine_loader` runs a program of a root by the machine's loader, with the machine's libraries before
    the root's: for TLS libraries that need a newer C library than the root has. `forks` says whether the
    server starts a process for each connection. `shelved` is the directory of a specimen, in which data of
    its new servers may be kept.
    """

    specimen: Specimen
    flavour: ProductName
    executable: Path
    root: Path | None = None
    basedir: Path | None = None
    own_libraries: tuple[Path, ...] = ()
    machine_loader: bool = False
    forks: bool = False
    shelved: Path | None = None

    @property
    def era(self) -> tuple[int, int]:
        """The first two numbers of its version, which decide how it is set up."""
        numbers = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", self.specimen.version)
        return (int(numbers[1]), int(numbers[2])) if numbers else UNKNOWN_VERSION

    @property
    def prefix(self) -> Path | None:
        """The directory of its share/ and lib/; None for a server of this machine."""
        return self.root / "usr" if self.root else self.basedir

    def command(
        self,
        arguments: Sequence[str] = (),
        *,
        program: Path | None = None,
        tls_library: TlsLibrary | None = None,
        preload: Path | None = None,
    ) -> list[str]:
        """The command line that runs the server, or another program of its root, with these arguments.

        A program of a root is run by a loader that is told where all libraries are (ld.so(8),
        --library-path); those of `tls_library` are found before the program's own, and `preload` is loaded
        before all others.
        """
        executable = str(program or self.executable)
        if self.root is None:
            return [executable, *arguments]
        loader, directories = loader_of(self.root)
        if self.machine_loader:
            loader, of_machine = loader_of(Path("/"))
            directories = (*of_machine, *directories)
        path = _library_path(tls_library, (*directories, *self.own_libraries))
        preloaded = ["--preload", str(preload)] if preload else []
        return [str(loader), *preloaded, "--library-path", path, executable, *arguments]

    def environment(
        self, tls_library: TlsLibrary | None = None, preload: Path | None = None
    ) -> dict[str, str]:
        """Environment variables that `command` needs: where libraries are, if no loader is given them."""
        if self.root is not None:
            return {}
        first = {"LD_PRELOAD": str(preload)} if preload else {}
        if tls_library is None and not self.own_libraries:
            return first
        return {**first, "LD_LIBRARY_PATH": _library_path(tls_library, self.own_libraries)}

    def companion(self, name: str) -> tuple[Path, list[str]]:
        """A program that came with the server, such as `mysqlslap`, and the words that start it.

        Variables that it needs are set by env(1), which replaces itself by it. MachineFault when the server
        came without.
        """
        tree = self.root or self.basedir or self.executable.parent.parent
        for path in (self.executable.with_name(name), *(tree / place / name for place in ("bin", "usr/bin"))):
            if path.is_file():
                variables = [f"{key}={value}" for key, value in self.environment().items()]
                before = ["/usr/bin/env", *variables] if variables else []
                return path, [*before, *self.command(program=path)]
        raise MachineFault(f"{self.specimen.name} came without its {name}")

    def client_specimen(self, name: str, executable: Path, version: str) -> Specimen:
        """A load client that came with the server: `executable`, known as `name`."""
        return Specimen(
            name=name,
            kind="client",
            version=version,
            origin=self.specimen.origin,
            why=f"it comes with {self.specimen.name}",
            path=str(executable),
            sha256=sha256_of(executable),
            packages=self.specimen.packages,
        )


def version_told(name: str, command: Sequence[str], pattern: re.Pattern[str]) -> str:
    """What the program of that name says to --version, by the first group. MachineFault where it does not."""
    done = must_run(name, [*command, "--version"])
    found = pattern.search(done.stdout)
    if done.returncode != 0 or found is None:
        last = "".join(done.stderr.strip().splitlines()[-1:]) or "no message"
        raise MachineFault(f"{name} does not run ({last})")
    return found[1]


def loader_of(root: Path) -> tuple[Path, tuple[Path, ...]]:
    """The dynamic loader of a Debian root and the directories of its libraries.

    FileNotFoundError when the root has none. The names follow Debian's multiarch layout,
    usr/lib/TRIPLET/ld-linux-*.so.*; before trixie, some of it is in lib/TRIPLET instead.
    """
    bases = (root / "usr" / "lib", root / "lib")
    for base in bases:
        for loader in sorted(base.glob("*-linux-gnu*/ld-linux*.so.*")):
            directories = (place / loader.parent.name for place in bases)
            return loader, tuple(directory for directory in directories if directory.is_dir())
    raise FileNotFoundError(f"{root} has no dynamic loader")


def _library_path(tls_library: TlsLibrary | None, directories: Sequence[Path]) -> str:
    """The TLS library first, the program's own libraries, what the TLS library itself needs last.

    Libraries of a server that was added lie wherever their owner has them.
    """
    first = (tls_library.directory,) if tls_library else ()
    last = tls_library.support if tls_library else ()
    return ":".join(str(plain(directory)) for directory in (*first, *directories, *last))
