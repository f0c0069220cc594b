"""A private PostgreSQL in each state that a driver meets: certificates right and wrong, and without TLS.

A server's own files are exchanged and read again; that the one which is meant is in force is seen by a
handshake with it.
"""

from __future__ import annotations

import shutil
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tlstax.postgres import server_tls, settings
from tlstax.specimens.certificates import CertificateRequest, Certificates, issue
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.processes import NO_LOCALHOST
from tlstax.sql.database import Database
from tlstax.support.errors import MachineFault
from tlstax.support.here import LOOPBACK
from tlstax.tools.probes.postgres_drivers.document import ServerState

ADDRESSES = (NO_LOCALHOST, LOOPBACK)
"""Where drivers meet the server, and where it really listens: what a right certificate names."""

ELSEWHERE = CertificateRequest(host_names=("elsewhere.example",), addresses=("192.0.2.1",))
"""For another host; the address is of RFC 5737's documentation."""

SSL_REQUEST = b"\0\0\0\x08\x04\xd2\x16\x2f"
IN_FORCE_S, LOOK_AGAIN_S, ANSWERS_WITHIN_S = 10.0, 0.02, 10.0


class ServerStates:
    """Puts the server into a state.

    `ca_file` has the authorities of all its certificates but the unknown one, whose certificate is `nobody`.
    """

    def __init__(self, server: PrivateServer, admin: Database, directory: Path) -> None:
        self._server, self._admin = server, admin
        self._own = server.certificates
        place = _made(directory / "right")
        ca, certificate, key = (Path(shutil.copy2(file, place)) for file in _files(self._own))
        self._right = Certificates(ca, certificate, key)
        right = CertificateRequest(key="ec-p256", addresses=ADDRESSES)
        self.nobody = issue(_made(directory / "nobody"), right)
        self._by_state: dict[ServerState, Certificates] = {
            "right": self._right,
            "unknown authority": self.nobody,
            "other host": issue(_made(directory / "other-host"), ELSEWHERE),
            "expired": issue(
                _made(directory / "expired"),
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
            for source, target in zip(_files(wanted), _files(self._own), strict=True):
                shutil.copyfile(source, target)
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
                channel.sendall(SSL_REQUEST)
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


def _files(certificates: Certificates) -> tuple[Path, Path, Path]:
    return certificates.ca_file, certificates.certificate_file, certificates.key_file


def _der(file: Path) -> bytes:
    return x509.load_pem_x509_certificate(file.read_bytes()).public_bytes(Encoding.DER)


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True, mode=0o700, exist_ok=True)
    return directory
