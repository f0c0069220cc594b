"""Every specimen that is known, as it stands now: what `specimens list` shows."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field

from tlstax.contract import Frozen
from tlstax.specimens import added, manifest, shelf
from tlstax.specimens.added import Added
from tlstax.specimens.catalogue import RECIPES
from tlstax.specimens.recipe import Kind, Recipe
from tlstax.support.checksums import sha256_of
from tlstax.support.directories import data_dir, specimens_dir
from tlstax.tools.probes import specimen
from tlstax.tools.probes.specimen import Facts

Status = Literal["ready", "absent", "broken"]


class Listed(Frozen):
    """One specimen. `version` and `sha256` (of its program) are empty where only fetching it shows them.

    `reason` says why it is broken; `tls` is None where it was never asked.
    """

    name: str
    kind: Kind
    title: str
    version: str
    origin: str
    sha256: str = ""
    status: Status
    reason: str = ""
    bytes: int | None = None
    path: str = ""
    parts: dict[str, str] = {}
    tls: Facts | None = None


class Listing(Frozen):
    """The document that `specimens list --json` prints."""

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(default=1, alias="schema")
    specimens: tuple[Listed, ...]


def listing() -> Listing:
    """The catalogue in its order, then what was added."""
    catalogue = tuple(map(of_recipe, RECIPES.values()))
    return Listing(specimens=catalogue + tuple(map(of_added, added.entries())))


def of_recipe(recipe: Recipe) -> Listed:
    """A specimen of the catalogue."""
    known = Listed(
        name=recipe.name,
        kind=recipe.kind,
        title=recipe.title,
        version=recipe.version,
        origin=recipe.source.origin,
        status="absent",
    )
    path = specimens_dir() / recipe.name
    reason = shelf.broken(recipe)
    if reason:
        return known.model_copy(update={"status": "broken", "reason": reason, "path": str(path)})
    kept = manifest.read(path)
    if kept is None:
        return known
    if shelf.present(recipe) is None:
        outdated = "it was made by another tlstax, of other parts"
        return known.model_copy(update={"status": "broken", "reason": outdated, "path": str(path)})
    return known.model_copy(
        update={
            "version": kept.manifest.version,
            "sha256": kept.sha256(),
            "status": "ready",
            "bytes": kept.manifest.size_bytes,
            "path": str(kept.program),
            "parts": kept.manifest.versions(),
            "tls": specimen.read(path),
        }
    )


def of_added(entry: Added) -> Listed:
    """A specimen that the user added; its files are the user's, so they take no room of ours."""
    reason = changed(entry)
    return Listed(
        name=entry.name,
        kind="server",
        title=f"{entry.version} of this machine",
        version=entry.version,
        origin="this machine",
        sha256=entry.sha256,
        status="broken" if reason else "ready",
        reason=reason,
        path=entry.mysqld,
        tls=specimen.read(added_facts(entry.name)),
    )


def changed(entry: Added) -> str:
    """Why an added server is not what it was when it was added; empty when it is."""
    try:
        now = sha256_of(Path(entry.mysqld))
    except OSError as error:
        return f"{entry.mysqld} cannot be read ({error.strerror})"
    return "" if now == entry.sha256 else f"{entry.mysqld} was changed since it was added"


def added_facts(name: str) -> Path:
    """Where what an added server said is kept."""
    return data_dir() / "added" / name
