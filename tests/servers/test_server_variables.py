"""Certificates, TLS switched at the server, durability: real servers have them in the trial, and then not."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tlstax.contract import Job, TlsOn
from tlstax.mysql import server_facts, server_tls
from tlstax.observers.machine import describe_machine
from tlstax.plan.jobs import job_for
from tlstax.records.trial import Trial, TrialRecord
from tlstax.run import server_variables
from tlstax.run.bench import Bench, Equipment, Needs, Wanted, private_bench
from tlstax.run.benches import Benches
from tlstax.run.trial import run_trial
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.sessions import Session
from tlstax.sql.database import Database
from tlstax.study import Case, Level, load_study, override
from tlstax.study.factors import CaseLevels
from tlstax.support.errors import UserMistake

NEEDS = Needs(rows=500, connections=2, seed=1, duration_s=0.1)
BASE = CaseLevels.of({"workload": "reconnect", "connections": 2, "tls": "off"})


@contextmanager
def started(session: Session, build: ServerBuild, certificate: str = "rsa-2048") -> Iterator[Bench]:
    wanted = Wanted(build=build, certificate=certificate)
    with private_bench(session, wanted, Equipment(), describe_machine(), NEEDS, lambda _: None) as bench:
        yield bench


@pytest.fixture(scope="module")
def benches(
    session: Session, mysql_build: ServerBuild, mariadb_build: ServerBuild
) -> Iterator[dict[str, Bench]]:
    """A bench on each product, with the usual certificate."""
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(started(session, build))
            for name, build in (("mysql", mysql_build), ("mariadb", mariadb_build))
        }


def job(bench: Bench, levels: dict[str, Level]) -> Job:
    return job_for(BASE | {**levels}, bench.terms, sequence=0)


def tried(bench: Bench, levels: dict[str, Level], asked: Job | None = None) -> TrialRecord:
    """A trial of a case; the client is asked what the case says, unless it is asked something else."""
    trial = Trial(block=0, position=0, case=Case(levels={**BASE, **levels}, role="treatment"))
    return run_trial(trial, asked or job(bench, levels), bench)


def assert_valid(record: TrialRecord) -> None:
    assert (record.verdict.value, record.verdict.reasons) == ("valid", ())


@pytest.mark.parametrize("product", [pytest.param("mysql", marks=pytest.mark.long), "mariadb"])
@pytest.mark.parametrize(
    ("certificate", "key"),
    [
        pytest.param("rsa-1024", "RSA 1024", marks=pytest.mark.long),
        pytest.param("rsa-4096", "RSA 4096", marks=pytest.mark.long),
        ("ec-p256", "EC P-256"),
    ],
)
def test_clients_see_the_certificate_of_the_case(  # noqa: PLR0913, PLR0917 (fixtures)
    product: str,
    certificate: str,
    key: str,
    session: Session,
    mysql_build: ServerBuild,
    mariadb_build: ServerBuild,
) -> None:
    build = mysql_build if product == "mysql" else mariadb_build
    with started(session, build, certificate) as bench:
        for version in ("1.2", "1.3"):
            record = tried(bench, {"certificate": certificate, "tls": version})
            assert_valid(record)
            assert record.ready is not None
            assert {seen.client and seen.client.certificate_key for seen in record.ready.negotiated} == {key}
        other = tried(
            bench,
            {"certificate": "rsa-3072", "tls": "1.3"},
            job(bench, {"certificate": certificate, "tls": "1.3"}),
        )
        assert other.verdict.reasons == (f"the server showed a certificate with the key {key}, not RSA 3072",)


def test_tls_is_turned_off_at_the_server_for_one_trial(benches: dict[str, Bench]) -> None:
    bench = benches["mysql"]
    before = server_tls.facts(bench.server.admin())
    off = tried(bench, {"tls_switch": "server"})
    assert_valid(off)
    assert off.server is not None
    assert not off.server.tls_versions
    on = tried(bench, {"tls_switch": "server", "tls": "1.3"})
    assert_valid(on)
    assert on.server is not None
    assert on.server.tls_versions == "TLSv1.2,TLSv1.3"
    assert server_tls.facts(bench.server.admin()) == before


def test_a_client_that_wants_tls_then_fails_and_says_why(benches: dict[str, Bench]) -> None:
    bench = benches["mysql"]
    asked = job(bench, {}).model_copy(update={"tls": TlsOn()})
    record = tried(bench, {"tls_switch": "server"}, asked)
    assert record.verdict.value == "invalid"
    assert "the server does not offer it" in record.failure
    assert server_tls.facts(bench.server.admin()).offered


def test_a_switch_that_does_nothing_is_found(
    benches: dict[str, Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without NO ROLLBACK ON ERROR the variable says that there is no TLS, and the server takes it still."""
    bench = benches["mysql"]

    def rolled_back(admin: Database, wanted: str) -> None:
        admin.rows("SET GLOBAL tls_version = %s", (wanted,))

    monkeypatch.setattr(server_tls, "accept", rolled_back)
    assert tried(bench, {"tls_switch": "server"}).verdict.reasons == (
        "the server still took TLS (TLSv1.2,TLSv1.3), where it was to be turned off there",
    )


@pytest.mark.parametrize("product", ["mysql", "mariadb"])
def test_durability_is_set_for_one_trial(product: str, benches: dict[str, Bench]) -> None:
    bench = benches[product]
    for level in ("none", "write", "full"):
        record = tried(bench, {"durability": level})
        assert_valid(record)
        assert record.server is not None
        assert record.server.durability == level
        assert server_variables.in_force(CaseLevels.of({"durability": level}), bench).durability == "full"


def test_durability_that_does_not_take_effect_is_found(
    benches: dict[str, Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_facts, "set_durability", lambda *_: None)
    assert tried(benches["mysql"], {"durability": "none"}).verdict.reasons == (
        "the server's durability was full, where it was to be none",
    )


def test_mariadb_is_not_asked_to_switch_tls(benches: dict[str, Bench]) -> None:
    study = load_study("tax")
    for factor, level in (("server", "mariadb-11.8"), ("tls_switch", "server")):
        study = override(study, factor, [level])
    bench = benches["mariadb"]
    choice = CaseLevels.of(next(iter(study.included()))).server_choice
    mariadb = Benches(bench.machine, (), benches={choice: bench})
    with pytest.raises(UserMistake, match="cannot turn TLS off and on while it runs"):
        server_variables.check_switchable(study, mariadb)


@pytest.mark.long
def test_a_server_that_dies_with_tls_off_comes_back_as_it_was(
    session: Session, mysql_build: ServerBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    with started(session, mysql_build) as bench:
        levels: dict[str, Level] = {"tls_switch": "server", "durability": "none"}

        def dies(_: int) -> tuple[()]:
            os.kill(bench.server.pid or 0, signal.SIGKILL)
            bench.server._process._child.wait()  # type: ignore[attr-defined]
            return ()

        monkeypatch.setattr("tlstax.run.trial.process.mapped_tls_libraries", dies)
        record = tried(bench, levels)
        monkeypatch.undo()
        assert record.verdict.value == "invalid"
        revived = bench.revived(record.failure, lambda _: None)
        assert server_tls.facts(revived.admin).offered
        assert_valid(tried(revived, levels))
