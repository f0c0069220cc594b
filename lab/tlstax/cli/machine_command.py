"""`tlstax specimens` and `bundle`: what is on this machine to be measured, and all of it for another one."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from rich.table import Table
from rich.text import Text

from tlstax.cli import quantities
from tlstax.cli.progress import ProgressLine
from tlstax.cli.streams import check_writable, colourful, format_of_name, show, show_json, write_chunks
from tlstax.network.paths.design import told_version
from tlstax.specimens import added, carried, resolve, shelf
from tlstax.specimens.added import Added
from tlstax.specimens.catalogue import DEFAULT_SERVER, RECIPES
from tlstax.specimens.manifest import Kept, Kind, Recipe
from tlstax.specimens.progress import Reporter
from tlstax.specimens.sessions import open_session
from tlstax.support.credentials import called
from tlstax.support.directories import ensure_directory
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake
from tlstax.support.installation import is_clone
from tlstax.support.text import closest, enumerated
from tlstax.tools import bundle
from tlstax.tools.bundle import Contents, Share
from tlstax.tools.probes import specimen
from tlstax.tools.probes.specimen import Facts, Listed, Listing
from tlstax.topics.core.printed import printed


def list_command(*, as_json: bool) -> int:
    """Every specimen that is known."""
    found = specimen.listing()
    if as_json:
        show_json(json.dumps(found.model_dump(mode="json"), indent=2) + "\n")
    else:
        width = max(100, shutil.get_terminal_size((140, 24)).columns)
        colour = colourful()
        show(table_text(found, width=width, colour=colour), coloured=colour)
    return 0


def fetch_command(names: Sequence[str], *, everything: bool) -> int:
    """Fetch or build, then ask what its TLS can do; one that fails does not keep the others away."""
    if bool(names) == everything:
        raise UserMistake("name the specimens to fetch, or give --all", remedy=resolve.LISTED)
    _check_known(names, [recipe.name for recipe in RECIPES.values()])
    wanted = list(names or RECIPES)
    failures = 0
    with closing(ProgressLine()) as line:
        for name in wanted:
            try:
                _fetch(name, line)
            except MachineFault as fault:
                failures += 1
                line.warn(fault.sentence())
    if failures and len(wanted) > 1:
        line.warn(f"{failures} of {len(wanted)} not available")
    return MachineFault.exit_status if failures else 0


def verify_command(names: Sequence[str]) -> int:
    """Check every file of what is there, and that it runs; status 3 when something is broken."""
    _check_known(names, _all_names())
    there = [one.name for one in specimen.listing().specimens if one.status != "absent"]
    broken = 0
    with closing(ProgressLine()) as line:
        for name in names or there:
            line.now(f"checking {name}")
            reason = _verified(name)
            line.close()
            show(f"{name}: {'broken: ' + reason if reason else 'unchanged since it was fetched, and runs'}\n")
            broken += bool(reason)
    if not names and not there:
        show("No specimens are here yet; `tlstax specimens fetch NAME` gets one.\n")
    return MachineFault.exit_status if broken else 0


def remove_command(names: Sequence[str]) -> int:
    """Take specimens off the shelf; an added one is forgotten, and its files stay."""
    _check_known(names, _all_names())
    for name in names:
        if added.find(name) is not None:
            added.forget(name)
            shutil.rmtree(specimen.added_facts(name), ignore_errors=True)
            show(f"forgot {name}; its files are yours and stay as they are\n")
            continue
        shelf.remove(RECIPES[name])
        show(f"removed {name}\n")
    return 0


def add_command(name: str, mysqld: Path, libssl: Path | None) -> int:
    """Give a server of this machine a name."""
    if name in RECIPES:
        raise UserMistake(f"{name!r} is the name of a specimen that is fetched", remedy="choose another name")
    libraries = () if libssl is None else (libssl.absolute(),)
    if mysqld.is_file():
        for directory in libraries:
            added.check_libssl(mysqld.absolute(), directory)
    build = resolve.server_at(mysqld.absolute(), name=name, own_libraries=libraries)
    entry = Added(
        name=name,
        mysqld=str(build.executable),
        libssl="".join(map(str, libraries)),
        version=build.specimen.version,
        sha256=build.specimen.sha256,
    )
    added.keep(entry)
    line = ProgressLine()
    line.step(f"asking {name} what its TLS can do")
    found = specimen.of_server(build)
    specimen.write(ensure_directory(specimen.added_facts(name)), found)
    line.close()
    show(f"added {name}: {build.specimen.version} · {found.words()}\n")
    return 0


def _fetch(name: str, line: ProgressLine) -> None:
    recipe = RECIPES[name]
    kept = shelf.obtain(recipe, Reporter(line.step, line.now))
    if recipe.kind in {"fault", "variant", "path", "client"}:
        line.step(f"{name} is ready: {recipe.title}")
        return
    known = specimen.read(kept.path)
    if known is None or known.unasked:
        line.step(f"asking {recipe.title} what its TLS can do")
        known = _asked(recipe, kept)
        specimen.write(kept.path, known)
    line.step(f"{name} is ready: {kept.manifest.version} · {known.words()}")


def _asked(recipe: Recipe, kept: Kept) -> Facts:
    """Ask a server or a library."""
    if recipe.kind == "tls_library":
        return specimen.of_library(resolve.library_of(kept), kept.tree)
    try:
        return specimen.of_server(resolve.server_of(recipe, kept))
    except MachineFault as fault:
        return Facts(unasked=fault.message)


def _verified(name: str) -> str:
    """Why the specimen is broken, which is noted; empty when it is unchanged and runs."""
    entry = added.find(name)
    if entry is not None:
        return specimen.changed(entry) or _does_not_run(lambda: resolve.added_server(entry))
    recipe = RECIPES[name]
    shelf.mark(recipe, "")
    kept = shelf.present(recipe)
    if kept is None:
        return shelf.broken(recipe) or "it is not here"
    wrong = shelf.verify(kept)
    reason = f"{wrong[0]}{f' and {len(wrong) - 1} more' if wrong[1:] else ''}" if wrong else ""
    if not reason and recipe.kind == "server":
        reason = _does_not_run(lambda: resolve.server_of(recipe, kept))
    if not reason and recipe.kind == "path":
        reason = _does_not_run(lambda: told_version(kept))
    if not reason and recipe.kind == "tls_library":
        reason = specimen.of_library(resolve.library_of(kept), kept.tree).unasked
    shelf.mark(recipe, reason)
    return reason


def _does_not_run(work: Callable[[], object]) -> str:
    """Why the server's program does not run; empty when it does."""
    try:
        work()
    except TlstaxError as error:
        return error.message
    return ""


def _all_names() -> list[str]:
    return [*RECIPES, *(entry.name for entry in added.entries())]


def _check_known(names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise UserMistake(
                f"there is no specimen {called(name)}{closest(name, known)}", remedy=resolve.LISTED
            )


HEADINGS = {
    "server": "Servers",
    "tls_library": "TLS libraries",
    "client": "Clients",
    "path": "Paths",
    "variant": "Our own variants",
    "fault": "Faults",
}


ROOM_FOR_CHECKSUMS = 100
"""From this width on there is room for the beginning of each checksum; the JSON has the whole."""


def table_text(listing: Listing, *, width: int, colour: bool) -> str:
    """One table a kind, then how much room they take."""
    parts: list[Table | Text] = []
    for kind, heading in HEADINGS.items():
        of_kind = [specimen for specimen in listing.specimens if specimen.kind == kind]
        if of_kind:
            parts.append(_table(heading, of_kind, checksums=width >= ROOM_FOR_CHECKSUMS))
    there = [specimen for specimen in listing.specimens if specimen.status == "ready"]
    size_mb = sum(specimen.bytes or 0 for specimen in there) / 1e6
    summary = f"{len(there)} of {len(listing.specimens)} are here ({size_mb:,.0f} MB)."
    broken = [specimen.name for specimen in listing.specimens if specimen.status == "broken"]
    if broken:
        summary += f" Broken: {', '.join(broken)}; `tlstax specimens fetch NAME` gets them anew."
    return printed([*parts, Text(summary)], width=width, colour=colour)


def _table(heading: str, of_kind: list[Listed], *, checksums: bool) -> Table:
    table = Table(box=None, pad_edge=False, title=None, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column(heading, no_wrap=True)
    table.add_column("version", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("MB", justify="right", no_wrap=True)
    if checksums:
        table.add_column("sha256", no_wrap=True)
    table.add_column("origin")
    table.add_column("its TLS")
    for listed in of_kind:
        size = f"{listed.bytes / 1e6:,.0f}" if listed.bytes is not None else ""
        checksum = [listed.sha256[:8]] if checksums else []
        table.add_row(
            listed.name,
            listed.version or "?",
            listed.status,
            size,
            *checksum,
            listed.origin,
            _words(listed),
        )
    table.add_row()
    return table


def _words(specimen: Listed) -> str:
    if specimen.status == "broken":
        return specimen.reason
    if specimen.status == "absent" or specimen.kind in {"fault", "variant", "path"}:
        return ""
    return specimen.tls.words() if specimen.tls else "not asked yet"


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
    with closing(ProgressLine()) as line, open_session() as session:
        whole, shares = bundle.make(contents, session, Reporter(line.step, line.now))
        size_bytes = whole.stat().st_size
        write_chunks(output, bundle.chunks(whole), remedy="make room, or name a file on another disk")
    show(summary(output, size_bytes, shares, contents))
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
        if not bundle.is_served(version):
            raise UserMistake(
                f"--python {version!r} is no version that tlstax runs on",
                remedy=f"name some of 3.{bundle.OLDEST_PYTHON} to 3.{bundle.NEWEST_PYTHON}",
            )
    return wanted
