"""`drivers probe` at somebody else's server: how drivers log in there, and that it loses nothing by that."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from man_in_the_middle import ManInTheMiddle, Trick
from test_blocked_hosts import in_a_network_of_its_own
from test_guest_run import PASSWORD, SMALL, as_owner, lent, sentence, tlstax_run, url_of

from tlstax.clients.choice import obtain_client
from tlstax.contract import Account, TcpEndpoint, TlsOff
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.tools.probes.drivers.logins import try_login
from tlstax.tools.probes.drivers.probed import DriverRow, ProbeDocument

DRIVER = "pymysql-1.2"
PROBE = ("drivers", "probe", DRIVER, "--no-costs", "--server")
COUNTED = ("Connections", "Aborted_connects", "Aborted_clients")


@pytest.fixture(scope="module")
def house(session: Session, mysql_build: ServerBuild) -> Iterator[PrivateServer]:
    with lent(mysql_build, session, ServerSettings(buffer_pool_bytes=SMALL)) as server:
        yield server


def counts(server: PrivateServer) -> list[int]:
    """What the server has counted, this login of its owner's with it."""
    told = as_owner(server, f"SHOW GLOBAL STATUS WHERE Variable_name IN {COUNTED}")
    found = {str(name): int(str(value)) for name, value in told}
    return [found[name] for name in COUNTED]


def probed(data: Path, url: str, *arguments: str) -> ProbeDocument:
    done = tlstax_run(data, url, *arguments, "--json", command=PROBE)
    assert done.returncode == 0, done.stderr
    return ProbeDocument.model_validate_json(done.stdout)


def ways(row: DriverRow) -> dict[str, str]:
    return {own.tls: own.outcome for own in row.logins}


def test_it_is_seen_how_a_driver_logs_in_and_nothing_is_changed(house: PrivateServer, tmp_path: Path) -> None:
    as_owner(house, "FLUSH STATUS", "FLUSH PRIVILEGES")
    before, schemas = counts(house), as_owner(house, "SHOW DATABASES")
    found = probed(tmp_path, url_of(house))
    after = counts(house)
    (row,) = found.drivers
    there = found.external
    assert there is not None
    assert (there.plugin, there.cache_when_found) == ("caching_sha2_password", "cold")
    assert any("cold when tlstax came" in words for words in there.not_seen)
    assert ways(row) == {"unset": "fast", "off": "fast", "required": "fast"}
    assert {own.cache for own in row.logins} == {"warm"}
    assert (row.encrypts_by_default, row.tls_version) == (True, "TLSv1.3")
    assert row.required is not None
    assert "Ssl_version and Ssl_cipher, asked on a connection of its own" in row.verified_by
    # The owner has logged in twice since, to ask for the schemas and to count.
    assert after[0] - before[0] == there.connections + 2
    assert after[1:] == before[1:], "every connection ended in order"
    assert there.connections == 1 + len(row.logins)
    ((_, most),) = as_owner(house, "SHOW GLOBAL STATUS LIKE 'Max_used_connections'")
    assert int(str(most)) <= 4
    assert as_owner(house, "SHOW TABLES FROM lent") == ()
    assert as_owner(house, "SHOW DATABASES") == schemas
    again = probed(tmp_path, url_of(house)).external
    assert again is not None
    assert again.cache_when_found == "warm"


@pytest.mark.long
@pytest.mark.parametrize(("mode", "way"), [("VERIFY_CA", "fast"), ("VERIFY_IDENTITY", "yes")])
def test_with_an_authority_it_is_told_to_verify(
    house: PrivateServer, tmp_path: Path, mode: str, way: str
) -> None:
    """To verify the host it meets the server without the relay, so that the way is not seen."""
    options = ("--ssl-ca", str(house.ca_file), "--ssl-mode", mode)
    found = probed(tmp_path, url_of(house), *options)
    (row,) = found.drivers
    assert found.external is not None
    assert any("demands TLS" in words for words in found.external.not_seen)
    assert "off" not in ways(row)
    assert ways(row)["verified"] == way
    allowed = probed(tmp_path, url_of(house), *options, "--allow-plaintext")
    assert ways(allowed.drivers[0])["off"] == "fast"


@pytest.mark.long
def test_a_driver_that_verifies_unasked_meets_the_server_itself(house: PrivateServer, tmp_path: Path) -> None:
    """Where it refuses the relay, it is not known yet whether it would refuse the server's own address."""
    before = counts(house)
    probe = ("drivers", "probe", "mysql2-3", "--no-costs", "--server")
    done = tlstax_run(tmp_path, url_of(house), "--json", command=probe)
    found = ProbeDocument.model_validate_json(done.stdout)
    (row,) = found.drivers
    assert ways(row) == {"unset": "fast", "off": "fast", "required": "refused"}
    # Its authority is nobody's: refused at both, and after each a login that succeeds.
    assert any("self-signed certificate" in note for note in row.notes)
    assert found.external is not None
    assert found.external.connections == 1 + len(row.logins) + 1 + 2
    assert counts(house)[0] - before[0] == found.external.connections + 1


@pytest.mark.parametrize("trick", ["own key", pytest.param("clear password", marks=pytest.mark.long)])
def test_who_is_in_between_is_not_given_the_password(
    house: PrivateServer, tmp_path: Path, trick: Trick
) -> None:
    """All connections with TLS reach the server; he waits for those without."""
    man = ManInTheMiddle(house.endpoint().port, trick)
    with man.listening() as port:
        url = url_of(house).replace(str(house.endpoint().port), str(port))
        (row,) = probed(tmp_path, url).drivers
    assert man.logins == 1, "nobody logged in without TLS, so nothing was tried"
    assert man.packets == []
    assert ways(row) == {"unset": "fast", "off": "ended", "required": "fast"}
    assert [note for note in row.notes if "tlstax hung up" in note]


@pytest.mark.long
def test_without_the_relay_he_would_be(house: PrivateServer) -> None:
    """What the test above looks for would be seen."""
    man = ManInTheMiddle(house.endpoint().port, "own key")
    account = Account(user="ann", password=PASSWORD, database="lent")
    command = obtain_client(DRIVER, lambda _: None).command
    with man.listening() as port:
        try_login(command, TcpEndpoint(host="127.0.0.1", port=port), account, TlsOff())
    assert man.passwords == [PASSWORD]


def test_a_wrong_password_and_a_dead_server_end_it_before_a_driver_is_started(
    house: PrivateServer, tmp_path: Path
) -> None:
    before = counts(house)
    wrong = tlstax_run(tmp_path, url_of(house), command=PROBE, password="open peas")
    assert "password" in sentence(wrong, 2)
    assert counts(house)[0] == before[0] + 2, "one login, and one to count"
    dead = tlstax_run(tmp_path, "mysql://ann@127.0.0.1:9/lent", command=PROBE)
    assert "nothing listens on 127.0.0.1:9" in sentence(dead, 2)
    assert wrong.stdout == dead.stdout == ""


@pytest.mark.long
def test_an_account_by_another_plugin_is_told_as_it_is(
    session: Session, mariadb_build: ServerBuild, tmp_path: Path
) -> None:
    with lent(mariadb_build, session, ServerSettings(buffer_pool_bytes=SMALL)) as server:
        found = probed(tmp_path, url_of(server))
        assert found.external is not None
        assert (found.external.plugin, found.external.cache_when_found) == ("mysql_native_password", None)
        assert ways(found.drivers[0]) == {"unset": "yes", "off": "yes", "required": "yes"}
        as_owner(server, "ALTER USER ann@'127.0.0.1' REQUIRE SSL")
        (row,) = probed(tmp_path, url_of(server)).drivers
        assert ways(row) == {"unset": "yes", "required": "yes"}
        as_owner(server, "ALTER USER ann@'127.0.0.1' REQUIRE NONE WITH MAX_CONNECTIONS_PER_HOUR 5")
        assert "MAX_CONNECTIONS_PER_HOUR" in sentence(tlstax_run(tmp_path, url_of(server), command=PROBE), 2)


@pytest.mark.long
def test_an_account_that_takes_the_password_itself_is_refused(house: PrivateServer, tmp_path: Path) -> None:
    as_owner(
        house,
        f"CREATE USER IF NOT EXISTS bob@'127.0.0.1' IDENTIFIED WITH sha256_password BY '{PASSWORD}'",
        "GRANT ALL ON lent.* TO bob@'127.0.0.1'",
    )
    url = url_of(house).replace("ann@", "bob@")
    done = tlstax_run(tmp_path, url, command=PROBE)
    assert "sha256_password, which takes the password itself" in sentence(done, 2)
    inspected = tlstax_run(tmp_path, url, "--watch", "1s", "--json", command=("inspect",))
    assert json.loads(inspected.stdout)["word"]["account_plugin"] == "sha256_password"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may have a network namespace of its own here")
@pytest.mark.parametrize(
    ("limit", "status", "said"),
    [
        pytest.param(1, 2, "SET GLOBAL max_connect_errors = 100", marks=pytest.mark.long),
        (2, 0, "demands that the server is verified"),
    ],
)
def test_no_host_is_blocked_and_nobody_unverified_gets_a_login(
    limit: int, status: int, said: str, tmp_path: Path
) -> None:
    """Over a network, where the user wants the server verified, and drivers do not verify it unasked."""
    obtain_client(DRIVER, lambda _: None)
    typed = (*PROBE, "URL", "--ssl-ca", "CA", "--json")
    ended = in_a_network_of_its_own(limit, tmp_path, typed)
    words = " ".join((ended.stdout + ended.stderr).split())
    assert f"afterwards: a login succeeds; it ended with {status}" in words
    assert said in words
    if status == 0:
        text, _, _ = ended.stdout.partition("afterwards:")
        (row,) = ProbeDocument.model_validate_json(text).drivers
        assert ways(row) == {"unset": "ended", "required": "ended", "verified": "yes"}
        assert row.encrypts_by_default is True
        assert row.groups_offered
