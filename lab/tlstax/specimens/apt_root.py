"""A server and all it needs from Debian, unpacked into a directory of its own without root rights.

apt resolves and downloads in a private state of its own, so the machine's package database is neither
read nor changed; every list and package is verified against Debian's archive keys; dpkg-deb unpacks. No
maintainer script runs.

A root is built in a directory beside its final place and renamed when its manifest is written, so a root
is either whole or not there. While it is built, a lock (flock(2)) is held: a second process waits and
then finds the root ready, and what a killed build left behind is removed by the next one. Once there, a
root is used as it is, and the network is not asked again: its versions are pinned until it is removed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import ValidationError

from tlstax import places
from tlstax.checksums import sha256_of
from tlstax.contract import Frozen
from tlstax.errors import MachineFault
from tlstax.specimens import apt_command, processes
from tlstax.specimens.apt_mirror import configured_mirror

Progress = Callable[[str], None]

MANIFEST = "manifest.json"
TREE = "tree"


class Recipe(Frozen):
    """What a root is made of.

    `packages` are as apt-get install takes them (`name` or `name=version-pattern`); `given` are packages
    whose dependants work without them here, and which are therefore not fetched; `program` is the file
    that the root exists for; `bytes_needed` is the room that building it takes on disk.
    """

    name: str
    title: str
    suite: str
    packages: tuple[str, ...]
    given: tuple[str, ...] = ()
    program: str
    bytes_needed: int


class Deb(Frozen):
    """One downloaded package."""

    package: str
    version: str
    architecture: str
    sha256: str


class Manifest(Frozen):
    """What a root holds, written last."""

    recipe: Recipe
    architecture: str
    debs: tuple[Deb, ...]

    def versions(self) -> dict[str, str]:
        """The exact version of every package."""
        return {deb.package: deb.version for deb in self.debs}


class AptRoot(Frozen):
    """A whole root: where its tree is, and what is in it."""

    path: Path
    manifest: Manifest

    @property
    def tree(self) -> Path:
        """The directory that stands for `/`."""
        return self.path / TREE

    @property
    def program(self) -> Path:
        """The file that the root exists for."""
        return self.tree / self.manifest.recipe.program


def present(recipe: Recipe) -> AptRoot | None:
    """The root of this recipe if it is there and whole; the network is not asked.

    One that was made of other packages, by an earlier version of tlstax, is not this recipe's.
    """
    path = places.roots_dir() / recipe.name
    try:
        manifest = Manifest.model_validate_json((path / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None
    root = AptRoot(path=path, manifest=manifest)
    same = (manifest.recipe.suite, manifest.recipe.packages) == (recipe.suite, recipe.packages)
    return root if same and root.program.is_file() else None


def obtain(recipe: Recipe, progress: Progress) -> AptRoot:
    """The root of this recipe, built now if it is not there.

    Raises MachineFault when it cannot be built: no apt, no keyring, no network, a signature that does
    not verify, a package that is gone, no room on the disk.
    """
    found = present(recipe)
    if found is not None:
        return found
    with _alone(recipe, progress):
        return present(recipe) or _build(recipe, progress)


def remove(recipe: Recipe) -> None:
    """Remove the root and what unfinished builds left."""
    with _alone(recipe, lambda _: None):
        _remove_partial(recipe)
        shutil.rmtree(places.roots_dir() / recipe.name, ignore_errors=True)


@contextlib.contextmanager
def _alone(recipe: Recipe, progress: Progress) -> Iterator[None]:
    with (places.roots_dir() / f".{recipe.name}.lock").open("w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(f"waiting for another tlstax that is fetching {recipe.title}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(recipe: Recipe, progress: Progress) -> AptRoot:
    _remove_partial(recipe)
    roots = places.roots_dir()
    places.check_room(roots, recipe.bytes_needed, recipe.title)
    partial = roots / f".{recipe.name}.partial-{secrets.token_hex(4)}"
    try:
        partial.mkdir(mode=0o700)
        manifest = _fill(recipe, partial, progress)
        _write_manifest(partial / MANIFEST, manifest)
        final = roots / recipe.name
        shutil.rmtree(final, ignore_errors=True)
        partial.rename(final)
    except OSError as error:
        raise _disk_fault(recipe, roots, error) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return AptRoot(path=final, manifest=manifest)


def _fill(recipe: Recipe, partial: Path, progress: Progress) -> Manifest:
    """Download and unpack into `partial`; what apt itself needed is removed again."""
    apt = apt_command.prepare(partial / "apt", configured_mirror(), recipe.suite, recipe.given)
    progress(f"asking the Debian archive ({recipe.suite}) for {recipe.title}")
    apt.update()
    progress(f"downloading {recipe.title} and the libraries it needs")
    files = apt.download(recipe.packages)
    size_mb = sum(file.stat().st_size for file in files) / 1e6
    progress(f"unpacking {len(files)} packages ({size_mb:.0f} MB)")
    tree = partial / TREE
    tree.mkdir()
    debs = tuple(_unpack(file, tree) for file in files)
    if not (tree / recipe.program).is_file():
        raise MachineFault(
            f"Debian's packages for {recipe.title} do not hold {recipe.program}",
            remedy="choose another server",
        )
    shutil.rmtree(partial / "apt")
    return Manifest(recipe=recipe, architecture=apt.architecture, debs=debs)


def _unpack(file: Path, tree: Path) -> Deb:
    fields = _dpkg_deb("--show", "--showformat", "${Package}\n${Version}\n${Architecture}", str(file))
    package, version, architecture = fields.splitlines()
    _dpkg_deb("--extract", str(file), str(tree))
    return Deb(package=package, version=version, architecture=architecture, sha256=sha256_of(file))


def _dpkg_deb(*arguments: str) -> str:
    command = processes.mortal(["dpkg-deb", *arguments])
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise apt_command.fault("a package cannot be unpacked", done.stderr)
    return done.stdout


def _write_manifest(path: Path, manifest: Manifest) -> None:
    with path.open("w", encoding="utf-8") as file:
        json.dump(manifest.model_dump(), file, indent=1)
        file.flush()
        os.fsync(file.fileno())


def _remove_partial(recipe: Recipe) -> None:
    for partial in places.roots_dir().glob(f".{recipe.name}.partial-*"):
        shutil.rmtree(partial, ignore_errors=True)


def _disk_fault(recipe: Recipe, directory: Path, error: OSError) -> MachineFault:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return MachineFault(
            f"the disk was full before {recipe.title} was unpacked in {directory}",
            remedy="make room, or name another place in TLSTAX_CACHE",
        )
    return MachineFault(f"{recipe.title} cannot be kept in {directory} ({error.strerror or error})")
