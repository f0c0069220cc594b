"""The lines that `tlstax advise` gives do what they say, pasted into real servers and programs."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from chain_of_three import chain_of_three
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import CertificatePublicKeyTypes
from cryptography.x509.oid import NameOID
from ready_command import ready_run
from test_guest_run import PASSWORD, SMALL, as_owner, lent, url_of

from tlstax.results.inspection import InspectedServer, Step
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.stats.remedies import ADMINISTRATOR
from tlstax.topics.advice.advise import Change, steps_for

WITHIN_S = 120.0
PLAIN = ServerSettings(buffer_pool_bytes=SMALL)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where a server that runs as nobody finds its files again when it is told to reload them."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def readable(*files: Path) -> None:
    """Let the server read them, whoever it runs as."""
    for file in files:
        file.chmod(0o644)


def inspected(server: PrivateServer, **environment: str) -> InspectedServer:
    words = ("inspect", url_of(server), "--watch", "1ms", "--json")
    done = ready_run(words, {**os.environ, "TLSTAX_PASSWORD": PASSWORD, **environment}, WITHIN_S)
    assert done.returncode == 0, done.stderr
    return InspectedServer.model_validate(json.loads(done.stdout))


def agreed(found: InspectedServer, topic: str, name: str) -> bool:
    return any(own.agreed is not None for own in found.asked if (own.topic, own.name) == (topic, name))


def step(change: Change, server: PrivateServer, where: str) -> Step:
    (own,) = [own for own in steps_for(change, server.version) if own.where == where]
    return own


@pytest.mark.long
@pytest.mark.parametrize("product", ["mysql_build", "mariadb_build"])
def test_the_commands_make_a_key_that_the_server_takes_while_it_runs(
    request: pytest.FixtureRequest, session: Session, product: str, folder: Path
) -> None:
    build: ServerBuild = request.getfixturevalue(product)
    files = chain_of_three(folder)
    readable(files.key_file)
    options = (
        f"--ssl-key={files.key_file}",
        f"--ssl-cert={files.certificate_file}",
        f"--ssl-ca={files.ca_file}",
    )
    settings = replace(PLAIN, options=options)
    with lent(build, session, settings) as server:
        for line in step("certificate", server, "a shell").lines:
            subprocess.run(shlex.split(line), cwd=folder, check=True, capture_output=True)
        before = inspected(server)
        files.key_file.write_bytes((folder / "server-key.pem").read_bytes())
        own, authority = signed((folder / "server.csr").read_bytes())
        files.certificate_file.write_bytes(own)
        files.ca_file.write_bytes(authority)
        readable(files.key_file)
        as_owner(server, *step("certificate", server, "the server, as an administrator").lines)
        after = inspected(server)
    assert [own.key for own in before.chain] == ["RSA 2048"] * 3
    assert (after.chain[0].key, after.chain[0].names) == ("EC P-256", ("db.example",))


def signed(request_pem: bytes) -> tuple[bytes, bytes]:
    """What an authority makes of a request: a certificate with the names that were asked for, and its own."""
    asked = x509.load_pem_x509_csr(request_pem)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an authority")])
    names = asked.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    authority = _made(name, key.public_key(), name).add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    )
    own = _made(asked.subject, asked.public_key(), name).add_extension(names.value, critical=False)
    pem = serialization.Encoding.PEM
    return own.sign(key, hashes.SHA256()).public_bytes(pem), authority.sign(
        key, hashes.SHA256()
    ).public_bytes(pem)


def _made(subject: x509.Name, key: CertificatePublicKeyTypes, issuer: x509.Name) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder(subject_name=subject, public_key=key, issuer_name=issuer)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=9))
    )


@pytest.mark.long
def test_the_servers_lines_make_it_resume_and_offer_tls_1_3(
    mysql_build: ServerBuild, session: Session
) -> None:
    without = replace(PLAIN, options=("--ssl-session-cache-mode=OFF", "--tls-version=TLSv1.2"))
    with lent(mysql_build, session, without) as server:
        before = inspected(server)
        for change in CHANGES:
            as_owner(server, *step(change, server, ADMINISTRATOR).lines)
        after = inspected(server)
    for topic, name in (("resumption", "TLS 1.2"), ("version", "TLS 1.3"), ("resumption", "TLS 1.3")):
        assert not agreed(before, topic, name)
        assert agreed(after, topic, name)


CHANGES: tuple[Change, ...] = ("resumption", "version")


@pytest.mark.long
def test_the_clients_openssl_cnf_saves_the_second_client_hello(
    mysql_build: ServerBuild, session: Session, tmp_path: Path
) -> None:
    with lent(mysql_build, session, PLAIN) as server:
        conf = tmp_path / "openssl.cnf"
        conf.write_text("\n".join(step("group", server, "clients' openssl.cnf").lines) + "\n")
        before, after = inspected(server), inspected(server, OPENSSL_CONF=str(conf))
    retried = [own.agreed.hello_retry for found in (before, after) for own in found.asked[:1] if own.agreed]
    assert retried == [True, False]
    assert before.connect is not None
    assert after.connect is not None
    assert before.connect[0].round_trips - after.connect[0].round_trips == 1


@pytest.mark.long
def test_a_file_without_the_root_sends_none(mysql_build: ServerBuild, session: Session, folder: Path) -> None:
    files = chain_of_three(folder)
    readable(files.key_file)
    options = (
        f"--ssl-key={files.key_file}",
        f"--ssl-cert={files.certificate_file}",
        f"--ssl-ca={files.ca_file}",
    )
    with lent(mysql_build, session, replace(PLAIN, options=options)) as server:
        before = inspected(server)
        end = b"-----END CERTIFICATE-----\n"
        own, between, root, _ = files.certificate_file.read_bytes().split(end)
        files.certificate_file.write_bytes(own + end + between + end)
        files.ca_file.write_bytes(between + end + root + end)
        as_owner(server, *step("chain", server, "the server, as an administrator").lines)
        after = inspected(server)
    assert before.chain[:2] == after.chain
    assert before.chain[2].is_self_signed
