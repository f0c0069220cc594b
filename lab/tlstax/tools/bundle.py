"""From a checkout, the cache and the registry to one file: parts packed one by one, checksums of all."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from tlstax import __version__
from tlstax.specimens import carried, shelf
from tlstax.specimens import manifest as manifests
from tlstax.specimens.carried import PARTS, Bundle
from tlstax.specimens.catalogue import RECIPES
from tlstax.specimens.machine_names import machine
from tlstax.specimens.progress import Reporter, megabytes
from tlstax.specimens.sessions import Session, open_session
from tlstax.support.checkout import ROOT
from tlstax.support.errors import MachineFault
from tlstax.tools.bundle import archive, programs, python_packages, whole
from tlstax.tools.bundle.archive import Member

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


class Making:
    """A bundle in the making, in a folder that is removed when this is left as a context manager."""

    def __init__(self, contents: Contents, reporter: Reporter, root: Path = ROOT) -> None:
        self._contents, self._reporter, self._root = contents, reporter, root
        self._session: Session = open_session()
        self._scratch = self._session.new_directory()
        self._parts: list[Member] = []
        self.shares: list[Share] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._session.close()

    def make(self) -> Path:
        """Make the whole file; where it lies until this object is left. Raises MachineFault."""
        (self._scratch / PARTS).mkdir()
        for name in self._contents.specimens:
            self._pack_specimen(name)
        for python in self._contents.pythons:
            folder = python_packages.site_packages(python, self._root, self._scratch, self._reporter)
            self._pack(f"python-{python}", f"Python packages for {python}", archive.members_below(folder))
            shutil.rmtree(folder)
        folder = programs.stripped(self._scratch)
        self._pack(ENGINE, "load engine", archive.members_below(folder))
        bundle = Bundle(
            tlstax=__version__,
            machine=machine(),
            glibc=programs.oldest_glibc(folder),
            files=0,
            pythons=self._contents.pythons,
            specimens=self._contents.specimens,
        )
        self._reporter.step("putting all into one file")
        own = whole.own_members(self._root)
        made = whole.put_together(own, self._parts, bundle, self._scratch)
        rest = made.stat().st_size - sum(share.packed_bytes for share in self.shares)
        self.shares.append(Share("tlstax itself", rest, archive.bytes_of(own)))
        return made

    def _pack_specimen(self, name: str) -> None:
        recipe = RECIPES[name]
        kept = shelf.obtain(recipe, self._reporter)
        self._reporter.step(f"checking {recipe.title}")
        wrong = shelf.verify(kept)
        if wrong:
            raise MachineFault(
                f"{name} is no longer what was fetched ({wrong[0]})",
                remedy=f"fetch it anew: `tlstax specimens remove {name}`",
            )
        members = [Member(kept.path / file, file) for file in (manifests.MANIFEST, manifests.DIGESTS)]
        members += archive.members_below(kept.tree, f"{manifests.TREE}/")
        self._pack(name, recipe.title, members)

    def _pack(self, name: str, words: str, members: list[Member]) -> None:
        part = Member(self._scratch / carried.part_of(name), carried.part_of(name))
        total = archive.bytes_of(members)
        self._reporter.step(f"packing {words} ({total / 1e6:.0f} MB)")
        meter = megabytes(f"packing {words}", total)
        archive.write_packed(members, part.path, lambda read: self._reporter.now(meter.words(read)))
        self._parts.append(part)
        self.shares.append(Share(words, part.path.stat().st_size, total))
