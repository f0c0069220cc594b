"""The server that a command is about: an external one by its address, or a private one by its name."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tlstax.cli.streams import tell
from tlstax.guests import address
from tlstax.guests.access import GuestAccess, GuestOptions, settle
from tlstax.guests.address import GuestAddress
from tlstax.mysql import accounts
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.resolve import default_server, named_server
from tlstax.specimens.sessions import open_session
from tlstax.study.factor import is_specimen_name
from tlstax.support.errors import UserMistake


def warn(sentence: str) -> None:
    """Tell what is not heeded of an option file."""
    tell(f"tlstax: {sentence}")


def external_url(server: str | None) -> str:
    """The external server's address, where --server names one; empty for a private server's name."""
    return server if server is not None and "://" in server else ""


def let_into(options: GuestOptions) -> GuestAccess:
    """How to get into the external server; a password is asked for where there is a terminal. UserMistake."""
    return settle(options, getpass.getpass if sys.stdin.isatty() else None, warn=warn)


def external_of(options: GuestOptions, max_connections: int | None) -> GuestAccess | None:
    """How to get into the external server of --server; None where it names none. UserMistake."""
    if options.url:
        if "," in options.url:
            raise UserMistake(
                "--server: an external server is measured by itself",
                remedy="name one address, or specimens alone (a comma of the schema's name is written %2C)",
            )
        return let_into(options)
    if max_connections is not None:
        raise needs_external("--max-connections", "--server")
    _check_private(options, "--server")
    return None


@contextmanager
def accessed(options: GuestOptions, say: Callable[[str], None]) -> Iterator[GuestAccess]:
    """How to get into it; a private one runs until the block is left. Raises UserMistake for bad options."""
    if "://" in options.url:
        yield let_into(options)
        return
    _check_private(options)
    if options.url and not is_specimen_name(options.url):
        raise UserMistake(
            "what was given is neither the URL of a server nor the name of a private one",
            remedy=f"{address.SHAPE}; `tlstax specimens list` names the private ones",
        )
    with private_access(options.url or None, say) as access:
        yield access


def _check_private(options: GuestOptions, where: str = "") -> None:
    """UserMistake for what a private server is not given."""
    for name in options.given():
        raise needs_external(name, where)


def needs_external(option: str, where: str = "") -> UserMistake:
    """That this option is about an external server, and none was named; `where` is the option that names one.

    Empty for a command whose argument names it.
    """
    there = f" with {where}" if where else ""
    return UserMistake(
        f"{option} needs the address of an external server",
        remedy=f"give its mysql:// address{there}, or leave the option out",
    )


@contextmanager
def private_access(name: str | None, say: Callable[[str], None]) -> Iterator[GuestAccess]:
    """How to get into a server of this name, None for the default one; it runs until the block is left.

    Raises UserMistake for an unknown name, MachineFault where it cannot be fetched or started.
    """
    build = default_server(say) if name is None else named_server(name, say)
    with open_session() as session:
        say(f"starting {build.specimen.name}")
        with PrivateServer.start(build, session) as server:
            with server.admin() as database:
                accounts.let_it_see_connections(database)
            account, endpoint = server.load_account, server.endpoint()
            yield GuestAccess(
                address=GuestAddress(
                    host=endpoint.host, port=endpoint.port, user=account.user, schema=account.database
                ),
                user=account.user,
                password=account.password,
            )
