"""Certificates that take turns as a running server's own: what the probes of both protocols do with files.

A server's own files are overwritten with those of another certificate, and it is told to read them again.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from tlstax.specimens.certificates import CertificateRequest, Certificates, issue
from tlstax.specimens.processes import NO_LOCALHOST
from tlstax.support.here import LOOPBACK

ADDRESSES = (NO_LOCALHOST, LOOPBACK)
"""Where drivers meet the server, and where it really listens: what a right certificate names."""

ELSEWHERE = CertificateRequest(host_names=("elsewhere.example",), addresses=("192.0.2.1",))
"""For another host; the address is of RFC 5737's documentation."""


def issued(directory: Path, request: CertificateRequest) -> Certificates:
    """A new certificate, in a directory of its own."""
    return issue(_made(directory), request)


def copied(own: Certificates, directory: Path) -> Certificates:
    """The same, in a directory of its own."""
    ca, certificate, key = (Path(shutil.copy2(file, _made(directory))) for file in _files(own))
    return Certificates(ca, certificate, key)


def put_in_place(certificates: Certificates, own: Certificates) -> None:
    """Write these over the server's own files, which it has yet to read again."""
    for source, target in zip(_files(certificates), _files(own), strict=True):
        shutil.copyfile(source, target)


def _files(certificates: Certificates) -> tuple[Path, Path, Path]:
    return certificates.ca_file, certificates.certificate_file, certificates.key_file


def _made(directory: Path) -> Path:
    directory.mkdir(parents=True, mode=0o700, exist_ok=True)
    return directory
