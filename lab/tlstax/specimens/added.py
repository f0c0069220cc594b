"""Servers of the user's own that were given a name: kept as paths in the data directory, never copied."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from tlstax.contract import Frozen
from tlstax.specimens.processes import ran
from tlstax.support import trusted
from tlstax.support.directories import data_dir, ensure_directory, plain
from tlstax.support.errors import MachineFault, UserMistake
from tlstax.support.plain_words import reason

FILE = "specimens.json"
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
_LIBSSL = re.compile(r"^\s*(libssl\.so\S*) => (not found|.+?)(?: \(0x[0-9a-f]+\))?$", re.MULTILINE)
"""What the loader says of it: the name that is asked for, and the file that is found."""


class Added(Frozen):
    """One server that was added: its program, where its libssl lies (empty: where it finds it), what it was.

    `sha256` is that of the program when it was added.
    """

    name: str
    mysqld: str
    libssl: str = ""
    version: str
    sha256: str


class _AddedList(Frozen):
    schema_version: Literal[1] = 1
    added: tuple[Added, ...] = ()


def entries() -> tuple[Added, ...]:
    """Every server that was added, in the order of their names. MachineFault when they cannot be read."""
    path = data_dir() / FILE
    # It names programs that are run. Who may write to its folder does not matter: nobody makes files of ours.
    trusted.check(path, "TLSTAX_DATA", parents=False)
    try:
        return _AddedList.model_validate_json(path.read_text(encoding="utf-8")).added
    except FileNotFoundError:
        return ()
    except (OSError, ValidationError) as error:
        raise MachineFault(
            f"{path}, the list of added specimens, cannot be read", remedy="repair or remove it"
        ) from error


def find(name: str) -> Added | None:
    """The added server of this name."""
    return next((entry for entry in entries() if entry.name == name), None)


def keep(entry: Added) -> None:
    """Add to the list; UserMistake when the name will not do or is taken by another one."""
    if not NAME.fullmatch(entry.name):
        raise UserMistake(
            f"{entry.name!r} is not a name for a specimen",
            remedy="use small letters, digits, dots and hyphens, such as percona-8.4",
        )
    if find(entry.name) is not None:
        raise UserMistake(
            f"the name {entry.name!r} is taken",
            remedy=f"choose another, or forget the one that has it: `tlstax specimens remove {entry.name}`",
        )
    _write(tuple(sorted((*entries(), entry), key=lambda one: one.name)))


def forget(name: str) -> None:
    """Take the name off the list; the server's files are the user's and stay as they are."""
    _write(tuple(entry for entry in entries() if entry.name != name))


def check_libssl(mysqld: Path, directory: Path) -> None:
    """UserMistake when the program would not load a libssl from this directory.

    Source: ld.so(8), LD_TRACE_LOADED_OBJECTS lists what would be loaded, and from where, and runs nothing.
    """
    if not directory.is_dir():
        raise UserMistake(f"{directory} is not a directory", remedy="give the directory of a libssl.so")
    environment = {**os.environ, "LD_LIBRARY_PATH": str(plain(directory)), "LD_TRACE_LOADED_OBJECTS": "1"}
    try:
        done = ran([mysqld], environment)
    except OSError as error:
        raise UserMistake(f"{mysqld} cannot be run ({reason(error)})") from error
    loaded = _LIBSSL.findall(done.stdout)
    if not loaded:
        raise UserMistake(
            f"{mysqld} loads no libssl: its TLS is built in, or it has none", remedy="leave --libssl out"
        )
    soname, place = loaded[0]
    if Path(place).parent.resolve() != directory.resolve():
        found = ", ".join(sorted(file.name for file in directory.glob("libssl.so*"))) or "no libssl"
        raise UserMistake(
            f"{mysqld} needs {soname}, and {directory} has {found}",
            remedy=f"give a directory that has {soname} and the libcrypto that goes with it",
        )


def _write(listed: tuple[Added, ...]) -> None:
    path = ensure_directory(data_dir()) / FILE
    partial = path.with_name(f".{FILE}.partial")
    try:
        partial.write_text(_AddedList(added=listed).model_dump_json(indent=1), encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        raise MachineFault(f"{path} cannot be written ({error.strerror})") from error
