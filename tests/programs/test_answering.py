"""Who is at the other end of a connection of this machine's, over each kind of address."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tlstax.sql import answering
from tlstax.sql.database import Database

ANY = {
    "IPv4": (socket.AF_INET, "127.0.0.1", socket.AF_INET, "127.0.0.1"),
    "IPv6": (socket.AF_INET6, "::1", socket.AF_INET6, "::1"),
    "IPv4 at a socket of both": (socket.AF_INET6, "::", socket.AF_INET, "127.0.0.1"),
    "IPv4 written as IPv6": (socket.AF_INET, "127.0.0.1", socket.AF_INET6, "::ffff:127.0.0.1"),
}


@pytest.fixture(params=ANY)
def ends(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, socket.socket]]:
    """A client's socket and the server's for it."""
    listening, on, of_client, address = ANY[request.param]
    with ExitStack() as stack:
        listener = stack.enter_context(socket.socket(listening))
        if on == "::":
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind((on, 0))
        listener.listen()
        client = stack.enter_context(socket.socket(of_client))
        client.connect((address, listener.getsockname()[1]))
        yield client, stack.enter_context(listener.accept()[0])


def over(channel: socket.socket) -> Database:
    return cast("Database", SimpleNamespace(channel=channel))


def test_the_servers_end_is_found_with_who_holds_it(ends: tuple[socket.socket, socket.socket]) -> None:
    client, server = ends
    link = answering.far_socket(over(client))
    assert link == str(Path(f"/proc/self/fd/{server.fileno()}").readlink())
    assert answering.holder_of(link) == os.getpid()
    assert answering.far_socket(over(server)) == str(Path(f"/proc/self/fd/{client.fileno()}").readlink())


def test_an_end_that_nobody_holds_has_no_holder(ends: tuple[socket.socket, socket.socket]) -> None:
    client, server = ends
    server.close()
    link = answering.far_socket(over(client))
    assert link is None or answering.holder_of(link) is None
