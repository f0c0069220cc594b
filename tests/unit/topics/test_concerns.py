"""What is unsafe about a server is named, the gravest first; of a clean one nothing is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from inspected_servers import certificate as sent
from inspected_servers import inspected, program
from tlstax.contract import TlsView
from tlstax.results.inspection import Asked, Certificate, Concern, InspectedServer, Program, ServerWord
from tlstax.topics.inspection.concerns import concerns, is_for, path

NOW = datetime(2026, 11, 25, 12, 0, tzinfo=UTC)
VIEW = TlsView(version="TLSv1.3", cipher="TLS_AES_256_GCM_SHA384", resumed=False)
WORD = ServerWord(
    version="9.7.4",
    tls_library="OpenSSL 3.6",
    account_plugin="caching_sha2_password",
    requires_tls=True,
    account_is_encrypted=True,
)


def certificate(
    *, begins: timedelta = -timedelta(days=1), ends: timedelta = timedelta(days=365), **more: object
) -> Certificate:
    fields = {
        "subject": "CN=db.example",
        "issuer": "CN=somebody",
        "is_self_signed": False,
        "key": "RSA 2048",
        "signature": "SHA256",
        "names": ("db.example",),
        "not_before": (NOW + begins).isoformat(),
        "not_after": (NOW + ends).isoformat(),
        "size_bytes": 900,
        "sha256": "00",
    }
    return Certificate.model_validate({**fields, **more})


def taken(*names: str) -> tuple[Asked, ...]:
    """Everything refused but these."""
    topics = {"TLS 1.0": "version", "TLS 1.1": "version", "TLS 1.2": "version", "RSA key exchange": "suite"}
    return tuple(
        Asked.model_validate({"topic": topic, "name": name, "agreed": VIEW if name in names else None})
        for name, topic in topics.items()
    )


def seen(
    *chain: Certificate,
    word: ServerWord = WORD,
    asked: tuple[Asked, ...] = (),
    offers_tls: bool = True,
    programs: tuple[Program, ...] = (),
) -> InspectedServer:
    return inspected(chain=chain, programs=programs).model_copy(
        update={"at": NOW.isoformat(), "word": word, "asked": asked, "offers_tls": offers_tls, "connect": ()}
    )


def found(*chain: Certificate, is_verified: bool = True, **more: Any) -> list[Concern]:
    return list(concerns(seen(*chain, **more), host="db.example", is_verified=is_verified))


def only(*chain: Certificate, **more: Any) -> Concern:
    (concern,) = found(*chain, **more)
    return concern


def test_nothing_is_unsafe_about_a_clean_server() -> None:
    assert found(certificate(), asked=taken("TLS 1.2")) == []
    assert found(certificate(key="EC P-256"), word=WORD.model_copy(update={"requires_tls": None})) == []


def test_old_versions_are_unsafe() -> None:
    assert only(asked=taken("TLS 1.0", "TLS 1.1", "TLS 1.2")).what == "TLS 1.0 and TLS 1.1 are accepted"
    old = only(asked=taken("TLS 1.1"))
    assert (old.danger, old.what) == ("unsafe", "TLS 1.1 is accepted")


def test_key_exchange_by_rsa_has_no_forward_secrecy() -> None:
    assert only(asked=taken("RSA key exchange")).danger == "weak"


def test_plaintext_is_told_by_what_the_server_says() -> None:
    lax = WORD.model_copy(update={"requires_tls": False})
    assert only(word=lax).what == "connections in the clear are accepted"
    assert only(word=lax, offers_tls=False).what == "the server offers no TLS"


@pytest.mark.parametrize(
    ("ends", "danger", "words"),
    [
        (timedelta(days=30, seconds=1), None, ""),
        (timedelta(days=30), "soon unsafe", "ends in 30 days, on 25 December 2026"),
        (timedelta(days=12, hours=3), "soon unsafe", "ends in 12 days, on 7 December 2026"),
        (timedelta(days=1), "soon unsafe", "ends in 1 day, on 26 November 2026"),
        (timedelta(0), "unsafe", "ended on 25 November 2026"),
    ],
)
def test_a_certificate_that_ends(ends: timedelta, danger: str | None, words: str) -> None:
    said = [(concern.danger, concern.what) for concern in found(certificate(ends=ends))]
    assert said == ([(danger, f"the certificate of CN=db.example {words}")] if danger else [])


def test_a_certificate_that_has_not_begun() -> None:
    assert "is not valid before 26 November 2026" in only(certificate(begins=timedelta(days=1))).what
    assert found(certificate(begins=timedelta(0))) == []


@pytest.mark.parametrize(("key", "unsafe"), [("RSA 1024", True), ("RSA 2047", True), ("RSA 2048", False)])
def test_a_short_key(key: str, unsafe: bool) -> None:
    assert [concern.danger for concern in found(certificate(key=key))] == ["unsafe"] * unsafe


def test_a_broken_signature_counts_where_somebody_else_signed() -> None:
    assert "signed with SHA1" in only(certificate(signature="SHA1")).what
    assert found(certificate(signature="SHA1", is_self_signed=True)) == []


def test_a_certificate_for_another_host_is_refused_by_who_verifies() -> None:
    other = only(certificate(names=("other.example", "third.example")))
    assert other.what == "the certificate is for other.example and third.example, and not for db.example"
    assert other.danger == "weak"
    unnamed = [only(certificate(names=(), subject=subject)).what for subject in ("O=us", "")]
    assert unnamed == [
        "the certificate is for O=us, and not for db.example",
        "the certificate is for no name, and not for db.example",
    ]
    authority = certificate(names=("CA",), subject="CN=somebody", sha256="01")
    assert found(certificate(), authority) == [], "only the server's own has to be for it"


def test_a_certificate_that_the_server_made_is_known_to_nobody() -> None:
    made = certificate(issuer="CN=MySQL_Server_9.7.4_Auto_Generated_CA_Certificate", names=())
    assert only(made).what == "the server made its certificate and its authority by itself"


@pytest.mark.parametrize(
    ("names", "host", "right"),
    [
        (("db.example",), "DB.example", True),
        (("*.example",), "db.example", True),
        (("*.example",), "a.db.example", False),
        (("*.example",), "example", False),
        (("*",), "localhost", False),
        (("other.example", "db.example"), "db.example", True),
        (("192.0.2.1",), "192.0.2.1", True),
        ((), "server", True),
        (("db.example",), "server", False),
    ],
)
def test_whom_a_certificate_is_for(names: tuple[str, ...], host: str, right: bool) -> None:
    assert is_for(certificate(names=names, subject="O=us,CN=server"), host) is right


def root(name: str = "CN=root", sha256: str = "0r") -> Certificate:
    return certificate(subject=name, issuer=name, is_self_signed=True, sha256=sha256, names=())


def authority(issuer: str = "CN=root", sha256: str = "0a") -> Certificate:
    return certificate(subject="CN=somebody", issuer=issuer, sha256=sha256, names=())


def test_an_issuer_that_was_not_sent_is_named_unless_the_chain_was_verified() -> None:
    alone = only(certificate(), is_verified=False)
    assert (
        alone.what == "the server sends its own certificate alone, without that of CN=somebody, who issued it"
    )
    assert "append the certificate of CN=somebody to the file that ssl_cert names" in alone.remedy
    assert alone.steps
    assert found(certificate(), authority(), is_verified=False) == [], "a root need not be sent"
    assert found(certificate(), authority(), root(), is_verified=False) == []


def test_what_is_sent_in_disorder_twice_or_for_nothing_is_named() -> None:
    assert "not sent in the order" in only(certificate(), root(), authority()).what
    assert only(certificate(), authority(), authority(), root()).what == (
        "the server sends the certificate of CN=somebody more than once"
    )
    strangers = [root(f"CN=stranger {number}", f"{number}") for number in range(5)]
    assert only(certificate(), authority(), *strangers).what == (
        "the server sends the certificates of CN=stranger 0, CN=stranger 1, CN=stranger 2 and 2 more that "
        "did not issue the server's"
    )


def test_a_certificate_that_is_not_for_servers() -> None:
    client = only(certificate(purposes=("clientAuth",)))
    assert (client.danger, client.what) == (
        "unsafe",
        "the certificate is for clientAuth, and not for servers",
    )
    assert found(certificate(purposes=("serverAuth", "clientAuth"))) == []
    any_purpose = only(certificate(purposes=("anyExtendedKeyUsage",)))
    assert any_purpose.danger == "unsafe", "OpenSSL takes it for no server's"


def test_a_certificate_of_version_1_has_no_names() -> None:
    assert "is X.509 version 1" in only(certificate(version=1)).what
    assert found(certificate(), authority(), root().model_copy(update={"version": 1})) == []


def test_who_agrees_to_nothing_of_todays_says_what_it_takes() -> None:
    refused = "the server has TLS 1.0 at most"
    said = concerns(seen(asked=taken("TLS 1.0")), host="db", refused=refused)
    assert said[0].what == "clients left to themselves agree to no TLS with it"
    assert said[0].why == "the server has TLS 1.0 at most; it takes TLS 1.0"
    curve = concerns(seen(asked=taken("TLS 1.2")), host="db", refused="no common curve")
    assert "EC P-256" in curve[0].remedy


def test_many_names_are_shortened() -> None:
    many = only(certificate(names=tuple(f"host{number}" for number in range(300))))
    assert many.what == "the certificate is for host0, host1, host2 and 297 more, and not for db.example"


def test_the_gravest_comes_first() -> None:
    lax = WORD.model_copy(update={"requires_tls": False})
    several = found(certificate(ends=timedelta(days=3)), word=lax, asked=taken("TLS 1.0"))
    assert [concern.danger for concern in several] == ["unsafe", "soon unsafe", "weak"]


def test_who_came_over_tls_past_the_certificates_end_verifies_nobody() -> None:
    def said(*programs: Program, ends: timedelta = -timedelta(hours=1)) -> list[str]:
        begins = -timedelta(days=9)
        named = found(certificate(begins=begins, ends=ends), programs=programs)
        return [concern.what for concern in named if "do not verify the server" in concern.what]

    own = program(3)
    assert said(own, own) == ["6 connections of app do not verify the server"]
    unnamed = own.model_copy(update={"program": "", "client": "", "connections": 1})
    assert said(unnamed) == ["1 connection of unnamed do not verify the server"]
    assert said(own.model_copy(update={"program": ""})) == [
        "3 connections of libmysql do not verify the server"
    ]
    assert said(own, ends=timedelta(0)) == ["3 connections of app do not verify the server"]
    assert said(own, ends=timedelta(seconds=1)) == []
    assert said(own.model_copy(update={"tls": ""})) == []
    assert said(own.model_copy(update={"transport": "Socket"})) == []
    assert said() == []


def made(subject: str, issuer: str) -> Certificate:
    names = {"subject": subject, "issuer": issuer, "sha256": subject}
    return sent(is_self_signed=subject == issuer).model_copy(update=names)


LEAF, BETWEEN, ROOT, STRANGER = (
    made("leaf", "between"),
    made("between", "root"),
    made("root", "root"),
    made("stranger", "stranger"),
)


def test_the_path_goes_from_issuer_to_issuer() -> None:
    assert path((LEAF, BETWEEN, ROOT)) == path((LEAF, ROOT, BETWEEN)) == (LEAF, BETWEEN, ROOT)
    assert path((LEAF, STRANGER)) == (LEAF,)
    assert path(()) == ()


def test_authorities_that_issued_each_other_end_it() -> None:
    one, other = made("one", "other"), made("other", "one")
    assert path((one, other)) == (one, other)


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ((LEAF,), "its own certificate alone, without that of between"),
        ((LEAF, BETWEEN), ""),
        ((LEAF, BETWEEN, ROOT), ""),
        ((LEAF, STRANGER, BETWEEN, STRANGER), "of stranger that did not issue the server's"),
        ((LEAF, STRANGER, BETWEEN, STRANGER), "of stranger more than once"),
        ((LEAF, BETWEEN, LEAF, LEAF), "the certificate of leaf more than once"),
        ((LEAF, BETWEEN, LEAF, BETWEEN), "the certificates of leaf and between more than once"),
        ((LEAF, ROOT, BETWEEN), "not sent in the order"),
        ((LEAF, STRANGER, BETWEEN, BETWEEN, ROOT), "the certificate of between more than once"),
    ],
)
def test_what_is_sent_besides_the_path_or_out_of_its_order_is_named(
    sent: tuple[Certificate, ...], words: str
) -> None:
    said = [own.what for own in concerns(seen(*sent), host="db")]
    assert [words in what for what in said].count(True) == bool(words), said
    assert bool(said) == bool(words)
    assert any("order" in what for what in said) == ("order" in words)
