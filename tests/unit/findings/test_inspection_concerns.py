"""What is unsafe about a server is named, the gravest first; of a clean one nothing is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from inspected_servers import program
from tlstax.contract import TlsView
from tlstax.findings.inspection.concerns import concerns, is_for
from tlstax.results.inspection import Asked, Certificate, Concern, Program, ServerWord

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


def found(
    *chain: Certificate, word: ServerWord = WORD, asked: tuple[Asked, ...] = (), offers_tls: bool = True
) -> list[Concern]:
    return list(concerns(word, asked, chain, host="db.example", offers_tls=offers_tls, now=NOW))


def only(*chain: Certificate, **more: object) -> Concern:
    (concern,) = found(*chain, **more)  # type: ignore[arg-type]
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
        "the certificate is for nobody, and not for db.example",
    ]
    assert found(certificate(), certificate(names=("CA",))) == [], "only the server's own has to be for it"


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


def test_the_gravest_comes_first() -> None:
    lax = WORD.model_copy(update={"requires_tls": False})
    several = found(certificate(ends=timedelta(days=3)), word=lax, asked=taken("TLS 1.0"))
    assert [concern.danger for concern in several] == ["unsafe", "soon unsafe", "weak"]


def test_who_came_over_tls_past_the_certificates_end_verifies_nobody() -> None:
    def said(*programs: Program, ends: timedelta = -timedelta(hours=1)) -> list[str]:
        begins = -timedelta(days=9)
        chain = (certificate(begins=begins, ends=ends),)
        found = concerns(WORD, (), chain, programs, host="db.example", offers_tls=True, now=NOW)
        return [concern.what for concern in found if "verify nobody" in concern.what]

    own = program(3)
    assert said(own, own) == ["6 connections of app verify nobody"]
    unnamed = own.model_copy(update={"program": "", "client": "", "connections": 1})
    assert said(unnamed) == ["1 connection of unnamed verify nobody"]
    assert said(own.model_copy(update={"program": ""})) == ["3 connections of libmysql verify nobody"]
    assert said(own, ends=timedelta(0)) == ["3 connections of app verify nobody"]
    assert said(own, ends=timedelta(seconds=1)) == []
    assert said(own.model_copy(update={"tls": ""})) == []
    assert said(own.model_copy(update={"transport": "Socket"})) == []
    assert said() == []
