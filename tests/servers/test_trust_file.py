"""`--trust FILE`: a user's own file of authorities priced beside the one that is needed, on real servers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Home
from test_guest_run import SMALL, last_run, lent, sentence, tlstax_run, url_of

from tlstax.contract import TlsOn
from tlstax.specimens.certificates import issue, write_authorities
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.server_settings import ServerSettings
from tlstax.specimens.sessions import Session
from tlstax.store.anonymise import anonymous

MANY = 60
SHORT = ("--rows", "500", "--budget", "3s", "--over-budget", "--json")


@pytest.fixture(scope="module")
def house(mariadb_build: ServerBuild, session: Session) -> Iterator[PrivateServer]:
    with lent(mariadb_build, session, ServerSettings(buffer_pool_bytes=SMALL)) as server:
        yield server


@pytest.mark.long
def test_the_users_file_is_priced_beside_the_one_authority_that_the_server_needs(
    house: PrivateServer, tmp_path: Path
) -> None:
    file = tmp_path / "acme-corporate-bundle.pem"
    write_authorities(file, house.certificates.ca_file, MANY)
    done = tlstax_run(tmp_path, url_of(house), *SHORT, "--trust", str(file))
    assert done.returncode == 0, done.stderr
    document, stored = json.loads(done.stdout), last_run(tmp_path)
    assert document["trust_file"]["authorities"] == MANY
    time, *_ = document["topics"]["trust"]["rows"]
    assert time["more"]["authorities"] == MANY
    assert time["more"]["authorities_needed"] == 1
    assert 0.7 < time["more"]["reads_per_connect"] < 1.5
    encrypted = [record for record in stored.measured if record.trial.case.levels.is_encrypted]
    assert {record.trial.case.levels.trust for record in encrypted} == {1, MANY}
    for record in encrypted:
        assert record.verdict.value == "valid", record.verdict
        assert record.ready is not None
        assert record.job is not None
        assert isinstance(record.job.tls, TlsOn)
        assert record.job.tls.verify == "ca"
        (seen,) = record.ready.negotiated
        assert seen.client is not None
        assert seen.client.authorities == record.trial.case.levels.trust
    assert "acme" not in anonymous(stored).model_dump_json()
    assert anonymous(stored).header.trust == stored.header.trust


@pytest.mark.long
def test_where_the_server_is_to_be_verified_the_file_is_what_verifies_it(
    house: PrivateServer, tmp_path: Path
) -> None:
    file = tmp_path / "bundle.pem"
    write_authorities(file, house.certificates.ca_file, MANY)
    given = ("--ssl-mode", "VERIFY_IDENTITY", "--trust", str(file))
    done = tlstax_run(tmp_path, url_of(house), *SHORT, *given)
    assert done.returncode == 0, done.stderr
    measured = last_run(tmp_path).measured
    assert {record.trial.case.levels.tls for record in measured} == {"default"}
    for record in measured:
        assert record.verdict.value == "valid", record.verdict
        assert record.job is not None
        assert isinstance(record.job.tls, TlsOn)
        assert record.job.tls.verify == "identity"


def test_a_file_that_does_not_verify_the_server_is_told_before_anything_is_measured(
    house: PrivateServer, tmp_path: Path
) -> None:
    strange = tmp_path / "strange"
    strange.mkdir()
    write_authorities(tmp_path / "others.pem", issue(strange).ca_file, 20)
    done = tlstax_run(tmp_path, url_of(house), *SHORT, "--trust", str(tmp_path / "others.pem"))
    said = sentence(done, 2)
    assert "--trust" in said or "others.pem" in said
    assert not (tmp_path / "store.sqlite").exists()


@pytest.mark.long
def test_a_file_with_the_needed_authority_alone_is_nothing_to_compare(
    house: PrivateServer, tmp_path: Path
) -> None:
    done = tlstax_run(tmp_path, url_of(house), *SHORT, "--trust", str(house.certificates.ca_file))
    assert "has no more than the one authority that this server needs" in sentence(done, 2)


@pytest.mark.long
def test_a_driver_that_reconnects_gets_the_file_at_a_private_server_alone(
    house: PrivateServer, tmp_path: Path
) -> None:
    file = tmp_path / "bundle.pem"
    write_authorities(file, house.certificates.ca_file, MANY)
    done = tlstax_run(tmp_path, url_of(house), *SHORT, "--trust", str(file), "--client", "pymysql-1.2")
    assert "measure a private server" in sentence(done, 2)


@pytest.mark.long
def test_a_private_servers_own_authority_comes_to_the_file(tmp_path: Path) -> None:
    home = Home(tmp_path / "data")
    file = tmp_path / "bundle.pem"
    write_authorities(file, issue(tmp_path).ca_file, MANY)
    done = home.run("run", "--server", "mariadb-11.8", *SHORT, "--trust", str(file))
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    time, *_ = document["topics"]["trust"]["rows"]
    assert time["more"]["authorities"] == MANY + 1
    assert 0.7 < time["more"]["reads_per_connect"] < 1.5
    assert document["trials"]["invalid"] == document["trials"]["unknown"] == 0
