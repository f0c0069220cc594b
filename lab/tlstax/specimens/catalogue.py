"""The specimens that can be fetched by name: TLS libraries, paths, faults and drivers, beside servers.

Compare OpenSSLs that were built alike: same compiler, same flags. Debian's are for tests and quick starts.
Each driver is built by its folder and kept like all others.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

from tlstax.specimens.manifest import AptPackages, Crate, CSource, DriverBuild, Kind, OpensslBuild, Recipe
from tlstax.specimens.server_recipes import MARIADB_10_11, MARIADB_11_8, MYSQL_9_7, MYSQL_OF_SID, SERVERS
from tlstax.study.driver_catalogue import DRIVERS, Driver
from tlstax.study.level_names import BURN, COUNT_LOCKS, GROUPS_LIFTED
from tlstax.support.trusted import sha256_of

_LENDER = Crate(
    version="300.5.0+3.5.0", sha256="e8ce546f549326b0e6052b649198487d91320875da901e7bd11a06d1ee3f9c2f"
)
"""Some crates lack three files that the build needs; they are the same in this one."""


def _openssl_built(
    series: str, crate: str, sha256: str, *, borrows: bool = False, names_of: str = ""
) -> Recipe:
    version = crate.partition("+")[2]
    soname = names_of or {"1": "1.1", "3": "3", "4": "4"}[version[0]]
    return Recipe(
        name=f"openssl-{series}",
        title=f"OpenSSL {version}{f' under the names of {names_of}' if names_of else ''}",
        kind="tls_library",
        version=version,
        source=OpensslBuild(
            crate=Crate(version=crate, sha256=sha256), lender=_LENDER if borrows else None, names_of=names_of
        ),
        program=f"lib/libssl.so.{soname}",
        bytes_needed=700_000_000,
    )


def _openssl_of_debian(series: str, suites: tuple[str, ...], package: str, soname: str) -> Recipe:
    return Recipe(
        name=f"openssl-{series}-debian",
        title=f"OpenSSL {series} from Debian {suites[0]}",
        kind="tls_library",
        source=AptPackages(suites=suites, packages=(package, f"openssl={series}*")),
        program=f"tls/libssl.so.{soname}",
        bytes_needed=150_000_000,
    )


OPENSSL = (
    _openssl_built(
        "1.1.1l", "111.16.0+1.1.1l", "7ab2173f69416cf3ec12debb5823d244127d23a9b127d5a5189aa97c5fa2859f"
    ),
    _openssl_built(
        "1.1.1w", "111.28.2+1.1.1w", "bb1830e20a48a975ca898ca8c1d036a36c3c6c5cb7dabc1c216706587857920f"
    ),
    _openssl_built(
        "3.0.2", "300.0.5+3.0.2", "9bd053af511ee4439768d9b839a1cdb32eee00f52fe5f748d64c0e8f73194ba1"
    ),
    _openssl_built(
        "3.0", "300.0.13+3.0.8", "f00789a63ec8951fcda9adb0f2258582afdcfe1b2435e332d3a859896f814f0a"
    ),
    _openssl_built(
        "3.1", "300.1.6+3.1.4", "439fac53e092cd7442a3660c85dde4643ab3b5bd39040912388dcdabf6b88085"
    ),
    _openssl_built(
        "3.2", "300.2.3+3.2.1", "5cff92b6f71555b61bb9315f7c64da3ca43d87531622120fea0195fc761b4843"
    ),
    _openssl_built(
        "3.3", "300.3.2+3.3.2", "a211a18d945ef7e648cc6e0058f4c548ee46aab922ea203e0d30e966ea23647b"
    ),
    _openssl_built(
        "3.4", "300.4.2+3.4.1", "168ce4e058f975fe43e89d9ccf78ca668601887ae736090aacc23ae353c298e2"
    ),
    _openssl_built(
        "3.5.5",
        "300.5.5+3.5.5",
        "3f1787d533e03597a7934fd0a765f0d28e94ecc5fb7789f8053b1e699a56f709",
        borrows=True,
    ),
    _openssl_built(
        "3.6",
        "300.6.1+3.6.3",
        "46eb8fb9fb3b61ce1c0f8a026c4c1a0714d3a9e138e7fbde78753ce2babc3846",
        borrows=True,
    ),
    _openssl_built(
        "4.0",
        "400.0.2+4.0.3",
        "d2093956673b8dbda85c87fa4fb78e70698ce6c5978a2837d1613f661d3bef76",
        borrows=True,
    ),
    _openssl_built(
        "4.0-as-3",
        "400.0.2+4.0.3",
        "d2093956673b8dbda85c87fa4fb78e70698ce6c5978a2837d1613f661d3bef76",
        borrows=True,
        names_of="3",
    ),
    _openssl_of_debian("1.1.1", ("bullseye",), "libssl1.1", "1.1"),
    _openssl_of_debian("3.0", ("bookworm",), "libssl3", "3"),
    _openssl_of_debian("3.5", ("trixie",), "libssl3t64", "3"),
    _openssl_of_debian("3.6", ("sid",), "libssl3t64", "3"),
    _openssl_of_debian("4.0", ("experimental", "sid"), "libssl4", "4"),
)

INSTALLING = (
    "adduser",
    "debconf",
    "dpkg",
    "init-system-helpers",
    "libpam-modules",
    "libpam-runtime",
    "lsb-base",
    "netbase",
    "openssl",
    "openssh-sftp-server",
    "passwd",
    "perl",
    "procps",
    "runit-helper",
    "systemd",
    "sysvinit-utils",
    "ucf",
)
"""What packages of paths need to be set up or started as services of a machine, which they are not here."""


def _path_of_bookworm(
    name: str, title: str, packages: tuple[str, ...], program: str, bytes_needed: int
) -> Recipe:
    return Recipe(
        name=name,
        title=f"{title} from Debian bookworm",
        kind="path",
        source=AptPackages(suites=("bookworm",), packages=packages, given=INSTALLING),
        program=program,
        bytes_needed=bytes_needed,
    )


OPENSSH = _path_of_bookworm(
    "openssh", "OpenSSH", ("openssh-server", "openssh-client"), "usr/sbin/sshd", 120_000_000
)
STUNNEL = _path_of_bookworm("stunnel", "stunnel", ("stunnel4",), "usr/bin/stunnel4", 120_000_000)
HAPROXY = _path_of_bookworm("haproxy", "HAProxy", ("haproxy",), "usr/sbin/haproxy", 120_000_000)
MYSQL_ROUTER = Recipe(
    name="mysql-router",
    title="MySQL Router from Debian sid",
    kind="path",
    source=AptPackages(suites=("sid",), packages=("mysql-router",), given=INSTALLING),
    program="usr/bin/mysqlrouter",
    bytes_needed=300_000_000,
)

PGBOUNCER = Recipe(
    name="pgbouncer",
    title="PgBouncer from Debian sid",
    kind="path",
    source=AptPackages(suites=("sid",), packages=("pgbouncer",), given=INSTALLING),
    program="usr/sbin/pgbouncer",
    bytes_needed=150_000_000,
)

PGBOUNCER_1_18 = _path_of_bookworm(
    "pgbouncer-1.18", "PgBouncer 1.18", ("pgbouncer",), "usr/sbin/pgbouncer", 120_000_000
)

PATHS = (OPENSSH, STUNNEL, HAPROXY, MYSQL_ROUTER, PGBOUNCER, PGBOUNCER_1_18)

VERSION_OPTION = {
    OPENSSH.name: "-V",
    STUNNEL.name: "-version",
    HAPROXY.name: "-v",
    MYSQL_ROUTER.name: "--version",
    PGBOUNCER.name: "--version",
    PGBOUNCER_1_18.name: "--version",
}
"""How each of the programs is asked for its version."""

FAULT_SOURCES = Path(__file__).parent / "faults"
"""Where the sources of faults are; each says at its top what it imitates and whom it reaches."""

FAULT_MARK = "libtlstax-"
"""How their files' names begin, by which one is seen in a process's memory map."""


def _source_checksum(file: str) -> str:
    """Of the file, and of the headers that it may include."""
    parts = (FAULT_SOURCES / file, *sorted(FAULT_SOURCES.glob("*.h")))
    return sha256("".join(map(sha256_of, parts)).encode()).hexdigest()


def _compiled(name: str, kind: Kind, title: str, file: str, stands_for: str) -> Recipe:
    """A recipe that a changed source makes another one, so that an outdated library is never used."""
    return Recipe(
        name=name,
        title=title,
        kind=kind,
        version="1",
        source=CSource(file=file, sha256=_source_checksum(file), stands_for=stands_for),
        program=f"{FAULT_MARK}{kind}-{name}.so",
        bytes_needed=1_000_000,
    )


FAULTS = (
    _compiled(
        "rand-per-byte",
        "fault",
        "random numbers of a login drawn one byte at a time, as in MySQL 5.6.6",
        "rand_per_byte.c",
        "RAND_bytes",
    ),
    _compiled(
        BURN,
        "fault",
        "CPU time burned in each answer in plaintext, as much as is asked for",
        "burn.c",
        "send",
    ),
    _compiled(
        GROUPS_LIFTED,
        "variant",
        "a server that agrees on any key exchange group that its TLS library has",
        "groups_lifted.c",
        "SSL_CTX_ctrl",
    ),
    _compiled(
        COUNT_LOCKS,
        "variant",
        "a server whose locks are counted, with who takes them",
        "count_locks.c",
        "pthread_mutex_lock",
    ),
)

RUN = "run"
"""The file that a folder's `build` makes: it becomes the program behind the contract."""

LEFT_OVER = frozenset({"__pycache__", "node_modules", "target"})
"""Directories that tools make in a folder beside what belongs to it."""

PAGE = "README.md"
"""A page for people; another word in it makes no other program."""

BYTES_NEEDED, BYTES_NEEDED_WITH_DEBIAN = 500_000_000, 1_500_000_000


def files_of(folder: Path) -> Iterator[Path]:
    """The files of which a driver is built, in the order of their paths; none where there is no folder."""
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if path.is_file() and not LEFT_OVER.intersection(inside.parts) and str(inside) != PAGE:
            yield path


@cache
def digest_of(folder: Path) -> str:
    """The SHA-256 over the folder's files: their paths, what they hold, and which are executable."""
    digest = hashlib.sha256()
    for path in files_of(folder):
        mode = "x" if os.access(path, os.X_OK) else "-"
        digest.update(f"{path.relative_to(folder)} {mode} {sha256_of(path)}\n".encode())
    return digest.hexdigest()


def gone_runtime(run: Path) -> str:
    """What starts a built driver and is not part of it, by path or name, where that is gone; else empty.

    A driver is built with the interpreter or runtime that it is started by, which may be taken away later:
    the one that `run` names in its first line (execve(2), "Interpreter scripts") or after `exec`. What is
    named by a variable of the script lies in the driver's own tree.
    """
    with run.open("rb") as file:
        if file.read(2) != b"#!":
            return ""
        lines = file.read().decode(errors="replace").splitlines()
    started = [_words(lines[0])] if lines else []
    started += [_words(line)[1:] for line in lines[1:] if line.startswith("exec ")]
    for words in started:
        program = words[0] if words else ""
        if program and "$" not in program and shutil.which(program) is None:
            return program
    return ""


def _words(line: str) -> list[str]:
    """The words of a shell's line, a word that goes on in the next line left out."""
    try:
        return shlex.split(line.rstrip("\\"))
    except ValueError:
        return []


def _recipe(name: str, driver: Driver) -> Recipe:
    return Recipe(
        name=name,
        title=f"{driver.product} {driver.version}",
        kind="client",
        version=driver.version,
        source=DriverBuild(
            folder=driver.folder,
            name=name,
            version=driver.version,
            sha256=digest_of(driver.place),
            debian=driver.debian,
            debian_suite=driver.debian_suite,
        ),
        program=RUN,
        bytes_needed=BYTES_NEEDED_WITH_DEBIAN if driver.debian else BYTES_NEEDED,
    )


DRIVER_RECIPES = tuple(_recipe(name, driver) for name, driver in DRIVERS.items())


RECIPES: dict[str, Recipe] = {
    recipe.name: recipe for recipe in (*SERVERS, *OPENSSL, *PATHS, *FAULTS, *DRIVER_RECIPES)
}

DEFAULT_SERVER = MYSQL_9_7
MARIADB_OF_RELEASE = {"bookworm": MARIADB_10_11, "trixie": MARIADB_11_8}


def default_servers(codename: str) -> tuple[Recipe, ...]:
    """The embedded default server and what takes its place, in the order in which they are tried.

    `codename` is that of the machine's own Debian release; where it is another, the newest MariaDB is taken.
    """
    return (DEFAULT_SERVER, MYSQL_OF_SID, MARIADB_OF_RELEASE.get(codename, MARIADB_11_8))
