"""What an external PostgreSQL says when it lets nobody in, in one sentence with its own words."""

from __future__ import annotations

import ssl

import pytest

from tlstax.external import failures as external_failures
from tlstax.external import postgres_failures
from tlstax.external.access import ExternalAccess, ExternalAddress
from tlstax.external.chain import Handshake
from tlstax.external.tls import ExternalTls
from tlstax.sql.answers import Malformed
from tlstax.sql.database import SqlError
from tlstax.support.errors import TlstaxError

PASSWORD = "s3cret-of-ann"
ADDRESS = ExternalAddress("db.example", 5433, "ann", product="postgresql", database="shop")
ACCESS = ExternalAccess(
    ADDRESS, "ann", PASSWORD, ExternalTls("VERIFY_CA", "ca", mode_by="PGSSLMODE=verify-ca")
)


def test_sentences_about_tls_name_postgresqls_settings_and_nobody_is_sent_into_the_clear() -> None:
    error = ssl.SSLError(1, "a handshake failed")
    sentences = [external_failures.without_tls(ACCESS).sentence()]
    for reason in (*(own.reason for own in external_failures.HANDSHAKES), "something else"):
        error.reason = reason
        sentences.append(external_failures.of_tls(ACCESS, error, Handshake(version="TLS 1.0")).sentence())
    for sentence in sentences:
        assert "db.example:5433" in sentence
        for word in ("tls_version", "ssl_cipher)", "tlstax inspect", "disable", "DISABLED", "{"):
            assert word not in sentence
    assert "which PGSSLMODE=verify-ca demands" in sentences[0]
    assert "ssl_min_protocol_version" in sentences[1]


@pytest.mark.parametrize("code", ["", "²²²²²", "lower", "toolong", "28 00", 7, None])
def test_a_code_that_is_none_is_no_traceback(code: object) -> None:
    error = SqlError(code, "said")  # type: ignore[arg-type]
    assert "reports an error (said, XX000)" in external_failures.of_refusal(ACCESS, error).sentence()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (Malformed("what"), "does not follow PostgreSQL's protocol"),
        (SqlError("08006", "cut", is_of_connection=True), "broke the connection (error 08006: cut)"),
        (SqlError("3D000", "no"), "has no database shop"),
        (SqlError("25006", "no"), "is read-only"),
    ],
)
def test_each_error_means_the_same_as_in_trials(error: SqlError, words: str) -> None:
    assert words in external_failures.of_refusal(ACCESS, error).sentence()


@pytest.mark.parametrize("is_encrypted", [True, False])
def test_a_lack_of_a_line_says_how_it_was_tried(*, is_encrypted: bool) -> None:
    error = SqlError("28000", 'no pg_hba.conf entry for host "h"')
    said = postgres_failures.of_refusal(ACCESS, error, is_encrypted=is_encrypted).sentence()
    assert f"lets ann into shop from this machine {'over' if is_encrypted else 'without'} TLS (" in said


@pytest.mark.parametrize("reason", postgres_failures.CLIENT_CERTIFICATE_ALERTS)
def test_an_alert_about_the_clients_certificate_names_the_file(reason: str) -> None:
    cause = ssl.SSLError(1, "alert")
    cause.reason = f"TLSV1_{reason}"
    error = SqlError("08006", "alert", is_of_connection=True, cause=cause)

    def said(access: ExternalAccess) -> str:
        fault: TlstaxError = postgres_failures.of_login(access, error, b"", 1.0, is_encrypted=True)
        return fault.sentence()

    assert "demands a client certificate" in said(ACCESS)
    shown = ExternalAccess(ADDRESS, "ann", PASSWORD, ExternalTls(certificate_file="own.pem"))
    assert "does not take the client certificate in own.pem" in said(shown)


@pytest.mark.parametrize(
    ("began", "words"),
    [
        (b"K\0\0\0\x0a9.7.4-2\0", "is a MySQL or MariaDB server"),
        (b"\x17\0\0\0\xff\x10\x04Too many connections", "is a MySQL or MariaDB server"),
        (b"HTTP/1.1 400", "does not speak PostgreSQL's protocol"),
        (b"\x15\3\3\0\2\2\x28", "does not speak PostgreSQL's protocol"),
        (b"R\0\0\0\x08\0\0\0\0", "broke the connection"),
    ],
)
def test_who_answers_is_told_by_the_first_bytes(began: bytes, words: str) -> None:
    error = SqlError("08006", "the server closed it", is_of_connection=True, cause=ConnectionAbortedError())
    assert words in postgres_failures.of_login(ACCESS, error, began, 1.0, is_encrypted=False).sentence()


def test_a_connection_that_is_cut_once_a_certificate_was_shown_names_it() -> None:
    for cause in (ConnectionResetError(), ssl.SSLEOFError(8, "EOF occurred")):
        error = SqlError("08006", "cut", is_of_connection=True, cause=cause)
        shown = ExternalAccess(ADDRESS, "ann", PASSWORD, ExternalTls(certificate_file="own.pem"))
        said = postgres_failures.of_login(shown, error, b"", 1.0, is_encrypted=True).sentence()
        assert "does not take the client certificate in own.pem (it closed the connection)" in said
        for access, is_encrypted in ((shown, False), (ACCESS, True)):
            fault = postgres_failures.of_login(access, error, b"", 1.0, is_encrypted=is_encrypted)
            assert "closed it without sending anything" in fault.sentence()


@pytest.mark.parametrize(("code", "has_none"), [("53300", True), ("28000", False)])
def test_that_there_is_no_room_is_not_taken_for_a_refusal_of_plaintext(code: str, has_none: bool) -> None:
    fault = TlstaxError("it did not let ann in")
    fault.__cause__ = SqlError(code, "too many connections for role")
    assert postgres_failures.has_no_room(fault) == has_none
    assert not postgres_failures.has_no_room(TlstaxError("it says nothing"))
