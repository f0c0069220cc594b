"""A laboratory as a user starts it, with a cache and data of its own, watched through a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import psutil

from tlstax.store import Store
from tlstax.support import directories

LAUNCHER = Path(__file__).resolve().parents[2] / "tlstax"
ROWS, COLUMNS = 50, 200
STEERING = re.compile(r"\x1b(\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07|[A-Za-z=>])")
SHARED = ("specimens", "environments", "engines", "compiler")
"""What of the user's cache is used, since it takes minutes to make and nothing here changes it."""


class Home:
    """A short-lived home of laboratories: whatever is left of one has this home's path somewhere."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="tlx", dir="/tmp"))  # sockets need short paths
        self.cache, self.data = self.path / "c", self.path / "d"
        self.cache.mkdir()
        self.data.mkdir()
        for name in SHARED:
            if (directories.cache_dir() / name).exists():
                (self.cache / name).symlink_to(directories.cache_dir() / name)

    def environment(self, **more: str) -> dict[str, str]:
        """The variables of a laboratory at home here."""
        paths = {"TLSTAX_CACHE": str(self.cache), "TLSTAX_DATA": str(self.data)}
        # It waits for no other run, since nothing that it measures is believed.
        return {**os.environ, **paths, "TERM": "xterm", "TLSTAX_TURN": self.path.name, **more}

    def processes(self) -> list[str]:
        """What still runs of laboratories that were at home here, each in words."""
        mine = str(self.path)
        return [
            f"{process.pid} {' '.join(command)[:120]}"
            for process in psutil.process_iter()
            if process.pid != os.getpid() and (command := _command_of(process, mine))
        ]

    def network_namespaces(self) -> set[int]:
        """Those in which processes of laboratories at home here are, beside this program's own."""
        mine = str(self.path)
        theirs = (p.pid for p in psutil.process_iter() if p.pid != os.getpid() and _command_of(p, mine))
        return namespaces_of(theirs) - namespaces_of([os.getpid()])

    def sockets(self) -> list[str]:
        """Unix sockets below this home (proc_net_unix(5))."""
        lines = Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace").splitlines()
        return [line.split()[-1] for line in lines if str(self.path) in line]

    def sessions(self) -> list[str]:
        """Session directories that are there, of live and of dead laboratories."""
        folder = self.cache / "sessions"
        return [path.name for path in folder.iterdir() if path.is_dir()] if folder.is_dir() else []

    def stored_trials(self) -> int:
        """How many trials the store's newest run has; 0 where there is no run."""
        file = self.data / "store.sqlite"
        if not file.exists():
            return 0
        with Store.open(file) as store:
            runs = store.runs()
            return len(store.load(runs[0].run).trials) if runs else 0

    def forget_runs(self) -> None:
        """Begin with an empty store."""
        shutil.rmtree(self.data)
        self.data.mkdir()

    def remove(self) -> None:
        """Remove it all."""
        shutil.rmtree(self.path, ignore_errors=True)


def namespaces_of(processes: Iterable[int]) -> set[int]:
    """The network namespaces of these, as far as they may be looked at."""
    found = set()
    for pid in processes:
        with contextlib.suppress(OSError):
            found.add(Path(f"/proc/{pid}/ns/net").stat().st_ino)
    return found


class Laboratory:
    """One start of tlstax in a terminal; what it shows is read while it works."""

    def __init__(self, home: Home, arguments: Sequence[str], **more: str) -> None:
        self._shown = b""
        self._screen, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            [LAUNCHER, *arguments],
            env=home.environment(**more),
            stdin=subprocess.DEVNULL,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
        )
        os.close(inside)

    def watch(self, seconds: float) -> bool:
        """Read what it shows for a time; whether it is still running."""
        deadline = time.monotonic() + seconds
        while self.process.poll() is None and (left := deadline - time.monotonic()) > 0:
            self._read(min(left, 0.2))
        return self.process.poll() is None

    def kill(self) -> None:
        """End it as the kernel would for want of memory, and read what it showed last."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self._read(0.2)
        os.close(self._screen)

    def close(self) -> int:
        """Its exit status, once it has ended by itself."""
        self._read(0.2)
        os.close(self._screen)
        return self.process.wait()

    def shown(self) -> str:
        """All that it wrote, without what steers a terminal."""
        return STEERING.sub("", self._shown.decode("utf-8", "replace"))

    def _read(self, seconds: float) -> None:
        """What there is, after waiting so long for it; a terminal whose other end is closed says EIO."""
        waiting = seconds
        while select.select([self._screen], [], [], waiting)[0]:
            try:
                read = os.read(self._screen, 65536)
            except OSError:
                return
            if not read:
                return
            self._shown += read
            waiting = 0


def _command_of(process: psutil.Process, mark: str) -> list[str]:
    """Its command line, if that or its environment has the mark; empty otherwise, and for a dead one."""
    try:
        command, environment = process.cmdline(), process.environ()
        dead = process.status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return []
    marked = any(mark in word for word in command) or any(mark in value for value in environment.values())
    return (command or [process.name()]) if marked and not dead else []
