"""What an adapter has to say of its driver; each is a module of `adapters`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from driver_contract.job import Job

Settings = dict[str, Any]


@dataclass(frozen=True)
class TlsView:
    """What the driver's own TLS object says of a connection. Names as OpenSSL prints them."""

    version: str
    cipher: str
    resumed: bool | None


class Driver(Protocol):
    """One driver, thin: what it is called with, and how it prepares."""

    title: str
    percent: str
    """How a percent sign is written in a statement that is given values."""

    def version(self) -> str:
        """What the driver says its version is."""

    def settings(self, job: Job) -> Settings:
        """The keyword arguments for `connect`, the job's own options not yet among them. Raises Failure."""

    def connect(self, settings: Settings) -> Any:
        """A connection of the driver's (PEP 249)."""

    def prepared_cursor(self, connection: Any) -> Any:
        """A cursor on which a statement is prepared, as far as the driver can."""

    def client_tells(self, settings: Settings) -> bool:
        """Whether it has a word, called like this, for what TLS was negotiated."""

    def client_view(self, connection: Any) -> TlsView | None:
        """What the driver's TLS object says; None in the clear. Only asked where `client_tells`."""
