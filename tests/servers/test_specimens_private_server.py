"""Private servers as their users meet them: real MySQL 9.7 and MariaDB 11.8, started from nothing."""

from __future__ import annotations

import os
import re
import signal
import ssl
import stat
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pymysql
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa

from conftest import fetched
from tlstax.mysql import server_tls
from tlstax.specimens.certificates import CertificateRequest
from tlstax.specimens.initial_data import PREFIX
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server import Server
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.sql.table_rows import TableContent
from tlstax.support.errors import MachineFault, UserMistake

SMALL = 64 * 1024 * 1024


def answer(server: PrivateServer, statement: str) -> tuple[Any, ...]:
    with server.admin() as database:
        return tuple(database.rows(statement))


def log_in(server: PrivateServer, user: str, password: str, **options: Any) -> pymysql.Connection[Any]:
    endpoint = server.endpoint()
    return pymysql.connect(
        host=endpoint.host, port=endpoint.port, user=user, password=password, read_timeout=20, **options
    )


def load_log_in(server: PrivateServer, **options: Any) -> pymysql.Connection[Any]:
    account = server.load_account
    return log_in(server, account.user, account.password, **options)


def directory_of(server: PrivateServer) -> Path:
    return Path(server.unix_endpoint().path).parent


def pid_of(server: PrivateServer) -> int:
    assert server.pid is not None
    return server.pid


def test_it_says_what_it_is(private: PrivateServer) -> None:
    served: Server = private
    specimen = served.specimen
    number = re.match(r"\d+\.\d+\.\d+", specimen.version)
    assert number is not None
    assert served.version.startswith(number[0])
    assert served.tls_library_version is not None
    assert served.tls_library_version.startswith("OpenSSL 3")
    assert specimen.origin in {"Debian sid", "Debian trixie"}
    assert len(specimen.sha256) == 64
    assert "libssl3t64" in specimen.packages


def test_it_listens_on_this_machine_only(private: PrivateServer) -> None:
    listening = [
        connection.laddr
        for connection in psutil.Process(pid_of(private)).net_connections(kind="inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert [(address.ip, address.port) for address in listening] == [("127.0.0.1", private.endpoint().port)]


def test_its_secrets_are_kept(private: PrivateServer) -> None:
    directory = directory_of(private)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert stat.S_IMODE((directory / "server-key.pem").stat().st_mode) == 0o600
    assert not list(directory.glob("*.sql"))
    assert "temporary password" not in private.log_tail(1000)
    secret = private.load_account.password
    assert secret not in " ".join(psutil.Process(pid_of(private)).cmdline())
    assert secret not in private.log_tail(1000)
    assert secret not in repr(private.load_account)


@pytest.mark.parametrize("user", ["root", "", "mysql", "mariadb.sys", "tlstax_admin", "tlstax_load"])
def test_nobody_gets_in_without_a_password(private: PrivateServer, user: str) -> None:
    with pytest.raises(pymysql.MySQLError):
        log_in(private, user, "")
    with pytest.raises(pymysql.MySQLError):
        pymysql.connect(unix_socket=private.unix_endpoint().path, user=user, password="")


def test_the_load_account_has_its_schema_and_no_more(private: PrivateServer) -> None:
    with load_log_in(private) as database, database.cursor() as cursor:
        cursor.execute("SHOW DATABASES")
        schemas = {row[0] for row in cursor.fetchall()}
        assert "tlstax" in schemas
        assert "mysql" not in schemas
        with pytest.raises(pymysql.MySQLError):
            cursor.execute("SELECT * FROM mysql.user")
        with pytest.raises(pymysql.MySQLError):
            cursor.execute("CREATE DATABASE elsewhere")


def test_the_load_account_can_log_in_without_tls_at_once(private: PrivateServer) -> None:
    """MySQL's caching_sha2_password would ask for the password in full if it were the account's first."""
    with load_log_in(private, ssl_disabled=True) as database, database.cursor() as cursor:
        cursor.execute("SHOW SESSION STATUS LIKE 'Ssl_version'")
        assert cursor.fetchone() == ("Ssl_version", "")


@pytest.mark.long
def test_each_plugin_has_an_account_of_its_own_that_stays(session: Session) -> None:
    """One that was asked for first is not taken for the next, and both log in after a restart."""
    asked = ("mysql_native_password", "sha256_password", "mysql_native_password", "caching_sha2_password")
    with PrivateServer.start(
        fetched("mysql-8.0.33"), session, ServerSettings(buffer_pool_bytes=SMALL)
    ) as server:
        given = {plugin: server.account_by(plugin) for plugin in asked}
        plugins = dict(answer(server, "SELECT User, plugin FROM mysql.user"))
        assert {plugin: plugins[account.user] for plugin, account in given.items()} == {
            plugin: plugin for plugin in given
        }
        assert given["caching_sha2_password"] == server.load_account
        os.kill(pid_of(server), signal.SIGKILL)
        wait_until(lambda: not server.is_alive())
        server.restart()
        for account in given.values():
            context = ssl.create_default_context(cafile=server.ca_file)
            log_in(server, account.user, account.password, ssl=context).close()
        assert server.account_by_certificate() == server.account_by_certificate()


def test_its_certificate_verifies(private: PrivateServer) -> None:
    context = ssl.create_default_context(cafile=private.ca_file)
    with load_log_in(private, ssl=context) as database, database.cursor() as cursor:
        cursor.execute("SHOW SESSION STATUS LIKE 'Ssl_version'")
        assert cursor.fetchone() == ("Ssl_version", "TLSv1.3")
    with private.admin() as database:
        facts = server_tls.facts(database)
    assert facts.offered
    assert facts.versions == ("TLSv1.2", "TLSv1.3")
    assert facts.certificate_file == str(directory_of(private) / "server-cert.pem")


def test_it_is_set_up_for_measuring(private: PrivateServer) -> None:
    variables = "innodb_buffer_pool_size, log_bin, general_log, skip_name_resolve, max_connect_errors"
    (row,) = answer(private, "SELECT " + ", ".join(f"@@{name.strip()}" for name in variables.split(",")))
    assert row == (128 * 1024 * 1024, 0, 0, 1, 4294967295)
    private.check_connections(64)
    with pytest.raises(UserMistake, match="1000000 connections were asked for"):
        private.check_connections(1_000_000)


def test_a_paused_server_does_nothing_and_goes_on(private: PrivateServer) -> None:
    process = psutil.Process(pid_of(private))
    private.pause()
    try:
        wait_until(lambda: process.status() == psutil.STATUS_STOPPED)
        before = process.cpu_times()
        time.sleep(0.2)
        assert process.cpu_times()[:2] == before[:2]
        assert private.is_alive()
    finally:
        private.resume()
    assert answer(private, "SELECT 1") == ((1,),)


def test_a_paused_server_keeps_its_connections_and_lets_others_start(
    private: PrivateServer, session: Session, mariadb_build: ServerBuild
) -> None:
    with private.admin() as database:
        private.pause()
        try:
            with PrivateServer.start(mariadb_build, session) as other:
                assert answer(other, "SELECT 1") == ((1,),)
        finally:
            private.resume()
        assert database.rows("SELECT @@wait_timeout")[0] == (365 * 24 * 3600,)


def wait_until(condition: Any, timeout_s: float = 20.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


CONTENT = TableContent(rows=25_000, seed=11)


def test_the_table_is_sysbenchs_and_is_reused(private: PrivateServer) -> None:
    steps: list[str] = []
    assert private.prepare_table(CONTENT, steps.append) == 25_000
    columns = answer(
        private,
        "SELECT COLUMN_NAME, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH, IS_NULLABLE, EXTRA, COLUMN_KEY"
        " FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = 'tlstax' AND TABLE_NAME = 'sbtest1'"
        " ORDER BY ORDINAL_POSITION",
    )
    assert columns == (
        ("id", "int", None, "NO", "auto_increment", "PRI"),
        ("k", "int", None, "NO", "", "MUL"),
        ("c", "char", 120, "NO", "", ""),
        ("pad", "char", 60, "NO", "", ""),
    )
    assert answer(private, "SELECT COUNT(*), MIN(id), MAX(id) FROM sbtest1") == ((25_000, 1, 25_000),)
    (sample,) = answer(private, "SELECT c, pad FROM sbtest1 WHERE id = 20001")
    assert re.fullmatch(r"\d{11}(-\d{11}){9}", sample[0])
    assert re.fullmatch(r"\d{11}(-\d{11}){4}", sample[1])
    assert len(steps) == 1
    private.prepare_table(CONTENT, steps.append)
    assert len(steps) == 1, "an equal table was filled again"


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE sbtest1 SET c = REVERSE(c) WHERE id = 77",
        "DELETE FROM sbtest1 WHERE id = 25000",
        "ALTER TABLE sbtest1 DROP INDEX k_1",
        "UPDATE sbtest1 a JOIN sbtest1 b ON a.id = 1 AND b.id = 2 SET a.pad = b.pad",
    ],
)
def test_a_changed_table_is_filled_anew(private: PrivateServer, change: str) -> None:
    private.prepare_table(CONTENT)
    unchanged = answer(private, "CHECKSUM TABLE sbtest1")
    answer(private, change)
    private.prepare_table(CONTENT)
    assert answer(private, "CHECKSUM TABLE sbtest1") == unchanged
    assert answer(private, "SHOW INDEX FROM sbtest1 WHERE Key_name = 'k_1'")


def test_servers_of_both_products_hold_the_same_rows(mysql: PrivateServer, mariadb: PrivateServer) -> None:
    statement = "SELECT id, k, c, pad FROM sbtest1 WHERE id % 97 = 0 ORDER BY id"
    for server in (mysql, mariadb):
        server.prepare_table(CONTENT)
    assert answer(mysql, statement) == answer(mariadb, statement)


def test_a_table_of_the_users_is_never_touched(private: PrivateServer) -> None:
    answer(private, "DROP TABLE IF EXISTS sbtest1")
    answer(private, "CREATE TABLE sbtest1 (mine INT)")
    try:
        with pytest.raises(UserMistake, match="a table sbtest1 that tlstax did not make"):
            private.prepare_table(CONTENT)
        assert answer(private, "SHOW COLUMNS FROM sbtest1")[0][0] == "mine"
    finally:
        answer(private, "DROP TABLE sbtest1")


def test_a_start_that_fails_says_why_and_leaves_nothing(session: Session, mysql_build: ServerBuild) -> None:
    before, directories = children(), set(session.path.iterdir())
    with pytest.raises(MachineFault, match=r"mysql-9\.7 .* unknown variable 'nonsense=1'"):
        PrivateServer.start(mysql_build, session, ServerSettings(options=("--nonsense=1",)))
    assert children() == before
    assert set(session.path.iterdir()) == directories


def test_a_mariadb_that_fails_says_why(session: Session, mariadb_build: ServerBuild) -> None:
    with pytest.raises(MachineFault, match=r"mariadb-11\.8 .* unknown variable 'nonsense=1'"):
        PrivateServer.start(mariadb_build, session, ServerSettings(options=("--nonsense=1",)))


@pytest.mark.parametrize("kept", [False, True])
def test_a_start_that_takes_too_long_is_given_up(
    session: Session, mysql_build: ServerBuild, mysql: PrivateServer, *, kept: bool
) -> None:
    """By whichever program it is that takes too long; `mysql` has seen to it that data are kept."""
    assert mysql.is_alive()
    build = mysql_build if kept else replace(mysql_build, shelved=None)
    before = children()
    late = "did not answer within 0 s" if kept else "did not initialise its data in time"
    with pytest.raises(MachineFault, match=late):
        PrivateServer.start(build, session, ServerSettings(start_timeout_s=0.2))
    assert children() == before


@pytest.fixture(params=[pytest.param("mysql-9.7", marks=pytest.mark.long), "mariadb-11.8"])
def build_of_its_own(request: pytest.FixtureRequest, tmp_path: Path) -> ServerBuild:
    """A build of which no data are kept yet."""
    return replace(fetched(request.param), shelved=tmp_path)


def kept_in(build: ServerBuild) -> Path:
    assert build.shelved is not None
    (place,) = build.shelved.glob(f"{PREFIX}*")
    return place


def what_it_is(server: PrivateServer) -> dict[str, list[Any]]:
    """Its tables, accounts and settings, in words that do not depend on where it is."""
    place, port = str(directory_of(server)), str(server.endpoint().port)
    settings = {
        name: value.replace(place, "").replace(port, "") if isinstance(value, str) else value
        for name, value in answer(server, "SHOW GLOBAL VARIABLES")
    }
    tables = (
        "SELECT table_schema, table_name, engine, row_format FROM information_schema.tables ORDER BY 1, 2"
    )
    return {
        "tables": sorted(answer(server, tables)),
        "accounts": sorted(answer(server, "SELECT user, host, plugin FROM mysql.user")),
        "rows": sorted(answer(server, "CHECKSUM TABLE mysql.help_topic, mysql.proxies_priv, mysql.db")),
        "settings": sorted((name, value) for name, value in settings.items() if name not in OF_ONE_SERVER),
    }


OF_ONE_SERVER = {"server_uuid", "server_uid", "timestamp"}


def test_a_server_on_kept_data_is_like_one_that_made_its_own_and_another_than_all_others(
    session: Session, build_of_its_own: ServerBuild
) -> None:
    with PrivateServer.start(build_of_its_own, session) as first:
        made = kept_in(build_of_its_own).stat().st_ino
        with PrivateServer.start(build_of_its_own, session) as second:
            assert what_it_is(second) == what_it_is(first)
            identities = [own_identity(server) for server in (first, second)]
        assert kept_in(build_of_its_own).stat().st_ino == made
    assert not any(set(one) & set(other) for one, other in [identities])
    kept = {path.name: path.read_bytes() for path in kept_in(build_of_its_own).rglob("*") if path.is_file()}
    assert not any(name.endswith(".pem") or name == "auto.cnf" for name in kept)
    assert not any(b"tlstax" in content for content in kept.values())


def own_identity(server: PrivateServer) -> list[str]:
    """What must be another at each server: its number, and the key by which it takes passwords."""
    if server.product.name == "mariadb":
        return []
    (key,) = answer(server, "SHOW STATUS LIKE 'Caching_sha2_password_rsa_public_key'")
    (number,) = answer(server, "SELECT @@server_uuid")
    return [key[1], number[0]]


def test_kept_data_that_were_damaged_are_made_anew(session: Session, build_of_its_own: ServerBuild) -> None:
    PrivateServer.start(build_of_its_own, session).stop()
    tables = kept_in(build_of_its_own) / "ibdata1"
    whole = tables.stat().st_size
    tables.write_bytes(b"damaged" * 1000)
    for _ in range(2):
        with PrivateServer.start(build_of_its_own, session) as server:
            assert answer(server, "SELECT 1") == ((1,),)
        assert tables.stat().st_size == whole


def children() -> set[int]:
    return {child.pid for child in psutil.Process().children(recursive=True)}


@pytest.fixture
def special(
    request: pytest.FixtureRequest, session: Session, mysql_build: ServerBuild
) -> Iterator[PrivateServer]:
    """A MySQL of its own for one test, with the settings that its parameter gives."""
    with PrivateServer.start(mysql_build, session, request.param) as server:
        yield server


@pytest.mark.parametrize(
    "special", [ServerSettings(options=("--tls-version=",), buffer_pool_bytes=SMALL)], indirect=True
)
def test_tls_can_be_off(special: PrivateServer) -> None:
    with special.admin() as database:
        assert not server_tls.facts(database).offered
    with load_log_in(special) as database, database.cursor() as cursor:
        cursor.execute("SELECT USER()")
        assert str((cursor.fetchone() or ("",))[0]).startswith("tlstax_load")


EXPIRED = CertificateRequest(valid_for=timedelta(days=-2))


def test_a_certificate_may_have_expired(session: Session, mariadb_build: ServerBuild) -> None:
    with PrivateServer.start(mariadb_build, session, ServerSettings(certificate=EXPIRED)) as server:
        context = ssl.create_default_context(cafile=server.ca_file)
        with pytest.raises(pymysql.MySQLError, match="certificate has expired"):
            load_log_in(server, ssl=context)


WEAK = ServerSettings(
    certificate=CertificateRequest(key="rsa-1024"),
    openssl_conf=(
        "openssl_conf = conf\n[conf]\nssl_conf = ssl\n[ssl]\nsystem_default = weak\n"
        "[weak]\nCipherString = DEFAULT:@SECLEVEL=0\n"
    ),
)


@pytest.mark.parametrize("special", [WEAK], indirect=True)
def test_its_openssl_reads_the_configuration_that_is_given(special: PrivateServer) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    database: Any
    with load_log_in(special, ssl=context) as database:
        shown = database._sock.getpeercert(binary_form=True)
    key = x509.load_der_x509_certificate(shown).public_key()
    assert isinstance(key, rsa.RSAPublicKey)
    assert key.key_size == 1024


def test_it_is_pinned_and_watched_from_before_its_exec(session: Session, mariadb_build: ServerBuild) -> None:
    seen: list[tuple[int, str]] = []

    def watch(pid: int) -> None:
        seen.append((pid, Path(f"/proc/{pid}/comm").read_text(encoding="utf-8").strip()))

    cpu = max(os.sched_getaffinity(0))
    settings = ServerSettings(cpus=(cpu,), buffer_pool_bytes=SMALL, before_exec=watch)
    with PrivateServer.start(mariadb_build, session, settings) as server:
        process = psutil.Process(pid_of(server))
        assert process.cpu_affinity() == [cpu]
        assert seen[-1][0] == process.pid
        assert "mariadbd" in " ".join(process.cmdline())
    assert not psutil.pid_exists(process.pid)
    assert {program for _, program in seen} <= {"setpriv", "sh"}


def test_a_crash_is_noticed(session: Session, mariadb_build: ServerBuild) -> None:
    with PrivateServer.start(mariadb_build, session) as server:
        directory = directory_of(server)
        os.kill(pid_of(server), signal.SIGKILL)
        wait_until(lambda: not server.is_alive())
        assert server.pid is None
        with pytest.raises(MachineFault, match=r"mariadb-11\.8 does not answer"):
            server.admin()
        assert "ready for connections" in server.log_tail()
    assert not directory.exists()


def test_stopping_ends_a_paused_server_and_removes_its_data(
    session: Session, mariadb_build: ServerBuild
) -> None:
    with PrivateServer.start(mariadb_build, session) as server:
        pid, directory = pid_of(server), directory_of(server)
        server.pause()
    assert not psutil.pid_exists(pid)
    assert not directory.exists()
    assert not server.is_alive()
    server.stop()
