"""An external server's process where it runs on this machine: found by the connection that ends at it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from tlstax.observers.process import CpuClock
from tlstax.specimens.process_tree import ProcessTree, first_of
from tlstax.sql import answering
from tlstax.sql.database import Database

_SERVER = re.compile(r"(mysqld|mariadbd|postgres)([-._].*)?")
"""What the programs of servers are called; others pass on what they get."""

HELP = "run tlstax as root or as the server's own user, or give --server-host ssh://root@localhost"


@dataclass(frozen=True)
class Near:
    """A server of this machine: its process, None where it is out of reach, and the CPUs that it may use.

    Of a server that starts processes `pid` is the first, and `tree` has all of them; None of any other.
    `why_not` says why it is out of reach, empty where it is not.
    """

    pid: int | None
    cpus: frozenset[int]
    name: str = ""
    why_not: str = ""
    remedy: str = ""
    tree: ProcessTree | None = None

    @property
    def words(self) -> str:
        """Which process it is, or why its CPU time is not read, and what helps."""
        if self.pid is None:
            helps = f" ({self.remedy})" if self.remedy else ""
            return f"the server's CPU time is not read: {self.why_not}{helps}"
        return f"the server is process {self.pid} ({self.name}) of this machine: its CPU time is read"


def near(database: Database) -> Near | None:
    """The process that this connection ends at; None where that is on another machine or in a container.

    A connection over TCP is looked for in this machine's own table of sockets (proc(5), /proc/net/tcp): who
    has its other end is shown to root and to that user alone.
    """
    pid = answering.peer_of(database)
    if pid is None:
        link = answering.far_socket(database)
        if link is None:
            return None
        pid = answering.holder_of(link)
    if pid is None:
        why = "this machine shows whose process it is to root and to its own user alone"
        return Near(None, frozenset(), why_not=why, remedy=HELP)
    return _of(pid)


def _of(pid: int) -> Near:
    program = answering.program_of(pid)
    name = Path(program).name if program else _command(pid)
    if not _SERVER.fullmatch(name):
        why = f"the connection ends at {name or 'a process'} ({pid}), which passes it on"
        return Near(None, frozenset(), why_not=why)
    try:
        CpuClock(pid).read_us()
        cpus = frozenset(os.sched_getaffinity(pid))
    except OSError as error:
        why = f"process {pid} ({name}) is out of reach ({error.strerror})"
        return Near(None, frozenset(), why_not=why, remedy=HELP)
    first = first_of(pid)
    return Near(first, cpus, name, tree=ProcessTree.around(pid) if first != pid else None)


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
