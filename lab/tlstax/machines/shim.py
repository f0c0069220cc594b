"""What runs in a Ray worker on a node: it brings tlstax there, starts it, and passes lines on. Nothing else.

It is sent to the node by value and runs in whatever Python Ray has there, so it imports the standard library
alone. The work is done by a child process, tlstax's own launcher, from sources that the head sent: a node's
tlstax is the head's. The child ends when its standard input does, so whatever ends the worker ends the work
in order.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import platform
import queue
import re
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

END = ""
"""Stands in the queue of lines for the end of the child's output, which no line is."""

MOST_LINES = 200
"""Lines of one answer: a line may hold a trial."""

LAST_WORDS_BYTES = 2048
CONNECT_S = 5.0
UNUSED_S = 30 * 86400


class Shim:
    """One node's child process, and the files it needs. Every method is called over the network."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str] = queue.Queue()
        self._log: Any = None
        self._listening: socket.socket | None = None

    def facts(self) -> dict[str, Any]:
        """What is to be known of the node before anything is sent there."""
        return {
            "hostname": socket.gethostname(),
            "machine": platform.machine(),
            "kernel": platform.release(),
            "python": platform.python_version(),
            "cpus": len(os.sched_getaffinity(0)),
            "memory_bytes": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
        }

    def clock_s(self) -> float:
        """The time of day by this node's clock."""
        return time.time()

    def lacks(self, targets: list[str], environment: str, wheels: str) -> list[str]:
        """Those of these folders of the cache that are not there; `wheels` too, if the environment is not."""
        cache = _cache()
        _remove_left_behind([cache / "incoming", *(cache / target.partition("/")[0] for target in targets)])
        wanted = list(targets)
        if not any(cache.glob(f"environments/{environment}-*/complete")):
            wanted.append(wheels)
        return [target for target in wanted if not (cache / target).is_dir()]

    def receive(self, upload: str, chunk: bytes, *, is_first: bool) -> None:
        """Keep a piece of an archive, behind those before it."""
        place = _incoming(upload)
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with place.open("wb" if is_first else "ab") as file:
            file.write(chunk)

    def unpack(self, upload: str, sha256: str, target: str) -> None:
        """Unpack an archive that is there whole. ValueError where it is not what it ought to be."""
        archive, place = _incoming(upload), _cache() / target
        with archive.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != sha256:
            archive.unlink()
            raise ValueError(f"{target} came to the node changed")
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        scratch = place.parent / _own(f".{place.name}")
        try:
            scratch.mkdir(mode=0o700)
            with tarfile.open(archive) as packed:
                # Its checksum is the head's, and a server's links lead where they like.
                packed.extractall(scratch, filter="fully_trusted")  # noqa: S202
            scratch.chmod(0o755)
            # Another node may share this file system and have been faster.
            with contextlib.suppress(OSError):
                scratch.rename(place)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
            archive.unlink()
        _remove_unused(archive.parent)
        if target.startswith("sources/"):
            _remove_unused(place.parent)

    def answer(self, sources: str, arguments: list[str], within_s: float) -> tuple[int, str, str]:
        """What the node's tlstax says to these arguments: its status, output and errors."""
        done = subprocess.run(
            [str(_cache() / sources / "tlstax"), *arguments],
            check=False,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            env=_environment(),
            timeout=within_s,
        )
        return done.returncode, done.stdout, done.stderr

    def listen(self) -> int:
        """Let others connect, for `round_trips_us`; the port."""
        self._listening = socket.create_server(("", 0), backlog=128)
        return int(self._listening.getsockname()[1])

    def round_trips_us(self, address: str, port: int, times: int) -> list[float]:
        """How long it takes to connect to a port of another node: there and back once (RFC 9293, 3.5)."""
        found = []
        for _ in range(times):
            began = time.perf_counter()
            socket.create_connection((address, port), CONNECT_S).close()
            found.append((time.perf_counter() - began) * 1e6)
        return found

    def start(self, sources: str, arguments: list[str]) -> int:
        """Start the node's tlstax with these arguments; its process id."""
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (open for as long as the child)
        with _nothing_blocked():
            self._child = subprocess.Popen(
                [str(_cache() / sources / "tlstax"), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                start_new_session=True,
                text=True,
                encoding="utf-8",
                env=_environment(),
            )
        threading.Thread(target=self._read, args=(self._child,), daemon=True).start()
        return self._child.pid

    def send(self, line: str, *_before: bool) -> bool:
        """Pass a line on to the child; whether it is still there to read it.

        What was sent before is an argument, so that Ray waits for it: calls run side by side.
        """
        if self._child is None or self._child.stdin is None:
            return False
        try:
            self._child.stdin.write(line)
            self._child.stdin.flush()
        except (BrokenPipeError, ValueError):
            return False
        return True

    def lines(self, within_s: float) -> tuple[list[str], str | None]:
        """What the child has written since; how it ended, None while it runs. Waits for something so long."""
        found: list[str] = []
        try:
            found.append(self._lines.get(timeout=within_s))
            while len(found) < MOST_LINES:
                found.append(self._lines.get_nowait())
        except queue.Empty:
            pass
        ended = None
        if found and found[-1] == END:
            found.pop()
            self._lines.put(END)
            ended = self._how_it_ended()
        return found, ended

    def stop(self, grace_s: float) -> None:
        """End the child: by the end of its input, and where that is not enough, by force."""
        child = self._child
        if child is None:
            return
        if child.stdin is not None:
            with contextlib.suppress(OSError):
                child.stdin.close()
        try:
            child.wait(grace_s)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()

    def _read(self, child: subprocess.Popen[str]) -> None:
        if child.stdout is not None:
            for line in child.stdout:
                self._lines.put(line)
        self._lines.put(END)

    def _how_it_ended(self) -> str:
        if self._child is None:
            return "it was not started"
        status = self._child.wait()
        how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - LAST_WORDS_BYTES))
        last = self._log.read().decode(errors="replace").strip().splitlines()[-1:]
        return how + (f": {last[0]}" if last else "")


def _environment() -> dict[str, str]:
    """What the launcher is started with: nothing of Ray's own, and the wheels that were brought."""
    own = ("RAY_", "PYTHON", "VIRTUAL_ENV", "LD_PRELOAD")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    wheels = sorted(str(folder) for folder in _cache().glob("wheels/*"))
    return {**kept, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": " ".join(wheels)} if wheels else kept


def _cache() -> Path:
    """Where the launcher keeps things on this node (setup/places.sh)."""
    given = os.environ.get("TLSTAX_CACHE")
    if given:
        return Path(given)
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "tlstax"


def _incoming(upload: str) -> Path:
    """Where an archive is kept while it comes, this shim's own: others may share its file system."""
    return _cache() / "incoming" / _own(upload)


def _own(name: str) -> str:
    """A name that is this process's own."""
    return f"{name}-{socket.gethostname()}-{os.getpid()}"


@contextlib.contextmanager
def _nothing_blocked() -> Iterator[None]:
    """What is started here can be ended by any signal: Ray blocks SIGINT, by which perf is asked to write."""
    blocked = signal.pthread_sigmask(signal.SIG_SETMASK, ())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _remove_left_behind(folders: list[Path]) -> None:
    """Remove what shims of this node were receiving or unpacking there when they were killed."""
    own = re.compile(rf".*-{re.escape(socket.gethostname())}-([0-9]+)")
    for other in (entry for folder in folders if folder.is_dir() for entry in folder.iterdir()):
        known = own.fullmatch(other.name)
        if known and not _is_running(int(known[1])):
            _remove(other)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return error.errno != errno.ESRCH
    return True


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)


def _remove_unused(folder: Path) -> None:
    """Remove what was left here, or brought by a run, a month ago."""
    for other in folder.iterdir():
        if time.time() - other.stat().st_mtime > UNUSED_S:
            _remove(other)
