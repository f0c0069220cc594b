"""Which libraries a server would be given, and whom a fault would reach, asked of the dynamic loader.

Nothing is started for it, and the loader's search is not imitated: with LD_TRACE_LOADED_OBJECTS it prints
what it would load and ends, with LD_WARN it names the symbol versions that are missing, and with LD_BIND_NOW
and LD_DEBUG=bindings which file's function each call would reach (ld.so(8)).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tlstax.specimens.processes import must_run
from tlstax.specimens.server_build import Fault, ServerBuild, TlsLibrary, loader_of
from tlstax.support.errors import MachineFault, UserMistake

TRACE = {"LD_TRACE_LOADED_OBJECTS": "1", "LD_WARN": "yes", "PATH": os.defpath, "LC_ALL": "C"}
BINDINGS = {"LD_BIND_NOW": "1", "LD_DEBUG": "bindings"}
_LOADED = re.compile(r"^\s*(?P<name>\S+) => (?P<path>.+?)(?: \(0x[0-9a-f]+\))?$", re.MULTILINE)
_TLS_NAME = re.compile(r"lib(ssl|crypto)\.so(\.[\w.]+)?")
_BOUND = re.compile(
    r"binding file (?P<caller>\S+) \[\d+\] to (?P<callee>\S+) \[\d+\]: \w+ symbol [`'](?P<name>\w+)'"
)
_MISSING = re.compile(r"(?P<file>/\S+): version [`'](?P<version>[^']+)' not found")


@dataclass(frozen=True)
class Loaded:
    """What the loader would do: the file behind each name, and the symbol versions missing in which file."""

    paths: dict[str, str]
    missing: tuple[tuple[str, str], ...]

    def tls_names(self) -> tuple[str, ...]:
        """The names under which libssl and libcrypto are asked for; empty where TLS is linked in."""
        return tuple(sorted((name for name in self.paths if _TLS_NAME.fullmatch(name)), reverse=True))


def over(build: ServerBuild, library: TlsLibrary) -> ServerBuild:
    """The build as it is to be run over this library: by the machine's loader where its own is too old.

    UserMistake when the server cannot run over the library: it asks for another name, has its TLS library
    linked into it, or neither its own C library nor the machine's is new enough.
    """
    loaded = ask(build, library)
    _check_names(build, library, loaded.tls_names())
    if loaded.missing and build.root is not None and _machine_has_loader():
        build = replace(build, machine_loader=True)
        loaded = ask(build, library)
    _check_versions(build, library, loaded.missing)
    for file in (library.libssl, library.libcrypto):
        found = loaded.paths.get(file.name, "")
        if os.path.realpath(found) != os.path.realpath(file):
            raise MachineFault(
                f"{build.specimen.name} cannot be given {library.specimen.name}: the loader takes "
                f"{found or 'nothing'} for {file.name}",
            )
    return build


def check_planted(build: ServerBuild, library: TlsLibrary | None, fault: Fault) -> None:
    """UserMistake when nothing of the server would call the fault: it would be loaded, and passed over."""
    if not reached(build, library, fault):
        is_variant = fault.specimen.kind == "variant"
        put = "given to" if is_variant else "planted in"
        raise UserMistake(
            f"{fault.specimen.name} cannot be {put} {build.specimen.name}, which calls no "
            f"{fault.stands_for} of a library: what it calls is linked into it",
            remedy=f"{'give it to' if is_variant else 'plant it in'} a server that loads its TLS library",
        )


def reached(build: ServerBuild, library: TlsLibrary | None, fault: Fault) -> tuple[str, ...]:
    """The names of the files whose calls the planted fault would answer, in alphabetical order.

    MachineFault when the loader would not load it.
    """
    command = build.command(["--version"], tls_library=library, preload=fault.library)
    environment = build.environment(library, fault.library)
    done = must_run(build.executable, command, {**TRACE, **BINDINGS, **environment})
    if str(fault.library) not in done.stdout:
        raise MachineFault(f"{build.specimen.name} cannot be given {fault.library}: the loader leaves it out")
    bound = (match for match in _BOUND.finditer(done.stderr) if match["name"] == fault.stands_for)
    return tuple(sorted({Path(m["caller"]).name for m in bound if m["callee"] == str(fault.library)}))


def ask(build: ServerBuild, library: TlsLibrary | None = None) -> Loaded:
    """What the loader would load for the server over the library (None: over its own)."""
    command = build.command(["--version"], tls_library=library)
    done = must_run(build.executable, command, {**TRACE, **build.environment(library)})
    missing = dict.fromkeys((match["file"], match["version"]) for match in _MISSING.finditer(done.stderr))
    return Loaded(
        paths={match["name"]: match["path"] for match in _LOADED.finditer(done.stdout)},
        missing=tuple(missing),
    )


def not_found(program: Path, directories: Sequence[Path]) -> tuple[str, ...]:
    """The names of the libraries that a program of this machine asks for and would not be given.

    They are looked for in `directories` first. A file that the machine cannot run asks for none.
    """
    path = {"LD_LIBRARY_PATH": ":".join(map(str, directories))} if directories else {}
    try:
        done = must_run(program, [str(program)], {**TRACE, **path})
    except MachineFault:
        return ()
    return tuple(sorted({m["name"] for m in _LOADED.finditer(done.stdout) if m["path"] == "not found"}))


def _check_names(build: ServerBuild, library: TlsLibrary, asked: tuple[str, ...]) -> None:
    server, name = build.specimen.name, library.specimen.name
    if not asked:
        raise UserMistake(
            f"{server} has its TLS library linked into it and cannot be run over {name}",
            remedy="leave out the TLS library, or choose a server that loads one",
        )
    offered = (library.libssl.name, library.libcrypto.name)
    if not set(asked) <= set(offered):
        raise UserMistake(
            f"{server} asks for {' and '.join(asked)}; {name} has {' and '.join(offered)}",
            remedy="choose a TLS library of the version that the server was built for",
        )


def _check_versions(build: ServerBuild, library: TlsLibrary, missing: tuple[tuple[str, str], ...]) -> None:
    server, name = build.specimen.name, library.specimen.name
    too_old = [version for file, version in missing if Path(file).parent == library.directory]
    if too_old:
        raise UserMistake(
            f"{server} needs {too_old[-1]} of its TLS library, which {name} does not have",
            remedy="choose a newer TLS library",
        )
    if missing:
        raise UserMistake(
            f"{server} cannot be run over {name}, which needs {missing[-1][1]}: neither this server's C "
            "library nor this machine's is new enough",
            remedy="choose a TLS library that was built on this machine, or a newer server",
        )


def _machine_has_loader() -> bool:
    try:
        loader_of(Path("/"))
    except FileNotFoundError:
        return False
    return True
