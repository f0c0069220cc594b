"""The file of a bundle: its contents and their checksums, tlstax itself, and the packed parts."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

from tlstax.specimens.carried import CONTENTS, SUMS, Bundle
from tlstax.support.checkout import PROGRAM, files
from tlstax.support.checksums import sha256_of
from tlstax.tools.bundle import archive
from tlstax.tools.bundle.archive import Member

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
        archive.write(members, packed, lambda _: None)
    return whole
