"""Logging in to an external PostgreSQL: each mode and method does what it says, each way to fail is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tlstax.contract import Account, AuthMethod
from tlstax.external import access as external_access
from tlstax.external import connection as external_connection
from tlstax.external.access import AccessOptions, ExternalAccess, ExternalAddress
from tlstax.external.given_password import GivenPassword
from tlstax.external.libpq import UNCHECKED, VARIABLES
from tlstax.external.tls import ExternalTls, SslMode
from tlstax.postgres.database import PostgresDatabase
from tlstax.postgres.guarded_connection import GuardedDatabase
from tlstax.specimens import certificates
from tlstax.specimens.certificates import Certificates
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.sql.database import SqlError
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake

SMALL = 64 * 1024 * 1024


@pytest.fixture(scope="module")
def server(session: Session, postgresql_build: ServerBuild) -> Iterator[PrivateServer]:
    """A server whose lines of hosts let the load's account into one more database, that is not there."""
    request = certificates.requested("ec-p256", clients=True)
    settings = ServerSettings(buffer_pool_bytes=SMALL, certificate=request)
    with PrivateServer.start(postgresql_build, session, settings) as running:
        with running.admin() as admin:
            assert isinstance(admin, PostgresDatabase)
            ((folder,),) = admin.apart.rows("SHOW data_directory")
            hosts = Path(folder) / "pg_hba.conf"
            with hosts.open("a") as file:
                file.write('host missing "tlstax_load" all scram-sha-256\n')
            admin.apart.rows("SELECT pg_reload_conf()")
        yield running


def access_for(server: PrivateServer, account: Account | None = None, **changed: Any) -> ExternalAccess:
    """The way in as a user would have it."""
    account, endpoint = account or server.load_account, server.endpoint()
    address = ExternalAddress(
        endpoint.host, endpoint.port, account.user, product="postgresql", database=account.database
    )
    return replace(ExternalAccess(address, account.user, account.password), **changed)


def failure(access: ExternalAccess, fault: type[TlstaxError], words: str, timeout_s: float = 10.0) -> str:
    with pytest.raises(fault) as caught:
        external_connection.connect(access, None, timeout_s).close()
    sentence = caught.value.sentence()
    assert words in sentence
    assert caught.value.remedy
    assert not access.password or access.password not in sentence
    assert "\n" not in sentence
    return sentence


def connected(access: ExternalAccess) -> tuple[str, bool, str | None]:
    """By what the account was proved, whether the connection is encrypted, and in what the server says."""
    with external_connection.connect(access, None) as database:
        ((version,),) = database.rows("SELECT version FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
        ((number,),) = database.rows("SELECT pg_backend_pid()")
        assert number == database.number
        return database.account_plugin, database.is_encrypted, version


@pytest.mark.parametrize(
    ("mode", "seen"),
    [
        ("DISABLED", ("scram-sha-256", False, None)),
        ("PREFERRED", ("scram-sha-256-plus", True, "TLSv1.3")),
        ("REQUIRED", ("scram-sha-256-plus", True, "TLSv1.3")),
        ("VERIFY_CA", ("scram-sha-256-plus", True, "TLSv1.3")),
        ("VERIFY_IDENTITY", ("scram-sha-256-plus", True, "TLSv1.3")),
    ],
)
def test_each_mode_does_what_it_says(server: PrivateServer, mode: SslMode, seen: tuple[object, ...]) -> None:
    file = server.ca_file if mode.startswith("VERIFY") else None
    assert connected(access_for(server, tls=ExternalTls(mode, file))) == seen


def test_tls_begins_at_once_where_that_is_asked_for(server: PrivateServer) -> None:
    assert connected(access_for(server, tls=ExternalTls("REQUIRED", direct=True)))[1:] == (True, "TLSv1.3")


def test_what_libpq_is_told_leads_there(
    server: PrivateServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A service, a password file and a root.crt of the user's, and nothing in the URL."""
    for variable in (*VARIABLES.values(), *(name for name, _ in UNCHECKED.values()), "PGSERVICEFILE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    account, endpoint = server.load_account, server.endpoint()
    (tmp_path / ".pg_service.conf").write_text(
        f"[lent]\nhost={endpoint.host}\nport={endpoint.port}\ndbname={account.database}\nsslmode=verify-full\n"
    )
    password_file = tmp_path / ".pgpass"
    password_file.write_text(f"{endpoint.host}:*:{account.database}:{account.user}:{account.password}\n")
    password_file.chmod(0o600)
    (tmp_path / ".postgresql").mkdir()
    (tmp_path / ".postgresql" / "root.crt").write_bytes(Path(server.ca_file).read_bytes())
    access = external_access.settle(AccessOptions(f"postgres://{account.user}@/?service=lent"))
    assert connected(access) == ("scram-sha-256-plus", True, "TLSv1.3")
    socket = Path(server.unix_endpoint().path).parent
    own = GivenPassword(account.password.encode())
    over_socket = external_access.settle(
        AccessOptions(f"postgres://{account.user}@:{endpoint.port}/tlstax?host={socket}", given_password=own)
    )
    assert connected(over_socket) == ("scram-sha-256", False, None)


@pytest.mark.parametrize(
    ("plugin", "proved"), [("md5", "md5"), ("trust", "none"), ("scram-sha-256", "scram-sha-256-plus")]
)
def test_each_method_of_accounts_is_answered(server: PrivateServer, plugin: str, proved: str) -> None:
    assert connected(access_for(server, server.account_by(plugin)))[0] == proved


def test_the_password_itself_goes_to_a_verified_server_alone(server: PrivateServer) -> None:
    account = server.account_by("password")
    for mode in ("PREFERRED", "REQUIRED"):
        access = access_for(server, account, tls=ExternalTls(mode))
        failure(access, MachineFault, "in clear text over a connection whose certificate was not verified")
    verified = access_for(server, account, tls=ExternalTls("VERIFY_CA", server.ca_file))
    with external_connection.connect(verified, None) as database:
        assert (database.account_plugin, database.password_was_sent) == ("password", True)


def test_a_client_certificate_is_shown_and_its_lack_is_told(server: PrivateServer) -> None:
    files: Certificates = server.certificates
    assert files.client is not None
    own = ExternalTls("REQUIRED", None, str(files.client.certificate_file), str(files.client.key_file))
    account = server.account_by("cert")
    assert connected(access_for(server, account, tls=own))[:2] == ("none", True)
    without = access_for(server, account, tls=ExternalTls("REQUIRED"))
    failure(without, UserMistake, "only with a client certificate that it trusts")


def test_a_certificate_of_another_authority_is_told(server: PrivateServer, tmp_path: Path) -> None:
    strange = certificates.issue(tmp_path, certificates.requested("ec-p256", clients=True)).client
    assert strange is not None
    tls = ExternalTls("REQUIRED", None, str(strange.certificate_file), str(strange.key_file))
    said = failure(access_for(server, tls=tls), UserMistake, "does not take the client certificate in")
    assert str(strange.certificate_file) in said


@pytest.mark.parametrize("method", ["md5", "none"])
def test_a_method_that_is_not_allowed_is_told(server: PrivateServer, method: AuthMethod) -> None:
    access = access_for(server, require_auth=(method,), auth_by=f"require_auth={method} in the URL")
    failure(access, MachineFault, f"asks for SCRAM, which require_auth={method} in the URL does not allow")


def test_a_server_that_asks_for_nothing_is_not_enough_where_a_proof_is_demanded(
    server: PrivateServer,
) -> None:
    access = access_for(
        server, server.account_by("trust"), require_auth=("scram-sha-256",), auth_by="PGREQUIREAUTH"
    )
    failure(access, MachineFault, "lets whoever comes in without asking for a proof")


def test_a_channel_is_bound_or_not_as_that_is_said(server: PrivateServer) -> None:
    bound: tuple[AuthMethod, ...] = ("scram-sha-256-plus",)
    assert connected(access_for(server, require_auth=bound))[0] == "scram-sha-256-plus"
    assert connected(access_for(server, require_auth=("scram-sha-256",)))[0] == "scram-sha-256"
    access = access_for(server, require_auth=bound, tls=ExternalTls("DISABLED"), auth_by="channel_binding")
    failure(access, MachineFault, "asks for SCRAM without binding it")


def test_a_wrong_password_and_an_unknown_user_are_told(server: PrivateServer) -> None:
    access = replace(access_for(server), password="not-this-one")
    failure(access, UserMistake, f"{access.address} refused the user tlstax_load")
    failure(replace(access, user="nobody-here"), UserMistake, "no line of pg_hba.conf at")


def test_what_pg_hba_conf_has_no_line_for_is_told(server: PrivateServer) -> None:
    access = access_for(server, server.account_by("scram-sha-256-plus"), tls=ExternalTls("DISABLED"))
    said = failure(access, UserMistake, "no line of pg_hba.conf at")
    assert "without TLS" in said


def test_a_database_that_is_not_there_is_told(server: PrivateServer) -> None:
    access = access_for(server)
    missing = replace(access, address=replace(access.address, database="missing"))
    failure(missing, UserMistake, "has no database missing")


def test_a_role_without_free_connections_is_told(server: PrivateServer) -> None:
    account = server.account_by("md5")
    with server.admin() as admin:
        assert isinstance(admin, PostgresDatabase)
        admin.apart.rows(f'ALTER ROLE "{account.user}" CONNECTION LIMIT 0')
        try:
            failure(access_for(server, account), MachineFault, "has no free connection")
        finally:
            admin.apart.rows(f'ALTER ROLE "{account.user}" CONNECTION LIMIT -1')


def test_who_answers_is_checked(server: PrivateServer, tmp_path: Path) -> None:
    tls = ExternalTls("VERIFY_IDENTITY", server.ca_file)
    access = access_for(server, tls=tls)
    other = replace(access, address=replace(access.address, host="127.1"))
    failure(other, UserMistake, "was not issued for 127.1")
    assert connected(replace(other, tls=ExternalTls("VERIFY_CA", server.ca_file)))[1]
    strangers = certificates.issue(tmp_path).ca_file
    said = failure(access_for(server, tls=ExternalTls("VERIFY_CA", str(strangers))), UserMistake, "CN=tlstax")
    assert str(strangers) in said
    failure(access_for(server, tls=ExternalTls("VERIFY_CA", "/none.pem")), UserMistake, "does not exist")


def test_a_paused_server_is_not_waited_for_for_ever(server: PrivateServer) -> None:
    server.pause()
    try:
        failure(access_for(server), MachineFault, "sent nothing for", timeout_s=0.5)
    finally:
        server.resume()


def test_a_server_whose_certificate_has_expired(session: Session, postgresql_build: ServerBuild) -> None:
    expired = certificates.CertificateRequest(valid_for=timedelta(days=-1))
    settings = ServerSettings(buffer_pool_bytes=SMALL, certificate=expired)
    with PrivateServer.start(postgresql_build, session, settings) as running:
        tls = ExternalTls("VERIFY_CA", running.ca_file)
        failure(access_for(running, tls=tls), MachineFault, "has expired")
        with running.admin() as admin:
            running.product.server_tls.accept(admin, running.product.server_tls.NO_TLS)
        demanding = access_for(running, tls=ExternalTls("REQUIRED", mode_by="PGSSLMODE=require"))
        said = failure(demanding, UserMistake, "does not offer TLS, which PGSSLMODE=require demands")
        assert "ssl_cert_file" in said
        assert connected(access_for(running)) == ("scram-sha-256", False, None)


def test_a_mysql_server_is_told(mysql: PrivateServer) -> None:
    account = Account(user="ann", password="secret", database="x")
    for tls in (ExternalTls(), ExternalTls("DISABLED")):
        failure(access_for(mysql, account, tls=tls), UserMistake, "is a MySQL or MariaDB server")


def test_a_statement_that_fails_leaves_the_connection_and_a_lost_one_is_closed(server: PrivateServer) -> None:
    with external_connection.connect(access_for(server), None) as database:
        assert isinstance(database, GuardedDatabase)
        with pytest.raises(SqlError) as wrong:
            database.rows("SELECT nothing")
        assert (wrong.value.code, database.is_open) == ("42703", True)
        database.wait_at_most(0.5)
        with pytest.raises(SqlError) as late:
            database.rows("SELECT pg_sleep(30)")
        assert late.value.is_of_connection
        assert not database.is_open
    assert external_connection.connect(access_for(server), None).is_open
