"""Every way in which a connection to a guest can fail, each told in one sentence with its address."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from tlstax.external import connection as external_connection
from tlstax.external.access import ExternalAccess, ExternalAddress
from tlstax.external.server import ExternalServer
from tlstax.external.tls import ExternalTls, SslMode
from tlstax.specimens import certificates
from tlstax.specimens.certificates import CertificateRequest
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.sql.database import Database
from tlstax.support.errors import MachineFault, TlstaxError, UserMistake

SMALL = 64 * 1024 * 1024
PASSWORD = "only-for-this-test"


def access_to(port: int, host: str = "127.0.0.1", tls: ExternalTls | None = None) -> ExternalAccess:
    return ExternalAccess(ExternalAddress(host, port, "ann"), "ann", PASSWORD, tls or ExternalTls())


def access_for(server: PrivateServer, tls: ExternalTls | None = None) -> ExternalAccess:
    """The load account's way in, as a guest would be given it."""
    account, endpoint = server.load_account, server.endpoint()
    address = ExternalAddress(endpoint.host, endpoint.port, account.user)
    return ExternalAccess(address, account.user, account.password, tls or ExternalTls())


def failure(access: ExternalAccess, fault: type[TlstaxError], words: str, timeout_s: float = 5.0) -> str:
    """The sentence of the expected failure, checked for what every such sentence owes."""
    with pytest.raises(fault) as caught:
        external_connection.connect(access, None, timeout_s).close()
    sentence = caught.value.sentence()
    assert words in sentence
    assert access.address.host in sentence
    assert caught.value.remedy
    assert access.password not in sentence
    assert "\n" not in sentence
    assert "Traceback" not in sentence
    return sentence


@contextmanager
def listener(*said: bytes, close: bool = False) -> Iterator[int]:
    """A port that says these words to each who connects, then stays silent or closes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        open_channels: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    channel, _ = server.accept()
                except OSError:
                    return
                for word in said:
                    channel.sendall(word)
                if close:
                    channel.close()
                open_channels.append(channel)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        for channel in open_channels:
            channel.close()


def test_an_unknown_host() -> None:
    failure(access_to(3306, host="no-such-host.invalid"), UserMistake, "no-such-host.invalid is unknown")
    failure(access_to(3306, host="x" * 70), UserMistake, "is unknown")
    failure(access_to(3306, host="a..b"), UserMistake, "is unknown")


def test_a_closed_port() -> None:
    with listener() as port:
        pass
    failure(access_to(port), UserMistake, f"nothing listens on 127.0.0.1:{port}")


@pytest.mark.parametrize(
    "said",
    [b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", b"220 mail.example ESMTP\r\n", b"\x05\0\0\0\x0b\x08\x05\x1a\0"],
)
def test_a_port_that_is_not_mysql(said: bytes) -> None:
    with listener(said) as port:
        failure(access_to(port), UserMistake, f"127.0.0.1:{port} does not speak MySQL's protocol")


def test_a_port_that_stays_silent() -> None:
    with listener() as port:
        failure(access_to(port), MachineFault, f"127.0.0.1:{port} accepted the connection", timeout_s=0.3)
    with listener(b"\x4a\0\0") as port:
        failure(access_to(port), UserMistake, "does not speak MySQL's protocol", timeout_s=0.3)


def test_a_port_that_closes_at_once() -> None:
    with listener(close=True) as port:
        failure(access_to(port), MachineFault, "closed it without sending anything")


GREETING = (
    b"K\x00\x00\x00\n9.7.4-2\x00!,\x00\x00R4^\x13\x15\x08Ic\x00\xff\xff\xff\x02\x00\xff\xdf\x15\x00\x00\x00\x00"
    b"\x00\x00\x00\x00\x00\x00#\x08[\x10S5sd>J@-\x00caching_sha2_password\x00"
)


def test_a_server_that_greets_and_then_hangs() -> None:
    with listener(GREETING) as port:
        failure(access_to(port), MachineFault, "sent its greeting and then nothing more", timeout_s=0.3)


def test_a_server_that_greets_and_then_closes() -> None:
    with listener(GREETING, close=True) as port:
        failure(access_to(port), MachineFault, f"127.0.0.1:{port}")


def test_a_greeting_in_pieces_is_waited_for() -> None:
    with listener(GREETING[:3], GREETING[3:20], GREETING[20:]) as port:
        failure(access_to(port), MachineFault, "sent its greeting and then nothing more", timeout_s=0.5)


@pytest.mark.parametrize(
    ("packet", "fault", "words"),
    [
        (b"\x04Too many connections", MachineFault, "max_connections"),
        (b"\x69\x04Host 'h' is blocked because of many connection errors", MachineFault, "FLUSH HOSTS"),
        (b"\x6a\x04Host 'h' is not allowed to connect to this server", UserMistake, "from this machine"),
    ],
)
def test_a_refusal_in_place_of_a_greeting(packet: bytes, fault: type[TlstaxError], words: str) -> None:
    payload = b"\xff" + (b"\x10" + packet if packet[:1] == b"\x04" else packet)
    with listener(len(payload).to_bytes(3, "little") + b"\0" + payload) as port:
        failure(access_to(port), fault, words)


def test_a_wrong_password(private: PrivateServer) -> None:
    access = replace(access_for(private), password="not-this-one")
    failure(access, UserMistake, f"{access.address} refused the user tlstax_load")
    plain = replace(access, tls=ExternalTls("DISABLED"))
    # MySQL wants all of a password that it does not know, which without TLS it does not get.
    wanted = (
        "wants the whole password" if "MariaDB" not in private.version else "this password and without TLS"
    )
    failure(plain, UserMistake, wanted)


def test_an_unknown_user(private: PrivateServer) -> None:
    failure(replace(access_for(private), user="nobody-here"), UserMistake, "refused the user nobody-here")


@pytest.mark.parametrize(
    ("mode", "version"),
    [("DISABLED", ""), ("PREFERRED", "TLSv1.3"), ("REQUIRED", "TLSv1.3"), ("VERIFY_CA", "TLSv1.3")],
)
def test_each_mode_does_what_it_says(private: PrivateServer, mode: SslMode, version: str) -> None:
    tls = ExternalTls(mode, private.ca_file if mode == "VERIFY_CA" else None)
    with external_connection.connect(access_for(private, tls), "tlstax") as database:
        assert database.rows("SHOW SESSION STATUS LIKE 'Ssl_version'") == [("Ssl_version", version)]
        assert database.rows("SELECT DATABASE(), @@autocommit") == [("tlstax", 1)]


def test_the_identity_is_checked(private: PrivateServer) -> None:
    tls = ExternalTls("VERIFY_IDENTITY", private.ca_file)
    external_connection.connect(access_for(private, tls), None).close()
    access = access_for(private, tls)
    other_name = replace(access, address=replace(access.address, host="127.1"))
    failure(other_name, UserMistake, "was not issued for 127.1")
    external_connection.connect(
        replace(other_name, tls=ExternalTls("VERIFY_CA", private.ca_file)), None
    ).close()


def test_an_unknown_authority(private: PrivateServer, tmp_path: Path) -> None:
    strangers = certificates.issue(tmp_path).ca_file
    tls = ExternalTls("VERIFY_CA", str(strangers))
    mistaken = failure(access_for(private, tls), UserMistake, "CN=tlstax private authority")
    assert str(strangers) in mistaken


def test_a_long_statement_is_waited_for(private: PrivateServer) -> None:
    """The time limit of the login does not hold for statements."""
    database = external_connection.connect(access_for(private), None, timeout_s=1.0)
    with database:
        assert database.rows("SELECT SLEEP(1.5)")[0] == (0,)


def test_a_paused_server_is_not_waited_for_for_ever(private: PrivateServer) -> None:
    private.pause()
    try:
        failure(access_for(private), MachineFault, "sent nothing for", timeout_s=0.5)
    finally:
        private.resume()


@contextmanager
def server_with(
    session: Session, build: ServerBuild, *options: str, certificate: CertificateRequest | None = None
) -> Iterator[PrivateServer]:
    settings = ServerSettings(
        options=options, buffer_pool_bytes=SMALL, certificate=certificate or CertificateRequest()
    )
    with PrivateServer.start(build, session, settings) as server:
        yield server


def test_an_expired_certificate(session: Session, mariadb_build: ServerBuild) -> None:
    expired = CertificateRequest(valid_for=timedelta(days=-1))
    with server_with(session, mariadb_build, certificate=expired) as server:
        tls = ExternalTls("VERIFY_CA", server.ca_file)
        failure(access_for(server, tls), MachineFault, f"{access_for(server).address} has expired")
        external_connection.connect(access_for(server, ExternalTls("REQUIRED")), None).close()


@pytest.mark.parametrize("mode", ["REQUIRED", "VERIFY_CA"])
def test_a_server_without_tls_is_refused_before_the_password_goes_out(mode: SslMode) -> None:
    without = bytearray(GREETING)
    without[GREETING.index(b"\xff\xff\xff") + 1] &= 0xFF ^ 0x08
    received: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            channel, _ = server.accept()
            with channel:
                channel.sendall(without)
                with suppress(ConnectionResetError):
                    received.append(channel.recv(4096))

        thread = threading.Thread(target=serve)
        thread.start()
        access = access_to(server.getsockname()[1], tls=ExternalTls(mode, mode_by=f"--ssl-mode={mode}"))
        failure(access, UserMistake, f"does not offer TLS, which --ssl-mode={mode} demands")
        thread.join()
    assert received in ([], [b""])


def test_a_real_server_without_tls(session: Session, mysql_build: ServerBuild) -> None:
    with server_with(session, mysql_build, "--tls-version=") as server:
        failure(access_for(server, ExternalTls("REQUIRED")), UserMistake, "does not offer TLS")
        for mode in ("PREFERRED", "DISABLED"):
            external_connection.connect(access_for(server, ExternalTls(mode)), "tlstax").close()


@pytest.mark.parametrize("product", [pytest.param("mysql_build", marks=pytest.mark.long), "mariadb_build"])
def test_a_server_that_takes_encrypted_connections_only(
    request: pytest.FixtureRequest, session: Session, product: str
) -> None:
    build: ServerBuild = request.getfixturevalue(product)
    with server_with(session, build, "--require-secure-transport=ON") as server:
        failure(access_for(server, ExternalTls("DISABLED")), UserMistake, "encrypted connections only")
        external_connection.connect(access_for(server), None).close()


def test_accounts_that_cannot_be_used(private: PrivateServer) -> None:
    account = private.load_account
    with private.admin() as database:
        database.rows("CREATE USER 'locked'@'%%' IDENTIFIED BY %s ACCOUNT LOCK", (account.password,))
        database.rows("CREATE USER 'expired'@'%%' IDENTIFIED BY %s PASSWORD EXPIRE", (account.password,))
        try:
            failure(replace(access_for(private), user="locked"), UserMistake, "the account locked at")
            with pytest.raises(UserMistake, match=r"the password of expired at .* has expired"):
                ExternalServer.open(replace(access_for(private), user="expired"))
        finally:
            database.rows("DROP USER locked, expired")


def test_a_server_with_no_connection_free(session: Session, mariadb_build: ServerBuild) -> None:
    settings = ServerSettings(max_connections=10, buffer_pool_bytes=SMALL)
    with PrivateServer.start(mariadb_build, session, settings) as server:
        held: list[Database] = []
        try:
            for _ in range(10):
                held.append(external_connection.connect(access_for(server), None))  # noqa: PERF401
            failure(access_for(server), MachineFault, "has no free connection (max_connections)")
        finally:
            for database in held:
                database.close()
