"""Locks are counted in real servers: as many as were planted are found, by the name of who takes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from test_sitting import Watching
from test_sitting import study as study_in_turns

from tlstax.clients.choice import obtain_client, put_over
from tlstax.plan.jobs import job_for
from tlstax.records.trial import Trial, TrialRecord
from tlstax.run.bench import Bench, Equipment, Needs, Wanted, open_private_bench
from tlstax.run.pipeline import run
from tlstax.run.preparing import Request
from tlstax.run.trial import run_trial
from tlstax.specimens.private_server import PrivateServer
from tlstax.specimens.resolve import named_fault, named_tls_library
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.shared_pages import LockPage
from tlstax.store import Store
from tlstax.study import Case, Level
from tlstax.study.factors import CaseLevels
from tlstax.topics.answer.document import document
from tlstax.topics.core.topic import Run
from tlstax.topics.locks import ALL_OF_THEM, explained

NEEDS = Needs(rows=1000, connections=4, seed=1, duration_s=0.2)
PLANTED, TAKER = 7, "tlstax_planted_locks"


@pytest.fixture(scope="module", params=["mysql_build", "mariadb_build"])
def bench(request: pytest.FixtureRequest) -> Iterator[Bench]:
    build: ServerBuild = request.getfixturevalue(request.param)
    fault = named_fault("count-locks", lambda _: None)
    with open_private_bench(NEEDS, lambda _: None, Wanted(build=build, fault=fault)) as opened:
        yield opened


def measured(bench: Bench, planted: int, **levels: Level) -> TrialRecord:
    assert isinstance(bench.server, PrivateServer)
    assert bench.server.lock_page is not None
    bench.server.lock_page.plant(planted)
    named = {"tls": "off", "connections": 4, "fault": "count-locks", **levels}
    trial = Trial(block=0, position=0, case=Case(levels=named, role="treatment"))
    record = run_trial(
        trial, job_for(CaseLevels.of(named), bench.terms_of(CaseLevels.of(named)), sequence=0), bench
    )
    assert record.verdict.reasons == ()
    return record


def taken(record: TrialRecord, function: str) -> int:
    assert record.locks is not None
    return sum(site.calls for site in record.locks.sites if site.function == function)


@pytest.mark.parametrize("tls", ["off", "1.3"])
def test_as_many_locks_as_were_planted_in_a_login_are_found(bench: Bench, tls: str) -> None:
    record = measured(bench, PLANTED, workload="reconnect", tls=tls)
    assert record.done is not None
    assert record.done.operations > 0
    assert taken(record, TAKER) == PLANTED * record.done.operations


def test_queries_on_kept_connections_log_in_no_more(bench: Bench) -> None:
    assert taken(measured(bench, PLANTED, workload="point-select"), TAKER) == 0


def test_where_nothing_was_planted_nothing_is_found(bench: Bench) -> None:
    assert taken(measured(bench, 0, workload="reconnect"), TAKER) == 0


def per_query(record: TrialRecord) -> dict[tuple[str, str], float]:
    assert record.locks is not None
    return {(site.kind, site.function): site.calls / record.locks.operations for site in record.locks.sites}


def test_two_trials_count_the_same_for_a_query(bench: Bench) -> None:
    """Whole numbers, of nearly every function: MariaDB's look-up of metadata locks may try again."""
    first, second = (per_query(measured(bench, 0, workload="point-select")) for _ in range(2))
    steady = [site for site, times in first.items() if times > 0.5]
    alike = [site for site in steady if first[site] == pytest.approx(second[site], abs=0.05)]
    assert len(alike) >= 5
    assert len(alike) >= len(steady) - 1
    assert all(first[site] == pytest.approx(round(first[site]), abs=0.05) for site in alike)


OWN, OLD = "own", "openssl-1.1.1-debian"


@pytest.fixture(scope="module")
def beside_pgbench(postgresql_build: ServerBuild) -> Iterator[Bench]:
    """A PostgreSQL whose locks are counted, with pgbench for a client."""
    fault = named_fault("count-locks", lambda _: None)
    wanted = Wanted(build=postgresql_build, fault=fault)
    with open_private_bench(NEEDS, lambda _: None, wanted) as opened:
        library = named_tls_library(OLD, lambda _: None)
        client = put_over(obtain_client("pgbench", lambda _: None), {OLD: library}, lambda _: None)
        yield replace(opened, equipment=Equipment(clients={"pgbench": client}, libraries={OLD: library}))


@pytest.mark.long
def test_what_a_client_takes_in_scrams_rounds_is_counted_and_named(beside_pgbench: Bench) -> None:
    """libpq hashes 4,096 times a login: OpenSSL 3 looks the hash up each time, under a lock, 1.1 does not."""
    taken = {}
    for library in (OWN, OLD):
        levels = {"client": "pgbench", "workload": "reconnect", "client_tls_library": library}
        record = measured(beside_pgbench, 0, **levels)
        assert record.client_locks is not None
        assert record.client_locks.lost == 0
        assert record.client_locks.operations == record.watched_operations
        taken[library] = record.client_locks.sites
    most = max(taken[OWN], key=lambda site: site.calls)
    assert most.kind == "read lock"
    assert "EVP_MD_fetch" in most.function
    assert most.calls > 1000
    assert sum(site.calls for site in taken[OLD]) < most.calls / 20
    assert not any("EVP_MD_fetch" in site.function for site in taken[OLD])


def test_kept_connections_log_in_no_more_at_the_client_either(beside_pgbench: Bench) -> None:
    record = measured(beside_pgbench, 0, client="pgbench", workload="point-select")
    assert record.client_locks is not None
    assert not any("EVP_MD_fetch" in site.function for site in record.client_locks.sites)


@pytest.mark.long
def test_a_run_counts_every_case_twice_and_compares_none_of_it(
    tmp_path: Path, mysql_build: ServerBuild, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = LockPage.__init__

    def planted(page: LockPage, path: Path) -> None:
        made(page, path)
        page.plant(PLANTED)

    monkeypatch.setattr(LockPage, "__init__", planted)
    factors = {"tls": ("off", "1.3"), "workload": ("reconnect",), "server": (mysql_build.specimen.name,)}
    study = study_in_turns(mysql_build.specimen.name, "reconnect", factors=factors, count="locks")
    with Store.open(tmp_path / "store.sqlite") as store:
        found = run(Request(study=study, seed=3, beside_others=True), store, Watching())
    assert [record.verdict.reasons for record in found.trials if record.verdict.value != "valid"] == []
    counted = [record for record in found.trials if record.trial.counted]
    assert [record.trial.block for record in counted] == [-3, -3, -2, -2]
    assert not any(record.locks for record in found.measured)
    shown = document(found)
    told = shown.topics["locks"]
    plaintext, tls = told.of(role=ALL_OF_THEM)
    for case in (plaintext, tls):
        assert case.more["trials"] == 2
        assert case.number("counting_times_slower") is not None
    takers = [row for row in told.rows if row.word("function") == TAKER]
    assert [row.value for row in takers] == [PLANTED, PLANTED]
    assert (tls.value or 0) > (plaintext.value or 0)
    against_kept = explained(Run(found))
    assert TAKER not in {row.word("function") for row in against_kept.rows}, "both log in"
