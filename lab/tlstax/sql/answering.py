"""Who answers on a connection of the laboratory's: the process, the program it executes, the data it serves.

An old server that has not died yet answers as well as the new one. Only the kernel knows which process is
at the other end.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import socket
import struct
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil

from tlstax.contract import Frozen
from tlstax.sql.database import Database

_CREDENTIALS = struct.Struct("3i")
"""struct ucred: process, user and group id (unix(7))."""

_LISTENING = "0A"
"""TCP_LISTEN in the kernel's table of sockets (include/net/tcp_states.h)."""

_LOADER = re.compile(r"ld(-linux[^/]*|-\d[^/]*|64)\.so[^/]*")


class Answering(Frozen):
    """The server that a connection ends at, as the kernel and the server itself report.

    `pid` is None where the connection is not over a Unix socket or its end is out of reach; `program` then
    too. `version` and `data_directory` are the server's own words. `listening_port` is the TCP port that this
    very process was seen to listen on; None where it is another's.
    """

    pid: int | None
    program: str | None
    version: str
    data_directory: str
    listening_port: int | None


class Listener(Frozen):
    """A listening TCP socket and the process that holds it as one of its files.

    Once known, one look shows whether the process still has it: a socket's inode is its own for life.
    """

    pid: int
    port: int
    file: str
    target: str

    def holds(self) -> bool:
        """Whether the process still has this very socket."""
        with contextlib.suppress(OSError):
            return str(Path(self.file).readlink()) == self.target
        return False


def answered(database: Database, listener: Listener | None, version: str, data_directory: str) -> Answering:
    """Who answers on this connection, which says of itself that it has this version and these data.

    `listener` is the socket that its clients are sent to.
    """
    pid = peer_of(database)
    listens = listener is not None and listener.pid == pid and listener.holds()
    return Answering(
        pid=pid,
        program=program_of(pid) if pid else None,
        version=version,
        data_directory=os.path.realpath(data_directory),
        listening_port=listener.port if listener and listens else None,
    )


class End(NamedTuple):
    """One end of a connection over TCP."""

    address: str
    port: int

    def __str__(self) -> str:
        return f"[{self.address}]:{self.port}" if ":" in self.address else f"{self.address}:{self.port}"


def ends_of(database: Database) -> tuple[End, End] | None:
    """Our end of a connection over TCP, and the server's; None of one over a Unix socket."""
    channel = database.channel
    if channel is None or channel.family not in {socket.AF_INET, socket.AF_INET6}:
        return None
    ours, theirs = channel.getsockname(), channel.getpeername()
    return End(ours[0], ours[1]), End(theirs[0], theirs[1])


def peer_of(database: Database) -> int | None:
    """The process that called listen(2) on the Unix socket that this connection was made to (unix(7))."""
    end = database.channel
    if end is None or end.family != socket.AF_UNIX:
        return None
    credentials = end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid: int = _CREDENTIALS.unpack(credentials)[0]
    return pid or None


def program_of(pid: int) -> str | None:
    """The program that a process executes; None when it is out of reach.

    Under a loader, /proc/PID/exe is the loader. The program is then the executable mapping that is no
    shared library, first in the memory map (proc(5)).
    """
    try:
        program = str(Path(f"/proc/{pid}/exe").readlink())
        if not _LOADER.fullmatch(Path(program).name):
            return program
        lines = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    mapped = (line.split(maxsplit=5) for line in lines)
    executable = (fields[5] for fields in mapped if len(fields) == 6 and "x" in fields[1])
    programs = (path for path in executable if path.startswith("/") and ".so" not in Path(path).name)
    return next(programs, program)


def far_socket(database: Database) -> str | None:
    """The server's end of a connection over TCP, as the files of who holds it link to it.

    None where this machine's tables of sockets do not have it (proc(5), /proc/net/tcp), or the connection is
    not over TCP. They have a line for each connection that was closed in the last minute, so a line is looked
    for as text.
    """
    ends = ends_of(database)
    if ends is None:
        return None
    ours, theirs = (_in_tables(end) for end in ends)
    for table in ours:
        with contextlib.suppress(OSError):
            lines = Path("/proc/net", table).read_text("ascii")
            place = lines.find(f" {theirs[table]} {ours[table]} ")
            if place >= 0:
                return f"socket:[{lines[place:].split(maxsplit=9)[8]}]"
    return None


def _in_tables(end: End) -> dict[str, str]:
    """An end as each table of sockets that may have it writes it: of every four bytes the number in hex.

    That of IPv6 has IPv4 too, where a socket takes both (RFC 4291, 2.5.5.2).
    """
    address = ipaddress.ip_address(end.address.partition("%")[0])
    if isinstance(address, ipaddress.IPv4Address):
        address = ipaddress.IPv6Address(f"::ffff:{address}")
    spelled = {"tcp6": address.packed}
    if address.ipv4_mapped:
        spelled["tcp"] = address.ipv4_mapped.packed
    return {table: f"{_in_hex(packed)}:{end.port:04X}" for table, packed in spelled.items()}


def _in_hex(packed: bytes) -> str:
    return "".join(f"{word:08X}" for (word,) in struct.iter_unpack("=I", packed))


def holder_of(link: str) -> int | None:
    """The process that has a file which links to this; None where that is another user's."""
    return next((pid for pid in psutil.pids() if _file_of(pid, {link}) is not None), None)


def _file_of(pid: int, links: Collection[str]) -> tuple[str, str] | None:
    """The first of a process's files that links to one of these, and to which."""
    with contextlib.suppress(OSError):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                if (target := str(file.readlink())) in links:
                    return str(file), target
    return None


def find_listener(pid: int, port: int) -> Listener | None:
    """The socket by which this process listens on the port; None when it is not this process that does.

    The kernel's table of sockets (proc(5), /proc/PID/net/tcp, that of the process's own network namespace)
    names the inode of the one that listens; the process must hold it. With thousands of closed connections
    the table is long: look once.
    """
    found = _file_of(pid, set(_listening_on(port, Path(f"/proc/{pid}"))))
    return Listener(pid=pid, port=port, file=found[0], target=found[1]) if found else None


def _listening_on(port: int, process: Path) -> Iterator[str]:
    """The sockets that listen on this port where the process is, as links of its files name them."""
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (process / "net" / table).read_text("ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                    yield f"socket:[{fields[9]}]"
