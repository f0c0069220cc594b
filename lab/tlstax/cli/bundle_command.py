"""`tlstax bundle`: all that is needed on a machine that reaches nothing, as one file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from tlstax.cli import quantities
from tlstax.cli.output_file import check_writable, format_of_name, write_chunks
from tlstax.cli.progress import ProgressLine
from tlstax.cli.streams import show
from tlstax.specimens import carried, resolve
from tlstax.specimens.catalogue import DEFAULT_SERVER, RECIPES
from tlstax.specimens.progress import Reporter
from tlstax.specimens.recipe import Kind
from tlstax.support.credentials import called
from tlstax.support.errors import UserMistake
from tlstax.support.installation import is_clone
from tlstax.support.text import closest, enumerated
from tlstax.tools import bundle, python_packages
from tlstax.tools.bundle import Contents, Making, Share

MEBIBYTE = 1 << 20


def bundle_command(output: Path, servers: str | None, tls_libraries: str | None, pythons: str | None) -> int:
    """Make the file, and print what is in it; the exit status."""
    if carried.here() is not None:
        raise UserMistake(
            "this is a bundle, and a bundle fetches nothing",
            remedy="make another one from a clone, where there is a network",
        )
    if not is_clone():
        raise UserMistake(
            "a bundle is made from the sources of a clone, and this tlstax was installed from a wheel",
            remedy="clone the repository, and start ./tlstax there",
        )
    contents = Contents(
        specimens=(
            *_known(servers or DEFAULT_SERVER.name, "--server", "server"),
            *(_known(tls_libraries, "--tls-library", "tls_library") if tls_libraries else ()),
        ),
        pythons=_versions(pythons),
    )
    format_of_name(output, {".tar": "tar"}, "tar", what="a bundle")
    check_writable(output)
    line = ProgressLine()
    try:
        with Making(contents, Reporter(line.step, line.now)) as making:
            whole = making.make()
            size_bytes = whole.stat().st_size
            write_chunks(output, bundle.chunks(whole), remedy="make room, or name a file on another disk")
    finally:
        line.close()
    show(summary(output, size_bytes, making.shares, contents))
    return 0


def summary(output: Path, size_bytes: int, shares: Sequence[Share], contents: Contents) -> str:
    """What was made: the file, its parts, and the command for the machine that it is meant for."""
    lines = [f"{output}: {size_bytes / MEBIBYTE:.1f} MiB"]
    lines += [
        f"  {one.packed_bytes / MEBIBYTE:6.1f} MiB  {one.what} ({one.bytes / MEBIBYTE:.0f} MiB unpacked)"
        for one in shares
    ]
    lines += [
        f"It serves machines with Python {enumerated(contents.pythons)}. There:",
        f"    tar xf {output.name} && tlstax/tlstax run",
    ]
    return "".join(f"{text}\n" for text in lines)


def _known(text: str, option: str, kind: Kind) -> tuple[str, ...]:
    """The names between commas, each once; UserMistake for one that there is not."""
    names = quantities.names(text, option)
    known = [recipe.name for recipe in RECIPES.values() if recipe.kind == kind]
    for name in names:
        if name not in known:
            raise UserMistake(
                f"there is no {_WORDS[kind]} {called(name)} that can be fetched{closest(name, known)}",
                remedy=resolve.LISTED,
            )
    return names


_WORDS: dict[Kind, str] = {"server": "server", "tls_library": "TLS library"}


def _versions(pythons: str | None) -> tuple[str, ...]:
    this = f"{sys.version_info.major}.{sys.version_info.minor}"
    wanted = quantities.names(pythons or this, "--python")
    for version in wanted:
        if not python_packages.is_served(version):
            raise UserMistake(
                f"--python {version!r} is no version that tlstax runs on",
                remedy=f"name some of 3.{python_packages.OLDEST_PYTHON} to 3.{python_packages.NEWEST_PYTHON}",
            )
    return wanted
