"""A wheel on bare machines: from nothing to a report by pipx and by uvx, as an ordinary user."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from roots import USER, Root
from rows import RUN_TIMEOUT_S, Attempt, Row, has_report, packages_of, wrong

INSTALL_TIMEOUT_S = 900
COMPILERS = ("cc", "gcc", "rustc", "cargo")


def wheel_attempt(wheel: Path) -> Attempt:
    """The wheel in this file, in roots whose packages are pipx and what that needs."""
    return Attempt(
        name=f"wheel-{wheel.name.split('-')[1]}",
        packages=("pipx",),
        users=(USER,),
        bring=partial(_bring, wheel),
        steps=partial(_steps, wheel.name),
    )


def _bring(wheel: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    shutil.copy(wheel, folder)


def _steps(wheel: str, root: Root, who: str, log: Path, row: Row) -> None:
    """Installed by pipx and run, then run by a uvx that came by pipx, then looked at for what it changed."""
    installed, home = packages_of(root), f"/home/{who}/.local/bin"
    found = [name for name in COMPILERS if (root.folder / "usr/bin" / name).exists()]
    row.tried["no compiler"] = f"it has {', '.join(found)}" if found else ""
    python = root.run(who, ["python3", "--version"], log, INSTALL_TIMEOUT_S).output.strip()
    for package in (f"./{wheel}", "uv"):
        done = root.run(who, ["pipx", "install", package], log, INSTALL_TIMEOUT_S)
        row.tried[f"pipx install {package} with {python}"] = wrong(done, as_expected=True)
    for command in ([f"{home}/tlstax"], [f"{home}/uvx", "--from", f"./{wheel}", "tlstax"]):
        done = root.run(who, [*command, "run", "--budget", "20s"], log, RUN_TIMEOUT_S)
        what = f"{Path(command[0]).name}: report after {done.took_s:.0f} s"
        row.tried[what] = wrong(done, as_expected=has_report(root, done))
    done = root.run(who, [f"{home}/tlstax", "doctor"], log, INSTALL_TIMEOUT_S)
    row.tried["doctor"] = wrong(done, as_expected="/shipped/programs/tlstax-engine" in done.output)
    row.tried["the machine"] = "" if packages_of(root) == installed else "packages were installed"
