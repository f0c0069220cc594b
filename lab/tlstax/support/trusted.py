"""Whether a file is what is about to be run: by who could have put it there, and by its checksum.

Nobody but this user and root may have, as sshd(8) asks it: a folder of programs, and each above it, belongs
to this user or to root, and nobody else may write to it. Above, a sticky bit will do (/tmp), and so does a
group that is the owner's own with nobody else in it: many systems give each user one. The launcher asks the
same in setup/places.sh, before it runs anything. A specimen, a package or a mapped library is known by its
checksum.
"""

from __future__ import annotations

import grp
import hashlib
import os
import pwd
import shlex
import stat
from pathlib import Path

from tlstax.support.errors import MachineFault

WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
ALL_USERS = 4_294_967_295
"""How many users are the same inside and outside, where there is no user namespace (user_namespaces(7))."""


def check(path: Path, variable: str, *, parents: bool = True) -> None:
    """MachineFault where somebody else owns the path or may write to it, or to a folder above it.

    `variable` is the one of the environment that names another place. What is not there is passed over.
    """
    ways = dict.fromkeys((path.absolute(), path.resolve()))
    above = dict.fromkeys(folder for way in ways for folder in reversed(way.parents)) if parents else {}
    for place in (*above, *ways):
        try:
            status = place.stat()
        except OSError:
            continue
        _check_owner(place, status, variable, is_above=place in above)
        _check_mode(place, status, variable, is_above=place in above)


def _check_owner(place: Path, status: os.stat_result, variable: str, *, is_above: bool) -> None:
    if status.st_uid in {0, os.geteuid()} or (is_above and _is_unmapped(status.st_uid)):
        return
    owner, ourselves = _user(status.st_uid), _user(os.geteuid())
    raise MachineFault(
        f"{place} belongs to {owner}, and what is kept there would be run as {ourselves}",
        remedy=f"start tlstax as {owner}, or set {variable} to a path of your own",
    )


def _check_mode(place: Path, status: os.stat_result, variable: str, *, is_above: bool) -> None:
    if not status.st_mode & WRITABLE_BY_OTHERS or (is_above and status.st_mode & stat.S_ISVTX):
        return
    if not status.st_mode & stat.S_IWOTH and _is_own_group(status):
        return
    change = "chmod go-w" if is_above else "chmod -R go-w"
    raise MachineFault(
        f"others may write to {place}, and what is kept there is run",
        remedy=f"{change} {shlex.quote(str(place))} as its owner, or set {variable} to a path of your own",
    )


def _is_own_group(status: os.stat_result) -> bool:
    try:
        group = grp.getgrgid(status.st_gid)
    except KeyError:
        return False
    return group.gr_name == _user(status.st_uid) and not group.gr_mem


def _is_unmapped(user: int) -> bool:
    """Whether it stands for all users outside of this user namespace, root of the machine among them."""
    try:
        mapped = Path("/proc/self/uid_map").read_text("ascii").split()
        overflow = Path("/proc/sys/kernel/overflowuid").read_text("ascii").strip()
    except OSError:
        return False
    return mapped[2:] != [str(ALL_USERS)] and str(user) == overflow


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"the user {number}"


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's content, in lower-case hexadecimal. Raises OSError."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
