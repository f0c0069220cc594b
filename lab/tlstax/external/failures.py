"""Why an external server could not be reached, or refused a login or a statement, in one sentence."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from tlstax.checks.server_errors import meaning_of
from tlstax.external import chain as chains
from tlstax.external.access import ExternalAccess
from tlstax.external.chain import Handshake
from tlstax.external.given_password import PASSWORD_VARIABLE
from tlstax.external.greeting import Greeting
from tlstax.results.inspection import Certificate
from tlstax.sql import answers
from tlstax.sql.answers import Malformed
from tlstax.sql.database import SqlError
from tlstax.study.product import Family
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake
from tlstax.support.text import enumerated, shortened
from tlstax.topics.inspection.concerns import BROKEN_HASHES, has_weak_key, path


@dataclass(frozen=True)
class Unverified:
    """Results of verification that mean the same (X509_V_ERR_*, OpenSSL's X509_STORE_CTX_get_error(3)).

    In the texts stand `{where}`, `{host}`, `{ca}`, what the server sent (`{names}`, `{key}`, `{purposes}`,
    `{root}`, `{issuer}` who issued the last of its path, `{signed}` by `{signer}` that is no authority), and
    `{whose}`: the certificate that is to blame.
    """

    codes: tuple[int, ...]
    fault: type[UserMistake] | type[MachineFault]
    message: str
    remedy: str


EXPIRED, NOT_YET_VALID, WRONG_PURPOSE, WEAK_KEY, WEAK_DIGEST = (10, 14), (9, 13), (26,), (66, 67), (68,)
NO_ISSUER = (2, 20, 21)

UNVERIFIED = (
    Unverified(EXPIRED, MachineFault, "{whose} has expired", "renew it, and have the server load it"),
    Unverified(
        NOT_YET_VALID,
        MachineFault,
        "{whose} is not valid yet",
        "check the clocks of both machines, or wait until it is",
    ),
    Unverified(
        (62, 64),
        UserMistake,
        "the certificate of {where} was not issued for {host}, but for {names}",
        "connect by a name that it has, have one issued with {host} in it (subjectAltName), or take any name "
        "of that authority with --ssl-mode=VERIFY_CA",
    ),
    Unverified(
        (18,),
        UserMistake,
        "the certificate of {where} is self-signed, and not the one in {ca}",
        "copy it from the server and give it with --ssl-ca, or have one issued by an authority",
    ),
    Unverified(
        (19,),
        UserMistake,
        "the certificate of {where} was not issued by the authority in {ca}, but under {root}, which is not "
        "in that file",
        "give --ssl-ca the certificate of {root}, if that is the authority that you trust",
    ),
    Unverified(
        (7, 4, 6),
        UserMistake,
        "{whose} was not signed with the key of {issuer} in {ca}: that authority has the same name and "
        "another key",
        "give --ssl-ca the authority's present certificate, or have the server's issued again",
    ),
    Unverified(
        (24, 79, 80, 37),
        MachineFault,
        "{signed} was issued by {signer}, whose certificate is not that of an authority",
        "have it issued by an authority: basicConstraints CA:TRUE, and keyUsage keyCertSign if it has any",
    ),
    Unverified(
        (25, 22, 38),
        MachineFault,
        "the chain of {where} is longer than an authority in it permits (pathlen)",
        "have the server's certificate issued by an authority that may issue it",
    ),
    Unverified(
        WRONG_PURPOSE,
        MachineFault,
        "{whose} is not for servers: {purposes}",
        "have it issued with the purpose serverAuth (extendedKeyUsage)",
    ),
    Unverified(
        (32, 39, 81, 82),
        MachineFault,
        "the key of a certificate in the chain of {where} is not for what it was used for (keyUsage)",
        "have it issued with keyUsage keyCertSign for authorities, and digitalSignature for the server",
    ),
    Unverified(
        WEAK_KEY,
        MachineFault,
        "{whose} has a key that is too weak for this machine's OpenSSL ({key})",
        "make a key of EC P-256, or of RSA 2048 or more, and have a certificate issued for it",
    ),
    Unverified(
        WEAK_DIGEST,
        MachineFault,
        "{whose} is signed with a digest that is too weak for this machine's OpenSSL ({digest})",
        "have it signed with SHA-256",
    ),
    Unverified(
        (47, 48, 49),
        MachineFault,
        "the certificate of {where} is for {names}, for which an authority in its chain may not issue (name "
        "constraints)",
        "have it issued for other names, or by an authority that may issue for these",
    ),
    Unverified(
        (34, 41, 42, 51, 52, 53),
        MachineFault,
        "a certificate in the chain of {where} has an extension that this machine's OpenSSL cannot judge",
        "have it issued without that extension",
    ),
    Unverified(
        (94,),
        MachineFault,
        "a certificate in the chain of {where} has a key with curve parameters of its own in place of a name",
        "make the key with a named curve (openssl genpkey -pkeyopt ec_param_enc:named_curve)",
    ),
    Unverified(
        (23,),
        MachineFault,
        "the certificate of {where} has been revoked",
        "have a new one issued, and ask why the old one was revoked",
    ),
)

MOST_NAMES = 3
"""Of a certificate's, in a sentence."""


def of_address(access: ExternalAccess, error: OSError, timeout_s: float) -> TlstaxError:
    """The TCP connection was not made."""
    where = access.address
    if isinstance(error, socket.gaierror):
        return UserMistake(
            f"the host {where.host} is unknown ({error.strerror})", remedy="check the server's URL"
        )
    if isinstance(error, TimeoutError):
        return MachineFault(
            f"{where} did not accept a connection within {timeout_s:.0f} s",
            remedy="check that the server runs and that no firewall is in the way",
        )
    if isinstance(error, ConnectionRefusedError):
        return UserMistake(f"nothing listens on {where}", remedy="check the URL, or start the server")
    return MachineFault(f"{where} cannot be reached ({error.strerror or error})", remedy="check the network")


def of_socket(access: ExternalAccess, error: OSError, timeout_s: float) -> TlstaxError:
    """The connection to a Unix socket was not made."""
    where = access.address
    if isinstance(error, FileNotFoundError):
        return UserMistake(
            f"there is no socket {where}", remedy="check the path (the server's variable `socket`)"
        )
    if isinstance(error, PermissionError):
        return UserMistake(
            f"this user may not connect to {where}",
            remedy="use a user who may write to it and enter its folders, or connect over TCP",
        )
    if isinstance(error, ConnectionRefusedError):
        return UserMistake(f"nothing listens on {where}", remedy="start the server, or check the path")
    return of_address(access, error, timeout_s)


def of_greeting(access: ExternalAccess, greeting: Greeting, timeout_s: float) -> TlstaxError | None:
    """The port answers, but not as is needed; None when it does."""
    where = access.address
    if greeting.kind == "foreign":
        return UserMistake(
            f"what listens on {where} does not speak MySQL's protocol",
            remedy="check the port (MySQL's and MariaDB's own is 3306)",
        )
    if greeting.kind == "silent":
        return MachineFault(
            f"{where} accepted the connection and then sent nothing for {timeout_s:.0f} s",
            remedy="check that a MySQL or MariaDB server listens there and is not stopped or overloaded",
        )
    if greeting.kind == "closed":
        return MachineFault(
            f"{where} accepted the connection and closed it without sending anything",
            remedy="check that a MySQL or MariaDB server listens there",
        )
    return None


def without_tls(access: ExternalAccess) -> UserMistake:
    """TLS was asked for and the server's greeting does not offer it."""
    return UserMistake(
        f"{access.address} does not offer TLS, which {access.tls.demanded_by} demands",
        remedy=_WORDS[access.product]["certificate"],
    )


def password_wanted(access: ExternalAccess, plugin: str) -> UserMistake:
    """Without TLS the server wants all of the password, under a key of which nobody says whose it is."""
    return UserMistake(
        f"{access.address} wants the whole password of {access.user} over a connection without TLS "
        f"({plugin}), where the key to encrypt it with could be anybody's, so it was not sent",
        remedy="check the password, turn TLS on at the server, or use an account with mysql_native_password",
    )


def clear_text_wanted(access: ExternalAccess, *, is_encrypted: bool) -> MachineFault:
    """The server wants the password in clear text, and may be somebody else's, or be overheard."""
    how = "whose certificate was not verified" if is_encrypted else "without TLS"
    return MachineFault(
        f"{access.address} wants the password of {access.user} in clear text (mysql_clear_password) over a "
        f"connection {how}, so it was not sent",
        remedy="use --ssl-mode=VERIFY_IDENTITY with --ssl-ca if the account is meant to log in this way, "
        "and find out who is in between if it is not",
    )


def of_tls(access: ExternalAccess, error: OSError, seen: Handshake) -> TlstaxError:
    """The TLS handshake, or the connection during it, failed; `seen` is what the server had shown by then."""
    where = access.address
    if isinstance(error, ssl.SSLCertVerificationError):
        return _of_certificate(access, error, seen.chain())
    if isinstance(error, TimeoutError):
        return MachineFault(f"{where} {_WORDS[access.product]['silent']}", remedy="check the server's log")
    reason, words = str(getattr(error, "reason", None) or error.strerror or error), _WORDS[access.product]
    for known in HANDSHAKES:
        if known.reason in reason:
            said = known.message.format(version=seen.version or "an old version")
            remedy = known.remedy.format_map(words)
            return MachineFault(f"the TLS handshake with {where} failed: {said}", remedy=remedy)
    return MachineFault(
        f"the TLS handshake with {where} failed ({reason})",
        remedy=f"look into the server's log{words['ask_each']}",
    )


_WORDS: Mapping[Family, Mapping[str, str]] = {
    "mysql": {
        "certificate": "give the server a certificate (ssl_cert and ssl_key); its log says why it has none",
        "own_file": "ssl_cert",
        "silent": "sent its greeting and then nothing more",
        "versions": "tls_version",
        "suites": "ssl_cipher",
        "inspect": "; tlstax inspect still talks to it",
        "ask_each": "; tlstax inspect asks for each version, suite and curve alone, and says what the server "
        "takes",
    },
    "postgresql": {
        "certificate": "set ssl=on there, with ssl_cert_file and ssl_key_file; its log says why it has none",
        "own_file": "ssl_cert_file",
        "silent": "sent nothing more when TLS had begun",
        "versions": "ssl_min_protocol_version",
        "suites": "ssl_ciphers",
        "inspect": "",
        "ask_each": "",
    },
}
"""What stands in remedies: settings by the family's names, and what tlstax has beside for it."""


@dataclass(frozen=True)
class FailedHandshake:
    """Why a handshake failed, by a word of OpenSSL's: what it means, and what would help, with `_WORDS`."""

    reason: str
    message: str
    remedy: str


HANDSHAKES = (
    FailedHandshake(
        "UNSUPPORTED_PROTOCOL",
        "the server has {version} at most, which this machine's OpenSSL does not take",
        "upgrade the server or have it offer TLS 1.2 ({versions}){inspect}",
    ),
    FailedHandshake(
        "ALERT_PROTOCOL_VERSION",
        "the server takes neither TLS 1.2 nor TLS 1.3",
        "upgrade the server or have it offer TLS 1.2 ({versions}){inspect}",
    ),
    FailedHandshake(
        "ALERT_HANDSHAKE_FAILURE",
        "the server takes none of the suites, curves and signatures that this machine's OpenSSL offers",
        "have it take ECDHE, with a key of EC P-256 or RSA 2048{ask_each}",
    ),
    FailedHandshake(
        "DH_KEY_TOO_SMALL",
        "the server exchanges keys by a Diffie-Hellman group that is too short to be safe",
        "have it take ECDHE ({suites}), or upgrade it{ask_each}",
    ),
    FailedHandshake(
        "KEY_TOO_SMALL",
        "the server's key is too short for this machine's OpenSSL",
        "make a key of EC P-256, or of RSA 2048 or more, and have a certificate issued for it",
    ),
    FailedHandshake(
        "UNSAFE_LEGACY_RENEGOTIATION",
        "the server does not know secure renegotiation (RFC 5746)",
        "upgrade the server{inspect}",
    ),
    FailedHandshake(
        "WRONG_CURVE",
        "the key of the server's certificate is on a curve that this machine's OpenSSL does not offer",
        "have a certificate issued for a key of EC P-256{ask_each}",
    ),
    FailedHandshake(
        "SIGNATURE",
        "the server signs in a way that this machine's OpenSSL does not take",
        "have a certificate issued for a key of EC P-256 or RSA 2048{ask_each}",
    ),
)
"""In this order, since words of OpenSSL's contain each other."""


def _of_certificate(
    access: ExternalAccess, error: ssl.SSLCertVerificationError, chain: Sequence[Certificate]
) -> TlstaxError:
    if error.verify_code in NO_ISSUER:
        return _of_issuer(access, chain)
    for known in UNVERIFIED:
        if error.verify_code in known.codes:
            words = _words(access, error.verify_code, chain)
            return known.fault(known.message.format_map(words), remedy=known.remedy.format_map(words))
    return MachineFault(
        f"the certificate of {access.address} cannot be verified ({error.verify_message})",
        remedy="have one issued that clients can verify",
    )


def _of_issuer(access: ExternalAccess, chain: Sequence[Certificate]) -> UserMistake:
    """A certificate's issuer was neither sent nor found in the user's file.

    2, 20 and 21 are told apart by what was sent and what the file has: OpenSSL says one or the other of the
    same chain, depending on its version and on how long that is.
    """
    where, ca = access.address, access.tls.ca_file
    way = path(chain)
    if not way:
        return UserMistake(
            f"the certificate of {where} was not issued by the authority in {ca}",
            remedy="give --ssl-ca the certificate of the authority that issued the server's",
        )
    issuer = way[-1].issuer
    trusted = {own.subject: own for own in chains.of_file(ca)} if ca else {}
    if issuer in trusted and not trusted[issuer].is_self_signed:
        above = trusted[issuer].issuer
        return UserMistake(
            f"{ca} has {issuer}, and not {above}, who issued that",
            remedy=f"append the certificate of {above} to {ca}",
        )
    if issuer in trusted:
        return UserMistake(
            f"the certificate of {where} was issued by another {issuer} than the authority in {ca}",
            remedy="give --ssl-ca the certificate of the authority that issued the server's",
        )
    own_file = _WORDS[access.product]["own_file"]
    what = "the certificate" if len(way) == 1 else f"the certificate of {way[-1].subject} in the chain"
    return UserMistake(
        f"{what} of {where} was issued by {issuer}, whose certificate the server did not send and {ca} "
        "does not have",
        remedy=f"append the certificate of {issuer} to the file that the server's {own_file} names; or give "
        "it with --ssl-ca, if that is the authority that you trust",
    )


def _words(access: ExternalAccess, code: int, chain: Sequence[Certificate]) -> dict[str, object]:
    """What stands in the texts of `UNVERIFIED`."""
    way, ca = path(chain), access.tls.ca_file
    trusted = chains.of_file(ca) if ca else ()
    blamed = next((own for own in (*way, *trusted) if _is_to_blame(own, code)), None)
    own = blamed or (way[0] if way else None)
    named = f"the certificate of {access.address}"
    if blamed in trusted:
        named = f"the certificate of {blamed.subject} in {ca}"
    elif blamed is not None and blamed is not way[0]:
        named = f"the certificate of {blamed.subject}, which {access.address} sends with its own,"
    signer = next((place for place, each in enumerate(way) if place and not each.is_authority), 1)
    return {
        "where": access.address,
        "host": access.address.host,
        "ca": ca,
        "whose": named,
        "names": shortened(way[0].names or (way[0].subject,), MOST_NAMES) if way else "other names",
        "key": own.key if own else "unknown",
        "digest": own.signature if own else "unknown",
        "purposes": f"its purposes are {enumerated(own.purposes)}"
        if own and own.purposes
        else "its purposes or its key's usage are others",
        "root": way[-1].subject if way else "another authority",
        "issuer": way[-1].issuer if way else "its issuer",
        "signed": f"the certificate of {way[signer - 1].subject} at {access.address}" if way else named,
        "signer": way[signer - 1].issuer if way else "its issuer",
    }


def _is_to_blame(own: Certificate, code: int) -> bool:
    now = datetime.now(UTC)
    if code in EXPIRED:
        return datetime.fromisoformat(own.not_after) <= now
    if code in NOT_YET_VALID:
        return datetime.fromisoformat(own.not_before) > now
    if code in WRONG_PURPOSE:
        return bool(own.purposes) and "serverAuth" not in own.purposes
    if code in WEAK_KEY:
        return has_weak_key(own)
    return code in WEAK_DIGEST and own.signature in BROKEN_HASHES and not own.is_self_signed


def of_refusal(access: ExternalAccess, error: SqlError) -> TlstaxError:
    """The server refused a login or a statement, or the connection was lost."""
    code = _code_of(access, error)
    message = answers.message_of(error)
    known = meaning_of(code)
    if known is None:
        return MachineFault(f"{access.address} reports an error ({message}, {code})")
    names = {
        "where": access.address,
        "user": access.user,
        "schema": access.address.schema if access.product == "mysql" else access.database,
        "said": f"error {code}: {message}",
        "variable": PASSWORD_VARIABLE,
        "certificate": (
            f"whether it must show another certificate than {access.tls.certificate_file}"
            if access.tls.certificate_file
            else "whether it must show a certificate (--ssl-cert, --ssl-key)"
        ),
        "plain": " and without TLS" if access.tls.mode == "DISABLED" else "",
    }
    return known.fault(known.message.format_map(names), remedy=known.remedy.format_map(names))


_MALFORMED: Mapping[Family, int | str] = {"mysql": 2027, "postgresql": "08P01"}
"""What the clients of each family call an answer that is none (CR_MALFORMED_PACKET, protocol_violation)."""

_UNCODED = "XX000"
"""internal_error: of an error whose SQLSTATE is none by its form."""


def _code_of(access: ExternalAccess, error: SqlError) -> int | str:
    """The number, or the SQLSTATE, of an error; a server may send anything in its place."""
    if isinstance(error, Malformed):
        return _MALFORMED[access.product]
    if access.product == "mysql":
        return error.code if isinstance(error.code, int) else 0
    return error.code if re.fullmatch("[0-9A-Z]{5}", str(error.code)) else _UNCODED
