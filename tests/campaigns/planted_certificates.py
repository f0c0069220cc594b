"""Certificates with one thing wrong each, and what a client that verifies is to make of them.

Each kind is planted in a server: a chain, its key, and the file of authorities that the client is given.
What openssl(1) cannot be told through the `cryptography` package, such as keys of RSA-PSS, it makes itself.
"""

from __future__ import annotations

import ipaddress
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey
Pem = bytes

HOST = "127.0.0.1"
NOW = datetime.now(UTC).replace(microsecond=0)
SERVERS, CLIENTS = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH
WITHIN_S = 60.0


@dataclass
class Holder:
    """A name and its key, with what it is to be certified as."""

    name: str
    key: PrivateKey
    is_authority: bool | None = True
    path_length: int | None = None
    begins: timedelta = timedelta(hours=-1)
    ends: timedelta = timedelta(days=200)
    hosts: Sequence[str] = ()
    purposes: Sequence[x509.ObjectIdentifier] = ()
    extensions: Sequence[tuple[x509.ExtensionType, bool]] = ()
    usage: x509.KeyUsage | None = None

    @property
    def subject(self) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self.name)])

    def signed_by(self, issuer: Holder) -> x509.Certificate:
        """Its certificate."""
        built = (
            x509.CertificateBuilder(
                subject_name=self.subject, issuer_name=issuer.subject, public_key=self.key.public_key()
            )
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW + self.begins)
            .not_valid_after(NOW + self.ends)
        )
        if self.is_authority is not None:
            basic = x509.BasicConstraints(ca=self.is_authority, path_length=self.path_length)
            built = built.add_extension(basic, critical=True)
        if self.hosts:
            built = built.add_extension(
                x509.SubjectAlternativeName([*map(_general, self.hosts)]), critical=False
            )
        if self.purposes:
            built = built.add_extension(x509.ExtendedKeyUsage(self.purposes), critical=False)
        if self.usage is not None:
            built = built.add_extension(self.usage, critical=True)
        for extension, critical in self.extensions:
            built = built.add_extension(extension, critical=critical)
        digest = None if isinstance(issuer.key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
        return built.sign(issuer.key, digest)


@dataclass(frozen=True)
class Planted:
    """What a server shows (`chain` with its `key`), and what its client has (`trusted`), all as PEM."""

    chain: Pem
    key: Pem
    trusted: Pem

    def files(self, folder: Path) -> tuple[Path, Path, Path]:
        """Written as chain, key and authorities, readable for a server that runs as nobody."""
        made = []
        for name, content in (("chain.pem", self.chain), ("key.pem", self.key), ("root.pem", self.trusted)):
            (folder / name).write_bytes(content)
            (folder / name).chmod(0o644)
            made.append(folder / name)
        return made[0], made[1], made[2]


@dataclass(frozen=True)
class Kind:
    """One thing that is wrong, and words of the sentence by which it is to be told; none where nothing is.

    `seen` are words of what `inspect` says of it without a file of authorities.
    """

    name: str
    make: Callable[[], Planted]
    refused: str = ""
    seen: str = ""


def rsa_key(bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, bits)


def ec_key(curve: ec.EllipticCurve | None = None) -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(curve or ec.SECP256R1())


def root(**more: object) -> Holder:
    return Holder(**{"name": "a root", "key": ec_key(), **more})  # type: ignore[arg-type]


def between(**more: object) -> Holder:
    return Holder(**{"name": "an intermediate", "key": ec_key(), **more})  # type: ignore[arg-type]


def leaf(**more: object) -> Holder:
    own = {"name": "the server", "key": ec_key(), "is_authority": False, "hosts": (HOST,)}
    return Holder(**{**own, **more})  # type: ignore[arg-type]


def pem(*certificates: x509.Certificate) -> Pem:
    return b"".join(own.public_bytes(serialization.Encoding.PEM) for own in certificates)


def key_pem(key: PrivateKey) -> Pem:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def chained(
    own: Holder | None = None,
    middle: Holder | None = None,
    top: Holder | None = None,
    *,
    send: str = "lm",
    trust: str = "r",
) -> Planted:
    """Three of them, of which these are sent, in this order, and trusted: `l`eaf, `m`iddle, `r`oot."""
    own, middle, top = own or leaf(), middle or between(), top or root()
    stranger = root(name="a stranger")
    made = {
        "l": own.signed_by(middle),
        "m": middle.signed_by(top),
        "r": top.signed_by(top),
        "s": stranger.signed_by(stranger),
    }
    return Planted(
        pem(*(made[each] for each in send)), key_pem(own.key), pem(*(made[each] for each in trust))
    )


def self_signed(*, trusted: bool) -> Planted:
    own = leaf(is_authority=True)
    certificate = own.signed_by(own)
    stranger = root(name="a stranger")
    return Planted(
        pem(certificate), key_pem(own.key), pem(certificate if trusted else stranger.signed_by(stranger))
    )


def other_key_of_the_same_name() -> Planted:
    signer, namesake, own = root(), root(), leaf()
    return Planted(pem(own.signed_by(signer)), key_pem(own.key), pem(namesake.signed_by(namesake)))


def path_too_long() -> Planted:
    top, first, second, own = root(), between(name="may issue once", path_length=0), between(), leaf()
    chain = pem(own.signed_by(second), second.signed_by(first), first.signed_by(top))
    return Planted(chain, key_pem(own.key), pem(top.signed_by(top)))


def constrained(**names: object) -> Planted:
    limit = x509.NameConstraints(
        **{"permitted_subtrees": None, "excluded_subtrees": None, **names}  # type: ignore[arg-type]
    )
    return chained(middle=between(extensions=((limit, True),)))


def by_openssl(*key_words: str, digest: str = "sha256", version_1: bool = False) -> Planted:
    """A key and a certificate that openssl(1) makes, signed by an authority of ours."""
    with tempfile.TemporaryDirectory() as name:
        folder, top = Path(name), root()
        (folder / "root.pem").write_bytes(pem(top.signed_by(top)))
        (folder / "root.key").write_bytes(key_pem(top.key))
        extensions = "" if version_1 else f"subjectAltName=IP:{HOST}\nbasicConstraints=critical,CA:FALSE\n"
        (folder / "more").write_text(extensions)
        sign = "x509 -req -in own.csr -CA root.pem -CAkey root.key -CAcreateserial -days 90 -out own.pem"
        for words in (
            ("genpkey", *key_words, "-out", "own.key"),
            ("req", "-new", "-key", "own.key", "-subj", "/CN=the server", "-out", "own.csr"),
            (*sign.split(), f"-{digest}", *(() if version_1 else ("-extfile", "more"))),
        ):
            subprocess.run(("openssl", *words), cwd=folder, check=True, capture_output=True, timeout=WITHIN_S)
        own, key, trusted = ((folder / file).read_bytes() for file in ("own.pem", "own.key", "root.pem"))
        return Planted(own, key, trusted)


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _usage(**own: bool) -> x509.KeyUsage:
    names = (
        "digital_signature",
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "key_cert_sign",
        "crl_sign",
        "encipher_only",
        "decipher_only",
    )
    return x509.KeyUsage(**{name: own.get(name, False) for name in names})


LONG_AGO, SOON = timedelta(days=-3), timedelta(days=3)
UNKNOWN = x509.UnrecognizedExtension(x509.ObjectIdentifier("1.3.6.1.4.1.99999.1"), b"\x05\0")
NO_ISSUER = "whose certificate the server did not send"

KINDS = (
    Kind("a whole chain", chained),
    Kind("with the root", lambda: chained(send="lmr")),
    Kind("a wildcard besides", lambda: chained(leaf(hosts=("*.example", HOST)))),
    Kind("300 names", lambda: chained(leaf(hosts=(HOST, *(f"h{n}.example" for n in range(300)))))),
    Kind("self-signed and trusted", lambda: self_signed(trusted=True)),
    Kind(
        "any purpose",
        lambda: chained(leaf(purposes=(ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE,))),
        "is not for servers: its purposes are anyExtendedKeyUsage",
        "not for servers",
    ),
    Kind("no intermediate", lambda: chained(send="l"), NO_ISSUER, "its own certificate alone"),
    Kind("a stranger in its place", lambda: chained(send="ls"), NO_ISSUER, "did not issue"),
    Kind("another root", lambda: chained(trust="s"), NO_ISSUER),
    Kind("another root, own sent", lambda: chained(send="lmr", trust="s"), "which is not in that file"),
    Kind("an intermediate trusted alone", lambda: chained(send="l", trust="m"), "and not CN=a root"),
    Kind("self-signed", lambda: self_signed(trusted=False), "is self-signed, and not the one in"),
    Kind("a namesake of the root", other_key_of_the_same_name, "another CN=a root|another key"),
    Kind("ended", lambda: chained(leaf(begins=-SOON * 2, ends=LONG_AGO)), "has expired", "ended on"),
    Kind(
        "an ended intermediate",
        lambda: chained(middle=between(begins=-SOON * 2, ends=LONG_AGO)),
        "the certificate of CN=an intermediate, which .* has expired",
        "the certificate of CN=an intermediate ended on",
    ),
    Kind(
        "an ended root",
        lambda: chained(top=root(begins=-SOON * 2, ends=LONG_AGO)),
        "the certificate of CN=a root in .* has expired",
    ),
    Kind("not begun", lambda: chained(leaf(begins=SOON)), "is not valid yet", "is not valid before"),
    Kind(
        "an intermediate that has not begun",
        lambda: chained(middle=between(begins=SOON)),
        "CN=an intermediate, which .* is not valid yet",
        "the certificate of CN=an intermediate is not valid before",
    ),
    Kind(
        "another host",
        lambda: chained(leaf(hosts=("db.example", "192.0.2.7"))),
        "was not issued for 127.0.0.1, but for db.example and 192.0.2.7",
        "and not for 127.0.0.1",
    ),
    Kind("no names", lambda: chained(leaf(hosts=())), "was not issued for 127.0.0.1", "and not for 127"),
    Kind(
        "for clients",
        lambda: chained(leaf(purposes=(CLIENTS,))),
        "is not for servers: its purposes are clientAuth",
        "is for clientAuth, and not for servers",
    ),
    Kind(
        "an intermediate for clients", lambda: chained(middle=between(purposes=(CLIENTS,))), "not for servers"
    ),
    Kind("RSA 1024", lambda: chained(leaf(key=rsa_key(1024))), "too weak .* .RSA 1024", "key of RSA 1024"),
    Kind(
        "a root of RSA 1024",
        lambda: chained(top=root(key=rsa_key(1024))),
        "CN=a root in .* a key that is too weak .* .RSA 1024",
    ),
    Kind(
        "signed with SHA-1",
        lambda: by_openssl("-algorithm", "RSA", digest="sha1"),
        "signed with a digest that is too weak",
        "is signed with SHA1",
    ),
    Kind(
        "issued by no authority",
        lambda: chained(middle=between(is_authority=False)),
        "not that of an authority",
    ),
    Kind(
        "issued by who does not say",
        lambda: chained(middle=between(is_authority=None)),
        "not that of an authority",
    ),
    Kind("a path too long", path_too_long, "longer than an authority in it permits"),
    Kind(
        "names not permitted",
        lambda: constrained(permitted_subtrees=[x509.DNSName("example")]),
        "",
    ),
    Kind(
        "addresses not permitted",
        lambda: constrained(permitted_subtrees=[x509.IPAddress(ipaddress.ip_network("192.0.2.0/24"))]),
        "may not issue .name constraints",
    ),
    Kind(
        "addresses excluded",
        lambda: constrained(excluded_subtrees=[x509.IPAddress(ipaddress.ip_network("127.0.0.0/8"))]),
        "may not issue .name constraints",
    ),
    Kind(
        "an intermediate that may not sign",
        lambda: chained(middle=between(usage=_usage(digital_signature=True))),
        "issued by CN=an intermediate, whose certificate is not that of an authority",
    ),
    Kind(
        "an extension that nobody knows",
        lambda: chained(leaf(extensions=((UNKNOWN, True),))),
        "has an extension that",
    ),
    Kind("out of order", lambda: chained(send="lrm"), "", "not sent in the order"),
    Kind("sent twice", lambda: chained(send="lmm"), "", "more than once"),
    Kind("a stranger besides", lambda: chained(send="lms"), "", "did not issue"),
    Kind(
        "X.509 version 1",
        lambda: by_openssl("-algorithm", "RSA", version_1=True),
        "was not issued for",
        "version 1",
    ),
    Kind("RSA-PSS", lambda: by_openssl("-algorithm", "RSA-PSS")),
    Kind("EC P-521", lambda: chained(leaf(key=ec_key(ec.SECP521R1())))),
    Kind("Ed25519", lambda: chained(leaf(key=ed25519.Ed25519PrivateKey.generate()))),
    Kind(
        "EC secp256k1", lambda: chained(leaf(key=ec_key(ec.SECP256K1()))), "takes none of", "agree to no TLS"
    ),
    Kind(
        "EC brainpoolP256r1",
        lambda: chained(leaf(key=ec_key(ec.BrainpoolP256R1()))),
        "takes none of",
        "agree to no TLS",
    ),
    Kind(
        "explicit parameters",
        lambda: by_openssl(
            *("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-pkeyopt", "ec_param_enc:explicit"),
        ),
        "with curve parameters of its own|handshake with .* failed|has a key",
    ),
)
"""Which way each is refused; an empty word says that nothing is wrong with it for a client that verifies."""
