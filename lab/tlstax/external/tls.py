"""How the laboratory's own connections to an external server use TLS, by the clients' own words.

MySQL's and MariaDB's servers have the options of the mysql client, PostgreSQL's the keywords of libpq.

Source: MySQL's manual, "Command Options for Encrypted Connections", and what mysql 9.7 was seen to do.
Without --ssl-mode, --ssl-ca means VERIFY_CA, and otherwise PREFERRED holds; VERIFY_CA and VERIFY_IDENTITY
ask for --ssl-ca; with a lesser mode a certificate authority is not used; --ssl-cert and --ssl-key may name
one file that holds both.
"""

from __future__ import annotations

import shlex
import ssl
import stat
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from tlstax.external.libpq import Said, Word, own_file
from tlstax.support.errors import UserMistake

SslMode = Literal["DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"]
SSL_MODES: tuple[SslMode, ...] = get_args(SslMode)
VERIFYING: tuple[SslMode, ...] = ("VERIFY_CA", "VERIFY_IDENTITY")
DEMANDING: tuple[SslMode, ...] = ("REQUIRED", *VERIFYING)


@dataclass(frozen=True)
class ExternalTls:
    """A mode and the files (PEM) that go with it; `ca_file` is None unless the mode verifies.

    With `direct` TLS begins at once, without PostgreSQL's question for it; `bound_by` is what demands that
    logins there are bound to a TLS channel, empty where nothing does.

    `mode_by`, `ca_by` and `certificate_by` are what the user said the mode and the files by, for sentences
    about them: an option, or the word of an option file.
    """

    mode: SslMode = "PREFERRED"
    ca_file: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    direct: bool = False
    bound_by: str = field(default="", compare=False)
    mode_by: str = field(default="--ssl-mode", compare=False)
    ca_by: str = field(default="--ssl-ca", compare=False)
    certificate_by: str = field(default="--ssl-cert", compare=False)

    @property
    def demanded_by(self) -> str:
        """What demands TLS, as the user said it; empty where nothing does."""
        return self.mode_by if self.mode in DEMANDING else self.bound_by

    @property
    def verify(self) -> Literal["none", "ca", "identity"]:
        """What a load client is to check of the server's certificate, as the contract has it."""
        if self.mode not in VERIFYING:
            return "none"
        return "identity" if self.mode == "VERIFY_IDENTITY" else "ca"

    @property
    def unverified_by(self) -> str:
        """The user's word of libpq's by which nobody verifies the server; empty where there is none."""
        is_said = "sslmode" in self.mode_by.lower() and self.mode_by != UNSAID
        return self.mode_by if is_said and self.mode not in VERIFYING else ""

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


UNSAID = "sslmode=prefer, as no other is said"
"""By what the mode is libpq's default."""

LIBPQ_MODES: Mapping[str, SslMode] = {
    "disable": "DISABLED",
    "allow": "PREFERRED",
    "prefer": "PREFERRED",
    "require": "REQUIRED",
    "verify-ca": "VERIFY_CA",
    "verify-full": "VERIFY_IDENTITY",
}
"""What libpq's `sslmode` says. Of `allow`, which encrypts where the server does not do without, this is what
concerns trust: nothing is demanded."""


def mode_named(word: str | None) -> SslMode | None:
    """The mode that either client calls so, in small letters or capitals; None for another word."""
    named = (word or "").lower().replace("_", "-")
    own = {mode.lower().replace("_", "-"): mode for mode in SSL_MODES}
    return LIBPQ_MODES.get(named) or own.get(named)


SYSTEM = "system"
"""The value of `sslrootcert` that stands for the authorities that the machine trusts."""

_SYSTEM_FILES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")


def of_libpq(said: Said, environment: Mapping[str, str]) -> ExternalTls:
    """What libpq's keywords come to; UserMistake when they do not go together.

    Source: PostgreSQL documentation, "SSL Support" (libpq) and "Parameter Key Words". As libpq does: with a
    file of authorities, `require` verifies as `verify-ca`; `sslrootcert=system` goes with `verify-full`
    alone, and means it; TLS that begins at once must be demanded; certificate, key and authorities are those
    of ~/.postgresql where none are named. Otherwise than libpq, who names authorities and no mode is
    understood to want them verified.
    """
    mode, root = said.words.get("sslmode"), said.words.get("sslrootcert")
    chosen: SslMode = "PREFERRED" if mode is None else _libpq_mode(mode)
    mode_by = UNSAID if mode is None else mode.by
    ca_file = own_file("root.crt", environment) if root is None else root.value
    ca_by = "the root.crt of ~/.postgresql" if root is None else root.by
    if root is not None and root.value == SYSTEM:
        if mode is not None and chosen != "VERIFY_IDENTITY":
            raise UserMistake(
                f"{mode_by} is too weak for sslrootcert=system, by which anybody's certificate would do",
                remedy="say sslmode=verify-full, or leave sslmode out, which then means it",
            )
        chosen, ca_file = "VERIFY_IDENTITY", _system_authorities()
        mode_by = "sslrootcert=system" if mode is None else mode_by
    elif root is not None and mode is None:
        chosen, mode_by = "VERIFY_CA", f"{ca_by} (verify-ca, as no sslmode is given)"
    elif chosen == "REQUIRED" and ca_file is not None:
        chosen, mode_by = "VERIFY_CA", f"{mode_by} with {ca_by} (as verify-ca)"
    if chosen in VERIFYING and ca_file is None:
        raise UserMistake(
            f"{mode_by} needs the certificate authority to verify with",
            remedy="name its PEM file with sslrootcert in the URL or --ssl-ca, put it at "
            "~/.postgresql/root.crt, or say sslrootcert=system",
        )
    certificate, key = (
        _own_or_named(said, keyword, name, environment)
        for keyword, name in (("sslcert", "postgresql.crt"), ("sslkey", "postgresql.key"))
    )
    if key is not None:
        _check_key(key.value)
    if certificate is None and said.words.get("sslkey") is not None:
        raise UserMistake(
            f"{said.words['sslkey'].by} names a key, and nothing its certificate", remedy="give sslcert too"
        )
    return ExternalTls(
        mode=chosen,
        ca_file=ca_file if chosen in VERIFYING else None,
        certificate_file=certificate.value if certificate else None,
        key_file=(key or certificate).value if certificate else None,
        direct=_is_direct(said, chosen, mode_by),
        bound_by=_bound_by(said, chosen, mode_by),
        mode_by=mode_by,
        ca_by=ca_by,
        certificate_by=certificate.by if certificate else "",
    )


def _libpq_mode(mode: Word) -> SslMode:
    named = mode_named(mode.value)
    if named is None:
        raise UserMistake(f"{mode.by} is unknown", remedy=f"choose one of {', '.join(LIBPQ_MODES)}")
    return named


def _bound_by(said: Said, mode: SslMode, mode_by: str) -> str:
    binding = said.words.get("channel_binding")
    if binding is None or binding.value != "require":
        return ""
    if mode == "DISABLED":
        raise UserMistake(
            f"{binding.by} needs TLS, which {mode_by} leaves out", remedy="leave one of them out"
        )
    return binding.by


def _is_direct(said: Said, mode: SslMode, mode_by: str) -> bool:
    negotiation = said.words.get("sslnegotiation")
    if negotiation is None or negotiation.value == "postgres":
        return False
    if negotiation.value != "direct":
        raise UserMistake(f"{negotiation.by} is unknown", remedy="choose postgres or direct")
    if mode not in DEMANDING:
        raise UserMistake(
            f"{mode_by} is too weak for sslnegotiation=direct, which does not ask whether there is TLS",
            remedy="say sslmode=require, verify-ca or verify-full",
        )
    return True


def _system_authorities() -> str:
    known = (ssl.get_default_verify_paths().cafile, *_SYSTEM_FILES)
    found = next((file for file in known if file is not None and Path(file).is_file()), None)
    if found is None:
        raise UserMistake(
            "this machine has no file of authorities for sslrootcert=system",
            remedy="install ca-certificates, or name a PEM file with sslrootcert",
        )
    return found


def _own_or_named(said: Said, keyword: str, name: str, environment: Mapping[str, str]) -> Word | None:
    word = said.words.get(keyword)
    if word is not None:
        return word
    own = own_file(name, environment)
    return Word(own, f"the {name} of ~/.postgresql") if own is not None else None


def _check_key(path: str) -> None:
    """UserMistake for a key that others can read, which libpq does not use; root's may be a group's."""
    try:
        status = Path(path).stat()
    except OSError:
        return
    may = stat.S_IRGRP if status.st_uid == 0 else 0
    if stat.S_IMODE(status.st_mode) & (stat.S_IRWXG | stat.S_IRWXO) & ~may:
        raise UserMistake(
            f"the key {path} can be read by other users, so it is not used",
            remedy=f"run chmod 600 {shlex.quote(path)}",
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
