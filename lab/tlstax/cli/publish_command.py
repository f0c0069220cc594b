"""`tlstax runs publish`: a static site from packs, made beside its place and put there whole."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from tlstax.cli.flames_command import draw
from tlstax.cli.streams import show
from tlstax.records.trial import StoredRun
from tlstax.report.page.html import Link, html, site_html
from tlstax.report.page.site import PackedFile, SiteRun, site_run
from tlstax.store.anonymise import anonymous
from tlstax.store.pack import content_of, unpacked
from tlstax.support import temporary
from tlstax.support.errors import MachineFault, UserMistake
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


_AT_FDCWD = -100
_RENAME_EXCHANGE = 2
_CANNOT_EXCHANGE = frozenset({errno.EINVAL, errno.ENOSYS})


def check_replaceable(directory: Path, made_of: frozenset[str]) -> None:
    """UserMistake where the directory has anything but what is named here: that is no earlier one of ours."""
    if directory.is_symlink() or (directory.exists() and not directory.is_dir()):
        raise UserMistake(f"{directory} is no directory", remedy="name another one")
    others = sorted({path.name for path in directory.iterdir()} - made_of) if directory.exists() else []
    if others:
        raise UserMistake(
            f"{directory} has {others[0]!r} in it, which is not of an earlier site",
            remedy="name an empty directory, or one that is not there yet",
        )
    if not directory.absolute().parent.is_dir():
        raise UserMistake(f"{directory.absolute().parent} is no directory", remedy="make it first")


class NewDirectory:
    """The new content while it is being written; `put_in_place` shows it, leaving it otherwise removes it."""

    def __init__(self, directory: Path) -> None:
        self._place = directory.absolute()
        self._stack = ExitStack()

    def __enter__(self) -> NewDirectory:
        self._partial = self._stack.enter_context(temporary.beside(self._place))
        try:
            self._partial.mkdir()
        except OSError as error:
            self._stack.close()
            raise UserMistake(
                f"nothing can be made in {self._place.parent} ({error.strerror})", remedy="name another place"
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def write(self, files: Mapping[str, bytes]) -> None:
        """Write files by their paths in the directory. Raises MachineFault."""
        for name, content in files.items():
            path = self._partial / name
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            except OSError as error:
                raise MachineFault(f"{path} could not be written ({error.strerror})") from error

    def put_in_place(self) -> None:
        """Let it take the place of what is there. Raises MachineFault."""
        try:
            if self._place.exists():
                _exchange(self._partial, self._place)
            else:
                self._partial.rename(self._place)
        except OSError as error:
            raise MachineFault(f"{self._place} could not be replaced ({error.strerror})") from error


def _exchange(new: Path, old: Path) -> None:
    """Let two directories change places."""
    renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    if renameat2(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), _RENAME_EXCHANGE) == 0:
        return
    number = ctypes.get_errno()
    if number not in _CANNOT_EXCHANGE:
        raise OSError(number, os.strerror(number))
    aside = new.with_name(f"{new.name}{temporary.ASIDE}")
    old.rename(aside)
    new.rename(old)
    aside.rename(new)
