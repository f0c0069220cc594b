"""Paths of ours to an external server: which of them lead there from this side, started and proved."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from tlstax.contract import TcpEndpoint
from tlstax.external import conditions, ways
from tlstax.external.access import GuestAccess
from tlstax.external.address import GuestAddress
from tlstax.external.near import Near
from tlstax.external.tls import GuestTls
from tlstax.external.ways import Way
from tlstax.network.paths.ends import Ends
from tlstax.network.paths.opening import open_path
from tlstax.network.paths.route import RunningPath
from tlstax.run.bench import Bench, Paths
from tlstax.run.benches import left_out
from tlstax.specimens.certificates import issue
from tlstax.specimens.sessions import Session, open_session
from tlstax.study import Study
from tlstax.study.level_names import UNIX_SOCKET
from tlstax.study.needs import paths
from tlstax.study.path_tls import BEGINS_TLS, ENDS_TLS, LEADS_ANYWHERE
from tlstax.support.errors import TlstaxError, UserMistake

BROKEN_OFF = 10
"""How many connects may be broken off when paths are started: each is up when it brings a greeting."""


def check_paths(study: Study, servers: Collection[str | None]) -> None:
    """UserMistake for a path that leads to no external server; `servers` are their levels of `server`."""
    if any(case.path == UNIX_SOCKET and case.server in servers for case in study.included()):
        raise UserMistake(
            "an external server's Unix socket is an address of its own",
            remedy="name it in the URL: mysql://user@/schema?socket=/run/mysqld/mysqld.sock",
        )


def check_ends(study: Study, guest: GuestAccess) -> None:
    """UserMistake for a path that does not go with how this server is reached, before anybody logs in."""
    for name in paths(study):
        if guest.address.socket is not None:
            raise _cannot_lead(name, "it leads over TCP, and the server was named by its Unix socket")
        if guest.tls.verify != "none" and name in ENDS_TLS:
            raise _cannot_lead(
                name,
                f"it ends the client's TLS with a certificate of tlstax's own, and {guest.tls.mode_by} "
                "verifies the server's",
            )
        if guest.tls.verify == "identity" and name not in ENDS_TLS | BEGINS_TLS:
            raise _cannot_lead(
                name,
                f"{guest.tls.mode_by} verifies the name in the certificate, and clients connect to the path, "
                "at 127.0.0.1",
                "use --ssl-mode=VERIFY_CA",
            )


def _cannot_lead(name: str, why: str, remedy: str = "leave the path out") -> UserMistake:
    return UserMistake(f"the path {name} cannot lead to this server: {why}", remedy=remedy)


def check_reach(study: Study, guest: GuestAccess, here: Near | None) -> None:
    """UserMistake for a path with an end beside the server, where that is not this machine."""
    if here is not None and here.pid is not None:
        return
    for name in paths(study):
        if name not in LEADS_ANYWHERE:
            raise _cannot_lead(
                name,
                f"one of its programs must run beside the server, and {guest.address} is not seen to be a "
                "server of this machine",
                "open that way yourself, and measure your end of it with --address "
                f"{name.partition('-')[0]}=127.0.0.1:PORT",
            )


@contextmanager
def open_paths(study: Study, guest: GuestAccess, bench: Bench) -> Iterator[tuple[Paths, Mapping[str, Way]]]:
    """Start the study's paths, and see by logins through each that the same server is behind it.

    The paths, and what was seen of each, by its name. UserMistake or MachineFault where one does not come up.
    """
    names = paths(study)
    if not names:
        yield {}, {}
        return
    conditions.check_connect_errors(bench.admin, guest, BROKEN_OFF, "starting a path")
    with ExitStack() as stack:
        session = stack.enter_context(open_session())
        ends = _ends(guest, bench, session)
        running: dict[tuple[str, bool], RunningPath] = {}
        seen: dict[str, Way] = {}
        for name in names:
            try:
                path = stack.enter_context(open_path(name, ends))
                entry = path.entry
                assert isinstance(entry, TcpEndpoint)  # noqa: S101 (all of them have a port)
                at = {name: GuestAddress(host=entry.host, port=entry.port)}
                # One that begins TLS itself is for clients that have none.
                tls = GuestTls() if name in BEGINS_TLS - ENDS_TLS else None
                seen |= ways.look(guest, bench.terms.account.database, at, option="--path", tls=tls)
            except TlstaxError as error:
                raise left_out(error, study, {"path": name}) from error
            running[name, False] = path
        # A login that succeeds has the server forget what was broken off.
        bench.server.is_alive()
        yield running, seen


def _ends(guest: GuestAccess, bench: Bench, session: Session) -> Ends:
    issued = issue(session.new_directory())
    ca_file = guest.tls.ca_file
    certificates = issued if ca_file is None else replace(issued, ca_file=Path(ca_file))
    return Ends(
        session=session,
        server_port=guest.address.port,
        server_host=guest.address.host,
        certificates=certificates,
        verify=guest.tls.verify,
        near_cpus=bench.machine.client_cpus,
    )
