"""Whether this machine has room for many connections at once, asked before anything is fetched or started."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from tlstax.observers.ports import port_settings
from tlstax.plan.jobs import SOURCE_ADDRESSES
from tlstax.specimens.server_build import FORKING
from tlstax.specimens.server_settings import bounded_connections
from tlstax.study.product import DEFAULT, ProductName
from tlstax.support.errors import UserMistake
from tlstax.support.text import natural

THREADS_BESIDE = 200
"""Threads that a server has besides those of its connections, and a client."""

AREAS_OF_A_THREAD = 2
"""A thread's stack and the guard page below it are areas of memory of their own (mmap(2))."""

LEAST_BYTES, LEAST_PROCESS_BYTES = 32 * 1024, 1024 * 1024
"""A server and a client that need less memory for a connection together are not known; the second where the
server starts a process for each."""

MOST_BACKENDS = 262_143
"""The highest `max_connections` of PostgreSQL, the only product that starts processes (its documentation,
"Connections and Authentication"; MAX_BACKENDS in src/include/storage/procnumber.h)."""


@dataclass(frozen=True)
class Limit:
    """How many connections something allows, and what can be done about it."""

    most: int
    what: str
    remedy: str


def check_room(  # noqa: PLR0913 (what is asked, then of which server)
    asked: str,
    connections: int,
    spare: int,
    *,
    product: ProductName = DEFAULT,
    pooled: bool = False,
    root: Path = Path("/"),
) -> None:
    """UserMistake, in one sentence, where this machine allows no server that many connections.

    `asked` is what the user said, `spare` how many connections there are besides. A server has a thread for
    each, unless they are `pooled`, or by its product a process; what the kernel does not report limits
    nothing.
    """
    needed, has_processes = connections + spare, product in FORKING
    limits = [*_limits(needed, root, has_processes=has_processes)]
    if not pooled:
        limits += _limits_of_tasks(root)
    if not pooled and not has_processes:
        limits += _limits_of_areas(root)
    for limit in limits:
        if limit.most < needed:
            raise UserMistake(
                f"{asked} needs a server that accepts {needed} connections, and {limit.what} allows "
                f"{max(0, limit.most)} here",
                remedy=f"ask for fewer, or {limit.remedy}",
            )


def _limits(needed: int, root: Path, *, has_processes: bool) -> Iterator[Limit]:
    # A process has one connection, and the client, which has as many as there are, checks its own limit.
    if has_processes:
        yield Limit(MOST_BACKENDS, "PostgreSQL's largest max_connections", "name a server of another product")
    else:
        yield Limit(bounded_connections(needed), "the limit of open files", "raise the limit (ulimit -Hn)")
    try:
        ports = port_settings(root / "proc/sys/net/ipv4").there_are * len(SOURCE_ADDRESSES)
        yield Limit(ports, "the range of ports (net.ipv4.ip_local_port_range)", "widen it")
    except (OSError, ValueError):
        pass
    free_bytes = int(psutil.virtual_memory().available)
    least_bytes = LEAST_PROCESS_BYTES if has_processes else LEAST_BYTES
    yield Limit(free_bytes // least_bytes, "the memory that is free", "end what else needs it")


def _limits_of_tasks(root: Path) -> Iterator[Limit]:
    """Of threads and processes, which the kernel counts alike."""
    for name in ("kernel/threads-max", "kernel/pid_max"):
        most = _number(root / "proc/sys" / name)
        if most is not None:
            dotted = name.replace("/", ".")
            free = most - _threads(root) - THREADS_BESIDE
            yield Limit(free, f"the kernel's limit of threads ({dotted})", f"raise it (sysctl {dotted})")
    tasks = _free_tasks(root)
    if tasks is not None:
        yield Limit(tasks - THREADS_BESIDE, "the limit of this control group (pids.max)", "raise it")


def _limits_of_areas(root: Path) -> Iterator[Limit]:
    """Of the memory of one process, in which all connections are."""
    areas = _number(root / "proc/sys/vm/max_map_count")
    if areas is not None:
        most = areas // AREAS_OF_A_THREAD - THREADS_BESIDE
        yield Limit(most, "the kernel's limit of memory areas (vm.max_map_count)", "raise it")


def _number(path: Path) -> int | None:
    """The number in a file; None where there is none, or "max"."""
    try:
        text = path.read_text("ascii").strip()
    except OSError:
        return None
    return natural(text)


def _threads(root: Path) -> int:
    """How many threads there are (proc(5), the fourth field of loadavg)."""
    try:
        return int((root / "proc/loadavg").read_text("ascii").split()[3].partition("/")[2])
    except (OSError, ValueError, IndexError):
        return 0


def _free_tasks(root: Path) -> int | None:
    """How many more threads this process's control group may have; None where it has no limit.

    Source: the kernel's documentation of control groups, "PID"; of version 2 its own is the line "0::".
    """
    try:
        lines = (root / "proc/self/cgroup").read_text("utf-8").splitlines()
    except OSError:
        return None
    own = next((line.removeprefix("0::").lstrip("/") for line in lines if line.startswith("0::")), "")
    folder = root / "sys/fs/cgroup" / own
    most, there_are = _number(folder / "pids.max"), _number(folder / "pids.current")
    return most - there_are if most is not None and there_are is not None else None
