"""What is built here: OpenSSL from source, every version alike, faults of one C file of ours, and drivers.

OpenSSL is fetched by cargo and compiled by its own Configure and make. All versions get the same flags and
are built by the machine's compiler, so that what differs between them is OpenSSL. They are not stripped: a
profile can name their functions.

A driver is built by its own folder: `build NAME VERSION TREE`, run on a copy of the folder. That `build`
calls the package manager of its language as the user has it configured, and holds it to that language's lock
file. Packages of Debian that the driver comes in are unpacked before, verified by the archive's signature.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from platform import machine

from tlstax.specimens.catalogue import FAULT_SOURCES, INSTALLING, RUN, files_of
from tlstax.specimens.manifest import AptPackages, Crate, CSource, DriverBuild, OpensslBuild, Part, Recipe
from tlstax.specimens.processes import must_run
from tlstax.specimens.progress import Meter, Reporter
from tlstax.specimens.sources import apt, tool
from tlstax.specimens.sources.tool import Place, unpack_tar
from tlstax.study.driver_catalogue import DRIVERS
from tlstax.support.errors import MachineFault
from tlstax.support.trusted import sha256_of

CONFIGURE_TARGETS = {"x86_64": "linux-x86_64", "aarch64": "linux-aarch64"}
"""What ./Configure calls machines (LIST in its output), by the kernel's names for them."""

CRATE = "openssl-src"
PREFIX = Path("/opt/tlstax-openssl")
"""What the libraries take for their home: a place that does not exist, so no openssl.cnf is found there."""
OPENSSL_FLAGS = ("shared", "no-tests", "enable-ec_nistp_64_gcc_128")
LENT = ("util/mkdef.pl", "util/other.syms", "util/providers.num")
KEPT = ("bin/openssl", "lib/libssl.so.*", "lib/libcrypto.so.*", "lib/ossl-modules/*.so")

TOOLS = {
    "cargo": "install Rust (package cargo, or rustup)",
    "perl": "install the package perl",
    "make": "install the package make",
    "cc": "install a C compiler (package gcc)",
}
CARGO_SAID = (
    (r"failed to (download|fetch|get)|could not resolve|timed? ?out|spurious network", "the network failed"),
    (r"no matching package|failed to select a version", "the registry does not have it"),
    (r"^error", "cargo reported"),
)
BUILD_SAID = ((r"\berror: |undefined reference|Can't locate|\*\*\* ", "the build reported"),)
FETCH_TIMEOUT_S = 900.0
BUILD_TIMEOUT_S = 7200.0


@dataclass(frozen=True)
class _Build:
    """Where one build happens: OpenSSL's source, and the log of all that is done to it."""

    title: str
    source: Path
    log: Path

    def run(self, command: list[str], look: Callable[[], None] = lambda: None) -> None:
        work = tool.Run(command, self.source, self.log, BUILD_TIMEOUT_S, look)
        if tool.run(work) != 0:
            raise tool.failed(
                f"{self.title} cannot be built",
                self.log,
                BUILD_SAID,
                "check this machine's compiler and perl, or take one of Debian's (openssl-…-debian)",
            )


def fill_openssl(recipe: Recipe, source: OpensslBuild, place: Place, reporter: Reporter) -> tuple[Part, ...]:
    """Fetch, compile and install into the tree; which crates it was made of. Raises MachineFault."""
    target = CONFIGURE_TARGETS.get(machine())
    if target is None:
        raise MachineFault(f"{recipe.title} is not built on {machine()} machines", remedy="use another one")
    for program, remedy in TOOLS.items():
        tool.need(program, f"building {recipe.title}", remedy)
    _check_path(recipe.title, place.work.resolve())
    crates = [crate for crate in (source.crate, source.lender) if crate is not None]
    reporter.step(f"fetching the source of {recipe.title} with cargo")
    unpacked = [_unpack(crate, place) for crate in crates]
    for name in LENT if source.lender else ():
        shutil.copy2(unpacked[1] / name, unpacked[0] / name)
    if source.names_of:
        _rename(unpacked[0], source.names_of)
    _compile_openssl(_Build(recipe.title, unpacked[0], place.log), target, place, reporter)
    return tuple(Part(name=CRATE, version=crate.version, sha256=crate.sha256) for crate in crates)


def _check_path(title: str, work: Path) -> None:
    """MachineFault where OpenSSL's Configure would trip over the path that it finds itself in."""
    if set("\"'") & set(str(work)):
        raise MachineFault(
            f"{title} cannot be built below {work.parents[1]}: its Configure takes no quotation marks in a "
            "path",
            remedy="name a directory without them in TLSTAX_CACHE, or take one of Debian's "
            "(openssl-…-debian)",
        )


def _compile_openssl(build: _Build, target: str, place: Place, reporter: Reporter) -> None:
    reporter.step(f"compiling {build.title}, which takes some minutes")
    where = [f"--prefix={PREFIX}", f"--openssldir={PREFIX / 'ssl'}", "--libdir=lib"]
    build.run(["perl", "./Configure", target, *OPENSSL_FLAGS, *where])
    objects = len(set(re.findall(r"^(\S+\.o):", (build.source / "Makefile").read_text(), re.MULTILINE)))
    meter = Meter(f"compiling {build.title}", objects, "files")

    def look() -> None:
        reporter.now(meter.words(sum(1 for _ in build.source.rglob("*.o"))))

    build.run(["make", f"-j{os.cpu_count() or 1}", *_targets(build.source)], look)
    stage = place.work / "installed"
    build.run(["make", "install_sw", f"DESTDIR={stage}"])
    _keep(stage / PREFIX.relative_to("/"), place.tree)


def _rename(source: Path, major: str) -> None:
    """Have the libraries' files and symbol versions carry another major version's names.

    Source: SHLIB_VERSION in VERSION.dat becomes the soname; the second column of util/lib*.num becomes the
    symbol's version node (util/mkdef.pl).
    """
    version = source / "VERSION.dat"
    text = version.read_text(encoding="utf-8")
    own = text.partition("SHLIB_VERSION=")[2].split()[0]
    version.write_text(text.replace(f"SHLIB_VERSION={own}", f"SHLIB_VERSION={major}"), encoding="utf-8")
    for name in ("libssl.num", "libcrypto.num"):
        numbers = source / "util" / name
        text = numbers.read_text(encoding="utf-8")
        numbers.write_text(text.replace(f"\t{own}_0_0\t", f"\t{major}_0_0\t"), encoding="utf-8")


def _targets(source: Path) -> list[str]:
    """`build_sw` leaves tests and documents out; 1.1.1 has it under no name, and `all` takes no longer."""
    makefile = (source / "Makefile").read_text(encoding="utf-8", errors="replace")
    return ["build_sw"] if re.search(r"^build_sw:", makefile, re.MULTILINE) else []


def _keep(installed: Path, tree: Path) -> None:
    """The libraries, the modules they load and the program that reports what they can do; no headers."""
    for pattern in KEPT:
        for file in installed.glob(pattern):
            target = tree / file.relative_to(installed)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(file, target)


def _unpack(crate: Crate, place: Place) -> Path:
    """The crate's OpenSSL source, after its file was checked."""
    file = _fetch(crate, place)
    unpack_tar(file, place.work)
    return place.work / f"{CRATE}-{crate.version}" / "openssl"


def _fetch(crate: Crate, place: Place) -> Path:
    """The crate's file in cargo's own cache, fetched if it is not there.

    Two versions of one crate cannot always stand in one lock file, so each is asked for by a package of
    its own.
    """
    if _cached(crate) is None:
        package = place.work / f"fetch-{crate.version}"
        (package / "src").mkdir(parents=True)
        (package / "src" / "lib.rs").touch()
        (package / "Cargo.toml").write_text(_package_asking_for(crate), encoding="utf-8")
        work = tool.Run(["cargo", "fetch"], package, place.log, FETCH_TIMEOUT_S)
        if tool.run(work) != 0:
            raise tool.failed(
                f"the crate {CRATE} {crate.version} cannot be fetched",
                place.log,
                CARGO_SAID,
                "check the network and cargo's configuration, and start again",
            )
    file = _cached(crate)
    if file is None:
        raise MachineFault(
            f"cargo fetched {CRATE} {crate.version}, and it is not in {_cargo_home() / 'registry' / 'cache'}",
            remedy="set CARGO_HOME to cargo's own directory",
        )
    if sha256_of(file) != crate.sha256:
        raise MachineFault(
            f"{file} is not the {CRATE} {crate.version} that tlstax knows (its SHA-256 differs)",
            remedy="remove that file and start again; if it happens again, do not trust the registry",
        )
    return file


def _package_asking_for(crate: Crate) -> str:
    number = crate.version.partition("+")[0]
    return (
        '[package]\nname = "ask"\nversion = "0.0.0"\nedition = "2021"\n\n[workspace]\n\n'
        f'[dependencies]\n{CRATE} = "={number}"\n'
    )


def _cached(crate: Crate) -> Path | None:
    name = f"{CRATE}-{crate.version}.crate"
    return next(iter(sorted((_cargo_home() / "registry" / "cache").glob(f"*/{name}"))), None)


def _cargo_home() -> Path:
    return Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")


COMPILER = "cc"
FAULT_FLAGS = ("-shared", "-fPIC", "-O2", "-g", "-fno-omit-frame-pointer", "-nostdlib", "-Wall", "-Werror")
"""Without start files and without libraries named, so that it asks for no version of any C library; with
symbols and unwind tables, so that a profile names it."""

COMPILER_SAID = ((r"\berror: |undefined reference|cannot find", "the compiler reported"),)
COMPILE_TIMEOUT_S = 60.0


def fill_fault(recipe: Recipe, source: CSource, place: Place, reporter: Reporter) -> tuple[Part, ...]:
    """Compile into the tree; the source and which compiler it was. Raises MachineFault."""
    tool.need(COMPILER, f"{recipe.name}, a {recipe.kind} of ours,", "install a C compiler (package gcc)")
    reporter.step(f"compiling {recipe.name}")
    command = [
        COMPILER,
        *FAULT_FLAGS,
        "-o",
        str(place.tree / recipe.program),
        str(FAULT_SOURCES / source.file),
    ]
    if tool.run(tool.Run(command, place.work, place.log, COMPILE_TIMEOUT_S)) != 0:
        raise tool.failed(
            f"{recipe.name} cannot be compiled", place.log, COMPILER_SAID, "check this machine's C compiler"
        )
    return (Part(name=source.file, version=_compiler_name(), sha256=source.sha256),)


def _compiler_name() -> str:
    """What the compiler calls itself."""
    path = shutil.which(COMPILER) or COMPILER
    said = must_run(path, [path, "--version"]).stdout
    return next(iter(said.splitlines()), COMPILER)


BUILD, ROOT = "build", "root"
TIMEOUT_S = 1800.0

PYTHON_VARIABLE = "TLSTAX_PYTHON"
"""What a build gets in its environment: the Python that runs the laboratory."""

PACKAGES = {
    "java": "a Java runtime (package default-jdk-headless)",
    "javac": "a Java compiler (package default-jdk-headless)",
    "mvn": "Maven (package maven)",
    "go": "Go (package golang-go)",
    "node": "Node.js (package nodejs)",
    "npm": "npm (package npm)",
    "cargo": "Rust (package cargo, or rustup)",
    "cc": "a C compiler (package gcc)",
    "python3": "Python (package python3)",
}
"""What is to be installed for a program that a build calls."""


def fill_driver(recipe: Recipe, source: DriverBuild, place: Place, reporter: Reporter) -> tuple[Part, ...]:
    """Build into the tree; the folder's files and every package of Debian. Raises MachineFault.

    The build's last line is the reason of its failure.
    """
    driver = DRIVERS[source.name]
    if not os.access(driver.place / BUILD, os.X_OK):
        raise MachineFault(
            f"{recipe.title} cannot be built: {driver.place / BUILD} is not there, or cannot be executed",
            remedy="complete the driver's folder as drivers/README.md says",
        )
    for program in driver.needs:
        tool.need(program, f"building {recipe.title}", f"install {PACKAGES.get(program, program)}")
    parts = _of_debian(recipe, source, place, reporter)
    scratch = _copied(driver.place, place.work / source.folder)
    reporter.step(f"building {recipe.title}")
    command = [str(scratch / BUILD), source.name, source.version, str(place.tree)]
    # Compilers take sources for what the locale says; of the messages, the last is shown.
    environment = {PYTHON_VARIABLE: sys.executable, "PYTHONPATH": "", "LC_ALL": "C.UTF-8"}
    if tool.run(tool.Run(command, scratch, place.log, TIMEOUT_S, environment=environment)) != 0:
        raise tool.failed(
            f"{recipe.title} cannot be built", place.log, (), "fix what is reported, and start again"
        )
    if not os.access(place.tree / RUN, os.X_OK):
        raise MachineFault(
            f"{recipe.title} cannot be used: its build made no executable file {RUN}",
            remedy="complete the driver's folder as drivers/README.md says",
        )
    return (Part(name=source.folder, version=source.version, sha256=source.sha256), *parts)


def _of_debian(recipe: Recipe, source: DriverBuild, place: Place, reporter: Reporter) -> tuple[Part, ...]:
    """The packages of Debian, unpacked into the tree's `root`; nothing where the driver needs none."""
    if not source.debian:
        return ()
    given = tuple(name for name in INSTALLING if name not in source.debian)
    packages = AptPackages(suites=(source.debian_suite,), packages=source.debian, given=given)
    root = Place(place.tree / ROOT, place.work, place.downloads)
    root.tree.mkdir()
    _, parts = apt.fill(recipe, packages, root, reporter)
    return parts


def _copied(folder: Path, scratch: Path) -> Path:
    """A copy of the folder in which the build may write."""
    for file in files_of(folder):
        copy = scratch / file.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, copy)
    return scratch
