"""Starts a path by its name: the programs between client and server, ready to carry connections."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tlstax.contract import UnixEndpoint
from tlstax.errors import MachineFault
from tlstax.specimens.certificates import Certificates
from tlstax.specimens.sessions import Session
from tlstax.travel import RunningPath, Span


@dataclass(frozen=True)
class Ends:
    """Between what a path runs: a server's port and socket, its certificate, and over which distance.

    Where `over` is None, all of the path stands in the server's place; else one end of it stands in the near
    place, or all of it where it has one program alone and belongs to the client. `entering` is the
    beginning of a command line in the server's place (empty: this one).
    """

    session: Session
    server_port: int
    server_socket: UnixEndpoint | None
    certificates: Certificates
    entering: tuple[str, ...] = ()
    over: Span | None = None
    cpus: tuple[int, ...] = ()


@contextmanager
def open_path(name: str, ends: Ends) -> Iterator[RunningPath]:
    """The path of this name, running, and stopped with the block. MachineFault where it does not come up."""
    raise MachineFault(f"the path {name} to port {ends.server_port} cannot be had yet")
    yield
