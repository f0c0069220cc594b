"""Between what a path runs, and where its parts stand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tlstax.network.paths.route import Span
from tlstax.specimens.certificates import Certificates
from tlstax.specimens.sessions import Session
from tlstax.support.here import LOOPBACK

Role = Literal["near the client", "near the server"]
NEAR: Role = "near the client"
FAR: Role = "near the server"


@dataclass(frozen=True)
class Place:
    """Where a program stands: how a command line in it begins (empty: here), and on which processors."""

    role: Role
    entering: tuple[str, ...]
    cpus: tuple[int, ...]


@dataclass(frozen=True)
class Ends:
    """Between what a path runs: a server's port, certificates, and over which distance.

    A private server stands in the server's place, an external one listens at `server_host`. `certificates`
    has what a path shows that ends TLS, and the authority of the server's own, which is checked as `verify`
    says.

    Where `over` is None, all of the path stands in the server's place; else one end of it stands in the near
    place, or all of it where it has one program alone and belongs to the client. `entering` is the
    beginning of a command line in the server's place (empty: this one). Programs that would run on the
    client's machine share `near_cpus` with it, those on the server's machine `far_cpus`.
    """

    session: Session
    server_port: int
    certificates: Certificates
    entering: tuple[str, ...] = ()
    over: Span | None = None
    near_cpus: tuple[int, ...] = ()
    far_cpus: tuple[int, ...] = ()
    server_host: str | None = None
    verify: Literal["none", "ca", "identity"] = "ca"

    @property
    def near(self) -> Place:
        """The client's place."""
        return Place(NEAR, self.over.enter_near() if self.over else self.entering, self.near_cpus)

    @property
    def far(self) -> Place:
        """The server's place."""
        return Place(FAR, self.entering, self.far_cpus)

    @property
    def far_address(self) -> str:
        """Where the server's place is reached from the client's."""
        return self.over.far_address if self.over else LOOPBACK

    @property
    def server_from_near(self) -> str:
        """The server's address and port, for a program in the client's place."""
        return _joined(self.server_host or self.far_address, self.server_port)

    @property
    def server_from_far(self) -> str:
        """The same for a program in the server's place."""
        return _joined(self.server_host or LOOPBACK, self.server_port)


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
