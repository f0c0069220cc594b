"""A bundle on bare machines that reach nothing: from the file to a report, and what is refused."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

from roots import BROUGHT, USER, Root, home_of
from rows import RUN_TIMEOUT_S, Attempt, Row, has_report, packages_of, wrong

NOT_CARRIED = "mysql-9.7"
WORDS_TIMEOUT_S = 60
FILE = "tlstax.tar"
PLACE = "a place"
UNPACK = f'mkdir "{PLACE}" && cd "{PLACE}" && tar xf ../{FILE} && tlstax/tlstax run --budget 20s'


def bundle_attempt(bundle: Path) -> Attempt:
    """The bundle in this file, which carries MariaDB alone."""
    return Attempt("bundle", ("git",), ("root", USER), partial(_bring, bundle), _steps)


def _bring(bundle: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    shutil.copy(bundle, folder / FILE)


def _steps(root: Root, who: str, log: Path, row: Row) -> None:
    """From the file to a report by one command, offline; then what is refused."""
    installed = packages_of(root)
    done = root.run(who, ["bash", "-c", UNPACK], log, RUN_TIMEOUT_S, offline=True)
    row.tried[f"report after {done.took_s:.0f} s"] = wrong(done, as_expected=has_report(root, done))
    tlstax = f"{PLACE}/tlstax/tlstax"
    again = root.run(who, [tlstax, "run", "--budget", "5s"], log, RUN_TIMEOUT_S, offline=True)
    row.tried[f"again after {again.took_s:.0f} s"] = wrong(again, as_expected="unpacking" not in again.output)
    words = root.run(who, [tlstax, "run", "--server", NOT_CARRIED], log, WORDS_TIMEOUT_S, offline=True)
    named = f"`tlstax bundle --server {NOT_CARRIED}`" in words.output
    row.tried["another server"] = "" if words.status == 3 and named else f"status {words.status}"
    row.tried["a changed byte"] = _changed(root, who, log, tlstax)
    row.tried["the machine"] = "" if packages_of(root) == installed else "packages were installed"


def _changed(root: Root, who: str, log: Path, tlstax: str) -> str:
    """What went wrong where a byte of a part is another, and nothing is unpacked yet."""
    home = root.folder / home_of(who)[1:]
    part = home / BROUGHT / PLACE / "tlstax/parts/engine.tar.xz"
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    shutil.rmtree(home / ".cache/tlstax")
    done = root.run(who, [tlstax, "run"], log, WORDS_TIMEOUT_S, offline=True)
    return "" if done.status == 3 and "damaged or incomplete" in done.output else f"status {done.status}"
