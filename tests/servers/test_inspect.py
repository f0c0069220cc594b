"""`tlstax inspect`: what is wrong with a server is named, of a clean one nothing."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from ready_command import ready_run
from test_guest_run import PASSWORD, SMALL, as_owner, lent, url_of

from conftest import fetched
from tlstax.results.inspection import InspectedServer
from tlstax.specimens.certificates import CertificateRequest, issue
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session

WITHIN_S = 120.0
LONG = timedelta(days=400)


def inspected(url: str, *arguments: str, password: str = PASSWORD) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TLSTAX_PASSWORD": password}
    return ready_run(("inspect", url, "--watch", "1s", *arguments), environment, WITHIN_S)


def document(url: str) -> InspectedServer:
    done = inspected(url, "--json")
    assert done.returncode == 0, done.stderr
    return InspectedServer.model_validate(json.loads(done.stdout))


def taken(found: InspectedServer, topic: str) -> set[str]:
    return {own.name for own in found.asked if own.topic == topic and own.agreed}


@pytest.mark.long
@pytest.mark.parametrize("product", ["mysql_build", "mariadb_build"])
def test_a_clean_server_has_nothing_to_mend(
    request: pytest.FixtureRequest, session: Session, product: str
) -> None:
    build: ServerBuild = request.getfixturevalue(product)
    settings = ServerSettings(
        buffer_pool_bytes=SMALL,
        certificate=CertificateRequest(valid_for=LONG),
        options=("--require-secure-transport=ON",),
    )
    with lent(build, session, settings) as server:
        before = as_owner(
            server, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Aborted_clients', 'Aborted_connects')"
        )
        found = document(url_of(server))
        after = as_owner(
            server, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Aborted_clients', 'Aborted_connects')"
        )
        text = inspected(url_of(server)).stdout
        refused = [
            own for own in found.asked if own.could_ask and not own.agreed and own.topic != "resumption"
        ]
    assert {"TLS 1.2", "TLS 1.3"} <= taken(found, "version")
    assert taken(found, "resumption") == {"TLS 1.2", "TLS 1.3"}
    assert "P-256" in taken(found, "group")
    assert ("X25519" in taken(found, "group")) == (product == "mariadb_build")
    assert [certificate.key for certificate in found.chain[:1]] == ["RSA 2048"]
    dangers = [concern.what for concern in found.concerns if concern.danger != "weak"]
    assert dangers == []
    retried = ["clients left to themselves are asked for a second ClientHello"]
    assert [payment.what for payment in found.payments] == (retried if product == "mysql_build" else [])
    assert found.connect[0].round_trips == (5 if product == "mysql_build" else 4)
    aborted = sum(int(str(value)) for _, value in after) - sum(int(str(value)) for _, value in before)
    assert len(text.splitlines()) <= 60, "it fits a screen"
    assert aborted <= len(refused), "every agreement ended in a whole login, and was closed in order"


def test_what_is_planted_is_named(mysql_build: ServerBuild, session: Session) -> None:
    settings = ServerSettings(
        buffer_pool_bytes=SMALL,
        certificate=CertificateRequest(key="rsa-4096", valid_for=timedelta(days=12, hours=1)),
        options=("--ssl-session-cache-mode=OFF",),
    )
    with lent(mysql_build, session, settings) as server:
        unprivileged = document(url_of(server))
        as_owner(server, "GRANT SELECT ON performance_schema.* TO ann@'127.0.0.1'")
        with server.admin():
            found = document(url_of(server))
        text = inspected(url_of(server))
    assert any("performance_schema" in words for words in unprivileged.inside.unread)
    assert unprivileged.inside.programs == ()
    assert found.inside.unread == ()
    assert [program.client for program in found.inside.programs] == ["pymysql"]
    assert found.inside.watched is not None
    assert found.inside.watched.connects_per_s == 0.0
    assert found.inside.since_start is not None
    assert found.inside.since_start.tls_share is not None
    paid = [payment.what for payment in found.payments]
    assert paid == [
        "clients left to themselves are asked for a second ClientHello",
        "sessions of TLS 1.2 are not resumed",
        "sessions of TLS 1.3 are not resumed",
        "the server signs each full handshake with RSA 4096",
    ]
    assert found.connect[0].round_trips == 5
    whats = [concern.what for concern in found.concerns]
    assert any("ends in 12 days" in what for what in whats)
    assert "connections in the clear are accepted" in whats
    assert text.returncode == 0
    assert "ends in 12 days" in " ".join(text.stdout.split())
    assert PASSWORD not in text.stdout + text.stderr


@pytest.mark.long
def test_a_wrong_password_and_a_dead_server_are_one_sentence(
    mysql_build: ServerBuild, session: Session, tmp_path: Path
) -> None:
    with lent(mysql_build, session, ServerSettings(buffer_pool_bytes=SMALL)) as server:
        url = url_of(server)
        wrong = inspected(url, password="wrong")
    dead = inspected(url)
    for done in (wrong, dead):
        assert done.returncode == 2, done.stderr
        assert done.stdout == ""
        assert "Traceback" not in done.stderr
        assert len([line for line in done.stderr.splitlines() if line.startswith("tlstax: ")]) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.long
def test_a_private_server_is_named_instead_of_an_address() -> None:
    found = document("mariadb-11.8")
    assert "MariaDB" in found.word.version
    assert found.status == "complete"
    wrong = inspected("mariadb-11.8", "--ssl-mode", "REQUIRED")
    assert wrong.returncode == 2
    assert "--ssl-mode needs the address of an external server" in wrong.stderr
    unknown = inspected("mariadb-99")
    assert unknown.returncode == 2
    assert len([line for line in unknown.stderr.splitlines() if line.startswith("tlstax: ")]) == 1


@pytest.mark.long
@pytest.mark.parametrize("name", ["mysql-5.6.14", "mariadb-10.1-yassl"])
def test_a_server_with_old_tls_alone_is_inspected(session: Session, name: str) -> None:
    with lent(fetched(name), session, ServerSettings(buffer_pool_bytes=SMALL)) as server:
        found = document(url_of(server))
    assert found.status == "complete"
    assert taken(found, "version")
    assert not {"TLS 1.2", "TLS 1.3"} & taken(found, "version")
    assert found.asked[0].agreed is None
    assert found.chain[0].key == "RSA 2048"
    assert found.concerns[0].what == "clients left to themselves agree to no TLS with it"
    assert not [own for own in found.concerns if "DISABLED" in str(own)]


@pytest.mark.long
@pytest.mark.parametrize(
    ("cipher", "slow"),
    [("AES256-GCM-SHA384", None), ("DHE-RSA-AES256-GCM-SHA384", "DHE")],
)
def test_without_ecdhe_no_curve_is_said_to_be_used(
    mariadb_build: ServerBuild, session: Session, cipher: str, slow: str | None
) -> None:
    options = (f"--ssl-cipher={cipher}", "--tls-version=TLSv1.2")
    with lent(mariadb_build, session, ServerSettings(buffer_pool_bytes=SMALL, options=options)) as server:
        found = document(url_of(server))
    assert found.status == "complete"
    assert taken(found, "group") <= {"ffdhe2048"}
    assert not {own.name for own in found.asked if own.topic == "group" and own.agreed and slow is None}
    paid = [own.what for own in found.payments if "exchange keys by" in own.what]
    assert [slow in what for what in paid if slow] == ([True] if slow else [])
    assert any("key exchange by RSA" in own.what for own in found.concerns) == (slow is None)


def test_a_certificate_that_is_refused_is_the_finding(
    mariadb_build: ServerBuild, session: Session, tmp_path: Path
) -> None:
    """Nobody logs in there: the document has what was shown, and the sentence what is wrong."""
    stranger = issue(tmp_path).ca_file
    with lent(mariadb_build, session, ServerSettings(buffer_pool_bytes=SMALL)) as server:
        done = inspected(url_of(server), "--json", "--ssl-ca", str(stranger))
    assert done.returncode == 3, done.stderr
    found = InspectedServer.model_validate(json.loads(done.stdout))
    assert (found.status, found.connections, found.asked) == ("failed", 1, ())
    assert found.chain[0].key == "RSA 2048"
    assert found.concerns[0].what == "a client that verifies as you do refuses the certificate"
    assert "CN=tlstax private authority" in found.concerns[0].why
    assert PASSWORD not in done.stdout + done.stderr
