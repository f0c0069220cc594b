"""Packages of Debian and all they need, unpacked into a directory of their own without root rights.

apt resolves and downloads in a private state of its own, so the machine's package database is neither
read nor changed; every list and package is verified against Debian's archive keys; dpkg-deb unpacks. No
maintainer script runs.
"""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
from pathlib import Path

from tlstax.specimens import apt_command, processes
from tlstax.specimens.apt_command import AptCommand
from tlstax.specimens.apt_mirror import configured_mirror
from tlstax.specimens.manifest import Part
from tlstax.specimens.progress import Reporter
from tlstax.specimens.recipe import AptPackages, Recipe
from tlstax.specimens.sources.tool import Place
from tlstax.support.checksums import sha256_of
from tlstax.support.errors import MachineFault
from tlstax.support.text import counted

TLS_DIRECTORY, SUPPORT_DIRECTORY = "tls", "support"
SUPPORT = ("libz.so.1", "libzstd.so.1")
"""What Debian's libcrypto is linked with besides the C library."""


def fill(
    recipe: Recipe, source: AptPackages, place: Place, reporter: Reporter
) -> tuple[str, tuple[Part, ...]]:
    """Download and unpack into the tree; the version of what it is named after, and every package.

    Raises MachineFault: no apt, no keyring, no network, a signature that does not verify, a package that
    is gone.
    """
    apt = apt_command.prepare(place.downloads / "apt", configured_mirror(), source.suites, source.given)
    reporter.step(f"asking the Debian archive ({', '.join(source.suites)}) for {recipe.title}")
    apt.update()
    _check_it_is_there(apt, recipe, source)
    archives = apt.archives(source.packages)
    missing = sum(archive.size_bytes for archive in archives if not apt.has(archive))
    reporter.step(f"downloading {recipe.title} and the libraries it needs ({missing / 1e6:.0f} MB)")
    files = apt.download(source.packages, archives, reporter.now)
    size_mb = sum(file.stat().st_size for file in files) / 1e6
    reporter.step(f"unpacking {counted(len(files), 'package')} ({size_mb:.0f} MB)")
    parts = tuple(_unpack(file, place.tree) for file in files)
    keep_links_inside(place.tree)
    if recipe.kind == "tls_library":
        _set_library_apart(place.tree, recipe.program.partition(".so.")[2])
    versions = {part.name: part.version for part in parts}
    return upstream(versions[_name(source.packages[0])]), parts


def upstream(version: str) -> str:
    """The version without Debian's epoch and revision (deb-version(7))."""
    return re.sub(r"^\d+:", "", version).rpartition("-")[0].partition("+")[0]


def _name(package: str) -> str:
    return package.partition("=")[0]


def _check_it_is_there(apt: AptCommand, recipe: Recipe, source: AptPackages) -> None:
    """MachineFault when the archive has another version by now, with the one that it has."""
    for package in source.packages:
        name, _, pattern = package.partition("=")
        there = apt.versions(name)
        if not there or (pattern and not fnmatch.filter(there, pattern)):
            suites = " and ".join(source.suites)
            now = f"has {name} {', '.join(there)} now" if there else f"has no {name} any more"
            raise MachineFault(
                f"{recipe.title} is gone: Debian {suites} {now}",
                remedy="choose another specimen, or name a mirror that still has it in TLSTAX_APT_MIRROR",
            )


def _unpack(file: Path, tree: Path) -> Part:
    fields = _dpkg_deb("--show", "--showformat", "${Package}\n${Version}\n${Architecture}", str(file))
    package, version, architecture = fields.splitlines()
    _dpkg_deb("--extract", str(file), str(tree))
    return Part(name=package, version=version, architecture=architecture, sha256=sha256_of(file))


def keep_links_inside(tree: Path) -> None:
    """Make links relative that are meant from the root, where what they lead to was unpacked too.

    Debian 12 has its loader and libz.so as such links: from a tree they would lead to the machine's own
    files, of another release.
    """
    links = [path for path in tree.rglob("*") if path.is_symlink() and path.readlink().is_absolute()]
    for link in links:
        meant = tree / link.readlink().relative_to("/")
        if os.path.lexists(meant):
            link.unlink()
            link.symlink_to(os.path.relpath(meant, link.parent))


def _dpkg_deb(*arguments: str) -> str:
    command = processes.mortal(["dpkg-deb", *arguments])
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise apt_command.fault("a package cannot be unpacked", done.stderr)
    return done.stdout


def _set_library_apart(tree: Path, soname: str) -> None:
    """Give libssl and libcrypto a directory of their own, and what they need another.

    What is put first in a program's library path must bring neither a C library nor a second OpenSSL along.
    """
    for directory, patterns in (
        (TLS_DIRECTORY, (f"libssl.so.{soname}", f"libcrypto.so.{soname}")),
        (SUPPORT_DIRECTORY, SUPPORT),
    ):
        (tree / directory).mkdir()
        for pattern in patterns:
            for place in ("usr/lib", "lib"):
                for file in sorted(tree.glob(f"{place}/*-linux-gnu*/{pattern}")):
                    os.link(file.resolve(), tree / directory / file.name)
