"""Logins without TLS at an external server: the password is never given to who cannot be verified."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from load_jobs import job
from man_in_the_middle import ManInTheMiddle, Trick
from test_guest_run import RUN, as_owner, lent, sentence, tlstax_run, url_of

from tlstax.clients.engine import engine_command
from tlstax.clients.process import ClientFailure, LoadClient
from tlstax.contract import Account, TcpEndpoint, TlsOff, TlsOn
from tlstax.external.access import ExternalAccess, ExternalAddress
from tlstax.external.tls import ExternalTls
from tlstax.plan.jobs import job_for
from tlstax.records.trial import Trial, TrialRecord
from tlstax.run.bench import Bench, Needs
from tlstax.run.benches import obtain
from tlstax.run.external import ExternalRequest, open_external
from tlstax.run.trial import run_trial
from tlstax.specimens import certificates
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.study import Case, load_study
from tlstax.study.factors import CaseLevels
from tlstax.study.needs import DataNeeds

SMALL = 64 * 1024 * 1024
PASSWORD = "Sesame, open!"
WITHIN_S = 30.0
PLAINTEXT = CaseLevels.of({"tls": "off", "workload": "reconnect", "connections": 2})


@pytest.fixture(scope="module")
def house(session: Session, mysql_build: ServerBuild) -> Iterator[PrivateServer]:
    """MySQL 9.7: its accounts are proved by caching_sha2_password."""
    with lent(mysql_build, session, ServerSettings(buffer_pool_bytes=SMALL)) as server:
        yield server


def verifying(server: PrivateServer) -> tuple[str, ...]:
    return "--ssl-mode", "VERIFY_IDENTITY", "--ssl-ca", str(server.ca_file)


def failure_at(port: int, *, server: PrivateServer, tls: TlsOff | TlsOn) -> ClientFailure:
    """Why the engine, which logs in at this port, gave up."""
    asked = job(
        server,
        endpoint=TcpEndpoint(host="127.0.0.1", port=port),
        account=Account(user="ann", password=PASSWORD, database="lent"),
        tls=tls,
        source_addresses=(),
        connections=1,
        timeout_s=3.0,
    )
    with pytest.raises(ClientFailure) as caught, LoadClient(engine_command(), asked) as client:
        client.wait_ready(WITHIN_S)
    return caught.value


@pytest.mark.parametrize("trick", ["own key", "clear password"])
def test_the_password_is_not_given_to_who_is_in_between(
    house: PrivateServer, tmp_path: Path, trick: Trick
) -> None:
    """All connections with TLS reach the server; he waits for those without."""
    man = ManInTheMiddle(house.endpoint().port, trick)
    with man.listening() as port:
        url = url_of(house).replace(str(house.endpoint().port), str(port))
        said = sentence(tlstax_run(tmp_path, url, *RUN, *verifying(house), "--allow-plaintext"), 2)
    assert man.logins > 0, "nobody logged in without TLS, so nothing was tried"
    assert man.packets == []
    assert ("RSA key cannot be verified" if trick == "own key" else "it was not sent") in said


def test_who_is_in_between_gets_the_password_where_his_key_is_taken(house: PrivateServer) -> None:
    """What the tests above look for would be seen."""
    man = ManInTheMiddle(house.endpoint().port, "own key")
    with man.listening() as port:
        failure_at(port, tls=TlsOff(get_server_public_key=True), server=house)
    assert man.passwords == [PASSWORD]


def test_the_password_is_not_given_to_who_shows_a_certificate_of_his_own(
    house: PrivateServer, tmp_path: Path
) -> None:
    """As with --ssl-mode=PREFERRED and REQUIRED: TLS keeps out those who listen, not the one who made it."""
    own = certificates.issue(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own.certificate_file, own.key_file)
    man = ManInTheMiddle(house.endpoint().port, "clear password", certified=context)
    with man.listening() as port:
        (event,) = failure_at(port, tls=TlsOn(verify="none"), server=house).errors
    assert man.logins == 1, "nobody was asked"
    assert man.packets == []
    assert (event.kind, event.fault) == ("access_denied", "job")
    assert "--ssl-mode=VERIFY_IDENTITY" in event.message


def test_a_server_whose_cache_is_empty_is_not_given_the_password(house: PrivateServer) -> None:
    as_owner(house, "FLUSH PRIVILEGES")
    failure = failure_at(house.endpoint().port, tls=TlsOff(get_server_public_key=False), server=house)
    (event,) = failure.errors
    assert (event.kind, event.fault) == ("access_denied", "job")
    assert "log in over TLS first" in event.message


@pytest.fixture
def bench(house: PrivateServer) -> Iterator[Bench]:
    address = ExternalAddress("127.0.0.1", house.endpoint().port, "ann", "lent")
    access = ExternalAccess(address, "ann", PASSWORD, ExternalTls("VERIFY_IDENTITY", house.ca_file))
    needs = Needs(rows=500, connections=2, seed=1, duration_s=0.1, data=DataNeeds(tables=("sbtest",)))
    with ExitStack() as stack:
        study, asked = load_study("tax"), ExternalRequest({None: access})
        specimens = obtain(study, print, external=asked.servers)
        benches = stack.enter_context(open_external(study, asked, specimens, needs, lambda _: None))
        yield stack.enter_context(benches.awake(PLAINTEXT))


def in_plaintext(bench: Bench) -> TrialRecord:
    trial = Trial(block=0, position=0, case=Case(levels=PLAINTEXT, role="baseline"))
    return run_trial(trial, job_for(PLAINTEXT, bench.terms_of(PLAINTEXT), sequence=0), bench)


def test_a_cache_that_was_emptied_is_filled_over_tls_before_the_next_trial(
    house: PrivateServer, bench: Bench
) -> None:
    for _ in range(2):
        as_owner(house, "FLUSH PRIVILEGES")
        record = in_plaintext(bench)
        assert record.failure == ""
        assert record.verdict.value == "valid", record.verdict
        assert record.done is not None
        assert set(record.done.lifetime.authentications) == {"fast"}
        assert record.done.window.connections > 0


def test_plaintext_needs_the_users_word_where_tls_is_demanded(house: PrivateServer, tmp_path: Path) -> None:
    before = as_owner(house, "SHOW GLOBAL STATUS LIKE 'Connections'")
    asked = (*RUN, "--tls", "off,1.3", *verifying(house))
    said = sentence(tlstax_run(tmp_path, url_of(house), *asked), 2)
    assert "--allow-plaintext" in said
    (now,) = as_owner(house, "SHOW GLOBAL STATUS LIKE 'Connections'")
    # Our own question is the one that was counted since.
    assert int(str(now[1])) == int(str(before[0][1])) + 1
    allowed = tlstax_run(tmp_path, url_of(house), *asked, "--allow-plaintext")
    assert allowed.returncode == 0, allowed.stderr
