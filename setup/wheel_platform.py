"""For which machines a wheel is: what its programs need, read from the programs themselves (PEP 600)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

MACHINES = {"EM_X86_64": "x86_64", "EM_AARCH64": "aarch64"}

OF_THE_SYSTEM = re.compile(r"(libc|libm|libdl|librt|libpthread|libgcc_s|ld-linux-[\w-]+)\.so\.\d+")
"""Libraries that every machine has which a manylinux wheel promises to run on."""

OLDEST_GLIBC = (2, 17)
"""What is claimed at the least: the oldest that anything was built for."""


class Unfit(Exception):
    """A program cannot be in a wheel; the words say why."""


def platform_tag(programs: Iterable[Path]) -> str:
    """The platform of a wheel with these programs, such as manylinux_2_17_x86_64.

    Raises Unfit where they are for several kinds of machine, or need what not every machine has.
    """
    glibc, machines = OLDEST_GLIBC, set()
    for program in programs:
        machine, libraries, versions = _needs(program)
        strange = sorted(name for name in libraries if not OF_THE_SYSTEM.fullmatch(name))
        if strange:
            raise Unfit(f"{program.name} needs {', '.join(strange)}, which not every machine has")
        machines.add(machine)
        glibc = max(glibc, *versions, OLDEST_GLIBC)
    if len(machines) != 1:
        raise Unfit(f"a wheel is for one kind of machine, the programs are for {sorted(machines)}")
    return f"manylinux_{glibc[0]}_{glibc[1]}_{machines.pop()}"


def _needs(program: Path) -> tuple[str, list[str], list[tuple[int, int]]]:
    """Its machine, the libraries it is linked to, the versions of the GNU C library whose symbols it uses."""
    libraries: list[str] = []
    versions: list[tuple[int, int]] = []
    with program.open("rb") as file:
        elf = ELFFile(file)
        for section in elf.iter_sections():
            if isinstance(section, DynamicSection):
                libraries += [tag.needed for tag in section.iter_tags("DT_NEEDED")]
            elif isinstance(section, GNUVerNeedSection):
                names = [
                    wanted.name for _, wanted_there in section.iter_versions() for wanted in wanted_there
                ]
                found = [re.match(r"GLIBC_(\d+)\.(\d+)", name) for name in names]
                versions += [(int(each[1]), int(each[2])) for each in found if each]
        return MACHINES.get(elf["e_machine"], str(elf["e_machine"])), libraries, versions
