"""How the laboratory's own connections to an external server use TLS: the options of the mysql client.

Source: MySQL's manual, "Command Options for Encrypted Connections", and what mysql 9.7 was seen to do.
Without --ssl-mode, --ssl-ca means VERIFY_CA, and otherwise PREFERRED holds; VERIFY_CA and VERIFY_IDENTITY
ask for --ssl-ca; with a lesser mode a certificate authority is not used; --ssl-cert and --ssl-key may name
one file that holds both.
"""

from __future__ import annotations

import shlex
import ssl
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from tlstax.support.errors import UserMistake

SslMode = Literal["DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"]
SSL_MODES: tuple[SslMode, ...] = get_args(SslMode)
VERIFYING: tuple[SslMode, ...] = ("VERIFY_CA", "VERIFY_IDENTITY")
DEMANDING: tuple[SslMode, ...] = ("REQUIRED", *VERIFYING)


@dataclass(frozen=True)
class ExternalTls:
    """A mode and the files (PEM) that go with it; `ca_file` is None unless the mode verifies.

    With `direct` TLS begins at once, without PostgreSQL's question for it.

    `mode_by`, `ca_by` and `certificate_by` are what the user said the mode and the files by, for sentences
    about them: an option, or the word of an option file.
    """

    mode: SslMode = "PREFERRED"
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    direct: bool = False
    mode_by: str = field(default="--ssl-mode", compare=False)
    ca_by: str = field(default="--ssl-ca", compare=False)
    certificate_by: str = field(default="--ssl-cert", compare=False)

    @property
    def verify(self) -> Literal["none", "ca", "identity"]:
        """What a load client is to check of the server's certificate, as the contract has it."""
        if self.mode not in VERIFYING:
            return "none"
        return "identity" if self.mode == "VERIFY_IDENTITY" else "ca"

    def context(self) -> ssl.SSLContext | None:
        """The settings for Python's ssl, None for DISABLED; UserMistake when a file is not usable."""
        if self.mode == "DISABLED":
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        # Python's own list is shorter, and would refuse servers that the mysql client and the engine take.
        context.set_ciphers("DEFAULT")
        context.check_hostname = self.mode == "VERIFY_IDENTITY"
        context.verify_mode = ssl.CERT_REQUIRED if self.mode in VERIFYING else ssl.CERT_NONE
        if self.ca_file:
            _load(self.ca_file, self.ca_by, context.load_verify_locations)
        if self.certificate_file:
            key_file = self.key_file
            _load(
                self.certificate_file,
                self.certificate_by,
                lambda path: context.load_cert_chain(path, key_file, password=_no_pass_phrase),
            )
        return context


def choose(  # noqa: PLR0913 (the four options, and who said them)
    mode: str | None,
    ca_file: str | None,
    certificate_file: str | None,
    key_file: str | None,
    *,
    said_by: str = "",
    of_file: Collection[str] = (),
) -> ExternalTls:
    """Combine the options as the mysql client does; UserMistake when they do not go together.

    `said_by` is what an option file says the mode by, empty where the command line does, or nobody. `of_file`
    has the names of those options whose value is the option file's.
    """

    def by(name: str) -> str:
        return f"{name} in the option file" if name in of_file else f"--{name}"

    ca_by = by("ssl-ca")
    name = (mode or ("VERIFY_CA" if ca_file else "PREFERRED")).upper()
    if name not in SSL_MODES:
        raise UserMistake(
            f"{said_by or f'--ssl-mode={mode}'} is unknown", remedy=f"choose one of {', '.join(SSL_MODES)}"
        )
    chosen: SslMode = name
    if said_by:
        mode_by = f"{said_by} in the option file"
    else:
        mode_by = f"--ssl-mode={chosen}" if mode else f"{ca_by} (VERIFY_CA, as no --ssl-mode is given)"
    if chosen in VERIFYING and not ca_file:
        raise UserMistake(
            f"{mode_by} needs the certificate authority to verify with",
            remedy="name its PEM file with --ssl-ca",
        )
    pair = [by(name) for name, file in (("ssl-cert", certificate_file), ("ssl-key", key_file)) if file]
    return ExternalTls(
        mode=chosen,
        ca_file=ca_file if chosen in VERIFYING else None,
        certificate_file=certificate_file or key_file,
        key_file=key_file or certificate_file,
        mode_by=mode_by,
        ca_by=ca_by,
        certificate_by=", with its ".join(pair) + ("," if len(pair) > 1 else ""),
    )


def _load(path: str, option: str, load: Callable[[str], None]) -> None:
    if Path(path).is_dir():
        raise UserMistake(
            f"{path} of {option} is a directory, and authorities are taken from one file",
            remedy=f"put them into one: cat {shlex.quote(path)}/*.pem > ca.pem",
        )
    if not Path(path).is_file():
        raise UserMistake(f"the file {path} of {option} does not exist", remedy="give the path of a PEM file")
    try:
        load(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or str(error)
        raise UserMistake(
            f"the file {path} of {option} cannot be used ({reason})", remedy="give a readable PEM file"
        ) from error


def _no_pass_phrase() -> str:
    """Called for a protected key; without it OpenSSL would ask on the terminal and wait."""
    raise ValueError("its key is protected by a pass phrase")
