"""What is said of certificates, against openssl(1): `python tests/campaigns/certificates.py COUNT SEED`.

COUNT of the kinds in `planted_certificates.py`, in an order drawn from SEED, are planted one after another in
a private MariaDB, which loads them while it runs, or in a responder of our own where MariaDB refuses to. Of
each it prints what `openssl s_client` makes of it, what a login that verifies says, the load engine's words,
and what `inspect` calls it without a file of authorities. What a login accepts and openssl does not, or the
other way round, and what is told by other words than the kind's, is lost, and makes the status 1.
TLSTAX_ENGINE names the engine.
"""

from __future__ import annotations

import random
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from planted_certificates import HOST, KINDS, Kind, Planted

from tlstax.clients.engine import engine_command
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import Account, MySqlServer, TcpEndpoint, TlsOn
from tlstax.external import connection as external_connection
from tlstax.external.access import ExternalAccess, ExternalAddress
from tlstax.external.tls import ExternalTls
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.resolve import named_server
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import open_session
from tlstax.support.errors import TlstaxError
from tlstax.tools.inspection import inspect
from tlstax.tools.tls_probe import WITHIN_S, least_job

GREETING = (
    b"K\0\0\0\n9.7.4-2\0!,\0\0R4^\x13\x15\x08Ic\0\xff\xff\xff\x02\0\xff\xdf\x15\0\0\0\0\0\0\0\0\0\0#\x08[\x10S5sd>J@-\0"
    b"caching_sha2_password\0"
)
SSL_REQUEST_BYTES = 36
PATIENCE_S = 20.0


@dataclass(frozen=True)
class Said:
    """What everybody says of one kind: openssl's number, None where there was no handshake, and sentences.

    They are empty where a certificate is accepted.
    """

    code: int | None
    login: str
    engine: str
    inspected: str

    def lost(self, kind: Kind) -> str:
        """What must not be; empty where all is well."""
        checks = {
            "openssl and the login differ": bool(self.login) != (self.code != 0),
            "the login and the engine differ": bool(self.login) != bool(self.engine),
            f"the login does not say {kind.refused!r}": bool(kind.refused) != bool(self.login)
            or not re.search(kind.refused, self.login),
            f"inspect does not say {kind.seen!r}": bool(self.inspected)
            and not re.search(kind.seen, self.inspected),
            "it advises to do without TLS": "DISABLED" in self.login + self.inspected,
        }
        return "; ".join(what for what, is_so in checks.items() if is_so)


def openssl_code(port: int, authorities: Path) -> int | None:
    """What `openssl s_client` makes of the server's certificate (openssl-s_client(1)); None: no handshake."""
    done = subprocess.run(
        [
            *("openssl", "s_client", "-starttls", "mysql", "-connect", f"{HOST}:{port}"),
            *("-CAfile", str(authorities), "-no-CApath", "-no-CAstore", "-verify_ip", HOST),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    found = re.findall(r"Verif(?:y return code|ication error): (\d+)", done.stdout)
    if "no peer certificate available" in done.stdout or not found:
        return None
    return int(found[-1])


def access_to(port: int, tls: ExternalTls, user: str = "ann", password: str = "none") -> ExternalAccess:  # noqa: S107
    return ExternalAccess(ExternalAddress(HOST, port, user), user, password, tls)


def login_words(access: ExternalAccess) -> str:
    """The sentence by which a login that verifies refuses the server; empty where it passes TLS."""
    try:
        external_connection.connect(access, None, PATIENCE_S).close()
    except TlstaxError as error:
        sentence = error.sentence()
        return sentence if re.search(r"certificate|chain|TLS handshake|authority", sentence) else ""
    return ""


def engine_words(access: ExternalAccess) -> str:
    """The load engine's."""
    tls = TlsOn(verify="identity", ca_file=access.tls.ca_file)
    account = Account(user=access.user, password=access.password)
    endpoint = TcpEndpoint(host=HOST, port=access.address.port)
    try:
        with LoadClient(engine_command(), least_job(tls, endpoint, account, MySqlServer())) as client:
            client.wait_ready(WITHIN_S)
            client.go()
            client.wait_done(WITHIN_S)
    except ClientFailure as failure:
        refused = {"certificate", "tls_handshake"} & {error.kind for error in failure.errors}
        return failure.errors[-1].message if refused else ""
    return ""


class Silent:
    """Nobody is told."""

    def step(self, text: str) -> None:
        """Something begins."""


def inspected_words(access: ExternalAccess) -> str:
    """What `inspect` says without a file of authorities."""
    try:
        found = inspect(access, 0.0, Silent())
    except TlstaxError as error:
        return error.sentence()
    return " | ".join(f"{own.what}: {own.why}; {own.remedy}" for own in found.concerns)


@contextmanager
def responder(planted: Planted, folder: Path) -> Iterator[int]:
    """A port that greets as MySQL does, shows the certificate in a handshake, and says no more."""
    chain, key, _ = planted.files(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("DEFAULT:@SECLEVEL=0")
    context.load_cert_chain(chain, key)
    with socket.create_server((HOST, 0)) as listener:

        def serve(channel: socket.socket) -> None:
            with suppress(OSError), channel:
                channel.settimeout(PATIENCE_S)
                channel.sendall(GREETING)
                left = SSL_REQUEST_BYTES
                while left:
                    left -= len(channel.recv(left)) or left
                with context.wrap_socket(channel, server_side=True) as secure:
                    secure.recv(1)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    channel, _ = listener.accept()
                    threading.Thread(target=serve, args=(channel,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)


def said_of(kind: Kind, folder: Path, server: PrivateServer | None = None) -> tuple[Said, str]:
    """What everybody says of it, and where it was planted: in this server if that takes it."""
    planted = kind.make()
    _, _, authorities = planted.files(folder)
    tls = ExternalTls("VERIFY_IDENTITY", str(authorities))
    if server is not None and loads(server, planted):
        port, account = server.endpoint().port, server.load_account
        verifying = access_to(port, tls, account.user, account.password)
        plain = access_to(port, ExternalTls(), account.user, account.password)
        said = Said(
            openssl_code(port, authorities),
            login_words(verifying),
            engine_words(verifying),
            inspected_words(plain),
        )
        return said, "MariaDB"
    with responder(planted, folder) as port:
        access = access_to(port, tls)
        return Said(
            openssl_code(port, authorities), login_words(access), engine_words(access), ""
        ), "responder"


def loads(server: PrivateServer, planted: Planted) -> bool:
    """Whether the server takes this certificate while it runs."""
    with server.admin() as database:
        chain, key = database.rows("SELECT @@ssl_cert, @@ssl_key")[0]
        Path(chain).write_bytes(planted.chain)
        Path(key).write_bytes(planted.key)
        try:
            database.rows("FLUSH SSL")
        except Exception:
            return False
    return True


def show(line: str) -> None:
    """Write it at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main(count: int, seed: int) -> int:
    """Try N kinds; the status."""
    kinds = random.Random(seed).sample(KINDS, min(count, len(KINDS)))  # noqa: S311 - an order
    lost = 0
    with open_session() as session, tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        files = KINDS[0].make().files(folder)
        settings = ServerSettings(options=(f"--ssl-cert={files[0]}", f"--ssl-key={files[1]}"))
        with PrivateServer.start(named_server("mariadb-11.8", show), session, settings) as server:
            for kind in kinds:
                own = folder / "own"
                own.mkdir(exist_ok=True)
                said, where = said_of(kind, own, server)
                wrong = said.lost(kind)
                lost += bool(wrong)
                show(f"{'LOST ' if wrong else ''}{kind.name} ({where}): openssl {said.code} {wrong}")
                show(f"    login: {said.login or 'accepts it'}")
                show(f"    engine: {said.engine or 'accepts it'}")
                show(f"    inspect: {said.inspected or 'nothing'}")
    show(f"{len(kinds)} kinds, {lost} lost")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
