"""A file of authorities that the user has: read, counted as OpenSSL does, and what there is to say of it."""

from __future__ import annotations

import hashlib
import shlex
import ssl
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tlstax.records.trial import TrustFile
from tlstax.support.errors import UserMistake

OPTION = "--trust"
_BEGINS = b"-----BEGIN "
_REASONS = {
    "NO_CERTIFICATE_OR_CRL_FOUND": "no certificate is in it",
    "NO_START_LINE": "no certificate is in it",
    "NOT_ENOUGH_DATA": "a certificate in it is cut off",
    "BAD_BASE64_DECODE": "a certificate in it is not base64",
    "BAD_END_LINE": "a certificate in it has no end",
}
"""What OpenSSL says of a file (ERR_reason_error_string(3)) that people read as a riddle."""


@dataclass(frozen=True)
class Bundle:
    """A user's file of authorities as it was read, and those of them that a server's chain needs.

    `count` is how many OpenSSL has of it, each once. `needed` are as PEM; empty where the server is one of
    ours, whose own authority is needed beside the file's.
    """

    content: bytes = field(repr=False)
    count: int
    repeated: int = 0
    expired: int = 0
    others: int = 0
    needed: bytes = b""
    needed_count: int = 1

    @property
    def of_our_server(self) -> bool:
        """Whether the file is priced at a private server, so that its authority comes to it."""
        return not self.needed

    @property
    def authorities(self) -> int:
        """How many there are in the file that clients are given."""
        return self.count + self.of_our_server

    def given(self, own: bytes) -> bytes:
        """The file that clients are given: as it is, or with the authority of our server, `own`, last."""
        return self.content.rstrip() + b"\n" + own if self.of_our_server else self.content

    def few(self, own: bytes) -> bytes:
        """The file to compare it with: what is needed alone."""
        return own if self.of_our_server else self.needed

    def record(self) -> TrustFile:
        """What a run's header has of it."""
        return TrustFile(
            sha256=hashlib.sha256(self.content).hexdigest(),
            size_bytes=len(self.content),
            authorities=self.count,
            needed=self.needed_count,
            needed_bytes=len(self.needed),
            repeated=self.repeated,
            expired=self.expired,
            others=self.others,
        )


def read(path: str) -> Bundle:
    """The file. UserMistake where it is none that clients could be given."""
    content = _content(path)
    if b"PRIVATE KEY-----" in content:
        raise UserMistake(
            f"the file {path} of {OPTION} holds a private key, which no client is to be given",
            remedy=f"keep its certificates alone: openssl storeutl -noout -text -certs {shlex.quote(path)}",
        )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cafile=path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
        is_binary = content[:1] == b"\x30"
        raise UserMistake(
            f"the file {path} of {OPTION} is no bundle of authorities in PEM "
            f"({_REASONS.get(str(reason), str(reason).lower().replace('_', ' '))})",
            remedy=f"turn it into PEM: openssl x509 -inform DER -in {shlex.quote(path)}"
            if is_binary
            else "give one, such as /etc/ssl/certs/ca-certificates.crt",
        ) from error
    loaded = context.cert_store_stats()
    if loaded["crl"]:
        raise UserMistake(
            f"the file {path} of {OPTION} holds lists of revoked certificates, which are no authorities",
            remedy="give the file without them",
        )
    return Bundle(
        content,
        count=loaded["x509"],
        repeated=max(0, content.count(_BEGINS) - loaded["x509"]),
        expired=_expired(context),
        others=loaded["x509"] - loaded["x509_ca"],
    )


def notes(path: str, bundle: Bundle) -> str:
    """What is there to say of a file that can be used; empty where there is nothing."""
    said = bundle.record().peculiarities()
    return f"of {path}: {said}; they are given to clients as they are" if said else ""


def needed_of(verified: Sequence[bytes], sent: Sequence[bytes]) -> list[bytes]:
    """What a client must have itself of a verified chain (DER): what the server did not send, and its end."""
    return [own for own in verified if own not in sent or own == verified[-1]]


def with_needed(bundle: Bundle, path: str, needed: Sequence[bytes]) -> Bundle:
    """The bundle for a server that needs these of it. UserMistake where it has no others."""
    if bundle.count <= len(needed):
        what = "the one authority" if len(needed) == 1 else f"the {len(needed)} authorities"
        raise UserMistake(
            f"the file {path} of {OPTION} has no more than {what} that this server needs",
            remedy="there is nothing to compare: connections are as cheap as they can be",
        )
    pem = "".join(map(ssl.DER_cert_to_PEM_cert, needed)).encode()
    return replace(bundle, needed=pem, needed_count=len(needed))


def write_trusted(folder: Path, bundle: Bundle, own: bytes = b"") -> dict[int, str]:
    """Write what clients are given, by how many authorities are in it; `own` is that of our server."""
    few, many = folder / "needed.pem", folder / "bundle.pem"
    few.write_bytes(bundle.few(own))
    many.write_bytes(bundle.given(own))
    return {bundle.needed_count: str(few), bundle.authorities: str(many)}


def _content(path: str) -> bytes:
    file = Path(path)
    if file.is_dir():
        raise UserMistake(
            f"{path} of {OPTION} is a directory, and authorities are taken from one file",
            remedy=f"put them into one: cat {shlex.quote(path)}/*.pem > bundle.pem",
        )
    if not file.is_file():
        raise UserMistake(f"the file {path} of {OPTION} does not exist", remedy="give the path of a PEM file")
    try:
        content = file.read_bytes()
    except OSError as error:
        raise UserMistake(
            f"the file {path} of {OPTION} cannot be read ({error.strerror})",
            remedy="give a readable PEM file",
        ) from error
    if not content.strip():
        raise UserMistake(f"the file {path} of {OPTION} is empty", remedy="give the path of a PEM file")
    return content


def _expired(context: ssl.SSLContext) -> int:
    """How many of the authorities are out of date."""
    ends = (str(own.get("notAfter", "")) for own in context.get_ca_certs())
    return sum(ssl.cert_time_to_seconds(end) < time.time() for end in ends if end)
