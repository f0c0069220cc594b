"""PgBouncer between clients and a real PostgreSQL: it carries, proves itself, and lends what it has."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import psutil
import pytest
from path_trials import assert_valid, tried

from tlstax.network.paths.design import Ends
from tlstax.network.paths.opening import obtain_path, open_path
from tlstax.observers.machine import describe_machine
from tlstax.run.bench import Bench, Equipment, Needs, PrivateBench, Wanted, private_bench
from tlstax.run.benches import pooler_secrets
from tlstax.specimens.server_build import ServerBuild
from tlstax.specimens.sessions import Session
from tlstax.stats.outcomes import outcomes
from tlstax.study.level_names import PGBOUNCERS
from tlstax.study.tls_levels import BEGINS_TLS, ENDS_TLS

TRIED = (
    *(name for name in PGBOUNCERS if "1.18" not in name and "password" not in name),
    "pgbouncer-password",
    "pgbouncer-reencrypt-password-transaction",
    "pgbouncer-1.18-terminate",
    "pgbouncer-1.18-password-transaction",
    "pgbouncer-1.18-reencrypt-password",
)
"""Sid's by each way of TLS and of lending; of the other release, and with passwords, some of each kind."""

NEEDS = Needs(rows=500, connections=2, seed=1, duration_s=0.1)


@pytest.fixture(scope="module")
def alone(session: Session, postgresql_build: ServerBuild) -> Iterator[PrivateBench]:
    wanted = Wanted(build=postgresql_build)
    with private_bench(session, wanted, Equipment(), describe_machine(), NEEDS, lambda _: None) as bench:
        for name in ("pgbouncer", "pgbouncer-1.18"):
            obtain_path(name, lambda _: None)
        yield bench


@pytest.fixture(scope="module")
def bench(alone: PrivateBench, session: Session) -> Iterator[Bench]:
    """PostgreSQL 18 behind each of its levels."""
    server = alone.server

    def ends(name: str) -> Ends:
        secrets = pooler_secrets(alone, name)
        return Ends(
            session, server.endpoint().port, server.certificates, spoken="postgresql", secrets=secrets
        )

    with ExitStack() as stack:
        running = {(name, False): stack.enter_context(open_path(name, ends(name))) for name in TRIED}
        yield replace(alone, paths=running)


@pytest.mark.parametrize("path", TRIED)
def test_it_carries_and_proves_that_it_was_in_the_way(bench: Bench, path: str) -> None:
    record = tried(bench, path)
    assert_valid(record)
    seen, done, server = record.path, record.done, record.server
    assert seen is not None
    assert done is not None
    assert server is not None
    assert seen.connections == done.lifetime.connections > 2
    assert server.counted("connections") < seen.connections, "logins at the server are the pooler's own"
    assert outcomes(record)["path_cpu_us_per_op"] > 0
    for asked in record.ready.negotiated if record.ready else ():
        assert (asked.client is not None, asked.server is not None) == (path in ENDS_TLS, path in BEGINS_TLS)


@pytest.mark.parametrize("path", ["pgbouncer-terminate", "pgbouncer-reencrypt-transaction"])
@pytest.mark.parametrize("workload", ["point-select", "oltp-read-only"])
def test_connections_that_are_kept_go_through_it_too(bench: Bench, path: str, workload: str) -> None:
    assert_valid(tried(bench, path, workload=workload, connections=8))


def test_prepared_statements_live_where_connections_are_lent_by_transaction(bench: Bench) -> None:
    assert_valid(tried(bench, "pgbouncer-transaction", workload="point-select", protocol="prepared"))


def test_no_password_and_no_process_is_left_behind(alone: PrivateBench, session: Session) -> None:
    server = alone.server
    secrets = server.product.accounts.kept_secrets(alone.admin)
    assert list(secrets) == [server.load_account.user]
    assert all(server.load_account.password not in kept for kept in secrets.values())
    ends = Ends(session, server.endpoint().port, server.certificates, spoken="postgresql", secrets=secrets)
    with open_path("pgbouncer", ends) as path:
        (pid,) = path.pids
        assert server.load_account.password not in " ".join(psutil.Process(pid).cmdline())
    assert not psutil.pid_exists(pid)


def test_one_that_is_killed_makes_the_trial_invalid_and_is_started_again(bench: Bench) -> None:
    running = bench.paths["pgbouncer-terminate", False]
    victim = running.observe().parts[0].pid
    killer = threading.Timer(0.7, os.kill, (victim, signal.SIGKILL))
    killer.start()
    record = tried(bench, "pgbouncer-terminate", duration_s=1.5, workload="point-select")
    killer.join()
    assert record.verdict.value == "invalid"
    assert "pgbouncer of the path pgbouncer-terminate, near the server, ended" in record.verdict.reasons[0]
    assert bench.revived(record.failure, lambda _: None).path_deaths == 1
    assert_valid(tried(bench, "pgbouncer-terminate"))
