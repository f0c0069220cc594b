"""A private server, for whoever names no address: reached as one of somebody else's would be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tlstax.guests.access import GuestAccess
from tlstax.guests.address import GuestAddress
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.resolve import default_server, named_server
from tlstax.specimens.sessions import open_session


@contextmanager
def private_access(name: str | None, say: Callable[[str], None]) -> Iterator[GuestAccess]:
    """How to get into a server of this name, None for the default one; it runs until the block is left.

    Raises UserMistake for an unknown name, MachineFault where it cannot be fetched or started.
    """
    build = default_server(say) if name is None else named_server(name, say)
    with open_session() as session:
        say(f"starting {build.specimen.name}")
        with PrivateServer.start(build, session) as server:
            account, endpoint = server.load_account, server.endpoint()
            yield GuestAccess(
                address=GuestAddress(
                    host=endpoint.host, port=endpoint.port, user=account.user, schema=account.database
                ),
                user=account.user,
                password=account.password,
            )
