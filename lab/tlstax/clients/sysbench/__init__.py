"""sysbench 1.0.20 as a load client behind the contract: see `__main__` for the conversation."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tlstax.records.trial import Specimen
from tlstax.specimens import shelf
from tlstax.specimens.manifest import AptPackages, Kept, Recipe
from tlstax.specimens.processes import ran
from tlstax.specimens.progress import Progress
from tlstax.specimens.server_build import loader_of
from tlstax.support.errors import MachineFault
from tlstax.support.trusted import sha256_of

VERSION = "1.0.20"
"""The one version whose scripts, counters and clock are known (see quiescence.lua)."""

CLIENT_LIBRARY = "libmariadb.so.3"
"""The client library that Debian's sysbench uses; it can be asked what it has negotiated."""

RECIPE = Recipe(
    name=f"sysbench-{VERSION}",
    title=f"sysbench {VERSION} from Debian trixie",
    kind="client",
    source=AptPackages(suites=("trixie",), packages=(f"sysbench={VERSION}*",)),
    program="usr/bin/sysbench",
    bytes_needed=200_000_000,
)

SCRIPTS = Path(__file__).parent
_ADAPTER = (sys.executable, "-P", "-m", "tlstax.clients.sysbench")
STOCK_SCRIPTS = "share/sysbench"
STOCK_SCRIPT_VARIABLE = "TLSTAX_STOCK_SCRIPT"
FIRST_STOCK_SCRIPT = "oltp_point_select.lua"


@dataclass(frozen=True)
class SysbenchProgram:
    """A sysbench that can be started; `root` is the tree that it was unpacked to, None for the machine's."""

    specimen: Specimen
    executable: Path
    root: Path | None = None

    def command(self, arguments: Sequence[str]) -> list[str]:
        """The command line; a program of a root is run by the root's own loader (ld.so(8))."""
        if self.root is None:
            return [str(self.executable), *arguments]
        loader, directories = loader_of(self.root)
        libraries = ":".join(map(str, directories))
        return [str(loader), "--library-path", libraries, str(self.executable), *arguments]

    def environment(self, stock_script: str) -> dict[str, str]:
        """Where sysbench finds scripts (ours, then its own), and its client library its plugins.

        `stock_script` is the one of its own that stock.lua holds still.
        """
        stock = self.executable.parent.parent / STOCK_SCRIPTS
        found = {
            "LUA_PATH": f"{SCRIPTS}/?.lua;{stock}/?.lua",
            "LC_ALL": "C",
            STOCK_SCRIPT_VARIABLE: stock_script,
        }
        if self.root is not None:
            loader, _ = loader_of(self.root)
            found["MARIADB_PLUGIN_DIR"] = str(loader.parent / "libmariadb3" / "plugin")
        return found


def obtain_client(progress: Progress) -> tuple[Specimen, list[str]]:
    """The sysbench that is run, and the command that starts it behind the contract.

    It is fetched if it is not there. MachineFault when it cannot be had.
    """
    return obtain(progress).specimen, [*_ADAPTER]


def obtain(progress: Progress) -> SysbenchProgram:
    """The machine's own sysbench if it will do, else Debian's, fetched now if it is not there yet."""
    own, why_not = _of_this_machine()
    if own is not None:
        return own
    try:
        return _of_root(shelf.obtain(RECIPE, progress), why_not)
    except MachineFault as fault:
        raise MachineFault(
            f"{why_not}, and {RECIPE.title} could not be fetched: {fault.message}",
            remedy=f"install Debian's package sysbench ({VERSION})",
        ) from fault


def present() -> SysbenchProgram:
    """The same without the network; MachineFault when there is none yet."""
    own, why_not = _of_this_machine()
    if own is not None:
        return own
    root = shelf.present(RECIPE)
    if root is None:
        raise MachineFault(
            f"{why_not}, and {RECIPE.title} has not been fetched",
            remedy=f"install Debian's package sysbench ({VERSION})",
        )
    return _of_root(root, why_not)


def told_version(executable: Path) -> str | None:
    """What the program says to --version, without its name; None when it does not run as sysbench."""
    try:
        done = ran([executable, "--version"], timeout_s=20)
    except OSError:
        return None
    words = done.stdout.split()
    return words[1] if done.returncode == 0 and words[:1] == ["sysbench"] and len(words) > 1 else None


def _of_this_machine() -> tuple[SysbenchProgram | None, str]:
    """The sysbench on the PATH, or why it will not do."""
    found = shutil.which("sysbench")
    if found is None:
        return None, "there is no sysbench on this machine's PATH"
    executable = Path(found).resolve()
    version = told_version(executable)
    if version != VERSION:
        return (
            None,
            f"{found} is {f'sysbench {version}' if version else 'no sysbench that runs'}, not {VERSION}",
        )
    if CLIENT_LIBRARY.encode() not in executable.read_bytes():
        return None, f"{found} does not use {CLIENT_LIBRARY}"
    if not (executable.parent.parent / STOCK_SCRIPTS / FIRST_STOCK_SCRIPT).is_file():
        return None, f"{found} has no {FIRST_STOCK_SCRIPT} beside it"
    specimen = _specimen(executable, "this machine", f"this machine's {found}")
    return SysbenchProgram(specimen, executable), ""


def _of_root(root: Kept, why: str) -> SysbenchProgram:
    specimen = _specimen(root.program, RECIPE.source.origin, f"{why}, so {RECIPE.title} was taken")
    packaged = specimen.model_copy(update={"packages": root.manifest.versions()})
    return SysbenchProgram(packaged, root.program, root.tree)


def _specimen(executable: Path, origin: str, why: str) -> Specimen:
    return Specimen(
        name=f"sysbench-{VERSION}",
        kind="client",
        version=VERSION,
        origin=origin,
        why=why,
        path=str(executable),
        sha256=sha256_of(executable),
    )
