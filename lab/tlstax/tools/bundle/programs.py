"""The load engine and the programs beside it, made small, and which C library they need."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from tlstax.clients.engine import engine_command
from tlstax.specimens.sources import tool
from tlstax.support.errors import MachineFault

PREFIX = "tlstax-"
_NEEDED = re.compile(rb"GLIBC_2\.(\d+)\0")
STRIP_S = 60.0


def stripped(scratch: Path) -> Path:
    """A folder below `scratch` with the programs, without what only a debugger reads. MachineFault."""
    tool.need("strip", "a bundle", "install binutils")
    folder = scratch / "programs"
    folder.mkdir()
    for program in sorted(Path(engine_command()[0]).parent.glob(f"{PREFIX}*")):
        target = folder / program.name
        shutil.copyfile(program, target)
        target.chmod(0o755)
        # Names of functions stay: profiles say by them where time goes.
        done = subprocess.run(
            ["strip", "--strip-debug", str(target)],
            capture_output=True,
            text=True,
            check=False,
            timeout=STRIP_S,
        )
        if done.returncode:
            raise MachineFault(f"{program.name} could not be made smaller ({done.stderr.strip()})")
    return folder


def oldest_glibc(folder: Path) -> str:
    """The version of the C library that all programs of the folder run on, such as "2.34".

    The names of the symbol versions that a program needs stand in it as text (ELF gABI, "Symbol Versioning").
    """
    needed = [int(minor) for file in folder.iterdir() for minor in _NEEDED.findall(file.read_bytes())]
    return f"2.{max(needed, default=0)}"
