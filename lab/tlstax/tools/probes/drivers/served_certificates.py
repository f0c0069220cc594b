"""Other certificates for a running server of ours: right ones and wrong ones, in the place of its own.

The files that it was started with are exchanged and read again. That a certificate is in force, and wrong in
the way that is meant, is shown by a verifier that is no driver: Python's own.
"""

from __future__ import annotations

import shutil
import ssl
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

from tlstax.mysql import answers, server_tls
from tlstax.mysql.database import Database, SqlError, cause_of, try_login_over_tls
from tlstax.specimens.certificates import CertificateRequest, Certificates, issue
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.processes import NO_LOCALHOST
from tlstax.support.errors import MachineFault
from tlstax.support.here import LOOPBACK
from tlstax.tools.probes.drivers.probed import Certificate

ADDRESSES = (NO_LOCALHOST, LOOPBACK)
"""Where drivers meet the server, and where it really listens: what a right certificate names."""

ELSEWHERE = CertificateRequest(host_names=("elsewhere.example",), addresses=("192.0.2.1",))
"""For another host; the address is of RFC 5737's documentation."""

SHORT_LIVES_S = (3, 15)
"""A server takes no certificate that has expired already, so it is given one that soon will. On a machine
that is so busy that it has expired before, the next one lives longer."""

VERIFIED = 0
SHOWS: Final[Mapping[Certificate, frozenset[int]]] = {
    "right": frozenset({VERIFIED}),
    "other host": frozenset({62, 64}),
    "expired": frozenset({10}),
}
"""What OpenSSL's verifier says of each (X509_verify_cert_error_string(3)): a host name or an address that
does not match, a certificate that has expired."""


class ServedCertificates:
    """The certificates that a server can be made to show; make one with `served_certificates`."""

    def __init__(self, server: PrivateServer, admin: Database) -> None:
        self._server, self._admin = server, admin
        self._own = server.certificates
        self._directory = self._own.ca_file.parent / "certificates"
        self._right = _copied(self._own, self._directory / "right")
        self._elsewhere = issue(_made(self._directory / "other-host"), ELSEWHERE)

    def serve(self, certificate: Certificate) -> None:
        """Show this one from now on; its authority is in the server's own file for it.

        MachineFault where the server does not read it, or where what it then shows is not what is meant.
        """
        if certificate == "expired":
            self._serve_expired()
        else:
            self._serve(self._elsewhere if certificate == "other host" else self._right)
        shown = self._shown()
        if shown not in SHOWS[certificate]:
            raise MachineFault(
                f"{self._server.specimen.name} was given a certificate for: {certificate}; shown was another "
                f"(verifying it gives {shown})"
            )

    def _serve(self, certificates: Certificates) -> None:
        for source, target in zip(_files(certificates), _files(self._own), strict=True):
            shutil.copyfile(source, target)
        self._reload()

    def _serve_expired(self) -> None:
        """One that expires as soon as it is in force; returns when it has."""
        for life_s in SHORT_LIVES_S:
            ends = time.monotonic() + life_s
            request = CertificateRequest(addresses=ADDRESSES, valid_for=timedelta(seconds=life_s))
            short = issue(_made(self._directory / f"{life_s}-s"), request)
            try:
                self._serve(short)
            except MachineFault:
                if life_s == SHORT_LIVES_S[-1]:
                    raise
                continue
            time.sleep(max(0.0, ends + 1 - time.monotonic()))
            return

    def _reload(self) -> None:
        statement = server_tls.certificate_reload(self._server.version)
        try:
            answers.carry_out(self._admin, statement)
        except (SqlError, OSError) as error:
            raise MachineFault(
                f"{self._server.specimen.name} cannot be given another certificate while it runs "
                f"({statement}: {error.args[-1]})"
            ) from error

    def _shown(self) -> int:
        """What a strict verifier says of the certificate: 0, or OpenSSL's number of what is wrong."""
        context = ssl.create_default_context(cafile=self._own.ca_file)
        try:
            try_login_over_tls(self._server.endpoint(), self._server.load_account, context)
        except SqlError as error:
            cause = cause_of(error)
            if isinstance(cause, ssl.SSLCertVerificationError):
                return cause.verify_code
            raise MachineFault(
                f"the certificate of {self._server.specimen.name} cannot be read back ({error.args[-1]})"
            ) from error
        return VERIFIED


@contextmanager
def served_certificates(server: PrivateServer, admin: Database) -> Iterator[ServedCertificates]:
    """Certificates to be shown; at the end the server shows its own again. Raises MachineFault."""
    served = ServedCertificates(server, admin)
    try:
        yield served
    finally:
        # The server goes with its certificates; what went wrong before is what is reported.
        with suppress(MachineFault):
            served.serve("right")


def _files(certificates: Certificates) -> tuple[Path, Path, Path]:
    return certificates.ca_file, certificates.certificate_file, certificates.key_file


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True, mode=0o700, exist_ok=True)
    return directory


def _copied(own: Certificates, directory: Path) -> Certificates:
    ca, certificate, key = (Path(shutil.copy2(file, _made(directory))) for file in _files(own))
    return Certificates(ca, certificate, key)
