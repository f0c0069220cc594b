"""The machines that a run is to be spread over, as they were asked for."""

from __future__ import annotations

from dataclasses import dataclass

from tlstax.cli import quantities
from tlstax.cli.options import ClusterOptions
from tlstax.support.errors import UserMistake
from tlstax.support.installation import is_clone


@dataclass(frozen=True)
class AskedCluster:
    """The address of a Ray cluster's head, and the names of the machines that are wanted; empty for all.

    With `clients_on` the load comes from these machines, and private servers run on `server_on`. With
    `is_trusted` the user says that nobody else is on the network between them.
    """

    address: str
    names: tuple[str, ...] = ()
    server_on: str | None = None
    clients_on: tuple[str, ...] = ()
    is_trusted: bool = False

    @property
    def wanted(self) -> tuple[str, ...]:
        """The names of all machines that are wanted; empty for all that there are."""
        server = (self.server_on,) if self.server_on is not None else ()
        return (*self.names, *server, *self.clients_on)


def asked_cluster(options: ClusterOptions) -> AskedCluster | None:
    """What --ray and the options that go with it ask for; None for this machine. UserMistake for no name."""
    given = {"--on": options.on, "--server-on": options.server_on, "--clients-on": options.clients_on}
    names = {option: quantities.names(value, option) for option, value in given.items() if value is not None}
    if options.clients_on is not None and options.on is not None:
        raise UserMistake(
            "--on spreads blocks over machines, and with --clients-on one block runs on all of them",
            remedy="leave one of the two out",
        )
    if options.ray is None:
        return None
    check_can_supply()
    (server,) = names.get("--server-on", (None,))[:1]
    if len(names.get("--server-on", ())) > 1:
        raise UserMistake("--server-on names one machine", remedy="give the others to --clients-on")
    clients = names.get("--clients-on", ())
    if server in clients:
        raise UserMistake(
            f"{server} is in both --server-on and --clients-on",
            remedy="give each machine one of the two parts",
        )
    return AskedCluster(options.ray, names.get("--on", ()), server, clients, options.trust_network)


def check_can_supply() -> None:
    """UserMistake where there is nothing to send to other machines: a wheel has no sources."""
    if not is_clone():
        raise UserMistake(
            "other machines are sent the sources of a clone, and this tlstax was installed from a wheel",
            remedy="clone the repository, and start ./tlstax there",
        )


def check_has_server(cluster: AskedCluster) -> None:
    """UserMistake where it is said where the load comes from, but not where the private servers run."""
    if cluster.clients_on and cluster.server_on is None:
        raise UserMistake(
            "--clients-on needs to know where the server runs",
            remedy="name its machine with --server-on, or an external server with --server mysql://…",
        )
