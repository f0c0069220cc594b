"""From a checkout, the cache and the registry to one file: parts packed one by one, checksums of all."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from tlstax import __version__
from tlstax.bundle import archive, programs, python_packages
from tlstax.bundle.archive import Member
from tlstax.specimens import carried, shelf
from tlstax.specimens import manifest as manifests
from tlstax.specimens.carried import CONTENTS, PARTS, SUMS, Bundle
from tlstax.specimens.catalogue import RECIPES
from tlstax.specimens.machine_names import machine
from tlstax.specimens.progress import Reporter, megabytes
from tlstax.specimens.sessions import Session, open_session
from tlstax.support.checkout import PROGRAM, ROOT, files
from tlstax.support.checksums import sha256_of
from tlstax.support.errors import MachineFault

FOLDER = "tlstax"
"""What the bundle unpacks to."""

TEXTS = ("README.md", "CHANGELOG.md", "LICENSE", "LICENSE-MIT", "LICENSE-APACHE")
NOT_NEEDED = frozenset({"setup/requirements-test.txt"})
ENGINE = "engine"
PACK_MOST_TIGHTLY = 9


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
        members = self._described(programs.oldest_glibc(folder))
        self._reporter.step("putting all into one file")
        whole = self._scratch / "bundle.tar"
        with whole.open("wb") as out, gzip.GzipFile("", "wb", PACK_MOST_TIGHTLY, out, mtime=0) as packed:
            archive.write(
                [Member(one.path, f"{FOLDER}/{one.name}") for one in members], packed, lambda _: None
            )
        parts = sum(share.packed_bytes for share in self.shares)
        own = [one for one in members if one not in self._parts]
        self.shares.append(Share("tlstax itself", whole.stat().st_size - parts, archive.bytes_of(own)))
        return whole

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

    def _described(self, glibc: str) -> list[Member]:
        """All members in their order: what says whether the rest is whole comes first."""
        rest = [Member(path, str(path.relative_to(self._root))) for path in self._own_files()] + self._parts
        bundle = Bundle(
            tlstax=__version__,
            machine=machine(),
            glibc=glibc,
            files=len(rest) + 1,
            pythons=self._contents.pythons,
            specimens=self._contents.specimens,
        )
        contents = Member(self._scratch / CONTENTS, CONTENTS)
        contents.path.write_text(bundle.text(), encoding="utf-8")
        summed = [contents, *rest]
        sums = Member(self._scratch / SUMS, SUMS)
        sums.path.write_text(
            "".join(f"{sha256_of(one.path)}  {one.name}\n" for one in summed), encoding="utf-8"
        )
        return [contents, sums, *rest]

    def _own_files(self) -> Sequence[Path]:
        docs = sorted((self._root / "docs").glob("*.md"))
        found = [*files(self._root, (*PROGRAM, *TEXTS)), *docs]
        return [path for path in found if str(path.relative_to(self._root)) not in NOT_NEEDED]
