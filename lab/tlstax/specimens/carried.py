"""What a bundle carries: read where tlstax runs from an unpacked one, which then fetches nothing.

`bundle.txt` has a line for each thing, a word and its value; `setup/bundled.sh` reads it too. `SHA256SUMS`
has the checksum of every other file, in the form of sha256sum(1).
"""

from __future__ import annotations

import json
import re
import tarfile
from functools import cache
from pathlib import Path

from pydantic import ValidationError

from tlstax.contract import Frozen
from tlstax.specimens import manifest as manifests
from tlstax.specimens.manifest import CSource, Manifest, Part, Recipe
from tlstax.specimens.sources.tool import Place, unpack_tar
from tlstax.support.errors import MachineFault
from tlstax.support.installation import ROOT
from tlstax.support.trusted import sha256_of

CONTENTS = "bundle.txt"
SUMS = "SHA256SUMS"
PARTS = "parts"
COPY_AGAIN = "copy the file here again, and unpack it again"


class Bundle(Frozen):
    """`glibc` is the oldest C library that its programs run on; `files` is how many lines SHA256SUMS has.

    `pythons` are the minor versions of Python that it has packages for, `specimens` the names of what is
    measured with it; where no server is asked for by name, the first is taken.
    """

    tlstax: str
    machine: str
    glibc: str
    files: int
    pythons: tuple[str, ...]
    specimens: tuple[str, ...]

    def text(self) -> str:
        """What `bundle.txt` says."""
        lines = [f"{word} {getattr(self, word)}" for word in ("tlstax", "machine", "glibc", "files")]
        lines += [f"python {version}" for version in self.pythons]
        lines += [f"specimen {name}" for name in self.specimens]
        return "".join(f"{line}\n" for line in lines)


def parsed(text: str) -> Bundle:
    """What a `bundle.txt` says. ValueError where it is none."""
    pairs = [line.split(" ", 1) for line in text.splitlines()]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError("a line without a value")
    several = {"python": "pythons", "specimen": "specimens"}
    found: dict[str, object] = {word: value for word, value in pairs if word not in several}
    for word, name in several.items():
        found[name] = tuple(value for this, value in pairs if this == word)
    found["files"] = int(str(found.get("files", "")))
    return Bundle.model_validate(found)


@cache
def here(root: Path = ROOT) -> Bundle | None:
    """The bundle that tlstax runs from; None for a checkout. MachineFault where it cannot be read."""
    try:
        text = (root / CONTENTS).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise _damaged(CONTENTS) from error
    try:
        return parsed(text)
    except (ValueError, ValidationError) as error:
        raise _damaged(CONTENTS) from error


def has_to(recipe: Recipe) -> bool:
    """Whether this is a bundle that the specimen must come from: only own C files are compiled here."""
    return here() is not None and not isinstance(recipe.source, CSource)


def part_of(name: str) -> str:
    """The file of a part in the bundle."""
    return f"{PARTS}/{name}.tar.xz"


def part_with(recipe: Recipe, root: Path = ROOT) -> Path:
    """The part of this bundle that has the specimen.

    MachineFault where there is none, or where it has not the checksum that it was put in with.
    """
    bundle = here(root)
    if bundle is None or recipe.name not in bundle.specimens:
        raise _not_carried(recipe)
    part = part_of(recipe.name)
    try:
        sums = (root / SUMS).read_text(encoding="utf-8")
        found = re.search(rf"^([0-9a-f]{{64}})  {re.escape(part)}$", sums, re.MULTILINE)
        if found is not None and sha256_of(root / part) == found[1]:
            return root / part
    except (OSError, UnicodeDecodeError) as error:
        raise _damaged(part) from error
    raise _damaged(part)


def fill(recipe: Recipe, part: Path, place: Place) -> tuple[str, tuple[Part, ...]]:
    """Unpack the specimen into the tree; its exact version and its parts, as where the bundle was made.

    MachineFault where the part has another specimen, or files that are not what they were.
    """
    try:
        unpack_tar(part, place.work)
        kept = Manifest.model_validate_json((place.work / manifests.MANIFEST).read_text(encoding="utf-8"))
        meant = json.loads((place.work / manifests.DIGESTS).read_text(encoding="utf-8"))
        tree = place.work / manifests.TREE
        if kept.recipe.source != recipe.source or manifests.digest_tree(tree) != meant:
            raise _damaged(part.name)
        place.tree.rmdir()
        tree.rename(place.tree)
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise _damaged(part.name) from error
    return kept.version, kept.parts


def _not_carried(recipe: Recipe) -> MachineFault:
    remedy = (
        f"make one that has it, where there is a network: `tlstax bundle --server {recipe.name}`"
        if recipe.kind == "server"
        else "use a clone, where there is a network"
    )
    return MachineFault(f"{recipe.title} is not in this bundle, and a bundle fetches nothing", remedy=remedy)


def _damaged(what: str) -> MachineFault:
    return MachineFault(f"this bundle is damaged or incomplete ({what})", remedy=COPY_AGAIN)
