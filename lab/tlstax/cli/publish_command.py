"""`tlstax runs publish`: a static site from packs, each run's report and pack below an index of all."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from tlstax.cli.flame_program import draw
from tlstax.cli.output_directory import NewDirectory, check_replaceable
from tlstax.cli.streams import show
from tlstax.records.trial import StoredRun
from tlstax.report.page.html import Link, html, site_html
from tlstax.report.page.site import PackedFile, SiteRun, site_run
from tlstax.store.anonymise import anonymous
from tlstax.store.pack import content_of, unpacked
from tlstax.support.errors import UserMistake
from tlstax.support.text import counted
from tlstax.topics.answer.document import document

INDEX = "index.html"
MADE_OF = frozenset({INDEX, "runs", "packs"})
"""What a site has at its top."""


def publish_command(directory: Path, packs: Sequence[Path]) -> int:
    """Make the site, or make it anew in place of an earlier one; the exit status.

    UserMistake for a file that is no pack, or that has names in it. An earlier site stays as it was then.
    """
    check_replaceable(directory, MADE_OF)
    runs: dict[str, SiteRun] = {}
    with NewDirectory(directory) as site:
        for path in packs:
            content, stored = _clean(path)
            shown, file = document(stored), PackedFile(hashlib.sha256(content).hexdigest(), len(content))
            found = site_run(stored, shown, file)
            if found.name not in runs:
                page = html(stored, shown, draw, _beside(found))
                site.write({found.pack_path: content, found.page: page.encode(errors="replace")})
                runs[found.name] = found
            elif runs[found.name].pack != found.pack:
                raise UserMistake(f"{path} has run {found.name}, and so has another file", remedy="name one")
        site.write({INDEX: site_html(tuple(runs.values())).encode(errors="replace")})
        site.put_in_place()
    show(f"{directory / INDEX}: {counted(len(runs), 'run')}\n")
    return 0


def _beside(run: SiteRun) -> tuple[Link, ...]:
    """What the page of a run leads to, as seen from there."""
    return (
        Link(f"../{INDEX}", "All runs"),
        Link(f"../{run.pack_path}", "This run with all its trials, as a pack"),
    )


def _clean(path: Path) -> tuple[bytes, StoredRun]:
    """A pack's content and its run, in which nothing is but what is public. Raises UserMistake."""
    content = content_of(path)
    first, stored = unpacked(path, content)
    if not first.names_left_out:
        raise UserMistake(
            f"{path} was packed --with-names, and what it says of its server and machine stays there",
            remedy="pack the run again, without --with-names",
        )
    if anonymous(stored) != stored:
        raise UserMistake(
            f"{path} has texts in it that are not known to be public: it was packed by another version of "
            f"tlstax ({first.packed_by}), or changed",
            remedy=f"where the run is kept, or after `tlstax runs open {path}`, "
            f"`tlstax runs pack {stored.header.run}` leaves them out",
        )
    if stored.is_empty:
        raise UserMistake(
            f"{path} has run {stored.header.run}, which measured nothing", remedy="leave it out"
        )
    return content, stored
