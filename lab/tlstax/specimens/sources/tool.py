"""Making a specimen: where, by which tool, of which files that were checked.

A tool is watched, ended in order, and never outlives us. It starts others, which the parent death signal does
not reach. So the tool is the leader of a process group of its own, beside a watcher that reads from our end
of a pipe: when we end, however it is, the pipe closes and the watcher kills the group. Ctrl-C reaches us
alone; the group is asked to end (SIGTERM), then made to.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tarfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tlstax.specimens import processes
from tlstax.support.errors import MachineFault
from tlstax.support.trusted import sha256_of


@dataclass(frozen=True)
class Place:
    """`tree` becomes the specimen; `work` is removed afterwards; `downloads` is kept until it is whole.

    `log` in `work` has what the tools said.
    """

    tree: Path
    work: Path
    downloads: Path

    @property
    def log(self) -> Path:
        """What the tools said, all of it."""
        return self.work / "log"


WATCHED = 'exec 3<&0; { read -r _ <&3; kill -KILL 0; } & exec "$@" 3<&- </dev/null'
LOOK_EVERY_S = 0.5
GRACE_S = 3.0

FULL_DISK = re.compile(r"no space left on device|disk quota exceeded|ENOSPC|EDQUOT", re.IGNORECASE)


@dataclass(frozen=True)
class Run:
    """One run of a tool: its output goes to `log`; `look` is called about twice a second meanwhile."""

    command: Sequence[str]
    directory: Path
    log: Path
    timeout_s: float
    look: Callable[[], None] = lambda: None
    environment: Mapping[str, str] = field(default_factory=dict)


def need(program: str, what_for: str, remedy: str) -> None:
    """MachineFault when the program is not on the PATH."""
    if shutil.which(program) is None:
        raise MachineFault(f"{what_for} needs {program}, which is not on this machine's PATH", remedy=remedy)


def run(work: Run) -> int:
    """Run the tool to its end; its exit status. MachineFault when it does not end in time."""
    with work.log.open("ab") as log:
        child = subprocess.Popen(
            processes.mortal(["/bin/sh", "-c", WATCHED, "sh", *work.command]),
            cwd=work.directory,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env={**os.environ, "LC_ALL": "C", **work.environment},
            start_new_session=True,
        )
    try:
        return _wait(child, work)
    finally:
        _end(child)


def reason(log: Path, patterns: Sequence[tuple[str, str]]) -> str:
    """The last line of the log that matches one of the patterns, the most specific first; else the last."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines() if line.strip()]
    for pattern, meaning in patterns:
        for line in reversed(lines):
            if re.search(pattern, line, re.IGNORECASE):
                return f"{meaning} ({line[:300]})"
    return lines[-1][:300] if lines else "it gave no reason"


def failed(what: str, log: Path, patterns: Sequence[tuple[str, str]], remedy: str) -> MachineFault:
    """The failure of a tool in one sentence."""
    if log.exists() and FULL_DISK.search(log.read_text(encoding="utf-8", errors="replace")):
        return MachineFault(
            f"{what}: the disk is full", remedy="make room, or name another place in TLSTAX_CACHE"
        )
    return MachineFault(f"{what}: {reason(log, patterns)}", remedy=remedy)


def _wait(child: subprocess.Popen[bytes], work: Run) -> int:
    deadline = time.monotonic() + work.timeout_s
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return child.wait(timeout=LOOK_EVERY_S)
        work.look()
        if time.monotonic() > deadline:
            raise MachineFault(
                f"{Path(work.command[0]).name} did not end within {work.timeout_s / 60:.0f} minutes",
                remedy="check the network and the machine, and start again: what is there is kept",
            )


def _end(child: subprocess.Popen[bytes]) -> None:
    """Ask what still runs to end, wait a little, and close the pipe, at which the watcher kills the rest."""
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=GRACE_S)
    if child.stdin is not None:
        child.stdin.close()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def is_the_one(file: Path, sha256: str) -> bool:
    """Whether the file is there and has this checksum."""
    return file.is_file() and sha256_of(file) == sha256


def check_sha256(file: Path, sha256: str, title: str) -> None:
    """MachineFault when the file is another one; it is removed then, so that the next fetch gets it anew."""
    if not is_the_one(file, sha256):
        file.unlink(missing_ok=True)
        raise MachineFault(
            f"what was fetched as {title} is not the file that tlstax knows (its SHA-256 differs)",
            remedy="it was removed: start again, and if it happens again, do not trust the registry",
        )


def unpack_tar(file: Path, into: Path) -> None:
    """Unpack a tar archive of any compression. tarfile.TarError or OSError where it is damaged.

    Python has filters against members that lead elsewhere from 3.11.4 on; Debian 12 has an older one. There,
    that the archive is the one whose content is known has to do.
    """
    with tarfile.open(file) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(into, filter="data")
        else:
            archive.extractall(into)  # noqa: S202 - its checksum was checked
