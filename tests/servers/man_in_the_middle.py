"""Somebody between client and server, who passes on all but logins without TLS: he wants their password."""

from __future__ import annotations

import socket
import ssl
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from typing import Literal

from cryptography.hazmat.primitives.asymmetric import rsa

from tlstax.support.relaying import door, pass_on
from tlstax.tools.probes.drivers.relays import (
    CLIENT_SSL,
    FULL_AUTHENTICATION,
    PATIENCE_S,
    REQUEST_PUBLIC_KEY,
    framed,
    packet,
    public_pem,
    scramble_of,
    unmasked,
)

SWITCH_TO_CLEAR = b"\xfemysql_clear_password\x00"

Trick = Literal["own key", "clear password"]


@dataclass
class ManInTheMiddle:
    """One who asks logins without TLS for the password, by a trick, and what they gave away.

    With `certified`, a certificate of his own, he asks those with TLS as well.

    `packets` are all that came behind the answer to the greeting, `passwords` what he could read in them.
    """

    server_port: int
    trick: Trick
    logins: int = 0
    packets: list[bytes] = field(default_factory=list)
    passwords: list[str] = field(default_factory=list)
    certified: ssl.SSLContext | None = None
    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))

    def listening(self) -> AbstractContextManager[int]:
        """The port on 127.0.0.1 where he listens, while he does."""
        return door("127.0.0.1", self._between, PATIENCE_S)

    def _between(self, client: socket.socket) -> None:
        address = ("127.0.0.1", self.server_port)
        with client, socket.create_connection(address) as server, suppress(OSError, EOFError):
            for channel in (client, server):
                channel.settimeout(PATIENCE_S)
            _, greeting = packet(server)
            client.sendall(framed(0, greeting))
            number, first = packet(client)
            if int.from_bytes(first[:2], "little") & CLIENT_SSL:
                if self.certified is None:
                    server.sendall(framed(number, first))
                    pass_on(client, server)
                    return
                client = self.certified.wrap_socket(client, server_side=True)
                number, _ = packet(client)
            self.logins += 1
            asking = FULL_AUTHENTICATION if self.trick == "own key" else SWITCH_TO_CLEAR
            client.sendall(framed(number + 1, asking))
            while True:
                self._take(client, *packet(client), scramble_of(greeting))

    def _take(self, client: socket.socket, number: int, said: bytes, scramble: bytes) -> None:
        self.packets.append(said)
        if self.trick == "clear password":
            self.passwords.append(said.rstrip(b"\0").decode())
        elif said == REQUEST_PUBLIC_KEY:
            client.sendall(framed(number + 1, b"\x01" + public_pem(self.key)))
        else:
            self.passwords.append(unmasked(self.key, said, scramble).rstrip(b"\0").decode())
