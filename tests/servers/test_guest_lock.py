"""One tlstax at a time in somebody else's schema, also when connections are cut."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

import pytest
from guest_house import OURS, House, opened_external

from tlstax.external.server import ExternalServer
from tlstax.support.errors import MachineFault, UserMistake


@contextmanager
def firewall(port: int) -> Iterator[tuple[int, Callable[[], None]]]:
    """A way to the port that can be cut towards the client while the server is not told."""
    clients: list[socket.socket] = []
    servers: list[socket.socket] = []

    def carry(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                server = socket.create_connection(("127.0.0.1", port))
                # Two more descriptors keep the server's end open when the client's is cut.
                clients.append(client)
                servers.append(server)
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=carry, args=(source, target), daemon=True).start()

    def cut() -> None:
        for client in clients:
            with suppress(OSError):
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                client.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        try:
            yield listener.getsockname()[1], cut
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for end in (*clients, *servers):
                end.close()


def test_a_lock_that_was_lost_is_taken_again(house: House) -> None:
    with opened_external(house.access) as (guest, said, _):
        said("CREATE TABLE shop_orders (id INT)")
        house.cut_connections()
        guest.hold()
        with pytest.raises(UserMistake, match="another tlstax is at work"):
            ExternalServer.open(house.access)
    assert house.things() == set()


def test_a_lock_is_taken_from_a_connection_that_the_server_thinks_alive(house: House) -> None:
    with firewall(house.access.address.port) as (port, cut):
        through = replace(house.access, address=replace(house.access.address, port=port))
        with opened_external(through) as (guest, said, _):
            said("CREATE TABLE shop_orders (id INT)")
            guest._database.channel.settimeout(5)
            cut()
            guest.hold()
            with pytest.raises(UserMistake, match="another tlstax is at work"):
                ExternalServer.open(house.access)
    assert house.things() == set()


def test_what_a_second_run_has_taken_is_left_to_it(house: House) -> None:
    """A connection that was cut lets another tlstax in: from then on everything there is that one's."""
    with pytest.raises(MachineFault, match="another tlstax has used the schema since"):
        enter_twice(house)
    assert house.things() == set()


def enter_twice(house: House) -> None:
    with opened_external(house.access) as (first, said, _):
        said("CREATE TABLE shop_orders (id INT)")
        house.cut_connections()
        with opened_external(house.access) as (second, said_too, warned):
            said_too("CREATE TABLE shop_orders (id INT)", "INSERT INTO shop_orders VALUES (1)")
            with pytest.raises(MachineFault, match="another tlstax has used the schema since"):
                first.hold()
            first.stop()
            second.hold()
            assert house.things() == {*OURS, "shop_orders"}
            assert house.owner("SELECT * FROM lent.shop_orders") == ((1,),)
        assert warned == []
        # It came and went: what is there now is nobody's of this run.
        with opened_external(house.access) as (third, _, _):
            house.cut_connections()
            with opened_external(house.access):
                pass
            third.hold()
