"""A bundle: from a checkout, the cache and the registry to one file, its parts packed one by one.

An archive's bytes depend on what is put in alone: in a given order, without owners and times. The locked
Python packages are fetched as wheels for whichever version of Python they are wanted, each checked by pip
against the lock's hashes; a wheel is a zip of the folder that they are imported from (PyPA, "Binary
distribution format").
"""

from __future__ import annotations

import gzip
import lzma
import re
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from platform import machine
from typing import IO, BinaryIO

from packaging.requirements import Requirement

from tlstax import __version__
from tlstax.clients.engine import engine_command
from tlstax.specimens import carried, shelf
from tlstax.specimens import manifest as manifests
from tlstax.specimens.carried import CONTENTS, PARTS, SUMS, Bundle
from tlstax.specimens.catalogue import RECIPES
from tlstax.specimens.manifest import Recipe
from tlstax.specimens.processes import must_run
from tlstax.specimens.progress import Reporter, megabytes
from tlstax.specimens.sessions import Session
from tlstax.specimens.sources import tool
from tlstax.support.errors import MachineFault
from tlstax.support.installation import PROGRAM, REQUIREMENTS, ROOT, files
from tlstax.support.trusted import sha256_of

DOWNLOAD_S = 1800.0
OLDEST_PYTHON, NEWEST_PYTHON = 11, 14
"""Minor versions of Python 3 that tlstax runs on."""

PLATFORMS = (
    "linux",
    "manylinux1",
    "manylinux2010",
    "manylinux2014",
    *(f"manylinux_2_{n}" for n in range(5, 29)),
)
"""Wheels for a C library of 2.28 and older, that of RHEL 8 (PEP 600)."""

NETWORK = (
    (r"no matching distribution found for", "there is none for that Python"),
    (r"do not match the hashes", "what was fetched is not what is locked"),
    (r"no module named pip", "this Python has no pip"),
    (r"connection|resolve|timed? ?out|proxy", "the registry cannot be reached"),
)

SCIPY_KEPT = ("_lib", "special")
"""The parts of SciPy that tlstax uses: `special`, and what that imports in the version that is locked."""

MIMESIS_KEPT = ("en", "int", "global")
"""The languages of made-up people that tlstax uses."""

SQLGLOT_UNUSED = (
    r"(dialects|parsers|generators|typing)/(?!(__init__|dialect|base|mysql|postgres)\.py)[^/]+"
    r"|(executor|optimizer/(?!(__init__|annotate_types|scope)\.py)[^/]+).*"
    r"|(__main__|anonymize|lineage|planner|serde)\.py"
)
"""The SQL of other databases than MySQL and PostgreSQL, and what changes and runs queries."""

UNUSED = re.compile(
    r".*/tests/.*"
    r"|.*\.(pyi|pxd|pyx|h|hpp|a)"
    r"|numpy/distutils/.*"
    rf"|scipy/(?!({'|'.join(SCIPY_KEPT)})/)[^/]+/.*"
    rf"|mimesis/datasets/(?!({'|'.join(MIMESIS_KEPT)})/)[^/]+/.*"
    rf"|sqlglot/({SQLGLOT_UNUSED})"
    r"|(setuptools|_distutils_hack|pbr)[/-].*|distutils-precedence\.pth"
    r"|[^/]+\.dist-info/RECORD"
)
"""What nothing here imports: tests, what only compilers and installers read, parts of libraries."""


def locked(lock: str, python: str) -> Iterator[str]:
    """The lines of a lock file that hold for this Python ("3.13") on Linux, as pip wants them.

    pip itself asks the Python that it runs on whether a line holds.
    """
    environment = {
        "python_version": python,
        "python_full_version": f"{python}.0",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "platform_machine": machine(),
    }
    without_comments = re.sub(r"^ *#.*\n", "", lock, flags=re.MULTILINE)
    for line in without_comments.replace("\\\n", " ").splitlines():
        wanted, *hashes = re.split(r"\s+(?=--hash=)", line.strip())
        if not wanted:
            continue
        requirement = Requirement(wanted)
        if requirement.marker is None or requirement.marker.evaluate(environment):
            yield " ".join((f"{requirement.name}{requirement.specifier}", *hashes))


def site_packages(python: str, root: Path, scratch: Path, reporter: Reporter) -> Path:
    """The folder for this Python ("3.13"), made below `scratch`. MachineFault where one is not available."""
    reporter.step(f"fetching the Python packages for Python {python}, each checked against its hash")
    wheels = _wheels(python, (root / REQUIREMENTS).read_text(encoding="utf-8"), scratch)
    folder = scratch / f"packages-{python}"
    for wheel in sorted(wheels.glob("*.whl")):
        unpack(wheel, folder)
    return folder


def unpack(wheel: Path, folder: Path) -> None:
    """Unpack a wheel but for what is unused, and for what would be put elsewhere, such as scripts."""
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            name = re.sub(r"^[^/]+\.data/(purelib|platlib)/", "", entry.filename)
            if entry.is_dir() or UNUSED.fullmatch(name) or re.match(r"[^/]+\.data/", name):
                continue
            entry.filename = name
            archive.extract(entry, folder)


def _wheels(python: str, lock: str, scratch: Path) -> Path:
    wanted, wheels, log = scratch / f"lock-{python}", scratch / f"wheels-{python}", scratch / "pip.log"
    wanted.write_text("\n".join(locked(lock, python)) + "\n", encoding="utf-8")
    command = [sys.executable, "-I", "-m", "pip", "download", "--no-input", "--disable-pip-version-check"]
    command += ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--implementation", "cp"]
    command += [
        "--python-version",
        python,
        "--abi",
        f"cp{python.replace('.', '')}",
        "--abi",
        "abi3",
        "--abi",
        "none",
    ]
    for platform in PLATFORMS:
        command += ["--platform", f"{platform}_{machine()}"]
    command += ["-d", str(wheels), "-r", str(wanted)]
    log.unlink(missing_ok=True)
    if tool.run(tool.Run(command, scratch, log, DOWNLOAD_S)) != 0:
        shutil.rmtree(wheels, ignore_errors=True)
        raise tool.failed(
            f"the Python packages for Python {python} cannot be fetched",
            log,
            NETWORK,
            "check the network, or name another Python with --python",
        )
    return wheels


def is_served(python: str) -> bool:
    """Whether a version, such as "3.13", is one that tlstax runs on."""
    found = re.fullmatch(r"3\.(\d+)", python)
    return found is not None and OLDEST_PYTHON <= int(found[1]) <= NEWEST_PYTHON


ENGINE = "engine"


@dataclass(frozen=True)
class Contents:
    """What a bundle is to have: names of specimens, servers first; versions of Python such as "3.13"."""

    specimens: tuple[str, ...]
    pythons: tuple[str, ...]


@dataclass(frozen=True)
class Share:
    """How much of the file is what: `packed_bytes` in it, `bytes` once it is unpacked."""

    what: str
    packed_bytes: int
    bytes: int


def make(
    contents: Contents, session: Session, reporter: Reporter, root: Path = ROOT
) -> tuple[Path, list[Share]]:
    """Make the whole file in a folder of the session: where it lies, and what is in it. MachineFault."""
    scratch = session.new_directory()
    (scratch / PARTS).mkdir()
    parts, shares = list[Member](), list[Share]()

    def pack(name: str, words: str, members: list[Member]) -> None:
        part = Member(scratch / carried.part_of(name), carried.part_of(name))
        total = bytes_of(members)
        reporter.step(f"packing {words} ({total / 1e6:.0f} MB)")
        meter = megabytes(f"packing {words}", total)
        write_packed(members, part.path, lambda read: reporter.now(meter.words(read)))
        parts.append(part)
        shares.append(Share(words, part.path.stat().st_size, total))

    for name in contents.specimens:
        pack(name, RECIPES[name].title, _specimen(RECIPES[name], reporter))
    for python in contents.pythons:
        folder = site_packages(python, root, scratch, reporter)
        pack(f"python-{python}", f"Python packages for {python}", members_below(folder))
        shutil.rmtree(folder)
    folder = stripped(scratch)
    pack(ENGINE, "load engine", members_below(folder))
    bundle = Bundle(
        tlstax=__version__,
        machine=machine(),
        glibc=oldest_glibc(folder),
        files=0,
        pythons=contents.pythons,
        specimens=contents.specimens,
    )
    reporter.step("putting all into one file")
    own = own_members(root)
    made = put_together(own, parts, bundle, scratch)
    rest = made.stat().st_size - sum(share.packed_bytes for share in shares)
    return made, [*shares, Share("tlstax itself", rest, bytes_of(own))]


def _specimen(recipe: Recipe, reporter: Reporter) -> list[Member]:
    """The files of a specimen, which is fetched where it is not here. MachineFault."""
    kept = shelf.obtain(recipe, reporter)
    reporter.step(f"checking {recipe.title}")
    wrong = shelf.verify(kept)
    if wrong:
        raise MachineFault(
            f"{recipe.name} is no longer what was fetched ({wrong[0]})",
            remedy=f"fetch it anew: `tlstax specimens remove {recipe.name}`",
        )
    own = [Member(kept.path / file, file) for file in (manifests.MANIFEST, manifests.DIGESTS)]
    return own + members_below(kept.tree, f"{manifests.TREE}/")


FOLDER = "tlstax"
"""What the bundle unpacks to."""

TEXTS = ("README.md", "CHANGELOG.md", "LICENSE", "LICENSE-MIT", "LICENSE-APACHE")
NOT_NEEDED = ("setup/requirements-test.txt", "engine/fuzz/", "contract/printed/")
"""Files, and folders of them, that nobody needs who runs tlstax."""

PACK_MOST_TIGHTLY = 9


def own_members(root: Path) -> list[Member]:
    """The files of tlstax itself, with the pages for its users."""
    found = [*files(root, (*PROGRAM, *TEXTS)), *sorted((root / "docs").glob("*.md"))]
    named = [Member(path, str(path.relative_to(root))) for path in found]
    return [one for one in named if not one.name.startswith(NOT_NEEDED)]


def put_together(own: Sequence[Member], parts: Sequence[Member], bundle: Bundle, scratch: Path) -> Path:
    """Write the file in the folder `scratch`; `files` of the bundle is counted here.

    What says whether the rest is whole comes first, so that it is there where the end was cut off. The parts
    are packed already; gzip(1) for the rest is on every machine that has tar.
    """
    contents, sums = Member(scratch / CONTENTS, CONTENTS), Member(scratch / SUMS, SUMS)
    summed = [contents, *own, *parts]
    contents.path.write_text(bundle.model_copy(update={"files": len(summed)}).text(), encoding="utf-8")
    sums.path.write_text("".join(f"{sha256_of(one.path)}  {one.name}\n" for one in summed), encoding="utf-8")
    members = [Member(one.path, f"{FOLDER}/{one.name}") for one in (contents, sums, *own, *parts)]
    whole = scratch / "whole"
    with whole.open("wb") as out, gzip.GzipFile("", "wb", PACK_MOST_TIGHTLY, out, mtime=0) as packed:
        write(members, packed, lambda _: None)
    return whole


PREFIX = "tlstax-"
_NEEDED = re.compile(rb"GLIBC_2\.(\d+)\0")
STRIP_S = 60.0


def stripped(scratch: Path) -> Path:
    """A folder below `scratch` with the programs, without what only a debugger reads. MachineFault."""
    tool.need("strip", "a bundle", "install binutils")
    folder = scratch / "programs"
    folder.mkdir()
    for program in sorted(Path(engine_command()[0]).parent.glob(f"{PREFIX}*")):
        target = folder / program.name
        shutil.copyfile(program, target)
        target.chmod(0o755)
        # Names of functions stay: profiles say by them where time goes.
        done = must_run("strip", ["strip", "--strip-debug", str(target)], timeout_s=STRIP_S)
        if done.returncode:
            raise MachineFault(f"{program.name} could not be made smaller ({done.stderr.strip()})")
    return folder


def oldest_glibc(folder: Path) -> str:
    """The version of the C library that all programs of the folder run on, such as "2.34".

    The names of the symbol versions that a program needs stand in it as text (ELF gABI, "Symbol Versioning").
    """
    needed = [int(minor) for file in folder.iterdir() for minor in _NEEDED.findall(file.read_bytes())]
    return f"2.{max(needed, default=0)}"


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
