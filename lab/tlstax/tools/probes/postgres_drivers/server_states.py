"""A private PostgreSQL in each state that a driver meets: certificates right and wrong, and without TLS.

A server's own files are exchanged and read again; that the one which is meant is in force is seen by a
handshake with it.
"""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tlstax.network.tap.postgres_messages import SSL_REQUEST
from tlstax.postgres import server_tls, settings
from tlstax.specimens.certificates import CertificateRequest, Certificates
from tlstax.specimens.private_server import PrivateServer
from tlstax.sql.database import Database
from tlstax.support.errors import MachineFault
from tlstax.tools.probes.exchanged_certificates import ADDRESSES, ELSEWHERE, copied, issued, put_in_place
from tlstax.tools.probes.postgres_drivers.document import ServerState

_SSL_REQUEST = struct.pack("!ii", 8, SSL_REQUEST)
IN_FORCE_S, LOOK_AGAIN_S, ANSWERS_WITHIN_S = 10.0, 0.02, 10.0


class ServerStates:
    """Puts the server into a state.

    `ca_file` has the authorities of all its certificates but the unknown one, whose certificate is `nobody`.
    """

    def __init__(self, server: PrivateServer, admin: Database, directory: Path) -> None:
        self._server, self._admin = server, admin
        self._own = server.certificates
        self._right = copied(self._own, directory / "right")
        right = CertificateRequest(key="ec-p256", addresses=ADDRESSES)
        self.nobody = issued(directory / "nobody", right)
        self._by_state: dict[ServerState, Certificates] = {
            "right": self._right,
            "unknown authority": self.nobody,
            "other host": issued(directory / "other-host", ELSEWHERE),
            "expired": issued(
                directory / "expired",
                CertificateRequest(addresses=ADDRESSES, valid_for=timedelta(days=-1)),
            ),
        }
        known = [files.ca_file for state, files in self._by_state.items() if state != "unknown authority"]
        self.ca_file = directory / "authorities.pem"
        self.ca_file.write_bytes(b"".join(file.read_bytes() for file in known))
        self._now: ServerState = "right"

    @property
    def right(self) -> Certificates:
        """The server's own certificate."""
        return self._right

    def be(self, state: ServerState) -> None:
        """Be in this state from the next connection on. MachineFault where the server does not come to it."""
        if state == self._now:
            return
        if state == "no TLS":
            server_tls.accept(self._admin, server_tls.NO_TLS)
        else:
            wanted = self._by_state[state]
            put_in_place(wanted, self._own)
            if self._now == "no TLS":
                settings.change(self._admin, {"ssl": "on"})
            settings.read_again(self._admin)
            self._wait_for(_der(wanted.certificate_file))
        self._now = state

    def _wait_for(self, certificate: bytes) -> None:
        deadline = time.monotonic() + IN_FORCE_S
        while self._shown() != certificate:
            if time.monotonic() > deadline:
                raise MachineFault(
                    f"{self._server.specimen.name} was given another certificate and does not show it"
                )
            time.sleep(LOOK_AGAIN_S)

    def _shown(self) -> bytes | None:
        """The certificate that the server shows now, None where there is no TLS to be had."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        endpoint = self._server.endpoint()
        try:
            with socket.create_connection((endpoint.host, endpoint.port), ANSWERS_WITHIN_S) as channel:
                channel.sendall(_SSL_REQUEST)
                if channel.recv(1) != b"S":
                    return None
                with context.wrap_socket(channel) as encrypted:
                    return encrypted.getpeercert(binary_form=True)
        except OSError:
            return None


@contextmanager
def server_states(server: PrivateServer, admin: Database, directory: Path) -> Iterator[ServerStates]:
    """The states of a server, which is right again at the end. Raises MachineFault."""
    states = ServerStates(server, admin, directory)
    try:
        yield states
    finally:
        # The server goes with its certificates; what went wrong before is what is reported.
        with suppress(MachineFault):
            states.be("right")


def _der(file: Path) -> bytes:
    return x509.load_pem_x509_certificate(file.read_bytes()).public_bytes(Encoding.DER)
