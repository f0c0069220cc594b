"""The engine, tlstax's own load client: where its binary is, and what it is as a specimen."""

from __future__ import annotations

import os
from pathlib import Path

from tlstax import __version__
from tlstax.records.trial import Specimen
from tlstax.support import trusted
from tlstax.support.errors import MachineFault
from tlstax.support.installation import shipped_program
from tlstax.support.trusted import sha256_of

BINARY_VARIABLE = "TLSTAX_ENGINE"
"""Set by the launcher to the binary that it built from these sources; unset, it is the wheel's own."""

ENGINE = "tlstax-engine"

TOOLS = "tlstax-tools"
"""What is built with the engine and kept beside its binary: several programs in one, each by a word."""


def engine_command() -> list[str]:
    """The command that starts the engine; MachineFault where there is none, or none to be trusted."""
    chosen = os.environ.get(BINARY_VARIABLE, "")
    path = Path(chosen) if chosen else shipped_program(ENGINE)
    if path is None:
        raise MachineFault(
            "the load engine has not been built", remedy="start tlstax by its launcher, which builds it"
        )
    if not path.is_file():
        raise MachineFault(
            f"{BINARY_VARIABLE} is {chosen}, which is not a program", remedy="correct it, or unset it"
        )
    if chosen:
        trusted.check(path, BINARY_VARIABLE)
    return [str(path)]


def built_beside(name: str) -> Path:
    """A program that is built with the engine, and kept beside its binary. MachineFault where it is not."""
    (engine,) = engine_command()
    path = Path(engine).with_name(name)
    if not path.is_file():
        raise MachineFault(
            f"{name} has not been built", remedy="start tlstax by its launcher, which builds it"
        )
    return path


def tool_command(word: str) -> list[str]:
    """The command that starts one of the programs in TOOLS, MachineFault where it has not been built."""
    return [str(built_beside(TOOLS)), word]


def engine_specimen() -> Specimen:
    """The engine as a run's record names it, with the checksum of its binary. MachineFault as above."""
    return specimen_of(ENGINE, engine_command(), why="the load client")


def specimen_of(name: str, command: list[str], *, why: str) -> Specimen:
    """A program that was built from these sources, with its checksum."""
    path = command[0]
    return Specimen(
        name=name,
        kind="client",
        version=__version__,
        origin="this project",
        why=why,
        path=path,
        sha256=sha256_of(Path(path)),
    )
