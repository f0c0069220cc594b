"""The locked Python packages for one version of Python, as the folder that they are imported from.

They are fetched as wheels, each checked by pip against the lock's hashes, for whichever version of Python
they are wanted; a wheel is a zip of that folder (PyPA, "Binary distribution format").
"""

from __future__ import annotations

import re
import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from platform import machine

from packaging.requirements import Requirement

from tlstax.specimens.progress import Reporter
from tlstax.specimens.sources import tool
from tlstax.support.installation import REQUIREMENTS

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
