"""Accounts that demand a certificate, the best kept ones: measured with it, and told apart without."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from test_guest_run import PASSWORD, SMALL, as_owner, last_run, lent, sentence, tlstax_run

from tlstax.specimens.certificates import CertificateRequest
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session

RUN = ("--rows", "500", "--budget", "3s", "--over-budget", "--connections", "2", "--tls", "1.2,1.3")


@pytest.fixture(scope="module", params=["mariadb_build", pytest.param("mysql_build", marks=pytest.mark.long)])
def house(request: pytest.FixtureRequest, session: Session) -> Iterator[PrivateServer]:
    """`any` needs some certificate of the authority, `one` that of one subject, `other` that of another."""
    settings = ServerSettings(buffer_pool_bytes=SMALL, certificate=CertificateRequest(clients=True))
    with lent(request.getfixturevalue(request.param), session, settings) as server:
        certificate = x509.load_pem_x509_certificate(Path(own_files(server)[1]).read_bytes())
        subject = "".join(f"/{own.rfc4514_attribute_name}={own.value}" for own in certificate.subject)
        for user, demand in (
            ("any", "X509"),
            ("one", f"SUBJECT '{subject}'"),
            ("other", "SUBJECT '/CN=bob'"),
        ):
            as_owner(
                server,
                f"CREATE USER {user}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}' REQUIRE {demand}",
                f"GRANT ALL ON lent.* TO {user}@'127.0.0.1'",
            )
        yield server


def own_files(server: PrivateServer) -> tuple[str, ...]:
    client = server.certificates.client
    assert client is not None
    return ("--ssl-cert", str(client.certificate_file), "--ssl-key", str(client.key_file))


def url(server: PrivateServer, user: str) -> str:
    return f"mysql://{user}@127.0.0.1:{server.endpoint().port}/lent"


@pytest.mark.long
@pytest.mark.parametrize("user", ["one", "any"])
def test_every_connection_shows_the_certificate_kept_and_made_anew(
    house: PrivateServer, tmp_path: Path, user: str
) -> None:
    arguments = (*RUN, "--workload", "point-select,reconnect", *own_files(house))
    done = tlstax_run(tmp_path, url(house, user), *arguments)
    assert done.returncode == 0, done.stderr
    assert "plaintext is left out" in done.stderr
    run = last_run(tmp_path)
    assert run.header.external is not None
    assert "(REQUIRE " in run.header.external[0].no_plaintext
    trials = run.trials
    assert {trial.verdict.value for trial in trials} == {"valid"}
    measured = {
        (str(trial.trial.case.levels["workload"]), str(trial.trial.case.levels["tls"])) for trial in trials
    }
    assert measured == {(work, tls) for work in ("point-select", "reconnect") for tls in ("1.2", "1.3")}
    for trial in trials:
        assert trial.job is not None
        assert getattr(trial.job.tls, "certificate_file", None) == own_files(house)[1]
        assert trial.done is not None
        assert trial.done.errors == ()
    assert as_owner(house, "SHOW TABLES FROM lent") == ()


@pytest.mark.parametrize(("user", "with_files"), [("any", False), ("other", True)])
def test_without_the_certificate_it_is_said_what_may_be_missing(
    house: PrivateServer, tmp_path: Path, user: str, *, with_files: bool
) -> None:
    files = own_files(house) if with_files else ()
    said = sentence(tlstax_run(tmp_path, url(house, user), *RUN, *files), 2)
    assert ("another certificate than" if with_files else "a certificate (--ssl-cert, --ssl-key)") in said
